//! Eigenvalues of symmetric matrices, and singular values. The sign of a vector is free: each gets the one that makes
//! its largest component positive, so that it does not depend on the instruction set.
use super::small::{SMALL, scale_of};
use super::small_eigh::SmallEigen;
use super::small_svd::SmallSvd;
use super::work::{Shared, Work, by_columns, each, memory};
use super::{Field, in_working_type, square};
use crate::view::{Cx, Out, View};
use faer::diag::{DiagMut, DiagRef};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{self, ComputeEigenvectors};
use faer::linalg::householder as reflect;
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::linalg::svd::{self, ComputeSvdVectors};
use faer::{Auto, Conj, Mat, MatMut, MatRef, Par};
use gluonish_base::{Cause, DType, Dims, Result};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

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

pub(super) const NOT_FINITE: &str = "holds NaN or infinity";

/// Whether a matrix, or its lower triangle alone, holds nothing but numbers.
pub(super) fn is_finite<T: Field>(a: MatRef<'_, T>, lower: bool) -> bool {
    let finite = |x: &T| x.to_f64().is_finite();
    (0..a.ncols()).all(|j| match a.col(j).try_as_col_major() {
        Some(col) => col.as_slice()[if lower { j } else { 0 }..].iter().all(finite),
        None => a.col(j).iter().all(finite),
    })
}

/// The batch axes, rows and columns of a view.
fn matrices(a: &View<'_>) -> Result<(Dims, usize, usize)> {
    let d = a.ndim().wrapping_sub(2);
    match a.shape.get(..d) {
        Some(batch) => Ok((Dims::of(batch), a.shape[d] as usize, a.shape[d + 1] as usize)),
        None => Err(Cause::Shape(format!("a matrix is needed, got shape {}", a.shape)).into()),
    }
}

/// Gives a vector the sign that makes its largest component (the first of equal ones) positive; whether it was turned.
fn point_up<T: Field>(v: &mut [T]) -> bool {
    let (mut largest, mut size) = (T::default(), T::default());
    for &x in v.iter() {
        let far = if x < T::default() { x * T::MINUS_ONE } else { x };
        (largest, size) = if far > size { (x, far) } else { (largest, size) };
    }
    if largest < T::default() {
        turn(v);
        return true;
    }
    false
}

/// A column of a matrix that lies column after column.
pub(super) fn column<'a, T: Field>(a: &'a mut MatMut<'_, T>, j: usize) -> &'a mut [T] {
    a.as_mut().col_mut(j).try_as_col_major_mut().map(|col| col.as_slice_mut()).unwrap_or_default()
}

