//! Positions of extreme values.
use super::fold::{Acc, Fold, Max, Min, order_type};
use super::lanes::{LANES, TILE, fold_tile};
use super::memory::{Row, Sink, Source};
use super::plan::{Order, Plan, out_strides};
use super::{some, with_acc};
use crate::per_isa;
use crate::view::{Cx, Out, View};
use crate::walk::{Shared, Walk};
use gluonish_base::{DType, Result, pool};

/// Elements of one task.
const CHUNK: usize = 64 * TILE;
/// Columns that are followed at once when the axis is not the innermost.
const COLUMNS: usize = 1024;
/// Rows that are numbered in 32 bits before the numbers are noted down: narrow ones keep up with narrow values.
const BLOCK: usize = 1 << 31;

/// Position of the first largest value (or NaN) along `axis`, or in the flattened array. `out` is usually int64.
pub fn argmax(cx: &Cx, x: &View<'_>, axis: Option<usize>, out: &Out<'_>) -> Result {
    if some(x, out, "argmax")? {
        with_acc!(order_type(x.dtype), A => find::<A, Max>(cx, x, mask(x, axis), out));
    }
    Ok(())
}

/// Position of the first smallest value (or NaN) along `axis`, or in the flattened array.
pub fn argmin(cx: &Cx, x: &View<'_>, axis: Option<usize>, out: &Out<'_>) -> Result {
    if some(x, out, "argmin")? {
        with_acc!(order_type(x.dtype), A => find::<A, Min>(cx, x, mask(x, axis), out));
    }
    Ok(())
}

fn mask(x: &View<'_>, axis: Option<usize>) -> u32 {
    axis.map_or((1 << x.ndim()) - 1, |a| 1 << a)
}

/// A type that can be compared.
trait Comparable: Acc + PartialOrd {}
impl<A: Acc + PartialOrd> Comparable for A {}

/// The best value so far and where it is.
#[derive(Clone, Copy)]
struct Best<A> {
    value: A,
    at: i64,
}

/// Whether `v` replaces `best`: it is strictly better, or the first NaN.
#[inline(always)]
fn better<A: Comparable, F: Fold<A>>(v: A, best: A) -> bool {
    // Joined the other way round a tie gives `best`, so that only what is strictly better differs from it.
    let won = F::join(v, best);
    !best.is_nan() & (v.is_nan() | ((won == v) & (v != best)))
}

fn find<A: Comparable, F: Fold<A>>(cx: &Cx, x: &View<'_>, axes: u32, out: &Out<'_>) {
    let plan = Plan::new(x, axes, &out_strides(x, axes, out), Order::Given);
    let source = Source::<A>::new(x, plan.base[0]);
    let sink = Sink::<i64>::new(out, plan.base[1]);
    if plan.along_rows() {
        rows::<A, F>(cx, &source, &sink, &plan.kept, &Row::new(&plan.reduced));
    } else {
        columns::<A, F>(cx, &source, &sink, &plan.kept, &plan.reduced);
    }
}

fn rows<A: Comparable, F: Fold<A>>(cx: &Cx, source: &Source<A>, sink: &Sink<i64>, kept: &Walk<2>, row: &Row) {
    let results = kept.size();
    let parts = row.len.div_ceil(CHUNK).max(1);
    let mut best = vec![Best { value: F::START, at: 0 }; results * parts];
    let to = Shared(best.as_mut_ptr());
    let each = if parts == 1 { (CHUNK / row.len).max(1) } else { 1 };
    pool::run((results * parts).div_ceil(each), cx.threads, |task| {
        let mut buf = Vec::new();
        for i in task * each..(results * parts).min((task + 1) * each) {
            let (k, part) = (i / parts, i % parts);
            let range = (part * CHUNK, row.len.min((part + 1) * CHUNK));
            // SAFETY: one place for each result and part, inside the vector, which outlives the region.
            unsafe { *to.at(i as isize) = best_of::<A, F>(source, kept.offset(k)[0], row, range, &mut buf) };
        }
    });
    let first = |b: Best<A>, p: &Best<A>| if better::<A, F>(p.value, b.value) { *p } else { b };
    let places: Vec<i64> = best.chunks_exact(parts).map(|p| p.iter().skip(1).fold(p[0], first).at).collect();
    // SAFETY: this thread is alone.
    unsafe { sink.put(kept, 0, &places) };
}

