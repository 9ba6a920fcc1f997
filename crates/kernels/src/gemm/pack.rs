//! Operands, and how their panels are laid out for the register tile.
use super::simd::{Body, Real, Simd};
use std::marker::PhantomData;

/// The left operand of a product.
///
/// # Safety of the methods
/// The processor has the instructions of `S`; the rows and columns asked for are within the product's shape.
#[allow(clippy::missing_safety_doc)]
pub trait PackA<T: Real>: Sync {
    /// Fills `dst[kc][mr]` with `A[i0..i0 + mr][k0..k0 + kc]`, `mr` at most `S::MR`. A vector more may be written behind.
    unsafe fn pack<S: Simd<T = T>>(&self, i0: usize, mr: usize, k0: usize, kc: usize, dst: *mut T);
    /// The matrix, when the tile may read it where it lies.
    fn in_place(&self) -> Option<Mat<T>> {
        None
    }
}

/// The right operand of a product.
///
/// # Safety of the methods
/// As for [`PackA`].
#[allow(clippy::missing_safety_doc)]
pub trait PackB<T: Real>: Sync {
    /// Fills `dst[kc][S::NR]` with `B[k0..k0 + kc][j0..j0 + n]`, `n` at most `S::NR`, and any numbers beyond.
    unsafe fn pack<S: Simd<T = T>>(&self, k0: usize, kc: usize, j0: usize, n: usize, dst: *mut T);
    /// The matrix, when the tile may read it where it lies (which it does only if its rows are contiguous).
    fn in_place(&self) -> Option<Mat<T>> {
        None
    }
}

/// A borrowed operand, for hooks that are too large to copy.
impl<T: Real, P: PackA<T>> PackA<T> for &P {
    unsafe fn pack<S: Simd<T = T>>(&self, i0: usize, mr: usize, k0: usize, kc: usize, dst: *mut T) {
        // SAFETY: the caller's.
        unsafe { (**self).pack::<S>(i0, mr, k0, kc, dst) }
    }
    fn in_place(&self) -> Option<Mat<T>> {
        (**self).in_place()
    }
}

impl<T: Real, P: PackB<T>> PackB<T> for &P {
    unsafe fn pack<S: Simd<T = T>>(&self, k0: usize, kc: usize, j0: usize, n: usize, dst: *mut T) {
        // SAFETY: the caller's.
        unsafe { (**self).pack::<S>(k0, kc, j0, n, dst) }
    }
    fn in_place(&self) -> Option<Mat<T>> {
        (**self).in_place()
    }
}

/// A matrix in memory: element `(i, j)` is at `p + i * rs + j * cs`. Any strides, also negative ones and zero.
#[derive(Clone, Copy)]
pub struct Mat<T> {
    pub p: *const T,
    pub rs: isize,
    pub cs: isize,
}

// SAFETY: only read, from memory that outlives the product (the promise of `gemm`'s caller).
unsafe impl<T: Sync> Sync for Mat<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Send for Mat<T> {}

impl<T> Mat<T> {
    pub fn new(p: *const T, rs: isize, cs: isize) -> Mat<T> {
        Mat { p, rs, cs }
    }

    /// The transpose: the same memory, read the other way.
    #[must_use]
    pub fn t(self) -> Mat<T> {
        Mat { p: self.p, rs: self.cs, cs: self.rs }
    }

    #[inline(always)]
    pub fn at(&self, i: usize, j: usize) -> *const T {
        self.p.wrapping_offset(i as isize * self.rs + j as isize * self.cs)
    }
}

impl<T: Real> PackA<T> for Mat<T> {
    unsafe fn pack<S: Simd<T = T>>(&self, i0: usize, mr: usize, k0: usize, kc: usize, dst: *mut T) {
        let src = Mat { p: self.at(i0, k0), ..*self };
        // SAFETY: the caller's.
        unsafe { S::enter(Panel::<S> { src, rows: mr, cols: kc, dst, ds: mr, width: mr, of: PhantomData }) }
    }
    fn in_place(&self) -> Option<Mat<T>> {
        Some(*self)
    }
}

