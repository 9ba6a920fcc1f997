//! The error function, its inverse and the normal distribution in float32.
use super::exponential::{LN2_HI, LN2_LO, exp, poly};
use super::logarithm::normal_log;
use super::{Bits, ONE_OVER_SQRT_TWO_PI};
use std::f64::consts::LOG2_E;

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

/// `erfinv(x) / x` as a polynomial of w - 5/2 with w = -log(1 - x^2), for w in [0, 5]: Giles's variable, in which the
/// function is nearly a line. A minimax fit, to 4e-8 of it, with coefficients rounded one by one, lowest first.
const INVERSE_NEAR: [f32; 10] = [
    1.501_409_4,
    2.466_402_8e-1,
    -4.177_668e-3,
    -1.252_755_6e-3,
    2.185_765_3e-4,
    -4.943_581_6e-6,
    -3.523_312_2e-6,
    4.600_009_6e-7,
    2.814_791_6e-8,
    -8.242_85e-9,
];
/// The same as a polynomial of sqrt(w) - 25/8, for w in [5, 16], which ends beyond the last number below 1: to 6.3e-8.
const INVERSE_FAR: [f32; 9] = [
    2.958_320_1,
    1.003_717_4,
    7.051_171_7e-3,
    -5.276_204e-3,
    3.763_890_4e-3,
    -2.643_600_6e-3,
    1.351_976_1e-3,
    -1.038_980_84e-4,
    -2.025_407_4e-4,
];

#[inline(always)]
pub(crate) fn erfinv<I: Bits>(i: I, x: I::V) -> I::V {
    let one = i.c(1.0);
    let a = i.abs(x);
    // 1 - x^2 is rounded once, so that w errs by at most 2^-24, and erfinv relatively by a quarter of that.
    let w = i.neg(normal_log(i, i.fma(i.neg(x), x, one)));
    let near = poly(i, i.sub(w, i.c(2.5)), &INVERSE_NEAR);
    let far = poly(i, i.sub(i.sqrt(w), i.c(3.125)), &INVERSE_FAR);
    let y = i.mul(x, i.select(i.lt(w, i.c(5.0)), near, far));
    let y = i.select(i.eq(a, one), i.copysign(i.c(f64::INFINITY), x), y);
    i.select(i.lt(one, a), i.c(f64::NAN), y)
}

/// `w(a)` as a quotient of polynomials, for the tail `w(a) exp(-a^2 / 2)` of the normal distribution above `a` in
/// [0, 14.5]: a minimax fit, to 2.3e-8 with rounded coefficients.
const ABOVE: [f32; 5] = [0.5, 4.382_949_5e-1, 1.832_351_2e-1, 4.063_321_7e-2, 4.116_306_5e-3];
const BELOW: [f32; 6] = [1.0, 1.674_474_8, 1.202_503_1, 4.694_706e-1, 1.018_588_2e-1, 1.031_793_1e-2];

/// `w(a)` as a polynomial in `1 / (a + SHIFT)`: three multiplications less, and off by 3e-7 in `f32`. `w(0)` is 1/2. A minimax
/// fit up to 13, from where on the tail is no normal number.
const SHIFT: f64 = 3.4;
const SHIFTED: [f32; 9] =
    [2.046_761_8e-5, 0.397_360_83, 1.409_014_1, 3.225_811, 23.075_197, -57.901_31, 434.390_3, -982.890_87, 711.629_15];

/// `exp(-u / 2)` for |u| <= ln 2.
const FALL: [f32; 7] = [1.0, -0.5, 1.249_999_8e-1, -2.083_3e-2, 2.604_272_2e-3, -2.617_650_6e-4, 2.161_679_2e-5];

/// The tail of the normal distribution above `a`, which is `|x|` up to where the tail is 0: `2^n e w(a)`. What is scaled
/// last is rounded once, however small it is.
struct Tail<V> {
    a: V,
    /// `2^n e` is `exp(-a^2 / 2)`.
    e: V,
    n: V,
}

#[inline(always)]
fn tail<I: Bits>(i: I, x: I::V) -> Tail<I::V> {
    let a = i.below(i.c(15.0), i.abs(x));
    let n = i.round(i.mul(i.mul(a, a), i.c(-0.5 * LOG2_E)));
    // The square is rounded only when the multiple of ln 2 is taken off: exp would make that a relative error.
    let u = i.fma(a, a, i.mul(n, i.c(2.0 * LN2_HI)));
    Tail { a, e: poly(i, i.fma(n, i.c(2.0 * LN2_LO), u), &FALL), n }
}

/// `1 / x` for x from 1 to 1e6, to 7.7e-8: in the widest registers a division takes as long as thirty multiplications.
#[inline(always)]
fn inverse<I: Bits>(i: I, x: I::V) -> I::V {
    let one = i.c(1.0);
    // The exponent and, nearly, the fraction negated: within 5.1 %. Then to the third power of that, and to its square.
    let y = i.sub_bits(i.bits(0x7ef3_11c7), x);
    let e = i.fma(i.neg(x), y, one);
    let y = i.fma(y, i.fma(e, e, e), y);
    i.fma(y, i.fma(i.neg(x), y, one), y)
}

/// `w(a)`, the fast way.
#[inline(always)]
fn shifted<I: Bits>(i: I, a: I::V) -> I::V {
    poly(i, inverse(i, i.add(a, i.c(SHIFT))), &SHIFTED)
}

/// `y` where `x` is negative, else `1 - y`.
#[inline(always)]
fn or_rest<I: Bits>(i: I, x: I::V, y: I::V) -> I::V {
    i.select(i.lt(x, i.c(0.0)), y, i.sub(i.c(1.0), y))
}

#[inline(always)]
pub(crate) fn normal_cdf<I: Bits>(i: I, x: I::V) -> I::V {
    let Tail { a, e, n } = tail(i, x);
    or_rest(i, x, i.scale(i.mul(e, i.div(poly(i, a, &ABOVE), poly(i, a, &BELOW))), n))
}

/// `x`, or 0 below it, less what the tail takes of it.
#[inline(always)]
pub(crate) fn gelu<I: Bits>(i: I, x: I::V) -> I::V {
    let Tail { a, e, n } = tail(i, x);
    i.sub(i.above(i.c(0.0), x), i.scale(i.mul(i.mul(a, e), shifted(i, a)), n))
}

#[inline(always)]
pub(crate) fn gelu_slope<I: Bits>(i: I, x: I::V) -> I::V {
    let Tail { a, e, n } = tail(i, x);
    or_rest(i, x, i.scale(i.mul(e, i.fma(a, i.c(-ONE_OVER_SQRT_TWO_PI), shifted(i, a))), n))
}
