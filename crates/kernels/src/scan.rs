//! Running sums and products along an axis, and the recurrence that their gradients are made of.
//!
//! States are kept in float64 (integers: in 64 bits), so that the error does not grow with the length. A long row is cut
//! into chunks of fixed length: their totals come first, then every chunk goes on from the total before it.
use crate::per_isa;
use crate::reduce::{Acc, Fold, Prod, Sink, Source, Sum, fold_tile};
use crate::view::{Cx, Out, View};
use crate::walk::{Shared, Walk};
use gluonish_base::{Dims, Result, pool};

/// Elements that are converted at once.
const TILE: usize = 1024;
/// Elements of one task.
const CHUNK: usize = 64 * TILE;
/// Columns that one task follows when the axis is not the innermost.
const COLUMNS: usize = 256;

/// How a running sum or product goes.
#[derive(Clone, Copy)]
pub struct Way {
    pub axis: usize,
    /// From the last element to the first.
    pub reverse: bool,
    /// Each element gets what came before it, without itself.
    pub exclusive: bool,
}

/// Running sums along an axis.
pub fn cumsum(cx: &Cx, x: &View<'_>, way: Way, out: &Out<'_>) -> Result {
    match out.view.dtype.is_float() {
        true => scan::<f64, Sum>(cx, x, way, out),
        false => scan::<i64, Sum>(cx, x, way, out),
    }
    Ok(())
}

/// Running products along an axis.
pub fn cumprod(cx: &Cx, x: &View<'_>, way: Way, out: &Out<'_>) -> Result {
    match out.view.dtype.is_float() {
        true => scan::<f64, Prod>(cx, x, way, out),
        false => scan::<i64, Prod>(cx, x, way, out),
    }
    Ok(())
}

/// The axis of several operands: where it begins, its strides and length, and the walk over the other dimensions.
struct Lines<const N: usize> {
    base: [isize; N],
    along: [isize; N],
    n: usize,
    others: Walk<N>,
}

impl<const N: usize> Lines<N> {
    fn new(shape: &Dims, strides: [&Dims; N], axis: usize, reverse: bool) -> Lines<N> {
        let mut others = Walk::default();
        // The dimension with the smallest steps last, so that columns lie side by side.
        let mut dims: Vec<usize> = (0..shape.len()).filter(|d| *d != axis).collect();
        dims.sort_by_key(|&d| std::cmp::Reverse(strides[0][d].unsigned_abs()));
        for d in dims {
            others.push(shape[d], strides.map(|s| s[d]));
        }
        let (n, along) = (shape[axis] as usize, strides.map(|s| s[axis]));
        let turned = along.map(|s| s * (n as isize - 1));
        let others = others.coalesced();
        if reverse {
            return Lines { base: turned, along: along.map(|s| -s), n, others };
        }
        Lines { base: [0; N], along, n, others }
    }

    /// Whether to go row by row over columns that lie side by side, rather than along the axis.
    fn by_columns(&self) -> bool {
        const FEW: isize = 8;
        match (self.others.shape.last(), self.others.strides[0].last()) {
            (Some(&width), Some(step)) => width >= FEW && step.unsigned_abs() < self.along[0].unsigned_abs(),
            _ => false,
        }
    }
}

fn scan<A: Acc, F: Fold<A>>(cx: &Cx, x: &View<'_>, way: Way, out: &Out<'_>) {
    if x.size == 0 {
        return;
    }
    let lines = Lines::new(x.shape, [x.strides, out.view.strides], way.axis, way.reverse);
    let job = Job {
        source: Source::<A>::new(x, lines.base[0]),
        sink: Sink::<A>::new(out, lines.base[1]),
        exclusive: way.exclusive,
        threads: cx.threads,
    };
    if lines.by_columns() {
        job.columns::<F>(&lines);
    } else {
        job.rows::<F>(&lines);
    }
}

struct Job<A> {
    source: Source<A>,
    sink: Sink<A>,
    exclusive: bool,
    threads: usize,
}

impl<A: Acc> Job<A> {
    fn rows<F: Fold<A>>(&self, lines: &Lines<2>) {
        let (rows, parts) = (lines.others.size(), lines.n.div_ceil(CHUNK));
        if parts == 1 {
            let each = (CHUNK / lines.n).max(1);
            return pool::run(rows.div_ceil(each), self.threads, |task| {
                let mut buf = Vec::new();
                lines.others.for_each(task * each, rows.min((task + 1) * each), |at| {
                    self.part::<F>(at, lines, (0, lines.n), F::START, &mut buf);
                });
            });
        }
        let range = |part: usize| (part * CHUNK, lines.n.min((part + 1) * CHUNK));
        let mut starts = vec![F::START; rows * parts];
        let to = Shared(starts.as_mut_ptr());
        pool::run(rows * parts, self.threads, |task| {
            let (row, part) = (task / parts, task % parts);
            let total = self.total::<F>(lines.others.offset(row)[0], lines, range(part));
            // SAFETY: one place for each task, inside the vector, which outlives the region.
            unsafe { *to.at(task as isize) = total };
        });
        for row in starts.chunks_exact_mut(parts) {
            row.iter_mut().fold(F::START, |before, total| F::join(before, std::mem::replace(total, before)));
        }
        pool::run(rows * parts, self.threads, |task| {
            let (row, part) = (task / parts, task % parts);
            self.part::<F>(lines.others.offset(row), lines, range(part), starts[task], &mut Vec::new());
        });
    }

