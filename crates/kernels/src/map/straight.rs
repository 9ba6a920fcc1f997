//! A few values: nothing to plan, nothing to convert, one call of the loop for each step. Operands that do not lie in one line are copied
//! together on the stack first.
use super::body::Work;
use super::program::{Node, Program};
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

/// Operands, constants and intermediate values of a program that `straight` runs.
const PLACES: usize = 12;

impl Program {
    /// The class of all its values, if `straight` can run it: a few steps over real numbers of one type.
    pub(super) fn line_class(&self) -> Option<Class> {
        let class = Class::of(*self.inputs.first()?);
        let lane = class.dtype();
        let whole = self.nodes.iter().all(|(node, _)| match node {
            Node::Load { class: c, .. } | Node::Const { class: c, .. } | Node::Step { class: c, .. } => *c == class,
            Node::Cast { .. } => false,
            Node::Weak(_) => true,
        });
        let typed = self.inputs.iter().chain(self.results.iter().map(|(_, d)| d)).all(|d| *d == lane);
        let once = |k: usize| match self.outs[k].made {
            Some(step) => self.outs[..k].iter().all(|o| o.made != Some(step)),
            None => self.passed_on(k).is_some(),
        };
        let apart = (0..self.outs.len()).all(once);
        (class.is_float() && whole && typed && apart && self.body().places() <= PLACES).then_some(class)
    }

    /// Whether `straight` can run it.
    pub fn is_straight(&self) -> bool {
        self.line.is_some()
    }

    /// The input that output `k` is, unchanged.
    pub fn passed_on(&self, k: usize) -> Option<usize> {
        self.loads.get(self.outs[k].place as usize).map(|l| l.input as usize)
    }

    /// Runs the program over at most `FEW` values. Outputs without an address, and those that are only passed on, are left
    /// out. False: not for this program, or an operand does not lie in a line; nothing has happened.
    ///
    /// # Safety
    /// There are as many operands as inputs, and each line holds `n` values of its input's type; the outputs that have an
    /// address have room for `n` values that nobody else uses, none of them an operand's.
    pub unsafe fn straight(&self, outs: &[*mut u8], ins: &[Lane<'_>], n: usize) -> bool {
        let (Some(class), true) = (self.line, n <= FEW) else { return false };
        let body = self.body();
        let mut memory = [const { Buffer::uninit() }; PLACES];
        let mut places = [std::ptr::null_mut::<u8>(); PLACES];
        let mut lines = 0u32;
        for (k, load) in body.loads.iter().enumerate() {
            places[k] = match ins[load.input as usize] {
                Lane::Line(p) => {
                    lines |= 1 << k;
                    p.cast_mut()
                }
                Lane::Number(s) => {
                    // SAFETY: a number needs no address.
                    let bytes = unsafe { lane(class, std::ptr::null(), class.dtype(), Some(s)) };
                    number(&mut memory[k], bytes, class)
                }
                Lane::Spread { .. } => return false,
            };
        }
        for (k, (bytes, _)) in (body.loads.len()..).zip(body.consts) {
            places[k] = number(&mut memory[k], *bytes, class);
        }
        for k in body.first_slot()..body.places() {
            lines |= 1 << k;
            places[k] = memory[k].as_mut_ptr().cast();
        }
        for (spec, &out) in body.outs.iter().zip(outs) {
            if !out.is_null() && spec.made.is_some() {
                places[spec.place as usize] = out;
            }
        }
        let isa = isa() as usize;
        for step in body.steps {
            let Work::Loop(loops) = &step.work else { return false };
            let (mut pointers, mut advance) = ([std::ptr::null::<u8>(); MAX_INPUTS], 0);
            for (k, &a) in step.args[..step.arity as usize].iter().enumerate() {
                pointers[k] = places[a as usize];
                advance |= (lines >> a & 1) << k;
            }
            // SAFETY: lines and slots hold `n` lanes of the class, the other places a number, repeated.
            unsafe { loops[isa](places[step.dst as usize], pointers.as_ptr(), advance, n) };
        }
        true
    }
}

/// Puts a number into a buffer and returns its address.
#[inline(always)]
fn number(buffer: &mut Buffer, bytes: [u8; 8], class: Class) -> *mut u8 {
    let p = buffer.as_mut_ptr().cast();
    // SAFETY: a buffer has room for the repetition.
    unsafe { repeat(p, bytes, class.size()) };
    p
}
