//! The blocked product of one rectangle of C: blocks of k, panels of B and panels of A are nested so that each stays in
//! the cache that holds it.
use super::epilogue::{Epilogue, Finish};
use super::output::{MatMut, Output};
use super::pack::{Mat, PackA, PackB};
use super::scratch::{Scratch, Slot};
use super::simd::{Real, Simd};
use super::tile::Tile;
use crate::view::Mode;
use gluonish_base::pool;
use std::ops::Range;

/// Columns of a packed block of B.
const NC: usize = 2048;
/// Packing pays only when the packed copy is read several times: A is read where it lies when C has no more columns than
/// this, and B when C has no more rows.
const A_IN_PLACE: usize = 128;
const B_IN_PLACE: usize = 160;
/// Elements of C that wait in scratch memory until they are finished.
const WAITING: usize = 256 << 10;

/// A product: C (`m` by `n`) from A (`m` by `k`) and B (`k` by `n`).
#[derive(Clone, Copy)]
pub struct Product<A, B, C, E> {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: A,
    pub b: B,
    pub c: C,
    pub mode: Mode,
    pub e: E,
}

/// A number in nearly equal parts.
#[derive(Clone, Copy)]
struct Parts {
    count: usize,
    each: usize,
    /// So many parts have one more.
    more: usize,
}

impl Parts {
    fn new(total: usize, max: usize) -> Parts {
        Parts::of(total, total.div_ceil(max))
    }
    fn of(total: usize, count: usize) -> Parts {
        let count = count.clamp(1, total.max(1));
        Parts { count, each: total / count, more: total % count }
    }
    /// Start and length of part `i`.
    #[inline(always)]
    fn at(&self, i: usize) -> (usize, usize) {
        (i * self.each + i.min(self.more), self.each + usize::from(i < self.more))
    }
}

/// Where the tile finds its operands.
struct Places<T> {
    /// A in place; `None` stands for packed panels.
    a: Option<Mat<T>>,
    /// B in place; `None` stands for packed panels.
    b: Option<Mat<T>>,
    /// All panels of B, packed before use because several blocks of A use them. Without it each is packed when its turn
    /// comes, so that it is still in the nearest cache.
    ahead: Option<*mut T>,
}

// SAFETY: operands are only read while threads share this, except the panels of B, which threads pack one by one.
unsafe impl<T: Sync> Sync for Places<T> {}

/// Where the tile leaves its results.
#[derive(Clone, Copy)]
struct Target<T> {
    c: *mut T,
    ldc: isize,
    add: bool,
}

// SAFETY: threads write disjoint parts of it.
unsafe impl<T: Send> Sync for Target<T> {}

/// One block of k.
#[derive(Clone, Copy)]
struct Steps {
    k0: usize,
    kc: usize,
    first: bool,
    last: bool,
}

/// Steps of k that are packed at a time where a step lies in one line of the source: lines are then read along.
const GRAIN: usize = 32;

impl<A, B, C, E> Product<A, B, C, E> {
    /// Where tiles can be stored at once: C has rows of contiguous elements, and what it holds need not be kept from the
    /// epilogue.
    pub(super) fn direct<T: Real>(&self) -> Option<(*mut T, isize)>
    where
        C: Output<T>,
        E: Epilogue<T>,
    {
        self.c.rows_in_place().filter(|_| E::IDENTITY || self.mode == Mode::Write)
    }

    /// Computes a rectangle of C, with a team of so many threads.
    ///
    /// # Safety
    /// As for `gemm`; the processor has the instructions of `S`, and nobody else writes this rectangle.
    pub(super) unsafe fn rectangle<S: Simd>(&self, team: usize, rows: Range<usize>, cols: Range<usize>)
    where
        A: PackA<S::T>,
        B: PackB<S::T>,
        C: Output<S::T>,
        E: Epilogue<S::T>,
    {
        // SAFETY: the caller's.
        unsafe {
            match self.direct::<S::T>() {
                Some((c, ldc)) => self.blocks::<S>(team, Target { c, ldc, add: self.mode == Mode::Add }, rows, cols),
                None => self.aside::<S>(team, rows, cols),
            }
        }
    }

