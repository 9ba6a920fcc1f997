//! Arrays from nothing.
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Grad, Input, Meta, Metas, Op, input, rows};
use gluonish_base::{Cause, DType, Result};
use gluonish_kernels::{convert, movement, ramp};

const VALUE: &[Input] = &[input("value")];
const ARANGE: &[Input] = &[input("start"), input("step")];
const BOUNDS: &[Input] = &[input("start"), input("stop")];

fn filled(c: &Call<'_>, outs: &mut Metas) -> Result {
    outs.push(Meta {
        shape: c.attrs.ints(0).copied().unwrap_or_default(),
        dtype: c.attrs.dtype(1).unwrap_or(DType::F32),
    });
    Ok(())
}

/// A matrix of the first attribute's shape and the second's type.
fn matrix(c: &Call<'_>, outs: &mut Metas) -> Result {
    filled(c, outs)?;
    if outs[0].shape.len() == 2 {
        return Ok(());
    }
    Err(Cause::Shape(format!("a matrix has two axes, not those of shape {}", outs[0].shape)).into())
}

const SHAPE: Attr = Attr::ints("shape", "Shape of the result.");
const DTYPE: Attr = Attr::dtype("dtype", DType::F32, "Type of the result.");
const DIAGONAL: Attr = Attr::int("k", 0, "Which diagonal: above the main one, or below it when negative.");

rows! {
    FULL = Op::new("_full", "An array filled with one value.", VALUE, Body::Kernel(|cx, a, out| convert::copy_view(cx, &a.ins[0], &out[0])))
        .attrs(&[SHAPE, DTYPE])
        .infer(filled).creates().internal().cost(Cost::Bytes(1.0)).no_grad(Grad::Zero).onnx("ConstantOfShape");
    ARANGE_OP = Op::new("_arange", "`start + step * i`, for `size` values.", ARANGE, Body::Kernel(|cx, a, out| {
            let (Some(start), Some(step)) = (a.ins[0].scalar, a.ins[1].scalar) else {
                return Err(Cause::Argument("start and step are numbers, not arrays".into()).into());
            };
            ramp::ramp(cx, start, step, &out[0])
        }))
        .attrs(&[Attr::ints("size", "Number of values."), DTYPE])
        .infer(filled).creates().internal().cost(Cost::Bytes(2.0)).no_grad(Grad::Zero).onnx("Range");
    LINSPACE = Op::new("_linspace", "Values at equal distances from `start` to `stop`.", BOUNDS, Body::Kernel(|cx, a, out| {
            let (Some(start), Some(stop)) = (a.ins[0].scalar, a.ins[1].scalar) else {
                return Err(Cause::Argument("start and stop are numbers, not arrays".into()).into());
            };
            ramp::linspace(cx, start.as_f64(), stop.as_f64(), a.attrs.bool(2), &out[0])
        }))
        .attrs(&[Attr::ints("num", "Number of values."), DTYPE, Attr::bool("endpoint", true, "Whether `stop` is the last of them.")])
        .infer(filled).creates().internal().cost(Cost::Bytes(2.0)).no_grad(Grad::Zero);
    EYE = Op::new("_eye", "A matrix with ones on a diagonal.", &[], Body::Kernel(|cx, a, out| {
            movement::band(cx, a.attrs.int(2), a.attrs.int(2), &out[0])
        }))
        .attrs(&[SHAPE, DTYPE, DIAGONAL]).infer(matrix).creates().internal().no_grad(Grad::Zero).onnx("EyeLike");
    TRI = Op::new("_tri", "A matrix with ones on a diagonal and below it.", &[], Body::Kernel(|cx, a, out| {
            movement::band(cx, i64::MIN, a.attrs.int(2), &out[0])
        }))
        .attrs(&[SHAPE, DTYPE, DIAGONAL]).infer(matrix).creates().internal().no_grad(Grad::Zero);
    ZEROS_LIKE = Op::new("zeros_like", "Zeros of the input's shape and type.", DATA, Body::Kernel(|cx, _, out| convert::fill(cx, 0.0.into(), &out[0])))
        .nd(&["zeros_like"]).np(&["zeros_like"]).methods(&["zeros_like"]).no_grad(Grad::Zero);
    ONES_LIKE = Op::new("ones_like", "Ones of the input's shape and type.", DATA, Body::Kernel(|cx, _, out| convert::fill(cx, 1.0.into(), &out[0])))
        .nd(&["ones_like"]).np(&["ones_like"]).methods(&["ones_like"]).no_grad(Grad::Zero);
}
