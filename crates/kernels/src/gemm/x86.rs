//! AVX2 with FMA, and AVX-512.
use super::instance::{Columns, instructions};
use super::simd::{Body, Simd};
use super::tile::{Tile, tile_rows};
use std::arch::x86_64::*;
use std::marker::PhantomData;

#[derive(Clone, Copy)]
pub struct Avx2<T>(PhantomData<T>);
#[derive(Clone, Copy)]
pub struct Avx512<T>(PhantomData<T>);

/// Ones, then zeros: a window of it is the mask of the first lanes.
static MASK32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
static MASK64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

/// `prefetch`, the same for all.
macro_rules! prefetch {
    ($t:ident) => {
        #[inline(always)]
        unsafe fn prefetch(p: *const $t) {
            // SAFETY: a prefetch of any address is harmless.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(p.cast()) }
        }
    };
}

/// `load_part` and `store_part` by a mask of lanes.
macro_rules! masked {
    (table $t:ident, $v:ident, $mask:ident, $load:ident, $store:ident) => {
        #[inline(always)]
        unsafe fn load_part(p: *const $t, lanes: usize) -> $v {
            // SAFETY: masked lanes are not read; `lanes` is at most half the table.
            unsafe { $load(p, _mm256_loadu_si256($mask.as_ptr().add(Self::LANES - lanes).cast())) }
        }
        #[inline(always)]
        unsafe fn store_part(p: *mut $t, lanes: usize, x: $v) {
            // SAFETY: masked lanes are not written; `lanes` is at most half the table.
            unsafe { $store(p, _mm256_loadu_si256($mask.as_ptr().add(Self::LANES - lanes).cast()), x) }
        }
    };
    (bits $t:ident, $v:ident, $mask:ident, $load:ident, $store:ident) => {
        #[inline(always)]
        unsafe fn load_part(p: *const $t, lanes: usize) -> $v {
            // SAFETY: masked lanes are not read.
            unsafe { $load(((1u32 << lanes) - 1) as $mask, p) }
        }
        #[inline(always)]
        unsafe fn store_part(p: *mut $t, lanes: usize, x: $v) {
            // SAFETY: masked lanes are not written.
            unsafe { $store(p, ((1u32 << lanes) - 1) as $mask, x) }
        }
    };
}

const AVX2_KC: usize = 320; // B panel 20 KB, A panel 7.5 KB: both in a 32 KB cache
const AVX2_A_BLOCK: usize = 216 << 10; // of a 512 KB cache
const AVX512_KC: usize = 320; // B panel 40 KB of a 48 KB cache
const AVX512_A_BLOCK: usize = 512 << 10; // of a 2 MB cache

impl Simd for Avx2<f32> {
    type T = f32;
    type V = __m256;
    const LANES: usize = 8;
    const MR: usize = 6;
    const MR_APART: usize = 6;
    const KC: usize = AVX2_KC;
    const A_BLOCK: usize = AVX2_A_BLOCK;

    instructions!(
        f32,
        __m256,
        "avx2,fma,f16c",
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_mul_ps,
        _mm256_max_ps,
        _mm256_fmadd_ps
    );
    prefetch!(f32);
    masked!(table f32, __m256, MASK32, _mm256_maskload_ps, _mm256_maskstore_ps);
    unsafe fn tile(tile: &Tile<f32>) {
        tile_rows!(tile, [1 2 3 4 5 6], [1 2 3 4 5 6])
    }
    #[inline(always)]
    unsafe fn sum(a: __m256) -> f32 {
        // SAFETY: the processor has the instructions.
        unsafe {
            let q = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let d = _mm_add_ps(q, _mm_movehl_ps(q, q));
            _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)))
        }
    }
}

