//! QR factors of small matrices, reflection by reflection.
use super::small::{Rows, SMALL, Task, head, on_vectors, reflect, scale_of, scaled, unfold, vector_of};
use super::work::{Work, each};
use super::{Field, Number};
use crate::gemm::Simd;
use crate::view::{Cx, Out, View};
use gluonish_base::{Dims, Result};

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
    let mut from = Work::<T>::of_transposed(cx, a, batch)?;
    if !from.values().iter().all(|x| x.is_moderate()) {
        return Ok(None);
    }
    let mut q = Work::<T>::zeros(batch, rows, m)?;
    let mut r = Work::<T>::zeros(batch, n, rows)?;
    let (from, to_q, to_r) = (from.shared(), q.shared(), r.shared());
    each(
        cx,
        batch,
        || Ok(Reflections::new(m, n, rows)),
        |state, i| {
            // SAFETY: matrix i of each is this call's alone.
            let (a, q, r) = unsafe { (from.values(i), to_q.values_mut(i), to_r.values_mut(i)) };
            // The smallest numbers have few digits.
            let scale = scale_of(a.iter().copied());
            for k in 0..m {
                scaled(&mut state.a.flat_mut(k)[..n], &a[k * n..(k + 1) * n], scale);
            }
            on_vectors(&mut *state);
            for k in 0..m {
                q[k * rows..(k + 1) * rows].copy_from_slice(&state.q.flat(k)[..rows]);
            }
            for k in 0..m.min(n) {
                scaled(&mut r[k * n + k..(k + 1) * n], &state.a.flat(k)[k..n], 1.0 / scale);
            }
            Ok(())
        },
    )?;
    q.give_transposed(cx, outs.0)?;
    r.give_transposed(cx, outs.1)?;
    Ok(Some(()))
}

/// Memory for one factorisation after another: of A (m by n), and for Q (m by `rows`).
struct Reflections<T> {
    a: Rows<T>,
    lefts: Rows<T>,
    factors: Vec<T>,
    q: Rows<T>,
    m: usize,
    rows: usize,
}

impl<T: Number> Reflections<T> {
    fn new(m: usize, n: usize, rows: usize) -> Reflections<T> {
        let (k, q) = (m.min(n), Rows::new(m, rows));
        Reflections { a: Rows::new(m, n), lefts: Rows::new(k, m), factors: vec![T::default(); k], q, m, rows }
    }
}

/// A becomes R on and above the diagonal, Q the product of the reflections.
impl<T: Number> Task<T> for &mut Reflections<T> {
    type Out = ();

    #[inline(always)]
    fn run<S: Simd<T = T>>(self) {
        let Reflections { a, lefts, factors, q, m, rows } = self;
        let (m, width) = (*m, a.width);
        for (k, made) in factors.iter_mut().enumerate() {
            let left = lefts.flat_mut(k);
            (k..m).for_each(|i| left[i] = a.flat(i)[k]);
            let (factor, length) = head(left, k);
            *made = factor;
            for c in vector_of(k + 1)..width {
                reflect::<S>(a, c, k, &left[..m], factor);
            }
            a.flat_mut(k)[k] = T::of(length);
        }
        q.clear();
        unfold::<S>(q, (m, *rows), lefts, factors, 0);
    }
}
