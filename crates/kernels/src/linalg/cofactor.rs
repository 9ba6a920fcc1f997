//! Cofactor matrices, which are the gradients of determinants.
use super::lu::{Determinant, Factor, Pivots};
use super::spectral::{Svd, diagonal, is_finite};
use super::work::{Shared, Work, each, memory};
use super::{Field, in_working_type, square};
use crate::view::{Cx, Out, View};
use faer::Par;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::solve as solver;
use gluonish_base::{Cause, Dims, Result};

/// The matrix of cofactors of each matrix: `det(A) A^-T`, and where that has no value, its limit.
pub fn cofactors(cx: &Cx, a: &View<'_>, out: &Out<'_>) -> Result {
    in_working_type!(out.view, cofactors_of(cx, a, out))
}

fn cofactors_of<T: Field>(cx: &Cx, a: &View<'_>, out: &Out<'_>) -> Result {
    let n = square(a)?;
    if a.shape != out.view.shape {
        return Err(Cause::Shape(format!("cofactors of {} do not fit into {}", a.shape, out.view.shape)).into());
    }
    if out.view.size == 0 {
        return Ok(());
    }
    let batch = Dims::of(&a.shape[..a.ndim() - 2]);
    let mut factors = Work::<T>::of(cx, a, &batch)?;
    let mut inverses = Work::<T>::zeros(&batch, n, n)?;
    let (lu, to) = (factors.shared(), inverses.shared());
    let mut whole = Work::<T>::of(cx, a, &batch)?;
    let from = whole.shared();
    each(
        cx,
        &batch,
        || Ok((Factor::new::<T>(n)?, memory(solver::solve_in_place_scratch::<usize, T>(n, n, Par::Seq))?)),
        |(factor, buffer), i| {
            // SAFETY: matrix i of each is this call's alone.
            let Some(determinant) = (unsafe { inverse(factor, buffer, &lu, &to, i, n) }) else {
                // SAFETY: as above.
                let (a, mut to_fill) = unsafe { (from.get(i), to.whole(i)) };
                if !is_finite(a, false) {
                    to_fill.fill(T::of(f64::NAN)); // as determinants are
                    return Ok(());
                }
                // SAFETY: as above.
                return unsafe { of_singular(factor, &from, &to, i, n) };
            };
            // SAFETY: as above.
            let mut to = unsafe { to.whole(i) };
            for j in 0..n {
                (0..n).for_each(|k| to[(k, j)] = T::of(determinant.times(to[(k, j)].to_f64())));
            }
            Ok(())
        },
    )?;
    // What was solved for is the inverse.
    inverses.give_transposed(cx, out)
}

/// The determinant of matrix `i`, and its inverse in `to`. `None`: a pivot is zero, or too small to divide by.
///
/// # Safety
/// Nobody else uses matrix `i` of `lu` and `to`.
unsafe fn inverse<T: Field>(
    factor: &mut Factor,
    buffer: &mut MemBuffer,
    lu: &Shared<T>,
    to: &Shared<T>,
    i: usize,
    n: usize,
) -> Option<Determinant> {
    // SAFETY: the caller's; the factors are only read once they are made.
    unsafe {
        let (exchanges, perm) = factor.run(lu, i);
        let (lu, mut x) = (lu.get(i), to.whole(i));
        let Pivots::Fine = Pivots::of(lu) else { return None };
        (0..n).for_each(|k| x[(k, k)] = T::ONE);
        solver::solve_in_place(lu, lu, perm, x, Par::Seq, MemStack::new(buffer));
        Some(Determinant::of(exchanges, (0..n).map(|k| lu[(k, k)])))
    }
}

/// With `A = U diag(s) V^T`, the cofactors are `det(U) det(V) U diag(c) V^T`, where each `c` is the product of the other
/// singular values. Leaves them transposed in `to`.
///
/// # Safety
/// Nobody else uses matrix `i` of `from` and `to`.
unsafe fn of_singular<T: Field>(
    factor: &mut Factor,
    from: &Shared<T>,
    to: &Shared<T>,
    i: usize,
    n: usize,
) -> Result<(), String> {
    let text = |e: gluonish_base::Error| e.to_string();
    let mut svd = Svd::<T>::new((n, n), (n, n)).map_err(text)?;
    let one = Dims::EMPTY;
    let mut values = Work::<T>::zeros(&one, n, 1).map_err(text)?;
    let mut bases = [Work::<T>::zeros(&one, n, n).map_err(text)?, Work::<T>::zeros(&one, n, n).map_err(text)?];
    let s = values.shared();
    let [u, v] = bases.each_mut().map(Work::shared);
    // SAFETY: the work space is this call's, and so are the matrices, by the caller's promise.
    unsafe {
        svd.run(from.get(i), diagonal(&s, 0), Some((u.whole(0), v.whole(0))))?;
        let mut sign = 1.0;
        for basis in [&u, &v] {
            // The matrix itself is no longer needed: its memory takes the factors.
            from.whole(i).copy_from(basis.get(0));
            let exchanges = factor.run(from, i).0;
            let pivots = from.get(i);
            sign *= Determinant::of(exchanges, (0..n).map(|k| pivots[(k, k)])).sign();
        }
        let (s, mut scaled) = (s.get(0), u.whole(0));
        for j in 0..n {
            let others = Determinant::of(0, (0..n).filter(|k| *k != j).map(|k| s[(k, 0)])).times(sign);
            (0..n).for_each(|k| scaled[(k, j)] = T::of(scaled[(k, j)].to_f64() * others));
        }
        let (scaled, v) = (scaled.as_ref(), v.get(0));
        faer::linalg::matmul::matmul(to.whole(i), faer::Accum::Replace, v, scaled.transpose(), T::ONE, Par::Seq);
    }
    Ok(())
}
