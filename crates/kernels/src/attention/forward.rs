//! Values mixed by the softmax of the scores.
use super::block::{COLUMNS, Place, ROWS, Scores, Transposed, add_product, with_one};
use super::lines::Soften;
use super::{Drop, Heads, How, MANY, Mask, Sizes};
use crate::gemm::{Mat, Simd, Work, dispatch};
use crate::map::Map;
use crate::plain::{Target, Value, with_value};
use crate::products::parts;
use crate::registers::Registers;
use crate::room::room;
use crate::view::{Cx, Out, View};
use crate::walk::Shared;
use gluonish_base::{Result, pool};
use std::ops::Add;
use std::sync::OnceLock;

static MUL: Map = crate::map!(float | i, x, y | i.mul(x, y));

/// A type that scores are computed in.
pub(super) trait Real: Value + Registers + PartialOrd + Add<Output = Self> {}
impl Real for f32 {}
impl Real for f64 {}

/// `softmax(q @ k.T * scale + mask) @ v`, and the logarithm of each row's sum of exponentials in `sums`.
pub fn forward(
    cx: &Cx,
    [q, k, v]: [&View<'_>; 3],
    mask: Option<&View<'_>>,
    how: How,
    out: &Out<'_>,
    sums: &Out<'_>,
) -> Result {
    with_value!(out.view.dtype, T => {
        let mut to = Target::<T>::of(out)?;
        let mut logs = Target::<T>::of(sums)?;
        dispatch(Run {
            cx,
            views: [q, k, v],
            mask: mask.map(Mask::of),
            how,
            to: Shared(to.ptr()),
            logs: Shared(logs.ptr()),
        })?;
        to.finish(cx)?;
        logs.finish(cx)
    })
}

struct Run<'a, T> {
    cx: &'a Cx,
    views: [&'a View<'a>; 3],
    mask: Option<Mask>,
    how: How,
    to: Shared<T>,
    logs: Shared<T>,
}

impl<T: Real> Work<T> for Run<'_, T> {
    type Out = Result;

    unsafe fn run<S: Simd<T = T>>(self) -> Result {
        let [q, k, v] = self.views;
        let sizes = Sizes::of(q, k, v);
        let (q, k, v) =
            (Heads::<T>::of(self.cx, q, 1)?, Heads::<T>::of(self.cx, k, 1)?, Heads::<T>::of(self.cx, v, S::LANES)?);
        let scores = Scores { sizes, how: self.how, q: &q, mask: self.mask, drop: Drop::of(&self.how) };
        // Where there are few heads, their queries are cut; each part packs the keys for itself.
        let heads = sizes.batch * sizes.groups;
        let pieces = MANY.div_ceil(heads.max(1)).min(sizes.rows.div_ceil(ROWS)).max(1);
        let failed = OnceLock::new();
        let (to, logs) = (self.to, self.logs);
        pool::run(heads * pieces, self.cx.threads, |task| {
            let (head, piece) = (task / pieces, task % pieces);
            let rows = sizes.rows * piece / pieces..sizes.rows * (piece + 1) / pieces;
            // SAFETY: as the caller's; tasks have different queries.
            let done = unsafe { part::<S>(&scores, &k, &v, head, rows, to, logs) };
            if let Err(e) = done {
                let _ = failed.set(e);
            }
        });
        failed.into_inner().map_or(Ok(()), Err)
    }
}

/// Some queries of all heads of one group.
unsafe fn part<S: Simd>(
    scores: &Scores<'_, S::T>,
    k: &Heads<S::T>,
    v: &Heads<S::T>,
    head: usize,
    rows: std::ops::Range<usize>,
    to: Shared<S::T>,
    logs: Shared<S::T>,
) -> Result
where
    S::T: Real,
{
    let s = scores.sizes;
    let (batch, group) = (head / s.groups, head % s.groups);
    let mut keys = Transposed::<S::T>::room::<S>(s.columns, s.width)?;
    let mut queries = room::<S::T>(ROWS * s.width)?;
    let mut block = room::<S::T>(ROWS * COLUMNS)?;
    let mut spare = room::<S::T>(COLUMNS)?;
    let mut mixed = room::<S::T>(ROWS * s.depth)?;
    let none = <S::T as crate::dispatch::Elem>::from_f64(f64::NEG_INFINITY);
    let zero = S::T::default();
    // SAFETY: rows and columns are within the sizes; buffers have room for a block; results belong to this task.
    unsafe {
        keys.fill::<S>(k.row(batch, group, 0), k.stride(), s.columns);
        for head in group * s.each()..(group + 1) * s.each() {
            parts(rows.len(), ROWS, |start, n| {
                let row = rows.start + start;
                let place = |column: usize, columns: usize| Place { batch, head, row, rows: n, column, columns };
                scores.scaled_queries(place(0, 0), queries.as_mut_ptr());
                let (mut tops, mut totals) = ([none; ROWS], [0.0; ROWS]);
                mixed[..n * s.depth].fill(zero);
                for column in (0..scores.seen(row + n)).step_by(COLUMNS) {
                    let columns = COLUMNS.min(s.columns - column);
                    let at = place(column, columns);
                    scores.compute::<S>(at, queries.as_ptr(), &keys, 0, block.as_mut_ptr(), &mut spare);
                    S::T::enter(Soften {
                        scores: block.as_mut_ptr(),
                        columns,
                        tops: &mut tops[..n],
                        totals: &mut totals[..n],
                        mixed: mixed.as_mut_ptr(),
                        depth: s.depth,
                    });
                    (0..n).for_each(|i| scores.drop_row(at, i, &mut block[i * COLUMNS..][..columns]));
                    let a = Mat::new(block.as_ptr(), COLUMNS as isize, 1);
                    let values = v.row(batch, group, column);
                    add_product::<S>([n, s.depth, columns], a, values, v.stride(), mixed.as_mut_ptr(), s.depth, true);
                }
                for i in 0..n {
                    let at = (batch * s.heads + head) * s.rows + row + i;
                    let (from, out) = (mixed.as_ptr().add(i * s.depth), to.at((at * s.depth) as isize));
                    if tops[i] == none {
                        (0..s.depth).for_each(|d| *out.add(d) = zero);
                        *logs.at(at as isize) = none;
                        continue;
                    }
                    let total: f64 = totals[i];
                    with_one(&MUL, s.depth, out, from, crate::dispatch::Elem::from_f64(1.0 / total));
                    let log = crate::dispatch::Elem::to_f64(tops[i]) + total.ln();
                    *logs.at(at as isize) = crate::dispatch::Elem::from_f64(log);
                }
            });
        }
    }
    Ok(())
}
