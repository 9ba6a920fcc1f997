//! Kernels that are written for arrays without gaps, on any arrays.
use crate::convert::copy_view;
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::Result;

/// Room for the elements of a view, aligned for every type.
fn room(v: &View<'_>) -> Vec<u64> {
    vec![0; (v.size * v.dtype.size()).div_ceil(8)]
}

/// Calls `f` with the elements of `x` without gaps: `x` itself or a copy.
pub(super) fn contiguous(cx: &Cx, x: &View<'_>, f: impl FnOnce(&View<'_>) -> Result) -> Result {
    if x.contiguous {
        return f(x);
    }
    let (mut memory, strides) = (room(x), x.shape.contiguous_strides());
    let copy = View::contiguous(memory.as_mut_ptr().cast(), x.dtype, x.shape, &strides);
    copy_view(cx, x, &Out { view: copy, mode: Mode::Write })?;
    f(&copy)
}

/// Calls `f` with an output without gaps that is to be written: `out` itself, or memory whose values are then copied or
/// added to it.
pub(crate) fn through(cx: &Cx, out: &Out<'_>, f: impl FnOnce(&Out<'_>) -> Result) -> Result {
    if out.view.contiguous && out.mode == Mode::Write {
        return f(out);
    }
    let (mut memory, strides) = (room(&out.view), out.view.shape.contiguous_strides());
    let view = View::contiguous(memory.as_mut_ptr().cast(), out.view.dtype, out.view.shape, &strides);
    f(&Out { view, mode: Mode::Write })?;
    copy_view(cx, &view, out)
}
