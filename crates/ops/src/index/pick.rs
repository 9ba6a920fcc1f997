//! One element of each row.
use super::{DATA_INDEX, MODES, back_to, bounds, check_indices, shape_attr};
use crate::attr::{Attr, axis};
use crate::def::{Body, Call, Input, Meta, Metas, Op, input, rows, x};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::index as k;
use gluonish_kernels::{AttrVal, View};

const BATCH_INPUTS: &[Input] = &[input("a"), input("indices")];
const FILL: &[Input] = &[input("lhs"), input("mhs"), input("rhs")];

fn picked(shape: &Dims, ax: usize, keep: bool) -> Dims {
    crate::infer::reduced(shape, 1 << ax, keep)
}
fn check_pick(shape: &Dims, i: &View<'_>, ax: usize) -> Result {
    let want = picked(shape, ax, false);
    if *i.shape != picked(shape, ax, true) && *i.shape != want {
        return Err(Cause::Shape(format!(
            "index of shape {} does not fit data of shape {shape}: expected {want}",
            i.shape
        ))
        .into());
    }
    if shape[ax] == 0 && i.size > 0 {
        return Err(Cause::Index { index: 0, axis: ax, size: 0 }.into());
    }
    Ok(())
}
fn infer_pick(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (v, i) = (&c.ins[0], &c.ins[1]);
    check_indices(i)?;
    let ax = axis(c.attrs.int(0), v.shape)?;
    check_pick(v.shape, i, ax)?;
    outs.push(Meta { shape: picked(v.shape, ax, c.attrs.bool(1)), dtype: v.dtype });
    Ok(())
}

/// Calls `f` with `v` seen with `ax` as an axis of size 1, whether it was kept or not.
fn with_axis(v: &View<'_>, full: usize, ax: usize, f: impl FnOnce(&View<'_>) -> Result) -> Result {
    let (mut shape, mut strides) = (*v.shape, *v.strides);
    if shape.len() < full {
        shape.insert(ax, 1);
        strides.insert(ax, 0);
    }
    f(&View { shape: &shape, strides: &strides, ..*v })
}

/// `lhs` with one element of each row replaced: number `rhs` of it by `mhs`.
fn fill(r: &Rule<'_>, ins: &[V]) -> V {
    let (whole, index) = (r.shape(ins[0]), r.shape(ins[2]));
    if whole.len() != 2 || *index != whole[..1] || r.shape(ins[1]) != index {
        let text = format!(
            "a matrix, and a value and an index for each of its rows are needed, got shapes {whole}, {}, {index}",
            r.shape(ins[1])
        );
        r.0.fail(Cause::Shape(text).into());
        return ins[0];
    }
    let depth = AttrVal::Int(whole[1] as i64);
    let hot = [depth, AttrVal::Float(1.0), AttrVal::Float(0.0), AttrVal::DType(DType::Bool)];
    let here = r.call(&super::ONE_HOT, &[ins[2]], &hot);
    let column = r.reshape(r.cast(ins[1], r.dtype(ins[0])), Dims::of(&[whole[0], 1]));
    r.select(here, column, ins[0])
}

rows! {
    PICK = Op::new("pick", "One element of each row along an axis, by its position.", DATA_INDEX, Body::Kernel(|cx, a, out| {
            let (v, n) = (&a.ins[0], a.ins[0].ndim());
            let ax = axis(a.attrs.int(0), v.shape)?;
            with_axis(&a.ins[1], n, ax, |i| with_axis(&out[0].view, n, ax, |o| {
                k::pick(cx, v, i, ax, bounds(a.attrs.choice(2)), &gluonish_kernels::Out { view: *o, mode: out[0].mode })
            }))
        }))
        .attrs(&[Attr::int("axis", -1, "Axis to pick from."), Attr::bool("keepdims", false, "Keep the axis with size 1."), Attr::choice("mode", MODES, 0, "As in take.")])
        .infer(infer_pick).nd(&["pick", "choose_element_0index"]).methods(&["pick"])
        .grad(&[x(1)], |r| r.grad(0, || r.call(&PICK_GRAD, &[r.dy(), r.x(1)], &[r.attrs()[0], r.attrs()[1], r.attrs()[2], AttrVal::Ints(r.input(0).shape)])));
    PICK_GRAD = Op::new("_pick_grad", "Zeros with each element at the position it was picked from.", DATA_INDEX, Body::Kernel(|cx, a, out| {
            let (o, n) = (&out[0], out[0].view.ndim());
            let ax = axis(a.attrs.int(0), o.view.shape)?;
            with_axis(&a.ins[0], n, ax, |dy| with_axis(&a.ins[1], n, ax, |i| k::pick_grad(cx, dy, i, ax, bounds(a.attrs.choice(2)), o)))
        }))
        .attrs(&[Attr::int("axis", -1, "Axis."), Attr::bool("keepdims", false, "As in pick."), Attr::choice("mode", MODES, 0, "As in take."), Attr::ints("shape", "Shape of the result.")])
        .infer(|c, outs| {
            let whole = shape_attr(c, 3);
            let ax = axis(c.attrs.int(0), &whole)?;
            check_indices(&c.ins[1])?;
            check_pick(&whole, &c.ins[1], ax)?;
            back_to(c, outs, whole, picked(&whole, ax, c.attrs.bool(1)))
        }).internal()
        .grad(&[x(1)], |r| r.grad(0, || r.call(&PICK, &[r.dy(), r.x(1)], &r.attrs()[..3])));
    BATCH_TAKE = Op::new("batch_take", "One element of each row, by its position in the row.", BATCH_INPUTS, Body::Compose(|r, ins| {
            r.call(&PICK, ins, &[AttrVal::Int(-1), AttrVal::Bool(false), AttrVal::Choice(0)])
        }))
        .nd(&["batch_take"]);
    FILL_ELEMENT = Op::new("fill_element_0index", "`lhs` with element `rhs` of each row replaced by `mhs`.", FILL, Body::Compose(fill))
        .nd(&["fill_element_0index"]);
}
