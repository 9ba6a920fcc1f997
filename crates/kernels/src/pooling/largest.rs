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

/// Rows of places without blanks.
#[derive(Clone, Copy)]
struct Laid<T> {
    row: *const T,
    len: usize,
}
impl<I: Vector> Places<I> for Laid<I::T> {
    #[inline(always)]
    fn at(self, i: I, phase: usize, place: usize) -> I::V {
        // SAFETY: registers begin at places of the row, which has room for whole ones.
        unsafe { i.load(self.row.add(phase * self.len + place)) }
    }
}

impl<T: Value> Body<T> for Back<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Float + Vector<T = T>>(self, i: I) {
        let Lines { rows, cols, .. } = self.lines;
        // The windows of most networks, with numbers that the compiler knows.
        match (cols.kernel, cols.stride) {
            (2, 2) if cols.pad == 0 && rows.pad == 0 && rows.kernel <= rows.stride => self.pairs(i),
            (2, 2) => self.with::<I, 2, 2>(i),
            (3, 2) => self.with::<I, 3, 2>(i),
            (3, 1) => self.with::<I, 3, 1>(i),
            _ => self.with::<I, 0, 0>(i),
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
                            // NaN is larger than any number, and the first one stays.
                            let better = i.and(i.not(i.le(v, best)), i.eq(best, best));
                            best = i.select(better, v, best);
                            at = i.select(better, i.c((2 * ky + kx) as f64), at);
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

    /// `KERNEL` and `STRIDE` are those of columns, or 0.
    #[inline(always)]
    fn with<I: Float + Vector<T = T>, const KERNEL: usize, const STRIDE: usize>(self, i: I) {
        let mut lines = *self.lines;
        if KERNEL > 0 {
            (lines.cols.kernel, lines.cols.stride) = (KERNEL, STRIDE);
        }
        let Lines { rows, cols, places, before_back, back_len, .. } = lines;
        let (dy, x, dx) = (self.dy, self.x, self.dx);
        let (row, narrow) = (lines.row(), lines.narrow());
        let grad_row = cols.stride * narrow;
        // The rows of a window, and gradients of them, each in the place that its number says.
        let kept = rows.kernel.next_power_of_two();
        let place = |y: usize| y & (kept - 1);
        let phases = room(&mut self.space.phases, kept * row, T::from_f64(f64::NEG_INFINITY));
        // A row of `dy` and, for each window, the number of the tap where its largest value stands.
        let back = room(&mut self.space.back, 2 * back_len, T::default());
        let (g, which) = (back, back.wrapping_add(back_len));
        // The first tap of each window that lies in the image counts where nothing is larger than the lowest number; and
        // the numbers of all taps.
        let (windows, all) = (cols.out + WIDEST, rows.kernel * cols.kernel);
        if self.space.plain.len() != kept * grad_row + windows + all {
            room(&mut self.space.plain, kept * grad_row + windows + all, T::default());
            let (firsts, numbers) = self.space.plain[kept * grad_row..].split_at_mut(windows);
            firsts.iter_mut().enumerate().for_each(|(j, t)| *t = T::from_f64(cols.taps(j).start as f64));
            numbers.iter_mut().enumerate().for_each(|(k, t)| *t = T::from_f64(k as f64));
        }
        let grad = self.space.plain.as_mut_ptr();
        let firsts = grad.wrapping_add(kept * grad_row).cast_const();
        let numbers = firsts.wrapping_add(windows);
        let zero = i.c(0.0);
        // Rows that are laid out, and rows whose gradient is there.
        let (mut laid, mut done) = (0, 0);
        // SAFETY: rows lie in one piece; registers begin at places or windows, with room behind the last ones.
        unsafe {
            for o in 0..rows.out {
                let taps = rows.taps(o);
                let start = (o * rows.stride + taps.start).saturating_sub(rows.pad);
                let end = start + taps.len();
                while laid < start {
                    // No window has this row.
                    std::slice::from_raw_parts_mut(dx.at(0, laid, 0), cols.size).fill(T::default());
                    laid += 1;
                    done = laid;
                }
                let old = laid;
                while laid < end {
                    spread::<I, Max>(i, &lines, x.at(0, laid, 0), 0, 1, phases.add(place(laid) * row));
                    laid += 1;
                }
                let top = i.c((taps.start * cols.kernel) as f64);
                for j in (0..cols.out).step_by(I::LANES) {
                    let mut best = i.c(f64::NEG_INFINITY);
                    let mut at = i.add(i.load(firsts.add(j)), top);
                    for ky in taps.clone() {
                        let from = phases.add(place(o * rows.stride + ky - rows.pad) * row + j);
                        let number = numbers.add(ky * cols.kernel);
                        for kx in 0..cols.kernel {
                            let v = i.load(from.add(lines.at(kx)));
                            // NaN is larger than any number, and the first one stays.
                            let better = i.and(i.not(i.le(v, best)), i.eq(best, best));
                            best = i.select(better, v, best);
                            at = i.select(better, i.c((*number.add(kx)).to_f64()), at);
                        }
                    }
                    i.store(which.add(before_back + j), at);
                    let left = (cols.out - j).min(I::LANES);
                    i.store(g.add(before_back + j), i.load_or(dy.at(0, o, j), left, zero));
                }
                for ky in taps {
                    let y = o * rows.stride + ky - rows.pad;
                    let to = grad.add(place(y) * grad_row);
                    let number = numbers.add(ky * cols.kernel);
                    for p in 0..cols.stride {
                        for j in (0..places).step_by(I::LANES) {
                            let to = to.add(p * narrow + j);
                            // No earlier window has a row that was laid out for this one.
                            let mut acc = if y >= old { zero } else { i.load(to) };
                            for kx in (0..cols.kernel).rev() {
                                // Backwards, so that a place gets its parts in the order of the windows.
                                if cols.phase(kx) == p {
                                    let from = (before_back + j).wrapping_add_signed(-cols.shift(kx));
                                    let mine = i.eq(i.load(which.add(from)), i.c((*number.add(kx)).to_f64()));
                                    acc = i.add(acc, i.select(mine, i.load(g.add(from)), zero));
                                }
                            }
                            i.store(to, acc);
                        }
                    }
                }
                let next = if o + 1 < rows.out { ((o + 1) * rows.stride).saturating_sub(rows.pad) } else { laid };
                while done < next.min(laid) {
                    let from = grad.add(place(done) * grad_row).cast_const();
                    gather(i, &lines, dx.at(0, done, 0), Laid { row: from, len: narrow });
                    done += 1;
                }
            }
            for y in laid..rows.size {
                std::slice::from_raw_parts_mut(dx.at(0, y, 0), cols.size).fill(T::default());
            }
        }
    }
}
