//! The gradient of the largest values of windows, which are looked for again: nothing but the images is kept.
use super::lines::{Lines, Max, Places, Space, gather, room, spread};
use super::{Plane, Value};
use crate::formula::Float;
use crate::map::sweep::Vector;
use crate::registers::{Body, WIDEST};

/// Values of `dy` go where the largest value of their window stands.
pub(super) struct Back<'a, T> {
    pub(super) lines: &'a Lines<'a>,
    pub(super) dy: Plane<T>,
    pub(super) x: Plane<T>,
    pub(super) dx: Plane<T>,
    pub(super) space: &'a mut Space<T>,
}

impl<T: Value> Body<T> for Back<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Float + Vector<T = T>>(self, i: I) {
        let Lines { rows, cols, .. } = self.lines;
        // The windows of most networks, with numbers that the compiler knows.
        match (cols.kernel, cols.stride, cols.pad) {
            (2, 2, 0) if rows.pad == 0 && rows.kernel <= rows.stride => self.pairs(i),
            (3, 2, 0) => self.with::<I, 3, 2, 0>(i),
            (3, 2, 1) => self.with::<I, 3, 2, 1>(i),
            (3, 1, 1) => self.with::<I, 3, 1, 1>(i),
            _ => self.with::<I, 0, 0, 0>(i),
        }
    }
}

impl<T: Value> Back<'_, T> {
    /// Windows of two columns that do not overlap and lie in the image from the start: all stays in registers.
    #[inline(always)]
    fn pairs<I: Float + Vector<T = T>>(self, i: I) {
        let Lines { rows, cols, .. } = *self.lines;
        let (dy, x, dx) = (self.dy, self.x, self.dx);
        let (lowest, zero) = (i.c(f64::NEG_INFINITY), i.c(0.0));
        let covered = cols.size.min(2 * cols.out);
        let left = |from: usize| covered.saturating_sub(from).min(I::LANES);
        let mut done = 0;
        for o in 0..rows.out {
            let (first, n) = (o * rows.stride, rows.taps(o).len());
            for j in (0..cols.out).step_by(I::LANES) {
                let (mut best, mut at) = (lowest, zero);
                // SAFETY: rows lie in one piece, and only what lies before their end is read and stored.
                unsafe {
                    for ky in 0..n {
                        let row = x.at(0, first + ky, 0).cast_const();
                        let a = i.load_or(row.wrapping_add(2 * j), left(2 * j), lowest);
                        let b = i.load_or(row.wrapping_add(2 * j + I::LANES), left(2 * j + I::LANES), lowest);
                        let pair = i.unzip(a, b);
                        for (kx, v) in [pair.0, pair.1].into_iter().enumerate() {
                            (best, at) = better(i, (best, at), (v, i.c((2 * ky + kx) as f64)));
                        }
                    }
                    let g = i.load_or(dy.at(0, o, j), (cols.out - j).min(I::LANES), zero);
                    for ky in 0..n {
                        let row = dx.at(0, first + ky, 0);
                        let mine = |kx: usize| i.select(i.eq(at, i.c((2 * ky + kx) as f64)), g, zero);
                        let (a, b) = i.zip(mine(0), mine(1));
                        i.store_up_to(row.wrapping_add(2 * j), a, left(2 * j));
                        i.store_up_to(row.wrapping_add(2 * j + I::LANES), b, left(2 * j + I::LANES));
                    }
                }
            }
            // SAFETY: these places belong to this task.
            unsafe {
                for y in done..first {
                    std::slice::from_raw_parts_mut(dx.at(0, y, 0), cols.size).fill(T::default());
                }
                for y in first..first + n {
                    std::slice::from_raw_parts_mut(dx.at(0, y, covered), cols.size - covered).fill(T::default());
                }
            }
            done = first + n;
        }
        for y in done..rows.size {
            // SAFETY: as above.
            unsafe { std::slice::from_raw_parts_mut(dx.at(0, y, 0), cols.size) }.fill(T::default());
        }
    }

    /// `KERNEL`, `STRIDE` and `PAD` are those of columns, or 0. The largest value of a window is that of one of its rows, and
    /// what stands where in a row is the same for all windows over it: it is looked for once.
    #[inline(always)]
    fn with<I: Float + Vector<T = T>, const KERNEL: usize, const STRIDE: usize, const PAD: usize>(self, i: I) {
        let mut lines = *self.lines;
        if KERNEL > 0 {
            (lines.cols.kernel, lines.cols.stride, lines.cols.pad) = (KERNEL, STRIDE, PAD);
        }
        let Lines { rows, cols, before_back, back_len, .. } = lines;
        let (dy, x, dx) = (self.dy, self.x, self.dx);
        let phases = room(&mut self.space.phases, lines.row(), T::from_f64(f64::NEG_INFINITY));
        // Pairs of lines, each in the place that its number says: of rows the largest values and their taps, of rows of
        // windows their rows and what these get. And a line for what a row gets.
        let (kept, over) = (rows.kernel.next_power_of_two(), rows.kernel.div_ceil(rows.stride).next_power_of_two());
        let pairs = room(&mut self.space.back, (kept + over) * 2 * back_len + back_len, T::default());
        let row = |y: usize| pairs.wrapping_add((y & (kept - 1)) * 2 * back_len + before_back);
        let window = |o: usize| pairs.wrapping_add((kept + (o & (over - 1))) * 2 * back_len + before_back);
        let given = pairs.wrapping_add((kept + over) * 2 * back_len + before_back);
        // The first tap of each window that lies in the image counts where nothing is larger than the lowest number.
        let windows = cols.out + WIDEST;
        if self.space.plain.len() != windows {
            room(&mut self.space.plain, windows, T::default());
            let firsts = self.space.plain.iter_mut().enumerate();
            firsts.for_each(|(j, t)| *t = T::from_f64(cols.taps(j).start as f64));
        }
        let firsts = self.space.plain.as_ptr();
        let (lowest, zero) = (i.c(f64::NEG_INFINITY), i.c(0.0));
        // Rows that are looked through, and rows whose gradient is there.
        let (mut seen, mut done) = (0, 0);
        // SAFETY: rows lie in one piece; registers begin at places or windows, with room behind the last ones.
        unsafe {
            for o in 0..rows.out {
                let taps = rows.taps(o);
                let start = (o * rows.stride + taps.start).saturating_sub(rows.pad);
                for y in seen.max(start)..start + taps.len() {
                    spread::<I, Max>(i, &lines, x.at(0, y, 0), 0, 1, phases);
                    for j in (0..cols.out).step_by(I::LANES) {
                        let mut best = (lowest, i.load(firsts.add(j)));
                        for kx in 0..cols.kernel {
                            best = better(i, best, (i.load(phases.add(j + lines.at(kx))), i.c(kx as f64)));
                        }
                        i.store(row(y).add(j), best.0);
                        i.store(row(y).add(back_len + j), best.1);
                    }
                }
                seen = start + taps.len();
                for j in (0..cols.out).step_by(I::LANES) {
                    let mut best = (lowest, i.c(taps.start as f64));
                    for ky in taps.clone() {
                        let v = i.load(row(o * rows.stride + ky - rows.pad).add(j));
                        best = better(i, best, (v, i.c(ky as f64)));
                    }
                    let g = i.load_or(dy.at(0, o, j), (cols.out - j).min(I::LANES), zero);
                    i.store(window(o).add(j), best.1);
                    i.store(window(o).add(back_len + j), g);
                }
                let next = if o + 1 < rows.out { ((o + 1) * rows.stride).saturating_sub(rows.pad) } else { rows.size };
                for y in done..next.min(rows.size) {
                    let first = (y + rows.pad + 1).saturating_sub(rows.kernel).div_ceil(rows.stride);
                    let last = ((y + rows.pad) / rows.stride + 1).min(rows.out);
                    if first >= last {
                        std::slice::from_raw_parts_mut(dx.at(0, y, 0), cols.size).fill(T::default());
                        continue;
                    }
                    for j in (0..cols.out).step_by(I::LANES) {
                        let mut acc = zero;
                        for o in first..last {
                            let (at, g) = (i.load(window(o).add(j)), i.load(window(o).add(back_len + j)));
                            let ky = i.c((y + rows.pad - o * rows.stride) as f64);
                            acc = i.add(acc, i.select(i.eq(at, ky), g, zero));
                        }
                        i.store(given.add(j), acc);
                    }
                    let taps = row(y).wrapping_add(back_len).cast_const();
                    gather(i, &lines, dx.at(0, y, 0), Meant { lines: &lines, taps, given: given.cast_const() });
                }
                done = next.min(rows.size).max(done);
            }
            for y in done..rows.size {
                std::slice::from_raw_parts_mut(dx.at(0, y, 0), cols.size).fill(T::default());
            }
        }
    }
}

