//! Cholesky factors.
use super::spectral::{NOT_FINITE, is_finite};
use super::work::{Work, each, memory};
use super::{Field, in_working_type, square};
use crate::view::{Cx, Out, View};
use faer::Par;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor;
use gluonish_base::{Cause, Dims, Result};

/// The Cholesky factor of each symmetric positive definite matrix: L with `A = L L^T` (`lower`), or U with `A = U^T U`.
/// Only that triangle of A is read; the other triangle of the result is zero.
pub fn potrf(cx: &Cx, a: &View<'_>, out: &Out<'_>, lower: bool) -> Result {
    in_working_type!(out.view, potrf_of(cx, a, out, lower))
}

fn potrf_of<T: Field>(cx: &Cx, a: &View<'_>, out: &Out<'_>, lower: bool) -> Result {
    let n = square(a)?;
    if a.shape != out.view.shape {
        return Err(Cause::Shape(format!("factors of {} do not fit into {}", a.shape, out.view.shape)).into());
    }
    let batch = Dims::of(&a.shape[..a.ndim() - 2]);
    let mut work = if lower { Work::<T>::of(cx, a, &batch)? } else { Work::<T>::of_transposed(cx, a, &batch)? };
    let all = work.shared();
    let start = || memory(factor::cholesky_in_place_scratch::<T>(n, Par::Seq, Default::default()));
    each(cx, &batch, start, |buffer: &mut MemBuffer, i| {
        // SAFETY: matrix i is this call's alone.
        let mut l = unsafe { all.whole(i) };
        let made = match n {
            0 => Ok(()),
            _ => {
                let stack = MemStack::new(buffer);
                let done =
                    factor::cholesky_in_place(l.as_mut(), Default::default(), Par::Seq, stack, Default::default());
                done.map(drop)
            }
        };
        // A root of NaN is no factor either.
        let stopped = match made {
            Ok(()) => (0..n).find(|&k| !l[(k, k)].to_f64().is_finite()),
            Err(factor::LltError::NonPositivePivot { index }) => Some(index),
        };
        // NaN and infinity stay in the factor, or where it was not yet made.
        if stopped.is_some() && !is_finite(l.as_ref(), true) {
            return Err(NOT_FINITE.into());
        }
        if let Some(k) = stopped {
            return Err(format!(
                "is not positive definite: the leading minor of order {} is not positive \
                 (adding a small multiple of the identity often helps)",
                k + 1
            ));
        }
        for j in 1..n {
            l.as_mut().col_mut(j).subrows_mut(0, j).fill(T::default());
        }
        Ok(())
    })?;
    if lower { work.give(cx, out) } else { work.give_transposed(cx, out) }
}
