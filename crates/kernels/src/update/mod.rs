//! Steps of optimizers: weights and what is kept beside them change in place. All tensors of a call are cut into pieces
//! that the threads share, so that many small ones cost no more than one large one.
mod formulas;
mod group;
mod lamb;
mod rules;
mod tensor;

pub use formulas::*;
pub use group::{GroupAdagrad, group_adagrad};
pub use lamb::{Lans, lamb, lans, multi_lars, trust};
pub use rules::{Corrected, LambSteps, Rule};
pub use tensor::{Tensor, give, keep, numbers};

use crate::per_isa;
use crate::view::Cx;
use gluonish_base::{DType, Result, pool};
use std::ops::{Add, Div, Mul, Neg, Sub};
use tensor::{Pieces, with_pieces};

/// A number that formulas compute with.
pub trait Value:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    const DTYPE: DType;
    fn of(x: f64) -> Self;
    fn to_f64(self) -> f64;
    fn sqrt(self) -> Self;
}
macro_rules! value {
    ($t:ident, $dtype:ident) => {
        impl Value for $t {
            const DTYPE: DType = DType::$dtype;
            #[inline(always)]
            fn of(x: f64) -> $t {
                x as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn sqrt(self) -> $t {
                $t::sqrt(self)
            }
        }
    };
}
value!(f32, F32);
value!(f64, F64);

/// A rule by which one weight changes.
pub trait Formula: Sync {
    /// Values that are kept for each weight, at most three.
    const STATES: usize;
    /// The new weight and states, from the old ones and the gradient.
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, states: [T; 3]) -> (T, [T; 3]);
}

/// Elements of a piece: what is converted on the way fits the first-level cache.
const PIECE: usize = 2048;

/// Applies a formula to all tensors. Each has as many states as the formula, and the rate of the same number.
pub fn update<F: Formula>(cx: &Cx, formula: &F, tensors: &[Tensor<'_>], rates: &[Rate]) -> Result {
    with_pieces(cx, tensors, |pieces| {
        if tensors.iter().any(|t| t.computed_in() == DType::F64) {
            run::<f64, F>(cx, formula, pieces, rates);
        } else {
            run::<f32, F>(cx, formula, pieces, rates);
        }
        Ok(())
    })
}

/// Pieces that a thread takes at a time, at most: memory is fastest where it is read in long runs.
const RUN: usize = 32;

fn run<T: Value, F: Formula>(cx: &Cx, formula: &F, pieces: &Pieces<'_>, rates: &[Rate]) {
    let count = pieces.count();
    let each = (count / 16).clamp(1, RUN);
    pool::run(count.div_ceil(each), cx.threads, |task| {
        for i in task * each..count.min((task + 1) * each) {
            let (tensor, range) = pieces.get(i);
            // SAFETY: pieces do not overlap, and each is taken once.
            unsafe {
                pieces.with::<T>(tensor, range, |w, g, [a, b, c]| step(formula, &rates[tensor], w, g, a, b, c));
            }
        }
    });
}

per_isa! {
    /// States that the formula does not have are empty.
    fn step[T: Value, F: Formula](formula: &F, rate: &Rate, w: &mut [T], g: &[T], a: &mut [T], b: &mut [T], c: &mut [T]) {
        let n = w.len();
        let g = &g[..n];
        let (a, b, c) = (
            &mut a[..if F::STATES > 0 { n } else { 0 }],
            &mut b[..if F::STATES > 1 { n } else { 0 }],
            &mut c[..if F::STATES > 2 { n } else { 0 }],
        );
        let rate = *rate;
        for i in 0..n {
            let mut s = [T::default(); 3];
            if F::STATES > 0 {
                s[0] = a[i];
            }
            if F::STATES > 1 {
                s[1] = b[i];
            }
            if F::STATES > 2 {
                s[2] = c[i];
            }
            (w[i], s) = formula.one(&rate, w[i], g[i], s);
            if F::STATES > 0 {
                a[i] = s[0];
            }
            if F::STATES > 1 {
                b[i] = s[1];
            }
            if F::STATES > 2 {
                c[i] = s[2];
            }
        }
    }
}
