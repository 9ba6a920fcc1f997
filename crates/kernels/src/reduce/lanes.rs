//! The two loops that reductions are made of: along a line of elements, and row by row into columns.
use super::fold::{Acc, Fold};
use crate::per_isa;

/// Elements folded at once: four vectors of the widest registers for float32, so that additions do not wait for each
/// other. The same on every machine, and with it the bits.
pub(super) const LANES: usize = 64;
/// Elements that are folded before they join a running total: error grows with n / TILE.
pub(crate) const TILE: usize = 1024;

/// Results so far, each of every 64th element. They are joined only when there are no more elements.
pub(super) type Lanes<A> = [A; LANES];

/// An element that counts as an `A`.
pub(crate) trait Widen<A>: Copy + Default + Send + Sync + 'static {
    fn widen(from: &[Self; LANES]) -> Lanes<A>;
}

impl<A: Acc> Widen<A> for A {
    #[inline(always)]
    fn widen(from: &[A; LANES]) -> Lanes<A> {
        *from
    }
}

/// A float16 on a processor that converts it. Made only by `Source`, which asks for such a processor first.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub(crate) struct Half(u16);

impl<A: Acc> Widen<A> for Half {
    #[inline(always)]
    fn widen(from: &[Half; LANES]) -> Lanes<A> {
        let mut wide = [0f32; LANES];
        #[cfg(target_arch = "x86_64")]
        for (to, from) in wide.as_chunks_mut::<8>().0.iter_mut().zip(from.as_chunks::<8>().0) {
            use std::arch::x86_64::{_mm_loadu_si128, _mm256_cvtph_ps, _mm256_storeu_ps};
            // SAFETY: both sides hold eight elements, and where there is a `Half`, there is F16C.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr(), _mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().cast()))) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        wide.iter_mut().zip(from).for_each(|(to, from)| *to = half::f16::from_bits(from.0).to_f32());
        let mut out = [A::default(); LANES];
        out.iter_mut().zip(wide).for_each(|(to, from)| *to = A::from_f32(from));
        out
    }
}

/// Joins elements to the lanes, tile by tile. Whether there is a NaN among them that `F` must be told of.
#[inline(always)]
fn add<A: Acc, F: Fold<A>, T: Widen<A>>(x: &[T], total: &mut Lanes<A>, join: impl Fn(A, A) -> A) -> bool {
    let mut nan = false;
    for tile in x.chunks(TILE) {
        let mut acc = [F::START; LANES];
        let mut step = |new: Lanes<A>| {
            acc.iter_mut().zip(new).for_each(|(a, v)| *a = join(*a, v));
            nan |= F::WATCH && has_nan(&new);
        };
        let (blocks, tail) = tile.as_chunks::<LANES>();
        for block in blocks {
            let mut new = T::widen(block);
            new.iter_mut().for_each(|v| *v = F::lift(*v));
            step(new);
        }
        if let Some(&one) = tail.first() {
            // The last 64 elements, where they lie if there are as many; what is counted already counts again only where
            // that makes no difference.
            let counted = LANES - tail.len();
            let block = tile.last_chunk().copied().unwrap_or_else(|| {
                let mut block = [one; LANES];
                block[counted..].copy_from_slice(tail);
                block
            });
            let mut new = T::widen(&block);
            let is_new = |i: usize| F::AGAIN || i >= counted;
            let lift = |(i, v): (usize, &mut A)| *v = if is_new(i) { F::lift(*v) } else { F::START };
            new.iter_mut().enumerate().for_each(lift);
            step(new);
        }
        total.iter_mut().zip(acc).for_each(|(t, a)| *t = join(*t, a));
    }
    nan
}

/// All are looked at: that is quicker than to stop at the first.
#[inline(always)]
fn has_nan<A: Acc>(x: &[A]) -> bool {
    x.iter().fold(false, |nan, v| nan | v.is_nan())
}

#[inline(always)]
fn across<A: Acc>(mut lanes: Lanes<A>, join: impl Fn(A, A) -> A) -> A {
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = join(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Quickly, and once more with care if that met a NaN.
#[inline(always)]
pub(super) fn line<A: Acc, F: Fold<A>, T: Widen<A>>(x: &[T]) -> A {
    let mut lanes = [F::START; LANES];
    if !add::<A, F, T>(x, &mut lanes, F::quick) {
        return across(lanes, F::quick);
    }
    lanes = [F::START; LANES];
    add::<A, F, T>(x, &mut lanes, F::join);
    across(lanes, F::join)
}

per_isa! {
    /// Folds elements that follow each other.
    pub(crate) fn fold_line[A: Acc, F: Fold<A>, T: Widen<A>](x: &[T]) -> A {
        line::<A, F, T>(x)
    }
}

/// Folds a tile.
pub(crate) fn fold_tile<A: Acc, F: Fold<A>>(x: &[A]) -> A {
    fold_line::<A, F, A>(x)
}

per_isa! {
    /// Folds each of many short rows that follow each other, as `fold_line` would.
    pub(super) fn fold_each[A: Acc, F: Fold<A>, T: Widen<A>](x: &[T], row: usize, to: &mut [A]) {
        for (t, r) in to.iter_mut().zip(x.chunks_exact(row)) {
            *t = line::<A, F, T>(r);
        }
    }
}

per_isa! {
    /// Joins one tile to the lanes: `fold_line` for elements that come in pieces, with the same bits.
    pub(super) fn add_tile[A: Acc, F: Fold<A>](x: &[A], lanes: &mut Lanes<A>) {
        add::<A, F, A>(x, lanes, F::join);
    }
}

/// What the lanes of a line come to.
pub(super) fn join_lanes<A: Acc, F: Fold<A>>(lanes: Lanes<A>) -> A {
    across(lanes, F::join)
}

#[inline(always)]
fn add_quad<A: Acc, F: Fold<A>>(acc: &mut [A], [a, b, c, d]: [&[A]; 4], join: impl Fn(A, A) -> A) {
    // Slices cut to one length here, so that the loop has no bounds to check.
    let n = acc.len();
    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
    for i in 0..n {
        let (left, right) = (join(F::lift(a[i]), F::lift(b[i])), join(F::lift(c[i]), F::lift(d[i])));
        acc[i] = join(acc[i], join(left, right));
    }
}

per_isa! {
    /// Folds rows into an accumulator of columns, each row as long as the accumulator.
    pub(crate) fn fold_rows[A: Acc, F: Fold<A>](acc: &mut [A], rows: &[&[A]]) {
        let (quads, rest) = rows.as_chunks::<4>();
        for quad in quads {
            if F::WATCH && (has_nan(acc) || quad.iter().any(|row| has_nan(row))) {
                add_quad::<A, F>(acc, *quad, F::join);
            } else {
                add_quad::<A, F>(acc, *quad, F::quick);
            }
        }
        for r in rest {
            for (a, v) in acc.iter_mut().zip(*r) {
                *a = F::join(*a, F::lift(*v));
            }
        }
    }
}
