//! Connectionist temporal classification: how likely the frames of a sequence are to spell a label, over all ways in which
//! they can. A label of n classes has a path of 2 n + 1 places, a blank before, between and after the classes.
use crate::plain::{Plain, Target, Value, with_value};
use crate::sequence::Lengths;
use crate::view::{Cx, Mode, Out, View};
use crate::walk::Shared;
use gluonish_base::{Cause, DType, Dims, Result, pool};

/// The labels of a batch, without padding.
pub struct Labels {
    each: Vec<Vec<usize>>,
    blank: usize,
    /// Of the longest label that the array can hold.
    places: usize,
}

impl Labels {
    /// From (batch, length) of whole numbers. The blank is class 0, and 0 fills up short labels; or, with `blank_last`, it is
    /// the last class, and -1 fills up. With `lengths`, nothing is filling.
    pub fn read(cx: &Cx, v: &View<'_>, lengths: Option<&Lengths>, classes: usize, blank_last: bool) -> Result<Labels> {
        let (count, most) = (v.shape[0] as usize, v.shape[1] as usize);
        let all = Plain::<f64>::of(cx, v)?;
        let filling = if blank_last { -1.0 } else { 0.0 };
        let (least, end) = if blank_last { (0, classes - 1) } else { (1, classes) };
        let mut each = Vec::with_capacity(count);
        for n in 0..count {
            let mut label = Vec::new();
            for i in 0..lengths.map_or(most, |l| l.get(n)) {
                // SAFETY: an element of the labels.
                let c = unsafe { *all.ptr().add(n * most + i) };
                if lengths.is_none() && c == filling {
                    break;
                }
                if !(c >= least as f64 && c < end as f64 && c.fract() == 0.0) {
                    let text = format!(
                        "label holds {c} at position ({n}, {i}): classes from {least} to {} are allowed",
                        end as isize - 1
                    );
                    return Err(Cause::Value(text).into());
                }
                label.push(c as usize);
            }
            each.push(label);
        }
        Ok(Labels { each, blank: if blank_last { classes - 1 } else { 0 }, places: 2 * most + 1 })
    }

    /// The class of a place of a path.
    fn class(&self, n: usize, place: usize) -> usize {
        if place.is_multiple_of(2) { self.blank } else { self.each[n][place / 2] }
    }
    /// Whether a path may come to a place from two places before: no blank is needed between different classes.
    fn skips(&self, n: usize, place: usize) -> bool {
        place >= 2 && !place.is_multiple_of(2) && self.class(n, place) != self.class(n, place - 2)
    }
}

/// `loss[n]`, and its gradient with respect to `data` (frames, batch, classes). A label that no path can spell costs
/// infinity and has a gradient of 0.
pub fn loss(cx: &Cx, data: &View<'_>, labels: &Labels, frames: &Lengths, loss: &Out<'_>, grad: &Out<'_>) -> Result {
    with_value!(grad.view.dtype, T => {
        let data = Plain::<T>::of(cx, data)?;
        let mut to = Target::<T>::of(grad)?;
        let mut costs = Target::<T>::of(loss)?;
        let (grads, losses) = (Shared(to.ptr()), Shared(costs.ptr()));
        let [steps, batch, classes] = [0, 1, 2].map(|d: usize| grad.view.shape[d] as usize);
        let data = &data;
        pool::run(batch, cx.threads, |n| {
            let row = |t: usize| (t * batch + n) * classes;
            // SAFETY: rows of the data and of the gradient, which belong to this sequence.
            unsafe {
                let read = |t: usize| std::slice::from_raw_parts(data.ptr().add(row(t)), classes);
                let found = sequence::<T>(read, classes, labels, n, frames.get(n));
                for t in 0..steps {
                    for c in 0..classes {
                        let g = found.grads.get(t * classes + c).copied().unwrap_or(0.0);
                        *grads.at((row(t) + c) as isize) = g as T;
                    }
                }
                *losses.at(n as isize) = found.loss as T;
            }
        });
        to.finish(cx)?;
        costs.finish(cx)
    })
}

struct Found {
    loss: f64,
    grads: Vec<f64>,
}

