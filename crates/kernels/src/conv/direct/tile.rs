//! The register tile of a direct convolution: some neighbouring results of some blocks of output channels, held in registers
//! while all that they are sums of goes by. A value of the images is broadcast, filters are read as whole vectors.
#![allow(clippy::needless_range_loop)] // sums are arrays of arrays, walked in step with others
use super::super::blocked::Finish;
use crate::gemm::{Body, Simd};

/// What one tile multiplies, and where it goes.
#[derive(Clone, Copy)]
pub(super) struct Job<'a, T> {
    /// What the first result looks at.
    pub x: *const T,
    /// Runs of neighbouring values; a filter has one value for each.
    pub runs: &'a [Stretch],
    /// Values in a run.
    pub len: usize,
    /// Distance between what two neighbouring results look at, where the instance does not know it.
    pub step: usize,
    /// Filters: a vector of output channels for each value, and how far it is to those of the next block.
    pub w: *const T,
    pub w_block: usize,
    pub y: *mut T,
    pub y_step: usize,
    pub y_block: usize,
    /// Goes on with sums that an earlier tile has left in `y`.
    pub resume: bool,
    /// What the first result of the next tile looks at, where images are far and no processor guesses what comes next: the
    /// values of runs are asked for before their turn, and those of the next tile's first runs.
    pub next: Option<*const T>,
    /// Results are written to memory that is in no near cache, so that it is asked for before.
    pub is_far: bool,
    /// What becomes of the sums, unless a later tile goes on with them.
    pub last: Option<Last<'a, T>>,
}

/// Where a run begins: from what the first result looks at, and from the first filter.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    pub x: isize,
    pub w: usize,
}

/// The end of a sum. `scale` and `shift` begin at the channels of the tile, `residual` at its place.
#[derive(Clone, Copy)]
pub(super) struct Last<'a, T> {
    pub finish: &'a Finish<T>,
    pub channel: usize,
    /// How far the tile is from the beginning of the result, and so of the residual.
    pub at: usize,
}

/// Distances between neighbours that tiles are compiled for. In plain images a neighbour is the next element, in blocked
/// ones it is a vector away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Vectors(usize),
    Elements(usize),
}

/// Results in a tile, at most, beside each other for so many blocks of channels. A register stays for the broadcast, and
/// one for each block's filters; with more than two blocks the compiler wants some more, or sums go through memory.
pub(super) const fn most<S: Simd>(blocks: usize) -> usize {
    let registers = if S::MR > 6 { 32 } else { 16 };
    let spare = if blocks > 2 { 4 } else { 1 };
    let room = (registers - spare - blocks) / blocks;
    if room < S::MR { room } else { S::MR }
}

/// How many runs before its turn the values of a run are asked for.
const AHEAD: usize = 2;

/// The most for steps that no instance is made for: each result then takes a register for its address.
const ANY_STEP: usize = 6;

/// The most for a step and so many blocks.
pub(super) fn most_for<S: Simd>(step: Step, blocks: usize) -> usize {
    match step {
        Step::Vectors(1 | 2) | Step::Elements(1 | 2) => most::<S>(blocks),
        _ => most::<S>(blocks).min(ANY_STEP),
    }
}

/// Whether tiles of so many blocks hold nearly as much as those of two: there are registers enough.
pub(super) const fn holds_as_much<S: Simd>(blocks: usize) -> bool {
    5 * blocks * most::<S>(blocks) >= 4 * 2 * most::<S>(2)
}

/// Repeats a statement for each of `$m` places. Straight-line code: a loop of this length is not always unrolled, and then
/// the sums live in memory.
macro_rules! repeat {
    ($m:ident, $i:ident, $do:block) => {
        repeat!($m, $i, $do, 0 1 2 3 4 5 6 7 8 9 10 11 12 13)
    };
    ($m:ident, $i:ident, $do:block, $($n:literal)*) => {
        $(if $n < $m {
            let $i = $n;
            $do
        })*
    };
}
pub(super) use repeat;

/// One instance: `P` results, `V` blocks, `STEP` vectors or elements (0: as the job says).
struct Run<'a, S: Simd, const P: usize, const V: usize, const STEP: usize, const VECTORS: bool>(&'a Job<'a, S::T>);

