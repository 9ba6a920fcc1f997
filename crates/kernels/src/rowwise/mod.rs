//! Normalisation and losses row by row. Kernels get their operands in float32 or float64 and without gaps; what is
//! otherwise goes through a copy. Work is split by the shape alone, so that bits do not depend on the number of threads.
pub mod batch_norm;
pub mod cross_entropy;
pub mod norm;

use crate::dispatch::Elem;
use crate::registers::Registers;
use crate::registers::sweeps::by_halves;
use crate::view::{Out, View};
use crate::walk::Shared;
use gluonish_base::DType;
use std::ops::{Add, Div, Mul, Sub};

/// The types that are computed in.
pub(crate) trait Real:
    Registers + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
}
impl Real for f32 {}
impl Real for f64 {}

/// `with_real!(dtype, T => call)`: with the type that floats of `dtype` are computed in.
macro_rules! with_real {
    ($d:expr, $T:ident => $e:expr) => {
        if $d == gluonish_base::DType::F64 {
            $crate::by_dtype!(@ $T = f64, $e)
        } else {
            $crate::by_dtype!(@ $T = f32, $e)
        }
    };
}
pub(crate) use with_real;

/// The type in which floats of `dtype` are computed.
pub(crate) fn real_type(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

/// Values that are folded at once, so that additions do not wait for each other: bytes of them, and so many of a type. The
/// same on every machine, and with it the bits.
const WIDE: usize = 256;
const fn at_once<T>() -> usize {
    WIDE / size_of::<T>()
}
/// Values that are folded before they join a total in float64.
pub(crate) const TILE: usize = 4096;

/// The sum of `f(i)` over `0..n` for `n` of at most a tile.
#[inline(always)]
pub(crate) fn fold<T: Real, const N: usize>(x: [&[T]; N], f: impl Fn([T; N]) -> T) -> T {
    let n = x.first().map_or(0, |x| x.len());
    let x = x.map(|x| &x[..n]);
    let lanes = at_once::<T>();
    let mut acc = [T::default(); at_once::<f32>()];
    let whole = n / lanes * lanes;
    let mut at = 0;
    while at < whole {
        let parts: [&[T]; N] = x.map(|x| &x[at..at + lanes]);
        for i in 0..lanes {
            acc[i] = acc[i] + f(std::array::from_fn(|k| parts[k][i]));
        }
        at += lanes;
    }
    for i in whole..n {
        acc[i - whole] = acc[i - whole] + f(std::array::from_fn(|k| x[k][i]));
    }
    by_halves(&mut acc[..lanes])
}

/// The sum of `f` over lines of any length.
#[inline(always)]
pub(crate) fn total<T: Real, const N: usize>(x: [&[T]; N], f: impl Fn([T; N]) -> T + Copy) -> f64 {
    let n = x.first().map_or(0, |x| x.len());
    let mut sum = 0.0;
    let mut at = 0;
    while at < n {
        let end = n.min(at + TILE);
        sum += fold(x.map(|x| &x[at..end]), f).to_f64();
        at = end;
    }
    sum
}

/// The values of an input without gaps.
///
/// # Safety
/// The view has no gaps, holds elements of type `T`, and outlives what is made of it.
pub(crate) unsafe fn values<'a, T: Elem>(v: &View<'a>) -> &'a [T] {
    if v.size == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(v.as_ptr(), v.size) }
}

/// Parts of an output without gaps, for several threads.
pub(crate) struct Target<T> {
    ptr: Shared<T>,
    size: usize,
}

impl<T: Elem> Target<T> {
    pub(crate) fn new(out: &Out<'_>) -> Target<T> {
        Target { ptr: Shared(out.view.as_ptr()), size: out.view.size }
    }

    /// Elements `from..from + n`.
    ///
    /// # Safety
    /// No other thread uses them meanwhile, and the output has no gaps.
    #[expect(clippy::mut_from_ref, reason = "the ranges are disjoint: that is the caller's promise")]
    pub(crate) unsafe fn part(&self, from: usize, n: usize) -> &mut [T] {
        if n == 0 || from + n > self.size {
            return &mut [];
        }
        // SAFETY: the range lies in the output; the rest is the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.at(from as isize), n) }
    }
}
