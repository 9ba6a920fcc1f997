//! Convolution of any shape as matrix products whose operands are gathered while they are packed: the general way, in all
//! three passes. A filter gradient is one product over all places of all images, so that no partial sums are added.
use super::gather::{Gather, Scan};
use super::geometry::{Extent, How, Planes, looks_at, met_by, offset, phases, taps};
use super::operand::{Channels, FilterGrads, Filters, Lattice};
use crate::gemm::{Affine, Identity, Mat, Product, Real, gemm, gemm_batch};
use crate::view::Mode;

/// `y[n, o] = bias[o] + sum over i, taps of x[n, i] * w[o, i]`
///
/// # Safety
/// The operands are valid for their shapes, which fit each other; `y` overlaps none of the others.
pub(super) unsafe fn forward<T: Real>(
    threads: usize,
    [x, w, y]: [&Planes<T>; 3],
    bias: Option<*const T>,
    how: &How,
    mode: Mode,
) {
    let (inputs, outputs) = (w.channels, w.count / how.groups);
    let looks: Vec<[isize; 3]> = taps(w.size).map(|t| looks_at(t, how)).collect();
    let offsets: Vec<isize> = taps(w.size).map(|t| offset(t, w.by)).collect();
    let (m, n, k) = (outputs, y.area(), inputs * looks.len());
    let part = |i: usize| (i / how.groups, i % how.groups);
    let filters = |g: usize| Filters {
        p: w.plane(g * outputs, 0).cast_const(),
        row: w.by_count,
        channel: w.by_channel,
        taps: &offsets,
    };
    let image = |i: usize| {
        let (image, g) = part(i);
        Gather::new(x, image, g * inputs, y.size, how.stride, &looks)
    };
    let result = |i: usize| {
        let (image, g) = part(i);
        Lattice::all(y, image, g * outputs)
    };
    let count = x.count * how.groups;
    let shape = (m, n, k);
    // SAFETY: the caller's; the products are different images and groups.
    unsafe {
        match bias.map(|b| Wrapped(b)) {
            None => gemm_batch::<T, _, _, _, _>(threads, count, shape, |i| {
                let (a, b, c) = (filters(part(i).1), image(i), result(i));
                Product { m, n, k, a, b, c, mode, e: Identity }
            }),
            Some(bias) => gemm_batch::<T, _, _, _, _>(threads, count, shape, |i| {
                let g = part(i).1;
                let e = Affine::<T, true, false, true, false, false>::bias(bias.get().add(g * outputs));
                Product { m, n, k, a: filters(g), b: image(i), c: result(i), mode, e }
            }),
        }
    }
}

/// A pointer that threads may share.
#[derive(Clone, Copy)]
struct Wrapped<T>(*const T);
// SAFETY: only read, from memory that outlives the product.
unsafe impl<T: Sync> Sync for Wrapped<T> {}
impl<T> Wrapped<T> {
    fn get(&self) -> *const T {
        self.0
    }
}

/// The gradient of `x`: each of its places gathers the results that looked at it. With strides, places fall into phases
/// that are looked at by different taps; each phase is a convolution of its own, without strides.
///
/// # Safety
/// As for `forward`, with `x` as the result.
pub(super) unsafe fn data_grad<T: Real>(threads: usize, [dy, w, dx]: [&Planes<T>; 3], how: &How, mode: Mode) {
    let (inputs, outputs) = (w.channels, w.count / how.groups);
    for phase in phases(dx.size, how) {
        let grid: Extent = std::array::from_fn(|i| dx.size[i].saturating_sub(phase[i]).div_ceil(how.stride[i]));
        let places: usize = grid.iter().product();
        let met: Vec<(Extent, [isize; 3])> = taps(w.size).filter_map(|t| Some((t, met_by(t, phase, how)?))).collect();
        let looks: Vec<[isize; 3]> = met.iter().map(|m| m.1).collect();
        let offsets: Vec<isize> = met.iter().map(|m| offset(m.0, w.by)).collect();
        let (m, n, k) = (inputs, places, outputs * looks.len());
        // SAFETY: the caller's; the products are different images, groups and phases.
        unsafe {
            gemm_batch::<T, _, _, _, _>(threads, dx.count * how.groups, (m, n, k), |i| {
                let (image, g) = (i / how.groups, i % how.groups);
                let filters = w.plane(g * outputs, 0).cast_const();
                let a = Filters { p: filters, row: w.by_channel, channel: w.by_count, taps: &offsets };
                let b = Gather::new(dy, image, g * outputs, grid, [1; 3], &looks);
                let first = dx.plane(image, g * inputs).wrapping_offset(offset(phase, dx.by));
                let by = std::array::from_fn(|i| dx.by[i] * how.stride[i] as isize);
                let c = Lattice { p: first, by_channel: dx.by_channel, grid, by };
                Product { m, n, k, a, b, c, mode, e: Identity }
            });
        }
    }
}

/// The gradient of the filters.
///
/// # Safety
/// As for `forward`, with `dw` as the result.
pub(super) unsafe fn weight_grad<T: Real>(threads: usize, [x, dy, dw]: [&Planes<T>; 3], how: &How, mode: Mode) {
    let (inputs, outputs) = (dw.channels, dw.count / how.groups);
    let looks: Vec<[isize; 3]> = taps(dw.size).map(|t| looks_at(t, how)).collect();
    let offsets: Vec<isize> = taps(dw.size).map(|t| offset(t, dw.by)).collect();
    let places = dy.area();
    let (m, n, k) = (outputs, inputs * looks.len(), x.count * places);
    let product = |g: usize| {
        let first = Gather::new(x, 0, g * inputs, dy.size, how.stride, &looks);
        let p = dw.plane(g * outputs, 0);
        let c = FilterGrads { p, row: dw.by_count, channel: dw.by_channel, taps: &offsets };
        (Scan { first, by_image: x.by_count }, c)
    };
    // A gradient whose places are not evenly spaced has been made even by the caller.
    let by = dy.even().unwrap_or(1);
    let channels = |g: usize| Channels {
        first: Mat::new(dy.plane(0, g * outputs).cast_const(), dy.by_channel, by),
        by_image: dy.by_count,
        places,
    };
    // SAFETY: the caller's; the products are different groups.
    unsafe {
        if how.groups == 1 {
            let (b, c) = product(0);
            return gemm::<T, _, _, _, _>(threads, Product { m, n, k, a: channels(0), b, c, mode, e: Identity });
        }
        gemm_batch::<T, _, _, _, _>(threads, how.groups, (m, n, k), |g| {
            let (b, c) = product(g);
            Product { m, n, k, a: channels(g), b, c, mode, e: Identity }
        });
    }
}
