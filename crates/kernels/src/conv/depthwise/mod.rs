//! Convolution of each channel with a filter of its own. Vectors run over channels; nothing is copied, zeros around the
//! image are taps left out.
// Taps and results are counted together, which indices say best.
#![allow(clippy::needless_range_loop)]

mod filters;
mod gradient;
mod line;
mod planes;

use super::blocked::{Blocked, Finish};
use super::geometry::{Extent, How, Planes};
use crate::gemm::{Real, dispatch};

/// Whether these kernels compute such a convolution, of filters `[outputs][inputs]...`, in all three passes.
pub(super) fn suits(kernel: Extent, outputs: usize, inputs: usize, how: &How) -> bool {
    inputs == 1
        && outputs == how.groups
        && kernel[0] == 1
        && how.stride[0] == 1
        && how.pad[0] == 0
        && how.dilate[1..] == [1; 2]
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
) {
    dispatch(planes::Forward { threads, x, w, y, how, finish: planes::Store(*finish) })
}

/// The gradient of images.
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
) {
    dispatch(planes::Backward { threads, dy, w, dx, how, add })
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
    dispatch(gradient::Gradient { threads, x, dy, dw, how, add })
}
