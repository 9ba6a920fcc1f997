//! Ops that move values or look at them differently: views where the layout allows it.
pub(crate) mod axes;
pub(crate) mod broadcast;
pub(crate) mod cast;
mod codes;
pub(crate) mod diagonal;
pub(crate) mod join;
pub(crate) mod pad;
pub(crate) mod repeat;
pub(crate) mod shape;
pub(crate) mod slice;

pub use axes::*;
pub use broadcast::*;
pub use cast::*;
pub use diagonal::*;
pub use join::*;
pub use pad::*;
pub use repeat::*;
pub use shape::*;
pub use slice::*;

use crate::cost::Cost;
use crate::def::{Body, DATA, Input, InputKind, Layout, Op, Viewed};
use gluonish_base::{Cause, Dims, Error, Result};
use gluonish_kernels::{Attrs, Out, View};

/// Any number of arrays.
const ALL: &[Input] = &[Input { name: "data", kind: InputKind::Variadic }];

/// A row whose outputs share the input's memory.
const fn view(name: &'static str, doc: &'static str, f: fn(&View<'_>, &Attrs, usize) -> Result<Viewed>) -> Op {
    Op::new(name, doc, DATA, Body::View(f)).cost(Cost::Free)
}

/// An error of shapes.
fn misfit(text: String) -> Error {
    Cause::Shape(text).into()
}

/// The attribute at `i` as a list; empty where it is absent.
fn list(a: &Attrs, i: usize) -> Dims {
    a.ints(i).copied().unwrap_or_default()
}

/// The numbers of the axes, in order.
fn in_order(ndim: usize) -> Dims {
    let mut d = Dims::filled(ndim, 0);
    d.iter_mut().zip(0..).for_each(|(a, i)| *a = i);
    d
}

/// The part of `out` that a layout names, as a view to write to.
fn target<'a>(out: &Out<'a>, l: &'a Layout) -> Out<'a> {
    Out { view: out.view.part(&l.shape, &l.strides, l.offset), mode: out.mode }
}
