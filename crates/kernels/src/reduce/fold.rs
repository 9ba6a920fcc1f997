//! The arithmetic of reductions: what is accumulated in which type, and the two loops that everything is made of.
use crate::dispatch::Elem;
use crate::per_isa;
use gluonish_base::DType;

/// A type that partial results have.
pub(crate) trait Acc: Elem {
    fn plus(self, b: Self) -> Self;
    /// The sum divided by the count.
    fn mean(self, n: usize) -> Self;
}

macro_rules! acc {
    ($($t:ident, |$s:ident, $b:ident| $plus:expr, |$n:ident| $mean:expr;)*) => {$(
        impl Acc for $t {
            #[inline(always)]
            fn plus(self, $b: $t) -> $t { let $s = self; $plus }
            #[inline(always)]
            fn mean(self, $n: usize) -> $t { let $s = self; $mean }
        }
    )*};
}
acc! {
    f32, |s, b| s + b, |n| (s as f64 / n as f64) as f32;
    f64, |s, b| s + b, |n| s / n as f64;
    i64, |s, b| s.wrapping_add(b), |n| s.checked_div(n as i64).unwrap_or(0);
    u64, |s, b| s.wrapping_add(b), |n| s.checked_div(n as u64).unwrap_or(0);
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
    const START: A;
    fn join(a: A, b: A) -> A;
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
            #[inline(always)]
            fn join($a: $t, $b: $t) -> $t { if $a > $b || $nan { $a } else { $b } }
        }
        impl Fold<$t> for Min {
            const START: $t = $highest;
            #[inline(always)]
            fn join($a: $t, $b: $t) -> $t { if $a < $b || $nan { $a } else { $b } }
        }
    )*};
}
folds! {
    f32, f32::NEG_INFINITY, f32::INFINITY, |a, b| a + b, a * b, a.is_nan();
    f64, f64::NEG_INFINITY, f64::INFINITY, |a, b| a + b, a * b, a.is_nan();
    i64, i64::MIN, i64::MAX, |a, b| a.wrapping_add(b), a.wrapping_mul(b), false;
    u64, u64::MIN, u64::MAX, |a, b| a.wrapping_add(b), a.wrapping_mul(b), false;
}

/// Elements folded at once: four vectors of the widest registers for float32, so that additions do not wait for each
/// other. The same on every machine, and with it the bits.
const LANES: usize = 64;

#[inline(always)]
fn tile<A: Acc, F: Fold<A>>(x: &[A]) -> A {
    let (blocks, tail) = x.as_chunks::<LANES>();
    let mut acc = [F::START; LANES];
    for b in blocks {
        for (a, v) in acc.iter_mut().zip(b) {
            *a = F::join(*a, F::lift(*v));
        }
    }
    for (a, v) in acc.iter_mut().zip(tail) {
        *a = F::join(*a, F::lift(*v));
    }
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            acc[i] = F::join(acc[i], acc[i + half]);
        }
        half /= 2;
    }
    acc[0]
}

per_isa! {
    /// Folds a tile.
    pub(crate) fn fold_tile[A: Acc, F: Fold<A>](x: &[A]) -> A {
        tile::<A, F>(x)
    }
}

per_isa! {
    /// Folds each of many short rows that follow each other, as `fold_tile` would.
    pub(crate) fn fold_each[A: Acc, F: Fold<A>](x: &[A], row: usize, to: &mut [A]) {
        for (t, r) in to.iter_mut().zip(x.chunks_exact(row)) {
            *t = tile::<A, F>(r);
        }
    }
}

per_isa! {
    /// Folds rows into an accumulator of columns, each row as long as the accumulator.
    pub(crate) fn fold_rows[A: Acc, F: Fold<A>](acc: &mut [A], rows: &[&[A]]) {
        let n = acc.len();
        let (quads, rest) = rows.as_chunks::<4>();
        for [a, b, c, d] in quads {
            let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
            for i in 0..n {
                let (left, right) = (F::join(F::lift(a[i]), F::lift(b[i])), F::join(F::lift(c[i]), F::lift(d[i])));
                acc[i] = F::join(acc[i], F::join(left, right));
            }
        }
        for r in rest {
            for (a, v) in acc.iter_mut().zip(*r) {
                *a = F::join(*a, F::lift(*v));
            }
        }
    }
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
