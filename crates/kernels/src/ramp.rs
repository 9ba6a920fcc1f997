//! Evenly spaced values.
use crate::by_dtype;
use crate::dispatch::Elem;
use crate::view::{Cx, Out};
use crate::walk::{Shared, Walk};
use gluonish_base::{Result, Scalar, pool};

const CHUNK: usize = 1 << 16;

/// `start + step * i` in row-major order: exact for integers, computed in float64 otherwise.
pub fn ramp(cx: &Cx, start: Scalar, step: Scalar, out: &Out<'_>) -> Result {
    let n = out.view.size;
    by_dtype!(out.view.dtype, T => {
        let place = Shared(out.view.as_ptr::<T>());
        let walk = Walk::new(out.view.shape, [out.view.strides]).coalesced();
        pool::run(n.div_ceil(CHUNK), cx.threads, |c| {
            let mut i = c * CHUNK;
            walk.for_each(i, n.min(i + CHUNK), |[at]| {
                // SAFETY: the walk stays inside the output, and chunks do not overlap.
                unsafe { *place.at(at) = value::<T>(start, step, i) };
                i += 1;
            });
        });
    });
    Ok(())
}

fn value<T: Elem>(start: Scalar, step: Scalar, i: usize) -> T {
    match (start, step) {
        (Scalar::Float(_), _) | (_, Scalar::Float(_)) => T::from_f64(start.as_f64() + step.as_f64() * i as f64),
        _ => T::from_i64(start.as_i64().wrapping_add(step.as_i64().wrapping_mul(i as i64))),
    }
}
