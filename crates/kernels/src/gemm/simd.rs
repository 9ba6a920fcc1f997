//! What a kernel needs from an instruction set. Code is written once over [`Simd`] and melts into a function that has the
//! instructions switched on: everything in between is `inline(always)`, or values would go through memory.
#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::portable::Portable;
use super::tile::Tile;
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2, Avx512};
use gluonish_base::isa::{Isa, isa};
use std::fmt::Debug;
use std::ops::{Add, Mul, Sub};

/// An element type that is computed with directly.
pub trait Real:
    Copy
    + Default
    + PartialEq
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Debug
    + Send
    + Sync
    + 'static
{
    type Portable: Simd<T = Self>;
    #[cfg(target_arch = "aarch64")]
    type Neon: Simd<T = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx2: Simd<T = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx512: Simd<T = Self>;
    const ONE: Self;

    /// The number nearest to `x`.
    fn constant(x: f64) -> Self;
    /// `self * b + c`: one rounding where the processor does that in one instruction, else two.
    fn fma(self, b: Self, c: Self) -> Self;
}

macro_rules! real {
    ($t:ident) => {
        impl Real for $t {
            type Portable = Portable<$t>;
            #[cfg(target_arch = "aarch64")]
            type Neon = Neon<$t>;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = Avx2<$t>;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = Avx512<$t>;
            const ONE: $t = 1.0;

            #[inline(always)]
            fn constant(x: f64) -> $t {
                x as $t
            }
            #[inline(always)]
            fn fma(self, b: $t, c: $t) -> $t {
                // Without the instruction, `mul_add` is a call into the C library.
                if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
                    self.mul_add(b, c)
                } else {
                    self * b + c
                }
            }
        }
    };
}
real!(f32);
real!(f64);

/// A piece of code to run with the instructions of a [`Simd`] switched on. `run` must be `inline(always)`.
pub trait Body {
    type Out;
    /// # Safety
    /// As the implementor says.
    unsafe fn run(self) -> Self::Out;
}

/// Bytes of a line of the cache.
const LINE: usize = 64;
/// Steps before their turn that vectors of a stream are asked for: from the second-level cache they come in time, and from
/// the third-level one sooner.
const AHEAD: isize = 16;

/// Vectors of one element type in one instruction set.
///
/// # Safety of all methods
/// The processor has the instructions, pointers are valid for the elements that are read or written (`lanes` of them
/// where given, else `LANES`), aligned to elements only.
#[allow(clippy::missing_safety_doc)]
pub trait Simd: Copy + Send + Sync + 'static {
    type T: Real;
    type V: Copy;
    const LANES: usize;
    /// Rows of a register tile.
    const MR: usize;
    /// The same where rows of A are not adjacent, which takes a register for the address of each.
    const MR_APART: usize;
    /// Columns of a register tile: two vectors.
    const NR: usize = 2 * Self::LANES;
    /// Largest number of steps of k in one go: a packed panel of B then fits in the first-level cache beside one of A.
    const KC: usize;
    /// Bytes of a packed block of A: it stays in the second-level cache.
    const A_BLOCK: usize;

    /// Runs `body` with the instructions switched on.
    unsafe fn enter<B: Body>(body: B) -> B::Out;
    /// Multiplies one register tile of at most `MR` rows.
    unsafe fn tile(tile: &Tile<Self::T>);

    unsafe fn splat(x: Self::T) -> Self::V;
    /// `p[i]` in every lane, for one of the `n` elements at `p`: all are asked for in turn, so that an instance whose
    /// multiplications take one lane of a vector may read several at once.
    #[inline(always)]
    unsafe fn spread(p: *const Self::T, i: usize, n: usize) -> Self::V {
        debug_assert!(i < n);
        // SAFETY: the caller's.
        unsafe { Self::splat(*p.add(i)) }
    }
    unsafe fn load(p: *const Self::T) -> Self::V;
    /// `load` from a stream whose steps are `by` elements apart: what comes `AHEAD` steps later is asked for, where a vector is
    /// a whole line of the cache. The processor, which guesses it too, is often late.
    #[inline(always)]
    unsafe fn stream(p: *const Self::T, by: isize) -> Self::V {
        // SAFETY: the caller's; what is asked for may lie anywhere.
        unsafe {
            if const { Self::LANES * size_of::<Self::T>() == LINE } {
                Self::prefetch(p.wrapping_offset(AHEAD * by));
            }
            Self::load(p)
        }
    }
    /// The first `lanes` (1 to `LANES`) elements, then zeros.
    unsafe fn load_part(p: *const Self::T, lanes: usize) -> Self::V;
    unsafe fn store(p: *mut Self::T, x: Self::V);
    unsafe fn store_part(p: *mut Self::T, lanes: usize, x: Self::V);
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    /// The larger; the second where they do not compare.
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The sum of the lanes, in an order that is always the same.
    unsafe fn sum(a: Self::V) -> Self::T;
    /// Asks for the cache line of `p`; any address will do.
    unsafe fn prefetch(p: *const Self::T);
    /// `dst[u * ds + i] = src[i * rs + u]` for `u < cols` (at most `LANES`) and `i < rows` (at most `LANES`); whole
    /// vectors are written, with any numbers behind the last row.
    unsafe fn transpose(src: *const Self::T, rs: isize, rows: usize, cols: usize, dst: *mut Self::T, ds: usize);
}

/// Work that is compiled for each instruction set; `dispatch` chooses the one that runs.
pub trait Work<T: Real> {
    type Out;
    /// # Safety
    /// The processor has the instructions of `S`.
    unsafe fn run<S: Simd<T = T>>(self) -> Self::Out;
}

/// Runs the best instance of `work` for this machine.
#[inline]
pub fn dispatch<T: Real, W: Work<T>>(work: W) -> W::Out {
    // SAFETY: `isa` never answers more than the processor has; the portable instance needs nothing.
    unsafe {
        match isa() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => work.run::<T::Avx512>(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => work.run::<T::Avx2>(),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => work.run::<T::Neon>(),
            _ => work.run::<T::Portable>(),
        }
    }
}
