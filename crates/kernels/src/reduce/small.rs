//! A handful of values, reduced without a plan: planning would cost more than the work.
use crate::view::{Mode, Out, View};
use crate::walk::each;
use gluonish_base::{DType, Dims};

/// Values for which this pays.
const SMALL: usize = 64;

/// What is accumulated.
pub(super) trait Float: Copy {
    const LOWEST: Self;
    const HIGHEST: Self;
    fn add(self, other: Self) -> Self;
    fn over(self, count: f64) -> Self;
    /// The larger one, or NaN.
    fn larger(self, other: Self) -> Self;
    /// The smaller one, or NaN.
    fn smaller(self, other: Self) -> Self;
}

macro_rules! float {
    ($t:ident) => {
        impl Float for $t {
            const LOWEST: $t = $t::NEG_INFINITY;
            const HIGHEST: $t = $t::INFINITY;
            fn add(self, other: $t) -> $t {
                self + other
            }
            fn over(self, count: f64) -> $t {
                (self as f64 / count) as $t
            }
            fn larger(self, other: $t) -> $t {
                if self.is_nan() || self > other { self } else { other }
            }
            fn smaller(self, other: $t) -> $t {
                if self.is_nan() || self < other { self } else { other }
            }
        }
    };
}
float!(f32);
float!(f64);

/// Which reduction.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum What {
    Sum,
    Mean,
    Max,
    Min,
}

/// Does a small reduction of floats. False: not such a call, which its layout does not decide, so that neither do the bits.
pub(super) fn reduce(what: What, x: &View<'_>, axes: u32, out: &Out<'_>) -> bool {
    if x.size == 0 || x.size > SMALL || x.dtype != out.view.dtype {
        return false;
    }
    match x.dtype {
        DType::F32 => of::<f32>(what, x, axes, out),
        DType::F64 => of::<f64>(what, x, axes, out),
        _ => return false,
    }
    true
}

fn of<T: Float + Default>(what: What, x: &View<'_>, axes: u32, out: &Out<'_>) {
    let mut values = [T::default(); SMALL];
    let values = &mut values[..out.view.size];
    match what {
        What::Sum | What::Mean => fold(x, axes, values, T::default(), T::add),
        What::Max => fold(x, axes, values, T::LOWEST, T::larger),
        What::Min => fold(x, axes, values, T::HIGHEST, T::smaller),
    }
    if what == What::Mean {
        let count = x.size as f64 / values.len() as f64;
        values.iter_mut().for_each(|v| *v = v.over(count));
    }
    store(values, out);
}

/// Visits the values in row-major order, each with the number of its group.
fn fold<T: Float>(x: &View<'_>, axes: u32, values: &mut [T], start: T, f: impl Fn(T, T) -> T) {
    values.fill(start);
    if let ([value], true) = (&mut *values, x.contiguous) {
        // SAFETY: the view's own elements, one after the other.
        let line = unsafe { std::slice::from_raw_parts(x.as_ptr::<T>().cast_const(), x.size) };
        *value = line.iter().fold(start, |total, v| f(total, *v));
        return;
    }
    let mut steps = Dims::filled(x.ndim(), 0);
    let mut groups = 1;
    for d in (0..x.ndim()).rev().filter(|d| axes >> d & 1 == 0) {
        steps[d] = groups;
        groups *= x.shape[d];
    }
    each(x.shape, [x.strides, &steps], |[from, to]| {
        // SAFETY: an element of the view, by its own shape and strides.
        let value = unsafe { *x.as_ptr::<T>().offset(from) };
        values[to as usize] = f(values[to as usize], value);
    });
}

/// Puts the results in their places.
fn store<T: Float>(values: &[T], out: &Out<'_>) {
    let v = &out.view;
    if v.contiguous && out.mode == Mode::Write {
        // SAFETY: the output's own elements, one after the other, and ours to write.
        let line = unsafe { std::slice::from_raw_parts_mut(v.as_ptr::<T>(), values.len()) };
        line.iter_mut().zip(values).for_each(|(place, new)| *place = *new);
        return;
    }
    let mut value = values.iter();
    each(v.shape, [v.strides], |[at]| {
        if let Some(new) = value.next() {
            // SAFETY: a place of the output, by its own shape and strides, and ours to write.
            unsafe {
                let place = v.as_ptr::<T>().offset(at);
                *place = if out.mode == Mode::Add { (*place).add(*new) } else { *new };
            }
        }
    });
}
