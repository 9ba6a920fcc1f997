//! The gradient of depthwise filters: for each tap, the sum over all places of an image times the gradient of results.
//! Lines are summed in parts that the shape alone decides, so that there is work for all threads where channels are few,
//! and then the parts in order.
use super::filters::unpack;
use super::line::{run_length, unrolled};
use super::planes::inside;
use crate::conv::blocked::Blocked;
use crate::conv::geometry::{How, Planes};
use crate::gemm::{Body, Real, Scratch, Simd, Slot, Work};
use gluonish_base::pool;
use std::marker::PhantomData;
use std::ops::Range;

/// Places of a part, about.
const PLACES: usize = 2048;

pub(super) struct Gradient<'a, T> {
    pub threads: usize,
    pub x: &'a Blocked<T>,
    pub dy: &'a Blocked<T>,
    pub dw: &'a Planes<T>,
    pub how: &'a How,
    pub add: bool,
}

/// A pointer that threads share.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);
// SAFETY: threads write disjoint parts of it, and read what no thread writes any more.
unsafe impl<T: Sync> Sync for Shared<T> {}

impl<T: Real> Work<T> for Gradient<'_, T> {
    type Out = ();

    unsafe fn run<S: Simd<T = T>>(self) {
        let (dy, [_, kh, kw]) = (self.dy, self.dw.size);
        let (blocks, lines) = (dy.channels.div_ceil(S::LANES), dy.count * dy.height);
        let parts = lines.div_ceil(PLACES.div_ceil(dy.width.max(1))).max(1);
        let len = kh * kw * S::LANES;
        let scratch = Scratch::<T>::take(Slot::Other, blocks * parts * len);
        let all = Shared(scratch.ptr());
        pool::run(blocks * parts, self.threads, |i| {
            let (all, block, part) = (&all, i / parts, i % parts);
            let lines = lines * part / parts..lines * (part + 1) / parts;
            let to = all.0.wrapping_add(i * len);
            // SAFETY: the caller's; parts are disjoint.
            unsafe { S::enter(SumLines::<S> { of: &self, block, lines, to, is: PhantomData }) };
        });
        pool::run(blocks, self.threads, |block| {
            let all = &all;
            let of = all.0.wrapping_add(block * parts * len);
            // SAFETY: the parts are written; blocks are disjoint.
            unsafe {
                S::enter(AddParts::<S> { parts, len, of, is: PhantomData });
                unpack::<S>(of, block, self.dw, self.add);
            }
        });
    }
}

/// Adds the parts of a block to the first.
struct AddParts<S: Simd> {
    parts: usize,
    len: usize,
    of: *mut S::T,
    is: PhantomData<S>,
}

impl<S: Simd> Body for AddParts<S> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        for at in (0..self.len).step_by(S::LANES) {
            let to = self.of.wrapping_add(at);
            // SAFETY: the caller's.
            unsafe {
                let mut sum = S::load(to);
                for part in 1..self.parts {
                    sum = S::add(sum, S::load(to.wrapping_add(part * self.len)));
                }
                S::store(to, sum);
            }
        }
    }
}

struct SumLines<'a, S: Simd> {
    of: &'a Gradient<'a, S::T>,
    block: usize,
    lines: Range<usize>,
    to: *mut S::T,
    is: PhantomData<S>,
}

impl<S: Simd> Body for SumLines<'_, S> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let &Gradient { x, dy, dw, how, .. } = self.of;
        let ([_, kh, kw], lanes, block) = (dw.size, S::LANES, self.block);
        let blocks = dy.channels.div_ceil(lanes);
        // SAFETY: the operands are valid for their shapes; tap rows in `from..to` lie in the image.
        unsafe {
            for tap in 0..kh * kw {
                S::store(self.to.add(tap * lanes), S::splat(S::T::default()));
            }
            for i in self.lines {
                let (n, row) = (i / dy.height, i % dy.height);
                let (from, to) = inside(row * how.stride[1], how.pad[1], kh, x.height);
                let gradient = dy.ptr.wrapping_add(((n * blocks + block) * dy.height + row) * dy.width * lanes);
                for t in from..to {
                    let line = row * how.stride[1] + t - how.pad[1];
                    let l = Line {
                        x: x.ptr.wrapping_add(((n * blocks + block) * x.height + line) * x.width * lanes),
                        width: x.width,
                        column: -(how.pad[2] as isize),
                        dy: gradient.cast_const(),
                        count: dy.width,
                        sums: self.to.add(t * kw * lanes),
                    };
                    match (how.stride[2], kw) {
                        (1, 3) => l.runs::<S, 3, 1>(),
                        (1, 5) => l.runs::<S, 5, 1>(),
                        (2, 3) => l.runs::<S, 3, 2>(),
                        (2, 5) => l.runs::<S, 5, 2>(),
                        (stride, taps) => l.any::<S>(stride, taps),
                    }
                }
            }
        }
    }
}

