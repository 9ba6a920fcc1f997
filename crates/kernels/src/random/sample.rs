//! Values of a distribution whose parameters are numbers or arrays: for each place of the parameters' common shape, as
//! many values as the output has room for.
use super::blocks::{LANES, Words};
use super::distribution::Distribution;
use super::stream::{READY, Stream, first_blocks};
use crate::convert::copy_view;
use crate::reduce::Sink;
use crate::view::{Cx, Mode, Out, View};
use crate::walk::Walk;
use gluonish_base::{Cause, DType, Dims, Result, pool};

/// Values of one task.
const CHUNK: usize = 1 << 12;

/// The values of an array as float64, repeated over a shape that it broadcasts to.
pub(super) fn values(cx: &Cx, x: &View<'_>, shape: &Dims) -> Result<Vec<f64>> {
    if let Some(number) = x.scalar {
        return Ok(vec![number.as_f64(); shape.size()]);
    }
    let mut values = vec![0f64; shape.size()];
    let (strides, of) = (shape.contiguous_strides(), x.shape.broadcast_strides(x.strides, shape));
    let contiguous = x.contiguous && x.shape == shape;
    let from = View { shape, strides: &of, contiguous, size: values.len(), scalar: None, ..*x };
    let to = View::contiguous(values.as_mut_ptr().cast(), DType::F64, shape, &strides);
    copy_view(cx, &from, &Out { view: to, mode: Mode::Write })?;
    Ok(values)
}

/// The index of element number `at`, as Python writes it.
pub(super) fn position(mut at: usize, shape: &Dims) -> String {
    let mut index = *shape;
    for d in (0..shape.len()).rev() {
        let n = shape[d].max(1) as usize;
        index[d] = (at % n) as isize;
        at /= n;
    }
    index.to_string()
}

/// The parameters, place by place; an error where one is not valid.
fn parameters<D: Distribution>(cx: &Cx, params: &[View<'_>], shape: &Dims) -> Result<Vec<[f64; 2]>> {
    let mut all = vec![[0.0; 2]; shape.size()];
    for (k, view) in params.iter().enumerate() {
        all.iter_mut().zip(values(cx, view, shape)?).for_each(|(p, v)| p[k] = v);
    }
    if let Some((at, k, expected)) =
        all.iter().enumerate().find_map(|(at, p)| D::wrong(*p).map(|(k, expected)| (at, k, expected)))
    {
        let (name, v, place) = (D::NAMES[k], all[at][k], position(at, shape));
        let text = if shape.is_empty() {
            format!("{name}={v} is not valid: expected {expected}")
        } else {
            format!("{name} at position {place} is {v}: expected {expected}")
        };
        return Err(Cause::Value(text).into());
    }
    Ok(all)
}

/// Copies an array whose values are all finite and at least (or above) a bound.
pub fn at_least(cx: &Cx, x: &View<'_>, least: f64, reached: bool, out: &Out<'_>) -> Result {
    let all = values(cx, x, x.shape)?;
    let fits = |v: f64| v.is_finite() && (v > least || reached && v == least);
    if let Some(at) = all.iter().position(|v| !fits(*v)) {
        let bound = if reached { "of at least" } else { "above" };
        let (place, v) = (position(at, x.shape), all[at]);
        let text = format!("the parameter at position {place} is {v}: expected a finite number {bound} {least}");
        return Err(Cause::Value(text).into());
    }
    copy_view(cx, x, out)
}

/// Fills the first output with values whose parameters are arrays of a common shape, with which the output's begins. A
/// second output gets what was drawn before the parameters were applied.
pub fn sample<D: Distribution>(cx: &Cx, params: &[View<'_>], common: &Dims, outs: &[Out<'_>]) -> Result {
    draw::<D>(cx, &parameters::<D>(cx, params, common)?, outs);
    Ok(())
}

/// Fills the output with values whose parameters are numbers, which the caller has checked.
pub fn repeat<D: Distribution>(cx: &Cx, params: [f64; 2], out: &Out<'_>) -> Result {
    draw::<D>(cx, &[params], std::slice::from_ref(out));
    Ok(())
}

fn draw<D: Distribution>(cx: &Cx, params: &[[f64; 2]], outs: &[Out<'_>]) {
    let [out, rest @ ..] = outs else { return };
    let (key, n, dtype) = (cx.ticket.key(), out.view.size, out.view.dtype);
    if n == 0 || params.is_empty() {
        return;
    }
    let each = (n / params.len()).max(1);
    let walk_of = |o: &Out<'_>| Walk::new(o.view.shape, [o.view.strides; 2]).coalesced();
    let (walk, sink) = (walk_of(out), Sink::<f64>::new(out, 0));
    let noise = rest.first().map(|o| (walk_of(o), Sink::<f64>::new(o, 0)));
    pool::run(n.div_ceil(CHUNK), cx.threads, |task| {
        let (from, to) = (task * CHUNK, n.min((task + 1) * CHUNK));
        let mut made = vec![0.0; to - from];
        let mut drawn = vec![0.0; if noise.is_some() { to - from } else { 0 }];
        let mut ready = [Words::default(); READY];
        let mut place = from / each;
        let mut state = D::prepare(params[place], dtype);
        for first in (from..to).step_by(LANES) {
            first_blocks(key, first as u64, &mut ready);
            for i in first..to.min(first + LANES) {
                if i / each != place {
                    place = i / each;
                    state = D::prepare(params[place], dtype);
                }
                let v = D::draw(&state, &mut Stream::new(key, i as u64, &ready));
                made[i - from] = D::finish(&state, v);
                if let Some(to) = drawn.get_mut(i - from) {
                    *to = v;
                }
            }
        }
        // SAFETY: these values are in the output and belong to this task.
        unsafe { sink.put(&walk, from, &made) };
        if let Some((walk, sink)) = &noise {
            // SAFETY: as above; the second output has the first one's shape.
            unsafe { sink.put(walk, from, &drawn) };
        }
    });
}
