//! Order along an axis: sorting, and the largest or smallest elements.
use crate::attr::{Attr, axis};
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Grad, Input, Meta, Metas, Op, Output, input, rows, x, y};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::{Args, AttrVal, Attrs, Cx, Mode, Out, View, along, convert, sort as k};

const AXIS: usize = 0;
const K: usize = 1;
const RETURN: usize = 2;
const ASCEND: usize = 3;
const DTYPE: usize = 4;

const RETURNS: &[&str] = &["indices", "value", "mask", "both"];
const INDICES: u8 = 0;
const VALUE: u8 = 1;
const MASK: u8 = 2;
const BOTH: u8 = 3;
const WHERE_TO_SORT: Attr =
    Attr::opt_int("axis", "Axis to go along; the flattened array when None.").defaulting(AttrVal::Int(-1));
const OUTPUTS: &[Output] = &[Output { name: "value", hidden: false }, Output { name: "indices", hidden: false }];
const DY_INDEX: &[Input] = &[input("dy"), input("indices")];

/// Values come with their positions, which the gradient needs even where the caller does not ask for them.
fn has_values(a: &Attrs) -> bool {
    !matches!(a.choice(RETURN), INDICES | MASK)
}

/// What is ordered: the shape (one axis when `axis` is None), the axis, and its length.
fn line(a: &Attrs, shape: &Dims) -> Result<(Dims, usize, usize)> {
    let Some(given) = a.opt_int(AXIS) else {
        return Ok((Dims::of(&[shape.size() as isize]), 0, shape.size()));
    };
    let ax = axis(given, shape)?;
    Ok((*shape, ax, shape[ax].max(0) as usize))
}

/// The type of the positions along an axis of length `n`, which it must be able to hold.
fn positions(given: Option<DType>, n: usize) -> Result<DType> {
    let dtype = given.unwrap_or(DType::I64);
    if n as u64 <= dtype.largest_count().saturating_add(1) {
        return Ok(dtype);
    }
    let text =
        format!("dtype='{dtype}' cannot hold the positions of {n} elements: it counts up to {}", dtype.largest_count());
    Err(Cause::DType(text).into())
}

/// As `line`, with how many elements are wanted in place of the length; all of them when `k` is below 1.
fn place(a: &Attrs, shape: &Dims) -> Result<(Dims, usize, usize)> {
    let (whole, ax, n) = line(a, shape)?;
    let k = a.int(K);
    if k > n as i64 {
        return Err(Cause::Value(format!("k={k} is more than the {n} elements of axis {ax} of shape {whole}")).into());
    }
    Ok((whole, ax, if k < 1 { n } else { k as usize }))
}

fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    let v = &c.ins[0];
    let (mut shape, ax, k) = place(c.attrs, v.shape)?;
    shape[ax] = k as isize;
    let (_, _, n) = line(c.attrs, v.shape)?;
    match c.attrs.choice(RETURN) {
        INDICES => outs.push(Meta { shape, dtype: positions(c.attrs.dtype(DTYPE), n)? }),
        MASK => outs.push(Meta { shape: *v.shape, dtype: v.dtype }),
        what => {
            outs.push(Meta { shape, dtype: v.dtype });
            // Beside values alone they serve the gradient, whatever type the caller would have them in.
            let given = if what == VALUE { None } else { c.attrs.dtype(DTYPE) };
            outs.push(Meta { shape, dtype: positions(given, n)? });
        }
    }
    Ok(())
}

/// Calls `f` with the view as one that has this shape: the same memory, or a copy where its layout does not allow that.
fn seen_as(cx: &Cx, v: &View<'_>, shape: &Dims, f: impl FnOnce(&View<'_>) -> Result) -> Result {
    let strides = shape.contiguous_strides();
    if v.shape == shape {
        return f(v);
    }
    if v.contiguous {
        return f(&View { shape, strides: &strides, ..*v });
    }
    let mut copy = vec![0u64; (v.size * v.dtype.size()).div_ceil(8)];
    let own = v.shape.contiguous_strides();
    let to = View::contiguous(copy.as_mut_ptr().cast(), v.dtype, v.shape, &own);
    convert::copy_view(cx, v, &Out { view: to, mode: Mode::Write })?;
    f(&View { shape, strides: &strides, ..to })
}

