//! 256-bit registers: AVX2 with FMA.
use super::each::{Fun, Fun2, Lane};
use super::{Bits, Float, Lanes, Num, derived, methods};
use crate::map::sweep::Vector;
use std::arch::x86_64::*;
use std::marker::PhantomData;
use std::mem::transmute;

/// Lanes of `T` in 256-bit registers. To hold one is to know that the processor has AVX2 and FMA.
#[derive(Clone, Copy)]
pub(crate) struct Avx2<T>(PhantomData<T>);

impl<T> Avx2<T> {
    /// # Safety
    /// The processor has AVX2 and FMA.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Avx2(PhantomData)
    }
}

/// Calls intrinsics: whoever holds an `Avx2` has promised the instructions.
macro_rules! simd {
    ($e:expr) => {
        // SAFETY: `Avx2::new` promised that the processor has these instructions; operands are registers, which an array
        // of their lanes can be turned into and back: same size, no invalid values.
        unsafe { $e }
    };
}

macro_rules! float {
    ($t:ident, $v:ident, $lanes:literal, $functions:ident,
     $set:ident $add:ident $sub:ident $mul:ident $div:ident $sqrt:ident $round:ident $fma:ident $min:ident $max:ident
     $and:ident $andnot:ident $or:ident $xor:ident $cmp:ident $blend:ident $signs:ident $load:ident $store:ident
     $apart:ident $low:ident $high:ident $halves:ident) => {
        impl Num for Avx2<$t> {
            type V = $v;
            type M = $v;
            #[inline(always)]
            fn c(self, v: f64) -> $v {
                simd!($set(v as $t))
            }
            methods! { simd, $v, self;
                add(a, b) = $add(a, b);
                sub(a, b) = $sub(a, b);
                mul(a, b) = $mul(a, b);
                neg(a) = $xor(a, $set(-0.0));
                abs(a) = $andnot($set(-0.0), a);
                min(a, b) = $blend($min(a, b), a, $cmp::<_CMP_UNORD_Q>(a, a));
                max(a, b) = $blend($max(a, b), a, $cmp::<_CMP_UNORD_Q>(a, a));
                larger(a, b) = $max(a, b);
                lt(a, b) = $cmp::<_CMP_LT_OQ>(a, b);
                le(a, b) = $cmp::<_CMP_LE_OQ>(a, b);
                eq(a, b) = $cmp::<_CMP_EQ_OQ>(a, b);
                and(a, b) = $and(a, b);
                or(a, b) = $or(a, b);
                not(a) = $xor(a, $set($t::from_bits(!0)));
                select(m, a, b) = $blend(b, a, m);
            }
            derived!();
        }
        impl Lanes for Avx2<$t> {
            #[inline(always)]
            fn each(self, f: Fun, x: $v) -> $v {
                let x = simd!(transmute::<$v, [$t; $lanes]>(x));
                simd!(transmute::<[$t; $lanes], $v>(x.map(|x| Lane::apply(f, x))))
            }
            #[inline(always)]
            fn each2(self, f: Fun2, a: $v, b: $v) -> $v {
                let (a, b) = simd!((transmute::<$v, [$t; $lanes]>(a), transmute::<$v, [$t; $lanes]>(b)));
                simd!(transmute::<[$t; $lanes], $v>(std::array::from_fn(|k| Lane::apply2(f, a[k], b[k]))))
            }
            #[inline(always)]
            fn patch(self, m: $v, y: $v, f: Fun, x: $v) -> $v {
                if simd!($signs(m)) == 0 { y } else { self.select(m, self.each(f, x), y) }
            }
            #[inline(always)]
            fn patch2(self, m: $v, y: $v, f: Fun2, a: $v, b: $v) -> $v {
                if simd!($signs(m)) == 0 { y } else { self.select(m, self.each2(f, a, b), y) }
            }
        }
        impl Float for Avx2<$t> {
            methods! { simd, $v, self;
                div(a, b) = $div(a, b);
                sqrt(a) = $sqrt(a);
                floor(a) = $round::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(a);
                ceil(a) = $round::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(a);
                trunc(a) = $round::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(a);
                round(a) = $round::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a);
                fma(a, b, c) = $fma(a, b, c);
                copysign(a, b) = $or($andnot($set(-0.0), a), $and($set(-0.0), b));
            }
            super::$functions!();
        }
        impl Vector for Avx2<$t> {
            type T = $t;
            const LANES: usize = $lanes;
            #[inline(always)]
            unsafe fn load(self, p: *const $t) -> $v {
                // SAFETY: the caller gives `LANES` readable values; alignment does not matter.
                unsafe { p.cast::<$v>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t, v: $v) {
                // SAFETY: the caller gives `LANES` writable values; alignment does not matter.
                unsafe { p.cast::<$v>().write_unaligned(v) }
            }
            #[inline(always)]
            unsafe fn load_part(self, p: *const $t, n: usize) -> $v {
                // SAFETY: the mask covers the first `n` lanes, which the caller says are readable.
                unsafe { $load(p, head::<{ size_of::<$t>() }>(n)) }
            }
            #[inline(always)]
            unsafe fn load_or(self, p: *const $t, n: usize, other: $v) -> $v {
                // SAFETY: the mask covers the first `n` lanes, which the caller says are readable; it has the size of a
                // register.
                unsafe {
                    let mask = head::<{ size_of::<$t>() }>(n);
                    $blend(other, $load(p, mask), transmute::<__m256i, $v>(mask))
                }
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut $t, v: $v, n: usize) {
                // SAFETY: the mask covers the first `n` lanes, which the caller says are writable.
                unsafe { $store(p, head::<{ size_of::<$t>() }>(n), v) }
            }
            #[inline(always)]
            fn unzip(self, a: $v, b: $v) -> ($v, $v) {
                simd!($apart(a, b))
            }
            #[inline(always)]
            fn zip(self, a: $v, b: $v) -> ($v, $v) {
                let (low, high) = simd!(($low(a, b), $high(a, b)));
                simd!(($halves::<0x20>(low, high), $halves::<0x31>(low, high)))
            }
        }
    };
}