impl<T: Real> PackB<T> for Mat<T> {
    unsafe fn pack<S: Simd<T = T>>(&self, k0: usize, kc: usize, j0: usize, n: usize, dst: *mut T) {
        let src = Mat { p: self.at(k0, j0), ..*self }.t();
        // SAFETY: the caller's.
        unsafe { S::enter(Panel::<S> { src, rows: n, cols: kc, dst, ds: S::NR, width: S::NR, of: PhantomData }) }
    }
    fn in_place(&self) -> Option<Mat<T>> {
        Some(*self)
    }
}

/// A matrix times a number, as the left operand: `C += alpha * A * B` without a pass over C.
#[derive(Clone, Copy)]
pub struct Scaled<T> {
    pub mat: Mat<T>,
    pub by: T,
}

impl<T: Real> PackA<T> for Scaled<T> {
    unsafe fn pack<S: Simd<T = T>>(&self, i0: usize, mr: usize, k0: usize, kc: usize, dst: *mut T) {
        // SAFETY: the caller's; the panel has `mr * kc` values now.
        unsafe {
            PackA::pack::<S>(&self.mat, i0, mr, k0, kc, dst);
            for x in std::slice::from_raw_parts_mut(dst, mr * kc) {
                *x = *x * self.by;
            }
        }
    }
}

/// `dst[u][i] = src[i][u]` for `rows` lines `i` and `cols` steps `u`, any numbers from `rows` to `width`.
struct Panel<S: Simd> {
    src: Mat<S::T>,
    rows: usize,
    cols: usize,
    dst: *mut S::T,
    /// Distance between two steps of `dst`.
    ds: usize,
    width: usize,
    of: PhantomData<S>,
}

impl<S: Simd> Body for Panel<S> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        // Whole vectors are written: what the last strip spills into the next step is written over by the strips before
        // it or, where there is only one, by the next step; so the last strip comes first and steps go forward.
        for strip in (0..self.width.div_ceil(S::LANES)).rev() {
            let at = strip * S::LANES;
            let rows = self.rows.saturating_sub(at).min(S::LANES);
            // SAFETY: the lines from `at` on; `dst` has room for a vector behind the last step.
            unsafe { self.strip(self.src.at(at, 0), rows, self.dst.add(at)) };
        }
    }
}

impl<S: Simd> Panel<S> {
    /// One vector's width of the panel.
    #[inline(always)]
    unsafe fn strip(&self, src: *const S::T, rows: usize, dst: *mut S::T) {
        let Mat { rs, cs, .. } = self.src;
        // SAFETY: source elements are within the matrix, `dst` has a whole vector for each step.
        unsafe {
            if rows == 0 {
                for u in 0..self.cols {
                    S::store(dst.add(u * self.ds), S::splat(S::T::default()));
                }
            } else if rs == 1 && rows == S::LANES {
                for u in 0..self.cols {
                    let p = src.offset(u as isize * cs);
                    S::store(dst.add(u * self.ds), S::load(p));
                }
            } else if rs == 1 {
                for u in 0..self.cols {
                    let p = src.offset(u as isize * cs);
                    S::store(dst.add(u * self.ds), S::load_part(p, rows));
                }
            } else if cs == 1 {
                for u in (0..self.cols).step_by(S::LANES) {
                    let n = S::LANES.min(self.cols - u);
                    S::transpose(src.add(u), rs, rows, n, dst.add(u * self.ds), self.ds);
                }
            } else {
                self.gather(src, rows, dst)
            }
        }
    }

    /// Any strides, one element at a time.
    unsafe fn gather(&self, src: *const S::T, rows: usize, dst: *mut S::T) {
        let Mat { rs, cs, .. } = self.src;
        for u in 0..self.cols {
            for i in 0..S::LANES {
                // SAFETY: as in `strip`.
                unsafe {
                    let p = src.wrapping_offset(i as isize * rs + u as isize * cs);
                    *dst.add(u * self.ds + i) = if i < rows { *p } else { S::T::default() };
                }
            }
        }
    }
}
