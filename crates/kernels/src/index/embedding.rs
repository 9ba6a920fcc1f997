//! Rows of a table, by their numbers.
use super::{Bounds, take};
use crate::convert::copy_view;
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{Cause, DType, Dims, Result};

/// Row `indices[...]` of `weight` for each index. One that is no row is an error that says which, and where it stands.
pub fn embedding(cx: &Cx, indices: &View<'_>, weight: &View<'_>, out: &Out<'_>) -> Result {
    take(cx, weight, indices, 0, Bounds::Strict, out).map_err(|e| match e.cause() {
        Cause::Index { .. } => place(cx, indices, weight.shape[0]).err().unwrap_or(e),
        _ => e,
    })
}

/// Looks for the first index that is no row.
#[cold]
fn place(cx: &Cx, indices: &View<'_>, rows: isize) -> Result {
    let mut all = vec![0i64; indices.size];
    let strides = indices.shape.contiguous_strides();
    let view = View::contiguous(all.as_mut_ptr().cast(), DType::I64, indices.shape, &strides);
    copy_view(cx, indices, &Out { view, mode: Mode::Write })?;
    let Some(at) = all.iter().position(|v| !(0..rows as i64).contains(v)) else { return Ok(()) };
    let place = position(at, indices.shape);
    let given = given(cx, indices, at)?;
    Err(Cause::Key(format!("index {given} at position {place} is out of range: weight has {rows} rows")).into())
}

/// Element `at` in row-major order as it was given, for messages: neither cut to an integer nor rounded.
#[cold]
pub(crate) fn given(cx: &Cx, indices: &View<'_>, at: usize) -> Result<String> {
    let strides = indices.shape.contiguous_strides();
    macro_rules! all {
        ($t:ty, $dtype:ident) => {{
            let mut all = vec![<$t>::default(); indices.size];
            let view = View::contiguous(all.as_mut_ptr().cast(), DType::$dtype, indices.shape, &strides);
            copy_view(cx, indices, &Out { view, mode: Mode::Write })?;
            format!("{:?}", all[at]).trim_end_matches(".0").to_string()
        }};
    }
    Ok(match indices.dtype {
        d if d.is_float() => all!(f64, F64),
        DType::U64 => all!(u64, U64),
        _ => all!(i64, I64),
    })
}

/// The coordinates of element `at` in row-major order.
pub(crate) fn position(mut at: usize, shape: &Dims) -> Dims {
    let mut place = *shape;
    for d in (0..shape.len()).rev() {
        place[d] = (at % shape[d] as usize) as isize;
        at /= shape[d] as usize;
    }
    place
}
