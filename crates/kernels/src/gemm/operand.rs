//! Views as batches of matrices.
use super::output::MatMut;
use super::pack::Mat;
use crate::view::View;
use gluonish_base::Dims;

/// The last two axes of a view as a matrix, and the strides of the axes before them.
#[derive(Clone, Copy)]
pub(crate) struct Operand {
    ptr: *mut u8,
    pub rs: isize,
    pub cs: isize,
    /// One stride for each batch axis.
    pub batch: Dims,
}

// SAFETY: a kernel's operands may be used from any thread while it runs.
unsafe impl Sync for Operand {}

impl Operand {
    /// For a view of at least two axes whose batch axes broadcast to `batch`.
    pub(crate) fn new(v: &View<'_>, batch: &Dims) -> Operand {
        let d = v.ndim() - 2;
        let (shape, strides) = (Dims::of(&v.shape[..d]), Dims::of(&v.strides[..d]));
        let batch = shape.broadcast_strides(&strides, batch);
        let mut o = Operand { ptr: v.ptr, rs: v.strides[d], cs: v.strides[d + 1], batch };
        // The stride of an axis of one element says nothing: one that looks contiguous serves best.
        if v.shape[d + 1] == 1 && o.rs != 1 {
            o.cs = 1;
        }
        if v.shape[d] == 1 && o.cs != 1 {
            o.rs = 1;
        }
        o
    }

    /// How far the i-th matrix of a batch of this shape is from the first.
    pub(crate) fn offset(&self, mut i: usize, batch: &Dims) -> isize {
        let mut offset = 0;
        for (&size, &stride) in batch.iter().zip(self.batch.iter()).rev() {
            offset += (i % size as usize) as isize * stride;
            i /= size as usize;
        }
        offset
    }

    fn at<T>(&self, offset: isize) -> *mut T {
        self.ptr.cast::<T>().wrapping_offset(offset)
    }
    pub(crate) fn mat<T>(&self, offset: isize) -> Mat<T> {
        Mat::new(self.at(offset), self.rs, self.cs)
    }
    pub(crate) fn mat_mut<T>(&self, offset: isize) -> MatMut<T> {
        MatMut::new(self.at(offset), self.rs, self.cs)
    }
    pub(crate) fn transpose(&mut self) {
        std::mem::swap(&mut self.rs, &mut self.cs);
    }
}
