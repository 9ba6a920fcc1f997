//! The same values in another shape.
use super::codes::{coded, with_unknown};
use super::{list, misfit, view};
use crate::attr::{Attr, axes, axes_if_any};
use crate::cost::Cost;
use crate::def::{Body, DATA, Grad, LHS_RHS, Layout, Meta, Op, Viewed, rows};
use crate::infer;
use crate::rule::{Rule, V};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::{Cx, Out, View, convert};

/// `v` with another shape of the same size: a view where the strides allow it.
pub(super) fn reshaped(v: &View<'_>, shape: Dims) -> Result<Viewed> {
    if shape.checked_size() != Some(v.size) {
        return Err(misfit(format!("cannot reshape {} ({} values) to {shape}", v.shape, v.size)));
    }
    if v.contiguous {
        return Ok(Viewed::As(Layout { shape, strides: shape.contiguous_strides(), offset: 0 }));
    }
    Ok(match split_strides(v, &shape) {
        Some(strides) => Viewed::As(Layout { shape, strides, offset: 0 }),
        None => Viewed::Copy(shape),
    })
}

/// Strides of the new shape over the old layout: groups of axes of equal size must each lie evenly in memory.
fn split_strides(v: &View<'_>, shape: &Dims) -> Option<Dims> {
    if v.size == 0 {
        return Some(shape.contiguous_strides());
    }
    let old: Vec<(isize, isize)> =
        v.shape.iter().copied().zip(v.strides.iter().copied()).filter(|(d, _)| *d != 1).collect();
    let mut strides = Dims::filled(shape.len(), 0);
    let (mut i, mut j) = (0, 0);
    while i < old.len() {
        let (start, mut have, mut want) = (i, old[i].0, 1);
        let first = j;
        while want != have {
            if want < have {
                want *= *shape.get(j)?;
                j += 1;
            } else {
                i += 1;
                have *= old.get(i)?.0;
            }
        }
        if (start..i).any(|a| old[a].1 != old[a + 1].1 * old[a + 1].0) {
            return None;
        }
        let mut step = old[i].1;
        for a in (first..j).rev() {
            strides[a] = step;
            step *= shape[a];
        }
        i += 1;
    }
    Some(strides)
}

/// Sizes `begin..end` of a shape, both counted from the back when negative and left out at will.
fn range(shape: &Dims, begin: Option<i64>, end: Option<i64>) -> Result<(usize, usize)> {
    let n = shape.len() as i64;
    let at = |v: i64| if v < 0 { v.saturating_add(n) } else { v };
    let (b, e) = (at(begin.unwrap_or(0)), at(end.unwrap_or(n)));
    if (0..=n).contains(&b) && (b..=n).contains(&e) {
        return Ok((b as usize, e as usize));
    }
    let show = |v: Option<i64>| v.map_or("None".into(), |v| v.to_string());
    Err(misfit(format!("the dimensions {} to {} are not a range of shape {shape}", show(begin), show(end))))
}

fn reshape_like(r: &Rule<'_>, x: &[V]) -> Result<V> {
    let (a, lhs, rhs) = (r.attrs(), r.shape(x[0]), r.shape(x[1]));
    let (from, to) = range(&lhs, a.opt_int(0), a.opt_int(1))?;
    let (first, last) = range(&rhs, a.opt_int(2), a.opt_int(3))?;
    Ok(r.reshape(x[0], Dims::joined(&[&lhs[..from], &rhs[first..last], &lhs[to..]])?))
}

/// `shape` with axes of size 1 at the places `at` of the result.
fn with_axes(v: &View<'_>, at: &Dims) -> Result<Viewed> {
    // The new shape, with the sizes not yet in their places.
    let all = Dims::joined(&[v.shape, at])?;
    let ndim = all.len();
    let new = axes(Some(at), false, &all).map_err(|e| match e.cause() {
        Cause::Axis { axis, .. } => Cause::Axis { axis: *axis, shape: *v.shape }.into(),
        _ => e,
    })?;
    let (mut shape, mut strides) = (Dims::EMPTY, Dims::EMPTY);
    let mut old = v.shape.iter().zip(v.strides.iter());
    for d in 0..ndim {
        let (n, s) = if new >> d & 1 == 1 { (1, 0) } else { old.next().map_or((1, 0), |(n, s)| (*n, *s)) };
        shape.push(n);
        strides.push(s);
    }
    Ok(Viewed::As(Layout { shape, strides, offset: 0 }))
}

