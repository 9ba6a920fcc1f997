//! Elementwise functions of `nd.contrib`.
use crate::attr::Attr;
use crate::binary::binary;
use crate::def::{Body, DATA, Grad, Input, Op, input, rows};
use crate::numpy::is_close;
use crate::rows::{EQUAL, LOGICAL_NOT, SUM, sum_attrs};
use crate::unary::unary;
use gluonish_base::{Cause, Dims};
use gluonish_kernels::map;

const A_B: &[Input] = &[input("a"), input("b")];
const TOLERANCES: &[Attr] = &[
    Attr::float("rtol", 1e-5, "Difference allowed, as a share of the second value."),
    Attr::float("atol", 1e-8, "Difference allowed beside that."),
    Attr::bool("equal_nan", true, "Whether NaN is close to NaN."),
];

rows! {
    ALLCLOSE = Op::new("allclose", "Whether all values of two arrays are near each other.", A_B, Body::Compose(|r, v| {
            let apart = r.unary_op(&LOGICAL_NOT, is_close(r, v));
            let all = (0..r.shape(apart).len() as isize).fold(Dims::EMPTY, |mut axes, i| {
                axes.push(i);
                axes
            });
            r.binary_op(&EQUAL, r.call(&SUM, &[apart], &sum_attrs(all, false)), 0.0)
        }))
        .attrs(TOLERANCES).nd(&["contrib.allclose"]).no_grad(Grad::Zero);
    DIV_SQRT_DIM = Op::new("div_sqrt_dim", "The input divided by the root of its last dimension.", DATA, Body::Compose(|r, v| {
            let shape = r.shape(v[0]);
            if shape.is_empty() {
                r.0.fail(Cause::Shape("the input needs at least one dimension, got shape ()".into()).into());
            }
            r.div(v[0], (shape.last().copied().unwrap_or(1) as f64).sqrt())
        }))
        .nd(&["contrib.div_sqrt_dim"]);
    QUADRATIC = Op::new("quadratic", "`a * x ** 2 + b * x + c`.", DATA, Body::Compose(|r, v| {
            let (a, b, c) = (r.attrs().float(0), r.attrs().float(1), r.attrs().float(2));
            r.add(r.mul(r.add(r.mul(v[0], a), b), v[0]), c)
        }))
        .attrs(&[
            Attr::float("a", 0.0, "The factor of the square."),
            Attr::float("b", 0.0, "The factor of the input."),
            Attr::float("c", 0.0, "The value at 0."),
        ])
        .nd(&["contrib.quadratic"]);
    ROUND_STE = unary(&["round_ste"], "`round(x)` whose gradient is that of `x`: the straight-through estimator.",
            map!(float |i, x| i.round_away(x), int |_i, x| x))
        .grad(&[], |r| r.grad(0, || r.dy())).nd(&["contrib.round_ste"]).np(&[]).methods(&[]);
    SIGN_STE = unary(&["sign_ste"], "`sign(x)` whose gradient is that of `x`: the straight-through estimator.", map!(num |i, x| i.sign(x)))
        .grad(&[], |r| r.grad(0, || r.dy())).nd(&["contrib.sign_ste"]).np(&[]).methods(&[]);
    GRADIENT_MULTIPLIER = Op::new("gradientmultiplier", "The input itself; its gradient is multiplied by a number.", DATA, Body::Compose(|r, v| {
            r.binary_op(&SCALED_BACK, v[0], r.attrs().float(0))
        }))
        .attrs(&[Attr::float("scalar", 1.0, "The factor.")]).nd(&["contrib.gradientmultiplier"]);
    SCALED_BACK = binary(&["_scaled_back"], "The input itself; its gradient is multiplied by the factor.", map!(num |_i, x, _factor| x))
        .inputs(&[input("data"), input("factor")]).internal().nd(&[]).np(&[])
        .grad(&[crate::def::x(1)], |r| r.grad(0, || r.mul(r.dy(), r.x(1))));
}
