//! The gamma function, its kin, and the inverse of the error function.
use crate::binary::binary;
use crate::def::{Input, input, rows, x, y};
use crate::unary::unary;
use gluonish_kernels::map;

const ORDER_DATA: &[Input] = &[input("order"), input("data")];

rows! {
    GAMMA = unary(&["gamma"], "The gamma function: `(n - 1)!` at `n`; NaN at the negative integers.", map!(float |i, x| i.gamma(x)))
        .grad(&[x(0), y(0)], |r| r.grad(0, || r.mul(r.dy(), r.mul(r.y(0), r.unary_op(&DIGAMMA, r.x(0)))))).np(&[]).methods(&[]);
    GAMMALN = unary(&["gammaln"], "The logarithm of the magnitude of the gamma function.", map!(float |i, x| i.gammaln(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.mul(r.dy(), r.unary_op(&DIGAMMA, r.x(0))))).np(&[]).methods(&[]);
    DIGAMMA = unary(&["digamma"], "The slope of `gammaln`.", map!(float |i, x| i.digamma(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.mul(r.dy(), r.binary_op(&POLYGAMMA, 1.0, r.x(0))))).np(&[]).methods(&[]);
    POLYGAMMA = binary(&["_polygamma"], "The derivative of `digamma` of an order, a whole number up to 170.", map!(float |i, n, x| i.polygamma(n, x)))
        .inputs(ORDER_DATA).internal().nd(&[]).np(&[])
        .grad(&[x(0), x(1)], |r| r.grad(1, || r.mul(r.dy(), r.binary_op(&POLYGAMMA, r.add(r.x(0), 1.0), r.x(1)))));
    ERFINV = unary(&["erfinv"], "The inverse of `erf`, from (-1, 1) to the real numbers.", map!(float |i, x| i.erfinv(x)))
        .grad(&[y(0)], |r| r.grad(0, || r.mul(r.mul(r.dy(), HALF_ROOT_PI), r.exp(r.square(r.y(0)))))).np(&[]).methods(&[]);
}

/// The slope of `erfinv` at 0.
const HALF_ROOT_PI: f64 = 1.0 / std::f64::consts::FRAC_2_SQRT_PI;
