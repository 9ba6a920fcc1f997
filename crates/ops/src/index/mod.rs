//! Ops whose operands say where to read or write.
pub(crate) mod coordinates;
pub(crate) mod mask;
pub(crate) mod one_hot;
pub(crate) mod pick;
pub(crate) mod places;
pub(crate) mod take;

pub use coordinates::*;
pub use mask::*;
pub use one_hot::*;
pub use pick::*;
pub use places::*;
pub use take::*;

use crate::def::{Call, Input, Meta, Metas, input};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::View;
use gluonish_kernels::index::Bounds;

pub(crate) const DATA_INDEX: &[Input] = &[input("data"), input("index")];
pub(crate) const DATA_INDICES: &[Input] = &[input("data"), input("indices")];
pub(crate) const INDICES: &[Input] = &[input("indices")];
pub(crate) const MODES: &[&str] = &["clip", "wrap", "raise"];
pub(crate) const RAISE: u8 = 2;

pub(crate) fn bounds(choice: u8) -> Bounds {
    match choice {
        0 => Bounds::Clip,
        1 => Bounds::Wrap,
        _ => Bounds::Raise,
    }
}

/// Indices may be integers or floats that hold integers; truth values would be taken for positions by mistake.
pub(crate) fn check_indices(v: &View<'_>) -> Result {
    if v.dtype != DType::Bool {
        return Ok(());
    }
    Err(Cause::DType("indices must be integers, got bool; use boolean_mask or x[mask] to select by truth".into())
        .into())
}

/// The shape of what indices of shape `i` select from an array of shape `a`, in the place of `axes` axes from `ax` on.
pub(crate) fn selected(a: &Dims, i: &View<'_>, ax: usize, axes: usize) -> Result<Dims> {
    check_indices(i)?;
    Dims::joined(&[&a[..ax], i.shape, &a[ax + axes..]])
}

/// The output has the shape of an attribute; what came from there must have the shape `part`.
pub(crate) fn back_to(c: &Call<'_>, outs: &mut Metas, whole: Dims, part: Dims) -> Result {
    if *c.ins[0].shape != part {
        let text = format!(
            "values of shape {} did not come from shape {whole} by these indices: expected {part}",
            c.ins[0].shape
        );
        return Err(Cause::Shape(text).into());
    }
    outs.push(Meta { shape: whole, dtype: c.ins[0].dtype });
    Ok(())
}

pub(crate) fn shape_attr(c: &Call<'_>, at: usize) -> Dims {
    c.attrs.ints(at).copied().unwrap_or_default()
}

/// Bytes moved by what reads or writes a few places of a large array: what the array holds beside them costs nothing.
pub(crate) fn moved(list: usize, indices: usize) -> u64 {
    ((list * 3 + indices * 8) / 16) as u64
}
