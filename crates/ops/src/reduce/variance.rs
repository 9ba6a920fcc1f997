//! Variances and what else is made of several reductions.
use super::nan::count;
use super::{ATTRS_OF_KEPT_TYPE, MAX, MEAN, MIN, SUM, infer_max, row};
use crate::attr::{Attr, axes_if_any};
use crate::def::{Body, Grad, rows};
use crate::infer::reduced;
use crate::rows::{EQUAL, ISNAN, MAXIMUM, NOT_EQUAL};
use crate::rule::{Rule, V};
use gluonish_base::Cause;
use gluonish_kernels::AttrVal;

const AXIS: usize = 0;
const DTYPE: usize = 1;
const DDOF: usize = 2;
const KEEPDIMS: usize = 3;

const ATTRS: &[Attr] = &[
    Attr::opt_ints("axis", "Axes to reduce; all when None."),
    Attr::opt_dtype("dtype", "Type of the result and of the accumulation."),
    Attr::float("ddof", 0.0, "The sum of squares is divided by the number of values less this."),
    Attr::bool("keepdims", false, "Keep the reduced axes with size 1."),
];
const MEAN_ATTRS: &[Attr] = &[
    Attr::opt_ints("axis", "Axes to reduce; all when None."),
    Attr::opt_dtype("dtype", "Type of the result and of the accumulation."),
    Attr::bool("keepdims", false, "Keep the reduced axes with size 1."),
];

const NO: AttrVal = AttrVal::Bool(false);
const YES: AttrVal = AttrVal::Bool(true);

/// What `f` makes of the values in the type that they are gathered in, in the type of the result.
fn typed(r: &Rule<'_>, x: V, f: impl FnOnce(V) -> V) -> V {
    let dtype = r.attrs().dtype(DTYPE).unwrap_or(r.dtype(x).to_float());
    if !dtype.is_float() {
        r.0.fail(Cause::DType(format!("dtype='{dtype}' cannot hold the result: give a floating type")).into());
        return x;
    }
    r.cast(f(r.cast(x, dtype.gathering())), dtype)
}

/// How many values make one result.
fn group(r: &Rule<'_>, x: V) -> f64 {
    let shape = r.shape(x);
    match axes_if_any(r.attrs().ints(AXIS), false, &shape) {
        Ok(set) => shape.size() as f64 / reduced(&shape, set, false).size().max(1) as f64,
        Err(e) => {
            r.0.fail(e);
            1.0
        }
    }
}

fn variance(r: &Rule<'_>, x: V) -> V {
    let axis = r.attrs()[AXIS];
    let n = group(r, x) - r.attrs().float(DDOF);
    let apart = r.sub(x, r.call(&MEAN, &[x], &[axis, AttrVal::None, YES, NO]));
    let sum = r.call(&SUM, &[r.square(apart)], &[axis, AttrVal::None, r.attrs()[KEEPDIMS], NO]);
    r.div(sum, n.max(0.0))
}

/// The mean of what is not NaN; NaN where there is nothing.
fn nan_mean(r: &Rule<'_>, x: V, axis: AttrVal, keepdims: AttrVal) -> V {
    let there = r.select(r.unary_op(&ISNAN, x), 0.0, x);
    let sum = r.call(&SUM, &[there], &[axis, AttrVal::None, keepdims, NO]);
    r.div(sum, r.cast(count(r, x, [axis, keepdims, NO]), r.dtype(sum)))
}

fn nan_variance(r: &Rule<'_>, x: V) -> V {
    let (axis, keepdims) = (r.attrs()[AXIS], r.attrs()[KEEPDIMS]);
    let apart = r.sub(x, nan_mean(r, x, axis, YES));
    let apart = r.select(r.unary_op(&ISNAN, x), 0.0, apart);
    let sum = r.call(&SUM, &[r.square(apart)], &[axis, AttrVal::None, keepdims, NO]);
    let n = r.sub(r.cast(count(r, x, [axis, keepdims, NO]), r.dtype(sum)), r.attrs().float(DDOF));
    let n = r.binary_op(&MAXIMUM, n, 0.0);
    // Without degrees of freedom there is no variance, whatever the sum.
    r.div(r.select(r.binary_op(&EQUAL, n, 0.0), f64::NAN, sum), n)
}

/// The square root whose gradient at 0 is 0: where all values are equal, no direction is better than another.
fn root(r: &Rule<'_>, v: V) -> V {
    let zero = r.binary_op(&EQUAL, v, 0.0);
    r.select(zero, 0.0, r.sqrt(r.select(zero, 1.0, v)))
}

rows! {
    VAR = row(&["var"], "Variance over axes.", Body::Compose(|r, ins| typed(r, ins[0], |x| variance(r, x)))).attrs(ATTRS).nd(&[]);
    STD = row(&["std"], "Standard deviation over axes.", Body::Compose(|r, ins| {
            typed(r, ins[0], |x| root(r, variance(r, x)))
        }))
        .attrs(ATTRS).nd(&[]);
    NANMEAN = row(&["nanmean"], "Mean over axes of what is not NaN.", Body::Compose(|r, ins| {
            typed(r, ins[0], |x| nan_mean(r, x, r.attrs()[0], r.attrs()[2]))
        }))
        .attrs(MEAN_ATTRS).nd(&[]).methods(&[]);
    NANVAR = row(&["nanvar"], "Variance over axes of what is not NaN.", Body::Compose(|r, ins| {
            typed(r, ins[0], |x| nan_variance(r, x))
        }))
        .attrs(ATTRS).nd(&[]).methods(&[]);
    NANSTD = row(&["nanstd"], "Standard deviation over axes of what is not NaN.", Body::Compose(|r, ins| {
            typed(r, ins[0], |x| root(r, nan_variance(r, x)))
        }))
        .attrs(ATTRS).nd(&[]).methods(&[]);
    PTP = row(&["ptp"], "The largest value over axes less the smallest.", Body::Compose(|r, ins| {
            r.sub(r.call(&MAX, ins, r.attrs()), r.call(&MIN, ins, r.attrs()))
        }))
        .attrs(ATTRS_OF_KEPT_TYPE).infer(infer_max).nd(&[]).methods(&[]);
    COUNT_NONZERO = row(&["count_nonzero"], "How many elements over axes are not 0.", Body::Compose(|r, ins| {
            let there = r.binary_op(&NOT_EQUAL, ins[0], 0.0);
            r.call(&SUM, &[there], &[r.attrs()[0], AttrVal::None, r.attrs()[1], r.attrs()[2]])
        }))
        .attrs(ATTRS_OF_KEPT_TYPE).nd(&[]).methods(&[]).no_grad(Grad::Zero);
}
