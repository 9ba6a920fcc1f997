//! log and its kin in float32.
use super::Bits;
use super::exponential::{LN2_HI, LN2_LO, poly};

/// `(log(1 + f) - f + f^2 / 2) / f^3` for 1 + f in [sqrt(1/2), sqrt(2)].
const LOG: [f32; 9] = [
    3.333_331_3e-1,
    -2.500_001e-1,
    2.000_212_4e-1,
    -1.666_800_5e-1,
    1.421_945_2e-1,
    -1.240_534e-1,
    1.188_869_8e-1,
    -1.167_751_6e-1,
    6.747_728_6e-2,
];
/// The bits of sqrt(1/2).
const SQRT_HALF: u32 = 0x3f35_04f3;

/// `x = 2^n (1 + f)` with 1 + f in [sqrt(1/2), sqrt(2)], for positive finite `x`, also denormal.
#[inline(always)]
pub(crate) fn split<I: Bits>(i: I, x: I::V) -> (I::V, I::V) {
    let tiny = i.lt(x, i.bits(0x0080_0000));
    let x = i.select(tiny, i.mul(x, i.c((1u32 << 24) as f64)), x);
    let (n, f) = split_normal(i, x);
    (i.sub(n, i.select(tiny, i.c(24.0), i.c(0.0))), f)
}

/// The same for numbers that are not denormal.
#[inline(always)]
fn split_normal<I: Bits>(i: I, x: I::V) -> (I::V, I::V) {
    let e = exponent(i, x);
    let m = i.sub_bits(x, i.shl::<23>(e));
    (i.of_int(e), i.sub(m, i.c(1.0)))
}

/// The `n` of [`split_normal`], as an integer.
#[inline(always)]
fn exponent<I: Bits>(i: I, x: I::V) -> I::V {
    i.shr::<23>(i.sub_bits(x, i.bits(SQRT_HALF)))
}

/// `log(1 + f) - f` for a reduced argument.
#[inline(always)]
fn tail<I: Bits>(i: I, f: I::V) -> I::V {
    let p = i.mul(poly(i, f, &LOG), f);
    i.mul(i.add(p, i.c(-0.5)), i.mul(f, f))
}

/// What every logarithm does outside of the positive finite numbers: NaN below 0, minus infinity at 0, `x` at infinity.
#[inline(always)]
pub(crate) fn edges<I: Bits>(i: I, x: I::V, y: I::V) -> I::V {
    let y = i.select(i.lt(x, i.c(f64::INFINITY)), y, x);
    let y = i.select(i.is_zero(x), i.c(f64::NEG_INFINITY), y);
    i.select(i.lt(x, i.c(0.0)), i.c(f64::NAN), y)
}

/// The logarithm of a positive finite number as `n LN2_HI + q`.
#[inline(always)]
pub(super) fn log_parts<I: Bits>(i: I, x: I::V) -> (I::V, I::V) {
    let (n, f) = split(i, x);
    (n, i.add(i.fma(n, i.c(LN2_LO), tail(i, f)), f))
}

/// The logarithm of a number that is positive, finite and not denormal.
#[inline(always)]
pub(super) fn normal_log<I: Bits>(i: I, x: I::V) -> I::V {
    let (n, f) = split_normal(i, x);
    let q = i.add(i.fma(n, i.c(LN2_LO), tail(i, f)), f);
    i.fma(n, i.c(LN2_HI), q)
}

#[inline(always)]
pub(crate) fn log<I: Bits>(i: I, x: I::V) -> I::V {
    let (n, q) = log_parts(i, x);
    edges(i, x, i.fma(n, i.c(LN2_HI), q))
}

#[inline(always)]
pub(crate) fn log2<I: Bits>(i: I, x: I::V) -> I::V {
    scaled(i, x, std::f64::consts::LOG2_E, 1.0, 0.0)
}

#[inline(always)]
pub(crate) fn log10<I: Bits>(i: I, x: I::V) -> I::V {
    const LOG10_2_HI: f64 = 0.301_025_390_625;
    scaled(i, x, std::f64::consts::LOG10_E, LOG10_2_HI, std::f64::consts::LOG10_2 - LOG10_2_HI)
}

/// A logarithm to another base: `k` is that of e, `hi + lo` that of 2. `f k` is kept in two parts.
#[inline(always)]
fn scaled<I: Bits>(i: I, x: I::V, k: f64, hi: f64, lo: f64) -> I::V {
    let (n, f) = split(i, x);
    let k_hi = k as f32;
    let (kh, kl) = (i.c(k_hi as f64), i.c(k - k_hi as f64));
    let main = i.mul(f, kh);
    let rest = i.fma(f, kl, i.fma(f, kh, i.neg(main)));
    let rest = i.fma(tail(i, f), kh, rest);
    let rest = i.fma(n, i.c(lo), rest);
    edges(i, x, i.add(i.fma(n, i.c(hi), main), rest))
}

/// `log(u)` with u = 1 + x rounded; what the rounding lost is put back into the fraction `u / 2^n - 1`, which is `x` itself
/// where n is 0.
#[inline(always)]
pub(crate) fn log1p<I: Bits>(i: I, x: I::V) -> I::V {
    let one = i.c(1.0);
    let u = i.add(x, one);
    let lost = i.select(i.lt(one, x), i.sub(one, i.sub(u, x)), i.sub(x, i.sub(u, one)));
    // `u` is 0 or at least 2^-24, never denormal.
    let (n, f) = split_normal(i, u);
    // 2^(1 - n), which is 0 for the last n, where nothing is lost that counts.
    let twice = i.sub_bits(i.c(2.0), i.shl::<23>(exponent(i, u)));
    let f = i.fma(i.mul(lost, i.c(0.5)), twice, f);
    let q = i.add(i.fma(n, i.c(LN2_LO), tail(i, f)), f);
    let y = edges(i, u, i.fma(n, i.c(LN2_HI), q));
    i.select(i.is_zero(x), x, y)
}

#[inline(always)]
pub(crate) fn arcsinh<I: Bits>(i: I, x: I::V) -> I::V {
    let a = i.abs(x);
    let s = i.mul(a, a);
    let one = i.c(1.0);
    let near = log1p(i, i.add(a, i.div(s, i.add(one, i.sqrt(i.add(s, one))))));
    let far = i.add(log(i, a), i.c(std::f64::consts::LN_2));
    i.copysign(i.select(i.lt(a, i.c(1e9)), near, far), x)
}

#[inline(always)]
pub(crate) fn arccosh<I: Bits>(i: I, x: I::V) -> I::V {
    let t = i.sub(x, i.c(1.0));
    let near = log1p(i, i.add(t, i.sqrt(i.fma(t, t, i.add(t, t)))));
    let far = i.add(log(i, x), i.c(std::f64::consts::LN_2));
    let y = i.select(i.lt(i.c(1e9), x), far, near);
    i.select(i.lt(x, i.c(1.0)), i.c(f64::NAN), y)
}

#[inline(always)]
pub(crate) fn arctanh<I: Bits>(i: I, x: I::V) -> I::V {
    let a = i.abs(x);
    let two_a = i.add(a, a);
    let y = i.mul(i.c(0.5), log1p(i, i.div(two_a, i.sub(i.c(1.0), a))));
    i.copysign(y, x)
}
