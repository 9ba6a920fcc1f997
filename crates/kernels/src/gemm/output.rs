//! Where results go.
use super::half::Half;
use super::simd::Real;
use crate::view::Mode;
use std::ops::Range;

/// The C of a product whose values are computed in `T`.
#[allow(clippy::missing_safety_doc)]
pub trait Output<T: Real>: Copy + Sync {
    /// The matrix as pointer and row stride, when it holds `T` in rows of contiguous elements.
    fn rows_in_place(&self) -> Option<(*mut T, isize)>;
    /// Stores or adds a rectangle that stands in `from`, rows `ld` apart.
    ///
    /// # Safety
    /// The rectangle is within C and nobody else touches it.
    unsafe fn store(&self, from: *const T, ld: usize, rows: Range<usize>, cols: Range<usize>, mode: Mode);
}

/// A matrix to write to: element `(i, j)` is at `p + i * rs + j * cs`.
#[derive(Clone, Copy)]
pub struct MatMut<T> {
    pub p: *mut T,
    pub rs: isize,
    pub cs: isize,
}

// SAFETY: threads write disjoint parts of it (the promise of who cuts the product).
unsafe impl<T: Send> Sync for MatMut<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for MatMut<T> {}

impl<T> MatMut<T> {
    pub fn new(p: *mut T, rs: isize, cs: isize) -> MatMut<T> {
        MatMut { p, rs, cs }
    }
    /// The transpose: the same memory, written the other way.
    #[must_use]
    pub fn t(self) -> MatMut<T> {
        MatMut { p: self.p, rs: self.cs, cs: self.rs }
    }
    #[inline(always)]
    pub fn at(&self, i: usize, j: usize) -> *mut T {
        self.p.wrapping_offset(i as isize * self.rs + j as isize * self.cs)
    }

    /// Replaces each element of a rectangle by a function of itself and of what stands in `from`.
    #[inline(always)]
    unsafe fn update<U: Copy>(
        &self,
        from: *const U,
        ld: usize,
        rows: Range<usize>,
        cols: Range<usize>,
        f: impl Fn(*mut T, U),
    ) {
        for (u, i) in rows.enumerate() {
            for (v, j) in cols.clone().enumerate() {
                // SAFETY: the caller vouches for both rectangles.
                unsafe { f(self.at(i, j), *from.add(u * ld + v)) }
            }
        }
    }
}

impl<T: Real> Output<T> for MatMut<T> {
    fn rows_in_place(&self) -> Option<(*mut T, isize)> {
        (self.cs == 1).then_some((self.p, self.rs))
    }
    unsafe fn store(&self, from: *const T, ld: usize, rows: Range<usize>, cols: Range<usize>, mode: Mode) {
        // SAFETY: the caller's.
        unsafe {
            match mode {
                Mode::Write => self.update(from, ld, rows, cols, |p, x| *p = x),
                Mode::Add => self.update(from, ld, rows, cols, |p, x| *p = *p + x),
            }
        }
    }
}

/// A matrix of 16-bit floats: values are rounded once, when they are stored.
#[derive(Clone, Copy)]
pub struct HalfMut<H>(pub MatMut<H>);

impl<H: Half> Output<f32> for HalfMut<H> {
    fn rows_in_place(&self) -> Option<(*mut f32, isize)> {
        None
    }
    unsafe fn store(&self, from: *const f32, ld: usize, rows: Range<usize>, cols: Range<usize>, mode: Mode) {
        // SAFETY: the caller's.
        unsafe {
            match mode {
                Mode::Write => self.0.update(from, ld, rows, cols, |p, x| *p = H::narrow(x)),
                Mode::Add => self.0.update(from, ld, rows, cols, |p, x| *p = H::narrow((*p).widen() + x)),
            }
        }
    }
}
