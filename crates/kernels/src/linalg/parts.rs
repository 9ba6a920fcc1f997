//! Triangles of the last two axes, taken out of matrices and put back, for every type.
use crate::convert::{copy_view, fill};
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{Dims, Result};

/// A part of a matrix along its last two axes: `size` elements from (row, col) on, `by` (rows, cols) apart.
struct Run {
    at: (usize, usize),
    by: (isize, isize),
    size: usize,
}

impl Run {
    fn layout(&self, v: &View<'_>) -> (Dims, Dims, isize) {
        let d = v.ndim() - 2;
        let (mut shape, mut strides) = (Dims::of(&v.shape[..d]), Dims::of(&v.strides[..d]));
        let (rs, cs) = (v.strides[d], v.strides[d + 1]);
        shape.push(self.size as isize);
        strides.push(self.by.0 * rs + self.by.1 * cs);
        let offset = if self.size == 0 { 0 } else { self.at.0 as isize * rs + self.at.1 as isize * cs };
        (shape, strides, offset)
    }

    /// Copies between this part of matrices and a view of vectors.
    fn copy(&self, cx: &Cx, matrices: &View<'_>, vectors: &View<'_>, mode: Mode, into_matrices: bool) -> Result {
        let (shape, strides, offset) = self.layout(matrices);
        let ptr = matrices.ptr.wrapping_offset(offset * matrices.dtype.size() as isize);
        let contiguous = shape.is_contiguous(&strides);
        let part = View { ptr, shape: &shape, strides: &strides, contiguous, size: shape.size(), ..*matrices };
        if into_matrices {
            copy_view(cx, vectors, &Out { view: part, mode })
        } else {
            copy_view(cx, &part, &Out { view: *vectors, mode })
        }
    }
}

/// A triangle in pieces: the lower one on and below the diagonal `offset` row after row, the upper one on and above it
/// column after column. MXNet's rule: a positive offset always means the upper triangle and a negative one the lower;
/// `lower` decides where it is 0.
fn pieces(n: usize, offset: i64, lower: bool) -> impl Iterator<Item = Run> {
    let shift = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
    let below = offset < 0 || (offset == 0 && lower);
    let order = n.saturating_sub(shift);
    (0..order).map(move |i| {
        let (at, by) = if below { ((i + shift, 0), (0, 1)) } else { ((0, i + shift), (1, 0)) };
        Run { at, by, size: i + 1 }
    })
}

/// How many elements the triangle of matrices of order `n` has.
pub fn triangle_size(n: usize, offset: i64) -> usize {
    let order = n.saturating_sub(usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX));
    order * (order + 1) / 2
}

/// A part of vectors.
fn section<'a>(v: &View<'a>, shape: &'a Dims, start: usize) -> View<'a> {
    let last = v.ndim() - 1;
    let ptr = v.ptr.wrapping_offset(start as isize * v.strides[last] * v.dtype.size() as isize);
    View { ptr, shape, contiguous: shape.is_contiguous(v.strides), size: shape.size(), ..*v }
}

fn copy_triangle(
    cx: &Cx,
    matrices: &View<'_>,
    vectors: &View<'_>,
    rule: (i64, bool),
    mode: Mode,
    into: bool,
) -> Result {
    let n = matrices.shape[matrices.ndim() - 1] as usize;
    let mut start = 0;
    for run in pieces(n, rule.0, rule.1) {
        let mut shape = *vectors.shape;
        shape[vectors.ndim() - 1] = run.size as isize;
        run.copy(cx, matrices, &section(vectors, &shape, start), mode, into)?;
        start += run.size;
    }
    Ok(())
}

/// The elements of a triangle, piece after piece, as vectors.
pub fn extract_triangle(cx: &Cx, a: &View<'_>, offset: i64, lower: bool, out: &Out<'_>) -> Result {
    copy_triangle(cx, a, &out.view, (offset, lower), out.mode, false)
}

/// Zeros with the elements of vectors in a triangle, piece after piece.
pub fn make_triangle(cx: &Cx, x: &View<'_>, offset: i64, lower: bool, out: &Out<'_>) -> Result {
    if out.mode == Mode::Write {
        fill(cx, 0.0.into(), out)?;
    }
    copy_triangle(cx, &out.view, x, (offset, lower), out.mode, true)
}
