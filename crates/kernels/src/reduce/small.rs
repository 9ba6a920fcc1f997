//! A handful of values, reduced without a plan: planning would cost more than the work.
use super::fold::{Acc, Fold, Max, Min, Sum};
use crate::view::{Mode, Out, View};
use crate::walk::each;
use gluonish_base::{DType, Dims};

/// Values for which this pays.
const SMALL: usize = 64;

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

fn of<A: Acc>(what: What, x: &View<'_>, axes: u32, out: &Out<'_>)
where
    Sum: Fold<A>,
    Max: Fold<A>,
    Min: Fold<A>,
{
    let mut values = [A::default(); SMALL];
    let values = &mut values[..out.view.size];
    match what {
        What::Sum | What::Mean => fold::<A, Sum>(x, axes, values),
        What::Max => fold::<A, Max>(x, axes, values),
        What::Min => fold::<A, Min>(x, axes, values),
    }
    if what == What::Mean {
        let count = x.size / values.len();
        values.iter_mut().for_each(|v| *v = v.mean(count));
    }
    store(values, out);
}

/// Visits the values in row-major order, each with the number of its group.
fn fold<A: Acc, F: Fold<A>>(x: &View<'_>, axes: u32, values: &mut [A]) {
    values.fill(F::START);
    if let ([value], true) = (&mut *values, x.contiguous) {
        // SAFETY: the view's own elements, one after the other.
        let line = unsafe { std::slice::from_raw_parts(x.as_ptr::<A>().cast_const(), x.size) };
        *value = line.iter().fold(F::START, |total, v| F::join(total, *v));
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
        let value = unsafe { *x.as_ptr::<A>().offset(from) };
        values[to as usize] = F::join(values[to as usize], value);
    });
}

/// Puts the results in their places.
fn store<A: Acc>(values: &[A], out: &Out<'_>) {
    let v = &out.view;
    if v.contiguous && out.mode == Mode::Write {
        // SAFETY: the output's own elements, one after the other, and ours to write.
        let line = unsafe { std::slice::from_raw_parts_mut(v.as_ptr::<A>(), values.len()) };
        line.iter_mut().zip(values).for_each(|(place, new)| *place = *new);
        return;
    }
    let mut value = values.iter();
    each(v.shape, [v.strides], |[at]| {
        if let Some(new) = value.next() {
            // SAFETY: a place of the output, by its own shape and strides, and ours to write.
            unsafe {
                let place = v.as_ptr::<A>().offset(at);
                *place = if out.mode == Mode::Add { (*place).plus(*new) } else { *new };
            }
        }
    });
}
