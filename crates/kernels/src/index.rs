//! Reading and writing at positions that other arrays name. Indices may be of any integer type, or floats with integral
//! values; a fractional one is an error.
pub(crate) mod positions;
mod rows;

use crate::by_dtype;
use crate::convert::{copy_view, fill};
use crate::dispatch::Elem;
use crate::reduce::add_elements;
use crate::view::{Cx, Mode, Out, View};
use crate::walk::{Shared, Walk};
use gluonish_base::{Cause, DType, Dims, Result, Scalar, pool};
use positions::{integers, position, positions, set};
use rows::{Rows, into_output, into_sums};

/// What an index outside of the axis means. Negative indices count from the end under `Wrap` and `Raise`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bounds {
    /// The nearest end; negative ones mean the first element.
    Clip,
    /// Modulo the size.
    Wrap,
    /// An error.
    Raise,
}

/// `out[a.., i.., b..] = x[a.., indices[i..], b..]`, the indices standing in the place of `axis`.
pub fn take(cx: &Cx, x: &View<'_>, indices: &View<'_>, axis: usize, bounds: Bounds, out: &Out<'_>) -> Result {
    let numbers = positions(indices, axis, x.shape[axis] as usize, bounds)?;
    if out.view.size > 0 {
        let rows = Rows::new(x, &out.view, axis, 1, indices.ndim());
        rows.gather(&numbers, x.dtype, out.mode, cx.threads);
    }
    Ok(())
}

/// Gradient of `take` for `x`: adds the rows of `dy` where they came from, in the order of the indices.
pub fn take_grad(cx: &Cx, dy: &View<'_>, indices: &View<'_>, axis: usize, bounds: Bounds, dx: &Out<'_>) -> Result {
    let numbers = positions(indices, axis, dx.view.shape[axis] as usize, bounds)?;
    scatter_add(cx, dy, &numbers, axis, [1, indices.ndim()], dx)
}

/// Adds the places of `dy` to the rows of `dx` that `numbers` lists. The half types are summed in float32.
fn scatter_add(cx: &Cx, dy: &View<'_>, numbers: &[usize], axis: usize, dims: [usize; 2], dx: &Out<'_>) -> Result {
    if !matches!(dx.view.dtype, DType::F16 | DType::BF16) {
        return scatter_into(cx, dy, numbers, axis, dims, dx);
    }
    let mut sums = vec![0f32; dx.view.size];
    let strides = dx.view.shape.contiguous_strides();
    let view = View::contiguous(sums.as_mut_ptr().cast(), DType::F32, dx.view.shape, &strides);
    scatter_into(cx, dy, numbers, axis, dims, &Out { view, mode: Mode::Add })?;
    copy_view(cx, &view, dx)
}

fn scatter_into(cx: &Cx, dy: &View<'_>, numbers: &[usize], axis: usize, dims: [usize; 2], dx: &Out<'_>) -> Result {
    if dx.mode == Mode::Write {
        fill(cx, Scalar::Int(0), dx)?;
    }
    if dy.size > 0 {
        let rows = Rows::new(&dx.view, dy, axis, dims[0], dims[1]);
        rows.scatter(numbers, into_sums(dy.dtype), cx.threads);
    }
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
    let numbers = positions(indices, axis, x.shape[axis] as usize, bounds)?;
    let mover = into_output(x.dtype, out.mode);
    each_pick(cx, x, &out.view, axis, &numbers, |whole, one| {
        // SAFETY: both places are in their views; each of the output is visited once.
        unsafe { mover(one, 1, whole, 1, 1) }
    });
    Ok(())
}

/// Gradient of `pick` for `x`.
pub fn pick_grad(cx: &Cx, dy: &View<'_>, indices: &View<'_>, axis: usize, bounds: Bounds, dx: &Out<'_>) -> Result {
    let numbers = positions(indices, axis, dx.view.shape[axis] as usize, bounds)?;
    if dx.mode == Mode::Write {
        fill(cx, Scalar::Int(0), dx)?;
    }
    let mover = into_output(dy.dtype, dx.mode);
    each_pick(cx, &dx.view, dy, axis, &numbers, |whole, one| {
        // SAFETY: both places are in their views; each row of the output is visited once.
        unsafe { mover(whole, 1, one, 1, 1) }
    });
    Ok(())
}

/// Calls `f` with the place of each picked element and of the value that belongs to it.
fn each_pick(
    cx: &Cx,
    whole: &View<'_>,
    one: &View<'_>,
    axis: usize,
    numbers: &[usize],
    f: impl Fn(*mut u8, *mut u8) + Sync,
) {
    const CHUNK: usize = 1 << 14;
    let (mut shape, mut strides) = (*whole.shape, *whole.strides);
    shape.remove(axis);
    let along = strides.remove(axis);
    let walk = Walk::new(&shape, [&strides, &without_axis(one, axis, whole.ndim())]).coalesced();
    let size = whole.dtype.size() as isize;
    let (whole, one) = (Shared(whole.ptr), Shared(one.ptr));
    pool::run(numbers.len().div_ceil(CHUNK), cx.threads, |task| {
        let from = task * CHUNK;
        let mut numbers = numbers[from..].iter();
        walk.for_each(from, numbers.len().min(CHUNK) + from, |[w, o]| {
            let number = numbers.next().map_or(0, |n| *n as isize);
            f(whole.at((w + number * along) * size), one.at(o * size));
        });
    });
}

