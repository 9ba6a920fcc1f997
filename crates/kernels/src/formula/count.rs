//! The instance that computes nothing and counts: what a formula costs.
use super::{Bits, Float, Fun, Fun2, Int, Lanes, Num};
use std::cell::Cell;

/// Counts operations of a lane, each weighed by how long it keeps a vector unit busy, in additions. For float32 and the
/// integers.
#[derive(Clone, Copy)]
pub struct Count<'a>(pub &'a Cell<u32>);
/// The same for float64, whose functions are calls of the C library.
#[derive(Clone, Copy)]
pub struct CountDouble<'a>(pub &'a Cell<u32>);

const DIVISION: u32 = 5;
/// A call of the C library for one lane, against one lane's share of an addition.
const CALL: u32 = 150;
/// Integer division, which no vector unit has, is done lane by lane.
const INTEGER_DIVISION: u32 = 40;

macro_rules! costs {
    ($self:ident; $($name:ident($($a:ident: $t:ty),*) = $n:expr;)+) => {
        $(fn $name($self, $($a: $t),*) {
            $(let _ = $a;)*
            $self.add_cost($n)
        })+
    };
}

macro_rules! counter {
    ($name:ident, $functions:ident) => {
        impl $name<'_> {
            fn add_cost(self, n: u32) {
                self.0.set(self.0.get() + n);
            }
        }

        impl Num for $name<'_> {
            type V = ();
            type M = ();
            fn c(self, _: f64) {}
            costs! { self;
                add(a: (), b: ()) = 1;
                sub(a: (), b: ()) = 1;
                mul(a: (), b: ()) = 1;
                neg(a: ()) = 1;
                abs(a: ()) = 1;
                min(a: (), b: ()) = 3;
                max(a: (), b: ()) = 3;
                sign(a: ()) = 4;
                floor_div(a: (), b: ()) = INTEGER_DIVISION;
                modulo(a: (), b: ()) = INTEGER_DIVISION;
                fmod(a: (), b: ()) = INTEGER_DIVISION;
                lt(a: (), b: ()) = 1;
                le(a: (), b: ()) = 1;
                eq(a: (), b: ()) = 1;
                and(a: (), b: ()) = 1;
                or(a: (), b: ()) = 1;
                not(a: ()) = 1;
                select(m: (), a: (), b: ()) = 1;
            }
        }

        impl Lanes for $name<'_> {
            costs! { self;
                each(f: Fun, x: ()) = CALL;
                each2(f: Fun2, a: (), b: ()) = CALL;
                patch(m: (), y: (), f: Fun, x: ()) = 2;
                patch2(m: (), y: (), f: Fun2, a: (), b: ()) = 2;
            }
        }

        impl Float for $name<'_> {
            costs! { self;
                div(a: (), b: ()) = DIVISION;
                sqrt(a: ()) = DIVISION;
                floor(a: ()) = 1;
                ceil(a: ()) = 1;
                trunc(a: ()) = 1;
                round(a: ()) = 1;
                fma(a: (), b: (), c: ()) = 1;
                copysign(a: (), b: ()) = 3;
            }
            super::$functions!();
        }
    };
}
counter!(Count, single_functions);
counter!(CountDouble, double_functions);

impl Int for Count<'_> {
    costs! { self;
        bit_and(a: (), b: ()) = 1;
        bit_or(a: (), b: ()) = 1;
        bit_xor(a: (), b: ()) = 1;
        bit_not(a: ()) = 1;
        shl(a: (), b: ()) = 3;
        shr(a: (), b: ()) = 3;
        ipow(a: (), b: ()) = CALL;
        gcd(a: (), b: ()) = CALL;
        lcm(a: (), b: ()) = CALL + INTEGER_DIVISION;
    }
}

impl Bits for Count<'_> {
    fn bits(self, _: u32) {}
    costs! { self;
        bit_and(a: (), b: ()) = 1;
        bit_or(a: (), b: ()) = 1;
        bit_xor(a: (), b: ()) = 1;
        add_bits(a: (), b: ()) = 1;
        sub_bits(a: (), b: ()) = 1;
        to_int(a: ()) = 1;
        of_int(a: ()) = 1;
        below(a: (), b: ()) = 1;
        above(a: (), b: ()) = 1;
    }
    fn shl<const N: i32>(self, (): ()) {
        self.add_cost(1);
    }
    fn shr<const N: i32>(self, (): ()) {
        self.add_cost(1);
    }
}
