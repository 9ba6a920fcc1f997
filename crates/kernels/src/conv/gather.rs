//! Images as the right operand of a product: for a channel and a tap of the filter (a row) and a place of a lattice (a
//! column), the value under the tap there, or 0 outside of the image. Nothing but the panels of the product is ever laid out.
use super::geometry::{Extent, Planes};
use crate::gemm::{Body, PackB, Real, Simd};
use std::marker::PhantomData;

/// One image, or the images of a batch one behind the other.
#[derive(Clone, Copy)]
pub(super) struct Gather<'a, T> {
    /// The first channel of interest.
    pub image: *const T,
    pub by_channel: isize,
    pub size: Extent,
    pub by: [isize; 3],
    /// Places and the distance between them in the image.
    pub grid: Extent,
    pub step: [isize; 3],
    /// Where each tap looks, from the place.
    pub taps: &'a [[isize; 3]],
}

// SAFETY: only read, from memory that outlives the product.
unsafe impl<T: Sync> Sync for Gather<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Send for Gather<'_, T> {}

impl<'a, T> Gather<'a, T> {
    pub(super) fn new(x: &Planes<T>, n: usize, c: usize, grid: Extent, step: Extent, taps: &'a [[isize; 3]]) -> Self {
        let step = step.map(|s| s as isize);
        Gather { image: x.plane(n, c), by_channel: x.by_channel, size: x.size, by: x.by, grid, step, taps }
    }

    /// Calls `f` with (how many places before, how many, where the first is) for the parts of `from..from + n` that lie
    /// side by side along the last axis.
    #[inline(always)]
    fn runs(&self, from: usize, n: usize, mut f: impl FnMut(usize, usize, [isize; 3])) {
        let [_, h, w] = self.grid;
        let mut done = 0;
        while done < n {
            let (row, x) = ((from + done) / w, (from + done) % w);
            let len = (w - x).min(n - done);
            let at = [row / h, row % h, x];
            f(done, len, std::array::from_fn(|i| at[i] as isize * self.step[i]));
            done += len;
        }
    }

    /// The row of the image in which a run lies for a tap, and where the run begins there.
    #[inline(always)]
    fn row(&self, channel: usize, tap: usize, at: [isize; 3]) -> (Option<*const T>, isize) {
        let tap = &self.taps[tap];
        let (z, y, x) = (at[0] + tap[0], at[1] + tap[1], at[2] + tap[2]);
        let inside = (z as usize) < self.size[0] && (y as usize) < self.size[1];
        let offset = channel as isize * self.by_channel + z * self.by[0] + y * self.by[1];
        (inside.then(|| self.image.wrapping_offset(offset)), x)
    }
}

impl<T: Real> PackB<T> for Gather<'_, T> {
    unsafe fn pack<S: Simd<T = T>>(&self, k0: usize, kc: usize, j0: usize, n: usize, dst: *mut T) {
        // SAFETY: the caller's.
        unsafe { S::enter(Fill::<S> { from: self, k0, kc, j0, n, dst, of: PhantomData }) }
    }
}

struct Fill<'a, S: Simd> {
    from: &'a Gather<'a, S::T>,
    k0: usize,
    kc: usize,
    j0: usize,
    n: usize,
    dst: *mut S::T,
    of: PhantomData<S>,
}

impl<S: Simd> Body for Fill<'_, S> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let (g, taps) = (self.from, self.from.taps.len());
        g.runs(self.j0, self.n, |column, len, at| {
            for u in 0..self.kc {
                let k = self.k0 + u;
                let (row, x) = g.row(k / taps, k % taps, at);
                // SAFETY: the panel has `NR` columns for each step, and `column + len` is not beyond them.
                unsafe { line::<S>(row, x, g.step[2], g.by[2], g.size[2], self.dst.add(u * S::NR + column), len) };
            }
        });
    }
}

