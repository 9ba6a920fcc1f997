//! Arrays and elements repeated: one copy over a layout in which the repeats are axes of their own.
use crate::convert::copy_view;
use crate::view::{Cx, Out, View};
use gluonish_base::{Cause, Dims, Result};

/// A shape with its layouts in the source and in the target.
#[derive(Default)]
struct Axes {
    shape: Dims,
    from: Dims,
    to: Dims,
}

impl Axes {
    fn push(&mut self, size: isize, from: isize, to: isize) -> Result {
        if size == 1 {
            return Ok(());
        }
        if self.shape.try_push(size) && self.from.try_push(from) && self.to.try_push(to) {
            return Ok(());
        }
        Err(Cause::Shape("there are too many axes to repeat along; repeat along some of them at a time".into()).into())
    }

    fn copy(&self, cx: &Cx, x: &View<'_>, out: &Out<'_>) -> Result {
        let view = out.view.part(&self.shape, &self.to, 0);
        copy_view(cx, &x.part(&self.shape, &self.from, 0), &Out { view, mode: out.mode })
    }
}

/// Writes `x` again and again: `reps` times along each axis. `shape` is its shape with leading axes of size 1 as needed.
pub fn tile(cx: &Cx, x: &View<'_>, shape: &Dims, reps: &Dims, out: &Out<'_>) -> Result {
    let mut axes = Axes::default();
    let lead = shape.len() - x.shape.len();
    for (d, (&n, &times)) in shape.iter().zip(reps.iter()).enumerate() {
        let from = if d < lead { 0 } else { x.strides[d - lead] };
        axes.push(times, 0, n * out.view.strides[d])?;
        axes.push(n, from, out.view.strides[d])?;
    }
    axes.copy(cx, x, out)
}

/// Writes each element of `x` several times, along an axis or, without one, into a vector.
pub fn repeat(cx: &Cx, x: &View<'_>, axis: Option<usize>, times: isize, out: &Out<'_>) -> Result {
    let mut axes = Axes::default();
    match axis {
        Some(axis) => {
            for d in 0..x.shape.len() {
                let to = out.view.strides[d];
                axes.push(x.shape[d], x.strides[d], if d == axis { to * times } else { to })?;
                if d == axis {
                    axes.push(times, 0, to)?;
                }
            }
        }
        None => {
            let mut run = out.view.strides[0] * times;
            let mut to = *x.shape;
            for d in (0..x.shape.len()).rev() {
                to[d] = run;
                run *= x.shape[d];
            }
            for d in 0..x.shape.len() {
                axes.push(x.shape[d], x.strides[d], to[d])?;
            }
            axes.push(times, 0, out.view.strides[0])?;
        }
    }
    axes.copy(cx, x, out)
}
