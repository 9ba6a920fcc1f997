//! The recorder: a formula's operations as a list, each value once. It mirrors the AVX2 instance operation by operation,
//! so that encoding the list gives the same bits.
use crate::formula::{Bits, Float, Fun, Fun2, Lanes, Num, derived, single_functions};
use std::cell::RefCell;
use std::collections::HashMap;

/// Machine operations on registers of eight float32 lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
    And,
    AndNot,
    Or,
    Xor,
    /// Comparison, with the predicate of the instruction.
    Compare(u8),
    AddInt,
    SubInt,
    Sqrt,
    /// Rounding, with the mode of the instruction.
    Round(u8),
    ToInt,
    OfInt,
    /// `a * b + c`.
    Fma,
    /// The third operand where the sign bit of the first is set, else the second.
    Blend,
    Shl(u8),
    Shr(u8),
}

impl Op {
    pub(super) fn arity(self) -> usize {
        match self {
            Op::Sqrt | Op::Round(_) | Op::ToInt | Op::OfInt | Op::Shl(_) | Op::Shr(_) => 1,
            Op::Fma | Op::Blend => 3,
            _ => 2,
        }
    }
    /// Whether the operands may be exchanged: not for minimum and maximum, whose second operand wins over NaN.
    pub(super) fn commutes(self) -> bool {
        matches!(self, Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor | Op::AddInt)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Item {
    In(u16),
    /// The bits of a constant.
    Const(u32),
    Op(Op, [u16; 3]),
}

/// What was recorded.
#[derive(Default)]
pub(super) struct Tape {
    pub(super) items: Vec<Item>,
    known: HashMap<Item, u16>,
    /// Something that no machine operation does: a call of the C library.
    pub(super) refused: bool,
}

impl Tape {
    pub(super) fn push(&mut self, item: Item) -> u16 {
        if let Some(&v) = self.known.get(&item) {
            return v;
        }
        self.refused |= self.items.len() >= u16::MAX as usize;
        let v = self.items.len() as u16;
        self.items.push(item);
        self.known.insert(item, v);
        v
    }
}

/// The recording instance.
#[derive(Clone, Copy)]
pub(crate) struct Recorder<'a>(pub(super) &'a RefCell<Tape>);

/// A recorded value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reg(pub(super) u16);

impl Recorder<'_> {
    fn put(self, item: Item) -> Reg {
        Reg(self.0.borrow_mut().push(item))
    }
    fn one(self, op: Op, a: Reg) -> Reg {
        self.put(Item::Op(op, [a.0, a.0, a.0]))
    }
    fn two(self, op: Op, a: Reg, b: Reg) -> Reg {
        self.put(Item::Op(op, [a.0, b.0, b.0]))
    }
    fn three(self, op: Op, a: Reg, b: Reg, c: Reg) -> Reg {
        self.put(Item::Op(op, [a.0, b.0, c.0]))
    }
    fn refuse(self, x: Reg) -> Reg {
        self.0.borrow_mut().refused = true;
        x
    }
    fn sign(self) -> Reg {
        self.bits(0x8000_0000)
    }
    /// Minimum and maximum with NaN kept: what the instruction gives, but `a` where it is NaN.
    fn or_nan(self, op: Op, a: Reg, b: Reg) -> Reg {
        let y = self.two(op, a, b);
        self.three(Op::Blend, self.two(Op::Compare(UNORDERED), a, a), y, a)
    }
}

// Predicates of the comparison instruction, all quiet; modes of the rounding instruction, without exceptions.
const EQUAL: u8 = 0x00;
const UNORDERED: u8 = 0x03;
const LESS: u8 = 0x11;
const LESS_EQUAL: u8 = 0x12;
const NEAREST: u8 = 0x08;
const DOWN: u8 = 0x09;
const UP: u8 = 0x0a;
const TO_ZERO: u8 = 0x0b;

macro_rules! binary {
    ($self:ident; $($name:ident = $op:expr;)+) => {
        $(fn $name($self, a: Reg, b: Reg) -> Reg {
            $self.two($op, a, b)
        })+
    };
}
macro_rules! unary {
    ($self:ident; $($name:ident = $op:expr;)+) => {
        $(fn $name($self, a: Reg) -> Reg {
            $self.one($op, a)
        })+
    };
}

impl Num for Recorder<'_> {
    type V = Reg;
    type M = Reg;
    fn c(self, v: f64) -> Reg {
        self.bits((v as f32).to_bits())
    }
    binary! { self;
        add = Op::Add;
        sub = Op::Sub;
        mul = Op::Mul;
        lt = Op::Compare(LESS);
        le = Op::Compare(LESS_EQUAL);
        eq = Op::Compare(EQUAL);
        and = Op::And;
        or = Op::Or;
    }
    fn neg(self, a: Reg) -> Reg {
        self.two(Op::Xor, a, self.sign())
    }
    fn abs(self, a: Reg) -> Reg {
        self.two(Op::AndNot, self.sign(), a)
    }
    fn min(self, a: Reg, b: Reg) -> Reg {
        self.or_nan(Op::Min, a, b)
    }
    fn max(self, a: Reg, b: Reg) -> Reg {
        self.or_nan(Op::Max, a, b)
    }
    fn not(self, a: Reg) -> Reg {
        self.two(Op::Xor, a, self.bits(!0))
    }
    fn select(self, m: Reg, a: Reg, b: Reg) -> Reg {
        self.three(Op::Blend, m, b, a)
    }
    derived!();
}

impl Lanes for Recorder<'_> {
    fn each(self, _: Fun, x: Reg) -> Reg {
        self.refuse(x)
    }
    fn each2(self, _: Fun2, a: Reg, _: Reg) -> Reg {
        self.refuse(a)
    }
    fn patch(self, _: Reg, y: Reg, _: Fun, _: Reg) -> Reg {
        self.refuse(y)
    }
    fn patch2(self, _: Reg, y: Reg, _: Fun2, _: Reg, _: Reg) -> Reg {
        self.refuse(y)
    }
}

impl Float for Recorder<'_> {
    binary! { self; div = Op::Div; }
    unary! { self;
        sqrt = Op::Sqrt;
        floor = Op::Round(DOWN);
        ceil = Op::Round(UP);
        trunc = Op::Round(TO_ZERO);
        round = Op::Round(NEAREST);
    }
    fn fma(self, a: Reg, b: Reg, c: Reg) -> Reg {
        self.three(Op::Fma, a, b, c)
    }
    fn copysign(self, a: Reg, b: Reg) -> Reg {
        let (size, sign) = (self.two(Op::AndNot, self.sign(), a), self.two(Op::And, self.sign(), b));
        self.two(Op::Or, size, sign)
    }
    single_functions!();
}

impl Bits for Recorder<'_> {
    fn bits(self, b: u32) -> Reg {
        self.put(Item::Const(b))
    }
    binary! { self;
        bit_and = Op::And;
        bit_or = Op::Or;
        bit_xor = Op::Xor;
        add_bits = Op::AddInt;
        sub_bits = Op::SubInt;
        below = Op::Min;
        above = Op::Max;
    }
    unary! { self;
        to_int = Op::ToInt;
        of_int = Op::OfInt;
    }
    fn shl<const N: i32>(self, a: Reg) -> Reg {
        self.one(Op::Shl(N as u8), a)
    }
    fn shr<const N: i32>(self, a: Reg) -> Reg {
        self.one(Op::Shr(N as u8), a)
    }
}
