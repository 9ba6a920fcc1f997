//! Reading indices: from any type to checked positions.
use super::Bounds;
use crate::by_dtype;
use crate::dispatch::Elem;
use crate::view::View;
use crate::walk::Walk;
use gluonish_base::{Cause, Error, Result};

/// Every index of the view in row-major order, as an integer. A float that is not one is an error.
pub(super) fn integers(indices: &View<'_>, mut f: impl FnMut(i64) -> Result) -> Result {
    by_dtype!(indices.dtype, T => elements::<T>(indices, |v| f(integer(v)?)))
}

/// The positions that the indices name on an axis of `size` elements.
pub(crate) fn positions(indices: &View<'_>, axis: usize, size: usize, bounds: Bounds) -> Result<Vec<usize>> {
    let mut all = Vec::with_capacity(indices.size);
    integers(indices, |i| {
        all.push(position(i, axis, size, bounds)?);
        Ok(())
    })?;
    Ok(all)
}

/// The position that one index names.
#[inline]
pub(super) fn position(index: i64, axis: usize, size: usize, bounds: Bounds) -> Result<usize> {
    let n = size as i64;
    let at = match bounds {
        _ if n == 0 => -1,
        Bounds::Clip => index.clamp(0, n - 1),
        Bounds::Wrap => index.rem_euclid(n),
        Bounds::Raise if index < 0 => index.saturating_add(n),
        Bounds::Raise => index,
    };
    if (0..n).contains(&at) { Ok(at as usize) } else { Err(outside(index, axis, size)) }
}

#[cold]
fn outside(index: i64, axis: usize, size: usize) -> Error {
    Cause::Index { index, axis, size }.into()
}

/// The positions where a mask (of any type) is not zero.
pub(super) fn set(mask: &View<'_>) -> Vec<usize> {
    let (mut all, mut at) = (Vec::new(), 0);
    by_dtype!(mask.dtype, T => each::<T>(mask, |v| {
        if v.to_f64() != 0.0 {
            all.push(at);
        }
        at += 1;
    }));
    all
}

fn each<T: Elem>(x: &View<'_>, mut f: impl FnMut(T)) {
    let walked = elements::<T>(x, |v| {
        f(v);
        Ok(())
    });
    debug_assert!(walked.is_ok());
}

fn elements<T: Elem>(x: &View<'_>, mut f: impl FnMut(T) -> Result) -> Result {
    if x.size == 0 {
        return Ok(());
    }
    let mut outer = Walk::new(x.shape, [x.strides]).coalesced();
    let (n, [stride]) = outer.pop();
    let mut result = Ok(());
    outer.for_each(0, outer.size(), |[at]| {
        if result.is_ok() {
            // SAFETY: the walk and the stride come from the view's own dimensions.
            result = (0..n as isize).try_for_each(|i| f(unsafe { *x.as_ptr::<T>().offset(at + i * stride) }));
        }
    });
    result
}

#[inline]
fn integer<T: Elem>(v: T) -> Result<i64> {
    if T::DTYPE.is_float() {
        let f = v.to_f64();
        // Beyond 2^63 the conversion saturates, and so it does for uint64: both are out of any range.
        return if f.fract() == 0.0 { Ok(f as i64) } else { Err(fractional(f)) };
    }
    Ok(if T::DTYPE.is_signed() || v.to_i64() >= 0 { v.to_i64() } else { i64::MAX })
}

#[cold]
fn fractional(v: f64) -> Error {
    Cause::Value(format!("an index must be a whole number, not {v}")).into()
}
