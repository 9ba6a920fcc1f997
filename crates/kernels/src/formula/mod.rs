//! Elementwise formulas, each written once over an abstract instruction set.
//!
//! A formula takes the instruction set `i` and its operands and says what to compute: `|i, x| i.mul(x, i.sigmoid(x))`.
//! [`Num`] is what every element type can do, [`Float`] adds what real numbers can, [`Int`] what integers can. The
//! instances are AVX2, AVX-512, NEON and portable registers, a counter of operations, and CUDA C text, so one line of a row
//! becomes every loop, its cost and its device code. Nothing is fused behind a formula's back: only [`Float::fma`] rounds
//! once where two operations are named.
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod circular;
pub mod count;
mod each;
pub(crate) mod error;
pub(crate) mod exponential;
pub(crate) mod gamma;
pub(crate) mod logarithm;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pack;
pub(crate) mod power;
pub(crate) mod real;
pub(crate) mod root;
mod shared;
pub mod text;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod wide;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub use each::{Fun, Fun2};
#[cfg(target_arch = "aarch64")]
pub(crate) use neon::Neon;
pub(crate) use pack::Pack;
pub(crate) use shared::{call, derived, double_functions, each, each2, methods, single_functions};
use std::f64::consts::FRAC_1_SQRT_2;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) use wide::Wide;

/// Operations that every element type has. `V` is a value (a register of lanes, a line of text), `M` a mask.
/// Integers wrap; comparisons with NaN are false, as in NumPy.
pub trait Num: Copy {
    type V: Copy;
    type M: Copy;

    /// A constant. Integers take it truncated.
    fn c(self, v: f64) -> Self::V;
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    fn neg(self, a: Self::V) -> Self::V;
    fn abs(self, a: Self::V) -> Self::V;
    /// The smaller one; NaN when either is NaN.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// The larger one; NaN when either is NaN.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// -1, 0 or 1; NaN stays NaN.
    fn sign(self, a: Self::V) -> Self::V;
    /// Quotient rounded towards minus infinity, as Python's `//`. An integer divided by zero gives 0.
    fn floor_div(self, a: Self::V, b: Self::V) -> Self::V;
    /// What remains of `floor_div`: it has the sign of `b`, as Python's `%`. An integer modulo zero gives 0.
    fn modulo(self, a: Self::V, b: Self::V) -> Self::V;
    /// What remains of the division rounded towards zero: it has the sign of `a`, as C's `fmod`.
    fn fmod(self, a: Self::V, b: Self::V) -> Self::V;

    fn lt(self, a: Self::V, b: Self::V) -> Self::M;
    fn le(self, a: Self::V, b: Self::V) -> Self::M;
    fn eq(self, a: Self::V, b: Self::V) -> Self::M;
    /// Mask logic.
    fn and(self, a: Self::M, b: Self::M) -> Self::M;
    fn or(self, a: Self::M, b: Self::M) -> Self::M;
    fn not(self, a: Self::M) -> Self::M;
    /// `a` where the mask is set, else `b`.
    fn select(self, m: Self::M, a: Self::V, b: Self::V) -> Self::V;

    #[inline(always)]
    fn gt(self, a: Self::V, b: Self::V) -> Self::M {
        self.lt(b, a)
    }
    #[inline(always)]
    fn ge(self, a: Self::V, b: Self::V) -> Self::M {
        self.le(b, a)
    }
    #[inline(always)]
    fn ne(self, a: Self::V, b: Self::V) -> Self::M {
        self.not(self.eq(a, b))
    }
    #[inline(always)]
    fn xor(self, a: Self::M, b: Self::M) -> Self::M {
        self.and(self.or(a, b), self.not(self.and(a, b)))
    }
    #[inline(always)]
    fn is_nan(self, a: Self::V) -> Self::M {
        self.ne(a, a)
    }
    /// Not zero: the truth of a value (NaN is true).
    #[inline(always)]
    fn truth(self, a: Self::V) -> Self::M {
        self.ne(a, self.c(0.0))
    }
    #[inline(always)]
    fn is_zero(self, a: Self::V) -> Self::M {
        self.eq(a, self.c(0.0))
    }
    /// 1 where the mask is set, else 0.
    #[inline(always)]
    fn number(self, m: Self::M) -> Self::V {
        self.select(m, self.c(1.0), self.c(0.0))
    }
    #[inline(always)]
    fn square(self, a: Self::V) -> Self::V {
        self.mul(a, a)
    }
    /// `a > b ? a : b`: the second operand where either is NaN.
    #[inline(always)]
    fn larger(self, a: Self::V, b: Self::V) -> Self::V {
        self.select(self.gt(a, b), a, b)
    }
    /// The larger of `a` and 0; NaN stays NaN.
    #[inline(always)]
    fn relu(self, a: Self::V) -> Self::V {
        self.max(a, self.c(0.0))
    }
    #[inline(always)]
    fn clamp(self, x: Self::V, lo: Self::V, hi: Self::V) -> Self::V {
        self.min(self.max(x, lo), hi)
    }
    /// The smaller one; the other where one is NaN.
    #[inline(always)]
    fn fmin(self, a: Self::V, b: Self::V) -> Self::V {
        self.select(self.or(self.lt(a, b), self.is_nan(b)), a, b)
    }
    /// The larger one; the other where one is NaN.
    #[inline(always)]
    fn fmax(self, a: Self::V, b: Self::V) -> Self::V {
        self.select(self.or(self.gt(a, b), self.is_nan(b)), a, b)
    }
}

