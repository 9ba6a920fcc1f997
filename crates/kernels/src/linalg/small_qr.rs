//! QR factors of matrices that fit in the nearest caches, reflection by reflection on contiguous rows: blocks of
//! reflections, which large matrices need, cost more here than they save.
use super::work::{Work as Matrices, each};
use super::{Field, Number};
use crate::gemm::{Body, Real, Simd, Work, dispatch};
use crate::view::{Cx, Out, View};
use gluonish_base::{Dims, Result};

/// Sides up to this are small.
const SMALL: usize = 128;

pub(super) fn fits(m: usize, n: usize) -> bool {
    m.max(n) <= SMALL
}

/// As `orthogonal::qr`, for matrices that `fits` says are small. `None`: squares of the values might overflow or vanish.
pub(super) fn qr<T: Field>(
    cx: &Cx,
    a: &View<'_>,
    batch: &Dims,
    (m, n, rows): (usize, usize, usize),
    outs: (&Out<'_>, &Out<'_>),
) -> Result<Option<()>> {
    // Columns of the transposed matrices are the rows.
    let mut factors = Matrices::<T>::of_transposed(cx, a, batch)?;
    if !factors.values().iter().all(|x| x.is_moderate()) {
        return Ok(None);
    }
    let mut q = Matrices::<T>::zeros(batch, rows, m)?;
    let mut r = Matrices::<T>::zeros(batch, n, rows)?;
    let (from, to_q, to_r) = (factors.shared(), q.shared(), r.shared());
    each(
        cx,
        batch,
        || Ok(()),
        |_, i| {
            // SAFETY: matrix i of each is this call's alone.
            unsafe {
                let (a, q, r) = (from.at(i, 0), to_q.at(i, 0), to_r.at(i, 0));
                dispatch::<T, _>(Reflect { a, q, m, n, rows });
                for k in 0..rows.min(m) {
                    for j in k..n {
                        *r.add(k * n + j) = *a.add(k * n + j);
                    }
                }
            }
            Ok(())
        },
    )?;
    q.give_transposed(cx, outs.0)?;
    r.give_transposed(cx, outs.1)?;
    Ok(Some(()))
}

/// A (m by n) becomes R on and above the diagonal and, below it, reflections whose first component is 1; Q (m by `rows`),
/// which is zero, becomes their product with the identity.
struct Reflect<T> {
    a: *mut T,
    q: *mut T,
    m: usize,
    n: usize,
    rows: usize,
}

impl<T: Number> Work<T> for Reflect<T> {
    type Out = ();

    unsafe fn run<S: Simd<T = T>>(self) {
        // SAFETY: the caller's.
        unsafe { S::enter(Loops::<S>(self)) }
    }
}

struct Loops<S: Simd>(Reflect<S::T>);

impl<S: Simd<T: Number>> Body for Loops<S> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let Reflect { a, q, m, n, rows } = self.0;
        let (mut factors, mut v) = ([S::T::default(); SMALL], [S::T::default(); SMALL]);
        // SAFETY: the matrices are as large as the fields say, and sides are at most `SMALL`.
        unsafe {
            for (k, factor) in factors.iter_mut().enumerate().take(m.min(n)) {
                let x = a.add(k * n + k);
                *factor = head(x, n, m - k, &mut v);
                apply::<S>(&v, *factor, x.add(1), n, (m - k, n - k - 1));
            }
            for k in 0..rows {
                *q.add(k * rows + k) = S::T::ONE;
            }
            for k in (0..m.min(n)).rev() {
                (1..m - k).for_each(|i| v[i] = *a.add((k + i) * n + k));
                apply::<S>(&v, factors[k], q.add(k * rows + k), rows, (m - k, rows - k));
            }
        }
    }
}

/// Makes the reflection that maps a column (of `m` elements, `step` apart) to a multiple of the first unit vector: the
/// multiple takes the place of the first element, the reflection those of the others, and `v`. Its factor, zero for the
/// identity.
#[inline(always)]
unsafe fn head<T: Number>(x: *mut T, step: usize, m: usize, v: &mut [T; SMALL]) -> T {
    // SAFETY: the caller vouches for the column.
    unsafe {
        let (first, mut rest) = ((*x).to_f64(), 0.0);
        for (i, v) in v.iter_mut().enumerate().take(m).skip(1) {
            *v = *x.add(i * step);
            rest += v.to_f64() * v.to_f64();
        }
        if rest == 0.0 {
            return T::default();
        }
        let length = -(first * first + rest).sqrt().copysign(first);
        let scale = T::of(1.0 / (first - length));
        for (i, v) in v.iter_mut().enumerate().take(m).skip(1) {
            *v = *v * scale;
            *x.add(i * step) = *v;
        }
        *x = T::of(length);
        T::of((length - first) / length)
    }
}

/// Applies the reflection `v` (its first component is 1, whatever stands there) with its factor to a block of m by n.
#[inline(always)]
unsafe fn apply<S: Simd<T: Number>>(
    v: &[S::T; SMALL],
    factor: S::T,
    block: *mut S::T,
    width: usize,
    (m, n): (usize, usize),
) {
    if factor == S::T::default() {
        return;
    }
    let (v, mut j) = (&v[..m], 0);
    // SAFETY: the caller vouches for the block.
    unsafe {
        while n - j >= 4 * S::LANES {
            strip::<S, 4, false>(v, factor, block.add(j), width, S::LANES);
            j += 4 * S::LANES;
        }
        while n - j >= S::LANES {
            strip::<S, 1, false>(v, factor, block.add(j), width, S::LANES);
            j += S::LANES;
        }
        if j < n {
            strip::<S, 1, true>(v, factor, block.add(j), width, n - j);
        }
    }
}

/// The same for U vectors side by side, of which the last may be a part.
#[inline(always)]
unsafe fn strip<S: Simd<T: Number>, const U: usize, const PART: bool>(
    v: &[S::T],
    factor: S::T,
    block: *mut S::T,
    width: usize,
    lanes: usize,
) {
    // SAFETY: the caller vouches for the block.
    unsafe {
        let at = |i: usize, u: usize| block.add(i * width + u * S::LANES);
        let load = |i: usize, u: usize| if PART { S::load_part(at(i, u), lanes) } else { S::load(at(i, u)) };
        let store =
            |i: usize, u: usize, x| if PART { S::store_part(at(i, u), lanes, x) } else { S::store(at(i, u), x) };
        let mut sums = [S::splat(S::T::default()); U];
        let mut others = sums;
        (0..U).for_each(|u| sums[u] = load(0, u));
        let m = v.len();
        for i in (1..m).step_by(2) {
            let x = S::splat(v[i]);
            (0..U).for_each(|u| sums[u] = S::fma(x, load(i, u), sums[u]));
            if i + 1 < m {
                let x = S::splat(v[i + 1]);
                (0..U).for_each(|u| others[u] = S::fma(x, load(i + 1, u), others[u]));
            }
        }
        let back = S::splat(S::T::MINUS_ONE * factor);
        (0..U).for_each(|u| sums[u] = S::mul(back, S::add(sums[u], others[u])));
        (0..U).for_each(|u| store(0, u, S::add(load(0, u), sums[u])));
        for (i, &x) in v.iter().enumerate().skip(1) {
            let x = S::splat(x);
            (0..U).for_each(|u| store(i, u, S::fma(x, sums[u], load(i, u))));
        }
    }
}
