//! Tensors in pieces of a few kilobytes, each seen in the type that is computed in.
use super::{PIECE, Value};
use crate::convert::{cast_fn, copy_view};
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{DType, Dims, Result};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// A weight, what changes it, and what is kept beside it. All have the shape of the weight.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    pub weight: View<'a>,
    /// Where the new weight goes; it may be the memory of the old one.
    pub out: View<'a>,
    pub grad: View<'a>,
    /// They change in place; those that there are come first.
    pub states: [Option<View<'a>>; 3],
    /// Where the new weight goes too, in a narrower type.
    pub copy: Option<View<'a>>,
}

impl<'a> Tensor<'a> {
    pub(super) fn computed_in(&self) -> DType {
        if self.weight.dtype == DType::F64 { DType::F64 } else { DType::F32 }
    }

    fn all(&mut self) -> impl Iterator<Item = (&mut View<'a>, bool)> {
        let written = [&mut self.out]
            .into_iter()
            .chain(self.states.iter_mut().flatten())
            .chain(&mut self.copy)
            .map(|v| (v, true));
        [&mut self.weight, &mut self.grad].into_iter().map(|v| (v, false)).chain(written)
    }
}

/// The tensors of a call, cut into pieces that are numbered through.
pub(super) struct Pieces<'a> {
    tensors: &'a [Tensor<'a>],
    /// The number of the first piece of each tensor, and then that of all.
    first: Vec<usize>,
}

// SAFETY: a kernel's operands may be used from any thread while it runs; whoever writes a piece promises to be alone.
unsafe impl Sync for Pieces<'_> {}

/// Calls `f` with the tensors cut into pieces. What does not lie element after element is copied, and copied back.
pub(super) fn with_pieces(cx: &Cx, tensors: &[Tensor<'_>], f: impl FnOnce(&Pieces<'_>) -> Result) -> Result {
    let strides: Vec<Dims> = tensors.iter().map(|t| t.weight.shape.contiguous_strides()).collect();
    let mut even: Vec<Tensor<'_>> = tensors.to_vec();
    let mut copies: Vec<(Vec<u64>, Option<View<'_>>, View<'_>)> = Vec::new();
    for (tensor, strides) in even.iter_mut().zip(&strides) {
        let (from, to) = (tensor.weight, tensor.out);
        let in_place = from.ptr == to.ptr && from.strides == to.strides;
        let lost = (tensor.grad.ptr == to.ptr).then_some(to.ptr);
        for (view, written) in tensor.all() {
            // A gradient in whose place the new weight comes is kept as well.
            if view.contiguous && (written || lost != Some(view.ptr)) {
                continue;
            }
            let mut memory = vec![0_u64; (view.size * view.dtype.size()).div_ceil(8)];
            let whole = View::contiguous(memory.as_mut_ptr().cast(), view.dtype, view.shape, strides);
            copy_view(cx, view, &Out { view: whole, mode: Mode::Write })?;
            copies.push((memory, written.then_some(*view), whole));
            *view = whole;
        }
        if in_place {
            tensor.weight = tensor.out;
        }
    }
    let mut first = vec![0];
    for tensor in tensors {
        first.push(first.last().copied().unwrap_or(0) + tensor.weight.size.div_ceil(PIECE));
    }
    f(&Pieces { tensors: &even, first })?;
    for (_, to, from) in copies.iter().filter_map(|(memory, to, from)| to.map(|to| (memory, to, from))) {
        copy_view(cx, from, &Out { view: to, mode: Mode::Write })?;
    }
    Ok(())
}

/// A part of a view: where it is, or in a buffer.
struct Part<T> {
    ptr: *mut T,
    memory: *mut u8,
    dtype: DType,
}

impl<T: Value> Part<T> {
    /// # Safety
    /// The range is in the view, and the buffer has room for it.
    unsafe fn new(view: &View<'_>, range: &Range<usize>, buffer: &mut MaybeUninit<[T; PIECE]>) -> Part<T> {
        let memory = view.ptr.wrapping_add(range.start * view.dtype.size());
        let ptr = if view.dtype == T::DTYPE { memory.cast() } else { buffer.as_mut_ptr().cast() };
        Part { ptr, memory, dtype: view.dtype }
    }
    fn buffered(&self) -> bool {
        self.dtype != T::DTYPE
    }
    /// # Safety
    /// As `new`; `n` is the length of the range.
    unsafe fn load(&self, n: usize) {
        if self.buffered() {
            // SAFETY: by contract.
            unsafe { cast_fn(self.dtype, T::DTYPE)(self.ptr.cast(), 1, self.memory, 1, n) };
        }
    }
    /// # Safety
    /// As `load`.
    unsafe fn store(&self, n: usize) {
        if self.buffered() {
            // SAFETY: by contract.
            unsafe { cast_fn(T::DTYPE, self.dtype)(self.memory, 1, self.ptr.cast(), 1, n) };
        }
    }
}

