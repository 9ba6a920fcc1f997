//! Counting and searching among ordered values.
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Grad, Input, Meta, Op, input, optional, rows, x};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::{View, bins as k};

const SIDES: &[&str] = &["left", "right"];
const RIGHT: u8 = 1;

const SORTED: &[Input] = &[input("a"), input("v")];
const EDGES: &[Input] = &[input("data"), input("edges")];
const COUNTED: &[Input] = &[input("indices"), optional("weights")];

/// Refuses what is no vector, and numbers, whose type nobody said.
fn vector(v: &View<'_>, what: &str) -> Result {
    if v.shape.len() == 1 && v.scalar.is_none() {
        return Ok(());
    }
    Err(Cause::Shape(format!("{what} must be a vector, got shape {}", v.shape)).into())
}

/// Whether an optional input is there: one that is not has no elements and no axes.
fn given(v: &View<'_>) -> bool {
    v.size > 0 || !v.shape.is_empty()
}

fn array(v: &View<'_>, what: &str) -> Result {
    if v.scalar.is_none() {
        Ok(())
    } else {
        Err(Cause::Argument(format!("{what} must be an array, not a number")).into())
    }
}

rows! {
    SEARCHSORTED = Op::new("_searchsorted", "Where values belong in an ordered vector.", SORTED, Body::Kernel(|cx, a, out| {
            k::search(cx, &a.ins[0], &a.ins[1], a.attrs.choice(0) == RIGHT, &out[0])
        }))
        .attrs(&[Attr::choice("side", SIDES, 0, "Before or after those that are equal.")])
        .infer(|c, outs| {
            vector(&c.ins[0], "the ordered values")?;
            array(&c.ins[1], "what is searched for")?;
            outs.push(Meta { shape: *c.ins[1].shape, dtype: DType::I64 });
            Ok(())
        })
        .cost(Cost::Bytes(40.0)).internal().no_grad(Grad::Zero);
    HISTOGRAM = Op::new("_histogram", "How many elements lie between neighbouring edges.", EDGES, Body::Kernel(|cx, a, out| {
            k::histogram(cx, &a.ins[0], &a.ins[1], a.attrs.bool(0), &out[0])
        }))
        .attrs(&[Attr::bool("even", false, "The edges are evenly spaced.")])
        .infer(|c, outs| {
            array(&c.ins[0], "data")?;
            vector(&c.ins[1], "the edges")?;
            let n = c.ins[1].shape[0];
            if n < 2 {
                return Err(Cause::Shape(format!("at least two edges are needed, got {n}")).into());
            }
            outs.push(Meta { shape: Dims::of(&[n - 1]), dtype: DType::I64 });
            Ok(())
        })
        .cost(Cost::Bytes(20.0)).internal().no_grad(Grad::Zero);
    BINCOUNT = Op::new("_bincount", "How often each number from 0 on occurs, or the sum of the weights where it does.", COUNTED, Body::Kernel(|_, a, out| {
            k::bincount(&a.ins[0], a.ins.get(1).filter(|w| given(w)), &out[0])
        }))
        .attrs(&[Attr::int_required("n", "How many numbers.").at_least(0)])
        .infer(|c, outs| {
            let v = &c.ins[0];
            vector(v, "the numbers")?;
            if v.dtype.is_float() {
                return Err(Cause::DType(format!("the numbers must be integers, got {}; use astype()", v.dtype)).into());
            }
            let weights = c.ins.get(1).filter(|w| given(w));
            if let Some(w) = weights && (w.shape != v.shape || w.scalar.is_some()) {
                return Err(Cause::Shape(format!("weights of shape {} for numbers of shape {}: they must be equal", w.shape, v.shape)).into());
            }
            let dtype = weights.map_or(DType::I64, |w| w.dtype.to_float());
            outs.push(Meta { shape: Dims::of(&[c.attrs.int(0) as isize]), dtype });
            Ok(())
        })
        .cost(Cost::Bytes(20.0)).internal()
        .grad(&[x(0)], |r| r.grad(1, || {
            r.cast(r.call(&crate::rows::TAKE_OP, &[r.dy(), r.x(0)], &[gluonish_kernels::AttrVal::Int(0), gluonish_kernels::AttrVal::Choice(0)]), r.input(1).dtype)
        }));
}
