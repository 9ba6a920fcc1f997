//! Reductions over any set of axes.
//!
//! The output may keep the reduced axes (as 1) or drop them: both are told apart by its number of dimensions. Work is cut
//! into tiles and chunks that depend on the layout alone, and partial results are joined in that order, so the bits do
//! not depend on the number of threads.
mod arg;
mod engine;
mod fold;
mod lanes;
mod lifted;
mod memory;
mod plan;
mod small;

pub use arg::{argmax, argmin};
pub(crate) use fold::{Acc, Fold, Max, Prod, Sum, order_type, sum_type};
pub(crate) use lanes::{fold_rows, fold_tile};
pub use lifted::{all, all_finite, any, norm, sum_squares};
pub(crate) use memory::{Sink, Source, sum as add_elements};

use crate::view::{Cx, Out, View};
use engine::reduce;
use fold::Min;
use gluonish_base::{Cause, DType, Dims, Result};
use plan::{Order, Plan, out_strides};
use small::What;

/// `with_acc!(dtype, A => call)`: with the accumulating type that `dtype` names.
macro_rules! with_acc {
    ($d:expr, $A:ident => $e:expr) => {
        match $d {
            DType::F32 => crate::by_dtype!(@ $A = f32, $e),
            DType::F64 => crate::by_dtype!(@ $A = f64, $e),
            DType::U64 => crate::by_dtype!(@ $A = u64, $e),
            _ => crate::by_dtype!(@ $A = i64, $e),
        }
    };
}
pub(crate) use with_acc;

/// Sum over the axes of the bit mask `axes`, accumulated in the family of `out`'s type: float32 (also for the half
/// types), float64, or integers that wrap. The sum of nothing is 0.
pub fn sum(cx: &Cx, x: &View<'_>, axes: u32, out: &Out<'_>) -> Result {
    if small::reduce(What::Sum, x, axes, out) {
        return Ok(());
    }
    sum_over(cx, x, axes, &out_strides(x, axes, out), out)
}

/// Sums `x` down to the shape of `out`, which broadcasts to that of `x`: the one place where broadcasting is undone.
pub fn sum_to(cx: &Cx, x: &View<'_>, out: &Out<'_>) -> Result {
    let (from, to) = (x.shape, out.view.shape);
    let lead = from.len() - to.len();
    let reduced = |d: usize| d < lead || (to[d - lead] == 1 && from[d] != 1);
    let axes = (0..from.len()).filter(|&d| reduced(d)).fold(0, |m, d| m | 1 << d);
    if small::reduce(What::Sum, x, axes, out) {
        return Ok(());
    }
    sum_over(cx, x, axes, &to.broadcast_strides(out.view.strides, from), out)
}

fn sum_over(cx: &Cx, x: &View<'_>, axes: u32, strides: &Dims, out: &Out<'_>) -> Result {
    if out.view.size > 0 {
        let plan = Plan::new(x, axes, strides, Order::Any);
        with_acc!(sum_type(out.view.dtype), A => reduce::<A, Sum>(cx, x, &plan, out, |s| s));
    }
    Ok(())
}

/// Arithmetic mean, accumulated as a sum; of nothing: NaN.
pub fn mean(cx: &Cx, x: &View<'_>, axes: u32, out: &Out<'_>) -> Result {
    if out.view.size > 0 && !small::reduce(What::Mean, x, axes, out) {
        let n = count(x, axes);
        let plan = Plan::new(x, axes, &out_strides(x, axes, out), Order::Any);
        with_acc!(sum_type(out.view.dtype), A => reduce::<A, Sum>(cx, x, &plan, out, |s| s.mean(n)));
    }
    Ok(())
}

/// Product, accumulated as a sum would be; of nothing: 1.
pub fn prod(cx: &Cx, x: &View<'_>, axes: u32, out: &Out<'_>) -> Result {
    if out.view.size > 0 {
        let plan = Plan::new(x, axes, &out_strides(x, axes, out), Order::Any);
        with_acc!(sum_type(out.view.dtype), A => reduce::<A, Prod>(cx, x, &plan, out, |s| s));
    }
    Ok(())
}

/// Largest value; NaN if there is one. Of nothing: an error.
pub fn max(cx: &Cx, x: &View<'_>, axes: u32, out: &Out<'_>) -> Result {
    if some(x, out, "max")? && !small::reduce(What::Max, x, axes, out) {
        let plan = Plan::new(x, axes, &out_strides(x, axes, out), Order::Any);
        with_acc!(order_type(x.dtype), A => reduce::<A, Max>(cx, x, &plan, out, |s| s));
    }
    Ok(())
}

/// Smallest value; NaN if there is one. Of nothing: an error.
pub fn min(cx: &Cx, x: &View<'_>, axes: u32, out: &Out<'_>) -> Result {
    if some(x, out, "min")? && !small::reduce(What::Min, x, axes, out) {
        let plan = Plan::new(x, axes, &out_strides(x, axes, out), Order::Any);
        with_acc!(order_type(x.dtype), A => reduce::<A, Min>(cx, x, &plan, out, |s| s));
    }
    Ok(())
}

/// How many elements make one result.
fn count(x: &View<'_>, axes: u32) -> usize {
    x.shape.iter().enumerate().filter(|(d, _)| axes >> d & 1 == 1).map(|(_, &n)| n as usize).product()
}

/// Whether there is a result to compute: `name` of no elements has none, which is an error.
fn some(x: &View<'_>, out: &Out<'_>, name: &str) -> Result<bool> {
    if out.view.size == 0 {
        return Ok(false);
    }
    if x.size == 0 {
        return Err(
            Cause::Value(format!("{name} of no elements has no value (the array has shape {})", x.shape)).into()
        );
    }
    Ok(true)
}
