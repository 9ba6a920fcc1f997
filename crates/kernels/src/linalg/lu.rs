//! What an LU factorisation with row exchanges gives: solutions, inverses, determinants.
use super::balance::Balance;
use super::work::{Shared, Work, by_columns, each, memory};
use super::{Field, in_working_type, square};
use crate::view::{Cx, Out, View};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::{factor, solve as solver};
use faer::perm::PermRef;
use faer::{MatRef, Par};
use gluonish_base::{Cause, DType, Dims, Result};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// X with `A X = B` for each pair of matrices; the batch axes of A and B broadcast to those of the output.
pub fn solve(cx: &Cx, a: &View<'_>, b: &View<'_>, out: &Out<'_>) -> Result {
    in_working_type!(out.view, solve_of(cx, a, Some(b), out, false))
}

/// The inverse of each matrix.
pub fn inverse(cx: &Cx, a: &View<'_>, out: &Out<'_>) -> Result {
    in_working_type!(out.view, solve_of(cx, a, None, out, false))
}

/// The determinant of each matrix.
pub fn determinant(cx: &Cx, a: &View<'_>, out: &Out<'_>) -> Result {
    in_working_type!(out.view, determinants(cx, a, [None, None, Some(out)], false))
}

/// The sign and the logarithm of the absolute value of each determinant: 0 and minus infinity for a singular matrix.
pub fn log_determinant(cx: &Cx, a: &View<'_>, sign: &Out<'_>, log: &Out<'_>) -> Result {
    in_working_type!(sign.view, determinants(cx, a, [Some(sign), Some(log), None], false))
}

/// Memory for one factorisation after another.
pub(super) struct Factor {
    perm: Vec<usize>,
    back: Vec<usize>,
    memory: MemBuffer,
}

impl Factor {
    pub(super) fn new<T: Field>(n: usize) -> Result<Factor> {
        let req = factor::lu_in_place_scratch::<usize, T>(n, n, Par::Seq, Default::default());
        Ok(Factor { perm: vec![0; n], back: vec![0; n], memory: memory(req)? })
    }

    /// Matrix `i` becomes its factors; the permutation and the number of exchanges.
    ///
    /// # Safety
    /// Nobody else uses the matrix.
    pub(super) unsafe fn run<T: Field>(&mut self, a: &Shared<T>, i: usize) -> (usize, PermRef<'_, usize>) {
        // SAFETY: the caller's.
        let a = unsafe { a.whole(i) };
        let stack = MemStack::new(&mut self.memory);
        let (info, perm) = factor::lu_in_place(a, &mut self.perm, &mut self.back, Par::Seq, stack, Default::default());
        (info.transposition_count, perm)
    }
}

/// What the pivots of a factorisation say.
pub(super) enum Pivots {
    Zero(usize),
    /// So small that dividing by them overflows, or what came of that: a wider range is needed.
    Lost,
    Fine,
}

impl Pivots {
    pub(super) fn of<T: Field>(lu: MatRef<'_, T>) -> Pivots {
        for k in 0..lu.nrows() {
            match lu[(k, k)].to_f64().abs() {
                0.0 => return Pivots::Zero(k),
                size if (T::SMALLEST..=f64::MAX).contains(&size) => {}
                _ => return Pivots::Lost,
            }
        }
        Pivots::Fine
    }
}

/// The determinant that pivots multiply to. On the way it may be far larger or smaller than any number: its exponent is
/// apart.
pub(super) struct Determinant {
    mantissa: f64,
    exponent: i32,
}

impl Determinant {
    /// Once a pivot is zero the others are not looked at, as they were divided by it.
    pub(super) fn of<T: Field>(exchanges: usize, pivots: impl IntoIterator<Item = T>) -> Determinant {
        let mut total = Determinant { mantissa: if exchanges.is_multiple_of(2) { 1.0 } else { -1.0 }, exponent: 0 };
        for pivot in pivots {
            if pivot == T::default() {
                return Determinant { mantissa: 0.0, exponent: 0 };
            }
            let (pivot, more) = moderate(pivot.to_f64());
            let (mantissa, carry) = moderate(total.mantissa * pivot);
            total = Determinant { mantissa, exponent: total.exponent + more + carry };
        }
        total
    }

    /// The same, times a power of two.
    fn shifted(self, by: i32) -> Determinant {
        Determinant { exponent: self.exponent + by, ..self }
    }

    /// The determinant, times `x`.
    pub(super) fn times(&self, x: f64) -> f64 {
        let (x, more) = moderate(x);
        let exponent = self.exponent + more;
        let (steps, rest) = (exponent / STEP, exponent % STEP);
        let step = 2f64.powi(STEP * steps.signum());
        // After a few steps it is zero or infinite.
        (0..steps.abs().min(8)).fold(self.mantissa * x * 2f64.powi(rest), |total, _| total * step)
    }
    pub(super) fn sign(&self) -> f64 {
        if self.mantissa == 0.0 || self.mantissa.is_nan() { self.mantissa } else { self.mantissa.signum() }
    }
    fn log(&self) -> f64 {
        self.mantissa.abs().ln() + f64::from(self.exponent) * std::f64::consts::LN_2
    }
}

/// Exponents are moved out of a mantissa by as much at a time.
const STEP: i32 = 400;

/// A number as one whose products do not overflow, and a power of two.
fn moderate(mut x: f64) -> (f64, i32) {
    let (mut exponent, step) = (0, 2f64.powi(STEP));
    while x.is_finite() && x.abs() > step {
        (x, exponent) = (x / step, exponent + STEP);
    }
    while x != 0.0 && x.abs() < 1.0 / step {
        (x, exponent) = (x * step, exponent - STEP);
    }
    (x, exponent)
}

