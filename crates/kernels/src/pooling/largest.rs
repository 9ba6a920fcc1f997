//! The gradient of the largest values of windows, which are looked for again: nothing but the images is kept.
use super::lines::{Given, Lines, Max, Space, gather, room, spread};
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
        match (cols.kernel, cols.stride) {
            (2, 2) if cols.pad == 0 && rows.pad == 0 && rows.kernel <= rows.stride => self.pairs(i),
            (2, 2) => self.with::<I, 2, 2>(i),
            (3, 2) => self.with::<I, 3, 2>(i),
            (3, 1) => self.with::<I, 3, 1>(i),
            _ => self.with::<I, 0, 0>(i),
        }
    }
}

/// Whether all values are numbers above the lowest, which stands outside of the image: then the largest of a window is
/// in the image, and equal to itself.
#[inline(always)]
fn all_above_lowest<T: Value>(row: &[T]) -> bool {
    let lowest = T::from_f64(f64::NEG_INFINITY);
    row.iter().fold(true, |all, v| all & (*v > lowest))
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
        let Lines { rows, cols, before_back, back_len, .. } = lines;
        let (dy, x, dx) = (self.dy, self.x, self.dx);
        let row = lines.row();
        // The rows of a window, each in the place that its number says.
        let kept = rows.kernel.next_power_of_two();
        let place = |y: usize| y & (kept - 1);
        let phases = room(&mut self.space.phases, kept * row, T::from_f64(f64::NEG_INFINITY));
        // What each tap of the windows gives back to a row: a line for each.
        let grad_row = cols.kernel * back_len;
        let grad = room(&mut self.space.back, kept * grad_row, T::default());
        // The first tap of each window that lies in the image counts where nothing is larger than the lowest number.
        let windows = cols.out + WIDEST;
        if self.space.plain.len() != windows {
            room(&mut self.space.plain, windows, T::default());
            let firsts = self.space.plain.iter_mut().enumerate();
            firsts.for_each(|(j, t)| *t = T::from_f64(cols.taps(j).start as f64));
        }
        let firsts = self.space.plain.as_ptr();
        let number = |ky: usize, kx: usize| i.c((ky * cols.kernel + kx) as f64);
        let zero = i.c(0.0);
        // Rows that are laid out, rows whose gradient is there, and those up to the last with values that are not clear.
        let (mut laid, mut done, mut unclear) = (0, 0, 0);
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
                    let is_clear = all_above_lowest(std::slice::from_raw_parts(x.at(0, laid, 0), cols.size));
                    laid += 1;
                    unclear = if is_clear { unclear } else { laid };
                }
                let is_clear = unclear <= start;
                for j in (0..cols.out).step_by(I::LANES) {
                    let value = |ky: usize, kx: usize| {
                        i.load(phases.add(place(o * rows.stride + ky - rows.pad) * row + j + lines.at(kx)))
                    };
                    let g = i.load_or(dy.at(0, o, j), (cols.out - j).min(I::LANES), zero);
                    let give = |ky: usize, kx: usize, has: I::M| {
                        let y = o * rows.stride + ky - rows.pad;
                        let to = grad.add(place(y) * grad_row + kx * back_len + before_back + j);
                        let mine = i.select(has, g, zero);
                        // No earlier window has a row that was laid out for this one.
                        i.store(to, if y >= old { mine } else { i.add(i.load(to), mine) });
                    };
                    let mut best = i.c(f64::NEG_INFINITY);
                    if is_clear {
                        // The largest value, and then the first tap that has it.
                        for ky in taps.clone() {
                            for kx in 0..cols.kernel {
                                let v = value(ky, kx);
                                best = i.select(i.lt(best, v), v, best);
                            }
                        }
                        let mut found = i.lt(zero, zero);
                        for ky in taps.clone() {
                            for kx in 0..cols.kernel {
                                let has = i.and(i.eq(value(ky, kx), best), i.not(found));
                                found = i.or(found, has);
                                give(ky, kx, has);
                            }
                        }
                    } else {
                        let mut at = i.add(i.load(firsts.add(j)), number(taps.start, 0));
                        for ky in taps.clone() {
                            for kx in 0..cols.kernel {
                                let v = value(ky, kx);
                                // NaN is larger than any number, and the first one stays.
                                let better = i.and(i.not(i.le(v, best)), i.eq(best, best));
                                best = i.select(better, v, best);
                                at = i.select(better, number(ky, kx), at);
                            }
                        }
                        for ky in taps.clone() {
                            (0..cols.kernel).for_each(|kx| give(ky, kx, i.eq(at, number(ky, kx))));
                        }
                    }
                }
                let next = if o + 1 < rows.out { ((o + 1) * rows.stride).saturating_sub(rows.pad) } else { laid };
                while done < next.min(laid) {
                    let g = grad.add(place(done) * grad_row).cast_const();
                    gather(i, &lines, dx.at(0, done, 0), Given { lines: &lines, g, apart: back_len });
                    done += 1;
                }
            }
            for y in laid..rows.size {
                std::slice::from_raw_parts_mut(dx.at(0, y, 0), cols.size).fill(T::default());
            }
        }
    }
}
