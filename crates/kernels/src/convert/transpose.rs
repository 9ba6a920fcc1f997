//! Transposed copies of blocks: rows of the source become columns of the target, square by square in registers.
#[cfg(target_arch = "x86_64")]
use gluonish_base::isa::{Isa, isa};

/// A block of `rows` by `cols` elements of one width. Source elements of a row lie one after the other, as do target
/// elements of a column; strides, in elements, lead from row to row of the source and from column to column of the target.
#[derive(Clone, Copy)]
pub(super) struct Crossed {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) src: *const u8,
    pub(super) src_stride: isize,
    pub(super) dst: *mut u8,
    pub(super) dst_stride: isize,
}

/// Copies a block of elements `size` bytes wide.
///
/// # Safety
/// Both sides are valid for the block and do not overlap.
pub(super) unsafe fn transpose(size: usize, b: Crossed) {
    #[cfg(target_arch = "x86_64")]
    if isa() >= Isa::Avx2 {
        // SAFETY: the caller's promise; the widths are those of the types, and the processor has AVX2.
        return unsafe { x86::transpose(size, b) };
    }
    // SAFETY: the caller's promise; the widths are those of the types.
    unsafe {
        match size {
            1 => squares::<u8, 8>(b, |s, ss, d, ds| plain::<u8, 8>(s, ss, d, ds)),
            2 => squares::<u16, 8>(b, |s, ss, d, ds| plain::<u16, 8>(s, ss, d, ds)),
            4 => squares::<u32, 8>(b, |s, ss, d, ds| plain::<u32, 8>(s, ss, d, ds)),
            _ => squares::<u64, 4>(b, |s, ss, d, ds| plain::<u64, 4>(s, ss, d, ds)),
        }
    }
}

/// Splits a block into squares of `N` by `N`, for each of which `square(source, its stride, target, its stride)` is called,
/// and single elements.
///
/// # Safety
/// As for `transpose`, with elements as wide as `T`.
#[inline(always)]
unsafe fn squares<T: Copy, const N: usize>(b: Crossed, square: impl Fn(*const T, isize, *mut T, isize)) {
    let (src, dst) = (b.src.cast::<T>(), b.dst.cast::<T>());
    let (whole_rows, whole_cols) = (b.rows - b.rows % N, b.cols - b.cols % N);
    // SAFETY: row and column numbers stay within the block.
    unsafe {
        for c in (0..whole_cols).step_by(N) {
            for r in (0..whole_rows).step_by(N) {
                let from = src.offset(r as isize * b.src_stride).add(c);
                square(from, b.src_stride, dst.offset(c as isize * b.dst_stride).add(r), b.dst_stride);
            }
        }
        for c in 0..b.cols {
            for r in if c < whole_cols { whole_rows } else { 0 }..b.rows {
                let v = src.offset(r as isize * b.src_stride).add(c).read_unaligned();
                dst.offset(c as isize * b.dst_stride).add(r).write_unaligned(v);
            }
        }
    }
}

