//! Convolution with 3x3 filters and stride 1 in fewer multiplications (Winograd): tiles of the image and filters are
//! transformed, multiplied point by point as matrices over channels, and transformed back. Tiles of 4x4 results take a
//! quarter of the multiplications of the plain sum, tiles of 2x2 less than half; their errors are about ten times and
//! about as large as that of the plain sum.
//!
//! Every sum over channels or tiles is one chain, cut at places that the shape alone decides: bits do not depend on threads.
// Points of a tile have a row and a column, which indices say best.
#![allow(clippy::needless_range_loop)]

mod convolve;
mod filters;
mod formula;
mod gradient;
mod product;
mod tiles;

use super::blocked::{Blocked, Finish};
use super::geometry::{Extent, How, Planes};
use super::kept::{Key, Stamp};
use crate::gemm::{Real, Simd, Work, dispatch};
use convolve::convolve;
use filters::Source;
use gradient::gradient;
use tiles::Store;

/// Whether these kernels compute such a convolution in all three passes.
pub(super) fn suits(kernel: Extent, how: &How) -> bool {
    let pad = how.pad;
    kernel == [1, 3, 3]
        && how.stride == [1; 3]
        && how.dilate[1..] == [1; 2]
        && pad[0] == 0
        && pad[1] <= 2
        && pad[2] <= 2
        && how.groups == 1
}

/// The side of a tile of results for which there is less to do. Transforms weigh more in small tiles.
fn side(height: usize, width: usize) -> usize {
    let cost = |f: usize, of_tile: usize| height.div_ceil(f).saturating_mul(width.div_ceil(f)).saturating_mul(of_tile);
    if cost(2, 20) < cost(4, 36) { 2 } else { 4 }
}

/// `y = finish(conv(x, w))`
///
/// # Safety
/// The operands are valid for their shapes, which fit each other and `suits`; `y` overlaps none of the others but the
/// residual, and that element for element.
pub(super) unsafe fn forward<T: Real>(
    threads: usize,
    x: &Blocked<T>,
    w: &Planes<T>,
    y: &Blocked<T>,
    how: &How,
    finish: &Finish<T>,
    stamp: Option<Stamp>,
) {
    let key = stamp.map(|stamp| Key::new(("winograd", *how, [0; 3]), w, stamp));
    let (w, finish) = (Source::forward(w), Store(*finish));
    dispatch(Convolve { threads, x, w, key, y, pad: [how.pad[1], how.pad[2]], finish })
}

/// The gradient of images: the gradient of results, convolved with filters that are turned round.
///
/// # Safety
/// As for `forward`.
pub(super) unsafe fn data_grad<T: Real>(
    threads: usize,
    dy: &Blocked<T>,
    w: &Planes<T>,
    dx: &Blocked<T>,
    how: &How,
    add: bool,
    stamp: Option<Stamp>,
) {
    let key = stamp.map(|stamp| Key::new(("winograd backwards", *how, [0; 3]), w, stamp));
    let finish = Store(Finish { scale: None, shift: None, residual: None, relu: false, add });
    let pad = [2 - how.pad[1], 2 - how.pad[2]];
    dispatch(Convolve { threads, x: dy, w: Source::backward(w), key, y: dx, pad, finish })
}

/// The gradient of filters.
///
/// # Safety
/// As for `forward`.
pub(super) unsafe fn weight_grad<T: Real>(
    threads: usize,
    x: &Blocked<T>,
    dy: &Blocked<T>,
    dw: &Planes<T>,
    how: &How,
    add: bool,
) {
    dispatch(Gradient { threads, x, dy, dw, pad: [how.pad[1], how.pad[2]], add })
}

struct Convolve<'a, T> {
    threads: usize,
    x: &'a Blocked<T>,
    w: Source<T>,
    /// Under which transformed filters are kept.
    key: Option<Key>,
    y: &'a Blocked<T>,
    pad: [usize; 2],
    finish: Store<T>,
}

impl<T: Real> Work<T> for Convolve<'_, T> {
    type Out = ();

    unsafe fn run<S: Simd<T = T>>(self) {
        // SAFETY: the caller's.
        unsafe {
            if side(self.y.height, self.y.width) == 2 { convolve::<S, 2>(&self) } else { convolve::<S, 4>(&self) }
        }
    }
}

struct Gradient<'a, T> {
    threads: usize,
    x: &'a Blocked<T>,
    dy: &'a Blocked<T>,
    dw: &'a Planes<T>,
    pad: [usize; 2],
    add: bool,
}

impl<T: Real> Work<T> for Gradient<'_, T> {
    type Out = ();

    unsafe fn run<S: Simd<T = T>>(self) {
        // SAFETY: the caller's.
        unsafe {
            if side(self.dy.height, self.dy.width) == 2 { gradient::<S, 2>(&self) } else { gradient::<S, 4>(&self) }
        }
    }
}
