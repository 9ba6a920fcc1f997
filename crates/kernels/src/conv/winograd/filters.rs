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

impl<S: Simd, const F: usize> Body for FiltersToPoints<'_, S, F> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let (w, t, lanes) = (*self.w, F + 2, S::LANES);
        // SAFETY: outputs and inputs are those of the filters; the points of this panel are ours.
        unsafe {
            for v in 0..self.width {
                let first = (self.block + v) * lanes;
                let real = lanes.min(w.outputs - first);
                for (k, input) in self.inputs.clone().enumerate() {
                    let p = w.ptr.wrapping_offset(first as isize * w.by_output + input as isize * w.by_input);
                    let taps = taps::<S>(&w, p, real);
                    let mut m = [[taps[0]; 3]; 6];
                    for q in 0..3 {
                        let o = filter::<S, F>([taps[q], taps[3 + q], taps[6 + q]]);
                        for a in 0..t {
                            m[a][q] = o[a];
                        }
                    }
                    let to = self.to.add((k * self.width + v) * lanes);
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

/// The nine taps of `real` outputs for one input, zeros behind them.
#[inline(always)]
unsafe fn taps<S: Simd>(w: &Source<S::T>, p: *const S::T, real: usize) -> [S::V; 9] {
    const MOST: usize = 16;
    let mut all = [S::T::default(); 9 * MOST];
    // SAFETY: the caller's.
    unsafe {
        for r in 0..3 {
            for q in 0..3 {
                let at = p.wrapping_offset(r as isize * w.by_row + q as isize * w.by_col);
                for i in 0..real {
                    all[(3 * r + q) * S::LANES + i] = *at.wrapping_offset(i as isize * w.by_output);
                }
            }
        }
        std::array::from_fn(|i| S::load(all.as_ptr().add(i * S::LANES)))
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
        const MOST: usize = 16;
        let mut all = [S::T::default(); 9 * MOST];
        // SAFETY: outputs and inputs are those of the filters; this part of them is ours.
        unsafe {
            for (k, input) in self.inputs.enumerate() {
                let from = self.from.add(k * self.by_input);
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
                        S::store(all.as_mut_ptr().add((3 * i + j) * lanes), o[j]);
                    }
                }
                for o in 0..real {
                    let to = dw.plane(first + o, input);
                    for (tap, &value) in all[o..].iter().step_by(lanes).take(9).enumerate() {
                        let to = to.wrapping_offset((tap / 3) as isize * dw.by[1] + (tap % 3) as isize * dw.by[2]);
                        *to = if self.add { *to + value } else { value };
                    }
                }
            }
        }
    }
}
