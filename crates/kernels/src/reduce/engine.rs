//! The two ways to reduce: along rows, one result at a time, or row by row into a block of columns.
use super::fold::{Acc, Fold, join_all};
use super::lanes::{LANES, TILE, add_tile, fold_rows, join_lanes};
use super::memory::{InPlace, Row, Sink, Source};
use super::plan::Plan;
use crate::view::{Cx, Out, View};
use crate::walk::{Shared, Walk};
use gluonish_base::pool;
use smallvec::{SmallVec, smallvec};

/// Elements of one task: large enough to hide the cost of handing it out, small enough to share 100,000 among threads.
const CHUNK: usize = 64 * TILE;
/// Columns whose accumulators stay in the first cache.
const COLUMNS: usize = 1024;
/// Rows that are added up before the sum joins the total of the columns.
const ROWS: usize = 128;

/// Reduces `x` as planned; `finish` makes the result from the folded value.
pub(crate) fn reduce<A: Acc, F: Fold<A>>(
    cx: &Cx,
    x: &View<'_>,
    plan: &Plan,
    out: &Out<'_>,
    finish: impl Fn(A) -> A + Sync,
) {
    let job =
        Job { source: Source::new(x, plan.base[0]), sink: Sink::new(out, plan.base[1]), finish, threads: cx.threads };
    if plan.along_rows() {
        job.rows::<F>(&plan.kept, &Row::new(&plan.reduced));
    } else {
        job.columns::<F>(&plan.kept, &plan.reduced);
    }
}

struct Job<A, G> {
    source: Source<A>,
    sink: Sink<A>,
    finish: G,
    threads: usize,
}

impl<A: Acc, G: Fn(A) -> A + Sync> Job<A, G> {
    fn rows<F: Fold<A>>(&self, kept: &Walk<2>, row: &Row) {
        let results = kept.size();
        let parts = row.len.div_ceil(CHUNK).max(1);
        if parts == 1 {
            let each = (CHUNK / row.len.max(1)).max(1);
            pool::run(results.div_ceil(each), self.threads, |task| {
                let (from, to) = (task * each, results.min((task + 1) * each));
                let mut done: SmallVec<[A; 32]> = smallvec![F::START; to - from];
                self.some_rows::<F>(kept, row, from, &mut done);
                done.iter_mut().for_each(|v| *v = (self.finish)(*v));
                // SAFETY: tasks own disjoint ranges of the results.
                unsafe { self.sink.put(kept, from, &done) };
            });
            return;
        }
        let mut partial = vec![F::START; results * parts];
        let to = Shared(partial.as_mut_ptr());
        pool::run(results * parts, self.threads, |task| {
            let (part, k) = (task / results, task % results);
            let range = (part * CHUNK, row.len.min((part + 1) * CHUNK));
            let v = self.part::<F>(kept.offset(k)[0], row, range.0, range.1, &mut Vec::new());
            // SAFETY: one place for each task, inside the vector, which outlives the region.
            unsafe { *to.at(task as isize) = v };
        });
        self.join_parts::<F>(kept, &mut partial, results);
    }

    /// Whole rows, from number `from` on.
    fn some_rows<F: Fold<A>>(&self, kept: &Walk<2>, row: &Row, from: usize, to: &mut [A]) {
        let mut buf = Vec::new();
        let follow = kept.shape.len() == 1 && kept.strides[0][0] == row.len as isize;
        if follow && row.is_line() && row.len <= TILE {
            let (at, n) = (kept.offset(from)[0], row.len * to.len());
            // SAFETY: the rows come from the view's own dimensions and have no gaps.
            let x = unsafe { self.source.in_place(at, n) };
            // SAFETY: as above.
            let x = x.unwrap_or_else(|| InPlace::Same(unsafe { self.source.strip(at, 1, n, &mut buf) }));
            return x.fold_each::<F>(row.len, to);
        }
        let mut to = to.iter_mut();
        kept.for_each(from, from + to.len(), |[at, _]| {
            if let Some(v) = to.next() {
                *v = self.part::<F>(at, row, 0, row.len, &mut buf);
            }
        });
    }

    /// Elements `from..to` of the row that begins at `at`.
    fn part<F: Fold<A>>(&self, at: isize, row: &Row, from: usize, to: usize, buf: &mut Vec<A>) -> A {
        if row.is_line()
            // SAFETY: the row and its elements come from the view's own dimensions.
            && let Some(x) = unsafe { self.source.in_place(at + from as isize, to - from) }
        {
            return x.fold::<F>();
        }
        let mut lanes = [F::START; LANES];
        for t in (from..to).step_by(TILE) {
            // SAFETY: as above.
            let tile = unsafe { self.source.tile(at, row, t, to.min(t + TILE), buf) };
            add_tile::<A, F>(tile, &mut lanes);
        }
        join_lanes::<A, F>(lanes)
    }

