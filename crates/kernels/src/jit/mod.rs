//! Machine code for chains of float32 formulas: the operations of all steps in registers, no tiles between them. It gives
//! the same bits as the interpreter, which stays the reference and runs whatever this refuses.
mod allocate;
mod encode;
mod memory;
mod tape;

use allocate::{MAX_OPERANDS, assemble};
use memory::Pages;
use std::cell::RefCell;
use tape::{Item, Tape};
pub(crate) use tape::{Recorder, Reg};

/// Values of one group: a register.
const GROUP: usize = 8;

/// A compiled chain.
pub(crate) struct Code {
    pages: Pages,
    consts: Vec<[u32; GROUP]>,
    inputs: usize,
    operands: usize,
}

/// A chain in the making.
#[derive(Default)]
pub(crate) struct Chain(RefCell<Tape>);

impl Chain {
    pub(crate) fn input(&self, k: usize) -> Reg {
        Reg(self.0.borrow_mut().push(Item::In(k as u16)))
    }
    pub(crate) fn constant(&self, bits: u32) -> Reg {
        Reg(self.0.borrow_mut().push(Item::Const(bits)))
    }
    pub(crate) fn recorder(&self) -> Recorder<'_> {
        Recorder(&self.0)
    }

    /// The code, or none where the chain has something that no register operation does, too many operands, or the system
    /// refuses executable memory.
    pub(crate) fn compile(self, inputs: usize, outs: &[Reg]) -> Option<Code> {
        let tape = self.0.into_inner();
        let operands = inputs + outs.len();
        if tape.refused || operands > MAX_OPERANDS {
            return None;
        }
        let outs: Vec<u16> = outs.iter().map(|r| r.0).collect();
        let assembled = assemble(&tape, inputs, &outs);
        let consts = assembled.consts.iter().map(|&c| [c; GROUP]).collect();
        Some(Code { pages: Pages::new(&assembled.code)?, consts, inputs, operands })
    }
}

impl Code {
    /// Runs over `n` values; `operands` are the inputs, then the outputs. An output may be the same memory as an input.
    ///
    /// # Safety
    /// The processor has AVX2 and FMA; every operand is valid for `n` float32 values.
    pub(crate) unsafe fn run(&self, n: usize, operands: &[*mut f32]) {
        debug_assert_eq!(operands.len(), self.operands);
        let whole = n / GROUP * GROUP;
        // SAFETY: the code was made for these operands; it touches whole groups only, the rest goes through a copy.
        unsafe {
            if whole > 0 {
                self.call(whole, operands.as_ptr());
            }
            if whole < n {
                self.rest(whole, n - whole, operands);
            }
        }
    }

    /// # Safety
    /// As for `run`, with `n` a multiple of the group and not zero.
    unsafe fn call(&self, n: usize, operands: *const *mut f32) {
        // SAFETY: the pages hold a function of this signature, which saves what the calling convention asks it to.
        unsafe {
            let f: unsafe extern "sysv64" fn(usize, *const *mut f32, *const [u32; GROUP]) =
                std::mem::transmute(self.pages.start());
            f(n * size_of::<f32>(), operands, self.consts.as_ptr());
        }
    }

    /// The last values, fewer than a group: through a group of their own.
    ///
    /// # Safety
    /// As for `run`.
    #[cold]
    unsafe fn rest(&self, at: usize, n: usize, operands: &[*mut f32]) {
        let mut groups = [[0f32; GROUP]; MAX_OPERANDS];
        let mut places = [std::ptr::null_mut(); MAX_OPERANDS];
        // SAFETY: `n` values from `at` on are valid in every operand.
        unsafe {
            for (k, &p) in operands.iter().enumerate() {
                places[k] = groups[k].as_mut_ptr();
                if k < self.inputs {
                    std::ptr::copy_nonoverlapping(p.add(at), places[k], n);
                }
            }
            self.call(GROUP, places.as_ptr());
            for (k, &p) in operands.iter().enumerate().skip(self.inputs) {
                std::ptr::copy_nonoverlapping(places[k], p.add(at), n);
            }
        }
    }
}
