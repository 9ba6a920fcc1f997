//! Indexing. Integers, slices, `...` and new axes become a slice of the array, which is a view; keys with arrays are in
//! `advanced`.
mod advanced;

pub use advanced::{Part, assign_at, select_at};

use crate::array::NDArray;
use gluonish_base::{Cause, Dims, Error, Result, too_many_dims};
use gluonish_ops::rows::{Slice, range};

/// One part of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Index {
    At(isize),
    /// Start, stop, step; `None` as Python's default.
    Range(Option<isize>, Option<isize>, isize),
    Ellipsis,
    NewAxis,
}

/// What a key selects from an array of this shape.
pub fn parse_index(shape: &Dims, key: &[Index]) -> Result<Slice> {
    let named = key.iter().filter(|k| matches!(k, Index::At(_) | Index::Range(..))).count();
    if named > shape.len() {
        return Err(Error::new(Cause::TooManyIndices { given: named, shape: *shape }).in_op("index"));
    }
    let n = shape.len();
    let mut slice = Slice { begin: Dims::filled(n, 0), step: Dims::filled(n, 1), size: *shape, axes: Dims::EMPTY };
    let mut axis = 0;
    let mut dots = false;
    for k in key {
        match *k {
            Index::NewAxis => push(&mut slice.axes, -1, shape)?,
            Index::Ellipsis => {
                if std::mem::replace(&mut dots, true) {
                    return Err(two_ellipses());
                }
                for _ in 0..n - named {
                    push(&mut slice.axes, axis as isize, shape)?;
                    axis += 1;
                }
            }
            Index::At(i) => {
                slice.begin[axis] = position(i, axis, shape[axis])?;
                slice.size[axis] = 1;
                axis += 1;
            }
            Index::Range(start, stop, step) => {
                let (begin, size) = range(start, stop, step, shape[axis]).map_err(|e| e.in_op("index"))?;
                (slice.begin[axis], slice.step[axis], slice.size[axis]) = (begin, step, size);
                push(&mut slice.axes, axis as isize, shape)?;
                axis += 1;
            }
        }
    }
    while axis < n {
        push(&mut slice.axes, axis as isize, shape)?;
        axis += 1;
    }
    Ok(slice)
}

/// `a[i]` and `a[i:j]`, by far the most frequent keys: only the first axis changes.
pub(crate) fn select_first(a: &NDArray, key: Index) -> Result<Option<NDArray>> {
    let ([size, inner @ ..], [step, steps @ ..]) = (&**a.shape(), &**a.strides()) else { return Ok(None) };
    match key {
        Index::At(i) => {
            let at = position(i, 0, *size)?;
            Ok(Some(a.view_as(&Dims::of(inner), &Dims::of(steps), at * step)))
        }
        Index::Range(start, stop, by) => {
            let (first, count) = range(start, stop, by, *size).map_err(|e| e.in_op("index"))?;
            let (mut shape, mut strides) = (*a.shape(), *a.strides());
            (shape[0], strides[0]) = (count, step * by);
            Ok(Some(a.view_as(&shape, &strides, first * step)))
        }
        _ => Ok(None),
    }
}

/// An index counted from the front or, when negative, from the back.
fn position(i: isize, axis: usize, size: isize) -> Result<isize> {
    let at = if i < 0 { i + size } else { i };
    if (0..size).contains(&at) {
        return Ok(at);
    }
    Err(Error::new(Cause::Index { index: i as i64, axis, size: size as usize }).in_op("index"))
}

/// A key that does not fit.
#[cold]
fn wrong(text: String) -> Error {
    Error::new(Cause::Key(text)).in_op("index")
}

#[cold]
fn two_ellipses() -> Error {
    wrong("a key may have one ellipsis ('...')".into())
}

fn push(axes: &mut Dims, v: isize, shape: &Dims) -> Result {
    if axes.try_push(v) {
        return Ok(());
    }
    Err(too_many_dims(&format!("indexing {shape} gives more than"), axes.len()).in_op("index"))
}
