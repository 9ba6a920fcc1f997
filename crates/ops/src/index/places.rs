//! What `x[key]` and `x[key] = value` are made of: reading, adding and writing at numbered places of neighbouring axes.
use super::take::gathered;
use super::{DATA_INDICES, INDICES, back_to, check_indices, moved, selected, shape_attr};
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, Grad, Input, Meta, Metas, Op, input, rows, x};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::index::{self as k, Bounds, Span};
use gluonish_kernels::{Args, AttrVal, Attrs, Cx, Mode, Out, View, convert};

const DATA_VALUE_INDICES: &[Input] = &[input("data"), input("value"), input("indices")];
const SPAN: [Attr; 3] = [
    Attr::int("axis", 0, "First of the axes that the indices number."),
    Attr::int("axes", 1, "How many axes they number together, in row-major order."),
    Attr::int("named", 0, "Axis that errors name."),
];
const SPAN_SHAPE: &[Attr] = &{
    let [a, b, c] = SPAN;
    [a, b, c, Attr::ints("shape", "Shape of the result.")]
};

/// The attributes of a call on `axes` axes from `axis` on.
pub fn span_attrs(axis: usize, axes: usize, named: usize) -> [AttrVal; 3] {
    [axis, axes, named].map(|v| AttrVal::Int(v as i64))
}

fn span(a: &Attrs, whole: &Dims) -> Result<Span> {
    let (axis, axes) = (a.int(0), a.int(1));
    if axis < 0 || axes < 0 || axis.saturating_add(axes) > whole.len() as i64 {
        return Err(Cause::Shape(format!("shape {whole} has no {axes} axes from axis {axis} on")).into());
    }
    Ok(Span { axis: axis as usize, axes: axes as usize, named: a.int(2).max(0) as usize, bounds: Bounds::Raise })
}

fn infer_index(c: &Call<'_>, outs: &mut Metas) -> Result {
    let at = span(c.attrs, c.ins[0].shape)?;
    outs.push(Meta { shape: selected(c.ins[0].shape, &c.ins[1], at.axis, at.axes)?, dtype: c.ins[0].dtype });
    Ok(())
}

fn infer_back(c: &Call<'_>, outs: &mut Metas) -> Result {
    let whole = shape_attr(c, 3);
    let at = span(c.attrs, &whole)?;
    let part = selected(&whole, &c.ins[1], at.axis, at.axes)?;
    back_to(c, outs, whole, part)
}

fn infer_put(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (data, value) = (&c.ins[0], &c.ins[1]);
    let at = span(c.attrs, data.shape)?;
    let target = selected(data.shape, &c.ins[2], at.axis, at.axes)?;
    check_value(data, value, &target)?;
    outs.push(Meta { shape: *data.shape, dtype: data.dtype });
    Ok(())
}

/// Whether a value can be written over elements of `data` that have the shape `target`.
pub(super) fn check_value(data: &View<'_>, value: &View<'_>, target: &Dims) -> Result {
    if value.shape.broadcast(target) != Some(*target) {
        return Err(Cause::Broadcast { lhs: *value.shape, rhs: *target }.into());
    }
    if value.scalar.is_none() && value.dtype != data.dtype {
        let text = format!("a value of {} cannot be written into data of {}; use astype()", value.dtype, data.dtype);
        return Err(Cause::DType(text).into());
    }
    Ok(())
}

