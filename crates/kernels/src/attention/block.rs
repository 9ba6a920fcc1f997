//! A block of scores: queries by keys.
use super::{Drop, Heads, How, Mask, Sizes};
use crate::gemm::{Mat, PackB, Simd};
use crate::map::Map;
use crate::map::sweep::REPEAT;
use crate::plain::Value;
use crate::products::product;
use crate::room::{Room, room};
use gluonish_base::Result;
use gluonish_base::isa::isa;

/// Most queries and keys of a block.
pub(super) const ROWS: usize = 64;
pub(super) const COLUMNS: usize = 128;

/// Keys (or values) that are the right operand of a product, transposed: panels of `S::NR` of them, `width` steps each.
pub(super) struct Transposed<T> {
    data: Room<T>,
    width: usize,
    count: usize,
}

impl<T: Value> Transposed<T> {
    pub(super) fn room<S: Simd<T = T>>(count: usize, width: usize) -> Result<Transposed<T>> {
        Ok(Transposed { data: room(count.next_multiple_of(S::NR) * width + S::NR)?, width, count })
    }

    /// # Safety
    /// The processor has the instructions of `S`; `from` leads to `count` rows, at most as many as there is room for.
    pub(super) unsafe fn fill<S: Simd<T = T>>(&mut self, from: *const T, stride: isize, count: usize) {
        self.count = count;
        let b = Mat::new(from, 1, stride);
        for j in (0..count).step_by(S::NR) {
            // SAFETY: the caller's; each panel has its place.
            unsafe {
                let to = self.data.as_mut_ptr().add(j * self.width);
                PackB::pack::<S>(&b, 0, self.width, j, S::NR.min(count - j), to);
            }
        }
    }

    /// `c = a @ these.T` for `m` rows of `a` and rows `from..from + n` of these; `from` is a multiple of `S::NR`.
    ///
    /// # Safety
    /// The processor has the instructions of `S`; `a` and `c` are valid for the shape.
    pub(super) unsafe fn times<S: Simd<T = T>>(
        &self,
        m: usize,
        a: Mat<T>,
        from: usize,
        n: usize,
        c: *mut T,
        ldc: usize,
    ) {
        for j in (0..n).step_by(S::NR) {
            // SAFETY: the caller's; the panel lies in the data.
            unsafe {
                let b = Mat::new(self.data.as_ptr().add((from + j) * self.width), S::NR as isize, 1);
                product::<S>([m, S::NR.min(n - j), self.width], a, b, c.wrapping_add(j), ldc, false);
            }
        }
    }
}

/// `c += a @ b` of `m` rows, `n` columns and `k` steps, where rows of `b` can be read in whole vectors.
///
/// # Safety
/// The processor has the instructions of `S`; all operands are valid for the shape.
pub(super) unsafe fn add_product<S: Simd>(
    [m, n, k]: [usize; 3],
    a: Mat<S::T>,
    b: *const S::T,
    b_stride: isize,
    c: *mut S::T,
    ldc: usize,
    add: bool,
) {
    for j in (0..n).step_by(S::NR) {
        let b = Mat::new(b.wrapping_add(j), b_stride, 1);
        // SAFETY: the caller's.
        unsafe { product::<S>([m, S::NR.min(n - j), k], a, b, c.wrapping_add(j), ldc, add) };
    }
}

/// `out[j] = map(x[j], by)`, for lines of values.
///
/// # Safety
/// `out` and `x` lead to `n` values.
pub(super) unsafe fn with_one<T: Value>(map: &Map, n: usize, out: *mut T, x: *const T, by: T) {
    let by = [by; REPEAT / 4];
    let Some(looped) = map.get(T::CLASS, isa()) else { return };
    let ins: [*const u8; 2] = [x.cast(), by.as_ptr().cast()];
    // SAFETY: the loop fits the machine; the first operand is an array, the second one repeated value.
    unsafe { looped(out.cast(), ins.as_ptr(), 1, n) }
}

/// What is common to all blocks of a call.
pub(super) struct Scores<'a, T> {
    pub sizes: Sizes,
    pub how: How,
    pub q: &'a Heads<T>,
    pub mask: Option<Mask>,
    pub drop: Option<Drop<T>>,
}

/// A block's place: batch, head, and the first query and key with their numbers.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub batch: usize,
    pub head: usize,
    pub row: usize,
    pub rows: usize,
    pub column: usize,
    pub columns: usize,
}

impl<T: Value> Scores<'_, T> {
    /// Keys that the last of some queries sees, of those that there are.
    pub(super) fn seen(&self, rows_end: usize) -> usize {
        if self.how.causal { self.sizes.columns.min(rows_end) } else { self.sizes.columns }
    }

    /// Copies queries, multiplied by the scale.
    ///
    /// # Safety
    /// `to` has room for them, `width` apart.
    pub(super) unsafe fn scaled_queries(&self, at: Place, to: *mut T) {
        let (width, scale) = (self.sizes.width, T::from_f64(self.how.scale));
        for i in 0..at.rows {
            let from = self.q.row(at.batch, at.head, at.row + i);
            // SAFETY: a row of the queries; the caller's promise for `to`.
            (0..width).for_each(|d| unsafe { *to.add(i * width + d) = *from.add(d) * scale });
        }
    }

    /// Scores of a block: products, with what a query must not see at minus infinity.
    ///
    /// # Safety
    /// `queries` are those of the place, scaled; `scores` has room for the block, rows `COLUMNS` apart; `keys` holds the keys
    /// from `keys_from` on.
    pub(super) unsafe fn compute<S: Simd<T = T>>(
        &self,
        at: Place,
        queries: *const T,
        keys: &Transposed<T>,
        keys_from: usize,
        scores: *mut T,
        spare: &mut [T],
    ) {
        let a = Mat::new(queries, self.sizes.width as isize, 1);
        // SAFETY: the caller's.
        unsafe {
            keys.times::<S>(at.rows, a, at.column - keys_from, at.columns, scores, COLUMNS);
            for i in 0..at.rows {
                let row = std::slice::from_raw_parts_mut(scores.add(i * COLUMNS), at.columns);
                if let Some(mask) = &self.mask {
                    mask.apply([at.batch, at.head, at.row + i, at.column], row, &mut spare[..at.columns]);
                }
                if self.how.causal {
                    let seen = (at.row + i + 1).saturating_sub(at.column).min(at.columns);
                    row[seen..].fill(T::from_f64(f64::NEG_INFINITY));
                }
            }
        }
    }

    /// Multiplies a row of a block with what dropout leaves of it.
    pub(super) fn drop_row(&self, at: Place, i: usize, row: &mut [T]) {
        if let Some(drop) = &self.drop {
            let s = &self.sizes;
            let line = ((at.batch * s.heads + at.head) * s.rows + at.row + i) as u64;
            drop.apply(line * s.columns as u64 + at.column as u64, row);
        }
    }
}
