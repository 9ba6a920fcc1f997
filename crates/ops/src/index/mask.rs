//! Reading and writing by truth: shapes that depend on values.
use super::{DATA_INDEX, back_to, places, shape_attr};
use crate::attr::{Attr, axis};
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Grad, Input, Meta, Metas, Op, input, rows, x};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::index as k;
use gluonish_kernels::{AttrVal, Cx, View};

const DATA_VALUE_INDEX: &[Input] = &[input("data"), input("value"), input("index")];

/// A number would lose its truth on the way to the type of the result.
fn check_mask(mask: &View<'_>) -> Result {
    if mask.scalar.is_none() {
        return Ok(());
    }
    Err(Cause::Argument("an array is needed, not a number".into()).into())
}

/// The first of the axes that a mask stands for: its shape must be theirs.
fn masked(shape: &Dims, mask: &View<'_>, given: i64) -> Result<usize> {
    check_mask(mask)?;
    // A mask without axes adds one, which may also stand behind all others.
    let ax = if given == 0 || (mask.ndim() == 0 && given == shape.len() as i64) {
        given as usize
    } else {
        axis(given, shape)?
    };
    if shape.get(ax..ax + mask.ndim()) == Some(&**mask.shape) {
        return Ok(ax);
    }
    let text = format!("a mask of shape {} does not fit data of shape {shape} from axis {ax} on", mask.shape);
    Err(Cause::Shape(text).into())
}

/// The shape of `n` masked elements.
fn chosen(shape: &Dims, mask: &View<'_>, ax: usize, n: isize) -> Result<Dims> {
    Dims::joined(&[&shape[..ax], &[n], &shape[ax + mask.ndim()..]])
}

fn infer_mask(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (v, m) = (&c.ins[0], &c.ins[1]);
    let ax = masked(v.shape, m, c.attrs.int(0))?;
    outs.push(Meta { shape: chosen(v.shape, m, ax, -1)?, dtype: v.dtype });
    Ok(())
}

fn count(mask: &View<'_>) -> isize {
    // As many threads as there are for work that is worth it: this runs in the caller, before the op has a cost.
    let threads = if mask.size > 1 << 16 { gluonish_base::pool::threads() } else { 1 };
    k::count(&Cx { threads, ..Cx::default() }, mask) as isize
}

/// One value for each chosen element, or one for all: which it is shows in the size of the axis.
fn infer_assign(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (v, value, m) = (&c.ins[0], &c.ins[1], &c.ins[2]);
    let ax = masked(v.shape, m, c.attrs.int(0))?;
    let target = chosen(v.shape, m, ax, value.shape.get(ax).copied().unwrap_or(1))?;
    if value.scalar.is_none() && *value.shape != target {
        return Err(Cause::Shape(format!("a value of shape {} is not {target}", value.shape)).into());
    }
    places::check_value(v, value, &target)?;
    outs.push(Meta { shape: *v.shape, dtype: v.dtype });
    Ok(())
}

rows! {
    BOOLEAN_MASK = Op::new("boolean_mask", "The elements along an axis where the mask is not 0; a mask of several dimensions stands for as many axes.", DATA_INDEX, Body::Dynamic {
            measure: |c, outs| {
                let (v, m) = (&c.ins[0], &c.ins[1]);
                let ax = masked(v.shape, m, c.attrs.int(0))?;
                outs.push(Meta { shape: chosen(v.shape, m, ax, count(m))?, dtype: v.dtype });
                Ok(())
            },
            kernel: |cx, a, out| k::compress(cx, &a.ins[0], &a.ins[1], masked(a.ins[0].shape, &a.ins[1], a.attrs.int(0))?, &out[0]),
        })
        .attrs(&[Attr::int("axis", 0, "Axis whose elements are selected.")])
        .infer(infer_mask).nd(&["contrib.boolean_mask"]).cost(Cost::Bytes(2.0)).onnx("Compress")
        .grad(&[x(1)], |r| r.grad(0, || r.call(&MASK_GRAD, &[r.dy(), r.x(1)], &[r.attrs()[0], AttrVal::Ints(r.input(0).shape)])));
    MASK_GRAD = Op::new("_boolean_mask_grad", "Zeros with the elements back where the mask is not 0.", DATA_INDEX, Body::Kernel(|cx, a, out| {
            k::expand(cx, &a.ins[0], &a.ins[1], masked(out[0].view.shape, &a.ins[1], a.attrs.int(0))?, &out[0])
        }))
        .attrs(&[Attr::int("axis", 0, "Axis whose elements were selected."), Attr::ints("shape", "Shape of the result.")])
        .infer(|c, outs| {
            let whole = shape_attr(c, 1);
            let ax = masked(&whole, &c.ins[1], c.attrs.int(0))?;
            let part = chosen(&whole, &c.ins[1], ax, c.ins[0].shape.get(ax).copied().unwrap_or(-1))?;
            back_to(c, outs, whole, part)
        }).internal().cost(Cost::Bytes(2.0))
        .grad(&[x(1)], |r| r.grad(0, || r.call(&BOOLEAN_MASK, &[r.dy(), r.x(1)], &r.attrs()[..1])));
    MASK_ASSIGN = Op::new("_mask_assign", "The data with values written where the mask is not 0: one for each place, or one for all.", DATA_VALUE_INDEX, Body::Kernel(|cx, a, out| {
            let (v, m) = (&a.ins[0], &a.ins[2]);
            let ax = masked(v.shape, m, a.attrs.int(0))?;
            let value = &a.ins[1];
            let full = chosen(v.shape, m, ax, if value.scalar.is_some() { 1 } else { value.shape[ax] })?;
            let strides = value.shape.broadcast_strides(value.strides, &full);
            let value = View { shape: &full, strides: &strides, size: full.size(), ..*value };
            places::over_copy(cx, v, &a.ins[1..], &out[0], |to| k::assign(cx, &value, m, ax, to))
        }))
        .attrs(&[Attr::int("axis", 0, "First of the axes that the mask stands for.")])
        .infer(infer_assign).internal().in_place().cost(Cost::Bytes(2.0))
        .grad(&[x(2)], |r| {
            r.grad(0, || r.call(&MASK_ASSIGN, &[r.dy(), 0.0.into(), r.x(2)], r.attrs()));
            r.grad(1, || r.call(&BOOLEAN_MASK, &[r.dy(), r.x(2)], r.attrs()));
        });
    FLAT_NONZERO = Op::new("flatnonzero", "The positions, in row-major order, of the elements that are not 0.", DATA, Body::Dynamic {
            measure: |c, outs| {
                outs.push(Meta { shape: Dims::of(&[count(&c.ins[0])]), dtype: DType::I64 });
                Ok(())
            },
            kernel: |cx, a, out| k::flat_nonzero(cx, &a.ins[0], &out[0]),
        })
        .infer(|c, outs| {
            check_mask(&c.ins[0])?;
            outs.push(Meta { shape: Dims::of(&[-1]), dtype: DType::I64 });
            Ok(())
        })
        .np(&["flatnonzero"]).cost(Cost::Bytes(4.0)).no_grad(Grad::Zero);
}
