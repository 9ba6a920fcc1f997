//! Reductions that leave NaN out. They are made of the plain ones, and so are their gradients.
use super::{ATTRS, ATTRS_OF_KEPT_TYPE, MAX, MIN, PROD, SUM, infer_max, row};
use crate::def::{Body, Op, rows};
use crate::rows::{EQUAL, ISNAN, LOGICAL_NOT};
use crate::rule::{Rule, V};
use gluonish_kernels::AttrVal;

/// The values with `other` in place of NaN; of integers, which have none, the values.
fn without(r: &Rule<'_>, x: V, other: f64) -> V {
    if r.dtype(x).is_float() { r.select(r.unary_op(&ISNAN, x), other, x) } else { x }
}

/// How many values are not NaN, over the axes and in the shape that `attrs` (axis, keepdims, exclude) say.
pub(super) fn count(r: &Rule<'_>, x: V, attrs: [AttrVal; 3]) -> V {
    let there = r.unary_op(&LOGICAL_NOT, r.unary_op(&ISNAN, x));
    r.call(&SUM, &[there], &[attrs[0], AttrVal::None, attrs[1], attrs[2]])
}

/// The largest or smallest of what is not NaN; NaN where there is nothing else.
fn extreme(r: &Rule<'_>, x: V, op: &'static Op, last: f64) -> V {
    let attrs = r.attrs();
    if !r.dtype(x).is_float() {
        return r.call(op, &[x], attrs);
    }
    let found = r.call(op, &[without(r, x, last)], attrs);
    let nothing = r.binary_op(&EQUAL, count(r, x, [attrs[0], attrs[1], attrs[2]]), 0.0);
    r.select(nothing, f64::NAN, found)
}

rows! {
    NANSUM = row(&["nansum"], "Sum over axes, NaN taken as 0.", Body::Compose(|r, ins| r.call(&SUM, &[without(r, ins[0], 0.0)], r.attrs())))
        .attrs(ATTRS);
    NANPROD = row(&["nanprod"], "Product over axes, NaN taken as 1.", Body::Compose(|r, ins| r.call(&PROD, &[without(r, ins[0], 1.0)], r.attrs())))
        .attrs(ATTRS);
    NANMAX = row(&["nanmax"], "Largest value over axes that is not NaN; NaN if there is no other.", Body::Compose(|r, ins| extreme(r, ins[0], &MAX, f64::NEG_INFINITY)))
        .attrs(ATTRS_OF_KEPT_TYPE).infer(infer_max).nd(&[]).methods(&[]);
    NANMIN = row(&["nanmin"], "Smallest value over axes that is not NaN; NaN if there is no other.", Body::Compose(|r, ins| extreme(r, ins[0], &MIN, f64::INFINITY)))
        .attrs(ATTRS_OF_KEPT_TYPE).infer(infer_max).nd(&[]).methods(&[]);
}
