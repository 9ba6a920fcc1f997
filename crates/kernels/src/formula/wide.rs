//! Two registers as one value. A long formula is a chain of operations that wait for each other; with two chains side by
//! side the processor has something to do meanwhile.
use super::{Bits, Float, Fun, Fun2, Lanes, Num, derived, single_functions};

/// Pairs of the registers of `I`.
#[derive(Clone, Copy)]
pub(crate) struct Wide<I>(pub(crate) I);

/// Methods of both halves: `name(a, b);`.
macro_rules! halves {
    ($self:ident: $v:ident => $r:ident; $($name:ident($($a:ident),+);)+) => {
        $(#[inline(always)]
        fn $name($self, $($a: Self::$v),+) -> Self::$r {
            ($self.0.$name($($a.0),+), $self.0.$name($($a.1),+))
        })+
    };
}

impl<I: Bits> Num for Wide<I> {
    type V = (I::V, I::V);
    type M = (I::M, I::M);
    #[inline(always)]
    fn c(self, v: f64) -> Self::V {
        (self.0.c(v), self.0.c(v))
    }
    halves! { self: V => V;
        add(a, b);
        sub(a, b);
        mul(a, b);
        neg(a);
        abs(a);
        min(a, b);
        max(a, b);
    }
    halves! { self: V => M;
        lt(a, b);
        le(a, b);
        eq(a, b);
    }
    halves! { self: M => M;
        and(a, b);
        or(a, b);
        not(a);
    }
    #[inline(always)]
    fn select(self, m: Self::M, a: Self::V, b: Self::V) -> Self::V {
        (self.0.select(m.0, a.0, b.0), self.0.select(m.1, a.1, b.1))
    }
    derived!();
}

impl<I: Bits> Lanes for Wide<I> {
    #[inline(always)]
    fn each(self, f: Fun, x: Self::V) -> Self::V {
        (self.0.each(f, x.0), self.0.each(f, x.1))
    }
    #[inline(always)]
    fn each2(self, f: Fun2, a: Self::V, b: Self::V) -> Self::V {
        (self.0.each2(f, a.0, b.0), self.0.each2(f, a.1, b.1))
    }
    #[inline(always)]
    fn patch(self, m: Self::M, y: Self::V, f: Fun, x: Self::V) -> Self::V {
        (self.0.patch(m.0, y.0, f, x.0), self.0.patch(m.1, y.1, f, x.1))
    }
    #[inline(always)]
    fn patch2(self, m: Self::M, y: Self::V, f: Fun2, a: Self::V, b: Self::V) -> Self::V {
        (self.0.patch2(m.0, y.0, f, a.0, b.0), self.0.patch2(m.1, y.1, f, a.1, b.1))
    }
}

impl<I: Bits> Float for Wide<I> {
    halves! { self: V => V;
        div(a, b);
        sqrt(a);
        floor(a);
        ceil(a);
        trunc(a);
        round(a);
        fma(a, b, c);
        copysign(a, b);
    }
    single_functions!();
}

impl<I: Bits> Bits for Wide<I> {
    #[inline(always)]
    fn bits(self, b: u32) -> Self::V {
        (self.0.bits(b), self.0.bits(b))
    }
    halves! { self: V => V;
        bit_and(a, b);
        bit_or(a, b);
        bit_xor(a, b);
        add_bits(a, b);
        sub_bits(a, b);
        to_int(a);
        of_int(a);
        below(a, b);
        above(a, b);
        scale(y, n);
    }
    #[inline(always)]
    fn shl<const N: i32>(self, a: Self::V) -> Self::V {
        (self.0.shl::<N>(a.0), self.0.shl::<N>(a.1))
    }
    #[inline(always)]
    fn shr<const N: i32>(self, a: Self::V) -> Self::V {
        (self.0.shr::<N>(a.0), self.0.shr::<N>(a.1))
    }
}
