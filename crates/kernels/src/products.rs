//! Products for kernels that have many small ones: right operands packed once, and tiles without anything around them.
use crate::gemm::{Mat, PackB, Simd, Tile};
use crate::plain::Value;
use crate::room::{Room, stale};
use crate::walk::Shared;
use gluonish_base::{Result, pool};

/// A number in nearly equal parts of at most `most`: calls `f` with start and length of each.
#[inline(always)]
pub(crate) fn parts(total: usize, most: usize, mut f: impl FnMut(usize, usize)) {
    let count = total.div_ceil(most);
    for i in 0..count {
        let start = i * total / count;
        f(start, (i + 1) * total / count - start);
    }
}

/// A right operand (`k` by `n`), packed once for many products: panels of `S::NR` columns, each `k` steps long.
pub(crate) struct Panels<T> {
    data: Room<T>,
    pub(crate) k: usize,
    pub(crate) n: usize,
}

impl<T: Value> Panels<T> {
    /// # Safety
    /// The processor has the instructions of `S`; `b` is readable for `k` by `n` elements.
    pub(crate) unsafe fn pack<S: Simd<T = T>>(threads: usize, b: Mat<T>, k: usize, n: usize) -> Result<Panels<T>> {
        let count = n.div_ceil(S::NR);
        let mut data = stale::<T>(count * k * S::NR + S::NR)?;
        let to = Shared(data.as_mut_ptr());
        pool::run(count, threads, |p| {
            let j = p * S::NR;
            // SAFETY: the caller's; each panel has a place of its own.
            unsafe { PackB::pack::<S>(&b, 0, k, j, S::NR.min(n - j), to.at((p * k * S::NR) as isize)) }
        });
        Ok(Panels { data, k, n })
    }

    pub(crate) fn count<S: Simd<T = T>>(&self) -> usize {
        self.n.div_ceil(S::NR)
    }

    /// `c = a @ b` (or `+=`) for the columns of one panel and `m` rows; `c` is where column 0 of C stands.
    ///
    /// # Safety
    /// The processor has the instructions of `S`; `a` (contiguous rows) and `c` are valid for the shape.
    #[inline(always)]
    pub(crate) unsafe fn multiply<S: Simd<T = T>>(
        &self,
        panel: usize,
        m: usize,
        a: Mat<T>,
        c: *mut T,
        ldc: usize,
        add: bool,
    ) {
        let col = panel * S::NR;
        // SAFETY: the caller's; the panel lies in the data.
        unsafe {
            let b = Mat::new(self.data.as_ptr().add(panel * self.k * S::NR), S::NR as isize, 1);
            product::<S>([m, S::NR.min(self.n - col), self.k], a, b, c.wrapping_add(col), ldc, add)
        }
    }
}

/// `c = a @ b` (or `+=`) of `m` rows, `lanes` columns (at most `S::NR`) and `k` steps. Rows of `a` are contiguous or
/// adjacent; rows of `b` have whole vectors.
///
/// # Safety
/// The processor has the instructions of `S`; all operands are valid for the shape.
#[inline(always)]
pub(crate) unsafe fn product<S: Simd>(
    [m, lanes, k]: [usize; 3],
    a: Mat<S::T>,
    b: Mat<S::T>,
    c: *mut S::T,
    ldc: usize,
    add: bool,
) {
    let most = if a.rs == 1 { S::MR } else { S::MR_APART };
    let mut first = true;
    parts(k, S::KC, |k0, kc| {
        parts(m, most, |row, rows| {
            let tile = Tile {
                m: rows,
                k: kc,
                a: Mat { p: a.at(row, k0), ..a },
                b: b.at(k0, 0),
                b_stride: b.rs,
                c: c.wrapping_add(row * ldc),
                ldc: ldc as isize,
                lanes,
                add: add || !first,
            };
            // SAFETY: the caller's.
            unsafe { S::tile(&tile) }
        });
        first = false;
    });
}
