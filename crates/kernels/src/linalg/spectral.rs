//! Eigenvalues of symmetric matrices, and singular values. The sign of a vector is free: each gets the one that makes
//! its largest component positive, so that it does not depend on the instruction set.
use super::work::{Shared, Work, each, memory};
use super::{Field, in_working_type, square};
use crate::view::{Cx, Out, View};
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{self, ComputeEigenvectors};
use faer::linalg::svd::{self, ComputeSvdVectors};
use faer::{Auto, MatMut, MatRef, Par};
use gluonish_base::{Cause, Dims, Result};

/// Matrices above this size are cut in two.
const RECURSE: usize = 64;

/// Eigenvalues in ascending order and, as columns of `vectors`, eigenvectors. Only the lower triangle of A is read.
pub fn eigh(cx: &Cx, a: &View<'_>, values: &Out<'_>, vectors: &Out<'_>) -> Result {
    in_working_type!(values.view, eigh_of(cx, a, values, Some(vectors)))
}

/// Eigenvalues alone.
pub fn eigvalsh(cx: &Cx, a: &View<'_>, values: &Out<'_>) -> Result {
    in_working_type!(values.view, eigh_of(cx, a, values, None))
}

/// `A = U diag(s) Vt`: singular values in descending order. U and Vt are as large as the outputs.
pub fn svd(cx: &Cx, a: &View<'_>, u: &Out<'_>, s: &Out<'_>, vt: &Out<'_>) -> Result {
    in_working_type!(s.view, svd_of(cx, a, s, Some((u, vt))))
}

/// Singular values alone.
pub fn singular_values(cx: &Cx, a: &View<'_>, s: &Out<'_>) -> Result {
    in_working_type!(s.view, svd_of(cx, a, s, None))
}

/// The pseudoinverse; singular values up to `cutoff` times the largest count as zero.
pub fn pinv(cx: &Cx, a: &View<'_>, cutoff: Option<f64>, out: &Out<'_>) -> Result {
    in_working_type!(out.view, pinv_of(cx, a, cutoff, out))
}

const NOT_FINITE: &str = "holds NaN or infinity";

fn is_finite<T: Field>(a: MatRef<'_, T>, lower: bool) -> bool {
    (0..a.ncols()).all(|j| (if lower { j } else { 0 }..a.nrows()).all(|i| a[(i, j)].to_f64().is_finite()))
}

/// The batch axes, rows and columns of a view.
fn matrices(a: &View<'_>) -> Result<(Dims, usize, usize)> {
    let d = a.ndim().wrapping_sub(2);
    match a.shape.get(..d) {
        Some(batch) => Ok((Dims::of(batch), a.shape[d] as usize, a.shape[d + 1] as usize)),
        None => Err(Cause::Shape(format!("a matrix is needed, got shape {}", a.shape)).into()),
    }
}

/// Whether the largest component of a column is negative; the first of equal ones counts.
fn points_down<T: Field>(a: MatRef<'_, T>, col: usize) -> bool {
    let mut largest = T::default();
    for i in 0..a.nrows() {
        if a[(i, col)].to_f64().abs() > largest.to_f64().abs() {
            largest = a[(i, col)];
        }
    }
    largest < T::default()
}

fn turn<T: Field>(a: &mut MatMut<'_, T>, col: usize) {
    (0..a.nrows()).for_each(|i| a[(i, col)] *= T::MINUS_ONE);
}

/// Stores the columns of one-column matrices into an output of vectors.
fn give_vectors<T: Field>(cx: &Cx, work: &mut Work<T>, out: &Out<'_>) -> Result {
    let (mut shape, mut strides) = (*out.view.shape, *out.view.strides);
    shape.push(1);
    strides.push(1);
    work.give(cx, &Out { view: View { shape: &shape, strides: &strides, ..out.view }, mode: out.mode })
}

/// A work matrix of one column as the diagonal that `faer` writes.
///
/// # Safety
/// Nobody else uses the column.
unsafe fn diagonal<'a, T: Field>(s: &Shared<T>, i: usize) -> DiagMut<'a, T> {
    // SAFETY: the caller's.
    unsafe { s.whole(i) }.col_mut(0).as_diagonal_mut()
}

