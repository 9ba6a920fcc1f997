//! What happens to a value of C between the last multiplication and the store.
use super::simd::{Real, Simd};

/// A function of the finished product, applied to each vector of C while it is in a register. Its parts are compile-time
/// flags: a run-time test in the store costs 10-25 % on products with a short k.
pub trait Epilogue<T: Real>: Copy + Send + Sync {
    /// Whether `f(x + y) = f(x) + f(y)`: then it may be applied to partial sums.
    const LINEAR: bool = false;

    /// `row` and `col` are where lane 0 stands in C; the first `lanes` lanes are real. To be `inline(always)`.
    ///
    /// # Safety
    /// The processor has the instructions of `S`, and the element at `row`, `col` and its `lanes - 1` right neighbours lie
    /// in the C that this epilogue was made for.
    unsafe fn apply<S: Simd<T = T>>(self, x: S::V, row: usize, col: usize, lanes: usize) -> S::V;
}

/// The product as it is.
#[derive(Clone, Copy)]
pub struct Identity;

impl<T: Real> Epilogue<T> for Identity {
    const LINEAR: bool = true;

    #[inline(always)]
    unsafe fn apply<S: Simd<T = T>>(self, x: S::V, _: usize, _: usize, _: usize) -> S::V {
        x
    }
}

/// The product times a number.
#[derive(Clone, Copy)]
pub struct Scale<T>(pub T);

impl<T: Real> Epilogue<T> for Scale<T> {
    const LINEAR: bool = true;

    #[inline(always)]
    unsafe fn apply<S: Simd<T = T>>(self, x: S::V, _: usize, _: usize, _: usize) -> S::V {
        // SAFETY: the caller vouches for the instructions.
        unsafe { S::mul(x, S::splat(self.0)) }
    }
}

/// `relu?(x * scale + bias + add)`, each part optional. `scale` and `bias` run along the rows of C (`BY_ROW`: one number
/// per row, as for NCHW convolution) or along its columns (one per column, as for Dense); `add` is a matrix like C.
#[derive(Clone, Copy)]
pub struct Affine<T, const BY_ROW: bool, const SCALE: bool, const BIAS: bool, const ADD: bool, const RELU: bool> {
    pub scale: *const T,
    pub bias: *const T,
    pub add: *const T,
    /// Distance between two rows of `add`.
    pub add_ld: isize,
}

impl<T, const ROW: bool, const S: bool, const B: bool, const A: bool, const L: bool> Affine<T, ROW, S, B, A, L> {
    /// Only a bias, and what the flags do without operands.
    pub fn bias(bias: *const T) -> Self {
        Affine { scale: std::ptr::null(), bias, add: std::ptr::null(), add_ld: 0 }
    }
}

// SAFETY: the pointers are only read, from memory that outlives the product (the promise of `gemm`'s caller).
unsafe impl<T: Sync, const ROW: bool, const S: bool, const B: bool, const A: bool, const L: bool> Send
    for Affine<T, ROW, S, B, A, L>
{
}
// SAFETY: as above.
unsafe impl<T: Sync, const ROW: bool, const S: bool, const B: bool, const A: bool, const L: bool> Sync
    for Affine<T, ROW, S, B, A, L>
{
}

/// The vector of `p` that belongs to a place of C.
///
/// # Safety
/// As `Epilogue::apply`.
#[inline(always)]
unsafe fn along<S: Simd, const BY_ROW: bool>(p: *const S::T, row: usize, col: usize, lanes: usize) -> S::V {
    // SAFETY: `p` has one element per row or per column of C.
    unsafe { if BY_ROW { S::splat(*p.add(row)) } else { part::<S>(p.add(col), lanes) } }
}

/// # Safety
/// As `Simd::load_part`.
#[inline(always)]
unsafe fn part<S: Simd>(p: *const S::T, lanes: usize) -> S::V {
    // SAFETY: the caller's.
    unsafe { if lanes >= S::LANES { S::load(p) } else { S::load_part(p, lanes) } }
}

impl<T: Real, const ROW: bool, const SC: bool, const B: bool, const A: bool, const L: bool> Epilogue<T>
    for Affine<T, ROW, SC, B, A, L>
{
    #[inline(always)]
    unsafe fn apply<S: Simd<T = T>>(self, mut x: S::V, row: usize, col: usize, lanes: usize) -> S::V {
        // SAFETY: the place lies in C, so its numbers lie in `scale`, `bias` and `add`.
        unsafe {
            if SC {
                x = S::mul(x, along::<S, ROW>(self.scale, row, col, lanes));
            }
            if B {
                x = S::add(x, along::<S, ROW>(self.bias, row, col, lanes));
            }
            if A {
                x = S::add(x, part::<S>(self.add.offset(row as isize * self.add_ld).add(col), lanes));
            }
            if L {
                // In this order NaN stays NaN.
                x = S::max(S::splat(T::default()), x);
            }
        }
        x
    }
}
