//! The error function in float32.
use super::Bits;
use super::exponential::{exp, poly};

/// `erf(x) / x` as a polynomial of x^2, for |x| < 1: fitted, so the first is near 2 / sqrt(pi) but not it.
#[allow(clippy::approx_constant)]
const NEAR: [f32; 7] =
    [1.128_379_1, -3.761_262_6e-1, 1.128_358_5e-1, -2.685_381_1e-2, 5.188_327e-3, -8.010_187e-4, 7.853_841e-5];
/// `-log(erfc(x))` for x in [0.95, 4].
const FAR: [f32; 8] = [
    -1.824_594_2e-4,
    1.129_552,
    6.332_724e-1,
    1.083_615_4e-1,
    -2.517_180_3e-2,
    4.190_853_3e-3,
    -4.385_294_7e-4,
    2.144_552_5e-5,
];

#[inline(always)]
pub(crate) fn erf<I: Bits>(i: I, x: I::V) -> I::V {
    let a = i.abs(x);
    let near = i.mul(poly(i, i.mul(x, x), &NEAR), x);
    let t = i.below(i.c(4.0), a);
    let far = i.sub(i.c(1.0), exp(i, i.neg(poly(i, t, &FAR))));
    i.select(i.lt(a, i.c(1.0)), near, i.copysign(far, x))
}