fn eigh_of<T: Field>(cx: &Cx, a: &View<'_>, values: &Out<'_>, vectors: Option<&Out<'_>>) -> Result {
    let n = square(a)?;
    if n == 0 || a.size == 0 {
        return Ok(());
    }
    let (batch, ..) = matrices(a)?;
    let mut from = Work::<T>::of(cx, a, &batch)?;
    let mut w = Work::<T>::zeros(&batch, n, 1)?;
    let mut v = match vectors {
        Some(_) => Some(Work::<T>::zeros(&batch, n, n)?),
        None => None,
    };
    let mut params = <evd::SelfAdjointEvdParams as Auto<T>>::auto();
    params.recursion_threshold = RECURSE;
    let kind = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let start = || memory(evd::self_adjoint_evd_scratch::<T>(n, kind, Par::Seq, params.into()));
    let (from, to_w, to_v) = (from.shared(), w.shared(), v.as_mut().map(Work::shared));
    each(cx, &batch, start, |buffer: &mut MemBuffer, i| {
        // SAFETY: matrix i of each is this call's alone.
        let (a, w, mut v) = unsafe { (from.get(i), diagonal(&to_w, i), to_v.map(|v| v.whole(i))) };
        if !is_finite(a, true) {
            return Err(NOT_FINITE.into());
        }
        evd::self_adjoint_evd(a, w, v.as_mut().map(|v| v.as_mut()), Par::Seq, MemStack::new(buffer), params.into())
            .map_err(|_| "has eigenvalues that did not converge".to_string())?;
        if let Some(v) = &mut v {
            (0..n).for_each(|j| {
                if points_down(v.as_ref(), j) {
                    turn(v, j)
                }
            });
        }
        Ok(())
    })?;
    if let (Some(v), Some(out)) = (&mut v, vectors) {
        v.give(cx, out)?;
    }
    give_vectors(cx, &mut w, values)
}

/// What `faer` needs for matrices of this size.
struct Svd {
    kind: ComputeSvdVectors,
    params: svd::SvdParams,
}

impl Svd {
    fn new<T: Field>(kind: ComputeSvdVectors) -> Svd {
        let mut params = <svd::SvdParams as Auto<T>>::auto();
        params.recursion_threshold = RECURSE;
        Svd { kind, params }
    }
    fn memory<T: Field>(&self, m: usize, n: usize) -> Result<MemBuffer> {
        memory(svd::svd_scratch::<T>(m, n, self.kind, self.kind, Par::Seq, self.params.into()))
    }
    fn run<T: Field>(
        &self,
        a: MatRef<'_, T>,
        s: DiagMut<'_, T>,
        uv: Option<(MatMut<'_, T>, MatMut<'_, T>)>,
        buffer: &mut MemBuffer,
    ) -> Result<(), String> {
        if !is_finite(a, false) {
            return Err(NOT_FINITE.into());
        }
        let (mut u, mut v) = uv.unzip();
        let (to_u, to_v) = (u.as_mut().map(|u| u.as_mut()), v.as_mut().map(|v| v.as_mut()));
        svd::svd(a, s, to_u, to_v, Par::Seq, MemStack::new(buffer), self.params.into())
            .map_err(|_| "has singular values that did not converge".to_string())?;
        if let (Some(u), Some(v)) = (&mut u, &mut v) {
            orient(u, v);
        }
        Ok(())
    }
}

/// Vectors of U that have a partner in V are turned together with it.
fn orient<T: Field>(u: &mut MatMut<'_, T>, v: &mut MatMut<'_, T>) {
    let pairs = u.ncols().min(v.ncols());
    for j in 0..u.ncols() {
        if points_down(u.as_ref(), j) {
            turn(u, j);
            if j < pairs {
                turn(v, j);
            }
        }
    }
    for j in pairs..v.ncols() {
        if points_down(v.as_ref(), j) {
            turn(v, j);
        }
    }
}

