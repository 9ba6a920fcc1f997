//! Filters on their way into the domain of products, and gradients of filters on their way back.
use super::formula::{filter, filter_back};
use crate::conv::geometry::Planes as Filters;
use crate::gemm::{Body, Simd};
use std::marker::PhantomData;
use std::ops::Range;

/// Filters as a convolution uses them: `[outputs][inputs][3][3]`.
#[derive(Clone, Copy)]
pub(super) struct Source<T> {
    ptr: *const T,
    pub outputs: usize,
    pub inputs: usize,
    by_output: isize,
    by_input: isize,
    by_row: isize,
    by_col: isize,
}

// SAFETY: only read.
unsafe impl<T: Sync> Sync for Source<T> {}

impl<T> Source<T> {
    pub(super) fn forward(w: &Filters<T>) -> Source<T> {
        Source {
            ptr: w.ptr,
            outputs: w.count,
            inputs: w.channels,
            by_output: w.by_count,
            by_input: w.by_channel,
            by_row: w.by[1],
            by_col: w.by[2],
        }
    }

    /// For the gradient of images: inputs and outputs change places, and the taps run backwards.
    pub(super) fn backward(w: &Filters<T>) -> Source<T> {
        Source {
            ptr: w.ptr.wrapping_offset(2 * (w.by[1] + w.by[2])),
            outputs: w.channels,
            inputs: w.count,
            by_output: w.by_channel,
            by_input: w.by_count,
            by_row: -w.by[1],
            by_col: -w.by[2],
        }
    }
}

/// Filters to points: inputs `inputs` of the one or two blocks of outputs from `block` on, to
/// `to[plane * by_plane + (input - first) * width * lanes]`.
pub(super) struct FiltersToPoints<'a, S: Simd, const F: usize> {
    pub w: &'a Source<S::T>,
    pub block: usize,
    pub width: usize,
    pub inputs: Range<usize>,
    pub to: *mut S::T,
    pub by_plane: usize,
    pub of: PhantomData<S>,
}

/// Taps of a filter, and elements of the largest vector.
const TAPS: usize = 9;
const LANES: usize = 16;

/// Some filters as vectors over a block of outputs: `[inputs][taps][lanes]`, as many inputs as there are lanes at most.
struct Taps<T>([T; LANES * TAPS * LANES]);

