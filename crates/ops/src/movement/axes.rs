//! Axes in another order or direction.
use super::{in_order, list, misfit, view};
use crate::attr::{Attr, axes, axis};
use crate::cost::Cost;
use crate::def::{Body, Input, Layout, Op, Viewed, input, rows};
use gluonish_base::{Dims, Result};
use gluonish_kernels::{Attrs, View};

const TENSOR: &[Input] = &[input("tensor")];

/// Axes in reverse when none are given; else each once.
fn permutation(a: &Attrs, shape: &Dims) -> Result<Dims> {
    let n = shape.len();
    let Some(given) = a.ints(0).filter(|p| !p.is_empty() || n == 0) else {
        let mut p = Dims::filled(n, 0);
        (0..n).for_each(|i| p[i] = (n - 1 - i) as isize);
        return Ok(p);
    };
    if given.len() != n {
        return Err(misfit(format!("axes {given} do not fit an array of shape {shape}")));
    }
    axes(Some(given), false, shape)?;
    let mut p = *given;
    p.iter_mut().for_each(|d| *d = if *d < 0 { *d + n as isize } else { *d });
    Ok(p)
}

fn permuted(v: &View<'_>, p: &Dims) -> Viewed {
    let (mut shape, mut strides) = (*v.shape, *v.strides);
    for (i, &s) in p.iter().enumerate() {
        shape[i] = v.shape[s as usize];
        strides[i] = v.strides[s as usize];
    }
    Viewed::As(Layout { shape, strides, offset: 0 })
}

fn inverse(p: &Dims) -> Dims {
    let mut q = *p;
    p.iter().enumerate().for_each(|(i, &s)| q[s as usize] = i as isize);
    q
}

/// The permutation that brings the axes `source` to the places `destination`; the others keep their order.
fn moved(source: &Dims, destination: &Dims, shape: &Dims) -> Result<Dims> {
    if source.len() != destination.len() {
        return Err(misfit(format!("source {source} and destination {destination} name a different number of axes")));
    }
    let gone = axes(Some(source), false, shape)?;
    axes(Some(destination), false, shape)?;
    let mut rest = (0..shape.len()).filter(|d| gone >> d & 1 == 0);
    let mut order = in_order(shape.len());
    for (to, place) in order.iter_mut().enumerate() {
        let from = (0..source.len()).find(|i| shape.axis(destination[*i]) == Some(to));
        let from = from.and_then(|i| shape.axis(source[i])).or_else(|| rest.next());
        *place = from.unwrap_or(to) as isize;
    }
    Ok(order)
}

fn flipped(v: &View<'_>, a: &Attrs) -> Result<Viewed> {
    let set = axes(a.ints(0), false, v.shape)?;
    let mut l = Layout { shape: *v.shape, strides: *v.strides, offset: 0 };
    for d in (0..v.shape.len()).filter(|d| set >> d & 1 == 1) {
        l.offset += (v.shape[d] - 1).max(0) * v.strides[d];
        l.strides[d] = -v.strides[d];
    }
    Ok(Viewed::As(l))
}

rows! {
    TRANSPOSE = view("transpose", "The axes in another order; reversed when none is given.", |v, a, _| Ok(permuted(v, &permutation(a, v.shape)?)))
        .attrs(&[Attr::opt_ints("axes", "The order of the axes.").spread()])
        .nd(&["transpose"]).np(&["transpose"]).methods(&["transpose"]).onnx("Transpose")
        .grad(&[], |r| r.grad(0, || {
            let p = permutation(r.attrs(), &r.input(0).shape).unwrap_or_default();
            r.transpose(r.dy(), inverse(&p))
        }));
    SWAPAXES = view("swapaxes", "Two axes exchanged.", |v, a, _| {
            let (i, j) = (axis(a.int(0), v.shape)?, axis(a.int(1), v.shape)?);
            let (mut shape, mut strides) = (*v.shape, *v.strides);
            shape.swap(i, j);
            strides.swap(i, j);
            Ok(Viewed::As(Layout { shape, strides, offset: 0 }))
        })
        .attrs(&[Attr::int("dim1", 0, "The first axis.").np_name("axis1"), Attr::int("dim2", 0, "The second axis.").np_name("axis2")])
        .nd(&["swapaxes", "SwapAxis"]).np(&["swapaxes"]).methods(&["swapaxes"])
        .grad(&[], |r| r.grad(0, || r.call(&SWAPAXES, &[r.dy()], r.attrs())));
    MOVEAXIS = Op::new("moveaxis", "Some axes at other places; the rest keep their order.", TENSOR, Body::View(|v, a, _| {
            Ok(permuted(v, &moved(&list(a, 0), &list(a, 1), v.shape)?))
        })).cost(Cost::Free)
        .attrs(&[Attr::ints("source", "The axes to move."), Attr::ints("destination", "Where each of them stands then.")])
        .nd(&["moveaxis"]).np(&["moveaxis"]).np_inputs(&["a"])
        .grad(&[], |r| r.grad(0, || r.call(&MOVEAXIS, &[r.dy()], &[r.attrs()[1], r.attrs()[0]])));
    FLIP = view("flip", "The elements of some axes in reverse order.", |v, a, _| flipped(v, a))
        .attrs(&[Attr::opt_ints("axis", "Axes to reverse; all when None.")])
        .nd(&["flip", "reverse"]).np(&["flip"]).np_inputs(&["m"]).methods(&["flip"])
        .grad(&[], |r| r.grad(0, || r.call(&FLIP, &[r.dy()], r.attrs())));
}