/// As `seen_as` for an output: where its layout does not allow the shape, a copy is filled and then stored.
fn filled_as(cx: &Cx, out: &Out<'_>, shape: &Dims, f: impl FnOnce(&Out<'_>) -> Result) -> Result {
    let (v, strides) = (&out.view, shape.contiguous_strides());
    if v.shape == shape {
        return f(out);
    }
    if v.contiguous {
        return f(&Out { view: View { shape, strides: &strides, ..*v }, ..*out });
    }
    let mut copy = vec![0u64; (v.size * v.dtype.size()).div_ceil(8)];
    let own = v.shape.contiguous_strides();
    let from = View::contiguous(copy.as_mut_ptr().cast(), v.dtype, v.shape, &own);
    f(&Out { view: View { shape, strides: &strides, ..from }, mode: Mode::Write })?;
    convert::copy_view(cx, &from, out)
}

fn kernel(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    let (whole, ax, n) = place(a.attrs, a.ins[0].shape)?;
    let ascending = a.attrs.bool(ASCEND);
    seen_as(cx, &a.ins[0], &whole, |v| match a.attrs.choice(RETURN) {
        INDICES => k::topk(cx, v, ax, ascending, None, Some(&out[0])),
        MASK => filled_as(cx, &out[0], &whole, |out| k::topk_mask(cx, v, ax, n, ascending, out)),
        _ => k::topk(cx, v, ax, ascending, Some(&out[0]), Some(&out[1])),
    })
}

/// Gradients of ordered values, back to where the values came from.
fn put_back(r: &Rule<'_>, positions: V) -> V {
    let shape = r.input(0).shape;
    let Ok((whole, ax, _)) = line(r.attrs(), &shape).map_err(|e| r.0.fail(e)) else { return r.dy() };
    let back = r.call(&PUT_ALONG, &[r.dy(), positions], &[AttrVal::Int(ax as i64), AttrVal::Ints(whole)]);
    if whole == shape { back } else { r.reshape(back, shape) }
}

/// Positions along one axis of `whole`, one for each element of `part`: the other axes agree.
fn along_axis(c: &Call<'_>, whole: &Dims, part: &Dims) -> Result {
    let ax = axis(c.attrs.int(AXIS), whole)?;
    let agree = part.len() == whole.len() && (0..whole.len()).all(|d| d == ax || part[d] == whole[d]);
    if agree && part == c.ins[1].shape {
        return Ok(());
    }
    let text = format!(
        "positions of shape {} and values of shape {part} do not fit axis {ax} of shape {whole}",
        c.ins[1].shape
    );
    Err(Cause::Shape(text).into())
}

