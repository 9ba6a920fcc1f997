//! A row along the axis that lies in one piece: two or three sweeps over it, with nothing kept but the result.
use super::{Lines, Real, Step};
use crate::dispatch::Elem;
use crate::formula::Float;
use crate::map::sweep::Vector;
use crate::registers::Body;
use crate::registers::sweeps::{Asking, Terms, largest, sweep};

/// `count` rows of `n` values each, `apart` from each other: those of `x`, of `dy` and of the result.
pub(super) struct Rows<A> {
    pub(super) lines: Lines<A>,
    pub(super) apart: [isize; 3],
    pub(super) count: usize,
    pub(super) n: usize,
    pub(super) step: Step,
}

impl<A: Real> Body<A> for Rows<A> {
    type Out = ();
    #[inline(always)]
    fn run<I: Float + Vector<T = A>>(self, i: I) {
        let Lines { x, dy, out } = self.lines;
        for r in 0..self.count as isize {
            let at = |k: usize| r * self.apart[k];
            let (x, dy, out) = (x.wrapping_offset(at(0)), dy.wrapping_offset(at(1)), out.wrapping_offset(at(2)));
            // SAFETY: the lines have `n` values each.
            unsafe { row(i, Lines { x, dy, out }, self.apart[0], self.n, self.step) };
        }
    }
}

/// The next row of `x` is `apart` from this one.
///
/// # Safety
/// The lines that the step has are of `n` values.
#[inline(always)]
unsafe fn row<I: Float + Vector>(i: I, Lines { x, dy, out }: Lines<I::T>, apart: isize, n: usize, step: Step)
where
    I::T: Real,
{
    let nowhere = std::ptr::null_mut();
    let one = |v: f64| i.c(I::T::from_f64(v).to_f64());
    // SAFETY: the caller's.
    unsafe {
        match step {
            Step::Softmax => {
                let top = i.c(largest(i, x, n).to_f64());
                let [sum] = sweep(i, [x], out, n, Asking::new(Powers::<I, true> { top }, [x], [apart]));
                sweep(i, [out.cast_const()], out, n, Scaled::<I> { by: one(1.0 / sum) });
            }
            Step::LogSoftmax => {
                let top = i.c(largest(i, x, n).to_f64());
                let [sum] = sweep(i, [x], nowhere, n, Asking::new(Powers::<I, false> { top }, [x], [apart]));
                sweep(i, [x], out, n, Below::<I> { top, log: one(sum.ln()) });
            }
            Step::SoftmaxGrad => {
                let [dot] = sweep(i, [x, dy], nowhere, n, Product);
                sweep(i, [x, dy], out, n, SoftmaxBack::<I> { dot: one(dot) });
            }
            Step::LogSoftmaxGrad => {
                let [total] = sweep(i, [dy], nowhere, n, Itself);
                sweep(i, [x, dy], out, n, LogSoftmaxBack::<I> { total: one(total) });
            }
        }
    }
}

/// `exp(x - top)`, added up and perhaps stored.
#[derive(Clone, Copy)]
pub(crate) struct Powers<I: Vector, const STORES: bool> {
    pub(crate) top: I::V,
}
impl<I: Float + Vector, const STORES: bool> Terms<I, 1, 1> for Powers<I, STORES> {
    const STORES: bool = STORES;
    #[inline(always)]
    fn of(self, i: I, [x]: [I::V; 1]) -> ([I::V; 1], I::V) {
        let e = i.exp(i.sub(x, self.top));
        ([e], e)
    }
    #[inline(always)]
    fn blank(self, i: I) -> [I::V; 1] {
        [i.c(f64::NEG_INFINITY)]
    }
}

/// The product of two values, added up.
#[derive(Clone, Copy)]
pub(crate) struct Product;
impl<I: Float + Vector> Terms<I, 2, 1> for Product {
    const STORES: bool = false;
    #[inline(always)]
    fn of(self, i: I, [x, y]: [I::V; 2]) -> ([I::V; 1], I::V) {
        let v = i.mul(x, y);
        ([v], v)
    }
    #[inline(always)]
    fn blank(self, i: I) -> [I::V; 2] {
        [i.c(0.0); 2]
    }
}

/// Values, added up.
#[derive(Clone, Copy)]
struct Itself;
impl<I: Float + Vector> Terms<I, 1, 1> for Itself {
    const STORES: bool = false;
    #[inline(always)]
    fn of(self, _: I, [x]: [I::V; 1]) -> ([I::V; 1], I::V) {
        ([x], x)
    }
    #[inline(always)]
    fn blank(self, i: I) -> [I::V; 1] {
        [i.c(0.0)]
    }
}

/// Results that are stored, with nothing added up.
macro_rules! stored {
    ($(#[$doc:meta])* $name:ident { $($field:ident),+ } |$s:ident, $i:ident, $($x:ident),+| $e:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name<I: Vector> { $(pub(crate) $field: I::V),+ }
        impl<I: Float + Vector> Terms<I, { [$(stringify!($x)),+].len() }, 0> for $name<I> {
            const STORES: bool = true;
            #[inline(always)]
            fn of(self, $i: I, [$($x),+]: [I::V; [$(stringify!($x)),+].len()]) -> ([I::V; 0], I::V) {
                let $s = self;
                ([], $e)
            }
            #[inline(always)]
            fn blank(self, i: I) -> [I::V; [$(stringify!($x)),+].len()] {
                [i.c(0.0); [$(stringify!($x)),+].len()]
            }
        }
    };
}
stored! { Scaled { by } |s, i, x| i.mul(x, s.by) }
stored! { Below { top, log } |s, i, x| i.sub(i.sub(x, s.top), s.log) }
stored! { SoftmaxBack { dot } |s, i, y, dy| i.mul(i.sub(dy, s.dot), y) }
stored! { LogSoftmaxBack { total } |s, i, y, dy| i.sub(dy, i.mul(i.exp(y), s.total)) }
