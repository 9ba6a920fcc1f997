//! Putting items in order.
use super::key::Item;
use crate::walk::Shared;
use gluonish_base::pool;

/// Below this, comparing is quicker than counting digits.
const FEW: usize = 2048;
/// From here on threads share the work.
const MANY: usize = 1 << 17;
/// Bits of a digit: the counters fit the first cache.
const DIGIT: u32 = 8;
const DIGITS: usize = 1 << DIGIT;

/// Sorts by key; equal keys stay as they are if the items are given in the order of their positions. The result is the
/// same for any number of threads, for no two items with positions are equal.
pub(super) fn sort<I: Item>(items: &mut Vec<I>, threads: usize) {
    let parts = threads.next_power_of_two();
    if items.len() < MANY || parts == 1 {
        let mut spare = Vec::new();
        return sort_part(items, &mut spare);
    }
    let n = items.len();
    let bound = |part: usize| n * part / parts;
    let all = Shared(items.as_mut_ptr());
    pool::run(parts, threads, |p| {
        let (from, to) = (bound(p), bound(p + 1));
        // SAFETY: parts are disjoint ranges of the vector, which outlives the region.
        sort_part(unsafe { std::slice::from_raw_parts_mut(all.at(from as isize), to - from) }, &mut Vec::new());
    });
    let mut spare = vec![I::default(); n];
    let mut width = 1;
    while width < parts {
        let (from, to) = (&*items, Shared(spare.as_mut_ptr()));
        pool::run(parts / (2 * width), threads, |p| {
            let at = |k: usize| bound(2 * width * p + k * width);
            // SAFETY: pairs of parts are disjoint ranges of the vector, which outlives the region.
            let out = unsafe { std::slice::from_raw_parts_mut(to.at(at(0) as isize), at(2) - at(0)) };
            merge(&from[at(0)..at(1)], &from[at(1)..at(2)], out);
        });
        std::mem::swap(items, &mut spare);
        width *= 2;
    }
}

fn merge<I: Item>(a: &[I], b: &[I], out: &mut [I]) {
    let (mut i, mut j) = (0, 0);
    for o in out {
        let left = j == b.len() || (i < a.len() && a[i] <= b[j]);
        *o = if left { a[i] } else { b[j] };
        i += left as usize;
        j += !left as usize;
    }
}

fn sort_part<I: Item>(items: &mut [I], spare: &mut Vec<I>) {
    if items.len() < FEW {
        return items.sort_unstable();
    }
    spare.resize(items.len(), I::default());
    let passes = I::BITS.div_ceil(DIGIT);
    let mut counts = vec![[0usize; DIGITS]; passes as usize];
    for item in items.iter() {
        for (p, c) in counts.iter_mut().enumerate() {
            c[digit(*item, p as u32)] += 1;
        }
    }
    let (mut from, mut to) = (items, &mut spare[..]);
    let mut moved = false;
    for (p, starts) in counts.iter_mut().enumerate() {
        // A digit that all items share changes nothing.
        if starts[digit(from[0], p as u32)] == from.len() {
            continue;
        }
        let mut at = 0;
        for s in starts.iter_mut() {
            (*s, at) = (at, at + *s);
        }
        for item in from.iter() {
            let place = &mut starts[digit(*item, p as u32)];
            to[*place] = *item;
            *place += 1;
        }
        std::mem::swap(&mut from, &mut to);
        moved = !moved;
    }
    if moved {
        to.copy_from_slice(from);
    }
}

#[inline(always)]
fn digit<I: Item>(item: I, pass: u32) -> usize {
    (item.key() >> (pass * DIGIT)) as usize % DIGITS
}

/// Brings the first `k` of the order to the front, in order.
pub(super) fn sort_first<I: Item>(items: &mut Vec<I>, k: usize, threads: usize) {
    if k == 0 {
        return items.clear();
    }
    if k < items.len() {
        items.select_nth_unstable(k - 1);
        items.truncate(k);
        return items.sort_unstable();
    }
    sort(items, threads);
}
