//! Cube roots and lengths in float32.
use super::Bits;
use super::exponential::{poly, power_of_two};
use super::logarithm::split;

/// `cbrt(1 + f)` for 1 + f in [sqrt(1/2), sqrt(2)], good to 1e-5.
const CBRT: [f32; 5] = [1.000_004_3, 0.333_217_3, -0.111_547_09, 0.065_784_566, -0.037_787_642];

/// `2^k cbrt(2^r (1 + f))` with r = -1, 0 or 1: a polynomial, then one step of Newton's, which squares its error.
#[inline(always)]
pub(crate) fn cbrt<I: Bits>(i: I, x: I::V) -> I::V {
    const ROOT_2: f64 = 1.259_921_049_894_873_2;
    let (n, f) = split(i, i.abs(x));
    let k = i.round(i.mul(n, i.c(1.0 / 3.0)));
    let r = i.fma(k, i.c(-3.0), n);
    let (up, down) = (i.lt(i.c(0.5), r), i.lt(r, i.c(-0.5)));
    let pick = |high: f64, low: f64| i.select(up, i.c(high), i.select(down, i.c(low), i.c(1.0)));
    let m = i.mul(i.add(f, i.c(1.0)), pick(2.0, 0.5));
    let t = i.mul(poly(i, f, &CBRT), pick(ROOT_2, 1.0 / ROOT_2));
    let square = i.mul(t, t);
    let over = i.fma(square, t, i.neg(m));
    let root = i.sub(t, i.div(over, i.mul(square, i.c(3.0))));
    let y = i.copysign(i.mul(root, power_of_two(i, k)), x);
    // Zeros, infinities and NaN are their own roots.
    let own = i.or(i.is_zero(x), i.not(i.is_finite(x)));
    i.select(own, x, y)
}

/// `sqrt(a * a + b * b)`, moved away from where squares overflow or vanish.
#[inline(always)]
pub(crate) fn hypot<I: Bits>(i: I, a: I::V, b: I::V) -> I::V {
    const TINY: f64 = 1.0 / (1u64 << 60) as f64;
    let (a, b) = (i.abs(a), i.abs(b));
    let large = i.above(a, b);
    let huge = i.lt(i.c((1u64 << 60) as f64), large);
    let tiny = i.lt(large, i.c(TINY));
    let power = |e: i32| i.c(2f64.powi(e));
    let there = i.select(huge, power(-66), i.select(tiny, power(90), i.c(1.0)));
    let back = i.select(huge, power(66), i.select(tiny, power(-90), i.c(1.0)));
    let (p, q) = (i.mul(a, there), i.mul(b, there));
    let y = i.mul(i.sqrt(i.fma(p, p, i.mul(q, q))), back);
    // An infinity counts even beside NaN.
    let infinite = i.or(i.is_inf(a), i.is_inf(b));
    i.select(infinite, i.c(f64::INFINITY), y)
}
