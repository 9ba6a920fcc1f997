//! NEON, which all 64-bit ARM processors have: 32 registers of 128 bits, and multiplications by one lane of a register.
use super::instance::{Columns, instructions};
use super::simd::{Body, Simd};
use super::tile::{Tile, tile_rows};
use crate::neon;
use std::arch::aarch64::*;
use std::marker::PhantomData;

#[derive(Clone, Copy)]
pub struct Neon<T>(PhantomData<T>);

const KC_F32: usize = 256; // B panel 8 KB, A panel 12 KB: both in a 32 KB cache
const KC_F64: usize = 192; // B panel 6 KB, A panel 18 KB
const A_BLOCK: usize = 216 << 10; // of a 512 KB cache

/// What is no single instruction, or one with its operands in another order.
macro_rules! composed {
    ($t:ident, $v:ident, $fma:ident $fma_of:ident, $max:ident $greater:ident $select:ident) => {
        #[inline(always)]
        unsafe fn $fma(a: $v, b: $v, c: $v) -> $v {
            // SAFETY: the processor has the instruction.
            unsafe { $fma_of(c, a, b) }
        }
        #[inline(always)]
        unsafe fn $max(a: $v, b: $v) -> $v {
            // SAFETY: the processor has the instructions. (Its own maximum of a number and NaN is NaN.)
            unsafe { $select($greater(a, b), a, b) }
        }
    };
}
composed!(f32, float32x4_t, fma_f32 vfmaq_f32, max_f32 vcgtq_f32 vbslq_f32);
composed!(f64, float64x2_t, fma_f64 vfmaq_f64, max_f64 vcgtq_f64 vbslq_f64);

/// The methods of `Simd` that differ by element type alone.
macro_rules! methods {
    ($t:ident, $v:ident, $splat:ident, $load:ident, $lane:ident: $($k:literal)*, $sum:ident, $head:ident, $put_head:ident) => {
        unsafe fn tile(tile: &Tile<$t>) {
            tile_rows!(tile, [1 2 3 4 5 6 7 8 9 10 11 12], [1 2 3 4 5 6 7 8])
        }
        #[inline(always)]
        unsafe fn spread(p: *const $t, i: usize, n: usize) -> $v {
            let first = i / Self::LANES * Self::LANES;
            // SAFETY: a vector is read only where `n` elements hold it. Its other lanes are asked for next, and the
            // compiler reads it once.
            unsafe {
                match i - first {
                    _ if first + Self::LANES > n => $splat(*p.add(i)),
                    $($k => $lane::<$k>($load(p.add(first))),)*
                    _ => $splat(*p.add(i)),
                }
            }
        }
        #[inline(always)]
        unsafe fn load_part(p: *const $t, lanes: usize) -> $v {
            // SAFETY: no more than `lanes` elements are read.
            unsafe { neon::$head(p, lanes, $splat(0.0)) }
        }
        #[inline(always)]
        unsafe fn store_part(p: *mut $t, lanes: usize, x: $v) {
            // SAFETY: no more than `lanes` elements are written.
            unsafe { neon::$put_head(p, lanes, x) }
        }
        #[inline(always)]
        unsafe fn sum(a: $v) -> $t {
            // SAFETY: the processor has the instruction.
            unsafe { $sum(a) }
        }
        #[inline(always)]
        unsafe fn prefetch(p: *const $t) {
            neon::prefetch(p)
        }
    };
}

impl Simd for Neon<f32> {
    type T = f32;
    type V = float32x4_t;
    const LANES: usize = 4;
    const MR: usize = 12;
    const MR_APART: usize = 8;
    const KC: usize = KC_F32;
    const A_BLOCK: usize = A_BLOCK;

    instructions!(
        f32,
        float32x4_t,
        "neon",
        vdupq_n_f32,
        vld1q_f32,
        vst1q_f32,
        vaddq_f32,
        vsubq_f32,
        vmulq_f32,
        max_f32,
        fma_f32
    );
    methods!(f32, float32x4_t, vdupq_n_f32, vld1q_f32, vdupq_laneq_f32: 0 1 2 3, vaddvq_f32, head_f32, put_head_f32);
}

impl Columns<4> for Neon<f32> {
    /// Pairs of elements change places, then pairs of pairs.
    #[inline(always)]
    unsafe fn columns(r: impl Fn(usize) -> *const f32) -> [float32x4_t; 4] {
        // SAFETY: four elements are readable at each pointer.
        unsafe {
            let [a, b, c, d]: [float32x4_t; 4] = std::array::from_fn(|i| vld1q_f32(r(i)));
            let wide = |x, y| (vreinterpretq_f64_f32(x), vreinterpretq_f64_f32(y));
            let (even_low, even_high) = wide(vtrn1q_f32(a, b), vtrn1q_f32(c, d));
            let (odd_low, odd_high) = wide(vtrn2q_f32(a, b), vtrn2q_f32(c, d));
            [
                vreinterpretq_f32_f64(vtrn1q_f64(even_low, even_high)),
                vreinterpretq_f32_f64(vtrn1q_f64(odd_low, odd_high)),
                vreinterpretq_f32_f64(vtrn2q_f64(even_low, even_high)),
                vreinterpretq_f32_f64(vtrn2q_f64(odd_low, odd_high)),
            ]
        }
    }
}

impl Simd for Neon<f64> {
    type T = f64;
    type V = float64x2_t;
    const LANES: usize = 2;
    const MR: usize = 12;
    const MR_APART: usize = 8;
    const KC: usize = KC_F64;
    const A_BLOCK: usize = A_BLOCK;

    instructions!(
        f64,
        float64x2_t,
        "neon",
        vdupq_n_f64,
        vld1q_f64,
        vst1q_f64,
        vaddq_f64,
        vsubq_f64,
        vmulq_f64,
        max_f64,
        fma_f64
    );
    methods!(f64, float64x2_t, vdupq_n_f64, vld1q_f64, vdupq_laneq_f64: 0 1, vaddvq_f64, head_f64, put_head_f64);
}

impl Columns<2> for Neon<f64> {
    #[inline(always)]
    unsafe fn columns(r: impl Fn(usize) -> *const f64) -> [float64x2_t; 2] {
        // SAFETY: two elements are readable at each pointer.
        unsafe {
            let (a, b) = (vld1q_f64(r(0)), vld1q_f64(r(1)));
            [vtrn1q_f64(a, b), vtrn2q_f64(a, b)]
        }
    }
}