rows! {
    SORT = Op::new("sort", "The elements of an axis in order. NaN comes last.", DATA, Body::Kernel(|cx, a, out| {
            let (whole, ax, _) = line(a.attrs, a.ins[0].shape)?;
            seen_as(cx, &a.ins[0], &whole, |v| k::sort(cx, v, ax, a.attrs.bool(1), &out[0]))
        }))
        .attrs(&[WHERE_TO_SORT, Attr::bool("is_ascend", true, "From the smallest to the largest.")])
        .infer(|c, outs| {
            let (shape, ..) = line(c.attrs, c.ins[0].shape)?;
            outs.push(Meta { shape, dtype: c.ins[0].dtype });
            Ok(())
        })
        .cost(Cost::Bytes(40.0)).nd(&["sort"]).methods(&["sort"])
        // The order is found again: a sort that nobody differentiates need not keep it.
        .grad(&[x(0)], |r| r.grad(0, || {
            let attrs = [r.attrs()[0], r.attrs()[1], AttrVal::None];
            put_back(r, r.call(&ARGSORT, &[r.x(0)], &attrs))
        }));
    ARGSORT = Op::new("argsort", "The positions of the elements of an axis in order. Equal ones keep their order, NaN comes last.", DATA, Body::Kernel(|cx, a, out| {
            let (whole, ax, _) = line(a.attrs, a.ins[0].shape)?;
            seen_as(cx, &a.ins[0], &whole, |v| k::argsort(cx, v, ax, a.attrs.bool(1), &out[0]))
        }))
        .attrs(&[
            WHERE_TO_SORT,
            Attr::bool("is_ascend", true, "From the smallest to the largest."),
            Attr::opt_dtype("dtype", "Type of the positions; int64 when None."),
        ])
        .infer(|c, outs| {
            let (shape, _, n) = line(c.attrs, c.ins[0].shape)?;
            outs.push(Meta { shape, dtype: positions(c.attrs.dtype(2), n)? });
            Ok(())
        })
        .cost(Cost::Bytes(40.0)).nd(&["argsort"]).methods(&["argsort"]).no_grad(Grad::Zero);
    TOPK = Op::new("topk", "The k largest (or smallest) elements along an axis: their positions, values, both, or a mask.", DATA, Body::Kernel(kernel))
        .attrs(&[
            WHERE_TO_SORT,
            Attr::int("k", 1, "How many; all, sorted, when it is below 1."),
            Attr::choice("ret_typ", RETURNS, INDICES, "What to return."),
            Attr::bool("is_ascend", false, "The smallest ones instead of the largest."),
            Attr::opt_dtype("dtype", "Type of the positions; int64 when None."),
        ])
        .outputs(OUTPUTS).count(|a, _| 1 + has_values(a) as usize).visible(|a, _| if a.choice(RETURN) == BOTH { 2 } else { 1 })
        .infer(infer).cost(Cost::Bytes(40.0)).nd(&["topk"]).methods(&["topk"]).onnx("TopK")
        .grad(&[y(1)], |r| {
            if has_values(r.attrs()) {
                r.grad(0, || put_back(r, r.y(1)));
            }
        });
    PUT_ALONG = Op::new("_put_along_axis", "Adds values into zeros at their positions along an axis.", DY_INDEX, Body::Kernel(|cx, a, out| {
            along::put(cx, &a.ins[0], &a.ins[1], axis(a.attrs.int(0), out[0].view.shape)?, &out[0])
        }))
        .attrs(&[Attr::int("axis", -1, "Axis."), Attr::ints("shape", "Shape of the result.")])
        .infer(|c, outs| {
            let shape = c.attrs.ints(1).copied().unwrap_or_default();
            along_axis(c, &shape, c.ins[0].shape)?;
            outs.push(Meta { shape, dtype: c.ins[0].dtype });
            Ok(())
        }).internal()
        .grad(&[x(1)], |r| r.grad(0, || r.call(&TAKE_ALONG, &[r.dy(), r.x(1)], &r.attrs()[..1])));
    TAKE_ALONG = Op::new("_take_along_axis", "Values at the given positions along an axis.", DY_INDEX, Body::Kernel(|cx, a, out| {
            along::take(cx, &a.ins[0], &a.ins[1], axis(a.attrs.int(0), a.ins[0].shape)?, &out[0])
        }))
        .attrs(&[Attr::int("axis", -1, "Axis.")])
        .infer(|c, outs| {
            along_axis(c, c.ins[0].shape, c.ins[1].shape)?;
            outs.push(Meta { shape: *c.ins[1].shape, dtype: c.ins[0].dtype });
            Ok(())
        }).internal()
        .grad(&[x(1)], |r| r.grad(0, || r.call(&PUT_ALONG, &[r.dy(), r.x(1)], &[r.attrs()[0], AttrVal::Ints(r.input(0).shape)])));
}
