//! The gamma function, its logarithm and the slope of that in float32.
//!
//! All three know the function next to 2 by a polynomial and far out by Stirling's series. Between 0 and 2 the recurrence
//! `gamma(x + 1) = x gamma(x)` leads to 2; from below 0 the reflection `gamma(x) gamma(1 - x) = pi / sin(pi x)` leads up.
//! What they subtract is exact or kept in two parts, so that the zeros of positive arguments keep all their digits.
//!
//! The polynomials are weighed minimax fits of the named function in 40 digits, with coefficients that are rounded to
//! float32 one after the other, lowest first, and those that are left fitted again after each.
use super::Bits;
use super::exponential::{LN2_HI, poly};
use super::logarithm::{log_parts, normal_log};
use super::power::{constant, exp2_reduced, log2_parts, product, sum};
use std::f64::consts::LOG2_E;

/// `gammaln(2 + u) / u` for u in [-3/4, 1/2], to 1.6e-8 of it.
const LN_NEAR: [f32; 10] = [
    4.227_843_3e-1,
    3.224_670_3e-1,
    -6.735_209e-2,
    2.058_073_7e-2,
    -7.385_327_5e-3,
    2.896_100_3e-3,
    -1.206_862_3e-3,
    4.566_862_2e-4,
    -1.935_609_5e-4,
    2.362_228_7e-4,
];
/// `gamma(2 + u)` for u in [-3/4, 1/2], to 4.8e-9 of it.
const NEAR: [f32; 11] = [
    1.0,
    4.227_844e-1,
    4.118_405_6e-1,
    8.157_373e-2,
    7.424_042_4e-2,
    -2.216_791_5e-4,
    1.126_113_7e-2,
    -3.073_189e-3,
    1.560_578_5e-3,
    -6.350_113e-4,
    1.478_387e-3,
];
/// From here on Stirling's series serves gamma and its logarithm.
const FAR: f64 = 2.5;
/// `x` times what Stirling's formula lacks of gammaln(x), as a polynomial of 1 / x^2, for x >= 2.5: to 2.4e-10 of gammaln.
const LN_STIRLING: [f32; 4] = [8.333_33e-2, -2.776_058_9e-3, 7.641_551e-4, -3.681_362_7e-4];
/// `(log(2 pi) - 1) / 2`, the constant of Stirling's formula beside `(x - 1/2) (log(x) - 1)`.
const LN_STIRLING_AT_ONE: f64 = 0.418_938_533_204_672_7;
/// `gamma(x) / (x / e)^(x - 1/2)` as a polynomial of 1 / x, for x >= 2.5, to 1.4e-8 of it.
const STIRLING: [f32; 6] =
    [1.520_346_9, 1.266_980_9e-1, 5.231_281_7e-3, -3.766_353_7e-3, -1.129_378_7e-3, 1.774_446_1e-3];
/// `sin(pi r) / (pi r)` as a polynomial of r^2, for |r| <= 1/2, to 6.3e-9 of it.
const SINE: [f32; 5] = [1.0, -1.644_933_3, 8.117_158_4e-1, -1.904_432_3e-1, 2.471_593_6e-2];
/// `pi r cot(pi r) / (1 - 4 r^2)` as a polynomial of r^2, for |r| <= 1/2, to 1.5e-8 of it: the zero at 1/2 is outside.
const COTANGENT: [f32; 7] =
    [1.0, 7.101_282_5e-1, 6.761_569_4e-1, 6.619_137_5e-1, 7.456_090_5e-1, 2.334_914_5e-1, 1.743_686_2];