/// A square, element by element.
///
/// # Safety
/// `N` rows of `N` elements are valid on both sides.
#[inline(always)]
unsafe fn plain<T: Copy, const N: usize>(src: *const T, src_stride: isize, dst: *mut T, dst_stride: isize) {
    // SAFETY: the caller's promise.
    unsafe {
        let rows: [[T; N]; N] =
            std::array::from_fn(|r| src.offset(r as isize * src_stride).cast::<[T; N]>().read_unaligned());
        let columns: [[T; N]; N] = std::array::from_fn(|c| std::array::from_fn(|r| rows[r][c]));
        for (c, column) in columns.into_iter().enumerate() {
            dst.offset(c as isize * dst_stride).cast::<[T; N]>().write_unaligned(column);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Crossed, squares};
    use std::arch::x86_64::*;

    /// # Safety
    /// As for `super::transpose`, and the processor has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn transpose(size: usize, b: Crossed) {
        // SAFETY: the caller's promise; the widths are those of the types.
        unsafe {
            match size {
                1 => squares::<u8, 8>(b, |s, ss, d, ds| bytes(s, ss, d, ds)),
                2 => squares::<u16, 8>(b, |s, ss, d, ds| shorts(s, ss, d, ds)),
                4 => squares::<u32, 8>(b, |s, ss, d, ds| words(s, ss, d, ds)),
                _ => squares::<u64, 4>(b, |s, ss, d, ds| longs(s, ss, d, ds)),
            }
        }
    }

    /// Eight rows of eight bytes.
    #[target_feature(enable = "avx2")]
    unsafe fn bytes(src: *const u8, src_stride: isize, dst: *mut u8, dst_stride: isize) {
        // SAFETY: eight rows of eight bytes are valid.
        let row = |k: isize| unsafe { _mm_loadl_epi64(src.offset(k * src_stride).cast()) };
        let pair = |k: isize| _mm_unpacklo_epi8(row(k), row(k + 1));
        // Pairs of rows, then of pairs, then of those: two columns in each register.
        let (a, b, c, d) = (pair(0), pair(2), pair(4), pair(6));
        let (e, f) = (_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b));
        let (g, h) = (_mm_unpacklo_epi16(c, d), _mm_unpackhi_epi16(c, d));
        let columns =
            [_mm_unpacklo_epi32(e, g), _mm_unpackhi_epi32(e, g), _mm_unpacklo_epi32(f, h), _mm_unpackhi_epi32(f, h)];
        for (k, two) in columns.into_iter().enumerate() {
            // SAFETY: eight columns of eight bytes are valid.
            unsafe {
                let place = dst.offset(2 * k as isize * dst_stride);
                place.cast::<i64>().write_unaligned(_mm_cvtsi128_si64(two));
                place.offset(dst_stride).cast::<i64>().write_unaligned(_mm_extract_epi64::<1>(two));
            }
        }
    }

    /// Eight rows of eight elements of two bytes.
    #[target_feature(enable = "avx2")]
    unsafe fn shorts(src: *const u16, src_stride: isize, dst: *mut u16, dst_stride: isize) {
        // SAFETY: eight rows of eight elements are valid.
        let row = |k: isize| unsafe { _mm_loadu_si128(src.offset(k * src_stride).cast()) };
        let pair = |k: isize| {
            let (a, b) = (row(k), row(k + 1));
            (_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b))
        };
        let ((a0, a1), (b0, b1), (c0, c1), (d0, d1)) = (pair(0), pair(2), pair(4), pair(6));
        let four = |a, b| (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
        let ((e0, e1), (e2, e3)) = (four(a0, b0), four(a1, b1));
        let ((f0, f1), (f2, f3)) = (four(c0, d0), four(c1, d1));
        for (k, (e, f)) in [(e0, f0), (e1, f1), (e2, f2), (e3, f3)].into_iter().enumerate() {
            // SAFETY: eight columns of eight elements are valid.
            unsafe {
                let place = dst.offset(2 * k as isize * dst_stride);
                _mm_storeu_si128(place.cast(), _mm_unpacklo_epi64(e, f));
                _mm_storeu_si128(place.offset(dst_stride).cast(), _mm_unpackhi_epi64(e, f));
            }
        }
    }

    /// Eight rows of eight elements of four bytes.
    #[target_feature(enable = "avx2")]
    unsafe fn words(src: *const u32, src_stride: isize, dst: *mut u32, dst_stride: isize) {
        // SAFETY: eight rows of eight elements are valid.
        let row = |k: isize| unsafe { _mm256_loadu_ps(src.offset(k * src_stride).cast()) };
        // Pairs of rows, then pairs of pairs, within the halves of the registers; then the halves.
        let pair = |k: isize| {
            let (a, b) = (row(k), row(k + 1));
            (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b))
        };
        let ((a0, a1), (a2, a3), (b0, b1), (b2, b3)) = (pair(0), pair(2), pair(4), pair(6));
        let four = |a, b| (_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xee>(a, b));
        let ((c0, c1), (c2, c3)) = (four(a0, a2), four(a1, a3));
        let ((d0, d1), (d2, d3)) = (four(b0, b2), four(b1, b3));
        for (k, (c, d)) in [(c0, d0), (c1, d1), (c2, d2), (c3, d3)].into_iter().enumerate() {
            let (low, high) = (_mm256_permute2f128_ps::<0x20>(c, d), _mm256_permute2f128_ps::<0x31>(c, d));
            // SAFETY: eight columns of eight elements are valid.
            unsafe {
                _mm256_storeu_ps(dst.offset(k as isize * dst_stride).cast(), low);
                _mm256_storeu_ps(dst.offset((k + 4) as isize * dst_stride).cast(), high);
            }
        }
    }

    /// Four rows of four elements of eight bytes.
    #[target_feature(enable = "avx2")]
    unsafe fn longs(src: *const u64, src_stride: isize, dst: *mut u64, dst_stride: isize) {
        // SAFETY: four rows of four elements are valid.
        let row = |k: isize| unsafe { _mm256_loadu_si256(src.offset(k * src_stride).cast()) };
        let pair = |k: isize| {
            let (a, b) = (row(k), row(k + 1));
            (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))
        };
        let ((a0, a1), (b0, b1)) = (pair(0), pair(2));
        for (k, (a, b)) in [(a0, b0), (a1, b1)].into_iter().enumerate() {
            let (low, high) = (_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b));
            // SAFETY: four columns of four elements are valid.
            unsafe {
                _mm256_storeu_si256(dst.offset(k as isize * dst_stride).cast(), low);
                _mm256_storeu_si256(dst.offset((k + 2) as isize * dst_stride).cast(), high);
            }
        }
    }
}
