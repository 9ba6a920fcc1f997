//! The algorithms over blocked images, by name.
use super::blocked::{Blocked, Finish};
use super::choose::Algorithm;
use super::geometry::{How, Planes};
use super::kept::Stamp;
use super::{depthwise, direct, winograd};

/// `y = finish(conv(x, w))`
///
/// # Safety
/// The operands are valid for their shapes, which fit each other and the algorithm; `y` overlaps none of the others but the
/// residual, and that element for element.
pub(super) unsafe fn forward(
    by: Algorithm,
    threads: usize,
    [x, y]: [&Blocked<f32>; 2],
    w: &Planes<f32>,
    how: &How,
    finish: &Finish<f32>,
    stamp: Option<Stamp>,
) {
    // SAFETY: the caller's.
    unsafe {
        match by {
            Algorithm::Winograd => winograd::forward(threads, x, w, y, how, finish, stamp),
            Algorithm::Depthwise => depthwise::forward(threads, x, w, y, how, finish),
            _ => direct::forward(threads, x, w, y, how, finish, stamp),
        }
    }
}

/// The gradient of `x`.
///
/// # Safety
/// As for `forward`.
pub(super) unsafe fn data_grad(
    by: Algorithm,
    threads: usize,
    [dy, dx]: [&Blocked<f32>; 2],
    w: &Planes<f32>,
    how: &How,
    add: bool,
    stamp: Option<Stamp>,
) {
    // SAFETY: the caller's.
    unsafe {
        match by {
            Algorithm::Winograd => winograd::data_grad(threads, dy, w, dx, how, add, stamp),
            Algorithm::Depthwise => depthwise::data_grad(threads, dy, w, dx, how, add),
            _ => direct::data_grad(threads, dy, w, dx, how, add, stamp),
        }
    }
}

/// The gradient of the filters.
///
/// # Safety
/// As for `forward`.
pub(super) unsafe fn weight_grad(
    by: Algorithm,
    threads: usize,
    [x, dy]: [&Blocked<f32>; 2],
    dw: &Planes<f32>,
    how: &How,
    add: bool,
) {
    // SAFETY: the caller's.
    unsafe {
        match by {
            Algorithm::Winograd => winograd::weight_grad(threads, x, dy, dw, how, add),
            Algorithm::Depthwise => depthwise::weight_grad(threads, x, dy, dw, how, add),
            _ => direct::weight_grad(threads, x, dy, dw, how, add),
        }
    }
}