/// `log(exp(a) + exp(b))`, NaN if either is.
fn log_add(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    let (high, low) = if a < b { (b, a) } else { (a, b) };
    if high == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// Forward and backward over the places of one label's path, in logarithms.
fn sequence<'a, T: Value>(
    read: impl Fn(usize) -> &'a [T],
    classes: usize,
    labels: &Labels,
    n: usize,
    frames: usize,
) -> Found {
    const NEVER: f64 = f64::NEG_INFINITY;
    let places = 2 * labels.each[n].len() + 1;
    let mut logs = Vec::with_capacity(frames * classes);
    for t in 0..frames {
        let x = read(t);
        let top = x.iter().fold(NEVER, |m, v| m.max(v.to_f64()));
        let total = x.iter().map(|v| (v.to_f64() - top).exp()).sum::<f64>().ln() + top;
        logs.extend(x.iter().map(|v| v.to_f64() - total));
    }
    let log = |t: usize, s: usize| logs[t * classes + labels.class(n, s)];
    let mut before = vec![NEVER; frames * places];
    for t in 0..frames {
        for s in 0..places {
            let old = |s: usize| before[(t - 1) * places + s];
            let come = match t {
                0 => {
                    if s < 2 {
                        0.0
                    } else {
                        NEVER
                    }
                }
                _ => {
                    let mut sum = old(s);
                    if s > 0 {
                        sum = log_add(sum, old(s - 1));
                    }
                    if labels.skips(n, s) { log_add(sum, old(s - 2)) } else { sum }
                }
            };
            before[t * places + s] = come + log(t, s);
        }
    }
    let end = |s: usize| before[(frames - 1) * places + s];
    let total = if places > 1 { log_add(end(places - 1), end(places - 2)) } else { end(0) };
    let mut grads = vec![0.0; frames * classes];
    if total == NEVER {
        return Found { loss: f64::INFINITY, grads };
    }
    // From a place, its own frame not counted, to the end.
    let mut after = vec![NEVER; places];
    for t in (0..frames).rev() {
        let next = |s: usize, after: &[f64]| after[s] + log(t + 1, s);
        let now: Vec<f64> = (0..places)
            .map(|s| {
                if t + 1 == frames {
                    return if s + 2 >= places { 0.0 } else { NEVER };
                }
                let mut sum = next(s, &after);
                if s + 1 < places {
                    sum = log_add(sum, next(s + 1, &after));
                }
                if s + 2 < places && labels.skips(n, s + 2) { log_add(sum, next(s + 2, &after)) } else { sum }
            })
            .collect();
        let g = &mut grads[t * classes..][..classes];
        for (c, g) in g.iter_mut().enumerate() {
            *g = logs[t * classes + c].exp();
        }
        for s in 0..places {
            g[labels.class(n, s)] -= (before[t * places + s] + now[s] - total).exp();
        }
        after = now;
    }
    Found { loss: -total, grads }
}

/// The paths themselves, for the loss made of differentiable ops: `class` (batch, places) the class of each place, and
/// `flags` (4, batch, places) whether a place belongs to the path, may be reached from two before, may be first, may be
/// last.
pub fn paths(cx: &Cx, labels: &Labels, class: &Out<'_>, flags: &Out<'_>) -> Result {
    let (count, places) = (labels.each.len(), labels.places);
    let mut classes = vec![0i64; count * places];
    let mut marks = vec![0u8; 4 * count * places];
    for n in 0..count {
        let own = 2 * labels.each[n].len() + 1;
        for s in 0..own {
            let at = n * places + s;
            classes[at] = labels.class(n, s) as i64;
            for (k, flag) in [true, labels.skips(n, s), s < 2, s + 2 >= own].into_iter().enumerate() {
                marks[k * count * places + at] = u8::from(flag);
            }
        }
    }
    give(cx, classes.as_mut_ptr().cast(), DType::I64, &[count, places], class)?;
    give(cx, marks.as_mut_ptr(), DType::U8, &[4, count, places], flags)
}

fn give(cx: &Cx, from: *mut u8, dtype: DType, shape: &[usize], out: &Out<'_>) -> Result {
    let mut dims = Dims::EMPTY;
    shape.iter().for_each(|d| dims.push(*d as isize));
    let strides = dims.contiguous_strides();
    let view = View::contiguous(from, dtype, &dims, &strides);
    crate::convert::copy_view(cx, &view, &Out { view: out.view, mode: Mode::Write })
}
