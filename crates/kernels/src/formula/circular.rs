//! sin, cos and their inverses in float32.
use super::exponential::poly;
use super::{Bits, Fun};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, PI};

/// `(sin(r) / r - 1) / r^2` and `(cos(r) - 1 + r^2 / 2) / r^4` as polynomials of r^2, for |r| <= pi / 4.
const SIN: [f32; 3] = [-1.666_665_5e-1, 8.332_173e-3, -1.951_665_6e-4];
const COS: [f32; 3] = [4.166_664_6e-2, -1.388_736_2e-3, 2.443_773e-5];
/// `(arctan(t) / t - 1) / t^2` as a polynomial of t^2, for |t| <= sqrt(2) - 1.
const ATAN: [f32; 5] = [-0.333_333_16, 0.199_984_83, -0.142_437_38, 0.105_951_4, -0.060_811_564];
/// `(arcsin(t) / t - 1) / t^2` as a polynomial of t^2, for |t| <= 1/2.
const ASIN: [f32; 5] = [0.166_667_54, 0.074_952_33, 0.045_478_344, 0.024_140_986, 0.042_230_554];
/// pi / 2 as a float32 number and what is left of it, twice.
const HALF_PI: [f64; 3] = [1.570_796_370_506_286_6, -4.371_138_828_673_793e-8, -1.715_124_510_617_356_3e-15];
/// Beyond this the three parts of pi / 2 lose bits, and the C library is asked.
const FAR: f64 = (1u32 << 20) as f64;

/// The multiple of pi / 2 nearest to `x`.
#[inline(always)]
fn nearest<I: Bits>(i: I, x: I::V) -> I::V {
    i.round(i.mul(x, i.c(FRAC_2_PI)))
}

/// `x = n pi / 2 + r` with |r| <= pi / 4: `n` as an integer, sine and cosine of r.
#[inline(always)]
fn reduced<I: Bits>(i: I, x: I::V) -> (I::V, I::V, I::V) {
    let n = nearest(i, x);
    // The first step is exact, as x and the product share so many leading bits; the others round once each.
    let r = i.fma(n, i.c(-HALF_PI[0]), x);
    let r = i.fma(n, i.c(-HALF_PI[1]), r);
    let r = i.fma(n, i.c(-HALF_PI[2]), r);
    let z = i.mul(r, r);
    let sin = i.fma(poly(i, z, &SIN), i.mul(r, z), r);
    let cos = i.fma(poly(i, z, &COS), i.mul(z, z), i.fma(z, i.c(-0.5), i.c(1.0)));
    (i.to_int(n), sin, cos)
}

/// The same for the tangent, which divides the two: what the reduction rounds away is kept and put back in.
#[inline(always)]
fn reduced_twice<I: Bits>(i: I, x: I::V) -> (I::V, I::V, I::V) {
    let n = nearest(i, x);
    let a = i.fma(n, i.c(-HALF_PI[0]), x);
    let b = i.mul(n, i.c(-HALF_PI[1]));
    let b_lost = i.fma(n, i.c(-HALF_PI[1]), i.neg(b));
    let r = i.add(a, b);
    let back = i.sub(r, a);
    let r_lost = i.add(i.sub(a, i.sub(r, back)), i.sub(b, back));
    let lost = i.add(r_lost, i.fma(n, i.c(-HALF_PI[2]), b_lost));
    let z = i.mul(r, r);
    let sin = i.add(r, i.fma(poly(i, z, &SIN), i.mul(r, z), lost));
    // One minus a small number: only the last rounding counts.
    let bend = i.fma(i.neg(poly(i, z, &COS)), i.mul(z, z), i.mul(r, lost));
    let cos = i.sub(i.c(1.0), i.fma(z, i.c(0.5), bend));
    (i.to_int(n), sin, cos)
}

/// sin or cos from the quadrant: the odd ones swap the two, the upper ones change the sign.
#[inline(always)]
fn quadrant<I: Bits>(i: I, n: I::V, even: I::V, odd: I::V) -> I::V {
    let swap = i.shr::<31>(i.shl::<31>(n));
    let y = i.bit_xor(even, i.bit_and(i.bit_xor(even, odd), swap));
    i.bit_xor(y, i.shl::<31>(i.shr::<1>(n)))
}

#[inline(always)]
pub(crate) fn sin<I: Bits>(i: I, x: I::V) -> I::V {
    let (n, sin, cos) = reduced(i, x);
    i.patch(i.lt(i.c(FAR), i.abs(x)), quadrant(i, n, sin, cos), Fun::Sin, x)
}

#[inline(always)]
pub(crate) fn cos<I: Bits>(i: I, x: I::V) -> I::V {
    let (n, sin, cos) = reduced(i, x);
    let next = i.add_bits(n, i.bits(1));
    i.patch(i.lt(i.c(FAR), i.abs(x)), quadrant(i, next, sin, cos), Fun::Cos, x)
}

