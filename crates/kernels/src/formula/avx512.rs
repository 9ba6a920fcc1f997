//! 512-bit registers: AVX-512 F, VL, BW, DQ.
use super::each::{Fun, Fun2, Lane};
use super::{Bits, Float, Lanes, Num, derived, methods};
use crate::map::sweep::Vector;
use std::arch::x86_64::*;
use std::marker::PhantomData;
use std::mem::transmute;

/// Lanes of `T` in 512-bit registers. To hold one is to know that the processor has AVX-512 F, VL, BW and DQ.
#[derive(Clone, Copy)]
pub(crate) struct Avx512<T>(PhantomData<T>);

impl<T> Avx512<T> {
    /// # Safety
    /// The processor has AVX-512 F, VL, BW and DQ.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Avx512(PhantomData)
    }
}

/// Calls intrinsics: whoever holds an `Avx512` has promised the instructions.
macro_rules! simd {
    ($e:expr) => {
        // SAFETY: `Avx512::new` promised that the processor has these instructions; operands are registers, which an
        // array of their lanes can be turned into and back: same size, no invalid values.
        unsafe { $e }
    };
}

macro_rules! float {
    ($t:ident, $v:ident, $m:ident, $lanes:literal, $functions:ident,
     $set:ident $add:ident $sub:ident $mul:ident $div:ident $sqrt:ident $round:ident $fma:ident $min:ident $max:ident
     $and:ident $andnot:ident $or:ident $xor:ident $cmp:ident $blend:ident $load:ident $load_or:ident $store:ident
     $permute:ident $apart:expr, $together:expr) => {
        impl Num for Avx512<$t> {
            type V = $v;
            type M = $m;
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
                min(a, b) = $blend($cmp::<_CMP_UNORD_Q>(a, a), $min(a, b), a);
                max(a, b) = $blend($cmp::<_CMP_UNORD_Q>(a, a), $max(a, b), a);
                larger(a, b) = $max(a, b);
            }
            #[inline(always)]
            fn lt(self, a: $v, b: $v) -> $m {
                simd!($cmp::<_CMP_LT_OQ>(a, b))
            }
            #[inline(always)]
            fn le(self, a: $v, b: $v) -> $m {
                simd!($cmp::<_CMP_LE_OQ>(a, b))
            }
            #[inline(always)]
            fn eq(self, a: $v, b: $v) -> $m {
                simd!($cmp::<_CMP_EQ_OQ>(a, b))
            }
            #[inline(always)]
            fn and(self, a: $m, b: $m) -> $m {
                a & b
            }
            #[inline(always)]
            fn or(self, a: $m, b: $m) -> $m {
                a | b
            }
            #[inline(always)]
            fn not(self, a: $m) -> $m {
                !a
            }
            #[inline(always)]
            fn select(self, m: $m, a: $v, b: $v) -> $v {
                simd!($blend(m, b, a))
            }
            derived!();
        }
        impl Lanes for Avx512<$t> {
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
            fn patch(self, m: $m, y: $v, f: Fun, x: $v) -> $v {
                if m == 0 { y } else { self.select(m, self.each(f, x), y) }
            }
            #[inline(always)]
            fn patch2(self, m: $m, y: $v, f: Fun2, a: $v, b: $v) -> $v {
                if m == 0 { y } else { self.select(m, self.each2(f, a, b), y) }
            }
        }
        impl Float for Avx512<$t> {
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
        impl Vector for Avx512<$t> {
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
                unsafe { $load(((1u32 << n) - 1) as $m, p) }
            }
            #[inline(always)]
            unsafe fn load_or(self, p: *const $t, n: usize, other: $v) -> $v {
                // SAFETY: the mask covers the first `n` lanes, which the caller says are readable.
                unsafe { $load_or(other, ((1u32 << n) - 1) as $m, p) }
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut $t, v: $v, n: usize) {
                // SAFETY: the mask covers the first `n` lanes, which the caller says are writable.
                unsafe { $store(p, ((1u32 << n) - 1) as $m, v) }
            }
            #[inline(always)]
            fn unzip(self, a: $v, b: $v) -> ($v, $v) {
                let [even, odd] = simd!($apart);
                simd!(($permute(a, even, b), $permute(a, odd, b)))
            }
            #[inline(always)]
            fn zip(self, a: $v, b: $v) -> ($v, $v) {
                let [first, second] = simd!($together);
                simd!(($permute(a, first, b), $permute(a, second, b)))
            }
        }
    };
}

float!(f32, __m512, __mmask16, 16, single_functions,
_mm512_set1_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps _mm512_sqrt_ps _mm512_roundscale_ps
_mm512_fmadd_ps _mm512_min_ps _mm512_max_ps _mm512_and_ps _mm512_andnot_ps _mm512_or_ps _mm512_xor_ps
_mm512_cmp_ps_mask _mm512_mask_blend_ps _mm512_maskz_loadu_ps _mm512_mask_loadu_ps _mm512_mask_storeu_ps
_mm512_permutex2var_ps
[
    _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
    _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31),
],
[
    _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
    _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31),
]);
float!(f64, __m512d, __mmask8, 8, double_functions,
    _mm512_set1_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd _mm512_sqrt_pd _mm512_roundscale_pd
    _mm512_fmadd_pd _mm512_min_pd _mm512_max_pd _mm512_and_pd _mm512_andnot_pd _mm512_or_pd _mm512_xor_pd
    _mm512_cmp_pd_mask _mm512_mask_blend_pd _mm512_maskz_loadu_pd _mm512_mask_loadu_pd _mm512_mask_storeu_pd
    _mm512_permutex2var_pd
    [_mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15)],
    [_mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15)]);

impl Bits for Avx512<f32> {
    #[inline(always)]
    fn bits(self, b: u32) -> __m512 {
        simd!(_mm512_set1_ps(f32::from_bits(b)))
    }
    #[inline(always)]
    fn shl<const N: i32>(self, a: __m512) -> __m512 {
        let count = simd!(_mm_cvtsi32_si128(N));
        simd!(_mm512_castsi512_ps(_mm512_sll_epi32(_mm512_castps_si512(a), count)))
    }
    #[inline(always)]
    fn shr<const N: i32>(self, a: __m512) -> __m512 {
        let count = simd!(_mm_cvtsi32_si128(N));
        simd!(_mm512_castsi512_ps(_mm512_sra_epi32(_mm512_castps_si512(a), count)))
    }
    methods! { simd, __m512, self;
        bit_and(a, b) = _mm512_and_ps(a, b);
        bit_or(a, b) = _mm512_or_ps(a, b);
        bit_xor(a, b) = _mm512_xor_ps(a, b);
        add_bits(a, b) = _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b)));
        sub_bits(a, b) = _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b)));
        to_int(a) = _mm512_castsi512_ps(_mm512_cvtps_epi32(a));
        of_int(a) = _mm512_cvtepi32_ps(_mm512_castps_si512(a));
        below(a, b) = _mm512_min_ps(a, b);
        above(a, b) = _mm512_max_ps(a, b);
        scale(y, n) = _mm512_scalef_ps(y, n);
    }
}
