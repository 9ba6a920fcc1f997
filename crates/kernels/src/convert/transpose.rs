//! Transposed copies of blocks: rows of the source become columns of the target, eight by eight in registers.
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
    // SAFETY: the caller's promise; the widths are those of the types.
    unsafe {
        match size {
            1 => squares::<u8>(b, plain_square::<u8>),
            2 => squares::<u16>(b, plain_square::<u16>),
            #[cfg(target_arch = "x86_64")]
            4 if isa() >= Isa::Avx2 => squares::<u32>(b, avx2_square),
            4 => squares::<u32>(b, plain_square::<u32>),
            _ => squares::<u64>(b, plain_square::<u64>),
        }
    }
}

const SIDE: usize = 8;
type Square<T> = unsafe fn(src: *const T, src_stride: isize, dst: *mut T, dst_stride: isize);

/// # Safety
/// As for `transpose`, with elements as wide as `T`.
unsafe fn squares<T: Copy>(b: Crossed, square: Square<T>) {
    let (src, dst) = (b.src.cast::<T>(), b.dst.cast::<T>());
    let (whole_rows, whole_cols) = (b.rows & !(SIDE - 1), b.cols & !(SIDE - 1));
    // SAFETY: row and column numbers stay within the block.
    unsafe {
        let one = |r: usize, c: usize| {
            let v = src.offset(r as isize * b.src_stride).add(c).read_unaligned();
            dst.offset(c as isize * b.dst_stride).add(r).write_unaligned(v);
        };
        for c in (0..whole_cols).step_by(SIDE) {
            for r in (0..whole_rows).step_by(SIDE) {
                let from = src.offset(r as isize * b.src_stride).add(c);
                square(from, b.src_stride, dst.offset(c as isize * b.dst_stride).add(r), b.dst_stride);
            }
        }
        for r in 0..b.rows {
            for c in if r < whole_rows { whole_cols } else { 0 }..b.cols {
                one(r, c);
            }
        }
    }
}

/// # Safety
/// Eight rows of eight elements are valid on both sides.
unsafe fn plain_square<T: Copy>(src: *const T, src_stride: isize, dst: *mut T, dst_stride: isize) {
    // SAFETY: the caller's promise.
    unsafe {
        let rows: [[T; SIDE]; SIDE] =
            std::array::from_fn(|r| src.offset(r as isize * src_stride).cast::<[T; SIDE]>().read_unaligned());
        let columns: [[T; SIDE]; SIDE] = std::array::from_fn(|c| std::array::from_fn(|r| rows[r][c]));
        for (c, column) in columns.into_iter().enumerate() {
            dst.offset(c as isize * dst_stride).cast::<[T; SIDE]>().write_unaligned(column);
        }
    }
}

/// # Safety
/// Eight rows of eight elements are valid on both sides, and the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2_square(src: *const u32, src_stride: isize, dst: *mut u32, dst_stride: isize) {
    use std::arch::x86_64::*;
    // SAFETY: the caller's promise.
    let r: [__m256; SIDE] =
        std::array::from_fn(|k| unsafe { src.offset(k as isize * src_stride).cast::<__m256>().read_unaligned() });
    // Pairs of rows, then pairs of pairs, within the halves of the registers; then the halves.
    let pair = |a, b| (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
    let ((a0, a1), (a2, a3)) = (pair(r[0], r[1]), pair(r[2], r[3]));
    let ((b0, b1), (b2, b3)) = (pair(r[4], r[5]), pair(r[6], r[7]));
    let four = |a, b| (_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xee>(a, b));
    let ((c0, c1), (c2, c3)) = (four(a0, a2), four(a1, a3));
    let ((d0, d1), (d2, d3)) = (four(b0, b2), four(b1, b3));
    for (k, (c, d)) in [(c0, d0), (c1, d1), (c2, d2), (c3, d3)].into_iter().enumerate() {
        let (low, high) = (_mm256_permute2f128_ps::<0x20>(c, d), _mm256_permute2f128_ps::<0x31>(c, d));
        // SAFETY: the caller's promise.
        unsafe {
            dst.offset(k as isize * dst_stride).cast::<__m256>().write_unaligned(low);
            dst.offset((k + 4) as isize * dst_stride).cast::<__m256>().write_unaligned(high);
        }
    }
}
