//! Cross-entropy of the softmax of rows: the logarithm of the sum of exponentials is all that is kept of the softmax.
use super::{Real, Target, real_type, total, values, with_real};
use crate::convert::copy_view;
use crate::dispatch::Elem;
use crate::formula::Float;
use crate::index::embedding::{given, position};
use crate::linalg::in_lines;
use crate::map::sweep::Vector;
use crate::map::{Class, Map};
use crate::per_isa;
use crate::registers::sweeps::{Asking, largest, sweep};
use crate::registers::{Body, Registers};
use crate::softmax::row::Powers;
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::isa::isa;
use gluonish_base::{Cause, DType, Result, pool};

static SHARE_OF: Map = crate::map!(float | i, x, sum, factor, less | i.sub(i.mul(factor, i.exp(i.sub(x, sum))), less));

/// Values that one task works on, at least.
const SHARE: usize = 1 << 14;
/// Copies of a single value that the loops of a `Map` want to see.
const REPEAT: usize = crate::map::sweep::REPEAT / 4;

/// How labels are given and what counts.
#[derive(Clone, Copy, Debug)]
pub struct Labels {
    /// A class for each row; else a share of each class.
    pub sparse: bool,
    /// What part of a label goes to all classes alike.
    pub smoothing: f64,
    /// Rows of this label have neither loss nor gradient.
    pub ignored: Option<f64>,
}

/// The classes of rows, `None` for a row that does not count.
fn classes(cx: &Cx, label: &View<'_>, n: usize, how: &Labels) -> Result<Vec<Option<usize>>> {
    let mut given = vec![0f64; label.size];
    let strides = label.shape.contiguous_strides();
    let view = View::contiguous(given.as_mut_ptr().cast(), DType::F64, label.shape, &strides);
    copy_view(cx, label, &Out { view, mode: Mode::Write })?;
    let class = |(at, v): (usize, &f64)| {
        if how.ignored == Some(*v) {
            return Ok(None);
        }
        if v.fract() == 0.0 && (0.0..n as f64).contains(v) {
            return Ok(Some(*v as usize));
        }
        Err(out_of_range(cx, label, at, n))
    };
    given.iter().enumerate().map(class).collect()
}

#[cold]
fn out_of_range(cx: &Cx, label: &View<'_>, at: usize, n: usize) -> gluonish_base::Error {
    let place = position(at, label.shape);
    let given = match given(cx, label, at) {
        Ok(given) => given,
        Err(e) => return e,
    };
    Cause::Key(format!("label {given} at position {place} is not a class: there are {n}, from 0 on")).into()
}

/// The targets of rows.
enum Targets<'a, T> {
    Classes(Vec<Option<usize>>),
    Shares(&'a [T]),
}