impl<S: Simd, const P: usize, const V: usize, const STEP: usize, const VECTORS: bool> Body
    for Run<'_, S, P, V, STEP, VECTORS>
{
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        if P > most::<S>(V) {
            debug_assert!(false, "a tile of {P} x {V}");
            return;
        }
        let j = *self.0;
        let step = match (STEP, VECTORS) {
            (0, _) => j.step,
            (n, true) => n * S::LANES,
            (n, false) => n,
        };
        // SAFETY: the job's operands are valid for a tile of this size.
        unsafe {
            let zero = S::splat(S::T::default());
            let mut acc = [[zero; V]; P];
            let next = j.w_block;
            let mut w: *const S::T;
            macro_rules! value {
                ($x:expr) => {
                    let x = $x;
                    let mut f = [zero; V];
                    for v in 0..V {
                        f[v] = S::stream(w.add(v * next), S::LANES as isize);
                    }
                    repeat!(P, i, {
                        let b = S::splat(*x.add(i * step));
                        for v in 0..V {
                            acc[i][v] = S::fma(b, f[v], acc[i][v]);
                        }
                    });
                    w = w.add(S::LANES);
                };
            }
            // Neighbours in plain images look at the same values one after the other. Together in one stretch of code,
            // those would be kept, for want of registers in memory.
            let (fours, rest) = if VECTORS { (j.len / 4, j.len % 4) } else { (0, j.len) };
            if j.is_far {
                for v in 0..V {
                    repeat!(P, i, {
                        S::prefetch(j.y.wrapping_add(i * j.y_step + v * j.y_block));
                    });
                }
            }
            for (r, at) in j.runs.iter().enumerate() {
                let mut x = j.x.wrapping_offset(at.x);
                if let Some(next) = j.next {
                    let r = r + AHEAD;
                    let (from, r) = if r < j.runs.len() { (j.x, r) } else { (next, r - j.runs.len()) };
                    if let Some(at) = j.runs.get(r) {
                        repeat!(P, i, {
                            S::prefetch(from.wrapping_offset(at.x + (i * step) as isize));
                        });
                    }
                }
                w = j.w.wrapping_add(at.w);
                for _ in 0..fours {
                    value!(x);
                    value!(x.add(1));
                    value!(x.add(2));
                    value!(x.add(3));
                    x = x.add(4);
                }
                for _ in 0..rest {
                    value!(x);
                    x = x.add(1);
                }
            }
            store::<S, P, V>(acc, &j);
        }
    }
}

/// Finishes sums and stores them.
///
/// # Safety
/// As the job says.
#[inline(always)]
unsafe fn store<S: Simd, const P: usize, const V: usize>(mut acc: [[S::V; V]; P], j: &Job<'_, S::T>) {
    // SAFETY: the result has these places, and so has the residual; scale and shift have a number for each channel.
    unsafe {
        let at = |i: usize, v: usize| j.y.add(i * j.y_step + v * j.y_block);
        if j.resume {
            repeat!(P, i, {
                for v in 0..V {
                    acc[i][v] = S::add(acc[i][v], S::load(at(i, v)));
                }
            });
        }
        if let Some(Last { finish, channel, at: place }) = j.last {
            if let Some(scale) = finish.scale {
                for v in 0..V {
                    let s = S::load(scale.add(channel + v * S::LANES));
                    repeat!(P, i, {
                        acc[i][v] = S::mul(acc[i][v], s);
                    });
                }
            }
            if let Some(shift) = finish.shift {
                for v in 0..V {
                    let s = S::load(shift.add(channel + v * S::LANES));
                    repeat!(P, i, {
                        acc[i][v] = S::add(acc[i][v], s);
                    });
                }
            }
            if let Some(residual) = finish.residual {
                let r = residual.ptr.add(place);
                repeat!(P, i, {
                    for v in 0..V {
                        acc[i][v] = S::add(acc[i][v], S::load(r.add(i * j.y_step + v * j.y_block)));
                    }
                });
            }
            if finish.relu {
                let zero = S::splat(S::T::default());
                // In this order NaN stays NaN.
                repeat!(P, i, {
                    for v in 0..V {
                        acc[i][v] = S::max(zero, acc[i][v]);
                    }
                });
            }
        }
        if j.last.is_some_and(|l| l.finish.add) {
            repeat!(P, i, {
                for v in 0..V {
                    acc[i][v] = S::add(acc[i][v], S::load(at(i, v)));
                }
            });
        }
        repeat!(P, i, {
            for v in 0..V {
                S::store(at(i, v), acc[i][v]);
            }
        });
    }
}

/// Multiplies a tile of `pixels` (at most `most`, or `ANY_STEP` for a step that is not known) by 1 to 4 blocks.
///
/// # Safety
/// The processor has the instructions of `S`, and the job's operands are valid for such a tile.
pub(super) unsafe fn multiply<S: Simd>(pixels: usize, blocks: usize, step: Step, job: &Job<'_, S::T>) {
    macro_rules! instances {
        ($step:literal, $vectors:literal, [$($p:literal)*], [$($t:literal)*], [$($q:literal)*]) => {
            // SAFETY: the caller's.
            unsafe {
                match (blocks, pixels) {
                    $((1, $p) => S::enter(Run::<S, $p, 1, $step, $vectors>(job)),)*
                    $((2, $p) => S::enter(Run::<S, $p, 2, $step, $vectors>(job)),)*
                    $((3, $t) => S::enter(Run::<S, $t, 3, $step, $vectors>(job)),)*
                    $((4, $q) => S::enter(Run::<S, $q, 4, $step, $vectors>(job)),)*
                    _ => debug_assert!(false, "a tile of {pixels} x {blocks}"),
                }
            }
        };
    }
    match step {
        Step::Vectors(1) => instances!(1, true, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], [1 2 3 4 5 6 7 8], [1 2 3 4 5 6]),
        Step::Vectors(2) => instances!(2, true, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], [1 2 3 4 5 6 7 8], [1 2 3 4 5 6]),
        Step::Elements(1) => {
            instances!(1, false, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], [1 2 3 4 5 6 7 8], [1 2 3 4 5 6])
        }
        Step::Elements(2) => {
            instances!(2, false, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], [1 2 3 4 5 6 7 8], [1 2 3 4 5 6])
        }
        _ => instances!(0, false, [1 2 3 4 5 6], [1 2 3 4 5 6], [1 2 3 4 5 6]),
    }
}
