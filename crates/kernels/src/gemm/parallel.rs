//! How a product, or a batch of them, is cut among threads.
use super::block::Product;
use super::epilogue::Epilogue;
use super::gemv;
use super::output::Output;
use super::pack::{PackA, PackB};
use super::simd::{Real, Simd, Work, dispatch};
use gluonish_base::pool;
use std::marker::PhantomData;
use std::ops::Range;

/// A product below this many operations runs on the caller: waking a thread would cost more than it saves.
const ALONE: usize = 400_000;
/// The same for a product with a vector, which waits for memory rather than for arithmetic.
const ALONE_VECTOR: usize = 100_000;
/// Multiplications, and threads, from which threads work as a team.
const TEAM: usize = 100_000_000;
const TEAM_THREADS: usize = 4;
/// Pieces of a product with a vector for each thread, so that a late one does not hold up the rest.
const VECTOR_PIECES: usize = 2;
/// What packing one element costs, in units of a multiplication of one element.
const PACKING: usize = 6;

/// One product on up to `threads` threads.
///
/// # Safety
/// A and B are readable and C is writable within the product's shape; C overlaps neither A nor B, nor what the epilogue
/// reads unless element for element.
pub unsafe fn gemm<T, A, B, C, E>(threads: usize, product: Product<A, B, C, E>)
where
    T: Real,
    A: PackA<T>,
    B: PackB<T>,
    C: Output<T>,
    E: Epilogue<T>,
    Product<A, B, C, E>: Clone + Sync,
{
    let shape = (product.m, product.n, product.k);
    // SAFETY: the caller's.
    unsafe { gemm_batch::<T, _, _, _, _>(threads, 1, shape, |_| product.clone()) }
}

/// `count` products of one shape `(m, n, k)`, on up to `threads` threads; `product(i)` is the i-th.
///
/// # Safety
/// As for `gemm`, for each of them; no two of them overlap in C.
pub unsafe fn gemm_batch<T, A, B, C, E>(
    threads: usize,
    count: usize,
    shape: (usize, usize, usize),
    product: impl Fn(usize) -> Product<A, B, C, E> + Sync,
) where
    T: Real,
    A: PackA<T>,
    B: PackB<T>,
    C: Output<T>,
    E: Epilogue<T>,
{
    if count > 0 && shape.0 > 0 && shape.1 > 0 {
        dispatch::<T, _>(Batch { threads, count, shape, product, of: PhantomData::<(A, B, C, E)> });
    }
}

struct Batch<P, O> {
    threads: usize,
    count: usize,
    shape: (usize, usize, usize),
    product: P,
    of: PhantomData<O>,
}

impl<T, A, B, C, E, P> Work<T> for Batch<P, (A, B, C, E)>
where
    T: Real,
    A: PackA<T>,
    B: PackB<T>,
    C: Output<T>,
    E: Epilogue<T>,
    P: Fn(usize) -> Product<A, B, C, E> + Sync,
{
    type Out = ();

    unsafe fn run<S: Simd<T = T>>(self) {
        let product = &self.product;
        if self.count == 1 && as_team(self.threads, self.shape) {
            let p = product(0);
            if p.direct().is_some() {
                // SAFETY: the caller's.
                return unsafe { p.rectangle::<S>(self.threads, 0..self.shape.0, 0..self.shape.1) };
            }
        }
        let cut = Cut::new::<S>(self.threads, self.count, self.shape);
        pool::run(cut.chunks(), self.threads, |chunk| {
            let (matrices, rows, cols) = cut.chunk(chunk);
            for i in matrices {
                let p = product(i);
                // SAFETY: the caller's; chunks are disjoint parts of C.
                unsafe {
                    if !gemv::rectangle::<S, _, _, _, _>(&p, rows.clone(), cols.clone()) {
                        p.rectangle::<S>(1, rows.clone(), cols.clone());
                    }
                }
            }
        });
    }
}

/// Whether threads pack panels for each other. With rectangles of their own the same panels are packed by several, the
/// more the more threads there are; but two threads lose less by that than by waiting for each other at each block of k.
fn as_team(threads: usize, (m, n, k): (usize, usize, usize)) -> bool {
    let threads = threads.min(pool::threads());
    threads >= TEAM_THREADS && m >= 64 * threads && n > 1 && m.saturating_mul(n).saturating_mul(k) >= TEAM
}

/// A batch of matrices, cut: into groups of matrices, or each of them into a grid.
struct Cut {
    m: usize,
    n: usize,
    count: usize,
    groups: usize,
    row_cuts: usize,
    col_cuts: usize,
    /// Columns are cut at multiples of this.
    unit: usize,
}

impl Cut {
    fn new<S: Simd>(threads: usize, count: usize, (m, n, k): (usize, usize, usize)) -> Cut {
        let threads = threads.min(pool::threads()).max(1);
        let one = Cut { m, n, count, groups: 1, row_cuts: 1, col_cuts: 1, unit: S::NR };
        let all = m.saturating_mul(n).saturating_mul(k).saturating_mul(2).saturating_mul(count);
        let vector = m == 1 || n == 1;
        let alone = if vector { ALONE_VECTOR } else { ALONE };
        if threads == 1 || all < alone {
            return one;
        }
        let worth = (2 * all / alone).max(2);
        if count >= 4 * threads || count.is_multiple_of(threads) {
            let groups = count.min(4 * threads).min(worth);
            return Cut { groups, ..one };
        }
        let pieces = (threads * if vector { VECTOR_PIECES } else { 1 }).min(worth);
        let best = (1..=pieces).rev().find_map(|p| Cut { groups: count, ..one }.grid(p));
        best.unwrap_or(one)
    }

    /// The grid of `pieces` rectangles whose largest takes the least time; `None` when C cannot be cut so finely.
    fn grid(self, pieces: usize) -> Option<Cut> {
        let columns = self.n.div_ceil(self.unit);
        let fits = |r: usize| pieces.is_multiple_of(r) && r <= self.m && pieces / r <= columns;
        let cost = |r: usize| {
            let rows = self.m.div_ceil(r);
            let cols = columns.div_ceil(pieces / r) * self.unit;
            rows.saturating_mul(cols).saturating_add(PACKING * (rows + cols))
        };
        let row_cuts = (1..=pieces).filter(|&r| fits(r)).min_by_key(|&r| cost(r))?;
        Some(Cut { row_cuts, col_cuts: pieces / row_cuts, ..self })
    }

    fn chunks(&self) -> usize {
        self.groups * self.row_cuts * self.col_cuts
    }

    /// The matrices, rows and columns of a chunk.
    fn chunk(&self, i: usize) -> (Range<usize>, Range<usize>, Range<usize>) {
        let slice = |total: usize, parts: usize, i: usize| total * i / parts..total * (i + 1) / parts;
        let (group, piece) = (i / (self.row_cuts * self.col_cuts), i % (self.row_cuts * self.col_cuts));
        let cols = slice(self.n.div_ceil(self.unit), self.col_cuts, piece % self.col_cuts);
        (
            slice(self.count, self.groups, group),
            slice(self.m, self.row_cuts, piece / self.col_cuts),
            (cols.start * self.unit).min(self.n)..(cols.end * self.unit).min(self.n),
        )
    }
}
