//! Planes of results, and of gradients of images, line by line.
use super::filters::pack;
use super::line::{End, Line, line};
use crate::conv::blocked::{Blocked, Finish};
use crate::conv::geometry::{How, Planes};
use crate::gemm::{Body, Real, Scratch, Simd, Slot, Work};
use gluonish_base::pool;
use std::marker::PhantomData;
use std::ops::Range;

/// Multiplications of a task: fewer are not worth telling another thread.
const TASK: usize = 100_000;

/// A `Finish` that threads share.
#[derive(Clone, Copy)]
pub(super) struct Store<T>(pub Finish<T>);

// SAFETY: what it points to is only read while a kernel runs.
unsafe impl<T: Sync> Sync for Store<T> {}

/// Blocks of channels, images and lines of results, cut into tasks of one block each.
struct Cut {
    blocks: usize,
    /// Lines of all images.
    lines: usize,
    parts: usize,
}

impl Cut {
    /// `of_line` is the work of a line of a block.
    fn new(blocks: usize, lines: usize, of_line: usize) -> Cut {
        let parts = (lines.saturating_mul(of_line) / TASK).clamp(1, lines.max(1));
        Cut { blocks, lines, parts }
    }

    fn tasks(&self) -> usize {
        self.blocks * self.parts
    }

    fn task(&self, i: usize) -> (usize, Range<usize>) {
        let part = i % self.parts;
        (i / self.parts, self.lines * part / self.parts..self.lines * (part + 1) / self.parts)
    }
}

pub(super) struct Forward<'a, T> {
    pub threads: usize,
    pub x: &'a Blocked<T>,
    pub w: &'a Planes<T>,
    pub y: &'a Blocked<T>,
    pub how: &'a How,
    pub finish: Store<T>,
}

impl<T: Real> Work<T> for Forward<'_, T> {
    type Out = ();

    unsafe fn run<S: Simd<T = T>>(self) {
        let (y, [_, kh, kw]) = (self.y, self.w.size);
        let blocks = y.channels.div_ceil(S::LANES);
        let cut = Cut::new(blocks, y.count * y.height, y.width * kh * kw * S::LANES);
        pool::run(cut.tasks(), self.threads, |i| {
            let (block, lines) = cut.task(i);
            let scratch = Scratch::<T>::take(Slot::Other, kh * kw * S::LANES);
            // SAFETY: the caller's; lines and blocks are disjoint.
            unsafe { S::enter(ForwardLines::<S> { of: &self, block, lines, w: scratch.ptr(), is: PhantomData }) };
        });
    }
}

struct ForwardLines<'a, S: Simd> {
    of: &'a Forward<'a, S::T>,
    block: usize,
    lines: Range<usize>,
    w: *mut S::T,
    is: PhantomData<S>,
}

impl<S: Simd> Body for ForwardLines<'_, S> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let &Forward { x, y, w, how, ref finish, .. } = self.of;
        let ([_, kh, kw], lanes, block) = (w.size, S::LANES, self.block);
        let blocks = y.channels.div_ceil(lanes);
        let finish = finish.0;
        // SAFETY: the operands are valid for their shapes; tap rows in `from..to` lie in the image.
        unsafe {
            pack::<S>(w, block, self.w);
            let by_channel = |p: *const S::T| S::load(p.add(block * lanes));
            let end = End::<S> {
                scale: finish.scale.map(by_channel),
                shift: finish.shift.map_or(S::splat(S::T::default()), by_channel),
                residual: finish.residual.map(|r| elements_between(y.ptr, r.ptr)),
                relu: finish.relu,
                add: finish.add,
            };
            for i in self.lines {
                let (n, row) = (i / y.height, i % y.height);
                let (from, to) = inside(row * how.stride[1], how.pad[1], kh, x.height);
                let top = if from < to { row * how.stride[1] + from - how.pad[1] } else { 0 };
                let l = Line {
                    x: x.ptr.wrapping_add(((n * blocks + block) * x.height + top) * x.width * lanes),
                    by_row: (x.width * lanes) as isize,
                    rows: to - from,
                    width: x.width,
                    column: -(how.pad[2] as isize),
                    stride: how.stride[2],
                    w: self.w.wrapping_add(from * kw * lanes),
                    w_row: kw * lanes,
                    taps: kw,
                    y: y.ptr.wrapping_add(((n * blocks + block) * y.height + row) * y.width * lanes),
                    y_step: lanes,
                    count: y.width,
                };
                line::<S, true>(&l, &end);
            }
        }
    }
}

/// How far a place is from another, in elements; they may belong to different arrays.
fn elements_between<T>(from: *const T, to: *const T) -> isize {
    (to as isize - from as isize) / size_of::<T>() as isize
}