/// `digamma(1 + t) / (t - ZERO)` as a polynomial of t - 1/2, for t in [0, 1], to 2.3e-8 of it.
const SLOPE_NEAR: [f32; 10] = [
    9.510_559e-1,
    -4.236_274_7e-1,
    2.405_390_9e-1,
    -1.484_004_7e-1,
    9.510_717e-2,
    -6.203_328e-2,
    3.941_711_8e-2,
    -2.590_650_3e-2,
    2.382_52e-2,
    -1.616_262e-2,
];
/// Where digamma(1 + t) is 0.
const ZERO: f64 = 0.461_632_144_968_362_34;
/// `x^2 (log(x) - 1 / 2x - digamma(x))` as a polynomial of 1 / x^2, for x >= 2: to 4e-10 of digamma.
const SLOPE_FAR: [f32; 5] = [8.333_321e-2, -8.326_869e-3, 3.848_854_5e-3, -3.084_979_3e-3, 1.930_274_5e-3];

/// How gamma and its logarithm see an argument.
struct Place<I: Bits> {
    /// `|x|`, the nearest integer to it, and what lies between them, exactly.
    size: I::V,
    whole: I::V,
    rest: I::V,
    /// Whether Stirling's series serves, whether the reflection leads there or to the polynomial.
    far: I::M,
    reflected: I::M,
    /// |x| <= 1/2 and |x| < 5/4: two steps of the recurrence, or one, lead to 2. Beyond 5/4 gammaln would cancel.
    two_steps: I::M,
    steps: I::M,
}

impl<I: Bits> Place<I> {
    #[inline(always)]
    fn new(i: I, x: I::V) -> Self {
        let size = i.abs(x);
        let whole = i.round(size);
        Place {
            size,
            whole,
            rest: i.sub(size, whole),
            far: i.le(i.c(FAR), size),
            reflected: i.lt(x, i.c(-0.5)),
            two_steps: i.le(size, i.c(0.5)),
            steps: i.lt(size, i.c(1.25)),
        }
    }
    /// The distance from 2 after the recurrence, exactly.
    #[inline(always)]
    fn beside_two(&self, i: I, x: I::V) -> I::V {
        let start = i.select(self.steps, i.c(1.0), i.c(2.0));
        i.select(self.two_steps, x, i.sub(self.size, start))
    }
    /// What the recurrence divides by: `x (x + 1)`, `x` or 1.
    #[inline(always)]
    fn divisor(&self, i: I, x: I::V) -> I::V {
        let one = i.c(1.0);
        i.select(self.two_steps, i.mul(x, i.add(x, one)), i.select(self.steps, x, one))
    }
    /// `x sin(pi x) / pi` for negative `x`, but for the sign: it divides 1 / gamma(|x|). Where one step of the recurrence
    /// would divide gamma by |x|, neither does.
    #[inline(always)]
    fn mirror(&self, i: I) -> I::V {
        let sine = i.mul(self.rest, poly(i, i.mul(self.rest, self.rest), &SINE));
        i.select(self.steps, sine, i.mul(sine, self.size))
    }
}

#[inline(always)]
pub(crate) fn gammaln<I: Bits>(i: I, x: I::V) -> I::V {
    let p = Place::new(i, x);
    let one = i.c(1.0);
    let u = p.beside_two(i, x);
    // The reflection takes the divisor into its own logarithm.
    let divisor = i.select(p.reflected, one, i.abs(p.divisor(i, x)));
    let (n, q) = log_parts(i, i.select(p.far, p.size, divisor));
    // Stirling's formula wants the logarithm less one: n ln 2 - 1 is exact, so that nothing is lost near e.
    let log = i.add(i.fma(n, i.c(LN2_HI), i.select(p.far, i.c(-1.0), i.c(0.0))), q);
    let near = i.sub(i.mul(u, poly(i, u, &LN_NEAR)), log);
    let inverse = i.div(one, p.size);
    let series = i.fma(poly(i, i.mul(inverse, inverse), &LN_STIRLING), inverse, i.c(LN_STIRLING_AT_ONE));
    let far = i.fma(i.sub(p.size, i.c(0.5)), log, series);
    let y = i.select(p.far, far, near);
    let mirrored = i.neg(i.add(y, normal_log(i, i.abs(p.mirror(i)))));
    let y = i.select(p.reflected, mirrored, y);
    // 0, the negative integers, and minus infinity.
    let pole = i.or(i.and(i.is_zero(p.rest), i.le(x, i.c(0.0))), i.is_inf(x));
    i.select(pole, i.c(f64::INFINITY), y)
}