/// Copies the first input to the output, unless it is there already, and lets `f`, which reads the others, write over it.
/// Where the output is one of those, or is to be added to, what that gives is made beside it first.
pub(super) fn over_copy(
    cx: &Cx,
    data: &View<'_>,
    others: &[View<'_>],
    out: &Out<'_>,
    f: impl FnOnce(&View<'_>) -> Result,
) -> Result {
    if out.mode == Mode::Write && others.iter().all(|v| v.ptr != out.view.ptr) {
        if out.view.ptr != data.ptr {
            convert::copy_view(cx, data, out)?;
        }
        return f(&out.view);
    }
    let mut space = vec![0u64; (data.size * data.dtype.size()).div_ceil(8)];
    let strides = data.shape.contiguous_strides();
    let view = View::contiguous(space.as_mut_ptr().cast(), data.dtype, data.shape, &strides);
    convert::copy_view(cx, data, &Out { view, mode: Mode::Write })?;
    f(&view)?;
    convert::copy_view(cx, &view, out)
}

fn put(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    let at = span(a.attrs, out[0].view.shape)?;
    over_copy(cx, &a.ins[0], &a.ins[1..], &out[0], |to| k::put(cx, &a.ins[1], &a.ins[2], at, to))
}

fn put_cost(c: &Call<'_>, _: &[Meta]) -> u64 {
    let row: usize =
        c.ins[0].shape.iter().skip((c.attrs.int(0) + c.attrs.int(1)).max(0) as usize).product::<isize>() as usize;
    moved(c.ins[2].size * row * c.ins[0].dtype.size() * 2, c.ins[2].size)
}

fn set(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    let at = span(a.attrs, out[0].view.shape)?;
    let zero = [0u8; 8];
    let nothing = View {
        ptr: zero.as_ptr().cast_mut(),
        shape: out[0].view.shape,
        strides: &Dims::filled(out[0].view.ndim(), 0),
        contiguous: false,
        ..out[0].view
    };
    over_copy(cx, &nothing, a.ins, &out[0], |to| k::put(cx, &a.ins[0], &a.ins[1], at, to))
}

/// The gradient of values that were written at positions: nothing for those that a later one replaced.
fn of_written(r: &Rule<'_>, indices: V) -> V {
    let a = r.attrs();
    let (axis, axes) = (a.int(0).max(0) as usize, a.int(1).max(0) as usize);
    let dy = r.dy();
    let whole = r.shape(dy);
    let size: isize = whole.iter().skip(axis).take(axes).product();
    let last = r.call(&INDEX_LAST, &[indices], &[AttrVal::Int(size as i64)]);
    let mut column = r.shape(indices);
    whole.iter().skip(axis + axes).for_each(|_| column.push(1));
    r.select(r.reshape(last, column), r.call(&INDEX, &[dy, indices], &a[..3]), 0.0)
}

rows! {
    INDEX = Op::new("_index", "Elements at numbered places of neighbouring axes.", DATA_INDICES, Body::Kernel(|cx, a, out| {
            k::select(cx, &a.ins[0], &a.ins[1], span(a.attrs, a.ins[0].shape)?, &out[0])
        }))
        .attrs(&SPAN).infer(infer_index).cost(Cost::Of(gathered)).internal()
        .grad(&[x(1)], |r| r.grad(0, || {
            let mut attrs = r.attrs().to_vec();
            attrs.push(AttrVal::Ints(r.input(0).shape));
            r.call(&INDEX_ADD, &[r.dy(), r.x(1)], &attrs)
        }));
    INDEX_ADD = Op::new("_index_add", "Adds values into zeros at numbered places of neighbouring axes.", DATA_INDICES, Body::Kernel(|cx, a, out| {
            k::scatter_add(cx, &a.ins[0], &a.ins[1], span(a.attrs, out[0].view.shape)?, &out[0])
        }))
        .attrs(SPAN_SHAPE).infer(infer_back).internal()
        .grad(&[x(1)], |r| r.grad(0, || r.call(&INDEX, &[r.dy(), r.x(1)], &r.attrs()[..3])));
    INDEX_SET = Op::new("_index_set", "Zeros with values at numbered places of neighbouring axes; the last one where a place comes twice.", DATA_INDICES, Body::Kernel(set))
        .attrs(SPAN_SHAPE).infer(infer_back).internal()
        .grad(&[x(1)], |r| r.grad(0, || of_written(r, r.x(1))));
    INDEX_PUT = Op::new("_index_put", "The data with values written at numbered places of neighbouring axes; the last one where a place comes twice.", DATA_VALUE_INDICES, Body::Kernel(put))
        .attrs(&SPAN).infer(infer_put).cost(Cost::Of(put_cost)).internal().in_place()
        .grad(&[x(2)], |r| {
            r.grad(0, || r.call(&INDEX_PUT, &[r.dy(), 0.0.into(), r.x(2)], r.attrs()));
            r.grad(1, || of_written(r, r.x(2)));
        });
    INDEX_LAST = Op::new("_index_last", "Whether an index is the last of those that name the same position.", INDICES, Body::Kernel(|_, a, out| {
            k::last(&a.ins[0], a.attrs.int(0) as usize, Bounds::Raise, &out[0].view)
        }))
        .attrs(&[Attr::int_required("size", "Number of positions.").at_least(0)])
        .infer(|c, outs| {
            check_indices(&c.ins[0])?;
            outs.push(Meta { shape: *c.ins[0].shape, dtype: DType::Bool });
            Ok(())
        }).internal().cost(Cost::Bytes(16.0)).no_grad(Grad::Zero);
}
