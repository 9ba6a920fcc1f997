//! Elements moved round the axes of an array.
use super::staged::contiguous;
use crate::convert::copy_view;
use crate::view::{Cx, Out, View};
use gluonish_base::{Dims, Result};

/// A shift of `by` and one of `more` along an axis of `size` elements: one of less than its size.
pub fn rolled(by: isize, more: isize, size: isize) -> isize {
    if size == 0 { 0 } else { (by + more.rem_euclid(size)) % size }
}

/// Writes `x` moved by `by[d]` elements along each axis `d`, from 0 up to its size: block by block, of which each rolled
/// axis has two.
pub fn roll(cx: &Cx, x: &View<'_>, by: &Dims, out: &Out<'_>) -> Result {
    if x.size == 0 {
        return Ok(());
    }
    let axes: Vec<usize> = (0..by.len()).filter(|d| by[*d] != 0).collect();
    for block in 0..1usize << axes.len() {
        let (mut shape, mut from, mut to) = (*x.shape, 0, 0);
        for (k, &d) in axes.iter().enumerate() {
            let kept = x.shape[d] - by[d]; // those that stay before the end
            if block >> k & 1 == 0 {
                shape[d] = kept;
                to += by[d] * out.view.strides[d];
            } else {
                shape[d] = by[d];
                from += kept * x.strides[d];
            }
        }
        let view = out.view.part(&shape, out.view.strides, to);
        copy_view(cx, &x.part(&shape, x.strides, from), &Out { view, mode: out.mode })?;
    }
    Ok(())
}

/// The same on the elements in row-major order, whatever the shape.
pub fn roll_flat(cx: &Cx, x: &View<'_>, by: isize, out: &Out<'_>) -> Result {
    let (shape, one) = (Dims::of(&[x.size as isize]), Dims::of(&[1]));
    contiguous(cx, x, |x| {
        let line = x.part(&shape, &one, 0);
        if out.view.contiguous {
            let to = Out { view: out.view.part(&shape, &one, 0), mode: out.mode };
            return roll(cx, &line, &Dims::of(&[by]), &to);
        }
        super::staged::through(cx, out, |to| {
            let to = Out { view: to.view.part(&shape, &one, 0), mode: to.mode };
            roll(cx, &line, &Dims::of(&[by]), &to)
        })
    })
}
