//! The blocked product of one rectangle of C: blocks of k, panels of B and panels of A are nested so that each stays in
//! the cache that holds it.
use super::epilogue::{Epilogue, Finish};
use super::output::Output;
use super::pack::{Mat, PackA, PackB};
use super::scratch::{Scratch, Slot};
use super::simd::Simd;
use super::tile::Tile;
use crate::view::Mode;
use std::ops::Range;

/// Columns of a packed block of B.
const NC: usize = 2048;
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

/// `total` in `ceil(total / max)` nearly equal parts.
#[derive(Clone, Copy)]
struct Parts {
    count: usize,
    each: usize,
    /// So many parts have one more.
    more: usize,
}

impl Parts {
    fn new(total: usize, max: usize) -> Parts {
        let count = total.div_ceil(max).max(1);
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
    /// All panels of B are packed before use, because several blocks of A use them; else each when its turn comes, so
    /// that it is still in the nearest cache.
    ahead: bool,
    a_buf: *mut T,
    b_buf: *mut T,
}

/// Where the tile leaves its results.
#[derive(Clone, Copy)]
struct Target<T> {
    c: *mut T,
    ldc: isize,
    add: bool,
}

/// One block of k.
#[derive(Clone, Copy)]
struct Steps {
    k0: usize,
    kc: usize,
    first: bool,
    last: bool,
}

impl<A, B, C, E> Product<A, B, C, E> {
    /// Computes a rectangle of C.
    ///
    /// # Safety
    /// As for `gemm`; the processor has the instructions of `S`, and nobody else writes this rectangle.
    pub unsafe fn rectangle<S: Simd>(&self, rows: Range<usize>, cols: Range<usize>)
    where
        A: PackA<S::T>,
        B: PackB<S::T>,
        C: Output<S::T>,
        E: Epilogue<S::T>,
    {
        // What C holds already must not go through the epilogue.
        let direct = E::IDENTITY || self.mode == Mode::Write;
        // SAFETY: the caller's.
        unsafe {
            match self.c.rows_in_place().filter(|_| direct) {
                Some((c, ldc)) => self.blocks::<S>(Target { c, ldc, add: self.mode == Mode::Add }, rows, cols),
                None => self.aside::<S>(rows, cols),
            }
        }
    }

    /// Strips of rows are finished in scratch memory, then stored or added as C wants it.
    unsafe fn aside<S: Simd>(&self, rows: Range<usize>, cols: Range<usize>)
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
                self.blocks::<S>(to, strip.clone(), cols.clone());
                self.c.store(buf.ptr(), ld, strip, cols.clone(), self.mode);
            }
        }
    }

    unsafe fn blocks<S: Simd>(&self, to: Target<S::T>, rows: Range<usize>, cols: Range<usize>)
    where
        A: PackA<S::T>,
        B: PackB<S::T>,
        E: Epilogue<S::T>,
    {
        let (m, n) = (rows.len(), cols.len());
        let ks = Parts::new(self.k, S::KC);
        let kmax = self.k.div_ceil(ks.count).max(1);
        // Packing pays only when the packed copy is read several times.
        let b = self.b.in_place().filter(|b| b.cs == 1 && m <= S::MR * 12);
        let a = self.a.in_place().filter(|a| (a.rs == 1 || a.cs == 1) && n <= 4 * S::NR);
        let blocks = Parts::new(m, (S::A_BLOCK / (kmax * size_of::<S::T>())).max(S::MR));
        let a_buf =
            Scratch::take(Slot::A, if a.is_some() { 0 } else { kmax * m.div_ceil(blocks.count) + m * S::LANES });
        let ahead = b.is_none() && blocks.count > 1;
        let b_buf = Scratch::take(Slot::B, kmax * if ahead { NC.min(n).next_multiple_of(S::NR) } else { S::NR });
        let at = Places { a, b, ahead, a_buf: a_buf.ptr(), b_buf: b_buf.ptr() };
        for left in cols.clone().step_by(NC) {
            let cols = left..cols.end.min(left + NC);
            for p in 0..ks.count {
                let (k0, kc) = ks.at(p);
                let steps = Steps { k0, kc, first: p == 0, last: p + 1 == ks.count };
                // SAFETY: the caller's; the buffers have room for the blocks.
                unsafe {
                    if ahead {
                        let grain = if self.b.in_place().is_some_and(|b| b.cs == 1) { 32 } else { kc.max(1) };
                        for u in (0..kc).step_by(grain) {
                            for j in cols.clone().step_by(S::NR) {
                                let dst = at.b_buf.add((j - left) * kc + u * S::NR);
                                self.b.pack::<S>(k0 + u, grain.min(kc - u), j, S::NR.min(cols.end - j), dst);
                            }
                        }
                    }
                    for i in 0..blocks.count {
                        let (i, mc) = blocks.at(i);
                        let top = rows.start + i;
                        self.panels::<S>(steps, to, top..top + mc, cols.clone(), &at);
                    }
                }
            }
        }
    }

    /// One block of A against one block of B.
    unsafe fn panels<S: Simd>(
        &self,
        Steps { k0, kc, first, last }: Steps,
        to: Target<S::T>,
        rows: Range<usize>,
        cols: Range<usize>,
        at: &Places<S::T>,
    ) where
        A: PackA<S::T>,
        B: PackB<S::T>,
        E: Epilogue<S::T>,
    {
        let apart = at.a.is_some_and(|a| a.rs != 1);
        let panels = Parts::new(rows.len(), if apart { S::MR_APART } else { S::MR });
        let (add, ldc) = (to.add || !first, to.ldc);
        // SAFETY: the caller's; panels are within the buffers, tiles within C.
        unsafe {
            if at.a.is_none() {
                let grain = if self.a.in_place().is_some_and(|a| a.rs == 1) { 32 } else { kc.max(1) };
                for u in (0..kc).step_by(grain) {
                    for r in 0..panels.count {
                        let (i, mr) = panels.at(r);
                        let dst = at.a_buf.add(i * kc + r * S::LANES + u * mr);
                        self.a.pack::<S>(rows.start + i, mr, k0 + u, grain.min(kc - u), dst);
                    }
                }
            }
            for col in cols.clone().step_by(S::NR) {
                let lanes = S::NR.min(cols.end - col);
                let (b, b_stride) = self.b_panel::<S>(at, k0, kc, col, lanes, cols.start);
                for r in 0..panels.count {
                    let (i, m) = panels.at(r);
                    let row = rows.start + i;
                    let a = match at.a {
                        Some(a) => Mat { p: a.at(row, k0), ..a },
                        None => Mat::new(at.a_buf.add(i * kc + r * S::LANES).cast_const(), 1, m as isize),
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

    /// The panel of B at column `col` of a block that starts at `left`: pointer and row stride.
    unsafe fn b_panel<S: Simd>(
        &self,
        at: &Places<S::T>,
        k0: usize,
        kc: usize,
        col: usize,
        lanes: usize,
        left: usize,
    ) -> (*const S::T, isize)
    where
        B: PackB<S::T>,
    {
        // SAFETY: the caller's.
        unsafe {
            match &at.b {
                // At the ragged right edge, reading whole vectors could leave the matrix.
                Some(b) if lanes == S::NR || lanes == S::LANES => (b.at(k0, col), b.rs),
                _ if at.ahead => (at.b_buf.add((col - left) * kc), S::NR as isize),
                _ => {
                    self.b.pack::<S>(k0, kc, col, lanes, at.b_buf);
                    (at.b_buf, S::NR as isize)
                }
            }
        }
    }
}
