//! A few values: nothing to plan, nothing to convert, one call of the loop. Operands that do not lie in one line are copied
//! together on the stack first.
use super::run::{lane, repeat};
use super::sweep::REPEAT;
use super::{Class, MAX_INPUTS, Map};
use crate::view::{Mode, Out, View};
use crate::walk::each;
use gluonish_base::isa::isa;
use gluonish_base::{Dims, Scalar};
use std::mem::MaybeUninit;

/// How many values that may be.
pub const FEW: usize = 64;

/// Room for as many lanes of any class, or for one lane repeated.
type Buffer = MaybeUninit<[u64; FEW]>;
const _: () = assert!(REPEAT <= size_of::<Buffer>());

/// An operand of `Map::straight`.
#[derive(Clone, Copy)]
pub enum Lane<'a> {
    /// Values of the class's own type, one after the other.
    Line(*const u8),
    /// One number for all.
    Number(Scalar),
    /// Values of the class's own type with a shape that broadcasts to the result's.
    Spread { ptr: *const u8, shape: &'a Dims, strides: &'a Dims },
}

impl Map {
    /// Runs the formula over the `n` values, at most `FEW`, of an array of this shape; a truth value is written as bool.
    /// False: the formula has no loop for the class.
    ///
    /// # Safety
    /// There are as many operands as `arity`, and each line holds `n` lanes of `class`; `out` has room for `n` lanes (or
    /// bools) that nobody else uses.
    #[inline(always)]
    pub unsafe fn straight<'a>(
        &self,
        class: Class,
        out: *mut u8,
        ins: impl IntoIterator<Item = Lane<'a>>,
        shape: &Dims,
        n: usize,
    ) -> bool {
        let (Some(run), true) = (self.get(class, isa()), n <= FEW) else { return false };
        let mut buffers = [const { Buffer::uninit() }; MAX_INPUTS];
        let mut pointers = [std::ptr::null::<u8>(); MAX_INPUTS];
        let mut advance = 0;
        for (k, (operand, buffer)) in ins.into_iter().zip(&mut buffers).enumerate() {
            let room = buffer.as_mut_ptr().cast::<u8>();
            pointers[k] = room;
            advance |= 1 << k;
            // SAFETY: the buffer has room for what is put there; operands are as the caller promises.
            unsafe {
                match operand {
                    Lane::Line(p) => pointers[k] = p,
                    Lane::Number(s) => {
                        advance &= !(1 << k);
                        repeat(room, lane(class, std::ptr::null(), class.dtype(), Some(s)), class.size());
                    }
                    Lane::Spread { ptr, shape: own, strides } => {
                        let strides = own.broadcast_strides(strides, shape);
                        match class.size() {
                            4 => gather::<u32>(ptr.cast(), &strides, shape, room.cast()),
                            _ => gather::<u64>(ptr.cast(), &strides, shape, room.cast()),
                        }
                    }
                }
            }
        }
        if !self.is_truth() {
            // SAFETY: the caller's promise.
            unsafe { run(out, pointers.as_ptr(), advance, n) };
            return true;
        }
        let mut lanes = Buffer::uninit();
        // SAFETY: the caller's promise; the lanes have room for `FEW`, and the loop writes the `n` that are read.
        unsafe {
            run(lanes.as_mut_ptr().cast(), pointers.as_ptr(), advance, n);
            match class.size() {
                4 => truths::<u32>(lanes.as_ptr().cast(), out, n),
                _ => truths::<u64>(lanes.as_ptr().cast(), out, n),
            }
        }
        true
    }

    /// The same for views. False: not such a call, and nothing has happened.
    pub(super) fn few(&self, class: Class, ins: &[View<'_>], out: &Out<'_>) -> bool {
        let (v, wanted) = (&out.view, class.dtype());
        let fits =
            |x: &View<'_>| x.dtype == wanted && x.scalar.is_none() && x.shape.broadcast(v.shape) == Some(*v.shape);
        let plain = v.contiguous && v.dtype == wanted && out.mode == Mode::Write && !self.is_truth();
        if v.size > FEW || !plain || !ins.iter().all(fits) {
            return false;
        }
        let operands = ins.iter().map(|x| Lane::Spread { ptr: x.ptr, shape: x.shape, strides: x.strides });
        // SAFETY: the operands are of the class's own type and broadcast to the output, which is contiguous; see `Out` for
        // who may write it.
        unsafe { self.straight(class, v.ptr, operands, v.shape, v.size) }
    }
}

/// Copies the elements that strides reach, in row-major order.
///
/// # Safety
/// They are elements of the size of `T`, and `to` has room for as many as the shape has.
#[inline(always)]
unsafe fn gather<T: Copy>(from: *const T, strides: &Dims, shape: &Dims, mut to: *mut T) {
    each(shape, [strides], |[at]| {
        // SAFETY: the caller's promise.
        unsafe {
            *to = *from.offset(at);
            to = to.add(1);
        }
    });
}

/// Lanes that are 0 or 1, as bools.
///
/// # Safety
/// There are `n` lanes of the size of `T`, and room for as many bytes.
#[inline(always)]
unsafe fn truths<T: Copy + Default + PartialEq>(lanes: *const T, out: *mut u8, n: usize) {
    for k in 0..n {
        // SAFETY: the caller's promise. A zero of any class has no bit set.
        unsafe { *out.add(k) = u8::from(*lanes.add(k) != T::default()) };
    }
}
