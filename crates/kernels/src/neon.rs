//! What both kinds of NEON instances need and no instruction does alone.
use std::arch::aarch64::*;

/// Asks for the cache line of `p`; any address will do.
#[inline(always)]
pub(crate) fn prefetch<T>(p: *const T) {
    // SAFETY: a hint, which reads nothing. (The intrinsic is not stable.)
    unsafe { std::arch::asm!("prfm pldl1keep, [{}]", in(reg) p, options(nostack, preserves_flags, readonly)) }
}

/// The first `n` elements (at most 4) from memory, the others of `rest`.
///
/// # Safety
/// `n` values are readable.
#[inline(always)]
pub(crate) unsafe fn head_f32(p: *const f32, n: usize, rest: float32x4_t) -> float32x4_t {
    // SAFETY: no more than `n` values are read; every 64-bit ARM has the instructions.
    unsafe {
        let two = || vcombine_f32(vld1_f32(p), vget_high_f32(rest));
        match n {
            0 => rest,
            1 => vld1q_lane_f32::<0>(p, rest),
            2 => two(),
            3 => vld1q_lane_f32::<2>(p.add(2), two()),
            _ => vld1q_f32(p),
        }
    }
}

/// Stores the first `n` elements (at most 4).
///
/// # Safety
/// `n` values are writable.
#[inline(always)]
pub(crate) unsafe fn put_head_f32(p: *mut f32, n: usize, v: float32x4_t) {
    // SAFETY: no more than `n` values are written; every 64-bit ARM has the instructions.
    unsafe {
        match n {
            0 => {}
            1 => vst1q_lane_f32::<0>(p, v),
            2 => vst1_f32(p, vget_low_f32(v)),
            3 => {
                vst1_f32(p, vget_low_f32(v));
                vst1q_lane_f32::<2>(p.add(2), v);
            }
            _ => vst1q_f32(p, v),
        }
    }
}

/// The first `n` elements (at most 2) from memory, the others of `rest`.
///
/// # Safety
/// `n` values are readable.
#[inline(always)]
pub(crate) unsafe fn head_f64(p: *const f64, n: usize, rest: float64x2_t) -> float64x2_t {
    // SAFETY: no more than `n` values are read; every 64-bit ARM has the instructions.
    unsafe {
        match n {
            0 => rest,
            1 => vld1q_lane_f64::<0>(p, rest),
            _ => vld1q_f64(p),
        }
    }
}

/// Stores the first `n` elements (at most 2).
///
/// # Safety
/// `n` values are writable.
#[inline(always)]
pub(crate) unsafe fn put_head_f64(p: *mut f64, n: usize, v: float64x2_t) {
    // SAFETY: no more than `n` values are written; every 64-bit ARM has the instructions.
    unsafe {
        match n {
            0 => {}
            1 => vst1q_lane_f64::<0>(p, v),
            _ => vst1q_f64(p, v),
        }
    }
}