/// Checks what `depth_to_space` and its inverse share: a batch of images and a block of at least one.
fn images(r: &Rule<'_>, x: V) -> Result<(Dims, isize)> {
    let (shape, block) = (r.shape(x), r.attrs().int(0) as isize);
    if shape.len() != 4 {
        return Err(misfit(format!("shape {shape} is not one of images: (batch, channels, height, width)")));
    }
    Ok((shape, block))
}

/// Reshapes, permutes and reshapes again.
fn rearranged(r: &Rule<'_>, x: V, split: [isize; 6], order: [isize; 6], shape: [isize; 4]) -> V {
    let parts = r.transpose(r.reshape(x, Dims::of(&split)), Dims::of(&order));
    r.reshape(parts, Dims::of(&shape))
}

fn depth_to_space(r: &Rule<'_>, x: V) -> Result<V> {
    let (s, b) = images(r, x)?;
    let Some(bb) = b.checked_mul(b).filter(|bb| s[1] % bb == 0) else {
        return Err(misfit(format!("the {} channels of {s} are no multiple of block_size squared, {b} * {b}", s[1])));
    };
    let [n, c, h, w] = [s[0], s[1] / bb, s[2], s[3]];
    Ok(rearranged(r, x, [n, b, b, c, h, w], [0, 3, 4, 1, 5, 2], [n, c, h * b, w * b]))
}

fn space_to_depth(r: &Rule<'_>, x: V) -> Result<V> {
    let (s, b) = images(r, x)?;
    if s[2] % b != 0 || s[3] % b != 0 {
        return Err(misfit(format!("height and width of {s} are no multiples of block_size {b}")));
    }
    let [n, c, h, w] = [s[0], s[1], s[2] / b, s[3] / b];
    Ok(rearranged(r, x, [n, c, h, b, w, b], [0, 3, 5, 1, 2, 4], [n, c * b * b, h, w]))
}

/// Writes a few integers.
fn put_ints(cx: &Cx, values: &[isize], out: &Out<'_>) -> Result {
    let mut wide: Vec<i64> = values.iter().map(|v| *v as i64).collect();
    let (shape, strides) = (Dims::of(&[values.len() as isize]), Dims::of(&[1]));
    convert::copy_view(cx, &View::contiguous(wide.as_mut_ptr().cast(), DType::I64, &shape, &strides), out)
}

const BLOCK: &[Attr] = &[Attr::int_required("block_size", "Side of a block.").between(1, 1 << 20)];

