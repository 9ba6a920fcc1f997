//! x86-64 machine code: the few instructions that chains of AVX2 operations need.

/// The other operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rm {
    /// A vector register.
    Reg(u8),
    /// Eight values at a base register plus the running index.
    Stream(u8),
    /// Memory at a base register plus a constant.
    Fixed(u8, i32),
}

pub(super) const RCX: u8 = 1;
pub(super) const RDX: u8 = 2;
pub(super) const RSP: u8 = 4;
pub(super) const RSI: u8 = 6;
pub(super) const RDI: u8 = 7;

/// Opcode maps and prefixes of the VEX encoding.
#[derive(Clone, Copy)]
pub(super) struct Code {
    /// 0: none, 1: 66.
    pub(super) prefix: u8,
    /// 1: 0F, 2: 0F38, 3: 0F3A.
    pub(super) map: u8,
    pub(super) op: u8,
}

/// Shorthand: an instruction of a map, with or without the 66 prefix.
pub(super) const fn code(prefix: u8, map: u8, op: u8) -> Code {
    Code { prefix, map, op }
}
pub(super) const LOAD: Code = code(0, 1, 0x10);
pub(super) const STORE: Code = code(0, 1, 0x11);
pub(super) const MOVE: Code = code(0, 1, 0x28);

#[derive(Default)]
pub(super) struct Assembler(pub(super) Vec<u8>);

impl Assembler {
    pub(super) fn here(&self) -> usize {
        self.0.len()
    }
    pub(super) fn bytes(&mut self, b: &[u8]) {
        self.0.extend_from_slice(b);
    }

    /// A 256-bit VEX instruction with registers `reg` and `v` and a third operand.
    pub(super) fn vex(&mut self, c: Code, reg: u8, v: u8, rm: Rm) {
        let base = match rm {
            Rm::Reg(r) | Rm::Stream(r) | Rm::Fixed(r, _) => r,
        };
        let not = |r: u8| !(r >> 3) & 1;
        // The index register is never one of the upper eight: its bit, inverted, is 1.
        self.bytes(&[0xc4, not(reg) << 7 | 1 << 6 | not(base) << 5 | c.map, (!v & 15) << 3 | 1 << 2 | c.prefix, c.op]);
        self.operand(reg, rm);
    }

    fn operand(&mut self, reg: u8, rm: Rm) {
        let reg = (reg & 7) << 3;
        match rm {
            Rm::Reg(r) => self.bytes(&[0xc0 | reg | r & 7]),
            // Base plus index, with a displacement of one byte, since some bases cannot do without.
            Rm::Stream(base) => self.bytes(&[0x40 | reg | 4, RCX << 3 | base & 7, 0]),
            Rm::Fixed(base, at) => {
                self.bytes(&[0x80 | reg | base & 7]);
                if base & 7 == RSP {
                    self.bytes(&[0x24]);
                }
                self.bytes(&at.to_le_bytes());
            }
        }
    }

    /// Loads a general register from memory.
    pub(super) fn load(&mut self, reg: u8, base: u8, at: i32) {
        self.bytes(&[0x48 | (reg >> 3) << 2 | base >> 3, 0x8b]);
        self.operand(reg, Rm::Fixed(base, at));
    }
    pub(super) fn push(&mut self, reg: u8) {
        self.bytes(if reg >= 8 { &[0x41][..] } else { &[] });
        self.bytes(&[0x50 | reg & 7]);
    }
    pub(super) fn pop(&mut self, reg: u8) {
        self.bytes(if reg >= 8 { &[0x41][..] } else { &[] });
        self.bytes(&[0x58 | reg & 7]);
    }
    /// `rsp -= n`; returns where `n` stands, to be filled in.
    pub(super) fn enter(&mut self) -> usize {
        self.bytes(&[0x48, 0x81, 0xec, 0, 0, 0, 0]);
        self.here() - 4
    }
    pub(super) fn leave(&mut self, n: i32) {
        self.bytes(&[0x48, 0x81, 0xc4]);
        self.bytes(&n.to_le_bytes());
    }
    pub(super) fn patch(&mut self, at: usize, n: i32) {
        self.0[at..at + 4].copy_from_slice(&n.to_le_bytes());
    }
    /// `rcx = 0`.
    pub(super) fn clear_index(&mut self) {
        self.bytes(&[0x31, 0xc9]);
    }
    /// `rcx += 32; if rcx != rdi goto top`.
    pub(super) fn next(&mut self, top: usize) {
        self.bytes(&[0x48, 0x83, 0xc0 | RCX, 32, 0x48, 0x39, 0xc0 | RDI << 3 | RCX, 0x0f, 0x85]);
        let distance = top as i64 - (self.here() as i64 + 4);
        self.bytes(&(distance as i32).to_le_bytes());
    }
    /// Clears the upper halves of the registers, as the calling convention wants.
    pub(super) fn clear_upper(&mut self) {
        self.bytes(&[0xc5, 0xf8, 0x77]);
    }
}
