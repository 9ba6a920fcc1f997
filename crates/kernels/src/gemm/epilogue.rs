//! What happens to a value of C after the last multiplication.
use super::simd::{Body, Real, Simd};

/// A function of the finished product, applied to each tile of C right after its last multiplication, when it is still in
/// the nearest cache. A pass of its own, not a part of the register tile: the tile is compiled once, whatever functions
/// there are. Optional parts of a function are compile-time flags; run-time tests would cost more than the work.
pub trait Epilogue<T: Real>: Copy + Send + Sync {
    /// Whether it changes nothing.
    const IDENTITY: bool = false;

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
    const IDENTITY: bool = true;

    #[inline(always)]
    unsafe fn apply<S: Simd<T = T>>(self, x: S::V, _: usize, _: usize, _: usize) -> S::V {
        x
    }
}

/// The product times a number.
#[derive(Clone, Copy)]
pub struct Scale<T>(pub T);

impl<T: Real> Epilogue<T> for Scale<T> {
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

/// Applies an epilogue to a rectangle in memory.
pub(super) struct Finish<S: Simd, E> {
    pub e: E,
    pub c: *mut S::T,
    pub ldc: isize,
    /// Where the rectangle stands in C.
    pub row: usize,
    pub col: usize,
    pub rows: usize,
    pub cols: usize,
}

impl<S: Simd, E: Epilogue<S::T>> Body for Finish<S, E> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let Finish { e, c, ldc, row, col, rows, cols } = self;
        let whole = cols / S::LANES * S::LANES;
        for i in 0..rows {
            let c = c.wrapping_offset(i as isize * ldc);
            // SAFETY: the rectangle lies in C, and nobody else touches it.
            unsafe {
                for j in (0..whole).step_by(S::LANES) {
                    let p = c.add(j);
                    S::store(p, e.apply::<S>(S::load(p), row + i, col + j, S::LANES));
                }
                if whole < cols {
                    let (p, lanes) = (c.add(whole), cols - whole);
                    S::store_part(p, lanes, e.apply::<S>(S::load_part(p, lanes), row + i, col + whole, lanes));
                }
            }
        }
    }
}
