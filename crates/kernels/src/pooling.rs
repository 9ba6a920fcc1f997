//! Pooling: windows that slide over images, each folded to one value; and the ways back.
//!
//! A task owns whole planes (one channel of one image), so that results do not depend on the number of threads. Of equal
//! largest values the first counts; NaN is larger than any number.
mod largest;
mod lines;

use crate::conv::{Extent, Planes};
use crate::linalg::in_type;
use crate::registers::Registers;
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{DType, Result, pool};
use lines::{Lines, Space};
use std::ops::Range;

/// Where windows lie.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    pub kernel: Extent,
    pub stride: Extent,
    /// Before the first value of each axis.
    pub pad: Extent,
    pub channels_last: bool,
    /// What a mean is taken over: all of a window that lies in the padded image, or its values alone.
    pub count_pad: bool,
    pub mean: bool,
}

impl Windows {
    /// The part of window `i` of an axis that lies in the image, and what of it lies in the padded image.
    #[inline(always)]
    fn range(&self, axis: usize, i: usize, size: usize) -> (Range<usize>, usize) {
        let (from, pad) = ((i * self.stride[axis]) as isize, self.pad[axis] as isize);
        let from = from - pad;
        let to = (from + self.kernel[axis] as isize).min(size as isize + pad);
        let start = from.clamp(0, size as isize) as usize;
        (start..to.clamp(start as isize, size as isize) as usize, (to - from).max(0) as usize)
    }

    /// Calls `f` with each window's number and the ranges of its values, in order, and what a mean is divided by.
    #[inline(always)]
    fn each(&self, out: Extent, size: Extent, mut f: impl FnMut(Extent, [Range<usize>; 3], usize)) {
        for z in 0..out[0] {
            let (zs, dz) = self.range(0, z, size[0]);
            for y in 0..out[1] {
                let (ys, dy) = self.range(1, y, size[1]);
                for x in 0..out[2] {
                    let (xs, dx) = self.range(2, x, size[2]);
                    let inside = zs.len() * ys.len() * xs.len();
                    f([z, y, x], [zs.clone(), ys.clone(), xs], if self.count_pad { dz * dy * dx } else { inside });
                }
            }
        }
    }
}

trait Value: Registers + PartialOrd + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {}
impl Value for f32 {}
impl Value for f64 {}

/// One plane of an image.
#[derive(Clone, Copy)]
struct Plane<T> {
    p: *mut T,
    by: [isize; 3],
}

impl<T: Value> Plane<T> {
    fn of(x: &Planes<T>, plane: usize) -> Plane<T> {
        Plane { p: x.plane(plane / x.channels, plane % x.channels), by: x.by }
    }
    #[inline(always)]
    fn at(&self, z: usize, y: usize, x: usize) -> *mut T {
        self.p.wrapping_offset(z as isize * self.by[0] + y as isize * self.by[1] + x as isize * self.by[2])
    }
    /// Calls `f` with each place of a window.
    #[inline(always)]
    fn window(&self, [zs, ys, xs]: &[Range<usize>; 3], mut f: impl FnMut(*mut T)) {
        for z in zs.clone() {
            for y in ys.clone() {
                for x in xs.clone() {
                    f(self.at(z, y, x));
                }
            }
        }
    }
    /// The place of the largest value of a window; none in an empty one.
    #[inline(always)]
    fn largest(&self, window: &[Range<usize>; 3]) -> Option<(Extent, T)> {
        let [zs, ys, xs] = window;
        let mut best: Option<(Extent, T)> = None;
        for z in zs.clone() {
            for y in ys.clone() {
                for x in xs.clone() {
                    // SAFETY: the window lies in the plane.
                    let v = unsafe { *self.at(z, y, x) };
                    let better = match best {
                        None => true,
                        Some((_, b)) => v > b || (v.partial_cmp(&v).is_none() && b.partial_cmp(&b).is_some()),
                    };
                    if better {
                        best = Some(([z, y, x], v));
                    }
                }
            }
        }
        best
    }
}

#[inline(always)]
fn put<T: Value>(p: *mut T, v: T, mode: Mode) {
    // SAFETY: a place of an output that this task owns.
    unsafe { *p = if mode == Mode::Write { v } else { *p + v } };
}

/// Values of the planes that one task works on, at least.
const SHARE: usize = 1 << 15;