/// A line of gradients and the line of an image under a row of taps.
#[derive(Clone, Copy)]
struct Line<T> {
    /// Column 0.
    x: *const T,
    width: usize,
    /// The column under the first tap of the first gradient.
    column: isize,
    dy: *const T,
    count: usize,
    /// The sums of the row of taps.
    sums: *mut T,
}

impl<T: Real> Line<T> {
    /// In runs, with two sums for each tap: one chain of additions would be waited for.
    #[inline(always)]
    unsafe fn runs<S: Simd<T = T>, const K: usize, const STRIDE: usize>(self) {
        // SAFETY: the caller's.
        unsafe {
            let mut sum = [[S::splat(T::default()); K]; 2];
            for j in 0..K {
                sum[0][j] = S::load(self.sums.add(j * S::LANES));
            }
            let mut from = 0;
            while from < self.count {
                let length = run_length(self.count, self.count - from);
                let first = self.column + (from * STRIDE) as isize;
                let inside = first >= 0 && first as usize + (length - 1) * STRIDE + K <= self.width;
                macro_rules! of {
                    ($($u:literal)*) => {
                        match (length, inside) {
                            $(($u, true) => self.run::<S, $u, K, STRIDE, true>(from, &mut sum),
                              ($u, false) => self.run::<S, $u, K, STRIDE, false>(from, &mut sum),)*
                            _ => debug_assert!(false, "a run of {length} places"),
                        }
                    };
                }
                of!(1 4 7 8);
                from += length;
            }
            for j in 0..K {
                S::store(self.sums.add(j * S::LANES), S::add(sum[0][j], sum[1][j]));
            }
        }
    }

    #[inline(always)]
    unsafe fn run<S: Simd<T = T>, const U: usize, const K: usize, const STRIDE: usize, const INSIDE: bool>(
        self,
        from: usize,
        sum: &mut [[S::V; K]; 2],
    ) {
        // SAFETY: the caller's; columns outside of the image are not read.
        unsafe {
            let first = self.column + (from * STRIDE) as isize;
            let x = self.x.wrapping_offset(first * S::LANES as isize);
            let mut dy = [S::splat(T::default()); U];
            for u in 0..U {
                dy[u] = S::load(self.dy.add((from + u) * S::LANES));
            }
            unrolled!((U - 1) * STRIDE + K, q, {
                if INSIDE || ((first + q as isize) as usize) < self.width {
                    let v = S::load(x.wrapping_add(q * S::LANES));
                    for j in 0..K {
                        if q >= j && (q - j) % STRIDE == 0 && (q - j) / STRIDE < U {
                            let u = (q - j) / STRIDE;
                            sum[u % 2][j] = S::fma(v, dy[u], sum[u % 2][j]);
                        }
                    }
                }
            }, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18);
        }
    }

    /// Any number of taps, one after the other.
    #[inline(always)]
    unsafe fn any<S: Simd<T = T>>(self, stride: usize, taps: usize) {
        for j in 0..taps {
            let first = self.column + j as isize;
            // SAFETY: the caller's; columns outside of the image are not read.
            unsafe {
                let mut sum = S::load(self.sums.add(j * S::LANES));
                for i in 0..self.count {
                    let column = first + (i * stride) as isize;
                    if (column as usize) < self.width {
                        let v = S::load(self.x.wrapping_offset(column * S::LANES as isize));
                        sum = S::fma(v, S::load(self.dy.add(i * S::LANES)), sum);
                    }
                }
                S::store(self.sums.add(j * S::LANES), sum);
            }
        }
    }
}
