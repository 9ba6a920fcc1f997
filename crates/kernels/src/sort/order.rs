//! Putting items in order.
use super::key::Item;
use crate::walk::Shared;
use gluonish_base::pool;

/// Below this, comparing is quicker than counting digits.
const FEW: usize = 256;
/// From here on threads share the work.
const MANY: usize = 1 << 17;
/// Bits of a digit: the counters fit the first cache.
const DIGIT: u32 = 8;
const DIGITS: usize = 1 << DIGIT;
/// Digits of the widest key.
const MOST: usize = (u64::BITS / DIGIT) as usize;

/// Sorts by key; equal keys stay as they are if the items are given in the order of their positions. The result is the
/// same for any number of threads, for no two items with positions are equal.
fn sort<I: Item>(items: &mut Vec<I>, spare: &mut Vec<I>, threads: usize) {
    if items.len() < FEW {
        return items.sort_unstable();
    }
    spare.resize(items.len(), I::default());
    if items.len() < MANY { sort_alone(items, spare) } else { sort_shared(items, spare, threads) }
}

/// All digits are counted in one go; `spare` is as long as `items`.
fn sort_alone<I: Item>(items: &mut Vec<I>, spare: &mut Vec<I>) {
    let passes = I::BITS.div_ceil(DIGIT);
    let mut counts = [[0u32; DIGITS]; MOST];
    for item in items.iter() {
        for (p, c) in (0..passes).zip(&mut counts) {
            c[digit(*item, p)] += 1;
        }
    }
    for (p, starts) in (0..passes).zip(&mut counts) {
        // A digit that all items share changes nothing.
        if starts[digit(items[0], p)] as usize == items.len() {
            continue;
        }
        let mut at = 0;
        for s in starts.iter_mut() {
            (*s, at) = (at, at + *s);
        }
        for item in items.iter() {
            let place = &mut starts[digit(*item, p)];
            spare[*place as usize] = *item;
            *place += 1;
        }
        std::mem::swap(items, spare);
    }
}

/// Each thread has a part of the items: it counts their digits, and takes them to where those of that digit begin, behind
/// the parts before its own.
fn sort_shared<I: Item>(items: &mut Vec<I>, spare: &mut Vec<I>, threads: usize) {
    let (n, parts) = (items.len(), threads.max(1));
    let part = |p: usize| n * p / parts..n * (p + 1) / parts;
    let mut counts = vec![[0usize; DIGITS]; parts];
    for pass in 0..I::BITS.div_ceil(DIGIT) {
        let (from, to, starts) = (&items[..], Shared(spare.as_mut_ptr()), Shared(counts.as_mut_ptr()));
        // SAFETY: this and the next: each part has counters of its own.
        let counters = |p: usize| unsafe { &mut *starts.at(p as isize) };
        pool::run(parts, threads, |p| {
            let counts = counters(p);
            counts.fill(0);
            from[part(p)].iter().for_each(|item| counts[digit(*item, pass)] += 1);
        });
        let first = digit(from[0], pass);
        if (0..parts).map(|p| counters(p)[first]).sum::<usize>() == n {
            continue;
        }
        let mut at = 0;
        for d in 0..DIGITS {
            for p in 0..parts {
                let s = &mut counters(p)[d];
                (*s, at) = (at, at + *s);
            }
        }
        pool::run(parts, threads, |p| {
            let starts = counters(p);
            for item in &from[part(p)] {
                let place = &mut starts[digit(*item, pass)];
                // SAFETY: the places of all parts are disjoint, and there are as many as items.
                unsafe { *to.at(*place as isize) = *item };
                *place += 1;
            }
        });
        std::mem::swap(items, spare);
    }
}

#[inline(always)]
fn digit<I: Item>(item: I, pass: u32) -> usize {
    (item.key() >> (pass * DIGIT)) as usize % DIGITS
}

/// Brings the first `k` of the order to the front, in order, and drops the others. `spare` is room to work in.
pub(super) fn sort_first<I: Item>(items: &mut Vec<I>, spare: &mut Vec<I>, k: usize, threads: usize) {
    if k < items.len() {
        // Their positions are no longer in order, which counting digits relies on.
        keep_first(items, k);
        return items.sort_unstable();
    }
    sort(items, spare, threads);
}

/// Those of the first few that are kept at once, at least: they set the mark for the others.
const MARK: usize = 64;

/// Keeps the first `k` of the order, in any order. Most items are compared once, with the last of the best `k` so far.
fn keep_first<I: Item>(items: &mut Vec<I>, k: usize) {
    let Some(last) = k.checked_sub(1) else { return items.clear() };
    let room = (2 * k).max(MARK).min(items.len());
    let best = |items: &mut [I]| *items.select_nth_unstable(last).1;
    let mut worst = best(&mut items[..room]);
    let mut kept = k;
    for i in room..items.len() {
        let item = items[i];
        if item < worst {
            items[kept] = item;
            kept += 1;
            if kept == room {
                worst = best(&mut items[..room]);
                kept = k;
            }
        }
    }
    best(&mut items[..kept]);
    items.truncate(k);
}
