//! The gradients of queries, keys and values.
use super::block::{COLUMNS, Place, ROWS, Scores, Transposed, add_product, with_one};
use super::forward::Real;
use super::lines::{Back, Dot};
use super::{Drop, Heads, How, MANY, Mask, Sizes};
use crate::gemm::{Mat, Simd, Work, dispatch};
use crate::map::Map;
use crate::plain::{Plain, Target, with_value};
use crate::products::parts;
use crate::room::room;
use crate::view::{Cx, Out, View};
use crate::walk::Shared;
use gluonish_base::{Result, pool};
use std::ops::Range;
use std::sync::OnceLock;

static MUL: Map = crate::map!(float | i, x, y | i.mul(x, y));

/// Where gradients go.
pub struct Grads<'a> {
    pub q: Out<'a>,
    pub k: Out<'a>,
    pub v: Out<'a>,
}

/// From the gradient `dy` of the result `y`, whose rows have these logarithms of sums.
pub fn backward(
    cx: &Cx,
    [q, k, v, y, dy, sums]: [&View<'_>; 6],
    mask: Option<&View<'_>>,
    how: How,
    grads: &Grads<'_>,
) -> Result {
    with_value!(sums.dtype, T => {
        let logs = Plain::<T>::of(cx, sums)?;
        let mut to = [Target::<T>::of(&grads.q)?, Target::<T>::of(&grads.k)?, Target::<T>::of(&grads.v)?];
        let sizes = [&grads.q, &grads.k, &grads.v].map(|o| o.view.size);
        for (t, n) in to.iter_mut().zip(sizes) {
            // SAFETY: the target has so many values, which are only added to from here on.
            unsafe { std::slice::from_raw_parts_mut(t.ptr(), n) }.fill(0.0);
        }
        let [dq, dk, dv] = [0, 1, 2].map(|i: usize| Shared(to[i].ptr()));
        dispatch(Run { cx, views: [q, k, v, y, dy], logs: &logs, mask: mask.map(Mask::of), how, dq, dk, dv })?;
        to.into_iter().try_for_each(|t| t.finish(cx))
    })
}

struct Run<'a, T> {
    cx: &'a Cx,
    views: [&'a View<'a>; 5],
    logs: &'a Plain<T>,
    mask: Option<Mask>,
    how: How,
    dq: Shared<T>,
    dk: Shared<T>,
    dv: Shared<T>,
}

/// Operands of all tasks.
struct Job<'a, T> {
    scores: Scores<'a, T>,
    k: &'a Heads<T>,
    v: &'a Heads<T>,
    dy: &'a Heads<T>,
    /// Of each row: the logarithm of the sum, and the product of result and gradient.
    logs: &'a Plain<T>,
    dots: &'a [T],
    dq: Shared<T>,
    dk: Shared<T>,
    dv: Shared<T>,
}

impl<T: Real> Work<T> for Run<'_, T> {
    type Out = Result;

    unsafe fn run<S: Simd<T = T>>(self) -> Result {
        let [q, k, v, y, dy] = self.views;
        let sizes = Sizes::of(q, k, v);
        let heads = |v: &View<'_>| Heads::<T>::of(self.cx, v, S::LANES);
        let (q, k, v, y, dy) = (heads(q)?, heads(k)?, heads(v)?, heads(y)?, heads(dy)?);
        let count = sizes.batch * sizes.heads;
        let mut dots = room::<T>(count * sizes.rows)?;
        let to = Shared(dots.as_mut_ptr());
        pool::run(count, self.cx.threads, |h| {
            let (b, head) = (h / sizes.heads, h % sizes.heads);
            for i in 0..sizes.rows {
                let dot = Dot { a: y.row(b, head, i), b: dy.row(b, head, i), n: sizes.depth };
                // SAFETY: each task has its own dots.
                unsafe { *to.at((h * sizes.rows + i) as isize) = T::enter(dot) };
            }
        });
        let job = Job {
            scores: Scores { sizes, how: self.how, q: &q, mask: self.mask, drop: Drop::of(&self.how) },
            k: &k,
            v: &v,
            dy: &dy,
            logs: self.logs,
            dots: &dots,
            dq: self.dq,
            dk: self.dk,
            dv: self.dv,
        };
        let groups = sizes.batch * sizes.groups;
        let blocks = sizes.columns.div_ceil(COLUMNS);
        let failed = OnceLock::new();
        let keep = |r: Result| {
            if let Err(e) = r {
                let _ = failed.set(e);
            }
        };
        // SAFETY: as the caller's; in each region tasks add to different gradients.
        unsafe {
            if groups >= MANY {
                pool::run(groups, self.cx.threads, |g| keep(job.part::<S>(g, 0..blocks, 0..sizes.rows, true, true)));
            } else {
                // Keys and values block by block, then queries: scores are made twice, but all threads have work.
                pool::run(groups * blocks, self.cx.threads, |task| {
                    let block = task % blocks.max(1);
                    keep(job.part::<S>(task / blocks.max(1), block..block + 1, 0..sizes.rows, true, false));
                });
                let pieces = sizes.rows.div_ceil(ROWS);
                pool::run(groups * pieces, self.cx.threads, |task| {
                    let piece = task % pieces.max(1);
                    let rows = sizes.rows * piece / pieces..sizes.rows * (piece + 1) / pieces;
                    keep(job.part::<S>(task / pieces.max(1), 0..blocks, rows, false, true));
                });
            }
            let (scale, width) = (T::from_f64(self.how.scale), sizes.width);
            let dq = self.dq;
            pool::run(count, self.cx.threads, |h| {
                let p = dq.at((h * sizes.rows * width) as isize);
                with_one(&MUL, sizes.rows * width, p, p.cast_const(), scale);
            });
        }
        failed.into_inner().map_or(Ok(()), Err)
    }
}

