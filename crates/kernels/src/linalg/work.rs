//! Matrices of a batch in memory of their own, column after column, in the type that is computed in.
use super::{Field, trouble};
use crate::convert::copy_view;
use crate::view::{Cx, Mode, Out, View};
use faer::dyn_stack::{MemBuffer, StackReq};
use faer::{MatMut, MatRef};
use gluonish_base::{Cause, Dims, Result, pool};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

pub(super) struct Work<T> {
    data: Vec<T>,
    /// Batch axes, rows, columns.
    shape: Dims,
    strides: Dims,
    rows: usize,
    cols: usize,
}

impl<T: Field> Work<T> {
    /// Zeros: `(rows, cols)` for each matrix of the batch.
    pub(super) fn zeros(batch: &Dims, rows: usize, cols: usize) -> Result<Work<T>> {
        let mut shape = *batch;
        let fits = shape.try_push(cols as isize) && shape.try_push(rows as isize);
        let Some(size) = shape.checked_size().filter(|_| fits) else {
            return Err(
                Cause::Shape(format!("matrices of {rows} by {cols} for a batch of {batch} are too large")).into()
            );
        };
        let mut data = Vec::new();
        let bytes = size.saturating_mul(size_of::<T>());
        data.try_reserve_exact(size).map_err(|_| no_room(bytes))?;
        data.resize(size, T::default());
        // The memory is that of the transposed matrices, row after row.
        let mut strides = shape.contiguous_strides();
        let d = batch.len();
        shape.swap(d, d + 1);
        strides.swap(d, d + 1);
        Ok(Work { data, shape, strides, rows, cols })
    }

    /// The matrices of a view, repeated over a batch that they broadcast to.
    pub(super) fn of(cx: &Cx, v: &View<'_>, batch: &Dims) -> Result<Work<T>> {
        let d = v.ndim() - 2;
        let mut work = Work::zeros(batch, v.shape[d] as usize, v.shape[d + 1] as usize)?;
        let view = work.view();
        copy_view(cx, v, &Out { view, mode: Mode::Write })?;
        Ok(work)
    }

    /// The transposed matrices of a view.
    pub(super) fn of_transposed(cx: &Cx, v: &View<'_>, batch: &Dims) -> Result<Work<T>> {
        let (mut shape, mut strides) = (*v.shape, *v.strides);
        let n = shape.len();
        shape.swap(n - 1, n - 2);
        strides.swap(n - 1, n - 2);
        let contiguous = shape.is_contiguous(&strides);
        Work::of(cx, &View { shape: &shape, strides: &strides, contiguous, ..*v }, batch)
    }

    pub(super) fn values(&self) -> &[T] {
        &self.data
    }

    fn view(&mut self) -> View<'_> {
        let size = self.data.len();
        let contiguous = self.shape.is_contiguous(&self.strides);
        let ptr = self.data.as_mut_ptr().cast();
        View { ptr, shape: &self.shape, strides: &self.strides, dtype: T::DTYPE, contiguous, size, scalar: None }
    }

    /// Stores the matrices, converted to the output's type.
    pub(super) fn give(&mut self, cx: &Cx, out: &Out<'_>) -> Result {
        copy_view(cx, &self.view(), out)
    }

    /// Stores the transposed matrices.
    pub(super) fn give_transposed(&mut self, cx: &Cx, out: &Out<'_>) -> Result {
        let view = self.view();
        let (mut shape, mut strides) = (*view.shape, *view.strides);
        let n = shape.len();
        shape.swap(n - 1, n - 2);
        strides.swap(n - 1, n - 2);
        let contiguous = shape.is_contiguous(&strides);
        copy_view(cx, &View { shape: &shape, strides: &strides, contiguous, ..view }, out)
    }

    /// A way for several threads to the matrices.
    pub(super) fn shared(&mut self) -> Shared<T> {
        Shared { ptr: self.data.as_mut_ptr(), rows: self.rows, cols: self.cols }
    }
}

/// The matrices of a `Work`, which must outlive it.
#[derive(Clone, Copy)]
pub(super) struct Shared<T> {
    ptr: *mut T,
    rows: usize,
    cols: usize,
}

// SAFETY: threads use different matrices or different columns, as the methods' callers promise.
unsafe impl<T: Sync> Sync for Shared<T> {}

