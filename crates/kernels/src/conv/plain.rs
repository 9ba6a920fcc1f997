//! Convolution of plain images by the fast algorithms, changes of layout included.
use super::blocked::{Blocked, Finish, from_blocked, lanes, to_blocked};
use super::choose::{Algorithm, Pass, Shape, choose};
use super::direct::first;
use super::fast;
use super::geometry::{How, Planes};
use super::implicit;
use super::kept::Stamp;
use crate::gemm::{Scratch, Slot};
use crate::view::Mode;

/// Bytes of blocked images that are laid out at a time, unless one image is larger.
const AT_ONCE: usize = 32 << 20;

pub(super) fn shape(x: &Planes<f32>, w: &Planes<f32>, how: &How) -> Shape {
    let (inputs, outputs) = (x.channels, w.count);
    Shape { count: x.count, inputs, outputs, size: x.size, kernel: w.size, how: *how, lanes: lanes::<f32>() }
}

/// Blocked images in scratch memory.
struct Room {
    images: Blocked<f32>,
    _memory: Scratch<f32>,
}

impl Room {
    /// For `count` images like those of `p`.
    fn new(p: &Planes<f32>, count: usize, slot: Slot) -> Room {
        let [_, height, width] = p.size;
        let mut images = Blocked { ptr: std::ptr::null_mut(), count, channels: p.channels, height, width };
        let memory = Scratch::take(slot, images.len(lanes::<f32>()));
        images.ptr = memory.ptr();
        Room { images, _memory: memory }
    }

    fn first(&self, count: usize) -> Blocked<f32> {
        Blocked { count, ..self.images }
    }
}

fn some(p: &Planes<f32>, from: usize, count: usize) -> Planes<f32> {
    Planes { ptr: p.plane(from, 0), count, ..*p }
}

/// How many images are taken at a time.
fn at_once(operands: &[&Planes<f32>]) -> usize {
    let lanes = lanes::<f32>();
    let bytes: usize = operands.iter().map(|p| p.channels.next_multiple_of(lanes) * p.area() * size_of::<f32>()).sum();
    (AT_ONCE / bytes.max(1)).max(1)
}

/// Calls `f` with (first, count) for parts of a batch.
fn each_part(count: usize, part: usize, mut f: impl FnMut(usize, usize)) {
    (0..count).step_by(part).for_each(|from| f(from, part.min(count - from)));
}

/// `y = conv(x, w) + bias`
///
/// # Safety
/// As `implicit::forward`.
pub(super) unsafe fn forward(
    threads: usize,
    [x, w, y]: [&Planes<f32>; 3],
    bias: Option<&[f32]>,
    how: &How,
    wanted: Option<Algorithm>,
    mode: Mode,
    stamp: Option<Stamp>,
) {
    let chosen = choose(&shape(x, w, how), Pass::Result, wanted);
    if chosen == Algorithm::Implicit {
        // SAFETY: the caller's.
        return unsafe { implicit::forward(threads, [x, w, y], bias.map(|b| b.as_ptr()), how, mode) };
    }
    let mut shift = Vec::new();
    if let Some(bias) = bias {
        shift.extend_from_slice(bias);
        shift.resize(bias.len().next_multiple_of(lanes::<f32>()), 0.0);
    }
    let finish = Finish { shift: bias.map(|_| shift.as_ptr()), ..Finish::plain(false) };
    if chosen == Algorithm::First {
        // SAFETY: the caller's.
        return unsafe { first::forward_plain(threads, [x, w, y], how, &finish, mode == Mode::Add) };
    }
    let part = at_once(&[x, y]).min(x.count);
    let (from, to) = (Room::new(x, part, Slot::Images), Room::new(y, part, Slot::Results));
    each_part(x.count, part.max(1), |n, count| {
        let (x, y) = (some(x, n, count), some(y, n, count));
        let (xb, yb) = (from.first(count), to.first(count));
        // SAFETY: the caller's; there is room for these images.
        unsafe {
            to_blocked(threads, &x, &xb);
            fast::forward(chosen, threads, [&xb, &yb], w, how, &finish, stamp);
            from_blocked(threads, &yb, &y, mode == Mode::Add);
        }
    });
}

/// The gradient of `x`.
///
/// # Safety
/// As `implicit::data_grad`.
pub(super) unsafe fn data_grad(
    threads: usize,
    [dy, w, dx]: [&Planes<f32>; 3],
    how: &How,
    wanted: Option<Algorithm>,
    mode: Mode,
    stamp: Option<Stamp>,
) {
    let chosen = choose(&shape(dx, w, how), Pass::Images, wanted);
    if chosen == Algorithm::Implicit {
        // SAFETY: the caller's.
        return unsafe { implicit::data_grad(threads, [dy, w, dx], how, mode) };
    }
    let part = at_once(&[dx, dy]).min(dx.count);
    let (from, to) = (Room::new(dy, part, Slot::Images), Room::new(dx, part, Slot::Results));
    each_part(dx.count, part.max(1), |n, count| {
        let (dy, dx) = (some(dy, n, count), some(dx, n, count));
        let (dyb, dxb) = (from.first(count), to.first(count));
        // SAFETY: the caller's; there is room for these images.
        unsafe {
            to_blocked(threads, &dy, &dyb);
            fast::data_grad(chosen, threads, [&dyb, &dxb], w, how, false, stamp);
            from_blocked(threads, &dxb, &dx, mode == Mode::Add);
        }
    });
}

/// The gradient of the filters.
///
/// # Safety
/// As `implicit::weight_grad`, but the gradient may lie in any way. Answers false, and computes nothing, where the general
/// way is chosen.
pub(super) unsafe fn weight_grad(
    threads: usize,
    [x, dy, dw]: [&Planes<f32>; 3],
    how: &How,
    wanted: Option<Algorithm>,
    mode: Mode,
) -> bool {
    let chosen = choose(&shape(x, dw, how), Pass::Filters, wanted);
    if chosen == Algorithm::Implicit {
        return false;
    }
    let part = if chosen == Algorithm::First { at_once(&[dy]) } else { at_once(&[x, dy]) }.min(x.count);
    let grads = Room::new(dy, part, Slot::Results);
    let images = (chosen != Algorithm::First).then(|| Room::new(x, part, Slot::Images));
    each_part(x.count, part.max(1), |n, count| {
        let (x, dy, dyb) = (some(x, n, count), some(dy, n, count), grads.first(count));
        let add = n > 0 || mode == Mode::Add;
        // SAFETY: the caller's; there is room for these images.
        unsafe {
            to_blocked(threads, &dy, &dyb);
            match &images {
                Some(images) => {
                    let xb = images.first(count);
                    to_blocked(threads, &x, &xb);
                    fast::weight_grad(chosen, threads, [&xb, &dyb], dw, how, add);
                }
                None => first::weight_grad(threads, &x, &dyb, dw, how, add),
            }
        }
    });
    true
}
