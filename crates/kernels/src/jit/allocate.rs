//! From a tape to machine code: one pass, sixteen registers, what is needed latest gives way.
use super::encode::{Assembler, LOAD, MOVE, RDX, RSI, RSP, Rm, STORE, code};
use super::tape::{Item, Op, Tape};

/// General registers that hold the operands' addresses; `rsi` is last, as the addresses are read through it.
const BASES: [u8; 12] = [0, 8, 9, 10, 11, 3, 5, 12, 13, 14, 15, RSI];
/// Those of them that belong to the caller.
const SAVED: [u8; 6] = [3, 5, 12, 13, 14, 15];
/// Operands that a chain may have.
pub(super) const MAX_OPERANDS: usize = BASES.len();
const REGISTERS: u8 = 16;

pub(super) struct Assembled {
    pub(super) code: Vec<u8>,
    pub(super) consts: Vec<u32>,
}

/// Encodes a tape. Most-used constants stay in registers as long as that spills nothing; the others are memory operands.
pub(super) fn assemble(tape: &Tape, inputs: usize, outs: &[u16]) -> Assembled {
    let mut pinned = 11;
    loop {
        let mut e = Emitter::new(tape, inputs, outs, pinned);
        e.function();
        if e.frame == 0 || pinned == 0 {
            return Assembled { code: e.asm.0, consts: e.consts };
        }
        pinned = pinned.saturating_sub(3);
    }
}

struct Emitter<'a> {
    tape: &'a Tape,
    inputs: usize,
    outs: &'a [u16],
    asm: Assembler,
    consts: Vec<u32>,
    /// For each value, the times at which it is read; outputs are read at the end.
    uses: Vec<Vec<usize>>,
    /// The register a value is in, and the value a register holds.
    home: Vec<Option<u8>>,
    held: [Option<u16>; REGISTERS as usize],
    /// Where a value was spilled to.
    spilled: Vec<Option<i32>>,
    frame: i32,
    /// Values that keep their register, and the first register they have.
    pinned: Vec<u16>,
    free: u8,
}

