//! Counting and searching: how many values fall between edges, how often a number occurs, where values belong.
use crate::reduce::{Acc, Sink, Source, order_type, with_acc};
use crate::view::{Cx, Out, View};
use crate::walk::{Shared, Walk};
use gluonish_base::{Cause, DType, Result, pool};

/// Elements of one task.
const CHUNK: usize = 1 << 16;
/// Elements that are read at once.
const TILE: usize = 1024;
/// Tasks with counters of their own.
const TASKS: usize = 16;

/// The elements of a view in row-major order, read as `A`.
struct Line<A> {
    source: Source<A>,
    outer: Walk<1>,
    inner: usize,
    stride: isize,
    len: usize,
}

impl<A: Acc> Line<A> {
    fn new(x: &View<'_>) -> Line<A> {
        let mut outer = Walk::new(x.shape, [x.strides]).coalesced();
        let (inner, [stride]) = outer.pop();
        Line { source: Source::new(x, 0), outer, inner, stride, len: x.size }
    }

    /// Calls `f` with elements `from..to`, a tile at a time, and the number of the tile's first.
    fn tiles(&self, (from, to): (usize, usize), mut f: impl FnMut(usize, &[A])) {
        let (mut at, mut buf) = (from, Vec::new());
        while at < to {
            let column = at % self.inner;
            let n = TILE.min(self.inner - column).min(to - at);
            let offset = self.outer.offset(at / self.inner)[0] + column as isize * self.stride;
            // SAFETY: the elements come from the view's own dimensions.
            f(at, unsafe { self.source.strip(offset, self.stride, n, &mut buf) });
            at += n;
        }
    }
}

/// All elements of a view, in order.
fn values<A: Acc>(x: &View<'_>) -> Vec<A> {
    let mut all = Vec::with_capacity(x.size);
    Line::<A>::new(x).tiles((0, x.size), |_, tile| all.extend_from_slice(tile));
    all
}

/// A value that can be ordered: NaN comes last.
trait Ordered: Acc + PartialOrd {
    fn before(self, other: Self) -> bool;
}
impl<A: Acc + PartialOrd> Ordered for A {
    #[inline(always)]
    #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
    fn before(self, other: A) -> bool {
        self < other || (other != other && self == self)
    }
}

/// How many of the ordered values come before `v`, or, on the right side, not after it.
#[inline]
fn place<A: Ordered>(sorted: &[A], v: A, right: bool) -> usize {
    sorted.partition_point(|s| if right { !v.before(*s) } else { s.before(v) })
}

/// Where each value of `v` belongs in the ordered vector `sorted`: before equal ones, or after them (`right`).
pub fn search(cx: &Cx, sorted: &View<'_>, v: &View<'_>, right: bool, out: &Out<'_>) -> Result {
    let both = sorted.dtype.promote(v.dtype);
    if v.size > 0 {
        with_acc!(order_type(both), A => search_as::<A>(cx, sorted, v, right, out));
    }
    Ok(())
}

fn search_as<A: Ordered>(cx: &Cx, sorted: &View<'_>, v: &View<'_>, right: bool, out: &Out<'_>) {
    let (sorted, line) = (values::<A>(sorted), Line::<A>::new(v));
    let sink = Sink::<i64>::new(out, 0);
    let places = Walk::new(out.view.shape, [out.view.strides, out.view.strides]);
    pool::run(line.len.div_ceil(CHUNK), cx.threads, |task| {
        let mut found = Vec::with_capacity(TILE);
        line.tiles((task * CHUNK, line.len.min((task + 1) * CHUNK)), |at, tile| {
            found.clear();
            found.extend(tile.iter().map(|v| place(&sorted, *v, right) as i64));
            // SAFETY: each element is one task's; the output has the shape of `v`.
            unsafe { sink.put(&places, at, &found) };
        });
    });
}

/// How many elements of `x` lie between neighbouring edges, which are in order; the last edge belongs to the last bin.
/// `even` says that the edges are evenly spaced, so that a division finds the bin.
pub fn histogram(cx: &Cx, x: &View<'_>, edges: &View<'_>, even: bool, out: &Out<'_>) -> Result {
    let (edges, line) = (values::<f64>(edges), Line::<f64>::new(x));
    let bins = edges.len().saturating_sub(1);
    let parts = line.len.div_ceil(CHUNK).clamp(1, TASKS);
    let mut counts = vec![0i64; bins * parts];
    let to = Shared(counts.as_mut_ptr());
    pool::run(parts, cx.threads, |part| {
        // SAFETY: each part has counters of its own, inside the vector, which outlives the region.
        let mine = unsafe { std::slice::from_raw_parts_mut(to.at((part * bins) as isize), bins) };
        line.tiles((line.len * part / parts, line.len * (part + 1) / parts), |_, tile| {
            for v in tile {
                if let Some(count) = bin(&edges, *v, even).and_then(|b| mine.get_mut(b)) {
                    *count += 1;
                }
            }
        });
    });
    let (total, others) = counts.split_at_mut(bins);
    for part in others.chunks_exact(bins.max(1)) {
        total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
    }
    let sink = Sink::<i64>::new(out, 0);
    // SAFETY: one output for each bin, and this thread is alone.
    unsafe { sink.write(0, out.view.strides.first().copied().unwrap_or(0), total) };
    Ok(())
}

/// The bin of a value.
#[inline]
fn bin(edges: &[f64], v: f64, even: bool) -> Option<usize> {
    let (first, last) = (*edges.first()?, *edges.last()?);
    if !(first <= v && v <= last) {
        return None;
    }
    let bins = edges.len() - 1;
    if !even {
        return Some(place(edges, v, true).saturating_sub(1).min(bins.saturating_sub(1)));
    }
    let guess = ((v - first) / (last - first) * bins as f64) as usize;
    let mut b = guess.min(bins - 1);
    // Rounding may have missed by one.
    if v < edges[b] {
        b -= 1;
    } else if b + 1 < bins && v >= edges[b + 1] {
        b += 1;
    }
    Some(b)
}

/// How often each number from 0 on occurs in `x`, or the sum of the weights where it does.
pub fn bincount(x: &View<'_>, weights: Option<&View<'_>>, out: &Out<'_>) -> Result {
    let n = out.view.size;
    let positions = values::<i64>(x);
    if let Some(p) = positions.iter().find(|p| **p < 0 || **p as usize >= n) {
        let text = if *p < 0 {
            format!("the number {p} is negative: numbers from 0 on can be counted")
        } else {
            format!("the number {p} is not among the {n} that are counted, from 0 on")
        };
        return Err(Cause::Value(text).into());
    }
    let stride = out.view.strides.first().copied().unwrap_or(0);
    let floating = out.view.dtype.is_float();
    if let Some(weights) = weights
        && floating
    {
        let mut totals = vec![0.0; n];
        positions.iter().zip(values::<f64>(weights)).for_each(|(p, w)| totals[*p as usize] += w);
        // SAFETY: one output for each number, and this thread is alone.
        unsafe { Sink::<f64>::new(out, 0).write(0, stride, &totals) };
        return Ok(());
    }
    let weights = weights.map_or_else(|| vec![1; positions.len()], values::<i64>);
    let mut totals = vec![0i64; n];
    positions.iter().zip(weights).for_each(|(p, w)| totals[*p as usize] = totals[*p as usize].wrapping_add(w));
    // SAFETY: one output for each number, and this thread is alone.
    unsafe { Sink::<i64>::new(out, 0).write(0, stride, &totals) };
    Ok(())
}
