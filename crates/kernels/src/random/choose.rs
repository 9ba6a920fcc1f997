//! Choices: categories by their probabilities, how often each of them came, and permutations.
use super::blocks::{LANES, Words};
use super::count::Binomial;
use super::generate::{longs, words};
use super::sample::{position, values};
use super::stream::{READY, Stream, first_blocks};
use crate::reduce::Sink;
use crate::view::{Cx, Out, View};
use crate::walk::{Shared, Walk};
use gluonish_base::{Cause, Dims, Result, pool};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Values of one task, at least.
const CHUNK: usize = 1 << 13;
/// How far the sum of a row's probabilities may be from 1: they may have come from half precision.
const TOLERANCE: f64 = 0.01;

/// Why a row cannot be probabilities: the category that is wrong, if it is one alone.
fn wrong(row: &[f64]) -> Option<(Option<usize>, f64)> {
    if let Some(k) = row.iter().position(|p| !(*p >= 0.0 && p.is_finite())) {
        return Some((Some(k), row[k]));
    }
    let total: f64 = row.iter().sum();
    ((total - 1.0).abs() > TOLERANCE).then_some((None, total))
}

/// Rows of probabilities, checked, each as its running sum.
fn cumulative(cx: &Cx, probabilities: &View<'_>) -> Result<(Vec<f64>, usize)> {
    let k = probabilities.shape.last().map_or(0, |k| *k as usize);
    let mut all = values(cx, probabilities, probabilities.shape)?;
    let rows = all.len().checked_div(k).unwrap_or(0);
    let bad = AtomicUsize::new(usize::MAX);
    let ptr = Shared(all.as_mut_ptr());
    let together = (CHUNK / k.max(1)).max(1);
    pool::run(rows.div_ceil(together), cx.threads, |task| {
        for r in task * together..rows.min((task + 1) * together) {
            // SAFETY: a row of the vector, which no other task has.
            let row = unsafe { std::slice::from_raw_parts_mut(ptr.at((r * k) as isize), k) };
            if wrong(row).is_some() {
                bad.fetch_min(r, Relaxed);
                continue;
            }
            let mut total = 0.0;
            for p in row {
                total += *p;
                *p = total;
            }
        }
    });
    let r = bad.into_inner();
    if r == usize::MAX {
        return Ok((all, k));
    }
    let shape = *probabilities.shape;
    let rows = Dims::of(&shape[..shape.len() - 1]);
    Err(Cause::Value(match wrong(&all[r * k..][..k]) {
        Some((Some(c), p)) => {
            format!(
                "the probability at position {} is {p}: expected a finite number of at least 0",
                position(r * k + c, &shape)
            )
        }
        other => {
            let total = other.map_or(0.0, |o| o.1);
            let of = if rows.is_empty() { String::new() } else { format!(" of row {}", position(r, &rows)) };
            format!("the probabilities{of} add up to {total}: expected 1")
        }
    })
    .into())
}

/// The category that `u` of [0, 1) falls into, never one of probability 0.
#[inline(always)]
fn category(sums: &[f64], u: f64) -> usize {
    let total = sums.last().copied().unwrap_or(0.0);
    let at = u * total;
    let k = sums.partition_point(|s| *s <= at);
    // A product that was rounded up.
    if k < sums.len() { k } else { sums.partition_point(|s| *s < total) }
}

/// Categories by the probabilities of the last axis, as many for each row as the output has room for. A second output
/// gets the logarithms of their probabilities.
pub fn categories(cx: &Cx, probabilities: &View<'_>, outs: &[Out<'_>]) -> Result {
    let [out, rest @ ..] = outs else { return Ok(()) };
    let (sums, k) = cumulative(cx, probabilities)?;
    let n = out.view.size;
    if n == 0 || k == 0 {
        return Ok(());
    }
    let each = n / (sums.len() / k);
    let walk_of = |o: &Out<'_>| Walk::new(o.view.shape, [o.view.strides; 2]).coalesced();
    let (walk, sink) = (walk_of(out), Sink::<i64>::new(out, 0));
    let logs = rest.first().map(|o| (walk_of(o), Sink::<f64>::new(o, 0)));
    let given = if logs.is_some() { values(cx, probabilities, probabilities.shape)? } else { Vec::new() };
    let key = cx.ticket.key();
    pool::run(n.div_ceil(CHUNK), cx.threads, |task| {
        let (from, to) = (task * CHUNK, n.min((task + 1) * CHUNK));
        let mut random = vec![0; (to - from).next_multiple_of(2 * LANES)];
        fill_longs(key, from, &mut random);
        let mut chosen = Vec::with_capacity(to - from);
        let mut ln = Vec::with_capacity(if logs.is_some() { to - from } else { 0 });
        for (i, w) in (from..to).zip(random) {
            let row = i / each * k;
            let c = category(&sums[row..][..k], (w >> 11) as f64 / (1u64 << 53) as f64);
            chosen.push(c as i64);
            if let Some(p) = given.get(row + c) {
                ln.push(p.ln());
            }
        }
        // SAFETY: these values are in the output and belong to this task.
        unsafe { sink.put(&walk, from, &chosen) };
        if let Some((walk, sink)) = &logs {
            // SAFETY: as above; the second output has the first one's shape.
            unsafe { sink.put(walk, from, &ln) };
        }
    });
    Ok(())
}