impl<T: Field> Shared<T> {
    /// The first element of a column of matrix `i`.
    pub(super) fn at(&self, i: usize, col: usize) -> *mut T {
        self.ptr.wrapping_add((i * self.cols + col) * self.rows)
    }

    /// Matrix `i`, to read.
    ///
    /// # Safety
    /// The `Work` lives, and nobody writes to the matrix meanwhile.
    pub(super) unsafe fn get<'a>(&self, i: usize) -> MatRef<'a, T> {
        // SAFETY: the caller's; matrices lie column after column.
        unsafe { MatRef::from_raw_parts(self.at(i, 0), self.rows, self.cols, 1, self.rows as isize) }
    }

    /// The values of matrix `i`, column after column, to read.
    ///
    /// # Safety
    /// As of `get`.
    pub(super) unsafe fn values<'a>(&self, i: usize) -> &'a [T] {
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts(self.at(i, 0), self.rows * self.cols) }
    }

    /// The same, to write.
    ///
    /// # Safety
    /// As of `columns`.
    pub(super) unsafe fn values_mut<'a>(&self, i: usize) -> &'a mut [T] {
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts_mut(self.at(i, 0), self.rows * self.cols) }
    }

    /// Some columns of matrix `i`, to write.
    ///
    /// # Safety
    /// The `Work` lives, and nobody else uses these columns meanwhile.
    pub(super) unsafe fn columns<'a>(&self, i: usize, cols: Range<usize>) -> MatMut<'a, T> {
        // SAFETY: the caller's; matrices lie column after column.
        unsafe { MatMut::from_raw_parts_mut(self.at(i, cols.start), self.rows, cols.len(), 1, self.rows as isize) }
    }

    /// Matrix `i`, to write.
    ///
    /// # Safety
    /// As of `columns`.
    pub(super) unsafe fn whole<'a>(&self, i: usize) -> MatMut<'a, T> {
        // SAFETY: the caller's.
        unsafe { self.columns(i, 0..self.cols) }
    }
}

#[cold]
fn no_room(bytes: usize) -> Cause {
    Cause::Failed(format!("no memory for {} of work space", gluonish_base::error::bytes(bytes)))
}

/// Memory that `faer` asks for.
pub(super) fn memory(req: StackReq) -> Result<MemBuffer> {
    MemBuffer::try_new(req).map_err(|_| no_room(req.size_bytes()).into())
}

/// Calls `f` for each matrix of a batch, in parallel when there are several, with a state that `start` makes once for a
/// group of them. What `f` says of the first matrix that it refuses becomes the error.
pub(super) fn each<S>(
    cx: &Cx,
    batch: &Dims,
    start: impl Fn() -> Result<S> + Sync,
    f: impl Fn(&mut S, usize) -> Result<(), String> + Sync,
) -> Result {
    const GROUPS: usize = 64;
    let count = batch.size();
    let groups = count.min(GROUPS);
    let refused = Mutex::new(None::<(usize, String)>);
    let failed = Mutex::new(None);
    pool::run(groups, cx.threads, |g| {
        let mut state = match start() {
            Ok(state) => state,
            Err(e) => return *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(e),
        };
        for i in count * g / groups..count * (g + 1) / groups {
            if let Err(text) = f(&mut state, i) {
                let mut first = refused.lock().unwrap_or_else(PoisonError::into_inner);
                if first.as_ref().is_none_or(|(at, _)| i < *at) {
                    *first = Some((i, text));
                }
                return;
            }
        }
    });
    if let Some(e) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(e);
    }
    match refused.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((i, text)) => Err(trouble(batch, i, &text)),
        None => Ok(()),
    }
}

/// Calls `f` for groups of columns, in parallel unless the batch is shared already. The groups depend on the width alone.
pub(super) fn by_columns(cx: &Cx, cols: usize, f: impl Fn(Range<usize>) -> Result + Sync) -> Result {
    let width = cols.div_ceil(4).next_multiple_of(16).clamp(32, 128);
    let failed = Mutex::new(None);
    pool::run(cols.div_ceil(width), cx.threads, |g| {
        if let Err(e) = f(g * width..cols.min((g + 1) * width)) {
            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