    /// Joins parts in their order and stores the results; part `p` of result `k` is `partial[p * results + k]`.
    fn join_parts<F: Fold<A>>(&self, kept: &Walk<2>, partial: &mut [A], results: usize) {
        let (total, parts) = partial.split_at_mut(results);
        for part in parts.chunks_exact(results) {
            join_all::<A, F>(total, part);
        }
        total.iter_mut().for_each(|v| *v = (self.finish)(*v));
        // SAFETY: this thread is alone and stores each result once.
        unsafe { self.sink.put(kept, 0, total) };
    }

    fn columns<F: Fold<A>>(&self, kept: &Walk<2>, reduced: &Walk<1>) {
        let mut outer = *kept;
        let (width, [stride, _]) = outer.pop();
        let (groups, blocks, rows) = (outer.size(), width.div_ceil(COLUMNS), reduced.size());
        let block = width.min(COLUMNS);
        let step = (4 * CHUNK / block).next_multiple_of(ROWS);
        let parts = rows.div_ceil(step).max(1);
        let columns = |unit: usize| {
            let (group, col) = (unit / blocks, unit % blocks * COLUMNS);
            (group * width + col, block.min(width - col), outer.offset(group)[0] + col as isize * stride)
        };
        if parts == 1 {
            let each = (CHUNK / (block * rows.max(1))).max(1);
            let units = groups * blocks;
            pool::run(units.div_ceil(each), self.threads, |task| {
                let mut scratch = Scratch::default();
                for unit in task * each..units.min((task + 1) * each) {
                    let (first, n, at) = columns(unit);
                    let total = self.block::<F>(at, stride, n, reduced, 0, rows, &mut scratch);
                    total.iter_mut().for_each(|v| *v = (self.finish)(*v));
                    // SAFETY: each block of columns is one task's.
                    unsafe { self.sink.put(kept, first, total) };
                }
            });
            return;
        }
        let results = kept.size();
        let mut partial = vec![F::START; results * parts];
        let to = Shared(partial.as_mut_ptr());
        pool::run(groups * blocks * parts, self.threads, |task| {
            let (part, unit) = (task / (groups * blocks), task % (groups * blocks));
            let (first, n, at) = columns(unit);
            let mut scratch = Scratch::default();
            let range = (part * step, rows.min((part + 1) * step));
            let total = self.block::<F>(at, stride, n, reduced, range.0, range.1, &mut scratch);
            // SAFETY: the place of this part of this block, inside the vector, which outlives the region.
            unsafe { std::ptr::copy_nonoverlapping(total.as_ptr(), to.at((part * results + first) as isize), n) };
        });
        self.join_parts::<F>(kept, &mut partial, results);
    }

    /// Rows `from..to` of `n` columns that begin at `at`.
    #[expect(clippy::too_many_arguments, reason = "the place of a block has that many coordinates")]
    fn block<'s, F: Fold<A>>(
        &self,
        at: isize,
        stride: isize,
        n: usize,
        reduced: &Walk<1>,
        from: usize,
        to: usize,
        scratch: &'s mut Scratch<A>,
    ) -> &'s mut [A] {
        let Scratch { total, some, strips } = scratch;
        total.clear();
        total.resize(n, F::START);
        for r in (from..to).step_by(ROWS) {
            some.clear();
            some.resize(n, F::START);
            let end = to.min(r + ROWS);
            let mut offsets: SmallVec<[isize; ROWS]> = SmallVec::new();
            reduced.for_each(r, end, |[o]| offsets.push(at + o));
            for four in offsets.chunks(strips.len()) {
                let mut rows: SmallVec<[&[A]; 4]> = SmallVec::new();
                for (o, buf) in four.iter().zip(strips.iter_mut()) {
                    // SAFETY: offsets, columns and stride come from the view's own dimensions.
                    rows.push(unsafe { self.source.strip(*o, stride, n, buf) });
                }
                fold_rows::<A, F>(some, &rows);
            }
            join_all::<A, F>(total, some);
        }
        total
    }
}

/// Buffers of one task.
struct Scratch<A> {
    total: Vec<A>,
    some: Vec<A>,
    strips: [Vec<A>; 4],
}

impl<A> Default for Scratch<A> {
    fn default() -> Self {
        Scratch { total: Vec::new(), some: Vec::new(), strips: [const { Vec::new() }; 4] }
    }
}
