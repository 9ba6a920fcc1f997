//! The arithmetic of reductions: what is accumulated in which type, and how two partial results become one.
use crate::dispatch::Elem;
use crate::per_isa;
use gluonish_base::DType;

/// A type that partial results have.
pub(crate) trait Acc: Elem {
    fn plus(self, b: Self) -> Self;
    /// The sum divided by the count.
    fn mean(self, n: usize) -> Self;
    /// Only NaN differs from itself; integers never do.
    fn is_nan(self) -> bool;
}

macro_rules! acc {
    ($($t:ident, |$s:ident, $b:ident| $plus:expr, |$n:ident| $mean:expr;)*) => {$(
        impl Acc for $t {
            #[inline(always)]
            fn plus(self, $b: $t) -> $t { let $s = self; $plus }
            #[inline(always)]
            fn mean(self, $n: usize) -> $t { let $s = self; $mean }
            #[inline(always)]
            fn is_nan(self) -> bool { self != self }
        }
    )*};
}
acc! {
    f32, |s, b| s + b, |n| (s as f64 / n as f64) as f32;
    f64, |s, b| s + b, |n| s / n as f64;
    i64, |s, b| s.wrapping_add(b), |n| s.checked_div(n as i64).unwrap_or(0);
    u64, |s, b| s.wrapping_add(b), |n| s.checked_div(n as u64).unwrap_or(0);
    u8, |s, b| s.wrapping_add(b), |n| (s as usize).checked_div(n).unwrap_or(0) as u8;
}

/// In which type elements of type `x` are compared: the one that holds them all.
pub(crate) fn order_type(x: DType) -> DType {
    match x {
        DType::F16 | DType::BF16 | DType::F32 => DType::F32,
        DType::F64 | DType::U64 => x,
        _ => DType::I64,
    }
}

/// In which type a sum that ends as `out` is accumulated.
pub(crate) fn sum_type(out: DType) -> DType {
    match out {
        DType::F16 | DType::BF16 | DType::F32 => DType::F32,
        DType::F64 => DType::F64,
        _ => DType::I64,
    }
}

/// An operation that joins two partial results, and what it starts from.
pub(crate) trait Fold<A>: Send + Sync + 'static {
    /// Joined with anything, it changes nothing.
    const START: A;
    /// Whether NaN is all that `quick` cannot join, so that it must be looked for.
    const WATCH: bool = false;
    /// Whether an element may be joined twice.
    const AGAIN: bool = false;
    fn join(a: A, b: A) -> A;
    /// `join` where neither is NaN: one instruction.
    #[inline(always)]
    fn quick(a: A, b: A) -> A {
        Self::join(a, b)
    }
    /// What an element counts as before it is joined.
    #[inline(always)]
    fn lift(v: A) -> A {
        v
    }
}
pub(crate) struct Sum;
pub(crate) struct Prod;
pub(crate) struct Max;
pub(crate) struct Min;

macro_rules! folds {
    ($($t:ident, $lowest:expr, $highest:expr, |$a:ident, $b:ident| $add:expr, $mul:expr, $nan:expr;)*) => {$(
        impl Fold<$t> for Sum {
            const START: $t = 0 as $t;
            #[inline(always)]
            fn join($a: $t, $b: $t) -> $t { $add }
        }
        impl Fold<$t> for Prod {
            const START: $t = 1 as $t;
            #[inline(always)]
            fn join($a: $t, $b: $t) -> $t { $mul }
        }
        impl Fold<$t> for Max {
            const START: $t = $lowest;
            const WATCH: bool = $t::DTYPE.is_float();
            const AGAIN: bool = true;
            #[inline(always)]
            fn join($a: $t, $b: $t) -> $t { if $a > $b || $nan { $a } else { $b } }
            #[inline(always)]
            fn quick($a: $t, $b: $t) -> $t { if $a > $b { $a } else { $b } }
        }
        impl Fold<$t> for Min {
            const START: $t = $highest;
            const WATCH: bool = $t::DTYPE.is_float();
            const AGAIN: bool = true;
            #[inline(always)]
            fn join($a: $t, $b: $t) -> $t { if $a < $b || $nan { $a } else { $b } }
            #[inline(always)]
            fn quick($a: $t, $b: $t) -> $t { if $a < $b { $a } else { $b } }
        }
    )*};
}
folds! {
    f32, f32::NEG_INFINITY, f32::INFINITY, |a, b| a + b, a * b, a.is_nan();
    f64, f64::NEG_INFINITY, f64::INFINITY, |a, b| a + b, a * b, a.is_nan();
    i64, i64::MIN, i64::MAX, |a, b| a.wrapping_add(b), a.wrapping_mul(b), false;
    u64, u64::MIN, u64::MAX, |a, b| a.wrapping_add(b), a.wrapping_mul(b), false;
}

/// Joins folded values with others, one by one. Rare enough to need no code of its own for each instruction set.
pub(crate) fn join_all<A: Acc, F: Fold<A>>(to: &mut [A], from: &[A]) {
    to.iter_mut().zip(from).for_each(|(t, f)| *t = F::join(*t, *f));
}

per_isa! {
    /// Adds one slice to another.
    pub(crate) fn add_all[A: Acc](to: &mut [A], from: &[A]) {
        to.iter_mut().zip(from).for_each(|(t, f)| *t = t.plus(*f));
    }
}
