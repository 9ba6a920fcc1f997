//! Arrays one after another.
use crate::convert::copy_view;
use crate::view::{Cx, Out, View};
use gluonish_base::{Cause, Result};

/// Writes the views one after another along `axis`. Types may differ from `out`'s: they are converted.
pub fn concat(cx: &Cx, xs: &[View<'_>], axis: usize, out: &Out<'_>) -> Result {
    let mut at = 0;
    for x in xs {
        let n = x.shape[axis];
        if at + n > out.view.shape[axis] {
            break;
        }
        let view = out.view.part(x.shape, out.view.strides, at * out.view.strides[axis]);
        copy_view(cx, x, &Out { view, mode: out.mode })?;
        at += n;
    }
    if at != out.view.shape[axis] {
        return Err(Cause::Shape(format!("the arrays do not fill axis {axis} of {}", out.view.shape)).into());
    }
    Ok(())
}
