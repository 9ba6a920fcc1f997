//! Copies, in the same type or another.
use crate::attr::Attr;
use crate::def::{Body, DATA, Meta, Op, rows};
use gluonish_kernels::convert;

rows! {
    CAST = Op::new("cast", "The values in another type.", DATA, Body::Kernel(|cx, a, out| convert::copy_view(cx, &a.ins[0], &out[0])))
        .attrs(&[Attr::dtype_required("dtype", "The type to reach.")]).nd(&["cast", "Cast"]).onnx("Cast")
        .infer(|c, outs| {
            outs.push(Meta { shape: *c.ins[0].shape, dtype: c.attrs.dtype(0).unwrap_or(c.ins[0].dtype) });
            Ok(())
        })
        .grad(&[], |r| r.grad(0, || r.cast(r.dy(), r.input(0).dtype)));
    COPY = Op::new("_copy", "A fresh contiguous array with the same values.", DATA, Body::Kernel(|cx, a, out| convert::copy_view(cx, &a.ins[0], &out[0])))
        .nd(&["identity"]).np(&["copy"]).in_place().onnx("Identity")
        .grad(&[], |r| r.grad(0, || r.dy()));
}
