//! A handful of values that do not lie in one line: copied together on the stack, they do.
use super::sweep::Loop;
use super::{Class, MAX_INPUTS};
use crate::view::{Mode, Out, View};
use crate::walk::Walk;
use gluonish_base::Dims;
use std::mem::MaybeUninit;

/// Values for which copying costs less than planning tiles.
const SMALL: usize = 64;

type Buffer = MaybeUninit<[u64; SMALL]>;

/// Runs a loop over a few operands of the loop's own type, of any strides, into contiguous memory. False: not such a call.
pub(super) fn run(run: Loop, class: Class, ins: &[View<'_>], out: &Out<'_>) -> bool {
    let (v, lane) = (&out.view, class.dtype());
    let fits = |x: &View<'_>| x.dtype == lane && x.scalar.is_none() && x.shape.broadcast(v.shape) == Some(*v.shape);
    if v.size > SMALL || !v.contiguous || v.dtype != lane || out.mode != Mode::Write || !ins.iter().all(fits) {
        return false;
    }
    let mut buffers = [const { Buffer::uninit() }; MAX_INPUTS];
    let mut pointers = [std::ptr::null::<u8>(); MAX_INPUTS];
    for ((x, b), p) in ins.iter().zip(&mut buffers).zip(&mut pointers) {
        // SAFETY: the operand broadcasts to the output's shape, whose values a buffer holds.
        unsafe {
            match class.size() {
                4 => gather::<u32>(x, v.shape, b.as_mut_ptr().cast()),
                _ => gather::<u64>(x, v.shape, b.as_mut_ptr().cast()),
            }
        }
        *p = b.as_ptr().cast();
    }
    let advance = (1 << ins.len()) - 1;
    // SAFETY: every operand is in a buffer as large as the output, which is contiguous; see `Out` for who may write it.
    unsafe { run(v.ptr, pointers.as_ptr(), advance, v.size) };
    true
}

/// Copies `x`, broadcast to `shape`, in row-major order.
///
/// # Safety
/// `x` has elements of the size of `T` and broadcasts to `shape`, and `to` has room for as many.
unsafe fn gather<T: Copy>(x: &View<'_>, shape: &Dims, to: *mut T) {
    let strides = x.shape.broadcast_strides(x.strides, shape);
    let mut next = to;
    Walk::new(shape, [&strides]).for_each(0, shape.size(), |[at]| {
        // SAFETY: `at` is the offset of an element of `x`, and there is room for as many as the shape has, by contract.
        unsafe {
            *next = *x.as_ptr::<T>().offset(at);
            next = next.add(1);
        }
    });
}
