//! Reading and adding at positions along one axis, each row with positions of its own.
use crate::by_dtype;
use crate::convert::fill;
use crate::dispatch::Elem;
use crate::index::Bounds;
use crate::index::positions::positions;
use crate::view::{Cx, Mode, Out, View};
use crate::walk::Walk;
use gluonish_base::{Result, Scalar};

/// `out[a, j, b] = x[a, indices[a, j, b], b]` along `axis`; `indices` and `out` have one shape.
pub fn take(_cx: &Cx, x: &View<'_>, indices: &View<'_>, axis: usize, out: &Out<'_>) -> Result {
    let add = out.mode == Mode::Add;
    by_dtype!(x.dtype, T => each(x, &out.view, indices, axis, |from: *mut T, to: *mut T| {
        // SAFETY: both places are inside their views: the positions were checked.
        unsafe { *to = if add { sum(*to, *from) } else { *from } }
    }))
}

/// `out[a, indices[a, j, b], b] += x[a, j, b]` along `axis`, over zeros when `out` is to be written.
pub fn put(cx: &Cx, x: &View<'_>, indices: &View<'_>, axis: usize, out: &Out<'_>) -> Result {
    if out.mode == Mode::Write {
        fill(cx, Scalar::Int(0), out)?;
    }
    by_dtype!(x.dtype, T => each(&out.view, x, indices, axis, |to: *mut T, from: *mut T| {
        // SAFETY: both places are inside their views: the positions were checked.
        unsafe { *to = sum(*to, *from) }
    }))
}

/// Integers wrap in 64 bits; floats are added in float64, which no float type exceeds.
fn sum<T: Elem>(a: T, b: T) -> T {
    if T::DTYPE.is_float() {
        T::from_f64(a.to_f64() + b.to_f64())
    } else {
        T::from_i64(a.to_i64().wrapping_add(b.to_i64()))
    }
}

/// Calls `f` with the place in `whole` that each index names and the place in `part` that belongs to the index.
fn each<T: Elem>(
    whole: &View<'_>,
    part: &View<'_>,
    indices: &View<'_>,
    axis: usize,
    mut f: impl FnMut(*mut T, *mut T),
) -> Result {
    let numbers = positions(indices, axis, whole.shape[axis] as usize, Bounds::Raise)?;
    let mut strides = *whole.strides;
    let step = std::mem::replace(&mut strides[axis], 0);
    let mut numbers = numbers.into_iter();
    let walk = Walk::new(part.shape, [&strides, part.strides]);
    walk.for_each(0, part.size, |[w, p]| {
        if let Some(n) = numbers.next() {
            let place = whole.as_ptr::<T>().wrapping_offset(w + n as isize * step);
            f(place, part.as_ptr::<T>().wrapping_offset(p));
        }
    });
    Ok(())
}