    /// Strips of rows are finished in scratch memory, then stored or added as C wants it.
    unsafe fn aside<S: Simd>(&self, team: usize, rows: Range<usize>, cols: Range<usize>)
    where
        A: PackA<S::T>,
        B: PackB<S::T>,
        C: Output<S::T>,
        E: Epilogue<S::T>,
    {
        let ld = cols.len().next_multiple_of(S::LANES);
        let height = (WAITING / ld.max(1)).clamp(1, rows.len().max(1));
        let buf = Scratch::<S::T>::take(Slot::C, ld * height);
        for top in rows.clone().step_by(height) {
            let strip = top..rows.end.min(top + height);
            // The strip as part of a C that starts before it, so that places keep their numbers.
            let c = buf.ptr().wrapping_sub(top * ld + cols.start);
            // SAFETY: the caller's; the buffer holds the strip.
            unsafe {
                let to = Target { c, ldc: ld as isize, add: false };
                self.blocks::<S>(team, to, strip.clone(), cols.clone());
                self.c.store(buf.ptr(), ld, strip, cols.clone(), self.mode);
            }
        }
    }

    unsafe fn blocks<S: Simd>(&self, team: usize, to: Target<S::T>, rows: Range<usize>, cols: Range<usize>)
    where
        A: PackA<S::T>,
        B: PackB<S::T>,
        C: Output<S::T>,
        E: Epilogue<S::T>,
    {
        let (m, n) = (rows.len(), cols.len());
        let ks = Parts::new(self.k, S::KC);
        let kmax = self.k.div_ceil(ks.count).max(1);
        let b = self.b.in_place().filter(|b| b.cs == 1 && m <= B_IN_PLACE);
        let a = self.a.in_place().filter(|a| (a.rs == 1 || a.cs == 1) && n <= A_IN_PLACE);
        let fitting = (S::A_BLOCK / (kmax * size_of::<S::T>())).max(S::MR);
        // Four for each thread at least, and as many for each.
        let enough =
            if team > 1 { m.div_ceil(fitting).max(4 * team).next_multiple_of(team) } else { m.div_ceil(fitting) };
        let blocks = Parts::of(m, enough);
        let panels = NC.min(n).next_multiple_of(S::NR);
        let buf = (b.is_none() && blocks.count > 1).then(|| Scratch::take(Slot::B, kmax * panels));
        let at = Places { a, b, ahead: buf.as_ref().map(Scratch::ptr) };
        for left in cols.clone().step_by(NC) {
            let cols = left..cols.end.min(left + NC);
            for p in 0..ks.count {
                let (k0, kc) = ks.at(p);
                let steps = Steps { k0, kc, first: p == 0, last: p + 1 == ks.count };
                // SAFETY: the caller's; the buffer has room for the block, which is complete before it is used.
                unsafe {
                    if let Some(buf) = at.ahead {
                        self.pack_ahead::<S>(team, steps, cols.clone(), MatMut::new(buf, S::NR as isize, 1));
                    }
                    pool::run(blocks.count, team, |i| {
                        let (i, mc) = blocks.at(i);
                        let top = rows.start + i;
                        self.panels::<S>(steps, &to, top..top + mc, cols.clone(), &at);
                    });
                }
            }
        }
    }

