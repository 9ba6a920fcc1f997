//! Reading and writing at positions that other arrays name. Indices may be of any integer type, or floats with integral
//! values. Of a fractional one `Bounds::Clip` and `Bounds::Wrap` cut the fraction off; the others make it an error.
pub mod coordinates;
pub(crate) mod embedding;
mod mask;
pub(crate) mod positions;
mod rows;

use crate::by_dtype;
use crate::convert::{copy_view, fill};
use crate::dispatch::Elem;
use crate::reduce::add_elements;
use crate::view::{Cx, Mode, Out, View};
use crate::walk::{Shared, Walk};
pub use embedding::embedding;
use gluonish_base::{DType, Dims, Result, Scalar};
pub use mask::{assign, compress, count, expand, flat_nonzero};
use positions::{Positions, STRIP, in_order};
use rows::{Mover, Rows};
use std::collections::HashMap;

/// What an index outside of the axis means. Negative indices count from the end under `Wrap` and `Raise`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bounds {
    /// The nearest end; negative ones mean the first element.
    Clip,
    /// Modulo the size.
    Wrap,
    /// An error.
    Raise,
    /// An error, and so is a negative one.
    Strict,
}

/// Which axes the indices stand for: `axes` of them from `axis` on, numbered together in row-major order.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub axis: usize,
    pub axes: usize,
    /// The axis that errors name.
    pub named: usize,
    pub bounds: Bounds,
}

impl Span {
    fn one(axis: usize, bounds: Bounds) -> Span {
        Span { axis, axes: 1, named: axis, bounds }
    }

    fn positions(&self, indices: &View<'_>, whole: &Dims) -> Positions {
        let size = whole[self.axis..self.axis + self.axes].iter().product::<isize>() as usize;
        Positions::new(indices, self.named, size, self.bounds)
    }

    /// The shape that indices of shape `list` select from `whole`.
    fn selected(&self, whole: &Dims, list: &Dims) -> Dims {
        let mut shape = Dims::of(&whole[..self.axis]);
        list.iter().chain(&whole[self.axis + self.axes..]).for_each(|d| shape.push(*d));
        shape
    }
}

/// `out[a.., i.., b..] = x[a.., indices[i..], b..]`, the indices standing in the place of `axis`.
pub fn take(cx: &Cx, x: &View<'_>, indices: &View<'_>, axis: usize, bounds: Bounds, out: &Out<'_>) -> Result {
    select(cx, x, indices, Span::one(axis, bounds), out)
}

/// Gradient of `take` for `x`: adds the rows of `dy` where they came from, in the order of the indices.
pub fn take_grad(cx: &Cx, dy: &View<'_>, indices: &View<'_>, axis: usize, bounds: Bounds, dx: &Out<'_>) -> Result {
    scatter_add(cx, dy, indices, Span::one(axis, bounds), dx)
}

/// As `take`, where the indices number several axes together.
pub fn select(cx: &Cx, x: &View<'_>, indices: &View<'_>, at: Span, out: &Out<'_>) -> Result {
    let positions = at.positions(indices, x.shape);
    if out.view.size == 0 {
        return positions.check(cx.threads);
    }
    let rows = Rows::new(x, &out.view, at.axis, at.axes, indices.ndim());
    rows.gather(&positions, Mover::into_output(x.dtype, out.mode), cx.threads)
}

/// Gradient of `select`: adds the rows of `dy` where they came from. The half types are summed in float32.
pub fn scatter_add(cx: &Cx, dy: &View<'_>, indices: &View<'_>, at: Span, dx: &Out<'_>) -> Result {
    if !matches!(dx.view.dtype, DType::F16 | DType::BF16) {
        return add_into(cx, dy, indices, at, dx);
    }
    let mut sums = vec![0f32; dx.view.size];
    let strides = dx.view.shape.contiguous_strides();
    let view = View::contiguous(sums.as_mut_ptr().cast(), DType::F32, dx.view.shape, &strides);
    add_into(cx, dy, indices, at, &Out { view, mode: Mode::Add })?;
    copy_view(cx, &view, dx)
}