rows! {
    RESHAPE = view("reshape", "The same values in another shape; 0 keeps a dimension, -1 is what is left, -2 keeps the rest, -3 joins two, -4 splits one.",
            |v, a, _| reshaped(v, coded(a, v)?))
        .attrs(&[
            Attr::opt_ints("shape", "The new shape, with codes.").spread(),
            Attr::bool("reverse", false, "Read the codes, and the dimensions that they stand for, from the right."),
            Attr::opt_ints("target_shape", "Instead of shape, as old code has it: 0 is what is left."),
            Attr::bool("keep_highest", false, "The first dimension stays, whatever target_shape says of it."),
        ]).nd(&["reshape", "Reshape"]).methods(&["reshape"]).onnx("Reshape")
        .grad(&[], |r| r.grad(0, || r.reshape(r.dy(), r.input(0).shape)));
    RESHAPE_AS = view("_np_reshape", "The same values in another shape; -1 is what is left.",
            |v, a, _| reshaped(v, with_unknown(list(a, 0), v.size, v.shape)?))
        .attrs(&[
            Attr::ints("shape", "The new shape.").also("newshape"),
            Attr::choice("order", &["C"], 0, "Arrays are read and written in row-major order."),
        ]).np(&["reshape"])
        .grad(&[], |r| r.grad(0, || r.reshape(r.dy(), r.input(0).shape)));
    RESHAPE_LIKE = Op::new("reshape_like", "The values of the first array in the shape of the second, or with a range of its dimensions replaced by one of the second's.",
            LHS_RHS, Body::Compose(|r, x| r.ok(reshape_like(r, x))))
        .attrs(&[
            Attr::opt_int("lhs_begin", "First dimension to replace; 0 when None."),
            Attr::opt_int("lhs_end", "One past the last dimension to replace; all when None."),
            Attr::opt_int("rhs_begin", "First dimension to take; 0 when None."),
            Attr::opt_int("rhs_end", "One past the last dimension to take; all when None."),
        ]).nd(&["reshape_like"]).methods(&["reshape_like"]);
    FLATTEN = view("flatten", "A matrix: the first axis stays, the others become one.", |v, _, _| {
            let rest = v.shape.get(1..).unwrap_or_default().iter().product();
            reshaped(v, Dims::of(&[v.shape.first().copied().unwrap_or(1), rest]))
        })
        .nd(&["flatten", "Flatten"]).methods(&["flatten"]).onnx("Flatten")
        .grad(&[], |r| r.grad(0, || r.reshape(r.dy(), r.input(0).shape)));
    RAVEL = view("ravel", "The values as a vector.", |v, _, _| reshaped(v, Dims::of(&[v.size as isize])))
        .attrs(&[Attr::choice("order", &["C"], 0, "The values come in row-major order.")])
        .np(&["ravel"]).methods(&["ravel"])
        .grad(&[], |r| r.grad(0, || r.reshape(r.dy(), r.input(0).shape)));
    EXPAND_DIMS = view("expand_dims", "A new axis of size 1.", |v, a, _| with_axes(v, &Dims::of(&[a.int(0) as isize])))
        .attrs(&[Attr::int_required("axis", "Where the new axis stands.")])
        .nd(&["expand_dims"]).methods(&["expand_dims"]).onnx("Unsqueeze")
        .grad(&[], |r| r.grad(0, || r.reshape(r.dy(), r.input(0).shape)));
    EXPAND_AXES = view("_np_expand_dims", "New axes of size 1.", |v, a, _| with_axes(v, &list(a, 0)))
        .attrs(&[Attr::ints("axis", "Where the new axes stand.")]).np(&["expand_dims"])
        .grad(&[], |r| r.grad(0, || r.reshape(r.dy(), r.input(0).shape)));
    SQUEEZE = view("squeeze", "Without the axes of size 1, or without those given.", |v, a, _| {
            let set = match a.ints(0) {
                Some(_) => axes_if_any(a.ints(0), false, v.shape)?,
                None => (0..v.shape.len()).filter(|i| v.shape[*i] == 1).fold(0, |s, i| s | 1 << i),
            };
            if let Some(i) = (0..v.shape.len()).find(|i| set >> i & 1 == 1 && v.shape[*i] != 1) {
                return Err(misfit(format!("cannot squeeze axis {i} of shape {}: its size is not 1", v.shape)));
            }
            Ok(Viewed::As(Layout { shape: infer::reduced(v.shape, set, false), strides: infer::reduced(v.strides, set, false), offset: 0 }))
        })
        .attrs(&[Attr::opt_ints("axis", "Axes to drop; all of size 1 when None.")])
        .nd(&["squeeze"]).np(&["squeeze"]).methods(&["squeeze"]).onnx("Squeeze")
        .grad(&[], |r| r.grad(0, || r.reshape(r.dy(), r.input(0).shape)));
    DEPTH_TO_SPACE = Op::new("depth_to_space", "Channels laid out as blocks of the image: (n, c * b * b, h, w) becomes (n, c, h * b, w * b).",
            DATA, Body::Compose(|r, x| r.ok(depth_to_space(r, x[0]))))
        .attrs(BLOCK).nd(&["depth_to_space"]).methods(&["depth_to_space"]).onnx("DepthToSpace");
    SPACE_TO_DEPTH = Op::new("space_to_depth", "Blocks of the image laid out as channels: (n, c, h * b, w * b) becomes (n, c * b * b, h, w).",
            DATA, Body::Compose(|r, x| r.ok(space_to_depth(r, x[0]))))
        .attrs(BLOCK).nd(&["space_to_depth"]).methods(&["space_to_depth"]).onnx("SpaceToDepth");
    SHAPE_ARRAY = Op::new("shape_array", "The shape, as an array of int64.", DATA, Body::Kernel(|cx, a, out| put_ints(cx, a.ins[0].shape, &out[0])))
        .infer(|c, outs| {
            outs.push(Meta { shape: Dims::of(&[c.ins[0].shape.len() as isize]), dtype: DType::I64 });
            Ok(())
        })
        .cost(Cost::Free).nd(&["shape_array"]).methods(&["shape_array"]).no_grad(Grad::Zero).onnx("Shape");
    SIZE_ARRAY = Op::new("size_array", "The number of elements, as an array of one int64.", DATA, Body::Kernel(|cx, a, out| put_ints(cx, &[a.ins[0].size as isize], &out[0])))
        .infer(|_, outs| {
            outs.push(Meta { shape: Dims::of(&[1]), dtype: DType::I64 });
            Ok(())
        })
        .cost(Cost::Free).nd(&["size_array"]).methods(&["size_array"]).no_grad(Grad::Zero).onnx("Size");
}