/// Solves for B, or for the identity. `balanced`: the rows and columns of A are brought to about 1 before.
fn solve_of<T: Field>(cx: &Cx, a: &View<'_>, b: Option<&View<'_>>, out: &Out<'_>, balanced: bool) -> Result {
    let n = square(a)?;
    let d = out.view.ndim().wrapping_sub(2);
    let Some(batch) = out.view.shape.get(..d).map(Dims::of) else {
        return Err(Cause::Shape(format!("matrices are needed, got an output of shape {}", out.view.shape)).into());
    };
    let cols = out.view.shape[d + 1] as usize;
    if b.is_some_and(|b| b.ndim() < 2 || b.shape[b.ndim() - 2] as usize != n) || out.view.shape[d] as usize != n {
        return Err(
            Cause::Shape(format!("equations of {} do not fit a solution of {}", a.shape, out.view.shape)).into()
        );
    }
    if out.view.size == 0 {
        return Ok(());
    }
    let mut factors = Work::<T>::of(cx, a, &batch)?;
    let mut x = match b {
        Some(b) => Work::<T>::of(cx, b, &batch)?,
        None => Work::<T>::zeros(&batch, n, n)?,
    };
    let (lu, to, of_identity) = (factors.shared(), x.shared(), b.is_none());
    let too_short = AtomicBool::new(false);
    each(
        cx,
        &batch,
        || Factor::new::<T>(n),
        |state, i| {
            // SAFETY: matrix i is this call's alone.
            let balance = balanced.then(|| Balance::bring(unsafe { lu.whole(i) }));
            // SAFETY: as above.
            let (_, perm) = unsafe { state.run(&lu, i) };
            // SAFETY: the factors are only read from here on.
            let lu = unsafe { lu.get(i) };
            match Pivots::of(lu) {
                Pivots::Zero(k) => return Err(format!("is singular: pivot {k} of its LU factors is zero")),
                Pivots::Lost if !balanced => {
                    too_short.store(true, Relaxed);
                    return Ok(());
                }
                Pivots::Fine | Pivots::Lost => {}
            }
            by_columns(cx, cols, |range| {
                // SAFETY: these columns are this call's alone.
                let mut x = unsafe { to.columns(i, range.clone()) };
                match &balance {
                    _ if of_identity => range.clone().enumerate().for_each(|(j, k)| x[(k, j)] = T::ONE),
                    Some(balance) => balance.on_rows(x.as_mut()),
                    None => {}
                }
                let req = solver::solve_in_place_scratch::<usize, T>(n, range.len(), Par::Seq);
                let mut memory = memory(req)?;
                solver::solve_in_place(lu, lu, perm, x.as_mut(), Par::Seq, MemStack::new(&mut memory));
                if let Some(balance) = &balance {
                    balance.undo(x, of_identity.then_some(range));
                }
                Ok(())
            })
            .map_err(|e| e.to_string())
        },
    )?;
    if too_short.into_inner() {
        return solve_of::<f64>(cx, a, b, out, T::DTYPE == DType::F64);
    }
    x.give(cx, out)
}

/// Writes the sign, the logarithm and the value of each determinant, where they are asked for.
fn determinants<T: Field>(cx: &Cx, a: &View<'_>, outs: [Option<&Out<'_>>; 3], balanced: bool) -> Result {
    let n = square(a)?;
    let batch = Dims::of(&a.shape[..a.ndim() - 2]);
    let mut factors = Work::<T>::of(cx, a, &batch)?;
    let mut found: [Work<T>; 3] = [Work::zeros(&batch, 1, 1)?, Work::zeros(&batch, 1, 1)?, Work::zeros(&batch, 1, 1)?];
    let lu = factors.shared();
    let [signs, logs, values] = found.each_mut().map(Work::shared);
    let too_short = AtomicBool::new(false);
    each(
        cx,
        &batch,
        || Factor::new::<T>(n),
        |state, i| {
            // SAFETY: matrix i is this call's alone.
            let balance = balanced.then(|| Balance::bring(unsafe { lu.whole(i) }));
            // SAFETY: as above.
            let exchanges = if n == 0 { 0 } else { unsafe { state.run(&lu, i) }.0 };
            // SAFETY: as above.
            let lu = unsafe { lu.get(i) };
            if !balanced && matches!(Pivots::of(lu), Pivots::Lost) {
                too_short.store(true, Relaxed);
                return Ok(());
            }
            let found = Determinant::of(exchanges, (0..n).map(|k| lu[(k, k)]));
            let found = found.shifted(balance.map_or(0, |b| -b.total()));
            // SAFETY: one element of each for matrix i.
            unsafe {
                signs.whole(i)[(0, 0)] = T::of(found.sign());
                logs.whole(i)[(0, 0)] = T::of(found.log());
                values.whole(i)[(0, 0)] = T::of(found.times(1.0));
            }
            Ok(())
        },
    )?;
    if too_short.into_inner() {
        return determinants::<f64>(cx, a, outs, T::DTYPE == DType::F64);
    }
    for (out, work) in outs.into_iter().zip(&mut found) {
        if let Some(out) = out {
            give_scalars(cx, work, out)?;
        }
    }
    Ok(())
}

/// Stores matrices of one element into an output that has the batch axes alone.
fn give_scalars<T: Field>(cx: &Cx, work: &mut Work<T>, out: &Out<'_>) -> Result {
    let (mut shape, mut strides) = (*out.view.shape, *out.view.strides);
    if !(shape.try_push(1) && shape.try_push(1) && strides.try_push(1) && strides.try_push(1)) {
        return Err(Cause::Shape(format!("a batch of {} has too many axes", out.view.shape)).into());
    }
    work.give(cx, &Out { view: View { shape: &shape, strides: &strides, ..out.view }, mode: out.mode })
}