impl Columns<8> for Avx2<f32> {
    /// Halves of rows are brought to their lanes by loads, which leaves two shuffles a vector.
    #[inline(always)]
    unsafe fn columns(r: impl Fn(usize) -> *const f32) -> [__m256; 8] {
        // SAFETY: eight elements are readable at each pointer.
        unsafe {
            let mut t = [_mm256_setzero_ps(); 8];
            for q in 0..2 {
                let part: [__m256; 4] = std::array::from_fn(|i| {
                    let x = _mm256_castps128_ps256(_mm_loadu_ps(r(i).add(4 * q)));
                    _mm256_insertf128_ps::<1>(x, _mm_loadu_ps(r(i + 4).add(4 * q)))
                });
                let [a, b, c, d] = part;
                let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
                let (ef, gh) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
                t[4 * q] = _mm256_shuffle_ps::<0x44>(ab, cd);
                t[4 * q + 1] = _mm256_shuffle_ps::<0xEE>(ab, cd);
                t[4 * q + 2] = _mm256_shuffle_ps::<0x44>(ef, gh);
                t[4 * q + 3] = _mm256_shuffle_ps::<0xEE>(ef, gh);
            }
            t
        }
    }
}

impl Simd for Avx2<f64> {
    type T = f64;
    type V = __m256d;
    const LANES: usize = 4;
    const MR: usize = 6;
    const MR_APART: usize = 6;
    const KC: usize = AVX2_KC;
    const A_BLOCK: usize = AVX2_A_BLOCK;

    instructions!(
        f64,
        __m256d,
        "avx2,fma,f16c",
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_add_pd,
        _mm256_sub_pd,
        _mm256_mul_pd,
        _mm256_max_pd,
        _mm256_fmadd_pd
    );
    prefetch!(f64);
    masked!(table f64, __m256d, MASK64, _mm256_maskload_pd, _mm256_maskstore_pd);
    unsafe fn tile(tile: &Tile<f64>) {
        tile_rows!(tile, [1 2 3 4 5 6], [1 2 3 4 5 6])
    }
    #[inline(always)]
    unsafe fn sum(a: __m256d) -> f64 {
        // SAFETY: the processor has the instructions.
        unsafe {
            let d = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd::<1>(a));
            _mm_cvtsd_f64(_mm_add_sd(d, _mm_unpackhi_pd(d, d)))
        }
    }
}

impl Columns<4> for Avx2<f64> {
    /// As for `f32`, with two elements to a lane.
    #[inline(always)]
    unsafe fn columns(r: impl Fn(usize) -> *const f64) -> [__m256d; 4] {
        // SAFETY: four elements are readable at each pointer.
        unsafe {
            let mut t = [_mm256_setzero_pd(); 4];
            for q in 0..2 {
                let [a, b]: [__m256d; 2] = std::array::from_fn(|i| {
                    let x = _mm256_castpd128_pd256(_mm_loadu_pd(r(i).add(2 * q)));
                    _mm256_insertf128_pd::<1>(x, _mm_loadu_pd(r(i + 2).add(2 * q)))
                });
                t[2 * q] = _mm256_unpacklo_pd(a, b);
                t[2 * q + 1] = _mm256_unpackhi_pd(a, b);
            }
            t
        }
    }
}

impl Simd for Avx512<f32> {
    type T = f32;
    type V = __m512;
    const LANES: usize = 16;
    const MR: usize = 14;
    const MR_APART: usize = 8;
    const KC: usize = AVX512_KC;
    const A_BLOCK: usize = AVX512_A_BLOCK;

    instructions!(
        f32,
        __m512,
        "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,f16c",
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_max_ps,
        _mm512_fmadd_ps
    );
    prefetch!(f32);
    masked!(bits f32, __m512, __mmask16, _mm512_maskz_loadu_ps, _mm512_mask_storeu_ps);
    unsafe fn tile(tile: &Tile<f32>) {
        tile_rows!(tile, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], [1 2 3 4 5 6 7 8])
    }
    #[inline(always)]
    unsafe fn sum(a: __m512) -> f32 {
        // SAFETY: the processor has the instructions.
        unsafe {
            let hi = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(a)));
            Avx2::<f32>::sum(_mm256_add_ps(_mm512_castps512_ps256(a), hi))
        }
    }
}

