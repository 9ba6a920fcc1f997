//! Lines of a block of scores: the softmax of what some queries have seen so far, and its gradient.
use super::block::COLUMNS;
use super::forward::Real;
use crate::formula::Float;
use crate::map::sweep::Vector;
use crate::registers::Body;
use crate::registers::sweeps::{largest, sweep};
use crate::softmax::row::{Powers, Product, Scaled};

/// Makes powers of the scores of a line for each query, below the largest one so far. Where that has grown, the sum of
/// powers and the mixed values shrink with it.
pub(super) struct Soften<'a, T> {
    pub scores: *mut T,
    pub columns: usize,
    /// The largest score of each query.
    pub tops: &'a mut [T],
    /// The sum of its powers.
    pub totals: &'a mut [f64],
    /// What it mixes of the values: lines of this length.
    pub mixed: *mut T,
    pub depth: usize,
}

impl<T: Real> Body<T> for Soften<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Float + Vector<T = T>>(self, i: I) {
        let none = T::from_f64(f64::NEG_INFINITY);
        for (r, (before, total)) in self.tops.iter_mut().zip(self.totals).enumerate() {
            let line = self.scores.wrapping_add(r * COLUMNS);
            // SAFETY: a line of so many scores, and one of mixed values.
            unsafe {
                let here = largest(i, line, self.columns);
                let mut top = if here > *before { here } else { *before };
                if top == none {
                    let scores = std::slice::from_raw_parts_mut(line, self.columns);
                    if scores.iter().all(|v| *v == none) {
                        scores.fill(T::default());
                        continue;
                    }
                    // What is not a number does not count as the largest, but it must be seen.
                    top = T::default();
                }
                let [sum] =
                    sweep(i, [line.cast_const()], line, self.columns, Powers::<I, true> { top: i.c(top.to_f64()) });
                if *before == none {
                    *before = top;
                } else if *before != top {
                    let shrink = (before.to_f64() - top.to_f64()).exp();
                    *total *= shrink;
                    let mixed = self.mixed.wrapping_add(r * self.depth);
                    let by = i.c(T::from_f64(shrink).to_f64());
                    sweep(i, [mixed.cast_const()], mixed, self.depth, Scaled::<I> { by });
                    *before = top;
                }
                *total += sum;
            }
        }
    }
}

/// Makes weights of scores, and of the weights' gradients those of the scores: `w = exp(s - log)`, `w * (d - dot)`.
pub(super) struct Back<T> {
    pub scores: *mut T,
    pub grads: *mut T,
    pub rows: usize,
    pub columns: usize,
    /// Of each line.
    pub logs: *const T,
    pub dots: *const T,
}

impl<T: Real> Body<T> for Back<T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Float + Vector<T = T>>(self, i: I) {
        for r in 0..self.rows {
            let (scores, grads) = (self.scores.wrapping_add(r * COLUMNS), self.grads.wrapping_add(r * COLUMNS));
            // SAFETY: lines of so many values, and a number for each.
            unsafe {
                let (log, dot) = (*self.logs.add(r), *self.dots.add(r));
                if log == T::from_f64(f64::NEG_INFINITY) {
                    std::slice::from_raw_parts_mut(scores, self.columns).fill(T::default());
                    std::slice::from_raw_parts_mut(grads, self.columns).fill(T::default());
                    continue;
                }
                let (log, dot) = (i.c(log.to_f64()), i.c(dot.to_f64()));
                for at in (0..self.columns).step_by(I::LANES) {
                    let left = (self.columns - at).min(I::LANES);
                    let w = i.exp(i.sub(i.load_or(scores.add(at), left, log), log));
                    let d = i.mul(w, i.sub(i.load_or(grads.add(at), left, dot), dot));
                    i.store_up_to(scores.add(at), w, left);
                    i.store_up_to(grads.add(at), d, left);
                }
            }
        }
    }
}

/// The product of two lines.
pub(super) struct Dot<T> {
    pub a: *const T,
    pub b: *const T,
    pub n: usize,
}

impl<T: Real> Body<T> for Dot<T> {
    type Out = T;
    #[inline(always)]
    fn run<I: Float + Vector<T = T>>(self, i: I) -> T {
        // SAFETY: both have so many values.
        let [sum] = unsafe { sweep(i, [self.a, self.b], std::ptr::null_mut(), self.n, Product) };
        T::from_f64(sum)
    }
}