pub(super) fn turn<T: Field>(v: &mut [T]) {
    v.iter_mut().for_each(|x| *x *= T::MINUS_ONE);
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
pub(super) unsafe fn diagonal<'a, T: Field>(s: &Shared<T>, i: usize) -> DiagMut<'a, T> {
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
    let with_vectors = vectors.is_some();
    let (from, to_w, to_v) = (from.shared(), w.shared(), v.as_mut().map(Work::shared));
    let finite = |i| {
        // SAFETY: matrix i of each is used by the call for i alone.
        let a = unsafe { from.get(i) };
        if is_finite(a, true) { Ok(()) } else { Err(NOT_FINITE.to_string()) }
    };
    // The digits of float32 do not suffice for every matrix.
    let too_short = AtomicBool::new(false);
    let converged = |yes: bool| match T::DTYPE {
        _ if yes => Ok(()),
        DType::F64 => Err("has eigenvalues that did not converge".to_string()),
        _ => {
            too_short.store(true, Relaxed);
            Ok(())
        }
    };
    if n <= SMALL {
        let start = || Ok(SmallEigen::<T>::new(n, with_vectors));
        each(cx, &batch, start, |state, i| {
            finite(i)?;
            // SAFETY: as above.
            let (a, w, v) = unsafe { (from.values(i), to_w.values_mut(i), to_v.map(|v| v.values_mut(i))) };
            let v = v.unwrap_or_default();
            converged(state.run(a, w, v))?;
            for v in v.chunks_exact_mut(n) {
                point_up(v);
            }
            Ok(())
        })?;
    } else {
        let start = || Eigen::<T>::new(n, with_vectors);
        each(cx, &batch, start, |state, i| {
            finite(i)?;
            // SAFETY: as above.
            let (mut a, mut w) = unsafe { (from.whole(i), diagonal(&to_w, i)) };
            // What counts as small in `faer` is meant for numbers near 1.
            let scale = scale_of((0..n).flat_map(|j| (j..n).map(move |k| (k, j))).map(|at| a[at]));
            for j in 0..n {
                column(&mut a, j)[j..].iter_mut().for_each(|x| *x = T::of(x.to_f64() * scale));
            }
            state.reduce(a);
            // SAFETY: as above.
            let v = unsafe { to_v.map(|v| v.whole(i)) };
            converged(state.solve(w.as_mut(), v).is_ok())?;
            (0..n).for_each(|k| w[k] = T::of(w[k].to_f64() / scale));
            match to_v {
                Some(v) => state.turn_back(cx, &from, &v, i).map_err(|e| e.to_string()),
                None => Ok(()),
            }
        })?;
    }
    if too_short.into_inner() {
        return eigh_of::<f64>(cx, a, values, vectors);
    }
    if let (Some(v), Some(out)) = (&mut v, vectors) {
        v.give(cx, out)?;
    }
    give_vectors(cx, &mut w, values)
}

/// A symmetric matrix is reduced to three diagonals by reflections, whose eigenvectors are then reflected back: the last
/// part is shared among threads by columns.
struct Eigen<T> {
    heads: Mat<T>,
    main: Vec<T>,
    below: Vec<T>,
    params: evd::SelfAdjointEvdParams,
    memory: MemBuffer,
}

impl<T: Field> Eigen<T> {
    fn new(n: usize, vectors: bool) -> Result<Eigen<T>> {
        let mut params = <evd::SelfAdjointEvdParams as Auto<T>>::auto();
        params.recursion_threshold = T::RECURSE;
        let kind = if vectors { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
        let memory = memory(evd::self_adjoint_evd_scratch::<T>(n, kind, Par::Seq, params.into()))?;
        let block = recommended_block_size::<T>(n, n);
        Ok(Eigen {
            heads: Mat::zeros(block, n - 1),
            main: vec![T::default(); n],
            below: vec![T::default(); n],
            params,
            memory,
        })
    }

    fn reduce(&mut self, mut a: MatMut<'_, T>) {
        let n = a.nrows();
        if n > 1 {
            let stack = MemStack::new(&mut self.memory);
            evd::tridiag::tridiag_in_place(
                a.as_mut(),
                self.heads.as_mut(),
                Par::Seq,
                stack,
                self.params.tridiag.into(),
            );
        }
        for k in 0..n {
            self.main[k] = a[(k, k)];
            self.below[k] = if k + 1 < n { a[(k + 1, k)] } else { T::default() };
        }
    }

    fn solve(&mut self, w: DiagMut<'_, T>, v: Option<MatMut<'_, T>>) -> Result<(), evd::EvdError> {
        let stack = MemStack::new(&mut self.memory);
        let (main, below) = (DiagRef::from_slice(&self.main), DiagRef::from_slice(&self.below));
        evd::tridiagonal_self_adjoint_evd(main, below, w, v, Par::Seq, stack, self.params.into())
    }

    /// The eigenvectors of the three diagonals become those of the matrix.
    fn turn_back(&self, cx: &Cx, from: &Shared<T>, to: &Shared<T>, i: usize) -> Result {
        let n = self.main.len();
        by_columns(cx, n, |range| {
            // SAFETY: the reflections are only read, and these columns are this call's alone.
            let (a, mut v) = unsafe { (from.get(i), to.columns(i, range.clone())) };
            if n > 1 {
                let block = self.heads.nrows();
                let req = reflect::apply_block_householder_sequence_on_the_left_in_place_scratch::<T>(
                    n - 1,
                    block,
                    range.len(),
                );
                let mut memory = memory(req)?;
                reflect::apply_block_householder_sequence_on_the_left_in_place_with_conj(
                    a.submatrix(1, 0, n - 1, n - 1),
                    self.heads.as_ref(),
                    Conj::No,
                    v.as_mut().subrows_mut(1, n - 1),
                    Par::Seq,
                    MemStack::new(&mut memory),
                );
            }
            for j in 0..range.len() {
                point_up(column(&mut v, j));
            }
            Ok(())
        })
    }
}

/// Memory for the singular values of one matrix after another.
pub(super) enum Svd<T> {
    Small(Box<SmallSvd<T>>),
    Large(svd::SvdParams, MemBuffer),
}

impl<T: Field> Svd<T> {
    /// For matrices of m by n, with `cols` as many left and right vectors.
    pub(super) fn new((m, n): (usize, usize), cols: (usize, usize)) -> Result<Svd<T>> {
        if m.max(n) <= SMALL && m.min(n) > 0 {
            return Ok(Svd::Small(SmallSvd::new((m, n), cols).into()));
        }
        // Values alone take no longer by rotations.
        Svd::large((m, n), cols, if cols == (0, 0) { usize::MAX } else { T::RECURSE })
    }

    /// By `faer`. Problems that are smaller than `recurse` are solved by rotations: slower, but right where those that are
    /// cut in two are not, as for values that are equal.
    fn large((m, n): (usize, usize), cols: (usize, usize), recurse: usize) -> Result<Svd<T>> {
        let k = m.min(n);
        let kind = match cols {
            (0, 0) => ComputeSvdVectors::No,
            cols if cols == (k, k) => ComputeSvdVectors::Thin,
            _ => ComputeSvdVectors::Full,
        };
        let mut params = <svd::SvdParams as Auto<T>>::auto();
        params.recursion_threshold = recurse;
        Ok(Svd::Large(params, memory(svd::svd_scratch::<T>(m, n, kind, kind, Par::Seq, params.into()))?))
    }

    pub(super) fn run(
        &mut self,
        a: MatRef<'_, T>,
        mut s: DiagMut<'_, T>,
        uv: Option<(MatMut<'_, T>, MatMut<'_, T>)>,
    ) -> Result<(), String> {
        if !is_finite(a, false) {
            return Err(NOT_FINITE.into());
        }
        let (mut u, mut v) = uv.unzip();
        let (to_u, to_v) = (u.as_mut().map(|u| u.as_mut()), v.as_mut().map(|v| v.as_mut()));
        let made = match self {
            Svd::Small(state) => state.run(a, s.as_mut(), to_u.zip(to_v)),
            Svd::Large(params, buffer) => {
                // What counts as small in `faer` is meant for numbers near 1.
                let scale = scale_of((0..a.ncols()).flat_map(|j| (0..a.nrows()).map(move |i| (i, j))).map(|at| a[at]));
                let scaled = Mat::from_fn(a.nrows(), a.ncols(), |i, j| T::of(a[(i, j)].to_f64() * scale));
                let stack = MemStack::new(buffer);
                let done = svd::svd(scaled.as_ref(), s.as_mut(), to_u, to_v, Par::Seq, stack, (*params).into()).is_ok();
                let count = a.nrows().min(a.ncols());
                let sound = done
                    && (1..count).all(|k| s[k - 1] >= s[k])
                    && match (&u, &v) {
                        (Some(u), Some(v)) => {
                            is_orthonormal(u.as_ref())
                                && is_orthonormal(v.as_ref())
                                && is_product(scaled.as_ref(), u.as_ref(), s.as_ref(), v.as_ref())
                        }
                        _ => is_as_long(scaled.as_ref(), s.as_ref()),
                    };
                (0..count).for_each(|k| s[k] = T::of(s[k].to_f64() / scale));
                sound
            }
        };
        if !made {
            let by_rotations = matches!(self, Svd::Large(params, _) if params.recursion_threshold == usize::MAX);
            if T::DTYPE == DType::F64 && by_rotations {
                return Err("has singular values that did not converge".into());
            }
            in_double(a, s, u.as_mut().zip(v.as_mut()))?;
        }
        if let (Some(u), Some(v)) = (&mut u, &mut v) {
            orient(u, v);
        }
        Ok(())
    }
}

/// A vector to try matrices on: 1 and -1 without a pattern.
fn probe(j: usize) -> f64 {
    if j.wrapping_mul(0x9E37_79B9) >> 16 & 1 == 0 { 1.0 } else { -1.0 }
}

/// The columns of a matrix that lies column after column.
fn columns<'a, T: Field>(a: MatRef<'a, T>) -> impl Iterator<Item = &'a [T]> {
    (0..a.ncols()).filter_map(move |j| a.col(j).try_as_col_major()).map(|col| col.as_slice())
}

