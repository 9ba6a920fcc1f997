//! The other operands of a convolution's products, and where their results go.
use super::gather::each_image;
use super::geometry::{Extent, Planes, even};
use crate::gemm::{Mat, Output, PackA, Real, Simd};
use crate::view::Mode;
use std::ops::Range;

/// Filters as the left operand: element `(i, k)` is at `p + i * row + k / taps * channel + taps[k % taps]`.
#[derive(Clone, Copy)]
pub(super) struct Filters<'a, T> {
    pub p: *const T,
    pub row: isize,
    pub channel: isize,
    /// How far each tap is from the first.
    pub taps: &'a [isize],
}

// SAFETY: only read, from memory that outlives the product.
unsafe impl<T: Sync> Sync for Filters<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Send for Filters<'_, T> {}

impl<T: Real> PackA<T> for Filters<'_, T> {
    unsafe fn pack<S: Simd<T = T>>(&self, i0: usize, mr: usize, k0: usize, kc: usize, dst: *mut T) {
        let taps = self.taps.len();
        for u in 0..kc {
            let (c, t) = ((k0 + u) / taps, (k0 + u) % taps);
            let p = self.p.wrapping_offset(i0 as isize * self.row + c as isize * self.channel + self.taps[t]);
            for i in 0..mr {
                // SAFETY: the rows and columns are within the filters, and `dst` has `mr` places for each step.
                unsafe { *dst.add(u * mr + i) = *p.wrapping_offset(i as isize * self.row) };
            }
        }
    }

    fn in_place(&self) -> Option<Mat<T>> {
        let adjacent = self.taps.iter().enumerate().all(|(i, t)| *t == i as isize);
        (adjacent && self.channel == self.taps.len() as isize).then(|| Mat::new(self.p, self.row, 1))
    }
}

/// The images of a batch one behind the other as the left operand: a row is a channel, a column a place in one of them.
#[derive(Clone, Copy)]
pub(super) struct Channels<T> {
    pub first: Mat<T>,
    pub by_image: isize,
    pub places: usize,
}

impl<T: Real> PackA<T> for Channels<T> {
    unsafe fn pack<S: Simd<T = T>>(&self, i0: usize, mr: usize, k0: usize, kc: usize, dst: *mut T) {
        each_image(k0, kc, self.places, |done, n, image, place| {
            let mat = Mat { p: self.first.p.wrapping_offset(image as isize * self.by_image), ..self.first };
            // SAFETY: the caller's; what is written beyond these steps is overwritten by the next ones.
            unsafe { PackA::pack::<S>(&mat, i0, mr, place, n, dst.add(done * mr)) };
        });
    }
}

/// Channels and places of an image as the result: column `j` is the `j`-th place of a lattice.
#[derive(Clone, Copy)]
pub(super) struct Lattice<T> {
    pub p: *mut T,
    pub by_channel: isize,
    pub grid: Extent,
    pub by: [isize; 3],
}

// SAFETY: threads write disjoint parts of it.
unsafe impl<T: Send> Sync for Lattice<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Lattice<T> {}

impl<T> Lattice<T> {
    /// All places of an image.
    pub(super) fn all(y: &Planes<T>, n: usize, c: usize) -> Lattice<T> {
        Lattice { p: y.plane(n, c), by_channel: y.by_channel, grid: y.size, by: y.by }
    }
}

impl<T: Real> Output<T> for Lattice<T> {
    fn rows_in_place(&self) -> Option<(*mut T, isize)> {
        (even(self.grid, self.by) == Some(1)).then_some((self.p, self.by_channel))
    }

    unsafe fn store(&self, from: *const T, ld: usize, rows: Range<usize>, cols: Range<usize>, mode: Mode) {
        let [_, h, w] = self.grid;
        for (v, j) in cols.enumerate() {
            let at = [j / w / h, j / w % h, j % w];
            let offset: isize = (0..3).map(|i| at[i] as isize * self.by[i]).sum();
            for (u, i) in rows.clone().enumerate() {
                // SAFETY: the caller's.
                unsafe {
                    let p = self.p.wrapping_offset(offset + i as isize * self.by_channel);
                    let value = *from.add(u * ld + v);
                    *p = if mode == Mode::Write { value } else { *p + value };
                }
            }
        }
    }
}

/// Filters as the result: as `Filters`.
#[derive(Clone, Copy)]
pub(super) struct FilterGrads<'a, T> {
    pub p: *mut T,
    pub row: isize,
    pub channel: isize,
    pub taps: &'a [isize],
}

// SAFETY: threads write disjoint parts of it.
unsafe impl<T: Send> Sync for FilterGrads<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for FilterGrads<'_, T> {}

impl<T: Real> Output<T> for FilterGrads<'_, T> {
    fn rows_in_place(&self) -> Option<(*mut T, isize)> {
        let filters = Filters { p: self.p.cast_const(), row: self.row, channel: self.channel, taps: self.taps };
        filters.in_place().map(|_| (self.p, self.row))
    }

    unsafe fn store(&self, from: *const T, ld: usize, rows: Range<usize>, cols: Range<usize>, mode: Mode) {
        let taps = self.taps.len();
        for (v, j) in cols.enumerate() {
            let offset = (j / taps) as isize * self.channel + self.taps[j % taps];
            for (u, i) in rows.clone().enumerate() {
                // SAFETY: the caller's.
                unsafe {
                    let p = self.p.wrapping_offset(offset + i as isize * self.row);
                    let value = *from.add(u * ld + v);
                    *p = if mode == Mode::Write { value } else { *p + value };
                }
            }
        }
    }
}
