//! Arrays with a margin.
use super::slice::{SLICE, Slice};
use super::{list, misfit};
use crate::attr::Attr;
use crate::def::{Body, Call, DATA, Meta, Metas, Op, rows};
use crate::infer;
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, MAX_DIMS, Result, Scalar};
use gluonish_kernels::{AttrVal, Attrs, movement as k, movement::Edge};

const MODES: &[&str] = &["constant", "edge", "reflect", "symmetric", "wrap"];
/// What Gluon's `pad` knows.
const OLD_MODES: &[&str] = &["constant", "edge", "reflect"];
const EDGES: [Edge; 5] = [Edge::Constant, Edge::Nearest, Edge::Reflect, Edge::Symmetric, Edge::Wrap];

fn edge(a: &Attrs, i: usize) -> Edge {
    EDGES.get(a.choice(i) as usize).copied().unwrap_or(Edge::Constant)
}

/// The shape with its margins; attributes `before`, `after`, `mode`.
fn padded(a: &Attrs, shape: &Dims) -> Result<Dims> {
    let (before, after) = (list(a, 0), list(a, 1));
    if before.len() != shape.len() || after.len() != shape.len() {
        return Err(misfit(format!("margins before {before} and after {after} do not fit an array of shape {shape}")));
    }
    if before.iter().chain(after.iter()).any(|w| *w < 0) {
        return Err(Cause::Argument(format!("margins before {before} and after {after} may not be negative")).into());
    }
    let mut out = *shape;
    for (d, n) in out.iter_mut().enumerate() {
        let wide = before[d].checked_add(after[d]).and_then(|w| w.checked_add(*n));
        *n = wide.ok_or_else(|| misfit(format!("{shape} with margins {before} and {after} is too large")))?;
        if shape[d] == 0 && *n > 0 && edge(a, 2) != Edge::Constant {
            let mode = MODES[a.choice(2) as usize % MODES.len()];
            return Err(misfit(format!("axis {d} of {shape} is empty: mode '{mode}' has no values for a margin")));
        }
    }
    Ok(out)
}

/// Gluon's form: widths before and after each axis in one list.
fn paired(r: &Rule<'_>, x: V) -> Result<V> {
    let (shape, widths) = (r.shape(x), list(r.attrs(), 1));
    if widths.len() != 2 * shape.len() {
        let most = MAX_DIMS / 2;
        return Err(misfit(format!(
            "pad_width {widths} must have two entries for each axis of {shape} (of at most {most} axes)"
        )));
    }
    let (mut before, mut after) = (shape, shape);
    for d in 0..shape.len() {
        (before[d], after[d]) = (widths[2 * d], widths[2 * d + 1]);
    }
    let value = r.attrs().float(2);
    let attrs = [AttrVal::Ints(before), AttrVal::Ints(after), r.attrs()[0], AttrVal::Float(value)];
    Ok(r.call(&PAD, &[x], &attrs))
}

fn infer_pad(c: &Call<'_>, outs: &mut Metas) -> Result {
    outs.push(Meta { shape: padded(c.attrs, c.ins[0].shape)?, dtype: c.ins[0].dtype });
    Ok(())
}

fn pad_grad(r: &Rule<'_>) -> V {
    let shape = r.input(0).shape;
    if edge(r.attrs(), 2) == Edge::Constant {
        let slice = Slice { begin: list(r.attrs(), 0), ..Slice::whole(&shape) };
        return r.call(&SLICE, &[r.dy()], &slice.attrs());
    }
    r.call(&PAD_GRAD, &[r.dy()], &[r.attrs()[0], r.attrs()[1], r.attrs()[2], AttrVal::Ints(shape)])
}

const BEFORE: Attr = Attr::ints("before", "Width of the margin before each axis.");
const AFTER: Attr = Attr::ints("after", "Width of the margin after each axis.");
const MODE: Attr = Attr::choice(
    "mode",
    MODES,
    0,
    "What stands in the margin: a constant, the nearest value, or the array reflected without or with its outermost values, or repeated.",
);

rows! {
    GLUON_PAD = Op::new("pad", "The array with a margin.", DATA, Body::Compose(|r, x| r.ok(paired(r, x[0]))))
        .attrs(&[
            Attr::choice_required("mode", OLD_MODES, "What stands in the margin: a constant, the nearest value, or the array reflected."),
            Attr::ints("pad_width", "Width of the margin before and after each axis: (before_1, after_1, before_2, ...)."),
            Attr::float("constant_value", 0.0, "The value of a constant margin."),
        ]).nd(&["pad", "Pad"]).methods(&["pad"]);
    PAD = Op::new("_np_pad", "The array with a margin.", DATA, Body::Kernel(|cx, a, out| {
            k::pad(cx, &a.ins[0], &list(a.attrs, 0), edge(a.attrs, 2), Scalar::Float(a.attrs.float(3)), &out[0])
        }))
        .attrs(&[BEFORE, AFTER, MODE, Attr::float("constant_value", 0.0, "The value of a constant margin.")])
        .infer(infer_pad).internal().onnx("Pad")
        .grad(&[], |r| r.grad(0, || pad_grad(r)));
    PAD_GRAD = Op::new("_pad_grad", "The sum, for each value, of what stands in its places in an array with a margin.", DATA, Body::Kernel(|cx, a, out| {
            k::pad_grad(cx, &a.ins[0], &list(a.attrs, 0), edge(a.attrs, 2), &out[0])
        }))
        .attrs(&[BEFORE, AFTER, MODE, Attr::ints("shape", "Shape without the margin.")])
        .infer(|c, outs| {
            infer::require_float(&c.ins[0], "the gradient")?;
            let shape = list(c.attrs, 3);
            let whole = if shape.checked_size().is_some() { padded(c.attrs, &shape)? } else { shape };
            if whole != *c.ins[0].shape || edge(c.attrs, 2) == Edge::Constant {
                return Err(misfit(format!("{} is not {shape} with a margin of its values", c.ins[0].shape)));
            }
            outs.push(Meta { shape, dtype: c.ins[0].dtype });
            Ok(())
        })
        .internal()
        .grad(&[], |r| r.grad(0, || {
            r.call(&PAD, &[r.dy()], &[r.attrs()[0], r.attrs()[1], r.attrs()[2], AttrVal::Float(0.0)])
        }));
}