/// `on` where the position along the last axis of `out` (whose size is the depth) is the index, else `off`. An index
/// outside gives a row of `off`.
pub fn one_hot(cx: &Cx, indices: &View<'_>, on: f64, off: f64, out: &Out<'_>) -> Result {
    let mut outer = Walk::new(out.view.shape, [out.view.strides]);
    let (depth, [stride]) = outer.pop();
    let mut numbers = Vec::with_capacity(indices.size);
    integers(indices, |i| {
        numbers.push(usize::try_from(i).ok().filter(|i| *i < depth));
        Ok(())
    })?;
    fill(cx, Scalar::Float(off), out)?;
    if out.view.size == 0 {
        return Ok(());
    }
    let change = if out.mode == Mode::Write { on } else { on - off };
    by_dtype!(out.view.dtype, T => {
        let mut numbers = numbers.iter();
        outer.coalesced().for_each(0, outer.size(), |[at]| {
            if let Some(Some(n)) = numbers.next() {
                // SAFETY: a place of the output's own dimensions.
                let place = unsafe { &mut *out.view.as_ptr::<T>().offset(at + *n as isize * stride) };
                *place = if out.mode == Mode::Write { T::from_f64(change) } else { add_elements(*place, T::from_f64(change)) };
            }
        });
    });
    Ok(())
}

/// How many elements of the mask (of any type) are not zero.
pub fn count(mask: &View<'_>) -> usize {
    set(mask).len()
}

/// The rows of `x` (along axis 0) where the one-dimensional `mask` is not zero; `out` has `count(mask)` of them.
pub fn compress(cx: &Cx, x: &View<'_>, mask: &View<'_>, out: &Out<'_>) -> Result {
    let numbers = rows_of(mask, x.shape, out.view.shape)?;
    if out.view.size > 0 {
        Rows::new(x, &out.view, 0, 1, 1).gather(&numbers, x.dtype, out.mode, cx.threads);
    }
    Ok(())
}

/// Gradient of `compress`: the rows of `dy` go back to where they came from, the others get nothing.
pub fn expand(cx: &Cx, dy: &View<'_>, mask: &View<'_>, dx: &Out<'_>) -> Result {
    let numbers = rows_of(mask, dx.view.shape, dy.shape)?;
    scatter_add(cx, dy, &numbers, 0, [1, 1], dx)
}

/// The rows that a mask chooses from an array of shape `from`, if they fit one of shape `to`: the mask's values are only
/// seen here, after the shape was decided.
fn rows_of(mask: &View<'_>, from: &Dims, to: &Dims) -> Result<Vec<usize>> {
    let numbers = set(mask);
    if from.first() != Some(&(mask.size as isize)) || to.first() != Some(&(numbers.len() as isize)) {
        let text = format!(
            "a mask of {} values, {} of them true, does not lead from {from} to {to}",
            mask.size,
            numbers.len()
        );
        return Err(Cause::Shape(text).into());
    }
    Ok(numbers)
}

/// `out[i.., b..] = x[indices[0, i..], indices[1, i..], .., b..]`.
pub fn gather_nd(cx: &Cx, x: &View<'_>, indices: &View<'_>, bounds: Bounds, out: &Out<'_>) -> Result {
    let numbers = row_numbers(indices, x.shape, bounds)?;
    if out.view.size > 0 {
        let rows = Rows::new(x, &out.view, 0, indices.shape[0] as usize, indices.ndim() - 1);
        rows.gather(&numbers, x.dtype, out.mode, cx.threads);
    }
    Ok(())
}

/// Gradient of `gather_nd`, and `scatter_nd` where the same position may come twice: the values there are added.
pub fn scatter_add_nd(cx: &Cx, dy: &View<'_>, indices: &View<'_>, bounds: Bounds, dx: &Out<'_>) -> Result {
    let numbers = row_numbers(indices, dx.view.shape, bounds)?;
    scatter_add(cx, dy, &numbers, 0, [indices.shape[0] as usize, indices.ndim() - 1], dx)
}

/// The positions of each column of the indices, joined to one number over the first dimensions of `shape`.
fn row_numbers(indices: &View<'_>, shape: &Dims, bounds: Bounds) -> Result<Vec<usize>> {
    let axes = indices.shape.first().map_or(0, |&n| n as usize);
    if axes > shape.len() || indices.ndim() == 0 {
        let text = format!("indices of shape {} name more dimensions than {shape} has", indices.shape);
        return Err(Cause::Shape(text).into());
    }
    let columns = indices.shape[1..].iter().product::<isize>() as usize;
    let mut numbers = vec![0; columns];
    let mut at = 0;
    integers(indices, |i| {
        let (axis, column) = (at / columns, at % columns);
        at += 1;
        let size = shape[axis] as usize;
        numbers[column] = numbers[column] * size + position(i, axis, size, bounds)?;
        Ok(())
    })?;
    Ok(numbers)
}