#[inline(always)]
pub(crate) fn tan<I: Bits>(i: I, x: I::V) -> I::V {
    let (n, sin, cos) = reduced_twice(i, x);
    let next = i.add_bits(n, i.bits(1));
    let y = i.div(quadrant(i, n, sin, cos), quadrant(i, next, sin, cos));
    i.patch(i.lt(i.c(FAR), i.abs(x)), y, Fun::Tan, x)
}

/// The angle in the first quadrant whose tangent is `y / x`, both not negative: from the nearest of 0, pi / 4, pi / 2.
#[inline(always)]
fn angle<I: Bits>(i: I, y: I::V, x: I::V) -> I::V {
    const TAN_PI_8: f64 = std::f64::consts::SQRT_2 - 1.0;
    let steep = i.lt(x, i.mul(y, i.c(TAN_PI_8)));
    let flat = i.lt(y, i.mul(x, i.c(TAN_PI_8)));
    let num = i.select(flat, y, i.select(steep, i.neg(x), i.sub(y, x)));
    let den = i.select(flat, x, i.select(steep, y, i.add(y, x)));
    let t = i.div(num, den);
    let z = i.mul(t, t);
    let near = i.fma(poly(i, z, &ATAN), i.mul(t, z), t);
    let base = i.select(flat, i.c(0.0), i.select(steep, i.c(FRAC_PI_2), i.c(FRAC_PI_4)));
    let lost = |v: f64| i.c(v - v as f32 as f64);
    let base_lost = i.select(flat, i.c(0.0), i.select(steep, lost(FRAC_PI_2), lost(FRAC_PI_4)));
    i.add(base, i.add(near, base_lost))
}

#[inline(always)]
pub(crate) fn arctan<I: Bits>(i: I, x: I::V) -> I::V {
    let y = angle(i, i.abs(x), i.c(1.0));
    i.copysign(y, x)
}

#[inline(always)]
pub(crate) fn arctan2<I: Bits>(i: I, y: I::V, x: I::V) -> I::V {
    let (a, b) = (i.abs(y), i.abs(x));
    // Sums of huge numbers would overflow, and of two zeros or infinities only the ratio 0 or 1 matters.
    let huge = i.lt(i.c(1e38), i.above(a, b));
    let quarter = |v: I::V| i.select(huge, i.mul(v, i.c(0.25)), v);
    let infinite = i.and(i.is_inf(a), i.is_inf(b));
    let (p, q) = (i.select(infinite, i.c(1.0), quarter(a)), i.select(infinite, i.c(1.0), quarter(b)));
    let q = i.select(i.and(i.is_zero(a), i.is_zero(b)), i.c(1.0), q);
    let first = angle(i, p, q);
    let back = i.add(i.sub(i.c(PI), first), i.c(PI - PI as f32 as f64));
    let turned = i.select(i.sign_bit(x), back, first);
    let nan = i.or(i.is_nan(x), i.is_nan(y));
    i.select(nan, i.add(x, y), i.copysign(turned, y))
}

/// `(s + s z P(z), z)` with s = |x| for |x| <= 1/2, else the root of z = (1 - |x|) / 2: arcsin of s.
#[inline(always)]
fn half_angle<I: Bits>(i: I, a: I::V, small: I::M) -> I::V {
    let z = i.select(small, i.mul(a, a), i.mul(i.sub(i.c(1.0), a), i.c(0.5)));
    let s = i.select(small, a, i.sqrt(z));
    i.fma(poly(i, z, &ASIN), i.mul(s, z), s)
}

#[inline(always)]
pub(crate) fn arcsin<I: Bits>(i: I, x: I::V) -> I::V {
    let a = i.abs(x);
    let small = i.le(a, i.c(0.5));
    let h = half_angle(i, a, small);
    let large = i.add(i.fma(i.c(-2.0), h, i.c(FRAC_PI_2)), i.c(FRAC_PI_2 - FRAC_PI_2 as f32 as f64));
    i.copysign(i.select(small, h, large), x)
}

#[inline(always)]
pub(crate) fn arccos<I: Bits>(i: I, x: I::V) -> I::V {
    let a = i.abs(x);
    let small = i.le(a, i.c(0.5));
    let h = half_angle(i, a, small);
    let two = i.add(h, h);
    let near = i.add(i.sub(i.c(FRAC_PI_2), i.copysign(h, x)), i.c(FRAC_PI_2 - FRAC_PI_2 as f32 as f64));
    let far = i.add(i.sub(i.c(PI), two), i.c(PI - PI as f32 as f64));
    i.select(small, near, i.select(i.lt(x, i.c(0.0)), far, two))
}
