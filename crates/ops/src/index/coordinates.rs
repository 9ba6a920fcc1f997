//! Coordinates: joined to numbers, split again, and arrays of coordinates as indices.
use super::{DATA_INDICES, INDEX, INDEX_ADD, INDEX_PUT, INDEX_SET, check_indices, span_attrs};
use crate::attr::{Attr, axes, axis};
use crate::cost::Cost;
use crate::def::{Body, DATA, Grad, Input, InputKind, Meta, Op, input, rows};
use crate::infer;
use crate::movement::{SLICE, Slice};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, DType, Dims, Result, Scalar};
use gluonish_kernels::index::{Bounds, coordinates as k};
use gluonish_kernels::{AttrVal, Attrs, View, ramp};

const ALL: &[Input] = &[Input { name: "indices", kind: InputKind::Variadic }];
const SET_ND: &[Input] = &[input("lhs"), input("rhs"), input("indices")];
const COPY: &[Input] = &[input("old_tensor"), input("index_vector"), input("new_tensor")];
const SHAPE: &[Attr] = &[Attr::ints("shape", "Shape of the array that the coordinates belong to.")];
/// "raise" lets negative indices count from the end, "strict" does not.
const MODES: &[&str] = &["clip", "wrap", "raise", "strict"];
const RAISE: u8 = 2;
const STRICT: u8 = 3;

fn bounds(choice: u8) -> Bounds {
    if choice == STRICT { Bounds::Strict } else { super::bounds(choice) }
}

/// A shape whose first dimension may be unknown (-1): as large as the numbers allow then.
fn bounded(a: &Attrs, at: usize) -> Result<Dims> {
    let mut shape = a.ints(at).copied().unwrap_or_default();
    let rest = Dims::of(shape.get(1..).unwrap_or_default()).checked_size();
    if let (Some(first), Some(rest)) = (shape.first_mut(), rest)
        && *first == -1
    {
        *first = (isize::MAX / 8) / rest.max(1) as isize;
    }
    if shape.is_empty() || shape.iter().any(|d| *d < 0) {
        return Err(Cause::Shape(format!("coordinates need a shape, not {shape}")).into());
    }
    if shape.checked_size().is_none() {
        return Err(Cause::Shape(format!("shape {shape} has too many elements to be numbered")).into());
    }
    Ok(shape)
}

fn failed(r: &Rule<'_>, cause: Cause) -> V {
    r.0.fail(cause.into());
    0.0.into()
}

/// Row `i` of an array.
fn row(r: &Rule<'_>, v: V, i: isize) -> V {
    let shape = r.shape(v);
    let n = shape.len();
    let mut slice = Slice { begin: Dims::filled(n, 0), step: Dims::filled(n, 1), size: shape, axes: Dims::EMPTY };
    (slice.begin[0], slice.size[0]) = (i, 1);
    (1..n).for_each(|d| slice.axes.push(d as isize));
    r.call(&SLICE, &[v], &slice.attrs())
}

/// 0, 1, .. n - 1.
fn counted(n: usize) -> Dims {
    let mut all = Dims::filled(n, 0);
    (0..n).for_each(|i| all[i] = i as isize);
    all
}

/// The rows of `indices`, one for each of the first axes of `shape`, joined to numbers.
fn joined(r: &Rule<'_>, indices: V, shape: &Dims) -> Option<(V, usize)> {
    let given = r.shape(indices);
    let n = given.first().copied().unwrap_or(0);
    if n < 1 || n as usize > shape.len() {
        let text =
            format!("indices of shape {given} do not fit shape {shape}: a row for each of its first axes is needed");
        failed(r, Cause::Shape(text));
        return None;
    }
    if n == 1 {
        return Some((row(r, indices, 0), 1));
    }
    let n = n as usize;
    let rows: Vec<V> = (0..n).map(|i| row(r, indices, i as isize)).collect();
    let attrs = [AttrVal::Ints(Dims::of(&shape[..n])), AttrVal::Ints(counted(n)), AttrVal::Choice(RAISE)];
    Some((r.call(&JOIN, &rows, &attrs), n))
}

