//! Positions of extreme values.
use super::row;
use crate::attr::{Attr, axes};
use crate::def::{Body, Call, DATA, Grad, Meta, Metas, Op, rows};
use crate::infer::reduced;
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::{Args, AttrVal, Attrs, reduce as k};

rows! {
    ARGMAX = arg(&["argmax"], "Position of the largest value along an axis, or in the flattened array.", Body::Kernel(|cx, a, out| {
        k::argmax(cx, &a.ins[0], arg_axis(a)?, &out[0])
    })).onnx("ArgMax");
    ARGMIN = arg(&["argmin"], "Position of the smallest value along an axis, or in the flattened array.", Body::Kernel(|cx, a, out| {
        k::argmin(cx, &a.ins[0], arg_axis(a)?, &out[0])
    })).onnx("ArgMin");
    ARGMAX_CHANNEL = Op::new("argmax_channel", "Position of the largest value along the last axis.", DATA, Body::Compose(|r, ins| {
            r.call(&ARGMAX, ins, &[AttrVal::Int(-1), AttrVal::Bool(false)])
        }))
        .nd(&["argmax_channel"]).methods(&["argmax_channel"]).no_grad(Grad::Zero);
}

const fn arg(names: &'static [&'static str], doc: &'static str, body: Body) -> Op {
    row(names, doc, body).attrs(ARG_ATTRS).infer(infer_arg).no_grad(Grad::Zero)
}
const ARG_ATTRS: &[Attr] = &[
    Attr::opt_int("axis", "Axis to search; the flattened array when None."),
    Attr::bool("keepdims", false, "Keep the searched axis with size 1."),
];

fn arg_axis(a: &Args<'_>) -> Result<Option<usize>> {
    searched(a.attrs, a.ins[0].shape)
}

/// The axis to search; none: the flattened array. An array without axes may be said to have axis 0 or -1.
fn searched(attrs: &Attrs, shape: &Dims) -> Result<Option<usize>> {
    match attrs.opt_int(0) {
        None => Ok(None),
        Some(0 | -1) if shape.is_empty() => Ok(None),
        Some(axis) => crate::attr::axis(axis, shape).map(Some),
    }
}

fn infer_arg(c: &Call<'_>, outs: &mut Metas) -> Result {
    let shape = c.ins[0].shape;
    let set = match searched(c.attrs, shape)? {
        Some(axis) => 1 << axis,
        None => axes(None, false, shape)?,
    };
    if let Some(i) = (0..shape.len()).find(|i| set >> i & 1 == 1 && shape[*i] == 0) {
        return Err(Cause::Value(format!("nothing to search along axis {i} of shape {shape}: it is empty")).into());
    }
    outs.push(Meta { shape: reduced(shape, set, c.attrs.bool(1)), dtype: DType::I64 });
    Ok(())
}
