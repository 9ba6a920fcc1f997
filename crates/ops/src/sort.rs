//! The largest or smallest elements of an axis.
use crate::attr::{Attr, axis};
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Input, Meta, Metas, Op, Output, input, rows, x, y};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::{Args, AttrVal, Attrs, Cx, Out, along, sort as k};

const AXIS: usize = 0;
const K: usize = 1;
const RETURN: usize = 2;
const ASCEND: usize = 3;
const DTYPE: usize = 4;

const RETURNS: &[&str] = &["indices", "value", "mask", "both"];
const INDICES: u8 = 0;
const MASK: u8 = 2;
const BOTH: u8 = 3;
const OUTPUTS: &[Output] = &[Output { name: "value", hidden: false }, Output { name: "indices", hidden: false }];
const DY_INDEX: &[Input] = &[input("dy"), input("indices")];

/// Values come with their positions, which the gradient needs even where the caller does not ask for them.
fn has_values(a: &Attrs) -> bool {
    !matches!(a.choice(RETURN), INDICES | MASK)
}

/// The axis, and how many elements of it; all of them when `k` is less than 1.
fn place(a: &Attrs, shape: &Dims) -> Result<(usize, usize)> {
    let ax = axis(a.int(AXIS), shape)?;
    let n = shape[ax].max(0) as usize;
    let k = a.int(K);
    if k > n as i64 {
        return Err(Cause::Value(format!("k={k} is more than the {n} elements of axis {ax} of shape {shape}")).into());
    }
    Ok((ax, if k < 1 { n } else { k as usize }))
}

fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    let v = &c.ins[0];
    let (ax, k) = place(c.attrs, v.shape)?;
    let mut shape = *v.shape;
    shape[ax] = k as isize;
    let positions = c.attrs.dtype(DTYPE).unwrap_or(DType::I64);
    match c.attrs.choice(RETURN) {
        INDICES => outs.push(Meta { shape, dtype: positions }),
        MASK => outs.push(Meta { shape: *v.shape, dtype: v.dtype }),
        _ => {
            outs.push(Meta { shape, dtype: v.dtype });
            outs.push(Meta { shape, dtype: positions });
        }
    }
    Ok(())
}

fn kernel(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    let v = &a.ins[0];
    let (ax, n) = place(a.attrs, v.shape)?;
    let ascending = a.attrs.bool(ASCEND);
    match a.attrs.choice(RETURN) {
        INDICES => k::topk(cx, v, ax, ascending, None, Some(&out[0])),
        MASK => k::topk_mask(cx, v, ax, n, ascending, &out[0]),
        _ => k::topk(cx, v, ax, ascending, Some(&out[0]), Some(&out[1])),
    }
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
    TOPK = Op::new("topk", "The k largest (or smallest) elements along an axis: their positions, values, both, or a mask.", DATA, Body::Kernel(kernel))
        .attrs(&[
            Attr::int("axis", -1, "Axis to search."),
            Attr::int("k", 1, "How many; all, sorted, when less than 1."),
            Attr::choice("ret_typ", RETURNS, INDICES, "What to return."),
            Attr::bool("is_ascend", false, "The smallest ones instead of the largest."),
            Attr::opt_dtype("dtype", "Type of the positions; int64 when None."),
        ])
        .outputs(OUTPUTS).count(|a, _| 1 + has_values(a) as usize).visible(|a, _| if a.choice(RETURN) == BOTH { 2 } else { 1 })
        .infer(infer).cost(Cost::Bytes(40.0)).nd(&["topk"]).methods(&["topk"]).onnx("TopK")
        .grad(&[y(1)], |r| {
            if has_values(r.attrs()) {
                r.grad(0, || r.call(&PUT_ALONG, &[r.dy(), r.y(1)], &[r.attrs()[AXIS], AttrVal::Ints(r.input(0).shape)]));
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