/// `dst[i] = row[x + i * step]`, 0 where that is not in the row.
#[inline(always)]
unsafe fn line<S: Simd>(
    row: Option<*const S::T>,
    x: isize,
    step: isize,
    by: isize,
    size: usize,
    dst: *mut S::T,
    len: usize,
) {
    let zero = S::T::default();
    // SAFETY: `dst` has `len` elements; the row has `size`, `by` apart.
    unsafe {
        let Some(row) = row else {
            return (0..len).for_each(|i| *dst.add(i) = zero);
        };
        if step == 1 && by == 1 {
            let lo = (-x).clamp(0, len as isize) as usize;
            let hi = (size as isize - x).clamp(lo as isize, len as isize) as usize;
            let src = row.wrapping_offset(x);
            if lo == 0 && hi == len && len == S::NR {
                for v in 0..S::NR / S::LANES {
                    S::store(dst.add(v * S::LANES), S::load(src.add(v * S::LANES)));
                }
                return;
            }
            (0..lo).for_each(|i| *dst.add(i) = zero);
            (lo..hi).for_each(|i| *dst.add(i) = *src.wrapping_add(i));
            (hi..len).for_each(|i| *dst.add(i) = zero);
            return;
        }
        for i in 0..len {
            let x = x + i as isize * step;
            *dst.add(i) = if (x as usize) < size { *row.wrapping_offset(x * by) } else { zero };
        }
    }
}

/// The same the other way round, for gradients of filters: a row is a place in one of the images, a column a channel and a
/// tap.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a, T> {
    pub first: Gather<'a, T>,
    pub by_image: isize,
}

impl<T: Real> PackB<T> for Scan<'_, T> {
    unsafe fn pack<S: Simd<T = T>>(&self, k0: usize, kc: usize, j0: usize, n: usize, dst: *mut T) {
        // SAFETY: the caller's.
        unsafe { S::enter(Stand::<S> { from: self, k0, kc, j0, n, dst, of: PhantomData }) }
    }
}

struct Stand<'a, S: Simd> {
    from: &'a Scan<'a, S::T>,
    k0: usize,
    kc: usize,
    j0: usize,
    n: usize,
    dst: *mut S::T,
    of: PhantomData<S>,
}

impl<S: Simd> Body for Stand<'_, S> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let Scan { first, by_image } = *self.from;
        let (places, taps) = (first.grid.iter().product::<usize>(), first.taps.len());
        each_image(self.k0, self.kc, places, |done, n, image, place| {
            let g = Gather { image: first.image.wrapping_offset(image as isize * by_image), ..first };
            g.runs(place, n, |before, len, at| {
                for c in 0..self.n {
                    let j = self.j0 + c;
                    let (row, x) = g.row(j / taps, j % taps, at);
                    // SAFETY: the panel has `NR` columns for each of its `kc` steps.
                    unsafe {
                        let dst = self.dst.add((done + before) * S::NR + c);
                        column::<S>(row, x, g.step[2], g.by[2], g.size[2], dst, len);
                    }
                }
            });
        });
    }
}

/// `dst[i * NR] = row[x + i * step]`, 0 where that is not in the row.
#[inline(always)]
unsafe fn column<S: Simd>(
    row: Option<*const S::T>,
    x: isize,
    step: isize,
    by: isize,
    size: usize,
    dst: *mut S::T,
    len: usize,
) {
    for i in 0..len {
        let x = x + i as isize * step;
        let inside = row.filter(|_| (x as usize) < size);
        // SAFETY: `dst` has `len` steps; the place is in the row.
        unsafe { *dst.add(i * S::NR) = inside.map_or(S::T::default(), |row| *row.wrapping_offset(x * by)) };
    }
}

/// Cuts `n` places from number `from` on, counted through the images of a batch, where images end: calls `f` with how many
/// came before, how many there are, the image, and the place in it.
#[inline(always)]
pub(super) fn each_image(from: usize, n: usize, places: usize, mut f: impl FnMut(usize, usize, usize, usize)) {
    let mut done = 0;
    while done < n {
        let (image, place) = ((from + done) / places, (from + done) % places);
        let len = (places - place).min(n - done);
        f(done, len, image, place);
        done += len;
    }
}