fn add_into(cx: &Cx, dy: &View<'_>, indices: &View<'_>, at: Span, dx: &Out<'_>) -> Result {
    if dx.mode == Mode::Write {
        fill(cx, Scalar::Int(0), dx)?;
    }
    let positions = at.positions(indices, dx.view.shape);
    if dy.size == 0 {
        return positions.check(cx.threads);
    }
    Rows::new(&dx.view, dy, at.axis, at.axes, indices.ndim()).scatter(
        &positions,
        Mover::into_sums(dy.dtype),
        cx.threads,
    )
}

/// `out[a.., indices[i..], b..] = value[a.., i.., b..]`, the last one where an index comes twice. The value may broadcast.
/// Nothing is written if an index is out of range.
pub fn put(cx: &Cx, value: &View<'_>, indices: &View<'_>, at: Span, out: &View<'_>) -> Result {
    let positions = at.positions(indices, out.shape);
    positions.check(cx.threads)?;
    let shape = at.selected(out.shape, indices.shape);
    let size = shape.size();
    if size == 0 {
        return Ok(());
    }
    let strides = value.shape.broadcast_strides(value.strides, &shape);
    let list = View { shape: &shape, strides: &strides, size, contiguous: false, ..*value };
    let mover = Mover::into_output(value.dtype, Mode::Write);
    Rows::new(out, &list, at.axis, at.axes, indices.ndim()).scatter(&positions, mover, cx.threads)
}

/// The error of the first index that is not a position on the axis.
pub fn check(indices: &View<'_>, axis: usize, size: usize) -> Result {
    Positions::new(indices, axis, size, Bounds::Raise).check(1)
}

/// Which indices are the last of those that name the same one of `size` positions: the ones that `put` leaves.
pub fn last(indices: &View<'_>, size: usize, bounds: Bounds, out: &View<'_>) -> Result {
    let numbers = Positions::new(indices, 0, size, bounds).all()?;
    let keeps = if size <= 16 * numbers.len() {
        let mut writer = vec![usize::MAX; size];
        numbers.iter().enumerate().for_each(|(j, n)| writer[*n] = j);
        numbers.iter().enumerate().map(|(j, n)| writer[*n] == j).collect::<Vec<bool>>()
    } else {
        let writer: HashMap<usize, usize> = numbers.iter().enumerate().map(|(j, n)| (*n, j)).collect();
        numbers.iter().enumerate().map(|(j, n)| writer.get(n) == Some(&j)).collect()
    };
    let place = out.as_ptr::<u8>();
    let mut j = 0;
    Walk::new(out.shape, [out.strides]).for_each(0, out.size, |[at]| {
        // SAFETY: a place of the output's own dimensions; a bool is a byte.
        unsafe { *place.offset(at) = keeps[j] as u8 };
        j += 1;
    });
    Ok(())
}

/// The strides of a view that has the shape of `x` with `axis` as 1 or left out, as if it were left out.
fn without_axis(v: &View<'_>, axis: usize, ndim: usize) -> Dims {
    let mut strides = *v.strides;
    if v.ndim() == ndim {
        strides.remove(axis);
    }
    strides
}

/// One value per row: `out[a, b] = x[a, indices[a, b], b]` along `axis`. `indices` and `out` have the shape of `x` with
/// `axis` as 1 or left out.
pub fn pick(cx: &Cx, x: &View<'_>, indices: &View<'_>, axis: usize, bounds: Bounds, out: &Out<'_>) -> Result {
    let positions = Positions::new(indices, axis, x.shape[axis] as usize, bounds);
    let mover = Mover::into_output(x.dtype, out.mode);
    each_pick(cx, x, &out.view, axis, &positions, |whole, one| {
        // SAFETY: both places are in their views; each of the output is visited once.
        unsafe { mover.one(one, whole) }
    })
}

