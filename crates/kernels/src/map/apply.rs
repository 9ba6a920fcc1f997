//! One formula over views, without a program.
use super::body::{Body, Load, OutSpec, Step, Work};
use super::run::{execute, lane, repeat};
use super::sweep::{Loop, REPEAT};
use super::{CHUNK, Class, MAX_INPUTS, Map};
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::isa::isa;
use gluonish_base::{Cause, Error, Result, pool};
use std::mem::MaybeUninit;

/// Memory of an operand that is a single value.
type Single = MaybeUninit<[u8; REPEAT]>;

/// Applies a formula, computing in `class`: inputs of any type and stride are converted and broadcast to the output's
/// shape. The output may be the same view as an input.
#[inline]
pub fn apply(cx: &Cx, map: &Map, class: Class, ins: &[View<'_>], out: &Out<'_>) -> Result {
    let (Some(run), true) = (map.get(class, isa()), ins.len() == map.arity()) else {
        return Err(refuse(map, class, ins.len()));
    };
    let v = &out.view;
    if !v.contiguous || v.dtype != class.dtype() || out.mode != Mode::Write {
        return general(cx, map, class, ins, out);
    }
    let mut call = Call { run, out: v.ptr, ins: [std::ptr::null(); MAX_INPUTS], advance: 0, size: class.size() };
    let mut singles = [const { Single::uninit() }; MAX_INPUTS];
    for (k, x) in ins.iter().enumerate() {
        if x.contiguous && x.dtype == v.dtype && x.shape == v.shape {
            call.ins[k] = x.ptr;
            call.advance |= 1 << k;
        } else if x.size == 1 && x.ndim() <= v.ndim() {
            // SAFETY: a view of one element, and room for its repetition.
            unsafe { repeat(singles[k].as_mut_ptr().cast(), lane(class, x.ptr, x.dtype, x.scalar), class.size()) };
            call.ins[k] = singles[k].as_ptr().cast();
        } else {
            return general(cx, map, class, ins, out);
        }
    }
    let n = v.size;
    if n <= CHUNK || cx.threads <= 1 {
        // SAFETY: every operand is contiguous and as large as the output, or repeated; see `View` and `Out`.
        unsafe { call.range(0, n) };
    } else {
        pool::run(n.div_ceil(CHUNK), cx.threads, |c| {
            let call = &call;
            // SAFETY: as above; the ranges are disjoint.
            unsafe { call.range(c * CHUNK, n.min((c + 1) * CHUNK)) }
        });
    }
    Ok(())
}

/// A loop with its operands.
struct Call {
    run: Loop,
    out: *mut u8,
    ins: [*const u8; MAX_INPUTS],
    advance: u32,
    size: usize,
}
// SAFETY: threads work on disjoint ranges.
unsafe impl Sync for Call {}

impl Call {
    /// # Safety
    /// The operands are valid for the range, and nobody else writes it.
    #[inline(always)]
    unsafe fn range(&self, a: usize, b: usize) {
        let mut ins = self.ins;
        for (k, p) in ins.iter_mut().enumerate() {
            *p = p.wrapping_add(a * self.size * (self.advance >> k & 1) as usize);
        }
        // SAFETY: the caller's promise.
        unsafe { (self.run)(self.out.wrapping_add(a * self.size), ins.as_ptr(), self.advance, b - a) }
    }
}

/// Everything that is not plain: as a body of one step.
#[inline(never)]
fn general(cx: &Cx, map: &Map, class: Class, ins: &[View<'_>], out: &Out<'_>) -> Result {
    let Some(loops) = map.loops[class as usize] else {
        return Err(refuse(map, class, ins.len()));
    };
    let n = ins.len();
    let loads: [Load; MAX_INPUTS] = std::array::from_fn(|k| Load { input: k as u16, class, last_read: 0 });
    let step = Step { work: Work::Loop(loops), args: [0, 1, 2, 3], arity: n as u8, dst: n as u16 };
    let outs = [OutSpec { place: n as u16, class, made: Some(0) }];
    let body = Body { loads: &loads[..n], consts: &[], steps: &[step], outs: &outs, slots: 1 };
    execute(cx, body, ins, std::slice::from_ref(out))
}

#[cold]
fn refuse(map: &Map, class: Class, given: usize) -> Error {
    if given == map.arity() {
        Cause::DType(format!("this operation is not defined for {}", class.dtype())).into()
    } else {
        Cause::Argument(format!("{given} operands for a formula of {}", map.arity())).into()
    }
}
