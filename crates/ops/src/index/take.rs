//! Elements along one axis.
use super::{DATA_INDICES, MODES, RAISE, back_to, bounds, moved, selected, shape_attr};
use crate::attr::{Attr, axis};
use crate::cost::Cost;
use crate::def::{Body, Call, Input, Meta, Metas, Op, input, rows, x};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::index as k;
use gluonish_kernels::{AttrVal, View};

const TAKE: &[Input] = &[input("a"), input("indices")];

fn taken(a: &Dims, i: &View<'_>, ax: usize) -> Result<Dims> {
    let shape = selected(a, i, ax, 1)?;
    if a[ax] == 0 && i.size > 0 {
        return Err(Cause::Index { index: 0, axis: ax, size: 0 }.into());
    }
    Ok(shape)
}

fn infer_take(c: &Call<'_>, outs: &mut Metas) -> Result {
    let a = &c.ins[0];
    let shape = taken(a.shape, &c.ins[1], axis(c.attrs.int(0), a.shape)?)?;
    outs.push(Meta { shape, dtype: a.dtype });
    Ok(())
}

/// What `take` and its like cost: the result is moved, not the array.
pub(crate) fn gathered(c: &Call<'_>, outs: &[Meta]) -> u64 {
    let list = outs[0].shape.checked_size().unwrap_or(0) * outs[0].dtype.size();
    moved(list, c.ins[1].size)
}

rows! {
    TAKE_OP = Op::new("take", "Elements along an axis, by their positions.", TAKE, Body::Kernel(|cx, a, out| {
            k::take(cx, &a.ins[0], &a.ins[1], axis(a.attrs.int(0), a.ins[0].shape)?, bounds(a.attrs.choice(1)), &out[0])
        }))
        .attrs(&[
            Attr::int("axis", 0, "Axis to take from."),
            Attr::choice("mode", MODES, 0, "What a position out of range means: the nearest end, modulo the size, or an error.").np_default(AttrVal::Choice(RAISE)),
        ])
        .infer(infer_take).cost(Cost::Of(gathered)).nd(&["take"]).methods(&["take"]).onnx("Gather")
        .grad(&[x(1)], |r| r.grad(0, || r.call(&TAKE_GRAD, &[r.dy(), r.x(1)], &[r.attrs()[0], r.attrs()[1], AttrVal::Ints(r.input(0).shape)])));
    TAKE_GRAD = Op::new("_take_grad", "Adds slices into zeros at the positions they were taken from.", DATA_INDICES, Body::Kernel(|cx, a, out| {
            k::take_grad(cx, &a.ins[0], &a.ins[1], axis(a.attrs.int(0), out[0].view.shape)?, bounds(a.attrs.choice(1)), &out[0])
        }))
        .attrs(&[Attr::int("axis", 0, "Axis."), Attr::choice("mode", MODES, 0, "As in take."), Attr::ints("shape", "Shape of the result.")])
        .infer(|c, outs| {
            let whole = shape_attr(c, 2);
            let part = taken(&whole, &c.ins[1], axis(c.attrs.int(0), &whole)?)?;
            back_to(c, outs, whole, part)
        }).internal()
        .grad(&[x(1)], |r| r.grad(0, || r.call(&TAKE_OP, &[r.dy(), r.x(1)], &r.attrs()[..2])));
}