/// The first best element of a part of a row. Tiles are folded at full speed; only one that has something better is
/// searched for the place.
fn best_of<A: Comparable, F: Fold<A>>(
    source: &Source<A>,
    at: isize,
    row: &Row,
    (from, to): (usize, usize),
    buf: &mut Vec<A>,
) -> Best<A> {
    let mut best: Option<Best<A>> = None;
    for t in (from..to).step_by(TILE) {
        // SAFETY: the row and its elements come from the view's own dimensions.
        let tile = unsafe { source.tile(at, row, t, to.min(t + TILE), buf) };
        let value = fold_tile::<A, F>(tile);
        if best.is_none_or(|b| better::<A, F>(value, b.value)) {
            best = Some(Best { value, at: (t + place_of(tile, value)) as i64 });
        }
    }
    best.unwrap_or(Best { value: F::START, at: 0 })
}

per_isa! {
    /// Where `value`, or NaN if it is one, is first found.
    fn place_of[A: Comparable](x: &[A], value: A) -> usize {
        if value.is_nan() { first(x, |v| v.is_nan()) } else { first(x, |v| *v == value) }
    }
}

/// The first element that is wanted. Blocks are looked at as a whole, which is quicker than to stop at each element.
#[inline(always)]
fn first<A: Comparable>(x: &[A], wanted: impl Fn(&A) -> bool) -> usize {
    let (blocks, tail) = x.as_chunks::<LANES>();
    for (k, block) in blocks.iter().enumerate() {
        if block.iter().fold(false, |any, v| any | wanted(v)) {
            let place = |(i, v)| if wanted(v) { i } else { LANES as u32 };
            return k * LANES + (0..).zip(block).map(place).fold(LANES as u32, u32::min) as usize;
        }
    }
    blocks.len() * LANES + tail.iter().position(wanted).unwrap_or(0)
}

fn columns<A: Comparable, F: Fold<A>>(
    cx: &Cx,
    source: &Source<A>,
    sink: &Sink<i64>,
    kept: &Walk<2>,
    reduced: &Walk<1>,
) {
    let mut outer = *kept;
    let (width, [stride, _]) = outer.pop();
    let blocks = width.div_ceil(COLUMNS);
    pool::run(outer.size() * blocks, cx.threads, |task| {
        let (group, col) = (task / blocks, task % blocks * COLUMNS);
        let n = COLUMNS.min(width - col);
        let at = outer.offset(group)[0] + col as isize * stride;
        let (mut values, mut places, mut buf) = ([F::START; COLUMNS], [0u32; COLUMNS], Vec::new());
        let mut found = [0i64; COLUMNS];
        let mut row = 0usize;
        reduced.for_each(0, reduced.size(), |[o]| {
            // SAFETY: offset, columns and stride come from the view's own dimensions.
            let strip = unsafe { source.strip(at + o, stride, n, &mut buf) };
            if row.is_multiple_of(BLOCK) {
                note(&mut found, &mut places, row.wrapping_sub(BLOCK));
            }
            follow::<A, F>(strip, &mut values[..n], &mut places[..n], (row % BLOCK) as u32 + 1, row == 0);
            row += 1;
        });
        note(&mut found, &mut places, (row - 1) / BLOCK * BLOCK);
        // SAFETY: each block of columns is one task's.
        unsafe { sink.put(kept, group * width + col, &found[..n]) };
    });
}

per_isa! {
    /// Compares a row with the best values so far; where it is better, or `first`, its number goes into `places`.
    fn follow[A: Comparable, F: Fold<A>](row: &[A], best: &mut [A], places: &mut [u32], number: u32, first: bool) {
        for ((v, best), place) in row.iter().zip(best).zip(places) {
            let take = first | better::<A, F>(*v, *best);
            *best = if take { *v } else { *best };
            *place = if take { number } else { *place };
        }
    }
}

/// Moves the numbers of a block of rows (0: none was better) to where positions are kept in full.
fn note(found: &mut [i64], places: &mut [u32], start: usize) {
    for (f, p) in found.iter_mut().zip(places) {
        if *p > 0 {
            *f = start as i64 + *p as i64 - 1;
        }
        *p = 0;
    }
}
