//! Sweeps over lines: what is added up stays in registers, and what the sweep makes is stored on the way.
#![expect(
    clippy::needless_range_loop,
    reason = "registers are told apart by constants, or they would not stay registers"
)]

use super::{WIDEST, prefetch};
use crate::dispatch::Elem;
use crate::formula::Float;
use crate::map::sweep::Vector;
use std::array::from_fn;
use std::ops::Add;

/// Values that are added up side by side, in as many registers as they take: the same on every machine, and with it the
/// bits.
const STRIP: usize = 32;
/// The most registers that these are: float64 in AVX2, or in NEON.
const MOST: usize = if cfg!(target_arch = "aarch64") { 16 } else { 8 };
/// Values that are added up before they join a total in float64.
const TILE: usize = 2048;
/// How many values ahead lines are asked for, at least: it takes as long as some hundred of them until they are there.
const AHEAD: isize = 1024;

/// What a sweep makes of `N` values: `M` values that are added up, and one that may be stored.
pub(crate) trait Terms<I: Vector, const N: usize, const M: usize>: Copy {
    const STORES: bool;
    fn of(self, i: I, x: [I::V; N]) -> ([I::V; M], I::V);
    /// Operands behind the end of a line, which must add nothing.
    fn blank(self, i: I) -> [I::V; N];
    /// Called on the way, before the `STRIP` values from `at` on.
    #[inline(always)]
    fn pass(self, _at: usize) {}
}

/// Terms that ask for what is read next on their way over a line: memory would rest while what is in the cache is gone over
/// again.
#[derive(Clone, Copy)]
pub(crate) struct Asking<F, T, const N: usize> {
    terms: F,
    next: [*const T; N],
}

impl<F, T, const N: usize> Asking<F, T, N> {
    /// Behind the lines `x` there are others, `apart` from each other.
    #[inline(always)]
    pub(crate) fn new(terms: F, x: [*const T; N], apart: [isize; N]) -> Self {
        Asking { terms, next: from_fn(|k| x[k].wrapping_offset(apart[k].max(AHEAD))) }
    }
}

impl<I: Vector, F: Terms<I, N, M>, const N: usize, const M: usize> Terms<I, N, M> for Asking<F, I::T, N> {
    const STORES: bool = F::STORES;
    #[inline(always)]
    fn of(self, i: I, x: [I::V; N]) -> ([I::V; M], I::V) {
        self.terms.of(i, x)
    }
    #[inline(always)]
    fn blank(self, i: I) -> [I::V; N] {
        self.terms.blank(i)
    }
    #[inline(always)]
    fn pass(self, at: usize) {
        self.next.iter().for_each(|p| prefetch(p.wrapping_add(at), STRIP));
    }
}

/// The sums of `terms` over `n` values of each operand; what is stored goes to `out`, which may be an operand.
///
/// # Safety
/// All operands are readable for `n` values, and `out` is writable for as many if the terms are stored.
#[inline(always)]
pub(crate) unsafe fn sweep<I, F, const N: usize, const M: usize>(
    i: I,
    x: [*const I::T; N],
    out: *mut I::T,
    n: usize,
    terms: F,
) -> [f64; M]
where
    I: Float + Vector,
    I::T: Elem + Add<Output = I::T>,
    F: Terms<I, N, M>,
{
    let count = STRIP / I::LANES;
    let mut totals = [0.0; M];
    let mut start = 0;
    while start < n {
        let end = n.min(start + TILE);
        let mut acc = [[i.c(0.0); MOST]; M];
        let mut at = start;
        while at + STRIP <= end {
            terms.pass(at);
            for k in 0..count {
                let here = at + k * I::LANES;
                // SAFETY: the strip lies before the end.
                let values = from_fn(|j| unsafe { i.load(x[j].add(here)) });
                let (sums, made) = terms.of(i, values);
                for m in 0..M {
                    acc[m][k] = i.add(acc[m][k], sums[m]);
                }
                if F::STORES {
                    // SAFETY: as above.
                    unsafe { i.store(out.add(here), made) };
                }
            }
            at += STRIP;
        }
        for k in 0..count {
            if at < end {
                let left = (end - at).min(I::LANES);
                let blank = terms.blank(i);
                // SAFETY: only what lies before the end is read.
                let values = from_fn(|j| unsafe { i.load_or(x[j].add(at), left, blank[j]) });
                let (sums, made) = terms.of(i, values);
                for m in 0..M {
                    acc[m][k] = i.add(acc[m][k], sums[m]);
                }
                if F::STORES {
                    // SAFETY: as above.
                    unsafe { i.store_up_to(out.add(at), made, left) };
                }
                at += I::LANES;
            }
        }
        for m in 0..M {
            totals[m] += halved::<I>(i, acc[m]).to_f64();
        }
        start = end;
    }
    totals
}

/// The sum of all lanes in use, by halves.
#[inline(always)]
fn halved<I: Float + Vector>(i: I, mut acc: [I::V; MOST]) -> I::T
where
    I::T: Elem + Add<Output = I::T>,
{
    let mut count = STRIP / I::LANES;
    while count > 1 {
        count /= 2;
        for k in 0..count {
            acc[k] = i.add(acc[k], acc[k + count]);
        }
    }
    let mut lanes = [I::T::default(); WIDEST];
    // SAFETY: there is room for the widest register.
    unsafe { i.store(lanes.as_mut_ptr(), acc[0]) };
    by_halves(&mut lanes[..I::LANES])
}

/// The sum of a power of two of values, by halves.
#[inline(always)]
pub(crate) fn by_halves<T: Copy + Add<Output = T>>(values: &mut [T]) -> T {
    let mut width = values.len() / 2;
    while width > 0 {
        for k in 0..width {
            values[k] = values[k] + values[k + width];
        }
        width /= 2;
    }
    values[0]
}

/// The largest of `n` values, minus infinity if there is none; what is not a number does not count.
///
/// # Safety
/// They are readable.
#[inline(always)]
pub(crate) unsafe fn largest<I: Float + Vector>(i: I, x: *const I::T, n: usize) -> I::T
where
    I::T: PartialOrd + Default,
{
    let lowest = i.c(f64::NEG_INFINITY);
    let mut acc = [lowest; MOST];
    let mut at = 0;
    // SAFETY: only what lies before the end is read; there is room for the widest register.
    unsafe {
        while at + MOST * I::LANES <= n {
            for k in 0..MOST {
                acc[k] = i.larger(i.load(x.add(at + k * I::LANES)), acc[k]);
            }
            at += MOST * I::LANES;
        }
        while at < n {
            for k in 0..MOST {
                if at < n {
                    let v = i.load_or(x.add(at), (n - at).min(I::LANES), lowest);
                    acc[k] = i.larger(v, acc[k]);
                    at += I::LANES;
                }
            }
        }
        for k in 1..MOST {
            acc[0] = i.larger(acc[k], acc[0]);
        }
        let mut lanes = [I::T::default(); WIDEST];
        i.store(lanes.as_mut_ptr(), acc[0]);
        // By halves, which are registers again; one after the other they would wait for each other.
        let mut width = I::LANES / 2;
        while width > 0 {
            for k in 0..width {
                lanes[k] = if lanes[k + width] > lanes[k] { lanes[k + width] } else { lanes[k] };
            }
            width /= 2;
        }
        lanes[0]
    }
}
