//! Sequences of different lengths in one array: the first two axes are the steps and the sequences, in either order.
//! Everything is copies of parts, so any type and any strides will do.
use crate::convert::{cast_fn, copy_view, fill};
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{Cause, DType, Dims, Result, Scalar, pool};
use std::sync::OnceLock;

/// How many steps of each sequence count.
pub struct Lengths(Vec<usize>);

impl Lengths {
    /// All steps of all sequences.
    pub fn all(steps: usize, count: usize) -> Lengths {
        Lengths(vec![steps; count])
    }

    /// From a vector of whole numbers, of any type, from `least` to `steps`; `what` names it in the error.
    pub fn read(what: &str, v: &View<'_>, least: usize, steps: usize) -> Result<Lengths> {
        let mut all = vec![0f64; v.size];
        let stride = v.strides.first().copied().unwrap_or(1);
        // SAFETY: the view has that many elements, so far apart.
        unsafe { cast_fn(v.dtype, DType::F64)(all.as_mut_ptr().cast(), 1, v.ptr, stride, v.size) };
        let fits = |n: f64| n >= least as f64 && n <= steps as f64 && n.fract() == 0.0;
        if let Some((i, n)) = all.iter().enumerate().find(|(_, n)| !fits(**n)) {
            let text = format!("{what} holds {n} at position {i}: whole numbers from {least} to {steps} are needed");
            return Err(Cause::Value(text).into());
        }
        Ok(Lengths(all.into_iter().map(|n| n as usize).collect()))
    }

    pub fn get(&self, i: usize) -> usize {
        self.0[i]
    }
    pub fn as_slice(&self) -> &[usize] {
        &self.0
    }
}

/// Steps `from..from + count` of one sequence, in order or backwards.
struct Part {
    shape: Dims,
    strides: Dims,
    offset: isize,
}

impl Part {
    fn of(v: &View<'_>, axis: usize, sequence: usize, from: usize, count: usize, backwards: bool) -> Part {
        let (mut shape, mut strides) = (*v.shape, *v.strides);
        let mut offset = sequence as isize * strides[1 - axis];
        shape[1 - axis] = 1;
        shape[axis] = count as isize;
        offset += (if backwards { from + count.max(1) - 1 } else { from }) as isize * strides[axis];
        if backwards {
            strides[axis] = -strides[axis];
        }
        Part { shape, strides, offset }
    }
    fn view<'a>(&'a self, v: &View<'_>) -> View<'a> {
        v.part(&self.shape, &self.strides, self.offset)
    }
}

/// Operands that threads share: they write disjoint sequences.
struct Job<'a> {
    x: &'a View<'a>,
    out: &'a Out<'a>,
    axis: usize,
}
// SAFETY: threads read the input and write disjoint sequences of the output, which outlive the call.
unsafe impl Sync for Job<'_> {}

impl Job<'_> {
    /// Calls `f` for each sequence.
    fn each(&self, cx: &Cx, f: impl Fn(&Cx, &Self, usize) -> Result + Sync) -> Result {
        let failed = OnceLock::new();
        let alone = Cx { threads: 1, ..*cx };
        pool::run(self.out.view.shape[1 - self.axis] as usize, cx.threads, |i| {
            if let Err(e) = f(&alone, self, i) {
                let _ = failed.set(e);
            }
        });
        failed.into_inner().map_or(Ok(()), Err)
    }

    /// Copies steps of a sequence, in order or backwards.
    fn copy(&self, cx: &Cx, i: usize, from: usize, count: usize, backwards: bool) -> Result {
        let (x, y) = (
            Part::of(self.x, self.axis, i, from, count, backwards),
            Part::of(&self.out.view, self.axis, i, from, count, false),
        );
        copy_view(cx, &x.view(self.x), &Out { view: y.view(&self.out.view), mode: self.out.mode })
    }

    fn steps(&self) -> usize {
        self.out.view.shape[self.axis] as usize
    }
}

/// The sequences with `value` in place of what is behind their ends.
pub fn mask(cx: &Cx, x: &View<'_>, lengths: &Lengths, axis: usize, value: Scalar, out: &Out<'_>) -> Result {
    Job { x, out, axis }.each(cx, |cx, job, i| {
        let n = lengths.get(i);
        job.copy(cx, i, 0, n, false)?;
        let rest = Part::of(&job.out.view, axis, i, n, job.steps() - n, false);
        fill(cx, value, &Out { view: rest.view(&job.out.view), mode: job.out.mode })
    })
}

/// Each sequence backwards; what is behind its end stays.
pub fn reverse(cx: &Cx, x: &View<'_>, lengths: &Lengths, axis: usize, out: &Out<'_>) -> Result {
    Job { x, out, axis }.each(cx, |cx, job, i| {
        let n = lengths.get(i);
        job.copy(cx, i, 0, n, true)?;
        job.copy(cx, i, n, job.steps() - n, false)
    })
}

/// The last step of each sequence; the output has no axis of steps.
pub fn last(cx: &Cx, x: &View<'_>, lengths: &Lengths, axis: usize, out: &Out<'_>) -> Result {
    let (shape, strides) = with_step(&out.view, axis);
    let view = out.view.part(&shape, &strides, 0);
    let out = Out { view, mode: out.mode };
    Job { x, out: &out, axis }.each(cx, |cx, job, i| {
        let from = Part::of(job.x, axis, i, lengths.get(i) - 1, 1, false);
        let to = Part::of(&job.out.view, axis, i, 0, 1, false);
        copy_view(cx, &from.view(job.x), &Out { view: to.view(&job.out.view), mode: job.out.mode })
    })
}

/// The gradient of `last`: zeros, with each row of `dy` at the last step of its sequence.
pub fn put_last(cx: &Cx, dy: &View<'_>, lengths: &Lengths, axis: usize, out: &Out<'_>) -> Result {
    if out.mode == Mode::Write {
        fill(cx, 0.0.into(), out)?;
    }
    let (shape, strides) = with_step(dy, axis);
    let dy = dy.part(&shape, &strides, 0);
    Job { x: &dy, out, axis }.each(cx, |cx, job, i| {
        let from = Part::of(job.x, axis, i, 0, 1, false);
        let to = Part::of(&job.out.view, axis, i, lengths.get(i) - 1, 1, false);
        copy_view(cx, &from.view(job.x), &Out { view: to.view(&job.out.view), mode: job.out.mode })
    })
}

/// An array without steps as one of a single step.
fn with_step(v: &View<'_>, axis: usize) -> (Dims, Dims) {
    let (mut shape, mut strides) = (Dims::EMPTY, Dims::EMPTY);
    for d in 0..=v.ndim() {
        if d == axis {
            shape.push(1);
            strides.push(0);
        }
        if d < v.ndim() {
            shape.push(v.shape[d]);
            strides.push(v.strides[d]);
        }
    }
    (shape, strides)
}
