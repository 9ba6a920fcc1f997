//! The register tile: M rows of two vectors (or one) of C, held in registers while k runs. The A operand is only ever
//! broadcast, so it comes from a packed panel or from where it lies; the B operand is read as whole vectors.
use super::pack::Mat;
use super::simd::{Body, Simd};

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
    /// The product is added to what C holds.
    pub add: bool,
}

/// How the loop walks A.
trait Walk<T>: Copy {
    /// A[i][p] in every lane, for the current p and one of `m` rows.
    unsafe fn spread<S: Simd<T = T>>(&self, i: usize, m: usize) -> S::V;
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
    unsafe fn spread<S: Simd<T = T>>(&self, i: usize, m: usize) -> S::V {
        // SAFETY: there are `m` rows, next to each other.
        unsafe { S::spread(self.p, i, m) }
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
    unsafe fn spread<S: Simd<T = T>>(&self, i: usize, _: usize) -> S::V {
        // SAFETY: the row has a value for the current step.
        unsafe { S::splat(*self.row[i].wrapping_add(self.at)) }
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
                    bv[v] = S::stream(b.add(v * S::LANES), b_stride);
                }
                unrolled!(M, i, {
                    let x = a.spread::<S>(i, M);
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

/// Stores a row of C. `FULL` says that every lane is real, `ADD` that the row is added to what C holds.
#[inline(always)]
unsafe fn store<S: Simd, const NV: usize, const FULL: bool, const ADD: bool>(
    c: *mut S::T,
    row: [S::V; NV],
    lanes: usize,
) {
    for (v, x) in row.into_iter().enumerate() {
        let p = c.wrapping_add(v * S::LANES);
        let lanes = if FULL { S::LANES } else { lanes.saturating_sub(v * S::LANES).min(S::LANES) };
        // SAFETY: C has this row and these columns, and nobody else writes them.
        unsafe {
            let old = || if FULL { S::load(p) } else { S::load_part(p, lanes) };
            let x = if ADD { S::add(x, old()) } else { x };
            if FULL { S::store(p, x) } else { S::store_part(p, lanes, x) }
        }
    }
}

struct Run<'a, S: Simd, W, const M: usize, const NV: usize> {
    t: &'a Tile<S::T>,
    a: W,
}

impl<S: Simd, W: Walk<S::T>, const M: usize, const NV: usize> Body for Run<'_, S, W, M, NV> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        // A copy: the compiler need not fear that a store to C changes it.
        let t = *self.t;
        macro_rules! store {
            ($acc:ident, $full:literal, $add:literal) => {
                unrolled!(M, i, {
                    store::<S, NV, $full, $add>(t.c.wrapping_offset(i as isize * t.ldc), $acc[i], t.lanes)
                })
            };
        }
        // SAFETY: the operands are as the tile says.
        unsafe {
            let acc = multiply::<S, M, NV, W>(t.k, self.a, t.b, t.b_stride, t.c, t.ldc);
            match (t.lanes == NV * S::LANES, t.add) {
                (true, false) => store!(acc, true, false),
                (true, true) => store!(acc, true, true),
                (false, false) => store!(acc, false, false),
                (false, true) => store!(acc, false, true),
            }
        }
    }
}

/// Multiplies a tile of exactly `M` rows that are adjacent in A.
///
/// # Safety
/// The processor has the instructions of `S`; A, B and C are valid as the tile says.
#[inline(always)]
pub(super) unsafe fn adjacent<S: Simd, const M: usize>(t: &Tile<S::T>) {
    // SAFETY: the caller's.
    unsafe { vectors::<S, _, M>(t, Adjacent { p: t.a.p, cs: t.a.cs }) }
}

/// Multiplies a tile of exactly `M` rows that are contiguous in A.
///
/// # Safety
/// As for `adjacent`.
#[inline(always)]
pub(super) unsafe fn apart<S: Simd, const M: usize>(t: &Tile<S::T>) {
    // SAFETY: the caller's.
    unsafe { vectors::<S, _, M>(t, Apart::<_, M>::new(t.a)) }
}

#[inline(always)]
unsafe fn vectors<S: Simd, W: Walk<S::T>, const M: usize>(t: &Tile<S::T>, a: W) {
    // SAFETY: the caller's.
    unsafe {
        if t.lanes > S::LANES { S::enter(Run::<S, W, M, 2> { t, a }) } else { S::enter(Run::<S, W, M, 1> { t, a }) }
    }
}

/// The body of `Simd::tile`: run-time rows to a compile-time tile, for rows of A that are adjacent and for others.
macro_rules! tile_rows {
    ($t:expr, [$($m:literal)*], [$($s:literal)*]) => {
        // SAFETY: the caller's.
        unsafe {
            match ($t.a.rs == 1, $t.m) {
                $((true, $m) => crate::gemm::tile::adjacent::<Self, $m>($t),)*
                $((false, $s) => crate::gemm::tile::apart::<Self, $s>($t),)*
                _ => debug_assert!(false, "a tile of {} rows", $t.m),
            }
        }
    };
}
pub(super) use tile_rows;