/// 64-bit words of the ticket from number `first` on, a multiple of a group.
fn fill_longs(key: [u32; 2], first: usize, to: &mut [u64]) {
    let mut batch = [Words::default(); 16];
    for (b, to) in to.chunks_mut(16 * 2 * LANES).enumerate() {
        let batch = &mut batch[..to.len() / (2 * LANES)];
        words(key, (first / (2 * LANES) + 16 * b) as u64, batch);
        longs(batch, to);
    }
}

/// How often each category came in `n` draws, for every row of the output: one binomial number after the other.
pub fn counts(cx: &Cx, probabilities: &View<'_>, n: f64, out: &Out<'_>) -> Result {
    let (sums, k) = cumulative(cx, probabilities)?;
    if out.view.size == 0 || k == 0 {
        return Ok(());
    }
    let (key, rows) = (cx.ticket.key(), out.view.size / k);
    let together = (CHUNK / k).max(1);
    let walk = Walk::new(out.view.shape, [out.view.strides; 2]).coalesced();
    let sink = Sink::<f64>::new(out, 0);
    pool::run(rows.div_ceil(together), cx.threads, |task| {
        let (from, to) = (task * together, rows.min((task + 1) * together));
        let mut made = Vec::with_capacity((to - from) * k);
        let mut ready = [Words::default(); READY];
        for r in from..to {
            let first = r / LANES * LANES;
            if r == from || r == first {
                first_blocks(key, first as u64, &mut ready);
            }
            let mut stream = Stream::new(key, r as u64, &ready);
            let (mut left, mut before) = (n, 0.0);
            for (c, sum) in sums.iter().enumerate() {
                let rest = sums[k - 1] - before;
                let share = if rest > 0.0 { ((sum - before) / rest).min(1.0) } else { 0.0 };
                let count = match left {
                    0.0 => 0.0,
                    _ if c == k - 1 && share > 0.0 => left,
                    _ => Binomial::new(left, share).draw(&mut stream),
                };
                made.push(count);
                (left, before) = (left - count, *sum);
            }
        }
        // SAFETY: these rows are in the output and belong to this task.
        unsafe { sink.put(&walk, from * k, &made) };
    });
    Ok(())
}

/// The numbers below the output's size in random order, by Fisher and Yates.
pub fn permutation(cx: &Cx, out: &Out<'_>) -> Result {
    let n = out.view.size;
    let order: Vec<i64> = if let Ok(n) = u32::try_from(n) {
        let mut order: Vec<u32> = (0..n).collect();
        mix(cx, &mut order);
        order.into_iter().map(i64::from).collect()
    } else {
        let mut order: Vec<i64> = (0..n as i64).collect();
        mix(cx, &mut order);
        order
    };
    let walk = Walk::new(out.view.shape, [out.view.strides; 2]).coalesced();
    let sink = Sink::<i64>::new(out, 0);
    pool::run(n.div_ceil(CHUNK), cx.threads, |task| {
        let (from, to) = (task * CHUNK, n.min((task + 1) * CHUNK));
        // SAFETY: these values are in the output and belong to this task.
        unsafe { sink.put(&walk, from, &order[from..to]) };
    });
    Ok(())
}

/// Exchanges each element, from the last on, with one of those up to it: number `i` by the ticket's word `i`.
fn mix<T>(cx: &Cx, order: &mut [T]) {
    let key = cx.ticket.key();
    let mut random = [0; 1 << 10];
    for first in (0..order.len()).step_by(random.len()).rev() {
        fill_longs(key, first, &mut random);
        for i in (first..order.len().min(first + random.len())).rev() {
            let j = (random[i - first] as u128 * (i as u128 + 1)) >> 64;
            order.swap(i, j as usize);
        }
    }
}
