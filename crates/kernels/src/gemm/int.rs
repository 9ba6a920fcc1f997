//! Products of integers and booleans, in their own type. Sums wrap, so their order does not matter.
use super::output::MatMut;
use super::pack::Mat;
use super::scratch::{Scratch, Slot};
use super::simd::{Body, Simd, Work, dispatch};
use crate::view::Mode;
use gluonish_base::pool;

/// Rows of C in one piece of work; rows and columns of a packed block of B.
const ROWS: usize = 32;
const KC: usize = 128;
const NC: usize = 512;
/// Multiplications that are not worth a second thread.
const ALONE: usize = 100_000;

/// A type whose products are sums that wrap. Signed integers use the unsigned type of their size: the bits are the same.
pub(super) trait Integer: Copy + Default + Send + Sync + 'static {
    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
}

macro_rules! integer {
    ($($t:ident)*) => {$(
        impl Integer for $t {
            #[inline(always)]
            fn add(self, other: $t) -> $t {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn mul(self, other: $t) -> $t {
                self.wrapping_mul(other)
            }
        }
    )*};
}
integer!(u8 u16 u32 u64);

/// NumPy's bool: a byte of 0 or 1, sums are "or", products are "and".
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub(super) struct Bool(u8);

impl Integer for Bool {
    #[inline(always)]
    fn add(self, other: Bool) -> Bool {
        Bool(self.0 | other.0)
    }
    #[inline(always)]
    fn mul(self, other: Bool) -> Bool {
        Bool(self.0 & other.0)
    }
}

/// `count` products of shape `(m, n, k)`; `operands(i)` are those of the i-th.
pub(super) fn matmul<T: Integer>(
    threads: usize,
    count: usize,
    (m, n, k): (usize, usize, usize),
    mode: Mode,
    operands: impl Fn(usize) -> (Mat<T>, Mat<T>, MatMut<T>) + Sync,
) {
    let strips = m.div_ceil(ROWS);
    let work = m.saturating_mul(n).saturating_mul(k).saturating_mul(count);
    let threads = if work < ALONE { 1 } else { threads };
    pool::run(count * strips, threads, |chunk| {
        let (a, b, c) = operands(chunk / strips);
        let top = chunk % strips * ROWS;
        let rows = ROWS.min(m - top);
        let a = Mat { p: a.at(top, 0), ..a };
        let c = MatMut { p: c.at(top, 0), ..c };
        dispatch::<f32, _>(Strip { rows, n, k, a, b, c, mode });
    });
}

/// Some rows of C.
struct Strip<T> {
    rows: usize,
    n: usize,
    k: usize,
    a: Mat<T>,
    b: Mat<T>,
    c: MatMut<T>,
    mode: Mode,
}

impl<T: Integer> Work<f32> for Strip<T> {
    type Out = ();

    unsafe fn run<S: Simd<T = f32>>(self) {
        // SAFETY: the caller vouches for the instructions; the body says nothing more.
        unsafe { S::enter(self) }
    }
}

impl<T: Integer> Body for Strip<T> {
    type Out = ();

    /// Plain loops over contiguous memory: the compiler makes vectors of them.
    #[inline(always)]
    unsafe fn run(self) {
        let sums = Scratch::<T>::take(Slot::C, ROWS * NC);
        let block = Scratch::<T>::take(Slot::B, KC * NC);
        for j in (0..self.n).step_by(NC) {
            let cols = NC.min(self.n - j);
            // SAFETY: the buffers hold the block and the sums; places are within the matrices.
            unsafe {
                for u in 0..self.rows * cols {
                    sums.ptr().add(u).write(T::default());
                }
                let sums = std::slice::from_raw_parts_mut(sums.ptr(), self.rows * cols);
                for p in (0..self.k).step_by(KC) {
                    let steps = KC.min(self.k - p);
                    for u in 0..steps {
                        for v in 0..cols {
                            block.ptr().add(u * cols + v).write(*self.b.at(p + u, j + v));
                        }
                    }
                    let block = std::slice::from_raw_parts(block.ptr(), steps * cols);
                    for (i, sums) in sums.chunks_exact_mut(cols).enumerate() {
                        for (u, row) in block.chunks_exact(cols).enumerate() {
                            let x = *self.a.at(i, p + u);
                            for (s, &y) in sums.iter_mut().zip(row) {
                                *s = s.add(x.mul(y));
                            }
                        }
                    }
                }
                self.store(sums, j, cols);
            }
        }
    }
}

impl<T: Integer> Strip<T> {
    #[inline(always)]
    unsafe fn store(&self, sums: &[T], j: usize, cols: usize) {
        for (i, row) in sums.chunks_exact(cols).enumerate() {
            for (v, &x) in row.iter().enumerate() {
                let p = self.c.at(i, j + v);
                // SAFETY: the place is within C.
                unsafe { *p = if self.mode == Mode::Add { (*p).add(x) } else { x } }
            }
        }
    }
}