impl Columns<16> for Avx512<f32> {
    /// As for AVX2. Half rows `i` and `i + 4` (or `i + 8` and `i + 12`) share a vector, so that the last shuffle finds its
    /// lanes in order.
    #[inline(always)]
    unsafe fn columns(r: impl Fn(usize) -> *const f32) -> [__m512; 16] {
        // SAFETY: sixteen elements are readable at each pointer.
        unsafe {
            let mut t = [_mm512_setzero_ps(); 16];
            for half in 0..2 {
                let pair = |i: usize| {
                    let lo = _mm512_castps256_ps512(_mm256_loadu_ps(r(i).add(8 * half)));
                    let hi = _mm256_castps_pd(_mm256_loadu_ps(r(i + 4).add(8 * half)));
                    _mm512_castpd_ps(_mm512_insertf64x4::<1>(_mm512_castps_pd(lo), hi))
                };
                let x = transpose4([pair(0), pair(1), pair(2), pair(3)]);
                let y = transpose4([pair(8), pair(9), pair(10), pair(11)]);
                for c in 0..4 {
                    t[8 * half + c] = _mm512_shuffle_f32x4::<0x88>(x[c], y[c]);
                    t[8 * half + c + 4] = _mm512_shuffle_f32x4::<0xDD>(x[c], y[c]);
                }
            }
            t
        }
    }
}

/// The transpose of each lane of four vectors.
#[inline(always)]
unsafe fn transpose4([a, b, c, d]: [__m512; 4]) -> [__m512; 4] {
    // SAFETY: the processor has the instructions.
    unsafe {
        let (ab, cd) = (_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d));
        let (ef, gh) = (_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d));
        [
            _mm512_shuffle_ps::<0x44>(ab, cd),
            _mm512_shuffle_ps::<0xEE>(ab, cd),
            _mm512_shuffle_ps::<0x44>(ef, gh),
            _mm512_shuffle_ps::<0xEE>(ef, gh),
        ]
    }
}

impl Simd for Avx512<f64> {
    type T = f64;
    type V = __m512d;
    const LANES: usize = 8;
    const MR: usize = 14;
    const MR_APART: usize = 8;
    const KC: usize = AVX512_KC;
    const A_BLOCK: usize = AVX512_A_BLOCK;

    instructions!(
        f64,
        __m512d,
        "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,f16c",
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_add_pd,
        _mm512_sub_pd,
        _mm512_mul_pd,
        _mm512_max_pd,
        _mm512_fmadd_pd
    );
    prefetch!(f64);
    masked!(bits f64, __m512d, __mmask8, _mm512_maskz_loadu_pd, _mm512_mask_storeu_pd);
    unsafe fn tile(tile: &Tile<f64>) {
        tile_rows!(tile, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], [1 2 3 4 5 6 7 8])
    }
    #[inline(always)]
    unsafe fn sum(a: __m512d) -> f64 {
        // SAFETY: the processor has the instructions.
        unsafe { Avx2::<f64>::sum(_mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd::<1>(a))) }
    }
}

impl Columns<8> for Avx512<f64> {
    /// As for `f32`, with two elements to a lane.
    #[inline(always)]
    unsafe fn columns(r: impl Fn(usize) -> *const f64) -> [__m512d; 8] {
        // SAFETY: eight elements are readable at each pointer.
        unsafe {
            let mut t = [_mm512_setzero_pd(); 8];
            for q in 0..4 {
                let [a, b]: [__m512d; 2] = std::array::from_fn(|i| {
                    let x = _mm512_castpd128_pd512(_mm_loadu_pd(r(i).add(2 * q)));
                    let x = _mm512_insertf64x2::<1>(x, _mm_loadu_pd(r(i + 2).add(2 * q)));
                    let x = _mm512_insertf64x2::<2>(x, _mm_loadu_pd(r(i + 4).add(2 * q)));
                    _mm512_insertf64x2::<3>(x, _mm_loadu_pd(r(i + 6).add(2 * q)))
                });
                t[2 * q] = _mm512_unpacklo_pd(a, b);
                t[2 * q + 1] = _mm512_unpackhi_pd(a, b);
            }
            t
        }
    }
}