/// Operations of integers.
pub trait Int: Num {
    fn bit_and(self, a: Self::V, b: Self::V) -> Self::V;
    fn bit_or(self, a: Self::V, b: Self::V) -> Self::V;
    fn bit_xor(self, a: Self::V, b: Self::V) -> Self::V;
    fn bit_not(self, a: Self::V) -> Self::V;
    /// Shift to the left; 0 when the count is negative or as large as the type of the loop is wide.
    fn shl(self, a: Self::V, n: Self::V) -> Self::V;
    /// Shift to the right that keeps the sign; all sign when the count is negative or too large.
    fn shr(self, a: Self::V, n: Self::V) -> Self::V;
    /// Integer power by squaring, wrapping; a negative exponent gives 0, 1 or -1 as exact division would.
    fn ipow(self, a: Self::V, n: Self::V) -> Self::V;
    /// Greatest common divisor, never negative.
    fn gcd(self, a: Self::V, b: Self::V) -> Self::V;
    /// Least common multiple; 0 when either is 0.
    fn lcm(self, a: Self::V, b: Self::V) -> Self::V;
}

/// Bit patterns of float32 lanes: what the polynomials need beside arithmetic. Together with [`Num`]'s and [`Float`]'s
/// required operations this is the closed set of primitives that everything float32 is made of.
pub trait Bits: Float {
    fn bits(self, b: u32) -> Self::V;
    fn bit_and(self, a: Self::V, b: Self::V) -> Self::V;
    fn bit_or(self, a: Self::V, b: Self::V) -> Self::V;
    fn bit_xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// Sum and difference of the lanes as integers.
    fn add_bits(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub_bits(self, a: Self::V, b: Self::V) -> Self::V;
    fn shl<const N: i32>(self, a: Self::V) -> Self::V;
    /// Shift to the right that keeps the sign.
    fn shr<const N: i32>(self, a: Self::V) -> Self::V;
    /// A value that is integral and small, as the integer's bits, and back.
    fn to_int(self, a: Self::V) -> Self::V;
    fn of_int(self, a: Self::V) -> Self::V;
    /// `a < b ? a : b`: the second operand where either is NaN.
    fn below(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a > b ? a : b`: the second operand where either is NaN.
    fn above(self, a: Self::V, b: Self::V) -> Self::V;
    /// `y * 2^n`, rounded once, for `y` that is not denormal and integral `n` of at most 252 either way.
    #[inline(always)]
    fn scale(self, y: Self::V, n: Self::V) -> Self::V {
        exponential::scale(self, y, n)
    }
}

/// The height of the normal distribution at 0.
pub const ONE_OVER_SQRT_TWO_PI: f64 = 0.398_942_280_401_432_7;

/// Functions applied lane by lane, through the C library or the standard one.
pub trait Lanes: Num {
    fn each(self, f: Fun, x: Self::V) -> Self::V;
    fn each2(self, f: Fun2, a: Self::V, b: Self::V) -> Self::V;
    /// `y`, but `f(x)` where the mask is set: for arguments that are hardly ever met.
    fn patch(self, m: Self::M, y: Self::V, f: Fun, x: Self::V) -> Self::V;
    /// The same for a function of two values.
    fn patch2(self, m: Self::M, y: Self::V, f: Fun2, a: Self::V, b: Self::V) -> Self::V;
}

/// Operations of real numbers. float32 has its own polynomials for nearly all functions (2.5 ulp or better, gamma and its
/// kin 3, the normal distribution and gamma of negative numbers 5.2); float64 and what is left go lane by lane through the
/// C library.
pub trait Float: Lanes {
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    fn sqrt(self, a: Self::V) -> Self::V;
    fn floor(self, a: Self::V) -> Self::V;
    fn ceil(self, a: Self::V) -> Self::V;
    fn trunc(self, a: Self::V) -> Self::V;
    /// To the nearest integer, halves to the even one.
    fn round(self, a: Self::V) -> Self::V;
    /// `a * b + c`, rounded once.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The magnitude of `a` with the sign of `b`.
    fn copysign(self, a: Self::V, b: Self::V) -> Self::V;

    fn exp(self, x: Self::V) -> Self::V;
    fn exp2(self, x: Self::V) -> Self::V;
    fn expm1(self, x: Self::V) -> Self::V;
    fn log(self, x: Self::V) -> Self::V;
    fn log2(self, x: Self::V) -> Self::V;
    fn log10(self, x: Self::V) -> Self::V;
    fn log1p(self, x: Self::V) -> Self::V;
    fn tanh(self, x: Self::V) -> Self::V;
    fn sigmoid(self, x: Self::V) -> Self::V;
    fn erf(self, x: Self::V) -> Self::V;
    fn sin(self, x: Self::V) -> Self::V;
    fn cos(self, x: Self::V) -> Self::V;
    fn tan(self, x: Self::V) -> Self::V;
    fn arcsin(self, x: Self::V) -> Self::V;
    fn arccos(self, x: Self::V) -> Self::V;
    fn arctan(self, x: Self::V) -> Self::V;
    fn arctan2(self, y: Self::V, x: Self::V) -> Self::V;
    fn sinh(self, x: Self::V) -> Self::V;
    fn cosh(self, x: Self::V) -> Self::V;
    fn arcsinh(self, x: Self::V) -> Self::V;
    fn arccosh(self, x: Self::V) -> Self::V;
    fn arctanh(self, x: Self::V) -> Self::V;
    fn pow(self, a: Self::V, b: Self::V) -> Self::V;
    fn cbrt(self, x: Self::V) -> Self::V;
    fn hypot(self, a: Self::V, b: Self::V) -> Self::V;
    fn erfc(self, x: Self::V) -> Self::V;
    fn erfinv(self, x: Self::V) -> Self::V;
    fn gamma(self, x: Self::V) -> Self::V;
    fn gammaln(self, x: Self::V) -> Self::V;
    fn digamma(self, x: Self::V) -> Self::V;
    /// The derivative of order `n` of `digamma`, for integral `n` of at least 0.
    fn polygamma(self, n: Self::V, x: Self::V) -> Self::V;

    /// Whether the sign is minus, also that of a zero or a NaN.
    #[inline(always)]
    fn sign_bit(self, a: Self::V) -> Self::M {
        self.lt(self.copysign(self.c(1.0), a), self.c(0.0))
    }
    /// To the nearest integer, halves away from 0.
    #[inline(always)]
    fn round_away(self, x: Self::V) -> Self::V {
        let whole = self.trunc(x);
        let up = self.add(whole, self.copysign(self.c(1.0), x));
        // The fraction is exact; that of an infinity is NaN, which is no half.
        let is_half = self.le(self.c(0.5), self.abs(self.sub(x, whole)));
        self.select(is_half, up, whole)
    }
    #[inline(always)]
    fn reciprocal(self, x: Self::V) -> Self::V {
        self.div(self.c(1.0), x)
    }
    #[inline(always)]
    fn rsqrt(self, x: Self::V) -> Self::V {
        self.div(self.c(1.0), self.sqrt(x))
    }
    #[inline(always)]
    fn is_inf(self, x: Self::V) -> Self::M {
        self.eq(self.abs(x), self.c(f64::INFINITY))
    }
    #[inline(always)]
    fn is_finite(self, x: Self::V) -> Self::M {
        self.lt(self.abs(x), self.c(f64::INFINITY))
    }
    /// The share of the normal distribution below `x`.
    #[inline(always)]
    fn normal_cdf(self, x: Self::V) -> Self::V {
        self.mul(self.c(0.5), self.erfc(self.mul(x, self.c(-FRAC_1_SQRT_2))))
    }
    /// `x normal_cdf(x)`; 0 far below 0.
    #[inline(always)]
    fn gelu(self, x: Self::V) -> Self::V {
        let far = self.eq(x, self.c(f64::NEG_INFINITY));
        self.select(far, self.c(0.0), self.mul(x, self.normal_cdf(x)))
    }
    /// The slope of `gelu`.
    #[inline(always)]
    fn gelu_slope(self, x: Self::V) -> Self::V {
        let density = self.mul(self.exp(self.mul(self.mul(x, x), self.c(-0.5))), self.c(ONE_OVER_SQRT_TWO_PI));
        let rise = self.select(self.is_inf(x), self.c(0.0), self.mul(x, density));
        self.add(self.normal_cdf(x), rise)
    }
    /// `log(1 + exp(x))` without overflow.
    #[inline(always)]
    fn softplus(self, x: Self::V) -> Self::V {
        let tail = self.log1p(self.exp(self.neg(self.abs(x))));
        self.add(self.max(x, self.c(0.0)), tail)
    }
    /// `log(exp(a) + exp(b))` without overflow.
    #[inline(always)]
    fn logaddexp(self, a: Self::V, b: Self::V) -> Self::V {
        let (hi, lo) = (self.max(a, b), self.min(a, b));
        // Two equal infinities differ by NaN, but their sum is themselves.
        let gap = self.select(self.eq(hi, lo), self.c(0.0), self.sub(lo, hi));
        self.add(hi, self.log1p(self.exp(gap)))
    }
}

/// A formula over any element type, with `N` operands.
pub trait NumFormula<const N: usize> {
    fn eval<I: Num>(i: I, x: [I::V; N]) -> I::V;
}
/// A formula over real numbers.
pub trait FloatFormula<const N: usize> {
    fn eval<I: Float>(i: I, x: [I::V; N]) -> I::V;
}
/// A formula over integers.
pub trait IntFormula<const N: usize> {
    fn eval<I: Int>(i: I, x: [I::V; N]) -> I::V;
}
