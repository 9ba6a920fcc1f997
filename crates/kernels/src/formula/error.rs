//! The error function, its inverse and the normal distribution in float32.
use super::exponential::{exp, exp_of_sum, poly};
use super::logarithm::normal_log;
use super::{Bits, ONE_OVER_SQRT_TWO_PI};

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

/// `w(a) (a + K)` as a polynomial of `(a - K) / (a + K)`, for the tail `w(a) exp(-a^2 / 2)` of the normal distribution
/// above `a` >= 0.
const TAIL: [f32; 10] = [
    7.552_851_4e-1,
    -6.078_965_9e-1,
    3.871_369e-1,
    -1.865_234_4e-1,
    6.040_383e-2,
    -7.525_271e-3,
    -3.512_552_7e-3,
    1.569_923_4e-3,
    1.793_523e-4,
    -1.319_728_3e-4,
];
const K: f64 = 4.0;

/// `|x|` up to where the tail is 0, `exp(-x^2 / 2)` and the tail divided by it.
#[inline(always)]
fn tail<I: Bits>(i: I, x: I::V) -> (I::V, I::V, I::V) {
    let a = i.below(i.c(14.5), i.abs(x));
    let half = i.mul(a, i.c(-0.5));
    let power = i.mul(a, half);
    // What the product lost in rounding: exp makes it a relative error.
    let e = exp_of_sum(i, power, i.fma(a, half, i.neg(power)));
    let r = i.div(i.c(1.0), i.add(a, i.c(K)));
    (a, e, i.mul(poly(i, i.mul(i.sub(a, i.c(K)), r), &TAIL), r))
}

/// `y` where `x` is negative, else `1 - y`.
#[inline(always)]
fn or_rest<I: Bits>(i: I, x: I::V, y: I::V) -> I::V {
    i.select(i.lt(x, i.c(0.0)), y, i.sub(i.c(1.0), y))
}

#[inline(always)]
pub(crate) fn normal_cdf<I: Bits>(i: I, x: I::V) -> I::V {
    let (_, e, w) = tail(i, x);
    or_rest(i, x, i.mul(e, w))
}

#[inline(always)]
pub(crate) fn gelu_slope<I: Bits>(i: I, x: I::V) -> I::V {
    let (a, e, w) = tail(i, x);
    or_rest(i, x, i.mul(e, i.fma(a, i.c(-ONE_OVER_SQRT_TWO_PI), w)))
}
