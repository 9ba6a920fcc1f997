//! The register tile: M rows of two vectors (or one) of C, held in registers while k runs. The A operand is only ever
//! broadcast, so it comes from a packed panel or from any strided matrix; the B operand is read as whole vectors.
use super::epilogue::Epilogue;
use super::pack::Mat;
use super::simd::{Body, Simd};
use std::marker::PhantomData;

/// One tile's operands and place.
#[derive(Clone, Copy)]
pub struct Tile<T> {
    /// Rows: 1 to `MR` where rows of A are adjacent, as in a packed panel, else 1 to `MR_APART`.
    pub m: usize,
    pub k: usize,
    /// Its rows are adjacent (`rs` is 1), else contiguous (`cs` is 1).
    pub a: Mat<T>,
    pub b: *const T,
    /// Distance between two rows of B; a row has two vectors, or one when `lanes` fit in one.
    pub b_stride: isize,
    pub c: *mut T,
    pub ldc: isize,
    /// Valid columns.
    pub lanes: usize,
    /// Where the tile stands in C, for the epilogue.
    pub row: usize,
    pub col: usize,
    /// C holds the sum over smaller k.
    pub partial: bool,
    /// This is the last block of k.
    pub last: bool,
    /// The finished value is added to what C held; with an epilogue that is not linear only when there is one block of k.
    pub add: bool,
}

/// How the loop walks A.
trait Walk<T>: Copy {
    /// The address of A[i][p] for the current p.
    unsafe fn at(&self, i: usize) -> *const T;
    /// To the next p.
    unsafe fn advance(&mut self);
}

/// Rows are next to each other: a packed panel, or a matrix whose columns are contiguous.
#[derive(Clone, Copy)]
struct Adjacent<T> {
    p: *const T,
    cs: isize,
}

impl<T: Copy> Walk<T> for Adjacent<T> {
    #[inline(always)]
    unsafe fn at(&self, i: usize) -> *const T {
        self.p.wrapping_add(i)
    }
    #[inline(always)]
    unsafe fn advance(&mut self) {
        self.p = self.p.wrapping_offset(self.cs);
    }
}

/// Rows are contiguous: a pointer for each and a common distance, which leaves nothing to add up for a row.
#[derive(Clone, Copy)]
struct Apart<T, const M: usize> {
    row: [*const T; M],
    at: usize,
}

impl<T: Copy, const M: usize> Apart<T, M> {
    #[inline(always)]
    fn new(a: Mat<T>) -> Self {
        Apart { row: std::array::from_fn(|i| a.at(i, 0)), at: 0 }
    }
}

impl<T: Copy, const M: usize> Walk<T> for Apart<T, M> {
    #[inline(always)]
    unsafe fn at(&self, i: usize) -> *const T {
        self.row[i].wrapping_add(self.at)
    }
    #[inline(always)]
    unsafe fn advance(&mut self) {
        self.at += 1;
    }
}

/// Repeats a statement for each row of a tile of `$m` rows. Straight-line code: a loop of this length is not always
/// unrolled, and then the sums live in memory.
macro_rules! unrolled {
    ($m:ident, $i:ident, $do:block) => {
        unrolled!($m, $i, $do, 0 1 2 3 4 5 6 7 8 9 10 11 12 13)
    };
    ($m:ident, $i:ident, $do:block, $($n:literal)*) => {
        {
            $(if $n < $m {
                let $i = $n;
                $do
            })*
        }
    };
}

/// `A[M x k] * B[k x NV vectors]`
#[inline(always)]
unsafe fn multiply<S: Simd, const M: usize, const NV: usize, W: Walk<S::T>>(
    k: usize,
    mut a: W,
    mut b: *const S::T,
    b_stride: isize,
    mut c: *const S::T,
    ldc: isize,
) -> [[S::V; NV]; M] {
    // SAFETY: the tile's operands have k rows and columns of this size.
    unsafe {
        let mut acc = [[S::splat(S::T::default()); NV]; M];
        macro_rules! step {
            () => {
                let mut bv = [S::splat(S::T::default()); NV];
                for v in 0..NV {
                    bv[v] = S::load(b.add(v * S::LANES));
                }
                unrolled!(M, i, {
                    let x = S::splat(*a.at(i));
                    for v in 0..NV {
                        acc[i][v] = S::fma(x, bv[v], acc[i][v]);
                    }
                });
                a.advance();
                b = b.wrapping_offset(b_stride);
            };
        }
        let early = (k / 4).min(M);
        for _ in 0..early {
            for v in 0..NV {
                S::prefetch(c.wrapping_add(v * S::LANES));
            }
            c = c.wrapping_offset(ldc);
            step!();
            step!();
            step!();
            step!();
        }
        for _ in early..k / 4 {
            step!();
            step!();
            step!();
            step!();
        }
        for _ in 0..k % 4 {
            step!();
        }
        acc
    }
}