/// Calls `f` with the operands in the type that is computed in, and the targets. `ins[label]` holds the labels.
fn with_targets<T: Real>(
    cx: &Cx,
    ins: &[View<'_>],
    label: usize,
    n: usize,
    how: &Labels,
    outs: &[Out<'_>],
    f: impl FnOnce(&[View<'_>], &Targets<'_, T>, &[Out<'_>]) -> Result,
) -> Result {
    let classes = if how.sparse { Some(classes(cx, &ins[label], n, how)?) } else { None };
    let mut ins = ins.to_vec();
    if how.sparse {
        ins[label] = ins[0];
    }
    in_lines(cx, real_type(outs[0].view.dtype), &ins, outs, |ins, outs| {
        let targets = match classes {
            Some(list) => Targets::Classes(list),
            // SAFETY: the operands are without gaps and of this type.
            None => Targets::Shares(unsafe { values::<T>(&ins[label]) }),
        };
        f(ins, &targets, outs)
    })
}

/// The loss of each row and the logarithm of its sum of exponentials. `ins` are rows of length `n`, labels and the classes'
/// weights (or an absent view).
pub fn cross_entropy(cx: &Cx, ins: &[View<'_>], n: usize, how: &Labels, outs: &[Out<'_>]) -> Result {
    with_real!(outs[0].view.dtype, T => {
        with_targets::<T>(cx, ins, 1, n, how, outs, |ins, targets, outs| {
            // SAFETY: the operands are without gaps and of this type.
            let (x, weight) = unsafe { (values::<T>(&ins[0]), values::<T>(&ins[2])) };
            let (loss, sums) = (Target::<T>::new(&outs[0]), Target::<T>::new(&outs[1]));
            let count = outs[0].view.size;
            let each = (SHARE / n.max(1)).max(1);
            let weights = total([weight], |[w]| w);
            pool::run(count.div_ceil(each), cx.threads, |task| {
                let (from, to) = (task * each, count.min((task + 1) * each));
                // SAFETY: each task has rows of its own.
                let (loss, sums) = unsafe { (loss.part(from, to - from), sums.part(from, to - from)) };
                for (k, r) in (from..to).enumerate() {
                    let row = &x[r * n..(r + 1) * n];
                    sums[k] = T::enter(LogSum(row));
                    loss[k] = T::from_f64(match targets {
                        Targets::Classes(list) => match list[r] {
                            None => 0.0,
                            Some(class) => of_class(row, class, weight, weights, sums[k].to_f64(), how.smoothing),
                        },
                        Targets::Shares(t) => of_shares(row, &t[r * n..(r + 1) * n], weight, sums[k], how.smoothing),
                    });
                }
            });
            Ok(())
        })
    })
}

/// `log(sum(exp(row)))`; NaN where the row has one.
struct LogSum<'a, T>(&'a [T]);
impl<T: Real> Body<T> for LogSum<'_, T> {
    type Out = T;
    #[inline(always)]
    fn run<I: Float + Vector<T = T>>(self, i: I) -> T {
        let (row, n) = (self.0.as_ptr(), self.0.len());
        // SAFETY: these are the values of the row; nothing is stored.
        unsafe {
            let top = largest(i, row, n).to_f64();
            let powers = Asking::new(Powers::<I, false> { top: i.c(top) }, [row], [n as isize]);
            let [sum] = sweep(i, [row], std::ptr::null_mut(), n, powers);
            T::from_f64(top + sum.ln())
        }
    }
}

per_isa! {
    fn added[T: Real](x: &[T]) -> f64 {
        total([x], |[v]| v)
    }
}

/// The loss of one row whose class is known.
fn of_class<T: Real>(row: &[T], class: usize, weight: &[T], weights: f64, sum: f64, smoothing: f64) -> f64 {
    let of = |i: usize| weight.get(i).map_or(1.0, |w| w.to_f64());
    let own = of(class) * (sum - row[class].to_f64());
    if smoothing == 0.0 {
        return own;
    }
    let all = if weight.is_empty() { sum * row.len() as f64 - added(row) } else { sum * weights - dot(row, weight) };
    (1.0 - smoothing) * own + smoothing / row.len() as f64 * all
}

per_isa! {
    fn dot[T: Real](a: &[T], b: &[T]) -> f64 {
        total([a, b], |[a, b]| a * b)
    }
}

per_isa! {
    /// The loss of one row whose classes have shares.
    fn of_shares[T: Real](row: &[T], shares: &[T], weight: &[T], sum: T, smoothing: f64) -> f64 {
        let (own, all) = (T::from_f64(1.0 - smoothing), T::from_f64(smoothing / row.len().max(1) as f64));
        if weight.is_empty() {
            return total([row, shares], |[x, t]| (own * t + all) * (sum - x));
        }
        total([row, shares, weight], |[x, t, w]| w * (own * t + all) * (sum - x))
    }
}

/// The gradient of the rows. `ins` are the gradient of the losses, the rows, labels, the logarithms of the sums, and the
/// classes' weights (or an absent view).
pub fn cross_entropy_grad(cx: &Cx, ins: &[View<'_>], n: usize, how: &Labels, outs: &[Out<'_>]) -> Result {
    if outs[0].view.size == 0 {
        return Ok(());
    }
    with_real!(outs[0].view.dtype, T => {
        with_targets::<T>(cx, ins, 2, n, how, outs, |ins, targets, outs| {
            // SAFETY: the operands are without gaps and of this type.
            let [dy, x, _, sums, weight] = std::array::from_fn(|k| unsafe { values::<T>(&ins[k]) });
            let dx = Target::<T>::new(&outs[0]);
            let count = x.len() / n;
            let each = (SHARE / n).max(1);
            let (own, all) = (1.0 - how.smoothing, how.smoothing / n as f64);
            let weights = if weight.is_empty() { n as f64 } else { added(weight) };
            pool::run(count.div_ceil(each), cx.threads, |task| {
                for r in task * each..count.min((task + 1) * each) {
                    // SAFETY: each task has rows of its own.
                    let dx = unsafe { dx.part(r * n, n) };
                    let row = &x[r * n..(r + 1) * n];
                    let g = dy[r].to_f64();
                    match targets {
                        Targets::Classes(list) => {
                            let Some(class) = list[r] else {
                                dx.fill(T::default());
                                continue;
                            };
                            let w = weight.get(class).map_or(1.0, |w| w.to_f64());
                            // Without weights what goes to all classes is the same number everywhere.
                            let less = if weight.is_empty() { g * all } else { 0.0 };
                            shares(row, sums[r], T::from_f64(g * (own * w + all * weights)), T::from_f64(less), dx);
                            if !weight.is_empty() && all != 0.0 {
                                let part = T::from_f64(g * all);
                                dx.iter_mut().zip(weight).for_each(|(d, w)| *d -= *w * part);
                            }
                            dx[class] -= T::from_f64(g * own * w);
                        }
                        Targets::Shares(t) => {
                            let t = &t[r * n..(r + 1) * n];
                            let whole = if weight.is_empty() {
                                own * added(t) + how.smoothing
                            } else {
                                own * dot(t, weight) + all * weights
                            };
                            shares(row, sums[r], T::from_f64(g * whole), T::default(), dx);
                            let (own, all) = (T::from_f64(g * own), T::from_f64(g * all));
                            if weight.is_empty() {
                                dx.iter_mut().zip(t).for_each(|(d, t)| *d -= own * *t + all);
                            } else {
                                dx.iter_mut().zip(t).zip(weight).for_each(|((d, t), w)| *d -= *w * (own * *t + all));
                            }
                        }
                    }
                }
            });
            Ok(())
        })
    })
}

/// `dx = factor * softmax(row) - less`.
fn shares<T: Real>(row: &[T], sum: T, factor: T, less: T, dx: &mut [T]) {
    let singles = [sum, factor, less].map(|v| [v; REPEAT]);
    let Some(run) = SHARE_OF.get(Class::of(T::DTYPE), isa()) else { return };
    let ins: [*const u8; 4] =
        [row.as_ptr().cast(), singles[0].as_ptr().cast(), singles[1].as_ptr().cast(), singles[2].as_ptr().cast()];
    // SAFETY: the loop fits the machine; the row and the result are as long, single values are repeated.
    unsafe { run(dx.as_mut_ptr().cast(), ins.as_ptr(), 1, row.len()) };
}