/// Runs `f` for every plane of the images, with `N` operands in the type that is computed in.
fn planes<const N: usize>(
    cx: &Cx,
    ins: [&View<'_>; N],
    how: &Windows,
    out: &Out<'_>,
    f32s: impl Fn(&[Planes<f32>], &Planes<f32>, Mode, usize, &mut Space<f32>) + Sync,
    f64s: impl Fn(&[Planes<f64>], &Planes<f64>, Mode, usize, &mut Space<f64>) + Sync,
) -> Result {
    /// Some planes for each task, which share its memory.
    fn share<T>(
        cx: &Cx,
        ins: &[View<'_>],
        last: bool,
        out: &Out<'_>,
        f: impl Fn(&[Planes<T>], &Planes<T>, Mode, usize, &mut Space<T>) + Sync,
    ) -> Result
    where
        T: Value,
    {
        let all: Vec<Planes<T>> = ins.iter().map(|v| Planes::new(v, last)).collect::<Result<_>>()?;
        let (to, mode) = (Planes::new(&out.view, last)?, out.mode);
        let count = to.count * to.channels;
        let area = |p: &Planes<T>| p.size.iter().product::<usize>();
        // Buffers are made for each task: no more tasks than threads can share well.
        let each = (SHARE / all.iter().map(area).fold(area(&to), usize::max).max(1))
            .max(count / (8 * cx.threads.max(1)))
            .max(1);
        pool::run(count.div_ceil(each), cx.threads, |task| {
            let mut space = Space::default();
            for plane in task * each..count.min((task + 1) * each) {
                f(&all, &to, mode, plane, &mut space);
            }
        });
        Ok(())
    }
    let kind = if out.view.dtype == DType::F64 { DType::F64 } else { DType::F32 };
    in_type(cx, kind, &ins.map(|v| *v), &[*out], |ins, outs| {
        if kind == DType::F64 {
            share(cx, ins, how.channels_last, &outs[0], f64s)
        } else {
            share(cx, ins, how.channels_last, &outs[0], f32s)
        }
    })
}

/// The largest value of each window.
pub fn max(cx: &Cx, x: &View<'_>, how: &Windows, out: &Out<'_>) -> Result {
    fn plane<T: Value>(ins: &[Planes<T>], to: &Planes<T>, mode: Mode, i: usize, how: &Windows, space: &mut Space<T>) {
        let (x, y) = (Plane::of(&ins[0], i), Plane::of(to, i));
        if let Some(lines) = Lines::of(how, &ins[0], to, mode) {
            return lines.max(x, y, space);
        }
        how.each(to.size, ins[0].size, |[a, b, c], window, _| {
            let v = x.largest(&window).map_or(T::from_f64(f64::NEG_INFINITY), |(_, v)| v);
            put(y.at(a, b, c), v, mode);
        });
    }
    planes(cx, [x], how, out, |i, o, m, p, s| plane(i, o, m, p, how, s), |i, o, m, p, s| plane(i, o, m, p, how, s))
}

/// Of each window of `x` the value of `g` that stands where the largest of `x` does.
pub fn pick(cx: &Cx, g: &View<'_>, x: &View<'_>, how: &Windows, out: &Out<'_>) -> Result {
    fn plane<T: Value>(ins: &[Planes<T>], to: &Planes<T>, mode: Mode, i: usize, how: &Windows, _: &mut Space<T>) {
        let (g, x, y) = (Plane::of(&ins[0], i), Plane::of(&ins[1], i), Plane::of(to, i));
        how.each(to.size, ins[1].size, |[a, b, c], window, _| {
            // SAFETY: a place of the window, which lies in the plane.
            let v = x.largest(&window).map_or(T::default(), |([a, b, c], _)| unsafe { *g.at(a, b, c) });
            put(y.at(a, b, c), v, mode);
        });
    }
    planes(cx, [g, x], how, out, |i, o, m, p, s| plane(i, o, m, p, how, s), |i, o, m, p, s| plane(i, o, m, p, how, s))
}

/// The gradient of `max`: each value of `dy` goes where the largest value of its window of `x` stands.
pub fn max_grad(cx: &Cx, dy: &View<'_>, x: &View<'_>, how: &Windows, out: &Out<'_>) -> Result {
    fn plane<T: Value>(ins: &[Planes<T>], to: &Planes<T>, mode: Mode, i: usize, how: &Windows, space: &mut Space<T>) {
        let (dy, x, dx) = (Plane::of(&ins[0], i), Plane::of(&ins[1], i), Plane::of(to, i));
        if let Some(lines) = Lines::of(how, to, &ins[0], mode).filter(|_| ins[1].by[2] == 1) {
            return lines.max_grad(dy, x, dx, space);
        }
        clear(&dx, to, mode);
        how.each(ins[0].size, to.size, |[a, b, c], window, _| {
            if let Some(([z, y, x], _)) = x.largest(&window) {
                // SAFETY: a place of `dy`.
                put(dx.at(z, y, x), unsafe { *dy.at(a, b, c) }, Mode::Add);
            }
        });
    }
    planes(cx, [dy, x], how, out, |i, o, m, p, s| plane(i, o, m, p, how, s), |i, o, m, p, s| plane(i, o, m, p, how, s))
}

fn clear<T: Value>(plane: &Plane<T>, of: &Planes<T>, mode: Mode) {
    if mode == Mode::Write {
        // SAFETY: a place of an output that this task owns.
        plane.window(&of.size.map(|n| 0..n), |p| unsafe { *p = T::default() });
    }
}

/// The sum or the mean of each window.
pub fn sum(cx: &Cx, x: &View<'_>, how: &Windows, out: &Out<'_>) -> Result {
    fn plane<T: Value>(ins: &[Planes<T>], to: &Planes<T>, mode: Mode, i: usize, how: &Windows, space: &mut Space<T>) {
        let (x, y) = (Plane::of(&ins[0], i), Plane::of(to, i));
        if let Some(lines) = Lines::of(how, &ins[0], to, mode) {
            return lines.sum(x, y, space);
        }
        how.each(to.size, ins[0].size, |[a, b, c], window, count| {
            let mut total = T::default();
            // SAFETY: the window lies in the plane.
            x.window(&window, |p| total = total + unsafe { *p });
            put(y.at(a, b, c), total * share(how, count), mode);
        });
    }
    planes(cx, [x], how, out, |i, o, m, p, s| plane(i, o, m, p, how, s), |i, o, m, p, s| plane(i, o, m, p, how, s))
}

/// The part that each value of a window has in its result.
#[inline(always)]
fn share<T: Value>(how: &Windows, count: usize) -> T {
    T::from_f64(if how.mean { 1.0 / count as f64 } else { 1.0 })
}

/// The gradient of `sum`: each value of `dy` goes to all places of its window.
pub fn sum_grad(cx: &Cx, dy: &View<'_>, how: &Windows, out: &Out<'_>) -> Result {
    fn plane<T: Value>(ins: &[Planes<T>], to: &Planes<T>, mode: Mode, i: usize, how: &Windows, space: &mut Space<T>) {
        let (dy, dx) = (Plane::of(&ins[0], i), Plane::of(to, i));
        if let Some(lines) = Lines::of(how, to, &ins[0], mode) {
            return lines.sum_grad(dy, dx, space);
        }
        clear(&dx, to, mode);
        how.each(ins[0].size, to.size, |[a, b, c], window, count| {
            // SAFETY: a place of `dy`.
            let g = unsafe { *dy.at(a, b, c) } * share(how, count);
            dx.window(&window, |p| put(p, g, Mode::Add));
        });
    }
    planes(cx, [dy], how, out, |i, o, m, p, s| plane(i, o, m, p, how, s), |i, o, m, p, s| plane(i, o, m, p, how, s))
}

/// Where window `i` of `out` that share an axis of `size` among them lies; neighbours may overlap by one.
fn shared(i: usize, out: usize, size: usize) -> Range<usize> {
    i * size / out..((i + 1) * size).div_ceil(out)
}

/// The windows of planes that are divided evenly.
fn each_shared(out: Extent, size: Extent, mut f: impl FnMut(Extent, [Range<usize>; 3], usize)) {
    for y in 0..out[1] {
        let ys = shared(y, out[1], size[1]);
        for x in 0..out[2] {
            let xs = shared(x, out[2], size[2]);
            let count = ys.len() * xs.len();
            f([0, y, x], [0..1, ys.clone(), xs], count);
        }
    }
}

const EVENLY: Windows =
    Windows { kernel: [1; 3], stride: [1; 3], pad: [0; 3], channels_last: false, count_pad: false, mean: true };

/// The means of windows that divide images evenly, as many as the output has places.
pub fn adaptive_mean(cx: &Cx, x: &View<'_>, out: &Out<'_>) -> Result {
    fn plane<T: Value>(ins: &[Planes<T>], to: &Planes<T>, mode: Mode, i: usize, _: &mut Space<T>) {
        let (x, y) = (Plane::of(&ins[0], i), Plane::of(to, i));
        each_shared(to.size, ins[0].size, |[a, b, c], window, count| {
            let mut total = T::default();
            // SAFETY: the window lies in the plane.
            x.window(&window, |p| total = total + unsafe { *p });
            put(y.at(a, b, c), total * share(&EVENLY, count), mode);
        });
    }
    planes(cx, [x], &EVENLY, out, plane, plane)
}

/// The gradient of `adaptive_mean`.
pub fn adaptive_mean_grad(cx: &Cx, dy: &View<'_>, out: &Out<'_>) -> Result {
    fn plane<T: Value>(ins: &[Planes<T>], to: &Planes<T>, mode: Mode, i: usize, _: &mut Space<T>) {
        let (dy, dx) = (Plane::of(&ins[0], i), Plane::of(to, i));
        clear(&dx, to, mode);
        each_shared(ins[0].size, to.size, |[a, b, c], window, count| {
            // SAFETY: a place of `dy`.
            let g = unsafe { *dy.at(a, b, c) } * share(&EVENLY, count);
            dx.window(&window, |p| put(p, g, Mode::Add));
        });
    }
    planes(cx, [dy], &EVENLY, out, plane, plane)
}
