//! Values repeated over a larger shape, without a copy.
use super::{list, misfit, view};
use crate::attr::{Attr, axes, axis};
use crate::def::{Body, LHS_RHS, Layout, Op, Viewed, rows};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::{Attrs, View};

/// The values repeated over `to`, as a view.
fn spread(v: &View<'_>, to: Dims) -> Result<Viewed> {
    if v.shape.broadcast(&to) != Some(to) {
        return Err(Cause::Shape(format!("cannot broadcast {} to {to}", v.shape)).into());
    }
    if to.checked_size().is_none() {
        return Err(Cause::Shape(format!(
            "cannot broadcast {} to {to}: a dimension is negative or the size overflows",
            v.shape
        ))
        .into());
    }
    Ok(Viewed::As(Layout { shape: to, strides: v.shape.broadcast_strides(v.strides, &to), offset: 0 }))
}

/// The shape with the sizes of some axes, which must be 1, replaced.
fn widened(a: &Attrs, shape: &Dims) -> Result<Dims> {
    let (at, sizes) = (list(a, 0), list(a, 1));
    if at.len() != sizes.len() {
        return Err(Cause::Argument(format!("axis {at} and size {sizes} must name as many axes")).into());
    }
    axes(Some(&at), false, shape)?;
    let mut to = *shape;
    for (&d, &n) in at.iter().zip(sizes.iter()) {
        let d = axis(d as i64, shape)?;
        if shape[d] != 1 {
            return Err(misfit(format!("axis {d} of shape {shape} has size {}: only 1 can be repeated", shape[d])));
        }
        to[d] = n;
    }
    Ok(to)
}

fn broadcast_like(r: &Rule<'_>, x: &[V]) -> Result<V> {
    let (from, like) = (r.shape(x[0]), r.shape(x[1]));
    let to = match (r.attrs().ints(0), r.attrs().ints(1)) {
        (None, None) => like,
        (Some(l), Some(k)) if l.len() == k.len() => {
            let mut to = from;
            for (&d, &e) in l.iter().zip(k.iter()) {
                to[axis(d as i64, &from)?] = like[axis(e as i64, &like)?];
            }
            to
        }
        _ => return Err(Cause::Argument("lhs_axes and rhs_axes belong together, with as many axes each".into()).into()),
    };
    Ok(r.broadcast_to(x[0], to))
}

rows! {
    BROADCAST_TO = view("_np_broadcast_to", "The values repeated over a larger shape, without a copy.", |v, a, _| spread(v, list(a, 0)))
        .attrs(&[Attr::ints("shape", "The shape to reach.")]).np(&["broadcast_to"]).onnx("Expand")
        .grad(&[], |r| r.grad(0, || r.dy()));
    BROADCAST_CODES = view("broadcast_to", "The values repeated over a larger shape, without a copy; 0 keeps a dimension.", |v, a, _| {
            let mut to = list(a, 0);
            let lead = to.len().saturating_sub(v.shape.len());
            (lead..to.len()).for_each(|i| if to[i] == 0 { to[i] = v.shape[i - lead] });
            spread(v, to)
        })
        .attrs(&[Attr::ints("shape", "The shape to reach.")]).nd(&["broadcast_to"]).methods(&["broadcast_to"])
        .grad(&[], |r| r.grad(0, || r.dy()));
    BROADCAST_AXIS = view("broadcast_axis", "The values repeated along axes of size 1, without a copy.", |v, a, _| spread(v, widened(a, v.shape)?))
        .attrs(&[Attr::ints("axis", "Axes to repeat along."), Attr::ints("size", "The size of each of them.")])
        .nd(&["broadcast_axis", "broadcast_axes"]).methods(&["broadcast_axes"])
        .grad(&[], |r| r.grad(0, || r.dy()));
    BROADCAST_LIKE = Op::new("broadcast_like", "The first array repeated over the shape of the second, or over some of its axes, without a copy.",
            LHS_RHS, Body::Compose(|r, x| r.ok(broadcast_like(r, x))))
        .attrs(&[
            Attr::opt_ints("lhs_axes", "Axes of the first array that are repeated; all when None."),
            Attr::opt_ints("rhs_axes", "Axes of the second that say how large they become; all when None."),
        ]).nd(&["broadcast_like"]).methods(&["broadcast_like"]);
}