    /// Packs all panels of a block of B, panel after panel in `to`.
    unsafe fn pack_ahead<S: Simd>(&self, team: usize, Steps { k0, kc, .. }: Steps, cols: Range<usize>, to: MatMut<S::T>)
    where
        A: PackA<S::T>,
        B: PackB<S::T>,
        C: Output<S::T>,
        E: Epilogue<S::T>,
    {
        let b = &self.b;
        let pack = |u: usize, steps: usize, j: usize| {
            let dst = to.at((j - cols.start) / S::NR * kc + u, 0);
            // SAFETY: the caller's; each piece of the buffer is written once.
            unsafe { b.pack::<S>(k0 + u, steps, j, S::NR.min(cols.end - j), dst) }
        };
        if b.in_place().is_some_and(|b| b.cs == 1) {
            pool::run(kc.div_ceil(GRAIN), team, |chunk| {
                let u = chunk * GRAIN;
                cols.clone().step_by(S::NR).for_each(|j| pack(u, GRAIN.min(kc - u), j));
            });
        } else {
            pool::run(cols.len().div_ceil(S::NR), team, |panel| pack(0, kc, cols.start + panel * S::NR));
        }
    }

    /// Packs some rows of A, panel after panel; each ends with room for a vector that stores may spill over.
    unsafe fn pack_a<S: Simd>(&self, Steps { k0, kc, .. }: Steps, top: usize, panels: Parts, to: *mut S::T)
    where
        A: PackA<S::T>,
    {
        let grain = if self.a.in_place().is_some_and(|a| a.rs == 1) { GRAIN } else { kc.max(1) };
        for u in (0..kc).step_by(grain) {
            for r in 0..panels.count {
                let (i, mr) = panels.at(r);
                // SAFETY: the caller's; the buffer has room for the panels.
                unsafe {
                    let dst = to.add(i * kc + r * S::LANES + u * mr);
                    self.a.pack::<S>(top + i, mr, k0 + u, grain.min(kc - u), dst);
                }
            }
        }
    }

    /// One block of A against one block of B.
    unsafe fn panels<S: Simd>(
        &self,
        steps: Steps,
        to: &Target<S::T>,
        rows: Range<usize>,
        cols: Range<usize>,
        at: &Places<S::T>,
    ) where
        A: PackA<S::T>,
        B: PackB<S::T>,
        E: Epilogue<S::T>,
    {
        let Steps { k0, kc, first, last } = steps;
        let apart = at.a.is_some_and(|a| a.rs != 1);
        let panels = Parts::new(rows.len(), if apart { S::MR_APART } else { S::MR });
        let (add, ldc) = (to.add || !first, to.ldc);
        let a_buf = Scratch::take(Slot::A, if at.a.is_none() { kc * rows.len() + panels.count * S::LANES } else { 0 });
        let b_buf = Scratch::take(Slot::Panel, kc * S::NR);
        // SAFETY: the caller's; panels are within the buffers, tiles within C.
        unsafe {
            if at.a.is_none() {
                self.pack_a::<S>(steps, rows.start, panels, a_buf.ptr());
            }
            for col in cols.clone().step_by(S::NR) {
                let lanes = S::NR.min(cols.end - col);
                let (b, b_stride) = match (at.b, at.ahead) {
                    // At the ragged right edge, reading whole vectors could leave the matrix.
                    (Some(b), _) if lanes == S::NR || lanes == S::LANES => (b.at(k0, col), b.rs),
                    (_, Some(ahead)) => (ahead.add((col - cols.start) * kc).cast_const(), S::NR as isize),
                    _ => {
                        self.b.pack::<S>(k0, kc, col, lanes, b_buf.ptr());
                        (b_buf.ptr().cast_const(), S::NR as isize)
                    }
                };
                for r in 0..panels.count {
                    let (i, m) = panels.at(r);
                    let row = rows.start + i;
                    let a = match at.a {
                        Some(a) => Mat { p: a.at(row, k0), ..a },
                        None => Mat::new(a_buf.ptr().add(i * kc + r * S::LANES).cast_const(), 1, m as isize),
                    };
                    let c = to.c.wrapping_offset(row as isize * ldc).wrapping_add(col);
                    S::tile(&Tile { m, k: kc, a, b, b_stride, c, ldc, lanes, add });
                    if last && !E::IDENTITY {
                        S::enter(Finish::<S, E> { e: self.e, c, ldc, row, col, rows: m, cols: lanes });
                    }
                }
            }
        }
    }
}
