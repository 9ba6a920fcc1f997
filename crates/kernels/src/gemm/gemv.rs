//! Products with a vector: every element of the matrix is used once, so nothing is packed and memory sets the pace.
use super::block::Product;
use super::epilogue::{Epilogue, Finish};
use super::output::Output;
use super::pack::{Mat, PackA, PackB};
use super::scratch::{Scratch, Slot};
use super::simd::{Body, Real, Simd};
use std::marker::PhantomData;
use std::ops::Range;

/// Elements of the vector that are read (and copied, unless contiguous) at a time.
const KX: usize = 4096;
/// Results that are summed up at a time.
const IY: usize = 2048;

/// Computes a rectangle of C if it is a product with a vector whose matrix has contiguous rows or columns; else false.
///
/// # Safety
/// As for `Product::rectangle`.
pub(super) unsafe fn rectangle<S: Simd, A, B, C, E>(
    p: &Product<A, B, C, E>,
    rows: Range<usize>,
    cols: Range<usize>,
) -> bool
where
    A: PackA<S::T>,
    B: PackB<S::T>,
    C: Output<S::T>,
    E: Epilogue<S::T>,
{
    if p.m != 1 && p.n != 1 {
        return false;
    }
    let (Some(a), Some(b)) = (p.a.in_place(), p.b.in_place()) else { return false };
    // The result is a row of C, or a column.
    let is_row = p.m == 1;
    let (mat, x, range) = if is_row { (b.t(), a.t(), cols) } else { (a, b, rows) };
    if mat.cs != 1 && mat.rs != 1 {
        return false;
    }
    let y = Scratch::<S::T>::take(Slot::C, IY);
    let copy = Scratch::<S::T>::take(Slot::B, KX.min(p.k));
    for top in range.clone().step_by(IY) {
        let part = top..range.end.min(top + IY);
        // SAFETY: the caller's; the buffers have room for the parts.
        unsafe {
            for i in 0..part.len() {
                y.ptr().add(i).write(S::T::default());
            }
            for k0 in (0..p.k).step_by(KX) {
                let len = KX.min(p.k - k0);
                let x = contiguous(x, k0, len, &copy);
                let mat = Mat { p: mat.at(top, k0), ..mat };
                S::enter(Add::<S> { mat, x, y: y.ptr(), rows: part.len(), cols: len, of: PhantomData });
            }
            let (rows, cols) = if is_row { (0..1, part) } else { (part, 0..1) };
            if !E::IDENTITY {
                let (row, col) = (rows.start, cols.start);
                let (e, c, ldc) = (p.e, y.ptr(), cols.len() as isize);
                S::enter(Finish::<S, E> { e, c, ldc, row, col, rows: rows.len(), cols: cols.len() });
            }
            p.c.store(y.ptr(), cols.len(), rows, cols, p.mode);
        }
    }
    true
}

/// `len` elements of column 0 of `x` from `k0` on, where they lie or copied.
unsafe fn contiguous<T: Real>(x: Mat<T>, k0: usize, len: usize, copy: &Scratch<T>) -> *const T {
    if x.rs == 1 {
        return x.at(k0, 0);
    }
    for i in 0..len {
        // SAFETY: the elements are in `x`, and the copy has room.
        unsafe { copy.ptr().add(i).write(*x.at(k0 + i, 0)) }
    }
    copy.ptr()
}

/// `y += mat * x`
struct Add<S: Simd> {
    mat: Mat<S::T>,
    x: *const S::T,
    y: *mut S::T,
    rows: usize,
    cols: usize,
    of: PhantomData<S>,
}

impl<S: Simd> Body for Add<S> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        // SAFETY: the caller vouches for `rows` and `cols`.
        unsafe { if self.mat.cs == 1 { self.dots() } else { self.columns() } }
    }
}

impl<S: Simd> Add<S> {
    /// Rows are contiguous: each result is a dot product, four of them at a time.
    #[inline(always)]
    unsafe fn dots(&self) {
        let mut i = 0;
        // SAFETY: rows below `rows`.
        unsafe {
            while i + 4 <= self.rows {
                self.dot::<4>(i);
                i += 4;
            }
            while i < self.rows {
                self.dot::<1>(i);
                i += 1;
            }
        }
    }

    /// The order of a row's operations does not depend on `R`.
    #[inline(always)]
    unsafe fn dot<const R: usize>(&self, i: usize) {
        let row: [*const S::T; R] = std::array::from_fn(|r| self.mat.at(i + r, 0));
        let pair = 2 * S::LANES;
        // SAFETY: `cols` elements are readable in each row and in `x`.
        unsafe {
            let mut acc = [[S::splat(S::T::default()); 2]; R];
            let whole = self.cols / pair * pair;
            for u in (0..whole).step_by(pair) {
                let x = [S::load(self.x.add(u)), S::load(self.x.add(u + S::LANES))];
                for (a, p) in acc.iter_mut().zip(row) {
                    a[0] = S::fma(S::load(p.add(u)), x[0], a[0]);
                    a[1] = S::fma(S::load(p.add(u + S::LANES)), x[1], a[1]);
                }
            }
            for u in (whole..self.cols).step_by(S::LANES) {
                let lanes = S::LANES.min(self.cols - u);
                let x = S::load_part(self.x.add(u), lanes);
                for (a, p) in acc.iter_mut().zip(row) {
                    a[0] = S::fma(S::load_part(p.add(u), lanes), x, a[0]);
                }
            }
            for (r, a) in acc.iter().enumerate() {
                let y = self.y.add(i + r);
                *y = *y + S::sum(S::add(a[0], a[1]));
            }
        }
    }

    /// Columns are contiguous: they are added up, eight at a time.
    #[inline(always)]
    unsafe fn columns(&self) {
        let mut u = 0;
        // SAFETY: columns below `cols`.
        unsafe {
            while u + 8 <= self.cols {
                self.column::<8>(u);
                u += 8;
            }
            while u < self.cols {
                self.column::<1>(u);
                u += 1;
            }
        }
    }

    #[inline(always)]
    unsafe fn column<const N: usize>(&self, u: usize) {
        let col: [*const S::T; N] = std::array::from_fn(|v| self.mat.at(0, u + v));
        // SAFETY: `rows` elements are readable in each column and writable in `y`.
        unsafe {
            let mut x = [S::splat(S::T::default()); N];
            for (v, x) in x.iter_mut().enumerate() {
                *x = S::splat(*self.x.add(u + v));
            }
            let whole = self.rows / S::LANES * S::LANES;
            for i in (0..whole).step_by(S::LANES) {
                let mut y = S::load(self.y.add(i));
                for v in 0..N {
                    y = S::fma(S::load(col[v].add(i)), x[v], y);
                }
                S::store(self.y.add(i), y);
            }
            if whole < self.rows {
                let lanes = self.rows - whole;
                let mut y = S::load_part(self.y.add(whole), lanes);
                for v in 0..N {
                    y = S::fma(S::load_part(col[v].add(whole), lanes), x[v], y);
                }
                S::store_part(self.y.add(whole), lanes, y);
            }
        }
    }
}
