//! Division with remainder and sign for real numbers, as NumPy defines them.
use super::{Float, Fun2};

#[inline(always)]
pub(crate) fn sign<I: Float>(i: I, x: I::V) -> I::V {
    let zero = i.c(0.0);
    let one = i.copysign(i.c(1.0), x);
    // Zeros lose their sign, NaN stays: only what compares unequal to 0 and to itself moves.
    i.select(i.eq(x, zero), zero, i.select(i.eq(x, x), one, x))
}

/// What remains of the division rounded towards 0, exactly: it is a multiple of `b`'s last place below `b`. A quotient that
/// rounds up to the next integer gives a remainder of the other sign, which another `b` mends.
#[inline(always)]
pub(crate) fn fmod<I: Float>(i: I, a: I::V, b: I::V) -> I::V {
    /// Below this, neighbouring integers are all there in either type.
    const FAR: f64 = (1u32 << 23) as f64;
    let (x, y) = (i.abs(a), i.abs(b));
    let q = i.trunc(i.div(x, y));
    let rest = i.fma(i.neg(q), y, x);
    let rest = i.select(i.lt(rest, i.c(0.0)), i.add(rest, y), rest);
    let rest = i.copysign(i.select(i.lt(x, y), x, rest), a);
    // A large quotient is no longer exact; a zero or what is not finite gives NaN by itself.
    let far = i.and(i.and(i.le(i.c(FAR), q), i.is_finite(a)), i.lt(i.c(0.0), y));
    i.patch2(far, rest, Fun2::Fmod, a, b)
}

/// The remainder with the divisor's sign, before a zero gets its sign.
#[inline(always)]
fn shifted<I: Float>(i: I, a: I::V, b: I::V) -> (I::V, I::V, I::M) {
    let rest = fmod(i, a, b);
    let zero = i.c(0.0);
    let opposite = i.xor(i.lt(rest, zero), i.lt(b, zero));
    let wrong = i.and(i.ne(rest, zero), opposite);
    (rest, i.select(wrong, i.add(rest, b), rest), wrong)
}

#[inline(always)]
pub(crate) fn modulo<I: Float>(i: I, a: I::V, b: I::V) -> I::V {
    let (_, rest, _) = shifted(i, a, b);
    i.select(i.is_zero(rest), i.copysign(rest, b), rest)
}

#[inline(always)]
pub(crate) fn floor_div<I: Float>(i: I, a: I::V, b: I::V) -> I::V {
    let (raw, _, wrong) = shifted(i, a, b);
    let plain = i.div(a, b);
    let q = i.div(i.sub(a, raw), b);
    let q = i.select(wrong, i.sub(q, i.c(1.0)), q);
    // The quotient is integral but for rounding: take the nearest integer from below.
    let down = i.floor(q);
    let down = i.select(i.gt(i.sub(q, down), i.c(0.5)), i.add(down, i.c(1.0)), down);
    let down = i.select(i.is_zero(q), i.copysign(i.c(0.0), plain), down);
    i.select(i.is_zero(b), plain, down)
}