/// The sum of the columns of a matrix, each times its factor.
fn combined<T: Field>(a: MatRef<'_, T>, factor: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut sum = vec![0.0; a.nrows()];
    for (j, column) in columns(a).enumerate() {
        let factor = factor(j);
        sum.iter_mut().zip(column).for_each(|(sum, x)| *sum += factor * x.to_f64());
    }
    sum
}

/// The product of each column with a vector.
fn along<T: Field>(a: MatRef<'_, T>, x: impl Fn(usize) -> f64) -> Vec<f64> {
    columns(a).map(|column| column.iter().enumerate().map(|(i, v)| v.to_f64() * x(i)).sum()).collect()
}

/// Whether the columns are orthonormal as far as one combination of them shows. Of matrices whose rows differ by many
/// orders of magnitude, `faer`'s vectors in float32 may be far from it.
fn is_orthonormal<T: Field>(basis: MatRef<'_, T>) -> bool {
    let sum = combined(basis, probe);
    let allowed = 20.0 * T::EPSILON * basis.nrows() as f64;
    along(basis, |i| sum[i]).iter().enumerate().all(|(j, x)| (x * probe(j) - 1.0).abs() <= allowed)
}

/// Whether U diag(s) V^T is A as far as one vector shows: those factors may be wrong too.
fn is_product<T: Field>(a: MatRef<'_, T>, u: MatRef<'_, T>, s: DiagRef<'_, T>, v: MatRef<'_, T>) -> bool {
    let count = a.nrows().min(a.ncols());
    let weights = along(v, probe);
    let made = combined(u, |j| if j < count { weights[j] * s[j].to_f64() } else { 0.0 });
    let largest = if count > 0 { s[0].to_f64() } else { 0.0 };
    let allowed = 16.0 * T::EPSILON * largest * (a.ncols() as f64).sqrt();
    combined(a, probe).iter().zip(&made).all(|(a, b)| (a - b).abs() <= allowed)
}