#[inline(always)]
pub(crate) fn gamma<I: Bits>(i: I, x: I::V) -> I::V {
    /// Beyond this gamma has overflowed, and its inverse has vanished, even next to a pole.
    const END: f64 = 50.0;
    let p = Place::new(i, x);
    let (zero, one) = (i.c(0.0), i.c(1.0));
    let near = poly(i, p.beside_two(i, x), &NEAR);
    // (x / e)^(x - 1/2) as a power of 2, the exponent in two parts since it is large. x - 1/2 is exact.
    let a = i.below(i.c(END), p.size);
    let (e, e_lost) = constant(i, -LOG2_E);
    let log = sum(i, log2_parts(i, a), (e, e_lost));
    let (power, lost) = product(i, (i.sub(a, i.c(0.5)), zero), log);
    let n = i.round(power);
    let far = i.mul(exp2_reduced(i, i.add(i.sub(power, n), lost)), poly(i, i.div(one, a), &STIRLING));
    let y = i.select(p.far, far, near);
    let n = i.select(p.far, n, zero);
    // Minus the sign of the sine: one integer in two is even.
    let minus = i.bit_xor(i.c(-1.0), i.shl::<31>(i.to_int(p.whole)));
    let above = i.select(p.reflected, minus, y);
    let divisor = i.select(p.far, one, p.divisor(i, x));
    let below = i.select(p.reflected, i.mul(p.mirror(i), y), divisor);
    let y = i.scale(i.div(above, below), i.select(p.reflected, i.neg(n), n));
    let pole = i.and(i.is_zero(p.rest), i.lt(x, zero));
    i.select(pole, i.c(f64::NAN), y)
}

#[inline(always)]
pub(crate) fn digamma<I: Bits>(i: I, x: I::V) -> I::V {
    let (zero, one, half) = (i.c(0.0), i.c(1.0), i.c(0.5));
    let (negative, low) = (i.lt(x, zero), i.lt(x, one));
    // Reflection: below 0 it is digamma(1 - x) that is wanted, less a cotangent.
    let a = i.select(negative, i.sub(one, x), x);
    let inverse = i.div(one, a);
    // Between 1 and 2, by the distance from 1, which is exact: also where the recurrence or the reflection led there.
    let t = i.select(low, i.abs(x), i.sub(x, one));
    let (zero_hi, zero_lo) = constant(i, ZERO);
    let near = i.mul(i.sub(i.sub(t, zero_hi), zero_lo), poly(i, i.sub(t, half), &SLOPE_NEAR));
    let near = i.select(i.and(low, i.lt(zero, x)), i.sub(near, inverse), near);
    let square = i.mul(inverse, inverse);
    let series = i.fma(poly(i, square, &SLOPE_FAR), square, i.mul(inverse, half));
    let log = i.select(i.is_inf(x), a, normal_log(i, a));
    let y = i.select(i.lt(a, i.c(2.0)), near, i.sub(log, series));
    // pi cot(pi x), of which only the distance from the nearest integer counts.
    let r = i.sub(x, i.round(x));
    let two_r = i.add(r, r);
    let to_zeros = i.fma(i.neg(two_r), two_r, one);
    let cotangent = i.div(i.mul(to_zeros, poly(i, i.mul(r, r), &COTANGENT)), r);
    let y = i.select(negative, i.sub(y, cotangent), y);
    let y = i.select(i.and(negative, i.is_zero(r)), i.c(f64::NAN), y);
    i.select(i.is_zero(x), i.neg(i.copysign(i.c(f64::INFINITY), x)), y)
}