float!(f32, __m256, 8, single_functions,
    _mm256_set1_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_sqrt_ps _mm256_round_ps
    _mm256_fmadd_ps _mm256_min_ps _mm256_max_ps _mm256_and_ps _mm256_andnot_ps _mm256_or_ps _mm256_xor_ps
    _mm256_cmp_ps _mm256_blendv_ps _mm256_movemask_ps _mm256_maskload_ps _mm256_maskstore_ps
    apart_ps _mm256_unpacklo_ps _mm256_unpackhi_ps _mm256_permute2f128_ps);
float!(f64, __m256d, 4, double_functions,
    _mm256_set1_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd _mm256_sqrt_pd _mm256_round_pd
    _mm256_fmadd_pd _mm256_min_pd _mm256_max_pd _mm256_and_pd _mm256_andnot_pd _mm256_or_pd _mm256_xor_pd
    _mm256_cmp_pd _mm256_blendv_pd _mm256_movemask_pd _mm256_maskload_pd _mm256_maskstore_pd
    apart_pd _mm256_unpacklo_pd _mm256_unpackhi_pd _mm256_permute2f128_pd);

/// Even and odd lanes of two registers.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn apart_ps(a: __m256, b: __m256) -> (__m256, __m256) {
    // SAFETY: the caller's. Each shuffle works on halves; the last ones put pairs of lanes in order.
    unsafe {
        let even = _mm256_castps_pd(_mm256_shuffle_ps::<0b10_00_10_00>(a, b));
        let odd = _mm256_castps_pd(_mm256_shuffle_ps::<0b11_01_11_01>(a, b));
        let sorted = |v| _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(v));
        (sorted(even), sorted(odd))
    }
}

/// The same for float64.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn apart_pd(a: __m256d, b: __m256d) -> (__m256d, __m256d) {
    // SAFETY: the caller's.
    unsafe {
        let (even, odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
        (_mm256_permute4x64_pd::<0b11_01_10_00>(even), _mm256_permute4x64_pd::<0b11_01_10_00>(odd))
    }
}

/// A mask over the first `n` lanes of `SIZE` bytes each.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn head<const SIZE: usize>(n: usize) -> __m256i {
    static RAMP: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    let words = (n * SIZE / 4).min(8);
    // SAFETY: eight numbers from `8 - words` on lie within the sixteen.
    unsafe { RAMP.as_ptr().add(8 - words).cast::<__m256i>().read_unaligned() }
}

impl Bits for Avx2<f32> {
    #[inline(always)]
    fn bits(self, b: u32) -> __m256 {
        simd!(_mm256_set1_ps(f32::from_bits(b)))
    }
    #[inline(always)]
    fn shl<const N: i32>(self, a: __m256) -> __m256 {
        simd!(_mm256_castsi256_ps(_mm256_slli_epi32::<N>(_mm256_castps_si256(a))))
    }
    #[inline(always)]
    fn shr<const N: i32>(self, a: __m256) -> __m256 {
        simd!(_mm256_castsi256_ps(_mm256_srai_epi32::<N>(_mm256_castps_si256(a))))
    }
    methods! { simd, __m256, self;
        bit_and(a, b) = _mm256_and_ps(a, b);
        bit_or(a, b) = _mm256_or_ps(a, b);
        bit_xor(a, b) = _mm256_xor_ps(a, b);
        add_bits(a, b) = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
        sub_bits(a, b) = _mm256_castsi256_ps(_mm256_sub_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
        to_int(a) = _mm256_castsi256_ps(_mm256_cvtps_epi32(a));
        of_int(a) = _mm256_cvtepi32_ps(_mm256_castps_si256(a));
        below(a, b) = _mm256_min_ps(a, b);
        above(a, b) = _mm256_max_ps(a, b);
    }
}