/// Whether the squares of the values add up to those of the matrix.
fn is_as_long<T: Field>(a: MatRef<'_, T>, s: DiagRef<'_, T>) -> bool {
    let square = |x: f64| x * x;
    let whole: f64 = columns(a).flatten().map(|x| square(x.to_f64())).sum();
    let found: f64 = (0..a.nrows().min(a.ncols())).map(|k| square(s[k].to_f64())).sum();
    (whole - found).abs() <= 64.0 * T::EPSILON * whole
}

/// Singular values by way of float64 and rotations.
#[cold]
fn in_double<T: Field>(
    a: MatRef<'_, T>,
    mut s: DiagMut<'_, T>,
    uv: Option<(&mut MatMut<'_, T>, &mut MatMut<'_, T>)>,
) -> Result<(), String> {
    let (m, n) = (a.nrows(), a.ncols());
    let cols = uv.as_ref().map_or((0, 0), |(u, v)| (u.ncols(), v.ncols()));
    let wide = Mat::from_fn(m, n, |i, j| a[(i, j)].to_f64());
    let mut values = Mat::<f64>::zeros(m.min(n), 1);
    let (mut left, mut right) = (Mat::<f64>::zeros(m, cols.0), Mat::<f64>::zeros(n, cols.1));
    let mut svd = Svd::<f64>::large((m, n), cols, usize::MAX).map_err(|e| e.to_string())?;
    let vectors = uv.is_some().then(|| (left.as_mut(), right.as_mut()));
    svd.run(wide.as_ref(), values.as_mut().col_mut(0).as_diagonal_mut(), vectors)?;
    (0..m.min(n)).for_each(|i| s[i] = T::of(values[(i, 0)]));
    let give = |to: &mut MatMut<'_, T>, from: &Mat<f64>| {
        for j in 0..from.ncols() {
            (0..from.nrows()).for_each(|i| to[(i, j)] = T::of(from[(i, j)]));
        }
    };
    if let Some((u, v)) = uv {
        give(u, &left);
        give(v, &right);
    }
    Ok(())
}