/// How the rows of a tile leave: `FULL` says that every lane is real, `OLD` that C's contents come first (partial sums, or
/// what a linear epilogue adds to).
struct Leave<'a, S: Simd, E, const FULL: bool, const OLD: bool> {
    t: &'a Tile<S::T>,
    e: E,
}

impl<S: Simd, E: Epilogue<S::T>, const FULL: bool, const OLD: bool> Leave<'_, S, E, FULL, OLD> {
    /// One row.
    #[inline(always)]
    unsafe fn row<const NV: usize>(&self, row: [S::V; NV], i: usize) {
        let c = self.t.c.wrapping_offset(i as isize * self.t.ldc);
        for v in 0..NV {
            let at = v * S::LANES;
            let lanes = if FULL { S::LANES } else { self.t.lanes.saturating_sub(at).min(S::LANES) };
            if lanes > 0 {
                // SAFETY: C has this row and these columns, and nobody else writes them.
                unsafe { self.vector(row[v], c.add(at), (i, at, lanes)) };
            }
        }
    }

    #[inline(always)]
    unsafe fn vector(&self, mut x: S::V, p: *mut S::T, (i, j, lanes): (usize, usize, usize)) {
        let (row, col) = (self.t.row + i, self.t.col + j);
        // SAFETY: the place lies in C.
        unsafe {
            let old = || if FULL { S::load(p) } else { S::load_part(p, lanes) };
            if E::LINEAR {
                x = self.e.apply::<S>(x, row, col, lanes);
            }
            if OLD {
                x = S::add(x, old());
            }
            if !E::LINEAR && self.t.last {
                x = self.e.apply::<S>(x, row, col, lanes);
                if self.t.add {
                    x = S::add(x, old());
                }
            }
            if FULL { S::store(p, x) } else { S::store_part(p, lanes, x) }
        }
    }
}

struct Run<'a, S: Simd, E, W, const M: usize, const NV: usize> {
    t: &'a Tile<S::T>,
    a: W,
    e: E,
    of: PhantomData<S>,
}

impl<S: Simd, E: Epilogue<S::T>, W: Walk<S::T>, const M: usize, const NV: usize> Body for Run<'_, S, E, W, M, NV> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let Run { a, e, .. } = self;
        // A copy: the compiler need not fear that a store to C changes it.
        let t = &{ *self.t };
        macro_rules! leave {
            ($acc:ident, $full:literal, $old:literal) => {
                unrolled!(M, i, { Leave::<S, E, $full, $old> { t, e }.row($acc[i], i) })
            };
        }
        // SAFETY: the operands are as the tile says.
        unsafe {
            let acc = multiply::<S, M, NV, W>(t.k, a, t.b, t.b_stride, t.c, t.ldc);
            match (t.lanes == NV * S::LANES, t.partial || E::LINEAR && t.add) {
                (true, false) => leave!(acc, true, false),
                (true, true) => leave!(acc, true, true),
                (false, false) => leave!(acc, false, false),
                (false, true) => leave!(acc, false, true),
            }
        }
    }
}

/// Multiplies a tile of exactly `M` rows that are adjacent in A.
///
/// # Safety
/// The processor has the instructions of `S`; A, B and C are valid as the tile says.
#[inline(always)]
pub(super) unsafe fn adjacent<S: Simd, E: Epilogue<S::T>, const M: usize>(t: &Tile<S::T>, e: E) {
    // SAFETY: the caller's.
    unsafe { vectors::<S, E, _, M>(t, Adjacent { p: t.a.p, cs: t.a.cs }, e) }
}

/// Multiplies a tile of exactly `M` rows that are contiguous in A.
///
/// # Safety
/// As for `adjacent`.
#[inline(always)]
pub(super) unsafe fn apart<S: Simd, E: Epilogue<S::T>, const M: usize>(t: &Tile<S::T>, e: E) {
    // SAFETY: the caller's.
    unsafe { vectors::<S, E, _, M>(t, Apart::<_, M>::new(t.a), e) }
}

#[inline(always)]
unsafe fn vectors<S: Simd, E: Epilogue<S::T>, W: Walk<S::T>, const M: usize>(t: &Tile<S::T>, a: W, e: E) {
    // SAFETY: the caller's.
    unsafe {
        if t.lanes > S::LANES {
            S::enter(Run::<S, E, W, M, 2> { t, a, e, of: PhantomData })
        } else {
            S::enter(Run::<S, E, W, M, 1> { t, a, e, of: PhantomData })
        }
    }
}

/// The body of `Simd::tile`: run-time rows to a compile-time tile, for rows of A that are adjacent and for others.
macro_rules! tile_rows {
    ($t:expr, $e:expr, [$($m:literal)*], [$($s:literal)*]) => {
        // SAFETY: the caller's.
        unsafe {
            match ($t.a.rs == 1, $t.m) {
                $((true, $m) => crate::gemm::tile::adjacent::<Self, E, $m>($t, $e),)*
                $((false, $s) => crate::gemm::tile::apart::<Self, E, $s>($t, $e),)*
                _ => debug_assert!(false, "a tile of {} rows", $t.m),
            }
        }
    };
}
pub(super) use tile_rows;
