//! QR factors by Householder reflections.
use super::small::scale_of;
use super::spectral::{NOT_FINITE, is_finite};
use super::work::{Shared, Work, by_columns, each, memory};
use super::{Field, in_working_type, small_qr};
use crate::view::{Cx, Out, View};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder as reflect;
use faer::linalg::qr::no_pivoting::factor;
use faer::{Conj, Mat, Par};
use gluonish_base::{Cause, Dims, Result};

/// `A = Q R` for each matrix of m by n: Q is (m, q) with orthonormal columns and R is (q, n), upper triangular. q is the
/// smaller of m and n, or m.
pub fn qr(cx: &Cx, a: &View<'_>, q_out: &Out<'_>, r_out: &Out<'_>) -> Result {
    in_working_type!(r_out.view, qr_of(cx, a, q_out, r_out))
}

/// Reflections that are applied at once.
fn block(k: usize) -> usize {
    if k >= 256 { 64 } else { 16.min(k.max(1)) }
}

/// Memory for one factorisation after another.
struct Reflections<T> {
    heads: Mat<T>,
    memory: MemBuffer,
}

impl<T: Field> Reflections<T> {
    fn new(m: usize, n: usize) -> Result<Reflections<T>> {
        let k = m.min(n);
        let req = factor::qr_in_place_scratch::<T>(m, n, block(k), Par::Seq, Default::default());
        Ok(Reflections { heads: Mat::zeros(block(k), k), memory: memory(req)? })
    }
}

fn qr_of<T: Field>(cx: &Cx, a: &View<'_>, q_out: &Out<'_>, r_out: &Out<'_>) -> Result {
    let d = a.ndim().wrapping_sub(2);
    let Some(batch) = a.shape.get(..d).map(Dims::of) else {
        return Err(Cause::Shape(format!("a matrix is needed, got shape {}", a.shape)).into());
    };
    let (m, n, rows) = (a.shape[d] as usize, a.shape[d + 1] as usize, r_out.view.shape[d] as usize);
    if small_qr::fits(m, n) && small_qr::qr::<T>(cx, a, &batch, (m, n, rows), (q_out, r_out))?.is_some() {
        return Ok(());
    }
    let mut factors = Work::<T>::of(cx, a, &batch)?;
    let mut r = Work::<T>::zeros(&batch, rows, n)?;
    let mut q = Work::<T>::zeros(&batch, m, rows)?;
    let (from, to_r, to_q) = (factors.shared(), r.shared(), q.shared());
    each(
        cx,
        &batch,
        || Reflections::<T>::new(m, n),
        |state, i| {
            // SAFETY: matrix i is this call's alone.
            if !is_finite(unsafe { from.get(i) }, false) {
                return Err(NOT_FINITE.into());
            }
            // The smallest numbers have few digits.
            // SAFETY: as above.
            let scale = scale_of(unsafe { from.values(i) }.iter().copied());
            // SAFETY: as above.
            unsafe { from.values_mut(i) }.iter_mut().for_each(|x| *x = T::of(x.to_f64() * scale));
            if m.min(n) > 0 {
                let stack = MemStack::new(&mut state.memory);
                // SAFETY: matrix i is this call's alone.
                let a = unsafe { from.whole(i) };
                factor::qr_in_place(a, state.heads.as_mut(), Par::Seq, stack, Default::default());
            }
            // SAFETY: as above.
            let (a, mut r) = unsafe { (from.get(i), to_r.whole(i)) };
            for j in 0..n {
                (0..rows.min(j + 1)).for_each(|k| r[(k, j)] = T::of(a[(k, j)].to_f64() / scale));
            }
            unfold(cx, &from, &state.heads, &to_q, i, (m, n, rows)).map_err(|e| e.to_string())
        },
    )?;
    q.give(cx, q_out)?;
    r.give(cx, r_out)
}

/// The reflections applied to columns of the identity: the columns of Q.
fn unfold<T: Field>(
    cx: &Cx,
    from: &Shared<T>,
    heads: &Mat<T>,
    to: &Shared<T>,
    i: usize,
    (m, n, cols): (usize, usize, usize),
) -> Result {
    by_columns(cx, cols, |range| {
        // SAFETY: the factors are only read, and these columns are this call's alone.
        let (a, mut q) = unsafe { (from.get(i), to.columns(i, range.clone())) };
        range.clone().enumerate().for_each(|(j, k)| q[(k, j)] = T::ONE);
        let k = m.min(n);
        if k == 0 {
            return Ok(());
        }
        let req = reflect::apply_block_householder_sequence_on_the_left_in_place_scratch::<T>(m, block(k), range.len());
        let mut memory = memory(req)?;
        let stack = MemStack::new(&mut memory);
        let basis = a.subcols(0, k);
        let heads = heads.as_ref();
        reflect::apply_block_householder_sequence_on_the_left_in_place_with_conj(
            basis,
            heads,
            Conj::No,
            q,
            Par::Seq,
            stack,
        );
        Ok(())
    })
}
