//! Values repeated, and rolled round an axis.
use super::{list, misfit};
use crate::attr::{Attr, axis};
use crate::def::{Body, Call, DATA, Meta, Metas, Op, rows};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, MAX_DIMS, Result};
use gluonish_kernels::{AttrVal, Attrs, View, movement as k};

/// The input's shape and the repeats of `tile`, with as many axes each.
fn tiles(a: &Attrs, shape: &Dims) -> Result<(Dims, Dims)> {
    let (mut shape, mut reps) = (*shape, list(a, 0));
    if reps.iter().any(|r| *r < 0) {
        return Err(Cause::Argument(format!("reps={reps} is not valid: expected numbers of at least 0")).into());
    }
    while shape.len() < reps.len() {
        shape.insert(0, 1);
    }
    while reps.len() < shape.len() {
        reps.insert(0, 1);
    }
    Ok((shape, reps))
}

/// Sizes times repeats.
fn times(shape: &Dims, reps: &Dims) -> Result<Dims> {
    let mut out = *shape;
    for (n, r) in out.iter_mut().zip(reps.iter()) {
        *n = n.checked_mul(*r).ok_or_else(|| misfit(format!("{shape} repeated {reps} times is too large")))?;
    }
    Ok(out)
}

/// The axis to repeat along and how often; no axis stands for the flattened array.
fn repeats(a: &Attrs, shape: &Dims) -> Result<(Dims, usize, isize)> {
    let times = a.int(0) as isize;
    match a.opt_int(1) {
        Some(at) => Ok((*shape, axis(at, shape)?, times)),
        None => Ok((Dims::of(&[shape.size() as isize]), 0, times)),
    }
}

fn infer_repeat(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (mut shape, at, n) = repeats(c.attrs, c.ins[0].shape)?;
    shape[at] = shape[at].checked_mul(n).ok_or_else(|| misfit(format!("{shape} repeated {n} times is too large")))?;
    outs.push(Meta { shape, dtype: c.ins[0].dtype });
    Ok(())
}

/// The gradient of repeated values: what arrived for the copies, summed. Sizes and repeats alternate in `parts`, the
/// repeats standing at the axes of `summed`.
fn gathered(r: &Rule<'_>, parts: &[isize], summed: &[isize]) -> V {
    let fits = parts.len() <= MAX_DIMS;
    r.ok(fits.then(|| Dims::of(parts)).ok_or_else(|| misfit("there are too many axes to repeat along".into())).map(
        |parts| {
            let sum = if summed.is_empty() { r.dy() } else { r.sum(r.reshape(r.dy(), parts), Dims::of(summed), false) };
            r.reshape(sum, r.input(0).shape)
        },
    ))
}

fn tile_grad(r: &Rule<'_>) -> V {
    r.ok(tiles(r.attrs(), &r.input(0).shape).map(|(shape, reps)| {
        let (mut parts, mut summed) = (Vec::new(), Vec::new());
        for (&n, &times) in shape.iter().zip(reps.iter()) {
            if times != 1 {
                summed.push(parts.len() as isize);
                parts.push(times);
            }
            if n != 1 {
                parts.push(n);
            }
        }
        gathered(r, &parts, &summed)
    }))
}

fn repeat_grad(r: &Rule<'_>) -> V {
    r.ok(repeats(r.attrs(), &r.input(0).shape).map(|(shape, at, n)| {
        let outer: isize = shape[..at].iter().product();
        let inner: isize = shape[at + 1..].iter().product();
        gathered(r, &[outer * shape[at], n, inner], &[1])
    }))
}

/// How far each axis is rolled; without axes, the flattened array.
fn rolls(a: &Attrs, shape: &Dims) -> Result<Option<Dims>> {
    let (shift, Some(at)) = (list(a, 0), a.ints(1)) else { return Ok(None) };
    if shift.len() != at.len() && shift.len() != 1 && at.len() != 1 {
        return Err(Cause::Argument(format!("shift {shift} and axis {at} must have as many entries")).into());
    }
    let mut by = Dims::filled(shape.len(), 0);
    for i in 0..shift.len().max(at.len()).min(shift.len() * at.len()) {
        let d = axis(at[i.min(at.len() - 1)] as i64, shape)?;
        by[d] = k::rolled(by[d], shift[i.min(shift.len() - 1)], shape[d]);
    }
    Ok(Some(by))
}

/// The sum of all shifts, for the flattened array.
fn total(a: &Attrs, size: usize) -> isize {
    list(a, 0).iter().fold(0, |sum, s| k::rolled(sum, *s, size as isize))
}

rows! {
    TILE = Op::new("tile", "The array repeated as a whole along each axis.", DATA, Body::Kernel(|cx, a, out| {
            let (shape, reps) = tiles(a.attrs, a.ins[0].shape)?;
            k::tile(cx, &a.ins[0], &shape, &reps, &out[0])
        }))
        .attrs(&[Attr::ints("reps", "Repeats along each axis; where they are fewer than the axes, along the last ones.").spread()])
        .infer(|c, outs| {
            let (shape, reps) = tiles(c.attrs, c.ins[0].shape)?;
            outs.push(Meta { shape: times(&shape, &reps)?, dtype: c.ins[0].dtype });
            Ok(())
        })
        .nd(&["tile"]).np(&["tile"]).np_inputs(&["A"]).methods(&["tile"]).onnx("Tile")
        .grad(&[], |r| r.grad(0, || tile_grad(r)));
    REPEAT = Op::new("repeat", "Each element repeated.", DATA, Body::Kernel(|cx, a, out| {
            let (_, at, n) = repeats(a.attrs, a.ins[0].shape)?;
            k::repeat(cx, &a.ins[0], a.attrs.opt_int(1).map(|_| at), n, &out[0])
        }))
        .attrs(&[
            Attr::int_required("repeats", "How often each element comes.").between(0, 1 << 62),
            Attr::opt_int("axis", "Axis along which to repeat; the flattened array when None."),
        ])
        .infer(infer_repeat).nd(&["repeat"]).methods(&["repeat"])
        .grad(&[], |r| r.grad(0, || repeat_grad(r)));
    ROLL = Op::new("roll", "The elements moved along axes; what leaves at one end comes in at the other.", DATA, Body::Kernel(|cx, a, out| {
            let x: &View<'_> = &a.ins[0];
            match rolls(a.attrs, x.shape)? {
                Some(by) => k::roll(cx, x, &by, &out[0]),
                None => k::roll_flat(cx, x, total(a.attrs, x.size), &out[0]),
            }
        }))
        .attrs(&[
            Attr::ints("shift", "How far, for each axis or for all."),
            Attr::opt_ints("axis", "Axes to roll along; the flattened array when None."),
        ])
        .infer(|c, outs| {
            rolls(c.attrs, c.ins[0].shape)?;
            crate::infer::same(c, outs)
        })
        .np(&["roll"])
        .grad(&[], |r| r.grad(0, || {
            let mut back = list(r.attrs(), 0);
            back.iter_mut().for_each(|s| *s = s.checked_neg().unwrap_or(0));
            r.call(&ROLL, &[r.dy()], &[AttrVal::Ints(back), r.attrs()[1]])
        }));
}