impl<'a> Emitter<'a> {
    fn new(tape: &'a Tape, inputs: usize, outs: &'a [u16], pins: usize) -> Emitter<'a> {
        let n = tape.items.len();
        let mut uses = vec![Vec::new(); n];
        for (t, item) in tape.items.iter().enumerate() {
            if let Item::Op(op, args) = item {
                args[..op.arity()].iter().for_each(|&a| uses[a as usize].push(t));
            }
        }
        outs.iter().for_each(|&o| uses[o as usize].push(n));
        let mut pinned: Vec<u16> =
            (0..n as u16).filter(|&v| matches!(tape.items[v as usize], Item::Const(_))).collect();
        pinned.sort_by_key(|&v| std::cmp::Reverse(uses[v as usize].len()));
        pinned.truncate(pins);
        let free = REGISTERS - pinned.len() as u8;
        Emitter {
            tape,
            inputs,
            outs,
            asm: Assembler::default(),
            consts: Vec::new(),
            uses,
            home: vec![None; n],
            held: [None; REGISTERS as usize],
            spilled: vec![None; n],
            frame: 0,
            pinned,
            free,
        }
    }

    /// `fn(bytes: rdi, operands: rsi, constants: rdx)`: runs over groups of eight values until `bytes` are done.
    fn function(&mut self) {
        let operands = self.inputs + self.outs.len();
        SAVED.iter().for_each(|&r| self.asm.push(r));
        let frame = self.asm.enter();
        for k in (0..operands).rev().filter(|&k| BASES[k] != RSI).chain((0..operands).filter(|&k| BASES[k] == RSI)) {
            self.asm.load(BASES[k], RSI, 8 * k as i32);
        }
        self.asm.clear_index();
        for (k, v) in self.pinned.clone().into_iter().enumerate() {
            let r = self.free + k as u8;
            let from = self.constant(v);
            self.asm.vex(LOAD, r, 0, from);
            self.home[v as usize] = Some(r);
        }
        let top = self.asm.here();
        for t in 0..self.tape.items.len() {
            if let Item::Op(op, args) = self.tape.items[t] {
                self.operation(t, op, args);
            }
        }
        let end = self.tape.items.len();
        for (k, &o) in self.outs.iter().enumerate() {
            let r = self.in_register(o, end, &[]);
            self.asm.vex(STORE, r, 0, Rm::Stream(BASES[self.inputs + k]));
        }
        self.asm.next(top);
        self.asm.clear_upper();
        self.asm.leave(self.frame);
        self.asm.patch(frame, self.frame);
        SAVED.iter().rev().for_each(|&r| self.asm.pop(r));
        self.asm.bytes(&[0xc3]);
    }

    /// Memory of a constant.
    fn constant(&mut self, v: u16) -> Rm {
        let Item::Const(bits) = self.tape.items[v as usize] else { return Rm::Fixed(RDX, 0) };
        let k = self.consts.iter().position(|&c| c == bits).unwrap_or_else(|| {
            self.consts.push(bits);
            self.consts.len() - 1
        });
        Rm::Fixed(RDX, 32 * k as i32)
    }

    /// Where a value is now.
    fn place(&mut self, v: u16) -> Rm {
        match (self.home[v as usize], self.tape.items[v as usize]) {
            (Some(r), _) => Rm::Reg(r),
            (None, Item::Const(_)) => self.constant(v),
            (None, Item::In(k)) => Rm::Stream(BASES[k as usize]),
            (None, Item::Op(..)) => Rm::Fixed(RSP, self.spilled[v as usize].unwrap_or(0)),
        }
    }

    /// The register of a value, loaded if need be; registers of `keep` are left alone.
    fn in_register(&mut self, v: u16, t: usize, keep: &[u8]) -> u8 {
        match self.place(v) {
            Rm::Reg(r) => r,
            from => {
                let r = self.claim(v, t, keep);
                self.asm.vex(LOAD, r, 0, from);
                r
            }
        }
    }

    /// A register for a value at time `t`: a free one, or the one whose value is needed last.
    fn claim(&mut self, v: u16, t: usize, keep: &[u8]) -> u8 {
        let free = (0..self.free).find(|&r| self.held[r as usize].is_none());
        let r = free.unwrap_or_else(|| self.evict(t, keep));
        self.held[r as usize] = Some(v);
        self.home[v as usize] = Some(r);
        r
    }

    fn evict(&mut self, t: usize, keep: &[u8]) -> u8 {
        let next = |w: Option<u16>| {
            w.and_then(|w| self.uses[w as usize].iter().find(|&&u| u >= t).copied()).unwrap_or(usize::MAX)
        };
        let r = (0..self.free).filter(|r| !keep.contains(r)).max_by_key(|&r| next(self.held[r as usize])).unwrap_or(0);
        if let Some(w) = self.held[r as usize] {
            self.home[w as usize] = None;
            let computed = matches!(self.tape.items[w as usize], Item::Op(..));
            if computed && self.spilled[w as usize].is_none() {
                self.spilled[w as usize] = Some(self.frame);
                self.asm.vex(STORE, r, 0, Rm::Fixed(RSP, self.frame));
                self.frame += 32;
            }
        }
        r
    }

    /// Whether nobody reads a value after `t`.
    fn dead(&self, v: u16, t: usize) -> bool {
        !self.pinned.contains(&v) && self.uses[v as usize].last().is_none_or(|&u| u <= t)
    }

    /// Gives the registers of operands that die at `t` free.
    fn release(&mut self, args: &[u16], t: usize) {
        for &a in args {
            if self.dead(a, t)
                && let Some(r) = self.home[a as usize].take()
            {
                self.held[r as usize] = None;
            }
        }
    }

    fn operation(&mut self, t: usize, op: Op, mut args: [u16; 3]) {
        if self.uses[t].is_empty() {
            return; // nobody wants it
        }
        if op == Op::Fma {
            return self.fma(t, args);
        }
        if op.commutes() && !matches!(self.place(args[0]), Rm::Reg(_)) {
            args.swap(0, 1);
        }
        let arity = op.arity();
        let a = self.in_register(args[0], t, &[]);
        let b = if arity == 3 { self.in_register(args[1], t, &[a]) } else { a };
        let last = match self.place(args[arity - 1]) {
            _ if arity == 1 => Rm::Reg(a),
            m if op != Op::Blend || matches!(m, Rm::Reg(_)) => m,
            _ => Rm::Reg(self.in_register(args[2], t, &[a, b])),
        };
        let third = if let Rm::Reg(r) = last { r } else { a };
        self.release(&args[..arity], t);
        let d = self.claim(t as u16, t, &[a, b, third]);
        let asm = &mut self.asm;
        match op {
            Op::Add => asm.vex(code(0, 1, 0x58), d, a, last),
            Op::Sub => asm.vex(code(0, 1, 0x5c), d, a, last),
            Op::Mul => asm.vex(code(0, 1, 0x59), d, a, last),
            Op::Div => asm.vex(code(0, 1, 0x5e), d, a, last),
            Op::Min => asm.vex(code(0, 1, 0x5d), d, a, last),
            Op::Max => asm.vex(code(0, 1, 0x5f), d, a, last),
            Op::And => asm.vex(code(0, 1, 0x54), d, a, last),
            Op::AndNot => asm.vex(code(0, 1, 0x55), d, a, last),
            Op::Or => asm.vex(code(0, 1, 0x56), d, a, last),
            Op::Xor => asm.vex(code(0, 1, 0x57), d, a, last),
            Op::AddInt => asm.vex(code(1, 1, 0xfe), d, a, last),
            Op::SubInt => asm.vex(code(1, 1, 0xfa), d, a, last),
            Op::Sqrt => asm.vex(code(0, 1, 0x51), d, 0, last),
            Op::ToInt => asm.vex(code(1, 1, 0x5b), d, 0, last),
            Op::OfInt => asm.vex(code(0, 1, 0x5b), d, 0, last),
            Op::Compare(p) => {
                asm.vex(code(0, 1, 0xc2), d, a, last);
                asm.bytes(&[p]);
            }
            Op::Round(mode) => {
                asm.vex(code(1, 3, 0x08), d, 0, last);
                asm.bytes(&[mode]);
            }
            // Shifts by a constant name the target in the second register field; the first selects which shift.
            Op::Shl(n) => {
                asm.vex(code(1, 1, 0x72), 6, d, last);
                asm.bytes(&[n]);
            }
            Op::Shr(n) => {
                asm.vex(code(1, 1, 0x72), 4, d, last);
                asm.bytes(&[n]);
            }
            Op::Blend => {
                asm.vex(code(1, 3, 0x4a), d, b, last);
                asm.bytes(&[a << 4]);
            }
            Op::Fma => {}
        }
    }

    /// The target is also a source: `a = a * b + c`, or `c = a * b + c`, whichever operand is free to be overwritten.
    fn fma(&mut self, t: usize, args: [u16; 3]) {
        let a = self.in_register(args[0], t, &[]);
        let b = self.in_register(args[1], t, &[a]);
        let last = self.place(args[2]);
        let third = if let Rm::Reg(r) = last { r } else { a };
        let unique = |k: usize| args.iter().enumerate().all(|(j, &v)| j == k || v != args[k]);
        let (into_sum, d) = match last {
            _ if self.dead(args[0], t) && unique(0) => (false, a),
            Rm::Reg(r) if self.dead(args[2], t) && unique(2) => (true, r),
            _ => {
                let d = self.claim(t as u16, t, &[a, b, third]);
                self.asm.vex(MOVE, d, 0, Rm::Reg(a));
                (false, d)
            }
        };
        if into_sum {
            self.asm.vex(code(1, 2, 0xb8), d, a, Rm::Reg(b));
        } else {
            self.asm.vex(code(1, 2, 0xa8), d, b, last);
        }
        self.release(&args, t);
        self.held[d as usize] = Some(t as u16);
        self.home[t] = Some(d);
    }
}