    fn total<F: Fold<A>>(&self, at: isize, lines: &Lines<2>, (from, to): (usize, usize)) -> A {
        let mut buf = Vec::new();
        (from..to).step_by(TILE).fold(F::START, |total, t| {
            let offset = at + t as isize * lines.along[0];
            // SAFETY: the row and its elements come from the view's own dimensions.
            let tile = unsafe { self.source.strip(offset, lines.along[0], TILE.min(to - t), &mut buf) };
            F::join(total, fold_tile::<A, F>(tile))
        })
    }

    /// A part of a row, going on from `state`.
    fn part<F: Fold<A>>(
        &self,
        at: [isize; 2],
        lines: &Lines<2>,
        (from, to): (usize, usize),
        mut state: A,
        buf: &mut Vec<A>,
    ) {
        for t in (from..to).step_by(TILE) {
            let [x, y] = [0, 1].map(|i| at[i] + t as isize * lines.along[i]);
            buf.resize(TILE.min(to - t), A::default());
            // SAFETY: the row and its elements come from the view's own dimensions.
            unsafe { self.source.read(x, lines.along[0], buf) };
            for v in buf.iter_mut() {
                let next = F::join(state, *v);
                *v = if self.exclusive { state } else { next };
                state = next;
            }
            // SAFETY: as above; the part is one task's.
            unsafe { self.sink.write(y, lines.along[1], buf) };
        }
    }

    fn columns<F: Fold<A>>(&self, lines: &Lines<2>) {
        let mut outer = lines.others;
        let (width, [step, out_step]) = outer.pop();
        let blocks = width.div_ceil(COLUMNS);
        pool::run(outer.size() * blocks, self.threads, |task| {
            let (group, column) = (task / blocks, task % blocks * COLUMNS);
            let n = COLUMNS.min(width - column);
            let [x, y] = outer.offset(group);
            let [mut x, mut y] = [x + column as isize * step, y + column as isize * out_step];
            let (mut state, mut buf) = ([F::START; COLUMNS], Vec::new());
            let state = &mut state[..n];
            for _ in 0..lines.n {
                // SAFETY: offsets, columns and strides come from the views' own dimensions; the columns are one task's.
                unsafe {
                    if self.exclusive {
                        self.sink.write(y, out_step, state);
                    }
                    follow::<A, F>(state, self.source.strip(x, step, n, &mut buf));
                    if !self.exclusive {
                        self.sink.write(y, out_step, state);
                    }
                }
                x += lines.along[0];
                y += lines.along[1];
            }
        });
    }
}

per_isa! {
    fn follow[A: Acc, F: Fold<A>](state: &mut [A], row: &[A]) {
        state.iter_mut().zip(row).for_each(|(s, v)| *s = F::join(*s, *v));
    }
}

/// Which element of `a` a step of the recurrence uses, and which state it gives out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `s[j] = b[j] + a[j] * s[j - 1]`
    Plain,
    /// `s[j] = b[j] + a[j - 1] * s[j - 1]`
    Lagged,
    /// As plain, but element `j` gets `s[j - 1]`.
    Before,
}

/// The linear recurrence of `form` along an axis, from 0; `reverse` goes from the last element to the first.
pub fn recurrence(
    cx: &Cx,
    a: &View<'_>,
    b: &View<'_>,
    axis: usize,
    form: Form,
    reverse: bool,
    out: &Out<'_>,
) -> Result {
    if out.view.size == 0 {
        return Ok(());
    }
    let lines = Lines::new(out.view.shape, [out.view.strides, a.strides, b.strides], axis, reverse);
    let sources = [Source::<f64>::new(a, lines.base[1]), Source::<f64>::new(b, lines.base[2])];
    let sink = Sink::<f64>::new(out, lines.base[0]);
    let (rows, each) = (lines.others.size(), (CHUNK / lines.n).max(1));
    pool::run(rows.div_ceil(each), cx.threads, |task| {
        let (mut factors, mut terms) = (Vec::new(), Vec::new());
        lines.others.for_each(task * each, rows.min((task + 1) * each), |at| {
            let (mut state, mut before, mut begun) = (0.0, 0.0, false);
            for t in (0..lines.n).step_by(TILE) {
                let n = TILE.min(lines.n - t);
                let [y, x, z] = [0, 1, 2].map(|i| at[i] + t as isize * lines.along[i]);
                factors.resize(n, 0.0);
                terms.resize(n, 0.0);
                // SAFETY: rows and their elements come from the views' own dimensions; the row is one task's.
                unsafe {
                    sources[0].read(x, lines.along[1], &mut factors);
                    sources[1].read(z, lines.along[2], &mut terms);
                    for (a, b) in factors.iter().zip(&mut terms) {
                        let factor = if form == Form::Lagged { std::mem::replace(&mut before, *a) } else { *a };
                        // At the start there is nothing to multiply: infinite factors would make NaN of it.
                        let next = if begun { *b + factor * state } else { *b };
                        *b = if form == Form::Before { state } else { next };
                        (state, begun) = (next, true);
                    }
                    sink.write(y, lines.along[0], &terms);
                }
            }
        });
    });
    Ok(())
}
