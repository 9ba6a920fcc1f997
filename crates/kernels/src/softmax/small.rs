//! A handful of values: on the stack, without a plan.
use super::{EXP, Real, Step};
use crate::reduce::Fold;
use crate::view::{Mode, Out, View};
use crate::walk::each;
use gluonish_base::isa::isa;

/// Values for which this pays.
const SMALL: usize = 64;

/// Does a small softmax, or its logarithm, in the values' own type. False: not such a call, which the layout does not
/// decide, so that neither do the bits.
pub(super) fn run<A: Real>(x: &View<'_>, axis: usize, temperature: A, out: &Out<'_>, step: Step) -> bool {
    let v = &out.view;
    let lanes = A::CLASS.dtype();
    let plain = x.dtype == lanes && v.dtype == lanes && out.mode == Mode::Write;
    let (Some(exp), true) = (EXP.get(A::CLASS, isa()), plain && x.size <= SMALL && step.is_forward()) else {
        return false;
    };
    let mut values = [A::default(); SMALL];
    let mut next = values.iter_mut();
    each(x.shape, [x.strides], |[at]| {
        if let Some(value) = next.next() {
            // SAFETY: an element of the view, by its own shape and strides.
            *value = unsafe { *x.as_ptr::<A>().offset(at) }.over(temperature);
        }
    });
    let groups = Groups::new(x, axis);
    let mut tops = [A::Largest::START; SMALL];
    groups.visit(|i, group| tops[group] = A::Largest::join(tops[group], values[i]));
    groups.visit(|i, group| values[i] = values[i].minus(tops[group]));
    let mut powers = [A::default(); SMALL];
    // SAFETY: the loop fits the machine; both sides hold as many values.
    unsafe { exp(powers.as_mut_ptr().cast(), [values.as_ptr().cast()].as_ptr(), 1, x.size) };
    let mut totals = [A::default(); SMALL];
    groups.visit(|i, group| totals[group] = totals[group].plus(powers[i]));
    if step == Step::Softmax {
        groups.visit(|i, group| values[i] = powers[i].over(totals[group]));
    } else {
        groups.visit(|i, group| values[i] = values[i].minus(totals[group].ln()));
    }
    let mut next = values.iter();
    each(v.shape, [v.strides], |[at]| {
        if let Some(value) = next.next() {
            // SAFETY: a place of the output, by its own shape and strides, and ours to write.
            unsafe { *v.as_ptr::<A>().offset(at) = *value };
        }
    });
    true
}

/// The values along an axis, for each place in the other axes.
struct Groups {
    outer: usize,
    len: usize,
    inner: usize,
}

impl Groups {
    fn new(x: &View<'_>, axis: usize) -> Groups {
        let size = |dims: &[isize]| dims.iter().product::<isize>() as usize;
        Groups { outer: size(&x.shape[..axis]), len: x.shape[axis] as usize, inner: size(&x.shape[axis + 1..]) }
    }

    /// Calls `f` with the number of each value, in row-major order, and that of its group.
    #[inline(always)]
    fn visit(&self, mut f: impl FnMut(usize, usize)) {
        let mut i = 0;
        for o in 0..self.outer {
            for _ in 0..self.len {
                for k in 0..self.inner {
                    f(i, o * self.inner + k);
                    i += 1;
                }
            }
        }
    }
}
