//! Fourier transforms in MXNet's layout, and sketches.
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Input, Meta, Metas, Op, input, rows};
use crate::infer::require_float;
use crate::rows::TAKE_GRAD;
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::{AttrVal, fft as k};

const SKETCH: &[Input] = &[input("data"), input("h"), input("s")];
const ROWS_AT_ONCE: Attr = Attr::int("compute_size", 128, "Rows that one thread transforms at a time.").at_least(1);
/// What positions out of range mean to `take`: an error.
const RAISE: u8 = 2;

fn transformed(c: &Call<'_>, outs: &mut Metas, size: impl Fn(isize) -> Option<isize>) -> Result {
    let v = &c.ins[0];
    require_float(v, "the data")?;
    let mut shape = *v.shape;
    match shape.last_mut().and_then(|n| size(*n).map(|m| *n = m)) {
        Some(()) => outs.push(Meta { shape, dtype: v.dtype }),
        None => {
            let text = "a last axis of pairs (real and imaginary parts) is needed";
            return Err(Cause::Shape(format!("{text}, got shape {}", v.shape)).into());
        }
    }
    Ok(())
}

fn cost(c: &Call<'_>, _: &[Meta]) -> u64 {
    let n = c.ins[0].shape.last().copied().unwrap_or(1).max(2) as u64;
    c.ins[0].size as u64 * u64::from(n.ilog2() + 2) / 2
}

/// Column j of the data, times s[j], is added to column h[j] of the result.
fn count_sketch(r: &Rule<'_>, ins: &[V]) -> V {
    let (shape, out_dim) = (r.shape(ins[0]), r.attrs().int(0) as isize);
    let features = shape.last().copied().unwrap_or(0);
    let flat = |v: V| {
        let s = r.shape(v);
        let fits = s.last() == Some(&features) && s.size() as isize == features;
        if !fits || shape.is_empty() {
            let text = format!("h and s need one value for each of the features of shape {shape}, got shape {s}");
            r.0.fail(Cause::Shape(text).into());
        }
        if fits { r.reshape(v, Dims::of(&[features])) } else { v }
    };
    let (h, s) = (flat(ins[1]), flat(ins[2]));
    let mut to = shape;
    if let Some(last) = to.last_mut() {
        *last = out_dim;
    }
    let attrs = [AttrVal::Int(shape.len() as i64 - 1), AttrVal::Choice(RAISE), AttrVal::Ints(to)];
    r.call(&TAKE_GRAD, &[r.mul(ins[0], s), h], &attrs)
}

rows! {
    FFT = Op::new("fft", "The Fourier transform of the last axis; real and imaginary parts are neighbours.", DATA, Body::Kernel(|cx, a, out| k::forward(cx, &a.ins[0], a.attrs.int(0) as usize, &out[0])))
        .attrs(&[ROWS_AT_ONCE]).cost(Cost::Of(cost)).nd(&["contrib.fft"])
        .infer(|c, outs| transformed(c, outs, |n| n.checked_mul(2)))
        .grad(&[], |r| r.grad(0, || r.call(&IFFT, &[r.dy()], r.attrs())));
    IFFT = Op::new("ifft", "The real part of the back transform of the last axis, without the factor 1 / n.", DATA, Body::Kernel(|cx, a, out| k::backward(cx, &a.ins[0], a.attrs.int(0) as usize, &out[0])))
        .attrs(&[ROWS_AT_ONCE]).cost(Cost::Of(cost)).nd(&["contrib.ifft"])
        .infer(|c, outs| transformed(c, outs, |n| (n % 2 == 0).then_some(n / 2)))
        .grad(&[], |r| r.grad(0, || r.call(&FFT, &[r.dy()], r.attrs())));
    COUNT_SKETCH = Op::new("count_sketch", "Features are added up, with signs `s`, at the positions `h` of a shorter vector.", SKETCH, Body::Compose(count_sketch))
        .attrs(&[Attr::int_required("out_dim", "Length of the sketch.").at_least(1)])
        .nd(&["contrib.count_sketch"]);
}
