//! Sequences of different lengths in one array.
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, Input, Meta, Metas, Op, input, optional, rows, x};
use crate::infer::reduced;
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::sequence::{self as k, Lengths};
use gluonish_kernels::{AttrVal, Attrs, View};

pub(crate) const USE_LENGTH: Attr =
    Attr::bool("use_sequence_length", false, "Whether `sequence_length` says how many steps of each sequence count.");
const AXIS: Attr =
    Attr::int("axis", 0, "The axis of the steps: 0 or 1; the other one is that of the sequences.").between(0, 1);
const INPUTS: &[Input] = &[input("data"), optional("sequence_length")];
const GRADIENT: &[Input] = &[input("dy"), optional("sequence_length")];
const USE: usize = 0;
/// Of the rows with a value.
const VALUE: usize = 1;

/// An optional input, where it is there.
pub(crate) fn given<'a>(ins: &'a [View<'a>], i: usize) -> Option<&'a View<'a>> {
    ins.get(i).filter(|v| v.scalar.is_some() || !v.is_absent())
}

/// An optional vector that must be given exactly where an attribute says so, with one number for each of `count`.
pub(crate) fn check_vector(ins: &[View<'_>], i: usize, name: &str, flag: &str, wanted: bool, count: isize) -> Result {
    match (given(ins, i), wanted) {
        (None, false) => Ok(()),
        (None, true) => Err(Cause::Argument(format!("{flag}=True needs the input {name}")).into()),
        (Some(_), false) => Err(Cause::Argument(format!("{name} is given, but {flag} is False")).into()),
        (Some(v), true) => {
            let fits =
                v.scalar.is_none() && v.shape.len() == 1 && (v.shape[0] == count || v.shape[0] == -1 || count == -1);
            if fits {
                return Ok(());
            }
            let text = format!("{name} must have shape ({count},), one number for each sequence, got {}", v.shape);
            Err(Cause::Shape(text).into())
        }
    }
}

/// The axis of the steps, of data with `least` axes at least.
fn steps(c: &Call<'_>, at: usize, least: usize) -> Result<usize> {
    let v = &c.ins[0];
    if v.shape.len() < least || v.scalar.is_some() {
        return Err(Cause::Shape(format!("data of shape {} must have at least {least} axes", v.shape)).into());
    }
    Ok(c.attrs.int(at) as usize)
}
fn infer_same(c: &Call<'_>, outs: &mut Metas, at: usize) -> Result {
    let axis = steps(c, at, 2)?;
    check_vector(c.ins, 1, "sequence_length", "use_sequence_length", c.attrs.bool(USE), c.ins[0].shape[1 - axis])?;
    outs.push(Meta { shape: *c.ins[0].shape, dtype: c.ins[0].dtype });
    Ok(())
}
fn infer_last(c: &Call<'_>, outs: &mut Metas) -> Result {
    infer_same(c, outs, 1)?;
    let axis = c.attrs.int(1) as usize;
    if outs[0].shape[axis] == 0 {
        return Err(Cause::Shape(format!("data of shape {} has no last step", outs[0].shape)).into());
    }
    outs[0].shape = reduced(&outs[0].shape, 1 << axis, false);
    Ok(())
}
fn infer_put(c: &Call<'_>, outs: &mut Metas) -> Result {
    let axis = steps(c, 1, 1)?;
    check_vector(c.ins, 1, "sequence_length", "use_sequence_length", c.attrs.bool(USE), c.ins[0].shape[0])?;
    let mut shape = Dims::EMPTY;
    for (i, d) in c.ins[0].shape.iter().enumerate() {
        if i == axis {
            shape.push(c.attrs.int(2) as isize);
        }
        shape.push(*d);
    }
    if shape.len() == 1 {
        shape.push(c.attrs.int(2) as isize);
    }
    outs.push(Meta { shape, dtype: c.ins[0].dtype });
    Ok(())
}

/// The lengths of a call, where `shape` is that of the steps and sequences.
fn lengths(ins: &[View<'_>], shape: &Dims, axis: usize, least: usize) -> Result<Lengths> {
    let (steps, count) = (shape[axis] as usize, shape[1 - axis] as usize);
    match given(ins, 1) {
        Some(v) => Lengths::read("sequence_length", v, least, steps),
        None => Ok(Lengths::all(steps, count)),
    }
}

fn length_of(r: &Rule<'_>) -> V {
    if r.attrs().bool(USE) { r.x(1) } else { V::Absent }
}
fn value_attrs(a: &Attrs, value: f64) -> [AttrVal; 3] {
    [a[USE], AttrVal::Float(value), a[2]]
}

rows! {
    SEQUENCE_MASK = Op::new("SequenceMask", "The sequences with a value in place of what is behind their ends; a length beyond the steps is refused.", INPUTS, Body::Kernel(|cx, a, out| {
            let axis = a.attrs.int(2) as usize;
            let lengths = lengths(a.ins, a.ins[0].shape, axis, 0)?;
            k::mask(cx, &a.ins[0], &lengths, axis, a.attrs.float(VALUE).into(), &out[0])
        }))
        .attrs(&[USE_LENGTH, Attr::float("value", 0.0, "What stands behind the ends."), AXIS])
        .infer(|c, outs| infer_same(c, outs, 2)).cost(Cost::Bytes(2.0)).nd(&["SequenceMask"])
        .grad(&[x(1)], |r| r.grad(0, || r.call(&SEQUENCE_MASK, &[r.dy(), length_of(r)], &value_attrs(r.attrs(), 0.0))));
    SEQUENCE_REVERSE = Op::new("SequenceReverse", "Each sequence backwards; what is behind its end stays. A length beyond the steps is refused.", INPUTS, Body::Kernel(|cx, a, out| {
            let axis = a.attrs.int(1) as usize;
            k::reverse(cx, &a.ins[0], &lengths(a.ins, a.ins[0].shape, axis, 0)?, axis, &out[0])
        }))
        .attrs(&[USE_LENGTH, AXIS]).infer(|c, outs| infer_same(c, outs, 1)).cost(Cost::Bytes(2.0)).nd(&["SequenceReverse"])
        .grad(&[x(1)], |r| r.grad(0, || r.call(&SEQUENCE_REVERSE, &[r.dy(), length_of(r)], r.attrs())));
    SEQUENCE_LAST = Op::new("SequenceLast", "The last step of each sequence; lengths from 1 to the number of steps are allowed.", INPUTS, Body::Kernel(|cx, a, out| {
            let axis = a.attrs.int(1) as usize;
            k::last(cx, &a.ins[0], &lengths(a.ins, a.ins[0].shape, axis, 1)?, axis, &out[0])
        }))
        .attrs(&[USE_LENGTH, AXIS]).infer(infer_last).cost(Cost::Bytes(1.0)).nd(&["SequenceLast"])
        .grad(&[x(1)], |r| r.grad(0, || {
            let a = r.attrs();
            let size = r.input(0).shape[a.int(1) as usize] as i64;
            r.call(&SEQUENCE_PUT, &[r.dy(), length_of(r)], &[a[0], a[1], AttrVal::Int(size)])
        }));
    SEQUENCE_PUT = Op::new("_sequence_last_grad", "Zeros with each row at the last step of its sequence.", GRADIENT, Body::Kernel(|cx, a, out| {
            let axis = a.attrs.int(1) as usize;
            k::put_last(cx, &a.ins[0], &lengths(a.ins, out[0].view.shape, axis, 1)?, axis, &out[0])
        }))
        .attrs(&[USE_LENGTH, AXIS, Attr::int("size", 1, "Number of steps.").at_least(1)])
        .infer(infer_put).cost(Cost::Bytes(1.0)).internal()
        .grad(&[x(1)], |r| r.grad(0, || r.call(&SEQUENCE_LAST, &[r.dy(), length_of(r)], &r.attrs()[..2])));
}
