//! Parameters of distributions that are composed of others: passed on if they are valid.
use crate::attr::Attr;
use crate::def::{Body, DATA, Op, rows};
use crate::infer::floating;
use gluonish_kernels::random as k;

rows! {
    AT_LEAST = Op::new("_at_least", "The values, none of which may be below a bound.", DATA, Body::Kernel(|cx, a, out| {
            k::at_least(cx, &a.ins[0], a.attrs.float(0), a.attrs.bool(1), &out[0])
        }))
        .attrs(&[
            Attr::float("least", 0.0, "The bound."),
            Attr::bool("reached", true, "Whether a value may be the bound."),
        ])
        .infer(floating).internal().grad(&[], |r| r.grad(0, || r.dy()));
}
