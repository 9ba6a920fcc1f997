//! Depthwise filters of a block of channels as vectors over its channels.
use super::super::geometry::Planes;
use crate::gemm::Simd;

/// Filters of one block: `to[tap * lanes + channel]`, zeros behind the last channel.
///
/// # Safety
/// The processor has the instructions of `S`; `to` has room for as many vectors as there are taps.
#[inline(always)]
pub(super) unsafe fn pack<S: Simd>(w: &Planes<S::T>, block: usize, to: *mut S::T) {
    let ([_, kh, kw], lanes) = (w.size, S::LANES);
    let (first, taps) = (block * lanes, kh * kw);
    let real = lanes.min(w.count - first);
    // SAFETY: the channels and taps are those of the filters.
    unsafe {
        if w.even() == Some(1) {
            for tap in (0..taps).step_by(lanes) {
                let cols = lanes.min(taps - tap);
                let from = w.plane(first, 0).wrapping_add(tap);
                S::transpose(from, w.by_count, real, cols, to.add(tap * lanes), lanes);
            }
            if real < lanes {
                for tap in 0..taps {
                    let at = to.add(tap * lanes);
                    S::store(at, S::load_part(at, real));
                }
            }
            return;
        }
        for tap in 0..taps {
            let by = (tap / kw) as isize * w.by[1] + (tap % kw) as isize * w.by[2];
            for c in 0..lanes {
                let value = if c < real { *w.plane(first + c, 0).wrapping_offset(by) } else { S::T::default() };
                *to.add(tap * lanes + c) = value;
            }
        }
    }
}

/// Gradients of the filters of one block, the other way round.
///
/// # Safety
/// `from` has as many vectors as there are taps; this part of `dw` is the caller's.
#[inline(always)]
pub(super) unsafe fn unpack<S: Simd>(from: *const S::T, block: usize, dw: &Planes<S::T>, add: bool) {
    let ([_, kh, kw], lanes) = (dw.size, S::LANES);
    let first = block * lanes;
    for c in 0..lanes.min(dw.count - first) {
        let plane = dw.plane(first + c, 0);
        for tap in 0..kh * kw {
            let to = plane.wrapping_offset((tap / kw) as isize * dw.by[1] + (tap % kw) as isize * dw.by[2]);
            // SAFETY: the caller's.
            unsafe {
                let value = *from.add(tap * lanes + c);
                *to = if add { *to + value } else { value };
            }
        }
    }
}
