//! Elements that keep their type, moved from one stride to another.
use super::cast::Cast;
use gluonish_base::isa::{Isa, isa};

/// # Safety
/// As for [`Cast`].
#[inline(always)]
unsafe fn body<T: Copy>(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize) {
    let (dst, src) = (dst.cast::<T>(), src.cast::<T>());
    // SAFETY: the caller says that both sides are valid as far as the strides reach; bytes are copied, so they need not
    // be aligned.
    unsafe {
        match (to, from) {
            (1, 1) => std::ptr::copy(src.cast::<u8>(), dst.cast::<u8>(), n * size_of::<T>()),
            (1, 0) => every::<T, 0>(dst, src, n),
            (1, -1) => every::<T, -1>(dst, src, n),
            (1, 2) => every::<T, 2>(dst, src, n),
            (1, 3) => every::<T, 3>(dst, src, n),
            (1, 4) => every::<T, 4>(dst, src, n),
            _ => {
                for k in 0..n as isize {
                    dst.offset(k * to).write_unaligned(src.offset(k * from).read_unaligned());
                }
            }
        }
    }
}

/// Every `STEP`th element. A stride that the compiler knows becomes whole registers and shuffles of them.
///
/// # Safety
/// As for [`Cast`].
#[inline(always)]
unsafe fn every<T: Copy, const STEP: isize>(dst: *mut T, src: *const T, n: usize) {
    for k in 0..n as isize {
        // SAFETY: the caller's promise.
        unsafe { dst.offset(k).write_unaligned(src.offset(k * STEP).read_unaligned()) };
    }
}

macro_rules! moves {
    ($($name:ident $(for $features:literal)?;)*) => {$(
        /// # Safety
        /// As for [`Cast`], and the processor has the instructions.
        $(#[cfg(target_arch = "x86_64")] #[target_feature(enable = $features)])?
        unsafe fn $name<T: Copy>(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize) {
            // SAFETY: passed on.
            unsafe { body::<T>(dst, to, src, from, n) }
        }
    )*};
}
moves! {
    plain;
    avx2 for "avx2";
    avx512 for "avx2,avx512f,avx512vl,avx512bw,avx512dq";
}
#[cfg(not(target_arch = "x86_64"))]
use {plain as avx2, plain as avx512};

/// The move of elements `size` bytes wide.
#[inline]
pub(super) fn move_fn(size: usize) -> Cast {
    fn of<T: Copy>() -> Cast {
        match isa() {
            Isa::Avx512 => avx512::<T>,
            Isa::Avx2 => avx2::<T>,
            Isa::Portable | Isa::Neon => plain::<T>,
        }
    }
    match size {
        1 => of::<u8>(),
        2 => of::<u16>(),
        4 => of::<u32>(),
        _ => of::<u64>(),
    }
}