fn svd_of<T: Field>(cx: &Cx, a: &View<'_>, s: &Out<'_>, uv: Option<(&Out<'_>, &Out<'_>)>) -> Result {
    let (batch, m, n) = matrices(a)?;
    let k = m.min(n);
    let (cols_u, cols_v) = uv.map_or((0, 0), |(u, vt)| {
        let d = batch.len();
        (u.view.shape[d + 1] as usize, vt.view.shape[d] as usize)
    });
    let kind = match uv {
        None => ComputeSvdVectors::No,
        Some(_) if (cols_u, cols_v) == (k, k) => ComputeSvdVectors::Thin,
        Some(_) => ComputeSvdVectors::Full,
    };
    let (plan, with_vectors) = (Svd::new::<T>(kind), uv.is_some());
    let mut from = Work::<T>::of(cx, a, &batch)?;
    let mut to_s = Work::<T>::zeros(&batch, k, 1)?;
    let (mut u, mut v) = (Work::<T>::zeros(&batch, m, cols_u)?, Work::<T>::zeros(&batch, n, cols_v)?);
    let (from, all_s, all_u, all_v) = (from.shared(), to_s.shared(), u.shared(), v.shared());
    each(
        cx,
        &batch,
        || plan.memory::<T>(m, n),
        |buffer, i| {
            // SAFETY: matrix i of each is this call's alone.
            let (a, s, u, v) = unsafe { (from.get(i), diagonal(&all_s, i), all_u.whole(i), all_v.whole(i)) };
            if k > 0 {
                return plan.run(a, s, with_vectors.then_some((u, v)), buffer);
            }
            // Without values any basis will do.
            for mut basis in [u, v] {
                (0..basis.ncols()).for_each(|j| basis[(j, j)] = T::ONE);
            }
            Ok(())
        },
    )?;
    if let Some((u_out, vt_out)) = uv {
        u.give(cx, u_out)?;
        v.give_transposed(cx, vt_out)?;
    }
    give_vectors(cx, &mut to_s, s)
}

fn pinv_of<T: Field>(cx: &Cx, a: &View<'_>, cutoff: Option<f64>, out: &Out<'_>) -> Result {
    let (batch, m, n) = matrices(a)?;
    let k = m.min(n);
    let cutoff = cutoff.unwrap_or(m.max(n) as f64 * T::EPSILON);
    let plan = Svd::new::<T>(ComputeSvdVectors::Thin);
    let mut from = Work::<T>::of(cx, a, &batch)?;
    let mut values = Work::<T>::zeros(&batch, k, 1)?;
    let (mut u, mut v) = (Work::<T>::zeros(&batch, m, k)?, Work::<T>::zeros(&batch, n, k)?);
    let mut result = Work::<T>::zeros(&batch, n, m)?;
    let (from, all_s, all_u, all_v, to) = (from.shared(), values.shared(), u.shared(), v.shared(), result.shared());
    each(
        cx,
        &batch,
        || plan.memory::<T>(m, n),
        |buffer, i| {
            if k == 0 {
                return Ok(());
            }
            // SAFETY: matrix i of each is this call's alone.
            let (a, s, u, v) = unsafe { (from.get(i), diagonal(&all_s, i), all_u.whole(i), all_v.whole(i)) };
            plan.run(a, s, Some((u, v)), buffer)?;
            // SAFETY: as above, now that they are filled.
            let (s, u, mut v, to) = unsafe { (all_s.get(i), all_u.get(i), all_v.whole(i), to.whole(i)) };
            let least = cutoff * s[(0, 0)].to_f64();
            for j in 0..k {
                let factor = if s[(j, 0)].to_f64() > least { T::ONE / s[(j, 0)] } else { T::default() };
                (0..n).for_each(|r| v[(r, j)] *= factor);
            }
            faer::linalg::matmul::matmul(to, faer::Accum::Replace, v.as_ref(), u.transpose(), T::ONE, Par::Seq);
            Ok(())
        },
    )?;
    result.give(cx, out)
}
