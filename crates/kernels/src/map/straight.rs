//! A few values that lie in one line: no shapes, no types to convert, one call of the loop.
use super::run::repeat;
use super::sweep::REPEAT;
use super::{Class, MAX_INPUTS, Map};
use gluonish_base::Scalar;
use gluonish_base::isa::isa;
use std::mem::MaybeUninit;

/// How many values that may be.
pub const FEW: usize = 64;

/// An operand of `Map::straight`.
#[derive(Clone, Copy)]
pub enum Lane {
    /// Values of the class's own type.
    Line(*const u8),
    /// One number for all.
    Number(Scalar),
}

impl Map {
    /// Runs the formula over at most `FEW` values; a truth value is written as bool. False: not for this class.
    ///
    /// # Safety
    /// There are as many operands as `arity`, and each line holds `n` lanes of `class`; `out` has room for `n` lanes (or
    /// bools) that nobody else uses.
    #[inline(always)]
    pub unsafe fn straight(&self, class: Class, out: *mut u8, ins: &[Lane], n: usize) -> bool {
        let (Some(run), true) = (self.get(class, isa()), n <= FEW && class.is_float()) else { return false };
        let mut singles = [const { MaybeUninit::<[u8; REPEAT]>::uninit() }; MAX_INPUTS];
        let mut pointers = [std::ptr::null::<u8>(); MAX_INPUTS];
        let mut advance = 0;
        for (k, (lane, single)) in ins.iter().zip(&mut singles).enumerate() {
            pointers[k] = match lane {
                Lane::Line(p) => {
                    advance |= 1 << k;
                    *p
                }
                Lane::Number(s) => {
                    let bits =
                        if class == Class::F32 { (s.as_f64() as f32).to_bits() as u64 } else { s.as_f64().to_bits() };
                    // SAFETY: room for the repetition.
                    unsafe { repeat(single.as_mut_ptr().cast(), bits.to_ne_bytes(), class.size()) };
                    single.as_ptr().cast()
                }
            };
        }
        if !self.is_truth() {
            // SAFETY: the caller's promise.
            unsafe { run(out, pointers.as_ptr(), advance, n) };
            return true;
        }
        let mut lanes = MaybeUninit::<[u64; FEW]>::uninit();
        // SAFETY: the caller's promise; the lanes have room for `FEW`, and the loop writes the `n` that are read.
        unsafe {
            run(lanes.as_mut_ptr().cast(), pointers.as_ptr(), advance, n);
            for k in 0..n {
                let truth = match class {
                    Class::F32 => *lanes.as_ptr().cast::<f32>().add(k) != 0.0,
                    _ => *lanes.as_ptr().cast::<f64>().add(k) != 0.0,
                };
                *out.add(k) = truth as u8;
            }
        }
        true
    }
}
