//! A learning rate for each row of a matrix.
use super::{Gradient, PIECE, Value};
use crate::convert::cast_fn;
use crate::view::{Cx, View};
use gluonish_base::{DType, pool};
use std::mem::MaybeUninit;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// AdaGrad with one history for each row: the mean of the squares of its gradients.
pub struct GroupAdagrad {
    pub gradient: Gradient,
    pub lr: f64,
    pub epsilon: f64,
}

/// `weight`, `grad` and `out` are matrices, `history` has a column of as many rows and changes in place.
pub fn group_adagrad(cx: &Cx, rule: &GroupAdagrad, [weight, grad, history, out]: [&View<'_>; 4]) {
    let views = Views { weight, grad, history, out };
    let (rows, cols) = (weight.shape[0] as usize, weight.shape[1] as usize);
    let at_once = (PIECE / cols.max(1)).max(1);
    pool::run(rows.div_ceil(at_once), cx.threads, |i| {
        for row in i * at_once..rows.min((i + 1) * at_once) {
            // SAFETY: the views are valid for their shapes, and each row is taken once.
            unsafe { views.step(rule, row, cols) };
        }
    });
}

struct Views<'a> {
    weight: &'a View<'a>,
    grad: &'a View<'a>,
    history: &'a View<'a>,
    out: &'a View<'a>,
}
// SAFETY: a kernel's operands may be used from any thread while it runs; rows are written by one each.
unsafe impl Sync for Views<'_> {}

/// Where an element is, and how far apart those of a row are.
fn place(view: &View<'_>, row: usize, col: usize) -> (*mut u8, isize) {
    let offset = row as isize * view.strides[0] + col as isize * view.strides[1];
    (view.ptr.wrapping_offset(offset * view.dtype.size() as isize), view.strides[1])
}

impl Views<'_> {
    /// # Safety
    /// The views have that row and `cols` columns, and nobody else uses the row.
    unsafe fn step(&self, rule: &GroupAdagrad, row: usize, cols: usize) {
        // SAFETY: the caller's.
        unsafe {
            match self.weight.dtype {
                DType::F64 => self.step_in::<f64>(rule, row, cols),
                _ => self.step_in::<f32>(rule, row, cols),
            }
        }
    }

    /// # Safety
    /// As `step`.
    unsafe fn step_in<T: Value>(&self, rule: &GroupAdagrad, row: usize, cols: usize) {
        let mut buffers = [const { MaybeUninit::<[T; PIECE]>::uninit() }; 2];
        let [for_grad, for_weight] = buffers.each_mut().map(|b| b.as_mut_ptr().cast::<T>());
        // SAFETY: a buffer has room for the columns that are loaded at once; the rest is the caller's.
        unsafe {
            let load = |view: &View<'_>, to: *mut T, row, col, n| {
                let (from, by) = place(view, row, col);
                cast_fn(view.dtype, T::DTYPE)(to.cast(), 1, from, by, n);
            };
            let store = |view: &View<'_>, from: *mut T, row, col, n| {
                let (to, by) = place(view, row, col);
                cast_fn(T::DTYPE, view.dtype)(to, by, from.cast(), 1, n);
            };
            let pieces = || (0..cols).step_by(PIECE).map(|col| (col, PIECE.min(cols - col)));
            let mut squares = T::default();
            for (col, n) in pieces() {
                load(self.grad, for_grad, row, col, n);
                for g in from_raw_parts(for_grad, n) {
                    let g = rule.gradient.of(*g);
                    squares = squares + g * g;
                }
            }
            let mut history = T::default();
            load(self.history, &mut history, row, 0, 1);
            history = history + squares / T::of(cols.max(1) as f64);
            store(self.history, &mut history, row, 0, 1);
            let rate = T::of(rule.lr) / (history + T::of(rule.epsilon)).sqrt();
            for (col, n) in pieces() {
                load(self.grad, for_grad, row, col, n);
                load(self.weight, for_weight, row, col, n);
                for (w, g) in from_raw_parts_mut(for_weight, n).iter_mut().zip(from_raw_parts(for_grad, n)) {
                    *w = *w - rate * rule.gradient.of(*g);
                }
                store(self.out, for_weight, row, col, n);
            }
        }
    }
}