/// Gradient of `pick` for `x`.
pub fn pick_grad(cx: &Cx, dy: &View<'_>, indices: &View<'_>, axis: usize, bounds: Bounds, dx: &Out<'_>) -> Result {
    let positions = Positions::new(indices, axis, dx.view.shape[axis] as usize, bounds);
    if dx.mode == Mode::Write {
        fill(cx, Scalar::Int(0), dx)?;
    }
    let mover = Mover::into_output(dy.dtype, dx.mode);
    each_pick(cx, &dx.view, dy, axis, &positions, |whole, one| {
        // SAFETY: both places are in their views; each row of the output is visited once.
        unsafe { mover.one(whole, one) }
    })
}

/// Calls `f` with the place of each picked element and of the value that belongs to it.
fn each_pick(
    cx: &Cx,
    whole: &View<'_>,
    one: &View<'_>,
    axis: usize,
    positions: &Positions,
    f: impl Fn(*mut u8, *mut u8) + Sync,
) -> Result {
    const CHUNK: usize = 1 << 14;
    let (mut shape, mut strides) = (*whole.shape, *whole.strides);
    shape.remove(axis);
    let along = strides.remove(axis);
    let walk = Walk::new(&shape, [&strides, &without_axis(one, axis, whole.ndim())]).coalesced();
    let size = whole.dtype.size() as isize;
    let (whole, one) = (Shared(whole.ptr), Shared(one.ptr));
    in_order(positions.count.div_ceil(CHUNK), cx.threads, |task| {
        let mut strip = [0; STRIP];
        let to = positions.count.min((task + 1) * CHUNK);
        for from in (task * CHUNK..to).step_by(STRIP) {
            let strip = &mut strip[..STRIP.min(to - from)];
            positions.read(from, strip)?;
            let mut numbers = strip.iter();
            walk.for_each(from, from + numbers.len(), |[w, o]| {
                let number = numbers.next().map_or(0, |n| *n as isize);
                f(whole.at((w + number * along) * size), one.at(o * size));
            });
        }
        Ok(())
    })
}

/// `on` where the position along the last axis of `out` (whose size is the depth) is the index, else `off`. An index
/// outside gives a row of `off`.
pub fn one_hot(cx: &Cx, indices: &View<'_>, on: f64, off: f64, out: &Out<'_>) -> Result {
    const CHUNK: usize = 1 << 16;
    let mut outer = Walk::new(out.view.shape, [out.view.strides]);
    let (depth, [stride]) = outer.pop();
    let positions = Positions::new(indices, 0, depth, Bounds::Clip);
    let outer = outer.coalesced();
    let filled = out.view.contiguous && out.mode == Mode::Write;
    if !filled {
        fill(cx, Scalar::Float(off), out)?;
    }
    let rows = (CHUNK / depth.max(1)).clamp(1, STRIP);
    by_dtype!(out.view.dtype, T => {
        let (off, on) = (T::from_f64(off), T::from_f64(if out.mode == Mode::Write { on } else { on - off }));
        let (place, mode) = (Shared(out.view.as_ptr::<T>()), out.mode);
        in_order(positions.count.div_ceil(rows), cx.threads, |task| {
            let from = task * rows;
            let mut strip = [0; STRIP];
            let strip = &mut strip[..rows.min(positions.count - from)];
            positions.read_inside(from, strip)?;
            if filled {
                // SAFETY: these rows of the contiguous output belong to this task.
                unsafe { std::slice::from_raw_parts_mut(place.at((from * depth) as isize), strip.len() * depth) }.fill(off);
            }
            let mut numbers = strip.iter();
            outer.for_each(from, from + numbers.len(), |[at]| {
                if let Some(n) = numbers.next().filter(|n| **n < depth) {
                    // SAFETY: a place of the output's own dimensions, in this task's rows.
                    let to = unsafe { &mut *place.at(at + *n as isize * stride) };
                    *to = if mode == Mode::Write { on } else { add_elements(*to, on) };
                }
            });
            Ok(())
        })
    })
}
