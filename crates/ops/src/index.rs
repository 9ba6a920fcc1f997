//! Ops whose operands say where to read or write.
use crate::attr::{Attr, axis};
use crate::cost::Cost;
use crate::def::{Body, Call, Grad, Input, Meta, Metas, Op, input, rows, x};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::index::{self as k, Bounds};
use gluonish_kernels::{AttrVal, Attrs, View};

const TAKE: &[Input] = &[input("a"), input("indices")];
const DATA_INDEX: &[Input] = &[input("data"), input("index")];
const INDICES: &[Input] = &[input("indices")];
const MODES: &[&str] = &["clip", "wrap", "raise"];
const RAISE: u8 = 2;

fn bounds(choice: u8) -> Bounds {
    match choice {
        0 => Bounds::Clip,
        1 => Bounds::Wrap,
        _ => Bounds::Raise,
    }
}

/// Indices may be integers or floats that hold integers; truth values would be taken for positions by mistake.
fn check_indices(v: &View<'_>) -> Result {
    if v.dtype != DType::Bool {
        return Ok(());
    }
    Err(Cause::DType("indices must be integers, got bool; use boolean_mask or x[mask] to select by truth".into())
        .into())
}

/// The shape of what indices of shape `i` take from an array of shape `a`.
fn taken(a: &Dims, i: &View<'_>, ax: usize) -> Result<Dims> {
    check_indices(i)?;
    let mut shape = Dims::of(&a[..ax]);
    if !i.shape.iter().chain(&a[ax + 1..]).all(|d| shape.try_push(*d)) {
        return Err(Cause::Shape(format!("the result of taking {} from {a} has too many dimensions", i.shape)).into());
    }
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

/// The output has the shape of an attribute; what came from there must have the shape `part`.
fn back_to(c: &Call<'_>, outs: &mut Metas, whole: Dims, part: Dims) -> Result {
    if *c.ins[0].shape != part {
        let text = format!(
            "values of shape {} did not come from shape {whole} by these indices: expected {part}",
            c.ins[0].shape
        );
        return Err(Cause::Shape(text).into());
    }
    outs.push(Meta { shape: whole, dtype: c.ins[0].dtype });
    Ok(())
}
fn shape_attr(c: &Call<'_>, at: usize) -> Dims {
    c.attrs.ints(at).copied().unwrap_or_default()
}

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

fn mask_axis(c: &Attrs) -> Result {
    if c.int(0) == 0 {
        return Ok(());
    }
    Err(Cause::Unsupported(format!(
        "boolean_mask along axis {}: only axis 0 is built; move the axis to the front first",
        c.int(0)
    ))
    .into())
}
fn infer_mask(c: &Call<'_>, outs: &mut Metas) -> Result {
    mask_axis(c.attrs)?;
    let (v, m) = (&c.ins[0], &c.ins[1]);
    if v.shape.is_empty() || m.shape.len() != 1 || m.shape[0] != v.shape[0] {
        return Err(Cause::Shape(format!(
            "a mask of shape {} does not fit data of shape {}: one value per row is needed",
            m.shape, v.shape
        ))
        .into());
    }
    let mut shape = *v.shape;
    shape[0] = -1;
    outs.push(Meta { shape, dtype: v.dtype });
    Ok(())
}

rows! {
    TAKE_OP = Op::new("take", "Elements along an axis, by their positions.", TAKE, Body::Kernel(|cx, a, out| {
            k::take(cx, &a.ins[0], &a.ins[1], axis(a.attrs.int(0), a.ins[0].shape)?, bounds(a.attrs.choice(1)), &out[0])
        }))
        .attrs(&[
            Attr::int("axis", 0, "Axis to take from."),
            Attr::choice("mode", MODES, 0, "What a position out of range means: the nearest end, modulo the size, or an error.").np_default(AttrVal::Choice(RAISE)),
        ])
        .infer(infer_take).nd(&["take"]).methods(&["take"]).onnx("Gather")
        .grad(&[x(1)], |r| r.grad(0, || r.call(&TAKE_GRAD, &[r.dy(), r.x(1)], &[r.attrs()[0], r.attrs()[1], AttrVal::Ints(r.input(0).shape)])));
    TAKE_GRAD = Op::new("_take_grad", "Adds slices into zeros at the positions they were taken from.", DATA_INDEX, Body::Kernel(|cx, a, out| {
            k::take_grad(cx, &a.ins[0], &a.ins[1], axis(a.attrs.int(0), out[0].view.shape)?, bounds(a.attrs.choice(1)), &out[0])
        }))
        .attrs(&[Attr::int("axis", 0, "Axis."), Attr::choice("mode", MODES, 0, "As in take."), Attr::ints("shape", "Shape of the result.")])
        .infer(|c, outs| {
            let whole = shape_attr(c, 2);
            let part = taken(&whole, &c.ins[1], axis(c.attrs.int(0), &whole)?)?;
            back_to(c, outs, whole, part)
        }).internal()
        .grad(&[x(1)], |r| r.grad(0, || r.call(&TAKE_OP, &[r.dy(), r.x(1)], &r.attrs()[..2])));
    PICK = Op::new("pick", "One element of each row along an axis, by its position.", DATA_INDEX, Body::Kernel(|cx, a, out| {
            let (v, n) = (&a.ins[0], a.ins[0].ndim());
            let ax = axis(a.attrs.int(0), v.shape)?;
            with_axis(&a.ins[1], n, ax, |i| with_axis(&out[0].view, n, ax, |o| {
                k::pick(cx, v, i, ax, bounds(a.attrs.choice(2)), &gluonish_kernels::Out { view: *o, mode: out[0].mode })
            }))
        }))
        .attrs(&[Attr::int("axis", -1, "Axis to pick from."), Attr::bool("keepdims", false, "Keep the axis with size 1."), Attr::choice("mode", MODES, 0, "As in take.")])
        .infer(infer_pick).nd(&["pick"]).methods(&["pick"])
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
    ONE_HOT = Op::new("one_hot", "Rows that are `on_value` at the given position and `off_value` elsewhere.", INDICES, Body::Kernel(|cx, a, out| {
            k::one_hot(cx, &a.ins[0], a.attrs.float(1), a.attrs.float(2), &out[0])
        }))
        .attrs(&[
            Attr::int_required("depth", "Length of a row.").at_least(0),
            Attr::float("on_value", 1.0, "Value at the position."),
            Attr::float("off_value", 0.0, "Value elsewhere."),
            Attr::dtype("dtype", DType::F32, "Type of the result."),
        ])
        .infer(|c, outs| {
            check_indices(&c.ins[0])?;
            let mut shape = *c.ins[0].shape;
            if !shape.try_push(c.attrs.int(0) as isize) {
                return Err(Cause::Shape(format!("shape {} has no room for another axis", c.ins[0].shape)).into());
            }
            outs.push(Meta { shape, dtype: c.attrs.dtype(3).unwrap_or(DType::F32) });
            Ok(())
        })
        .nd(&["one_hot"]).methods(&["one_hot"]).cost(Cost::Bytes(2.0)).no_grad(Grad::Zero).onnx("OneHot");
    BOOLEAN_MASK = Op::new("boolean_mask", "The rows where the mask is not 0.", DATA_INDEX, Body::Dynamic {
            measure: |c, outs| {
                let n = k::count(&c.ins[1]);
                let mut shape = *c.ins[0].shape;
                shape[0] = n as isize;
                outs.push(Meta { shape, dtype: c.ins[0].dtype });
                Ok(())
            },
            kernel: |cx, a, out| k::compress(cx, &a.ins[0], &a.ins[1], &out[0]),
        })
        .attrs(&[Attr::int("axis", 0, "Axis whose elements are selected.")])
        .infer(infer_mask).nd(&["contrib.boolean_mask"]).cost(Cost::Bytes(2.0)).onnx("Compress")
        .grad(&[x(1)], |r| r.grad(0, || r.call(&MASK_GRAD, &[r.dy(), r.x(1)], &[AttrVal::Ints(r.input(0).shape)])));
    MASK_GRAD = Op::new("_boolean_mask_grad", "Zeros with the rows back where the mask is not 0.", DATA_INDEX, Body::Kernel(|cx, a, out| k::expand(cx, &a.ins[0], &a.ins[1], &out[0])))
        .attrs(&[Attr::ints("shape", "Shape of the result.")])
        .infer(|c, outs| {
            let (whole, mut part) = (shape_attr(c, 0), shape_attr(c, 0));
            let (Some(first), Some(rows)) = (part.first_mut(), c.ins[0].shape.first()) else {
                return Err(Cause::Shape(format!("rows of shape {} do not fit shape {whole}", c.ins[0].shape)).into());
            };
            *first = *rows;
            back_to(c, outs, whole, part)
        }).internal()
        .grad(&[x(1)], |r| r.grad(0, || r.call(&BOOLEAN_MASK, &[r.dy(), r.x(1)], &[AttrVal::Int(0)])));
}