/// Taps, of `taps`, that lie in an axis of this size, the first of them at `at - pad`.
#[inline(always)]
pub(super) fn inside(at: usize, pad: usize, taps: usize, size: usize) -> (usize, usize) {
    let from = pad.saturating_sub(at).min(taps);
    (from, (size + pad).saturating_sub(at).clamp(from, taps))
}

pub(super) struct Backward<'a, T> {
    pub threads: usize,
    pub dy: &'a Blocked<T>,
    pub w: &'a Planes<T>,
    pub dx: &'a Blocked<T>,
    pub how: &'a How,
    pub add: bool,
}

impl<T: Real> Work<T> for Backward<'_, T> {
    type Out = ();

    unsafe fn run<S: Simd<T = T>>(self) {
        let (dx, [_, kh, kw]) = (self.dx, self.w.size);
        let blocks = dx.channels.div_ceil(S::LANES);
        let work = dx.width * kh * kw * S::LANES / self.how.stride[1].saturating_mul(self.how.stride[2]);
        let cut = Cut::new(blocks, dx.count * dx.height, work.max(1));
        pool::run(cut.tasks(), self.threads, |i| {
            let (block, lines) = cut.task(i);
            let scratch = Scratch::<T>::take(Slot::Other, 2 * kh * kw * S::LANES);
            // SAFETY: the caller's; lines and blocks are disjoint.
            unsafe { S::enter(BackwardLines::<S> { of: &self, block, lines, w: scratch.ptr(), is: PhantomData }) };
        });
    }
}

struct BackwardLines<'a, S: Simd> {
    of: &'a Backward<'a, S::T>,
    block: usize,
    lines: Range<usize>,
    w: *mut S::T,
    is: PhantomData<S>,
}

impl<S: Simd> Body for BackwardLines<'_, S> {
    type Out = ();

    /// A place of the image and a tap meet in a result where their sum is a multiple of the stride. So places in steps of
    /// the stride see the same taps, in steps of it too, and that is a convolution with stride 1 by those, backwards.
    #[inline(always)]
    unsafe fn run(self) {
        let &Backward { dy, dx, w, how, add, .. } = self.of;
        let ([_, kh, kw], lanes, block) = (w.size, S::LANES, self.block);
        let blocks = dx.channels.div_ceil(lanes);
        let ([_, sy, sx], [_, py, px]) = (how.stride, how.pad);
        let own = self.w.wrapping_add(kh * kw * lanes);
        // SAFETY: the operands are valid for their shapes; only rows of the result that exist are read.
        unsafe {
            pack::<S>(w, block, self.w);
            // Columns of filters by what they leave when divided by the stride, each part backwards.
            let mut to = own;
            for row in 0..kh {
                for phase in 0..sx.min(kw) {
                    for tap in (phase..kw).step_by(sx).rev() {
                        S::store(to, S::load(self.w.add((row * kw + tap) * lanes)));
                        to = to.add(lanes);
                    }
                }
            }
            let zero = S::splat(S::T::default());
            let end = End::<S> { scale: None, shift: zero, residual: None, relu: false, add };
            for i in self.lines {
                let (n, row) = (i / dx.height, i % dx.height);
                // Tap rows `t`, `t + sy`, ... and result rows `(row + py - t) / sy`, one less each.
                let mut t = (row + py) % sy;
                let mut r = (row + py - t) / sy;
                while r >= dy.height && t < kh {
                    t += sy;
                    match r.checked_sub(1) {
                        Some(above) => r = above,
                        None => t = kh,
                    }
                }
                let rows = if t < kh { (kh - t).div_ceil(sy).min(r + 1) } else { 0 };
                let source = dy.ptr.wrapping_add((n * blocks + block) * dy.height * dy.width * lanes);
                let target = dx.ptr.wrapping_add(((n * blocks + block) * dx.height + row) * dx.width * lanes);
                for first in 0..sx.min(dx.width) {
                    let phase = (first + px) % sx;
                    let taps = kw.saturating_sub(phase).div_ceil(sx);
                    let before: usize = (0..phase.min(kw)).map(|p| kw.saturating_sub(p).div_ceil(sx)).sum();
                    let column = ((first + px - phase) / sx) as isize + 1 - taps as isize;
                    let l = Line {
                        x: source.wrapping_add(r * dy.width * lanes).cast_const(),
                        by_row: -((dy.width * lanes) as isize),
                        rows,
                        width: dy.width,
                        column,
                        stride: 1,
                        w: own.wrapping_add((t.min(kh) * kw + before) * lanes).cast_const(),
                        w_row: sy * kw * lanes,
                        taps,
                        y: target.wrapping_add(first * lanes),
                        y_step: sx * lanes,
                        count: (dx.width - first).div_ceil(sx),
                    };
                    line::<S, false>(&l, &end);
                }
            }
        }
    }
}
