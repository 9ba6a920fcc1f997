//! Softmax of the first values of each row: how many, another array says.
use super::{Step, run};
use crate::convert::cast_fn;
use crate::index::embedding::position;
use crate::index::positions::in_order;
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{Cause, DType, Dims, Result};

/// Rows that one thread takes at a time.
const ROWS: usize = 32;

/// As `softmax`, but of the first `length` values along the axis alone; the others become 0. `length` has the shape of `x`
/// without the axis and holds whole numbers from 0 on; what is above the dimension counts as all.
pub fn softmax_of_length(
    cx: &Cx,
    x: &View<'_>,
    length: &View<'_>,
    axis: usize,
    temperature: f64,
    out: &Out<'_>,
) -> Result {
    let job = Job { x, length, axis, temperature, out };
    let rows = length.size;
    if x.size == 0 {
        return Ok(());
    }
    in_order(rows.div_ceil(ROWS), cx.threads, |c| {
        let job = &job;
        (c * ROWS..rows.min((c + 1) * ROWS)).try_for_each(|row| job.row(row))
    })
}

struct Job<'a> {
    x: &'a View<'a>,
    length: &'a View<'a>,
    axis: usize,
    temperature: f64,
    out: &'a Out<'a>,
}
// SAFETY: threads read the inputs and write disjoint rows of the output, which outlive the call.
unsafe impl Sync for Job<'_> {}

impl Job<'_> {
    fn row(&self, row: usize) -> Result {
        let (mut x_at, mut out_at, mut length_at, mut left) = (0, 0, 0, row as isize);
        for d in (0..self.x.ndim()).rev().filter(|d| *d != self.axis) {
            let place = left % self.x.shape[d];
            left /= self.x.shape[d];
            x_at += place * self.x.strides[d];
            out_at += place * self.out.view.strides[d];
            length_at += place * self.length.strides[if d > self.axis { d - 1 } else { d }];
        }
        let n = self.x.shape[self.axis];
        let kept = self.length_at(length_at, row)?.min(n);
        let part = |v: &View<'_>, at: isize, from: isize, shape: &Dims, strides: &Dims| {
            let bytes = (at + from * v.strides[self.axis]) * v.dtype.size() as isize;
            Part { ptr: v.ptr.wrapping_offset(bytes), dtype: v.dtype, shape: *shape, strides: *strides }
        };
        let (x_step, out_step) =
            (Dims::of(&[self.x.strides[self.axis]]), Dims::of(&[self.out.view.strides[self.axis]]));
        if kept > 0 {
            let shape = Dims::of(&[kept]);
            let x = part(self.x, x_at, 0, &shape, &x_step);
            let y = part(&self.out.view, out_at, 0, &shape, &out_step);
            let cx = Cx { threads: 1, ..Cx::default() };
            let out = Out { view: y.view(), mode: self.out.mode };
            run(&cx, &x.view(), None, 0, self.temperature, &out, Step::Softmax)?;
        }
        if kept < n && self.out.mode == Mode::Write {
            let shape = Dims::of(&[n - kept]);
            let rest = part(&self.out.view, out_at, kept, &shape, &out_step);
            let cx = Cx { threads: 1, ..Cx::default() };
            crate::convert::fill(&cx, 0.0.into(), &Out { view: rest.view(), mode: Mode::Write })?;
        }
        Ok(())
    }

    /// The length at an offset, which is that of a row.
    fn length_at(&self, at: isize, row: usize) -> Result<isize> {
        let mut n = 0f64;
        let from = self.length.ptr.wrapping_offset(at * self.length.dtype.size() as isize);
        // SAFETY: `at` is the place of an element of the view, which is readable as its type.
        unsafe { cast_fn(self.length.dtype, DType::F64)((&raw mut n).cast(), 1, from, 1, 1) };
        if n >= 0.0 && n.fract() == 0.0 {
            return Ok(n as isize);
        }
        let place = position(row, self.length.shape);
        Err(Cause::Value(format!("length {n} at position {place} is not valid: expected a whole number of at least 0"))
            .into())
    }
}

/// A piece of a row, with the shape and strides that a view of it borrows.
struct Part {
    ptr: *mut u8,
    dtype: DType,
    shape: Dims,
    strides: Dims,
}

impl Part {
    fn view(&self) -> View<'_> {
        View {
            ptr: self.ptr,
            shape: &self.shape,
            strides: &self.strides,
            dtype: self.dtype,
            contiguous: self.shape.is_contiguous(&self.strides),
            size: self.shape.size(),
            scalar: None,
        }
    }
}
