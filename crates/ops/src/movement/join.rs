//! Arrays cut in parts and joined.
use super::slice::{SLICE, Slice};
use super::{ALL, misfit, target, view};
use crate::attr::{Attr, axis, new_axis};
use crate::def::{Body, Call, Layout, Meta, Metas, Op, Viewed, rows};
use crate::infer;
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::{AttrVal, Attrs, Cx, Out, View, convert, movement as k};

/// Part `i` of a split into equal parts along an axis.
fn part(v: &View<'_>, a: &Attrs, i: usize) -> Result<Viewed> {
    let (n, ax) = (a.int(0) as isize, axis(a.int(1), v.shape)?);
    let size = v.shape[ax];
    if n < 1 || size % n != 0 {
        return Err(Cause::Shape(format!("cannot split axis {ax} of shape {} into {n} equal parts", v.shape)).into());
    }
    let (mut shape, mut strides) = (*v.shape, *v.strides);
    shape[ax] = size / n;
    let offset = i as isize * shape[ax] * strides[ax];
    if a.bool(2) {
        if shape[ax] != 1 {
            return Err(Cause::Shape(format!("squeeze_axis needs parts of size 1, got {}", shape[ax])).into());
        }
        shape.remove(ax);
        strides.remove(ax);
    }
    Ok(Viewed::As(Layout { shape, strides, offset }))
}

fn infer_concat(c: &Call<'_>, outs: &mut Metas) -> Result {
    let first = c.ins.first().ok_or_else(|| Cause::Argument("at least one array is needed".into()))?;
    let ax = axis(c.attrs.int(0), first.shape)?;
    let mut shape = *first.shape;
    for v in &c.ins[1..] {
        let fits = v.shape.len() == shape.len() && (0..shape.len()).all(|i| i == ax || v.shape[i] == shape[i]);
        if !fits {
            return Err(Cause::Shape(format!(
                "cannot join {} and {} along axis {ax}: the other axes must agree",
                first.shape, v.shape
            ))
            .into());
        }
        shape[ax] += v.shape[ax];
    }
    outs.push(Meta { shape, dtype: infer::promoted(c.ins) });
    Ok(())
}

/// The shape of stacked arrays and where the new axis stands.
fn stacked(ins: &[View<'_>], at: i64) -> Result<(Dims, usize)> {
    let first = ins.first().ok_or_else(|| Cause::Argument("at least one array is needed".into()))?.shape;
    if let Some(other) = ins.iter().find(|v| v.shape != first) {
        return Err(misfit(format!("cannot stack {first} and {}: the shapes must be equal", other.shape)));
    }
    let at = new_axis(at, first)?;
    Ok((Dims::joined(&[&first[..at], &[ins.len() as isize], &first[at..]])?, at))
}

/// Entry `i` along an axis of `out`, without that axis.
fn entry(shape: &Dims, strides: &Dims, at: usize, i: usize) -> Layout {
    let (mut shape, mut strides) = (*shape, *strides);
    shape.remove(at);
    let step = strides.remove(at);
    Layout { shape, strides, offset: i as isize * step }
}

fn stack(cx: &Cx, ins: &[View<'_>], at: i64, out: &Out<'_>) -> Result {
    let (_, at) = stacked(ins, at)?;
    let layouts: Vec<Layout> = (0..ins.len()).map(|i| entry(out.view.shape, out.view.strides, at, i)).collect();
    ins.iter().zip(&layouts).try_for_each(|(x, l)| convert::copy_view(cx, x, &target(out, l)))
}

rows! {
    SPLIT = view("split", "Equal parts along an axis.", part)
        .attrs(&[
            Attr::int_required("num_outputs", "Number of parts.").between(1, 1 << 16),
            Attr::int("axis", 1, "Axis to split."),
            Attr::bool("squeeze_axis", false, "Drop the axis, where the parts have size 1."),
        ])
        .count(|a, _| a.int(0) as usize).nd(&["split", "SliceChannel"]).methods(&["split"]).onnx("Split")
        .grad(&[], |r| r.grad(0, || {
            let n = r.attrs().int(0) as usize;
            let parts: Vec<_> = (0..n).map(|i| {
                let mut shape = r.input(0).shape;
                let at = axis(r.attrs().int(1), &shape).unwrap_or(0);
                shape[at] /= n as isize;
                r.reshape(r.dy_of(i), shape)
            }).collect();
            r.call(&CONCAT, &parts, &[r.attrs()[1]])
        }));
    CONCAT = Op::new("concat", "Arrays joined along an axis.", ALL, Body::Kernel(|cx, a, out| {
            k::concat(cx, a.ins, axis(a.attrs.int(0), out[0].view.shape)?, &out[0])
        }))
        .attrs(&[Attr::int("dim", 1, "Axis along which they are joined.").np_name("axis").np_default(AttrVal::Int(0))])
        .infer(infer_concat).nd(&["concat", "Concat"]).np(&["concatenate", "concat"]).onnx("Concat")
        .grad(&[], |r| {
            let mut begin = 0;
            for i in 0..r.inputs() {
                let shape = r.input(i).shape;
                let at = axis(r.attrs().int(0), &shape).unwrap_or(0);
                let mut slice = Slice::whole(&shape);
                slice.begin[at] = begin;
                begin += shape[at];
                r.grad(i, || r.call(&SLICE, &[r.dy()], &slice.attrs()));
            }
        });
    STACK = Op::new("stack", "Arrays of one shape, joined along a new axis.", ALL, Body::Kernel(|cx, a, out| stack(cx, a.ins, a.attrs.int(0), &out[0])))
        .attrs(&[Attr::int("axis", 0, "Where the new axis stands.")])
        .infer(|c, outs| {
            outs.push(Meta { shape: stacked(c.ins, c.attrs.int(0))?.0, dtype: infer::promoted(c.ins) });
            Ok(())
        })
        .nd(&["stack"]).onnx("Concat")
        .grad(&[], |r| {
            let shape = r.output(0).shape;
            let at = axis(r.attrs().int(0), &shape).unwrap_or(0);
            for i in 0..r.inputs() {
                let mut slice = Slice::whole(&shape);
                (slice.begin[at], slice.size[at]) = (i as isize, 1);
                slice.axes.remove(at);
                r.grad(i, || r.call(&SLICE, &[r.dy()], &slice.attrs()));
            }
        });
}
