//! Powers in float32: `2^(y log2 x)`, with the logarithm in two parts, since its error grows with the exponent.
use super::Bits;
use super::exponential::poly;
use super::logarithm::split;
use std::f64::consts::LOG2_E;

/// `(2 arctanh(s) / s - 2) / s^2` as a polynomial of s^2, for |s| <= 0.172; the first coefficient, 2/3, is kept apart.
const ATANH: [f32; 3] = [0.400_003_37, 0.285_372_32, 0.235_836_86];
/// `(2^t - 1) / t` for |t| <= 1/2.
const EXP2: [f32; 6] =
    [std::f32::consts::LN_2, 0.240_226_5, 0.055_503_28, 0.009_618_004, 0.001_340_029_6, 0.000_154_763_3];

/// A number as the sum of a value and what its rounding lost.
pub(super) type Two<V> = (V, V);

/// A constant in two parts.
#[inline(always)]
pub(super) fn constant<I: Bits>(i: I, v: f64) -> Two<I::V> {
    let hi = v as f32 as f64;
    (i.c(hi), i.c(v - hi))
}

/// The product of two sums.
#[inline(always)]
pub(super) fn product<I: Bits>(i: I, (a, al): Two<I::V>, (b, bl): Two<I::V>) -> Two<I::V> {
    let p = i.mul(a, b);
    let lost = i.fma(a, b, i.neg(p));
    (p, i.fma(al, b, i.fma(a, bl, lost)))
}

/// The sum of two sums, the first of which is larger or zero.
#[inline(always)]
pub(super) fn sum<I: Bits>(i: I, (a, al): Two<I::V>, (b, bl): Two<I::V>) -> Two<I::V> {
    let s = i.add(a, b);
    (s, i.add(i.add(i.sub(a, s), b), i.add(al, bl)))
}

/// log2 of a positive finite number in two parts: `n + log2(1 + f)`, the latter as 2 arctanh(f / (2 + f)).
#[inline(always)]
pub(super) fn log2_parts<I: Bits>(i: I, x: I::V) -> Two<I::V> {
    let zero = i.c(0.0);
    let (n, f) = split(i, x);
    let d = i.add(f, i.c(2.0));
    let d_lost = i.sub(f, i.sub(d, i.c(2.0)));
    // One division for both parts: what the first lost in rounding, the second takes up.
    let inverse = i.div(i.c(1.0), d);
    let q = i.mul(f, inverse);
    let rest = i.fma(i.neg(q), d_lost, i.fma(i.neg(q), d, f));
    let s = (q, i.mul(rest, inverse));
    let z = product(i, s, s);
    let cube = product(i, s, z);
    let (third, third_lost) = constant(i, 2.0 / 3.0);
    let series = i.mul(z.0, poly(i, z.0, &ATANH));
    let (c, c_lost) = sum(i, (third, third_lost), (series, zero));
    let bend = product(i, cube, (c, c_lost));
    let ln = sum(i, (i.add(s.0, s.0), i.add(s.1, s.1)), bend);
    sum(i, (n, zero), product(i, ln, constant(i, LOG2_E)))
}

/// `2^t` for |t| <= 1/2.
#[inline(always)]
pub(super) fn exp2_reduced<I: Bits>(i: I, t: I::V) -> I::V {
    i.fma(poly(i, t, &EXP2), t, i.c(1.0))
}

#[inline(always)]
pub(crate) fn pow<I: Bits>(i: I, x: I::V, y: I::V) -> I::V {
    let (zero, one, inf) = (i.c(0.0), i.c(1.0), i.c(f64::INFINITY));
    let a = i.abs(x);
    let (p, p_lost) = product(i, (y, zero), log2_parts(i, a));
    // Far outside of the range of exponents the lost part is meaningless.
    let inside = i.lt(i.abs(p), i.c(200.0));
    let p_lost = i.select(inside, p_lost, zero);
    let p = i.below(i.c(200.0), i.above(i.c(-200.0), p));
    let n = i.round(p);
    let t = i.add(i.sub(p, n), p_lost);
    let size = i.scale(exp2_reduced(i, t), n);
    // Zero and infinity as the base; a base of one, which an infinite exponent does not change.
    let negative = i.lt(y, zero);
    let size = i.select(i.is_zero(x), i.select(negative, inf, zero), size);
    let size = i.select(i.eq(a, inf), i.select(negative, zero, inf), size);
    let size = i.select(i.eq(a, one), one, size);
    // A negative base wants an integral exponent; an odd one gives it back its sign.
    let half = i.mul(y, i.c(0.5));
    let integral = i.eq(y, i.trunc(y));
    let odd = i.and(integral, i.ne(half, i.trunc(half)));
    let size = i.select(odd, i.copysign(size, x), size);
    let undefined = i.and(i.lt(x, zero), i.and(i.not(integral), i.lt(a, inf)));
    let size = i.select(undefined, i.c(f64::NAN), size);
    let size = i.select(i.or(i.is_nan(x), i.is_nan(y)), i.add(x, y), size);
    i.select(i.or(i.is_zero(y), i.eq(x, one)), one, size)
}