impl Pieces<'_> {
    pub(super) fn count(&self) -> usize {
        self.first.last().copied().unwrap_or(0)
    }

    pub(super) fn tensors(&self) -> usize {
        self.tensors.len()
    }

    /// The tensor that piece `i` is of, and its elements.
    pub(super) fn get(&self, i: usize) -> (usize, Range<usize>) {
        let tensor = self.first.partition_point(|first| *first <= i) - 1;
        let start = (i - self.first[tensor]) * PIECE;
        (tensor, start..self.tensors[tensor].weight.size.min(start + PIECE))
    }

    /// The pieces of a tensor.
    pub(super) fn of(&self, tensor: usize) -> Range<usize> {
        self.first[tensor]..self.first[tensor + 1]
    }

    /// Calls `f` with the weight, which becomes the new one, the gradient, and the states; those that there are not are
    /// empty.
    ///
    /// # Safety
    /// Nobody else uses these elements.
    pub(super) unsafe fn with<T: Value>(
        &self,
        tensor: usize,
        range: Range<usize>,
        f: impl FnOnce(&mut [T], &[T], [&mut [T]; 3]),
    ) {
        let t = &self.tensors[tensor];
        let n = range.len();
        let mut buffers = [const { MaybeUninit::<[T; PIECE]>::uninit() }; 5];
        let [for_weight, for_grad, for_states @ ..] = &mut buffers;
        // SAFETY: the range is a piece of each view, which are contiguous and of one size; a buffer holds a piece. What is
        // written belongs to the caller, and the operands of one tensor do not overlap, but for the old and new weight.
        unsafe {
            let out = Part::new(&t.out, &range, for_weight);
            let old = t.weight.ptr.wrapping_add(range.start * t.weight.dtype.size());
            if out.buffered() || old != out.memory {
                cast_fn(t.weight.dtype, T::DTYPE)(out.ptr.cast(), 1, old, 1, n);
            }
            let grad = Part::new(&t.grad, &range, for_grad);
            grad.load(n);
            let mut states: [Option<Part<T>>; 3] = [const { None }; 3];
            for ((part, view), buffer) in states.iter_mut().zip(&t.states).zip(for_states) {
                let Some(view) = view else { break };
                let state = Part::new(view, &range, buffer);
                state.load(n);
                *part = Some(state);
            }
            let slices = states.each_ref().map(|part| match part {
                Some(part) => from_raw_parts_mut(part.ptr, n),
                None => &mut [],
            });
            f(from_raw_parts_mut(out.ptr, n), from_raw_parts(grad.ptr, n), slices);
            out.store(n);
            states.iter().flatten().for_each(|part| part.store(n));
            if let Some(copy) = &t.copy {
                let to = copy.ptr.wrapping_add(range.start * copy.dtype.size());
                cast_fn(T::DTYPE, copy.dtype)(to, 1, out.ptr.cast(), 1, n);
            }
        }
    }
}

/// Leaves everything as it is: the new weight is the old one.
pub fn keep(cx: &Cx, t: &Tensor<'_>) -> Result {
    let here = t.weight.ptr == t.out.ptr;
    let copies = t.copy.iter().chain((!here).then_some(&t.out));
    copies.into_iter().try_for_each(|to| copy_view(cx, &t.weight, &Out { view: *to, mode: Mode::Write }))
}

/// The values of a short list, or of one number.
pub fn numbers(v: &View<'_>) -> Result<Vec<f64>> {
    let mut list = vec![0.0_f64; v.size];
    let (shape, strides) = (*v.shape, v.shape.contiguous_strides());
    let view = View::contiguous(list.as_mut_ptr().cast(), DType::F64, &shape, &strides);
    copy_view(&Cx { threads: 1, ..Cx::default() }, v, &Out { view, mode: Mode::Write })?;
    Ok(list)
}

/// Stores a short list.
pub fn give(cx: &Cx, list: &mut [f64], out: &Out<'_>) -> Result {
    let strides = out.view.shape.contiguous_strides();
    copy_view(cx, &View::contiguous(list.as_mut_ptr().cast(), DType::F64, out.view.shape, &strides), out)
}
