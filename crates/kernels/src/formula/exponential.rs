//! exp and its kin in float32.
use super::Bits;

/// `(exp(r) - 1 - r) / r^2` for |r| <= ln 2 / 2, weighed for exp and for expm1.
const EXP: [f32; 5] = [4.999_999_4e-1, 1.666_652_1e-1, 4.166_839e-2, 8.368_717e-3, 1.381_459_9e-3];
const EXPM1: [f32; 6] = [0.5, 1.666_666_6e-1, 4.166_636_2e-2, 8.333_39e-3, 1.394_062_8e-3, 1.984_587_7e-4];
/// ln 2 in two parts; the first has 16 significant bits, so its product with an exponent is exact.
pub(super) const LN2_HI: f64 = 0.693_145_751_953_125;
pub(super) const LN2_LO: f64 = std::f64::consts::LN_2 - LN2_HI;

/// Horner's rule, lowest coefficient first.
#[inline(always)]
pub(crate) fn poly<I: Bits>(i: I, x: I::V, c: &[f32]) -> I::V {
    let mut y = i.bits(c[c.len() - 1].to_bits());
    for k in (0..c.len() - 1).rev() {
        y = i.fma(y, x, i.bits(c[k].to_bits()));
    }
    y
}

/// `x = n ln 2 + r` with integral `n` and |r| <= ln 2 / 2.
#[inline(always)]
fn reduce<I: Bits>(i: I, x: I::V) -> (I::V, I::V) {
    let n = i.round(i.mul(x, i.c(std::f64::consts::LOG2_E)));
    let r = i.fma(n, i.c(-LN2_HI), x);
    (n, i.fma(n, i.c(-LN2_LO), r))
}

/// `2^n` for an integral value whose power is a normal number.
#[inline(always)]
pub(crate) fn power_of_two<I: Bits>(i: I, n: I::V) -> I::V {
    i.shl::<23>(i.add_bits(i.to_int(n), i.bits(127)))
}

/// [`Bits::scale`] in two factors: neither overflows where the product does not, and denormal results round once.
#[inline(always)]
pub(super) fn scale<I: Bits>(i: I, y: I::V, n: I::V) -> I::V {
    let k = i.to_int(n);
    let half = i.shr::<1>(k);
    let rest = i.sub_bits(k, half);
    let bias = i.bits(127);
    let y = i.mul(y, i.shl::<23>(i.add_bits(half, bias)));
    i.mul(y, i.shl::<23>(i.add_bits(rest, bias)))
}

/// `exp(r)` for a reduced argument.
#[inline(always)]
pub(crate) fn exp_reduced<I: Bits>(i: I, r: I::V) -> I::V {
    let q = i.fma(poly(i, r, &EXP), i.mul(r, r), r);
    i.add(q, i.c(1.0))
}

#[inline(always)]
pub(crate) fn exp<I: Bits>(i: I, x: I::V) -> I::V {
    let x = i.below(i.c(88.8), i.above(i.c(-104.0), x));
    let (n, r) = reduce(i, x);
    i.scale(exp_reduced(i, r), n)
}

#[inline(always)]
pub(crate) fn exp2<I: Bits>(i: I, x: I::V) -> I::V {
    let x = i.below(i.c(128.5), i.above(i.c(-150.5), x));
    let n = i.round(x);
    let r = i.mul(i.sub(x, n), i.c(std::f64::consts::LN_2));
    i.scale(exp_reduced(i, r), n)
}

/// `exp(x) - 1` without loss near 0: `2^n (expm1(r) + 1) - 1`, put together so that n = 0 leaves expm1(r) alone.
#[inline(always)]
pub(crate) fn expm1<I: Bits>(i: I, x: I::V) -> I::V {
    let c = i.below(i.c(88.8), i.above(i.c(-18.0), x));
    let (n, r) = reduce(i, c);
    let q = i.fma(poly(i, r, &EXPM1), i.mul(r, r), r);
    // Half of 2^n, for n up to 128; the last doubling overflows only where the result does.
    let h = power_of_two(i, i.sub(n, i.c(1.0)));
    let y = i.fma(q, h, i.sub(h, i.c(0.5)));
    let y = i.add(y, y);
    i.select(i.is_zero(x), x, y)
}

/// `1 / (1 + exp(-x))`, for negative `x` as `exp(x) / (1 + exp(x))`: nothing overflows, tiny results keep their bits.
#[inline(always)]
pub(crate) fn sigmoid<I: Bits>(i: I, x: I::V) -> I::V {
    let one = i.c(1.0);
    let e = exp(i, i.neg(i.abs(x)));
    i.div(i.select(i.lt(x, i.c(0.0)), e, one), i.add(one, e))
}

/// `m / (m + 2)` with m = expm1(2|x|): relative accuracy near 0, no branch.
#[inline(always)]
pub(crate) fn tanh<I: Bits>(i: I, x: I::V) -> I::V {
    let a = i.below(i.c(9.02), i.abs(x));
    let a = i.add(a, a);
    let (n, r) = reduce(i, a);
    let q = i.fma(poly(i, r, &EXPM1), i.mul(r, r), r);
    let e = power_of_two(i, n);
    let m = i.fma(q, e, i.sub(e, i.c(1.0)));
    i.copysign(i.div(m, i.add(m, i.c(2.0))), x)
}

#[inline(always)]
pub(crate) fn sinh<I: Bits>(i: I, x: I::V) -> I::V {
    let a = i.abs(x);
    // (m + m / (m + 1)) / 2 with m = expm1(|x|); beyond 88 by halves, since exp(x) / 2 is still finite there.
    let m = expm1(i, i.below(i.c(88.0), a));
    let small = i.mul(i.c(0.5), i.add(m, i.div(m, i.add(m, i.c(1.0)))));
    let e = exp(i, i.mul(a, i.c(0.5)));
    let large = i.mul(i.mul(i.c(0.5), e), e);
    i.copysign(i.select(i.lt(a, i.c(88.0)), small, large), x)
}

#[inline(always)]
pub(crate) fn cosh<I: Bits>(i: I, x: I::V) -> I::V {
    let a = i.abs(x);
    let e = exp(i, i.below(i.c(88.0), a));
    let small = i.fma(i.c(0.5), e, i.div(i.c(0.5), e));
    let h = exp(i, i.mul(a, i.c(0.5)));
    let large = i.mul(i.mul(i.c(0.5), h), h);
    i.select(i.lt(a, i.c(88.0)), small, large)
}
