//! Rows with one element set.
use super::{INDICES, check_indices};
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Grad, Meta, Op, rows};
use gluonish_base::{DType, Dims};
use gluonish_kernels::index as k;

rows! {
    ONE_HOT = Op::new("one_hot", "Rows that are `on_value` at the given position and `off_value` elsewhere.", INDICES, Body::Kernel(|cx, a, out| {
            k::one_hot(cx, &a.ins[0], a.attrs.float(1), a.attrs.float(2), &out[0])
        }))
        .attrs(&[
            Attr::int_required("depth", "Length of a row.").at_least(0),
            Attr::float("on_value", 1.0, "Value at the position."),
            Attr::float("off_value", 0.0, "Value elsewhere."),
            Attr::dtype("dtype", DType::F32, "Type of the result."),
        ])
        .infer(|c, outs| {
            check_indices(&c.ins[0])?;
            let shape = Dims::joined(&[c.ins[0].shape, &[c.attrs.int(0) as isize]])?;
            outs.push(Meta { shape, dtype: c.attrs.dtype(3).unwrap_or(DType::F32) });
            Ok(())
        })
        .nd(&["one_hot"]).methods(&["one_hot"]).cost(Cost::Bytes(2.0)).no_grad(Grad::Zero).onnx("OneHot");
}