impl<S: Simd, const F: usize> Body for FiltersToPoints<'_, S, F> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let (w, t, lanes) = (*self.w, F + 2, S::LANES);
        let mut packed = Taps([S::T::default(); LANES * TAPS * LANES]);
        // SAFETY: outputs and inputs are those of the filters; the points of this panel are ours.
        unsafe {
            for v in 0..self.width {
                let first = (self.block + v) * lanes;
                let real = lanes.min(w.outputs - first);
                for start in self.inputs.clone().step_by(lanes) {
                    let count = lanes.min(self.inputs.end - start);
                    let from = w.ptr.wrapping_offset(first as isize * w.by_output + start as isize * w.by_input);
                    let back = pack::<S>(&w, from, real, count, packed.0.as_mut_ptr());
                    for k in 0..count {
                        let at = packed.0.as_ptr().add(k * TAPS * lanes);
                        let tap = |i: usize| S::load_part(at.add(if back { TAPS - 1 - i } else { i } * lanes), real);
                        let mut m = [[S::splat(S::T::default()); 3]; 6];
                        for q in 0..3 {
                            let o = filter::<S, F>([tap(q), tap(3 + q), tap(6 + q)]);
                            for a in 0..t {
                                m[a][q] = o[a];
                            }
                        }
                        let input = start - self.inputs.start + k;
                        let to = self.to.add((input * self.width + v) * lanes);
                        for a in 0..t {
                            let o = filter::<S, F>(m[a]);
                            for b in 0..t {
                                S::store(to.add((a * t + b) * self.by_plane), o[b]);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Lays the taps of `real` outputs and `count` inputs out as vectors; answers whether they are in backward order. Lanes
/// behind the last output hold anything.
#[inline(always)]
unsafe fn pack<S: Simd>(w: &Source<S::T>, from: *const S::T, real: usize, count: usize, to: *mut S::T) -> bool {
    let lanes = S::LANES;
    // SAFETY: the caller's.
    unsafe {
        match (w.by_output, w.by_input, w.by_row, w.by_col) {
            (_, 9, 3, 1) => {
                // All inputs and taps of an output follow each other.
                for i in (0..count * TAPS).step_by(lanes) {
                    let cols = lanes.min(count * TAPS - i);
                    S::transpose(from.add(i), w.by_output, real, cols, to.add(i * lanes), lanes);
                }
                false
            }
            (9, _, -3, -1) => {
                // The same for one input at a time; the pointer is at the last tap.
                let from = from.wrapping_sub(TAPS - 1);
                for k in 0..count {
                    let from = from.wrapping_offset(k as isize * w.by_input);
                    for i in (0..TAPS).step_by(lanes) {
                        let to = to.add((k * TAPS + i) * lanes);
                        S::transpose(from.add(i), w.by_output, real, lanes.min(TAPS - i), to, lanes);
                    }
                }
                true
            }
            _ => {
                for i in 0..count * TAPS * real {
                    let (o, tap, k) = (i % real, i / real % TAPS, i / real / TAPS);
                    let by = k as isize * w.by_input + (tap / 3) as isize * w.by_row + (tap % 3) as isize * w.by_col;
                    *to.add((k * TAPS + tap) * lanes + o) = *from.wrapping_offset(by + o as isize * w.by_output);
                }
                false
            }
        }
    }
}

/// Sums of products to gradients of filters: inputs `inputs` of a block of outputs, from
/// `from[plane * by_plane + (input - first) * by_input]`.
pub(super) struct FiltersFromPoints<'a, S: Simd, const F: usize> {
    pub from: *const S::T,
    pub by_plane: usize,
    pub by_input: usize,
    pub dw: &'a Filters<S::T>,
    pub block: usize,
    pub inputs: Range<usize>,
    pub add: bool,
    pub of: PhantomData<S>,
}

impl<S: Simd, const F: usize> Body for FiltersFromPoints<'_, S, F> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let (dw, t, lanes) = (self.dw, F + 2, S::LANES);
        let first = self.block * lanes;
        let real = lanes.min(dw.count - first);
        let mut packed = Taps([S::T::default(); LANES * TAPS * LANES]);
        // SAFETY: outputs and inputs are those of the filters; this part of them is ours.
        unsafe {
            for start in self.inputs.clone().step_by(lanes) {
                let count = lanes.min(self.inputs.end - start);
                for k in 0..count {
                    let from = self.from.add((start - self.inputs.start + k) * self.by_input);
                    let zero = S::splat(S::T::default());
                    let mut m = [[zero; 6]; 3];
                    for j in 0..t {
                        let mut d = [zero; 6];
                        for i in 0..t {
                            d[i] = S::load(from.add((i * t + j) * self.by_plane));
                        }
                        let o = filter_back::<S, F>(d);
                        for i in 0..3 {
                            m[i][j] = o[i];
                        }
                    }
                    for i in 0..3 {
                        let o = filter_back::<S, F>(m[i]);
                        for j in 0..3 {
                            S::store(packed.0.as_mut_ptr().add((k * TAPS + 3 * i + j) * lanes), o[j]);
                        }
                    }
                }
                unpack::<S>(packed.0.as_ptr(), count, dw, (first, real, start), self.add);
            }
        }
    }
}

/// The way back from vectors over outputs to filters.
#[inline(always)]
unsafe fn unpack<S: Simd>(
    from: *const S::T,
    count: usize,
    dw: &Filters<S::T>,
    (first, real, input): (usize, usize, usize),
    add: bool,
) {
    let (lanes, to) = (S::LANES, dw.plane(first, input));
    // SAFETY: the caller's.
    unsafe {
        if (dw.by_channel, dw.by[1], dw.by[2]) != (9, 3, 1) {
            for i in 0..count * TAPS * real {
                let (o, tap, k) = (i % real, i / real % TAPS, i / real / TAPS);
                let by = k as isize * dw.by_channel + (tap / 3) as isize * dw.by[1] + (tap % 3) as isize * dw.by[2];
                let (to, value) =
                    (to.wrapping_offset(by + o as isize * dw.by_count), *from.add((i / real) * lanes + o));
                *to = if add { *to + value } else { value };
            }
            return;
        }
        let mut square = [S::T::default(); LANES * LANES];
        for i in (0..count * TAPS).step_by(lanes) {
            let rows = lanes.min(count * TAPS - i);
            S::transpose(from.add(i * lanes), lanes as isize, rows, real, square.as_mut_ptr(), lanes);
            for o in 0..real {
                let (to, new) =
                    (to.wrapping_offset(i as isize + o as isize * dw.by_count), square.as_ptr().add(o * lanes));
                let new = S::load_part(new, rows);
                let new = if add { S::add(S::load_part(to, rows), new) } else { new };
                S::store_part(to, rows, new);
            }
        }
    }
}
