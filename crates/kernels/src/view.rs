//! What a kernel is called with.
use crate::attrs::Attrs;
use gluonish_base::{DType, Dims, Result, Scalar, Ticket};
use std::num::NonZeroU64;

/// Memory with a shape. For an input it is only read; for an output it belongs to the kernel while it runs.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The first element (offset included). Null only in shape rules, where nothing is read.
    pub ptr: *mut u8,
    pub shape: &'a Dims,
    /// In elements.
    pub strides: &'a Dims,
    pub dtype: DType,
    /// Row-major without gaps.
    pub contiguous: bool,
    /// Number of elements.
    pub size: usize,
    /// A Python number: `ptr` then holds it as one element of type `dtype`, and `shape` is empty.
    pub scalar: Option<Scalar>,
}

impl<'a> View<'a> {
    /// A view of contiguous memory.
    pub fn contiguous(ptr: *mut u8, dtype: DType, shape: &'a Dims, strides: &'a Dims) -> View<'a> {
        View { ptr, shape, strides, dtype, contiguous: true, size: shape.size(), scalar: None }
    }

    /// The elements that a layout over this view's memory names; `offset` is in elements, from the first.
    pub fn part<'b>(&self, shape: &'b Dims, strides: &'b Dims, offset: isize) -> View<'b> {
        let size = shape.size();
        let ptr = if size == 0 { self.ptr } else { self.ptr.wrapping_offset(offset * self.dtype.size() as isize) };
        let contiguous = shape.is_contiguous(strides);
        View { ptr, shape, strides, dtype: self.dtype, contiguous, size, scalar: None }
    }

    /// The pointer as one to elements of type `T`; `T` must be the type that `dtype` names.
    #[inline(always)]
    pub fn as_ptr<T>(&self) -> *mut T {
        debug_assert_eq!(size_of::<T>(), self.dtype.size());
        self.ptr.cast()
    }

    /// Whether it stands for an optional input that was not given: no array has that few dimensions and no element.
    pub fn is_absent(&self) -> bool {
        self.size == 0 && self.shape.is_empty()
    }

    pub fn ndim(&self) -> usize {
        self.shape.len()
    }
}

/// Whether a kernel replaces what is in its output or adds to it (so that gradients accumulate without a copy).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Write,
    Add,
}

/// An output: where to, and how. It never overlaps an input unless it is the same view of the same memory, element for
/// element, and the row says that it works in place.
#[derive(Clone, Copy)]
pub struct Out<'a> {
    pub view: View<'a>,
    pub mode: Mode,
}

/// What a kernel may use beside its operands.
#[derive(Clone, Copy, Default)]
pub struct Cx {
    /// Threads worth using, decided by the row's cost; 1 runs on the caller. Results never depend on it.
    pub threads: usize,
    /// For rows flagged random.
    pub ticket: Ticket,
    /// `autograd.is_training()` where the op was called.
    pub training: bool,
    /// For rows that say of which input: the name of its storage's contents (a number and a version). What a kernel
    /// derives from those it may keep under this name.
    pub stamp: Option<(NonZeroU64, u32)>,
}

/// The inputs of a call, in the order of the row. An optional input that is absent has a null `ptr` and no elements.
pub struct Args<'a> {
    pub ins: &'a [View<'a>],
    pub attrs: &'a Attrs,
}

pub type Kernel = fn(&Cx, &Args<'_>, &mut [Out<'_>]) -> Result;
