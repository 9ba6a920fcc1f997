//! Evenly spaced values.
use crate::by_dtype;
use crate::dispatch::Elem;
use crate::movement::through;
use crate::view::{Cx, Out};
use crate::walk::Shared;
use gluonish_base::{Result, Scalar, pool};

const CHUNK: usize = 1 << 16;

/// `start + step * i` in row-major order: exact for integers, computed in float64 otherwise.
pub fn ramp(cx: &Cx, start: Scalar, step: Scalar, out: &Out<'_>) -> Result {
    repeated(cx, start, step, 1, out)
}

/// The same, each value `times` times.
pub fn repeated(cx: &Cx, start: Scalar, step: Scalar, times: usize, out: &Out<'_>) -> Result {
    let times = times.max(1);
    match (start, step) {
        (Scalar::Float(_), _) | (_, Scalar::Float(_)) => {
            let (start, step) = (start.as_f64(), step.as_f64());
            by_dtype!(out.view.dtype, T => values(cx, out, |i| T::from_f64(start + step * (i / times) as f64)))
        }
        _ => {
            let (start, step) = (start.as_i64(), step.as_i64());
            by_dtype!(out.view.dtype, T => values(cx, out, |i| T::from_i64(start.wrapping_add(step.wrapping_mul((i / times) as i64)))))
        }
    }
}

/// Values at equal distances from `start` to `stop`, of which the last is exactly `stop` if it is to be one of them.
pub fn linspace(cx: &Cx, start: f64, stop: f64, endpoint: bool, out: &Out<'_>) -> Result {
    let last = out.view.size.saturating_sub(1);
    let parts = if endpoint { last } else { out.view.size };
    let step = (stop - start) / parts.max(1) as f64;
    let exact = endpoint && last > 0;
    by_dtype!(out.view.dtype, T => values(cx, out, |i| {
        T::from_f64(if exact && i == last { stop } else { start + step * i as f64 })
    }))
}

/// Writes `f(i)` to element `i` in row-major order, or adds it.
fn values<T: Elem>(cx: &Cx, out: &Out<'_>, f: impl Fn(usize) -> T + Sync) -> Result {
    through(cx, out, |out| {
        let n = out.view.size;
        let to = Shared(out.view.as_ptr::<T>());
        pool::run(n.div_ceil(CHUNK), cx.threads, |c| {
            for i in c * CHUNK..n.min((c + 1) * CHUNK) {
                // SAFETY: within the output, which is contiguous; chunks do not overlap.
                unsafe { to.at(i as isize).write(f(i)) };
            }
        });
        Ok(())
    })
}