/// Vectors of U that have a partner in V are turned together with it.
fn orient<T: Field>(u: &mut MatMut<'_, T>, v: &mut MatMut<'_, T>) {
    let pairs = u.ncols().min(v.ncols());
    for j in 0..u.ncols() {
        if point_up(column(u, j)) && j < pairs {
            turn(column(v, j));
        }
    }
    for j in pairs..v.ncols() {
        point_up(column(v, j));
    }
}

fn svd_of<T: Field>(cx: &Cx, a: &View<'_>, s: &Out<'_>, uv: Option<(&Out<'_>, &Out<'_>)>) -> Result {
    let (batch, m, n) = matrices(a)?;
    let k = m.min(n);
    let (cols_u, cols_v) = uv.map_or((0, 0), |(u, vt)| {
        let d = batch.len();
        (u.view.shape[d + 1] as usize, vt.view.shape[d] as usize)
    });
    let with_vectors = uv.is_some();
    let mut from = Work::<T>::of(cx, a, &batch)?;
    let mut to_s = Work::<T>::zeros(&batch, k, 1)?;
    let (mut u, mut v) = (Work::<T>::zeros(&batch, m, cols_u)?, Work::<T>::zeros(&batch, n, cols_v)?);
    let (from, all_s, all_u, all_v) = (from.shared(), to_s.shared(), u.shared(), v.shared());
    each(
        cx,
        &batch,
        || Svd::<T>::new((m, n), (cols_u, cols_v)),
        |state, i| {
            // SAFETY: matrix i of each is this call's alone.
            let (a, s, u, v) = unsafe { (from.get(i), diagonal(&all_s, i), all_u.whole(i), all_v.whole(i)) };
            if k > 0 {
                return state.run(a, s, with_vectors.then_some((u, v)));
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
    let mut from = Work::<T>::of(cx, a, &batch)?;
    let mut values = Work::<T>::zeros(&batch, k, 1)?;
    let (mut u, mut v) = (Work::<T>::zeros(&batch, m, k)?, Work::<T>::zeros(&batch, n, k)?);
    let mut result = Work::<T>::zeros(&batch, n, m)?;
    let (from, all_s, all_u, all_v, to) = (from.shared(), values.shared(), u.shared(), v.shared(), result.shared());
    each(
        cx,
        &batch,
        || Svd::<T>::new((m, n), (k, k)),
        |state, i| {
            if k == 0 {
                return Ok(());
            }
            // SAFETY: matrix i of each is this call's alone.
            let (a, s, u, v) = unsafe { (from.get(i), diagonal(&all_s, i), all_u.whole(i), all_v.whole(i)) };
            state.run(a, s, Some((u, v)))?;
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
