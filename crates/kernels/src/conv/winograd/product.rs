//! The products between the transforms, on tiles of sums that stay in registers.
use crate::gemm::{Body, Simd};
use std::marker::PhantomData;

/// Repeats a statement for each row of a tile of `$m` rows, as straight-line code: a loop of this length is not always
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

/// Points times filters for one of the planes: `c[v][i] (+)= sum over k of a[i][k] * b[k][v]`, `i` a tile of the image, `v`
/// one of one or two blocks of result channels.
#[derive(Clone, Copy)]
pub(super) struct Points<T> {
    /// Blocks of input channels, `by_block` apart; in a block tiles follow each other.
    pub a: *const T,
    pub by_block: usize,
    /// Input channels.
    pub k: usize,
    pub b: *const T,
    /// Result blocks, `by_result` apart; in a block tiles follow each other.
    pub c: *mut T,
    pub by_result: usize,
    /// Adds to what is in `c`.
    pub add: bool,
}

/// All `tiles`, in runs of at most `MR` that are as equal as can be; two blocks of results or one.
pub(super) struct MultiplyPoints<S: Simd> {
    pub p: Points<S::T>,
    pub tiles: usize,
    pub two: bool,
    pub of: PhantomData<S>,
}

impl<S: Simd> Body for MultiplyPoints<S> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let runs = self.tiles.div_ceil(S::MR);
        for r in 0..runs {
            let (from, to) = (self.tiles * r / runs, self.tiles * (r + 1) / runs);
            let at = from * S::LANES;
            let p = Points { a: self.p.a.wrapping_add(at), c: self.p.c.wrapping_add(at), ..self.p };
            macro_rules! of_rows {
                ($($m:literal)*) => {
                    match to - from {
                        // SAFETY: the caller's.
                        $($m if const { $m <= S::MR } => unsafe {
                            if self.two { multiply::<S, $m, 2>(p) } else { multiply::<S, $m, 1>(p) }
                        },)*
                        _ => debug_assert!(false, "a run of {} tiles", to - from),
                    }
                };
            }
            of_rows!(1 2 3 4 5 6 7 8 9 10 11 12 13 14);
        }
    }
}

#[inline(always)]
unsafe fn multiply<S: Simd, const M: usize, const NV: usize>(p: Points<S::T>) {
    // SAFETY: the caller's.
    unsafe {
        let (mut a, mut b) = (p.a, p.b);
        let mut acc = [[S::splat(S::T::default()); NV]; M];
        if p.add {
            unrolled!(M, i, {
                for v in 0..NV {
                    acc[i][v] = S::load(p.c.add(v * p.by_result + i * S::LANES));
                }
            });
        }
        macro_rules! step {
            ($from:expr) => {
                let mut bv = [S::splat(S::T::default()); NV];
                for v in 0..NV {
                    bv[v] = S::load(b.add(v * S::LANES));
                }
                unrolled!(M, i, {
                    let x = S::splat(*$from.add(i * S::LANES));
                    for v in 0..NV {
                        acc[i][v] = S::fma(x, bv[v], acc[i][v]);
                    }
                });
                b = b.add(NV * S::LANES);
            };
        }
        for _ in 0..p.k / S::LANES {
            let mut q = a;
            for _ in 0..S::LANES / 4 {
                step!(q);
                step!(q.add(1));
                step!(q.add(2));
                step!(q.add(3));
                q = q.add(4);
            }
            a = a.wrapping_add(p.by_block);
        }
        for j in 0..p.k % S::LANES {
            step!(a.add(j));
        }
        unrolled!(M, i, {
            for v in 0..NV {
                S::store(p.c.add(v * p.by_result + i * S::LANES), acc[i][v]);
            }
        });
    }
}

/// Images times gradients for one of the planes, summed over tiles: `c[i][v] (+)= sum over t of a[t][i] * b[t][v]`, `i` a
/// channel of a block of the image, `v` one of one or two blocks of result channels.
#[derive(Clone, Copy)]
pub(super) struct Sums<T> {
    pub a: *const T,
    pub b: *const T,
    pub tiles: usize,
    pub c: *mut T,
    /// Distance of two rows of `c`.
    pub ldc: usize,
    pub add: bool,
}

/// The first `rows` channels of a block, or a few more up to the block's end; two blocks of results or one.
pub(super) struct AddUp<S: Simd> {
    pub p: Sums<S::T>,
    pub rows: usize,
    pub two: bool,
    pub of: PhantomData<S>,
}

impl<S: Simd> Body for AddUp<S> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let step = if S::LANES == 16 { 8 } else { 4 };
        for i in (0..self.rows).step_by(step) {
            let p = Sums { a: self.p.a.wrapping_add(i), c: self.p.c.wrapping_add(i * self.p.ldc), ..self.p };
            // SAFETY: the caller's; a block is a multiple of the rows of a run.
            unsafe {
                match (S::LANES, self.two) {
                    (16, true) => sum_rows::<S, 8, 2>(p),
                    (16, false) => sum_rows::<S, 8, 1>(p),
                    (_, true) => sum_rows::<S, 4, 2>(p),
                    (_, false) => sum_rows::<S, 4, 1>(p),
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn sum_rows<S: Simd, const M: usize, const NV: usize>(p: Sums<S::T>) {
    // SAFETY: the caller's.
    unsafe {
        let (mut a, mut b) = (p.a, p.b);
        let mut acc = [[S::splat(S::T::default()); NV]; M];
        if p.add {
            unrolled!(M, i, {
                for v in 0..NV {
                    acc[i][v] = S::load(p.c.add(i * p.ldc + v * S::LANES));
                }
            });
        }
        macro_rules! step {
            () => {
                let mut bv = [S::splat(S::T::default()); NV];
                for v in 0..NV {
                    bv[v] = S::load(b.add(v * S::LANES));
                }
                unrolled!(M, i, {
                    let x = S::splat(*a.add(i));
                    for v in 0..NV {
                        acc[i][v] = S::fma(x, bv[v], acc[i][v]);
                    }
                });
                a = a.add(S::LANES);
                b = b.add(NV * S::LANES);
            };
        }
        for _ in 0..p.tiles {
            step!();
        }
        unrolled!(M, i, {
            for v in 0..NV {
                S::store(p.c.add(i * p.ldc + v * S::LANES), acc[i][v]);
            }
        });
    }
}
