//! Arrays from nothing.
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Grad, Input, Meta, Metas, Op, input, rows};
use gluonish_base::{Cause, DType, Result};
use gluonish_kernels::convert;

const VALUE: &[Input] = &[input("value")];
const ARANGE: &[Input] = &[input("start"), input("step")];

fn filled(c: &Call<'_>, outs: &mut Metas) -> Result {
    outs.push(Meta {
        shape: c.attrs.ints(0).copied().unwrap_or_default(),
        dtype: c.attrs.dtype(1).unwrap_or(DType::F32),
    });
    Ok(())
}

rows! {
    FULL = Op::new("_full", "An array filled with one value.", VALUE, Body::Kernel(|cx, a, out| convert::copy_view(cx, &a.ins[0], &out[0])))
        .attrs(&[Attr::ints("shape", "Shape of the result."), Attr::dtype("dtype", DType::F32, "Type of the result.")])
        .infer(filled).creates().internal().cost(Cost::Bytes(1.0)).no_grad(Grad::Zero).onnx("ConstantOfShape");
    ARANGE_OP = Op::new("_arange", "`start + step * i`, for `size` values.", ARANGE, Body::Kernel(|cx, a, out| {
            let (Some(start), Some(step)) = (a.ins[0].scalar, a.ins[1].scalar) else {
                return Err(Cause::Argument("start and step are numbers, not arrays".into()).into());
            };
            gluonish_kernels::ramp::ramp(cx, start, step, &out[0])
        }))
        .attrs(&[Attr::ints("size", "Number of values."), Attr::dtype("dtype", DType::F32, "Type of the result.")])
        .infer(filled).creates().internal().cost(Cost::Bytes(2.0)).no_grad(Grad::Zero).onnx("Range");
    ZEROS_LIKE = Op::new("zeros_like", "Zeros of the input's shape and type.", DATA, Body::Kernel(|cx, _, out| convert::fill(cx, 0.0.into(), &out[0])))
        .nd(&["zeros_like"]).np(&["zeros_like"]).methods(&["zeros_like"]).no_grad(Grad::Zero);
    ONES_LIKE = Op::new("ones_like", "Ones of the input's shape and type.", DATA, Body::Kernel(|cx, _, out| convert::fill(cx, 1.0.into(), &out[0])))
        .nd(&["ones_like"]).np(&["ones_like"]).methods(&["ones_like"]).no_grad(Grad::Zero);
}