/// The larger of two values, each with its number. NaN is larger than any number, and the first of equals stays.
#[inline(always)]
fn better<I: Float>(i: I, (best, at): (I::V, I::V), (v, number): (I::V, I::V)) -> (I::V, I::V) {
    let better = i.and(i.not(i.le(v, best)), i.eq(best, best));
    (i.select(better, v, best), i.select(better, number, at))
}

/// What a row gets from its windows, where their taps say.
#[derive(Clone, Copy)]
struct Meant<'a, T> {
    lines: &'a Lines<'a>,
    taps: *const T,
    given: *const T,
}
impl<I: Float + Vector> Places<I> for Meant<'_, I::T> {
    #[inline(always)]
    fn at(self, i: I, phase: usize, place: usize) -> I::V {
        let cols = &self.lines.cols;
        let mut acc = i.c(0.0);
        for tap in (cols.first_tap(phase)..cols.kernel).step_by(cols.stride) {
            let from = place.wrapping_add_signed(-cols.shift(tap));
            // SAFETY: zeros before and behind cover what taps reach beyond the windows.
            let (at, g) = unsafe { (i.load(self.taps.wrapping_add(from)), i.load(self.given.wrapping_add(from))) };
            acc = i.add(acc, i.select(i.eq(at, i.c(tap as f64)), g, i.c(0.0)));
        }
        acc
    }
}