impl<T: Real> Job<'_, T> {
    /// Blocks of keys of one group against some queries: adds to the gradients of keys and values, to those of queries, or
    /// to all.
    unsafe fn part<S: Simd<T = T>>(
        &self,
        head: usize,
        blocks: Range<usize>,
        rows: Range<usize>,
        to_keys: bool,
        to_queries: bool,
    ) -> Result {
        let s = self.scores.sizes;
        let (batch, group) = (head / s.groups, head % s.groups);
        let mut keys = Transposed::<T>::room::<S>(COLUMNS, s.width)?;
        let mut values = Transposed::<T>::room::<S>(COLUMNS, s.depth)?;
        let wide = s.width.next_multiple_of(S::LANES);
        let mut queries = room::<T>(ROWS * wide + S::NR)?;
        let (mut block, mut back) = (room::<T>(ROWS * COLUMNS)?, room::<T>(ROWS * COLUMNS)?);
        let mut spare = room::<T>(COLUMNS)?;
        // SAFETY: rows and columns are within the sizes; buffers have room for a block; the gradients belong to this task.
        unsafe {
            for column in blocks.map(|b| b * COLUMNS) {
                let columns = COLUMNS.min(s.columns - column);
                keys.fill::<S>(self.k.row(batch, group, column), self.k.stride(), columns);
                values.fill::<S>(self.v.row(batch, group, column), self.v.stride(), columns);
                for head in group * s.each()..(group + 1) * s.each() {
                    let line = (batch * s.heads + head) * s.rows;
                    parts(rows.len(), ROWS, |start, n| {
                        let row = rows.start + start;
                        if self.scores.seen(row + n) <= column {
                            return;
                        }
                        let at = Place { batch, head, row, rows: n, column, columns };
                        self.scores.scaled_queries(at, queries.as_mut_ptr());
                        self.scores.compute::<S>(at, queries.as_ptr(), &keys, column, block.as_mut_ptr(), &mut spare);
                        let dy = self.dy.row(batch, head, row);
                        let a = Mat::new(dy, self.dy.stride(), 1);
                        values.times::<S>(n, a, 0, columns, back.as_mut_ptr(), COLUMNS);
                        // Dropout lies between the weights and what they mix.
                        let dropped = |block: &mut [T]| {
                            (0..n).for_each(|i| self.scores.drop_row(at, i, &mut block[i * COLUMNS..][..columns]));
                        };
                        dropped(&mut back);
                        T::enter(Back {
                            scores: block.as_mut_ptr(),
                            grads: back.as_mut_ptr(),
                            rows: n,
                            columns,
                            logs: self.logs.ptr().add(line + row),
                            dots: self.dots.as_ptr().add(line + row),
                        });
                        dropped(&mut block);
                        let (weights, scores) = (Mat::new(block.as_ptr(), 1, COLUMNS as isize), back.as_ptr());
                        if to_keys {
                            let place = ((batch * s.groups + group) * s.columns + column) as isize;
                            let dv = self.dv.at(place * s.depth as isize);
                            add_product::<S>([columns, s.depth, n], weights, dy, self.dy.stride(), dv, s.depth, true);
                            let dk = self.dk.at(place * s.width as isize);
                            let a = Mat::new(scores, 1, COLUMNS as isize);
                            let (q, stride) = (queries.as_ptr(), s.width as isize);
                            add_product::<S>([columns, s.width, n], a, q, stride, dk, s.width, true);
                        }
                        if to_queries {
                            let dq = self.dq.at(((line + row) * s.width) as isize);
                            let k = self.k.row(batch, group, column);
                            let a = Mat::new(scores, COLUMNS as isize, 1);
                            add_product::<S>([n, s.width, columns], a, k, self.k.stride(), dq, s.width, true);
                        }
                    });
                }
            }
        }
        Ok(())
    }
}