/// A row of `places` on the array of coordinates `indices`, with the shape as a further attribute where it has one.
fn at_coordinates(r: &Rule<'_>, op: &'static Op, ins: &[V], indices: V, whole: &Dims, shape: Option<Dims>) -> V {
    let Some((numbers, n)) = joined(r, indices, whole) else { return 0.0.into() };
    let mut attrs = span_attrs(0, n, 0).to_vec();
    attrs.extend(shape.map(AttrVal::Ints));
    let ins: Vec<V> = ins.iter().copied().chain([numbers]).collect();
    r.call(op, &ins, &attrs)
}

fn scatter(r: &Rule<'_>, op: &'static Op, ins: &[V]) -> V {
    let shape = r.attrs().ints(0).copied().unwrap_or_default();
    at_coordinates(r, op, &ins[..1], ins[1], &shape, Some(shape))
}

rows! {
    JOIN = Op::new("_np_ravel_multi_index", "Indices for neighbouring axes joined to the number of the element, in row-major order.", ALL, Body::Kernel(|cx, a, out| {
            let (sizes, named) = (a.attrs.ints(0).copied().unwrap_or_default(), a.attrs.ints(1).copied().unwrap_or_default());
            k::join(cx, a.ins, &sizes, &named, bounds(a.attrs.choice(2)), &out[0])
        }))
        .attrs(&[Attr::ints("sizes", "Sizes of the axes."), Attr::ints("named", "Axes that errors name."), Attr::choice("mode", MODES, RAISE, "As in take; 'strict' also refuses negative ones.")])
        .infer(|c, outs| {
            let (sizes, named) = (c.attrs.ints(0).copied().unwrap_or_default(), c.attrs.ints(1).copied().unwrap_or_default());
            if c.ins.is_empty() {
                return Err(Cause::Argument("at least one array of indices is needed".into()).into());
            }
            if sizes.len() != c.ins.len() || named.len() != c.ins.len() || sizes.checked_size().is_none() {
                let text = format!("{} arrays of indices do not fit sizes {sizes} of axes {named}", c.ins.len());
                return Err(Cause::Shape(text).into());
            }
            c.ins.iter().try_for_each(check_indices)?;
            outs.push(Meta { shape: infer::broadcast_shape(c.ins)?, dtype: DType::I64 });
            Ok(())
        }).internal().cost(Cost::Bytes(4.0)).no_grad(Grad::Zero);
    RAVEL_MULTI_INDEX = Op::new("ravel_multi_index", "The numbers, in row-major order, of elements given by coordinates: one row for each axis.", DATA, Body::Kernel(|cx, a, out| {
            let (v, sizes) = (&a.ins[0], bounded(a.attrs, 0)?);
            let (shape, strides) = (Dims::of(&v.shape[1..]), Dims::of(&v.strides[1..]));
            let step = v.strides[0] * v.dtype.size() as isize;
            let row = |i: usize| View { ptr: v.ptr.wrapping_offset(i as isize * step), shape: &shape, strides: &strides, size: shape.size(), contiguous: false, ..*v };
            let rows: Vec<View<'_>> = (0..sizes.len()).map(row).collect();
            k::join(cx, &rows, &sizes, &counted(sizes.len()), Bounds::Strict, &out[0])
        }))
        .attrs(SHAPE)
        .infer(|c, outs| {
            check_indices(&c.ins[0])?;
            let (given, sizes) = (c.ins[0].shape, bounded(c.attrs, 0)?);
            if given.first() != Some(&(sizes.len() as isize)) {
                let text = format!("coordinates of shape {given} do not fit shape {sizes}: one row for each axis is needed");
                return Err(Cause::Shape(text).into());
            }
            outs.push(Meta { shape: Dims::of(&given[1..]), dtype: DType::I64 });
            Ok(())
        }).nd(&["ravel_multi_index"]).cost(Cost::Bytes(4.0)).no_grad(Grad::Zero);
    UNRAVEL_INDEX = Op::new("unravel_index", "The coordinates of elements given by their numbers in row-major order: one row for each axis.", DATA, Body::Kernel(|cx, a, out| {
            k::split(cx, &a.ins[0], &bounded(a.attrs, 0)?, &out[0])
        }))
        .attrs(SHAPE)
        .infer(|c, outs| {
            check_indices(&c.ins[0])?;
            let shape = Dims::joined(&[&[bounded(c.attrs, 0)?.len() as isize], c.ins[0].shape])?;
            outs.push(Meta { shape, dtype: DType::I64 });
            Ok(())
        }).nd(&["unravel_index"]).cost(Cost::Bytes(8.0)).no_grad(Grad::Zero);
    GATHER_ND = Op::new("gather_nd", "Elements or slices by coordinates: `indices` has a row for each of the first axes.", DATA_INDICES, Body::Compose(|r, ins| {
            at_coordinates(r, &INDEX, &ins[..1], ins[1], &r.shape(ins[0]), None)
        }))
        .nd(&["gather_nd"]).onnx("GatherND");
    SCATTER_ND = Op::new("scatter_nd", "Zeros with the data written at coordinates; the last one where a place comes twice.", DATA_INDICES, Body::Compose(|r, ins| scatter(r, &INDEX_SET, ins)))
        .attrs(SHAPE).nd(&["scatter_nd"]);
    GATHER_ND_GRAD = Op::new("_backward_gather_nd", "Zeros with the data added at coordinates.", DATA_INDICES, Body::Compose(|r, ins| scatter(r, &INDEX_ADD, ins)))
        .attrs(SHAPE).internal();
    SCATTER_SET_ND = Op::new("_scatter_set_nd", "`lhs` with `rhs` written at coordinates.", SET_ND, Body::Compose(|r, ins| {
            let shape = r.shape(ins[0]);
            if r.attrs().ints(0).is_some_and(|s| *s != shape) {
                return failed(r, Cause::Shape(format!("lhs of shape {shape} is not of the shape that was given")));
            }
            at_coordinates(r, &INDEX_PUT, &ins[..2], ins[2], &shape, None)
        }))
        .attrs(&[Attr::opt_ints("shape", "Shape of lhs.")]).internal();
    INDEX_COPY = Op::new("index_copy", "The old array with rows of the new one written at positions of the first axis.", COPY, Body::Compose(|r, ins| {
            r.call(&INDEX_PUT, &[ins[0], ins[2], ins[1]], &span_attrs(0, 1, 0))
        }))
        .nd(&["contrib.index_copy"]);
    INDEX_ARRAY = Op::new("index_array", "The coordinates of each element, along a new last axis; of the given axes only, if any.", DATA, Body::Kernel(|cx, a, out| {
            let n = a.ins[0].ndim();
            let all: Vec<usize> = match a.attrs.ints(0) {
                None => (0..n).collect(),
                Some(list) => list.iter().map(|i| axis(*i as i64, a.ins[0].shape)).collect::<Result<_>>()?,
            };
            k::grid(cx, &all, &out[0])
        }))
        .attrs(&[Attr::opt_ints("axes", "Axes whose coordinates are given; all when None.")])
        .infer(|c, outs| {
            let v = c.ins[0].shape;
            axes(c.attrs.ints(0), false, v)?;
            if v.is_empty() {
                return Err(Cause::Shape(format!("an array of shape {v} has no coordinates")).into());
            }
            let shape = Dims::joined(&[v, &[c.attrs.ints(0).map_or(v.len(), |l| l.len()) as isize]])?;
            outs.push(Meta { shape, dtype: DType::I64 });
            Ok(())
        }).nd(&["contrib.index_array"]).cost(Cost::Bytes(4.0)).no_grad(Grad::Zero);
    ARANGE_LIKE = Op::new("arange_like", "`start + step * i` in the shape of the data, or as many as one of its axes has.", DATA, Body::Kernel(|cx, a, out| {
            let (start, step) = (a.attrs.float(0), a.attrs.float(1));
            ramp::repeated(cx, Scalar::Float(start), Scalar::Float(step), a.attrs.int(2) as usize, &out[0])
        }))
        .attrs(&[
            Attr::float("start", 0.0, "First value."),
            Attr::float("step", 1.0, "Distance of the values."),
            Attr::int("repeat", 1, "How often each value comes.").at_least(1),
            Attr::opt_int("axis", "Axis whose size counts; all elements when None."),
        ])
        .infer(|c, outs| {
            let v = &c.ins[0];
            let shape = match c.attrs.opt_int(3) {
                None => *v.shape,
                Some(ax) => Dims::of(&[v.shape[axis(ax, v.shape)?]]),
            };
            outs.push(Meta { shape, dtype: v.dtype });
            Ok(())
        }).nd(&["contrib.arange_like"]).no_grad(Grad::Zero);
}
