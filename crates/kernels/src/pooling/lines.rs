//! Pooling of images whose rows lie in one piece, many windows of a row at once.
//!
//! The rows of a plane are laid out by phases: with a stride of `s`, value `j` of phase `p` is value `j * s + p` of the
//! padded row. What tap `k` of all windows of a row reads then stands in one piece: phase `k % s`, from `k / s` on.
use super::{Plane, Value, Windows, share};
use crate::conv::Planes;
use crate::per_isa;
use crate::view::Mode;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Windows of a row from which this pays.
const FEW: usize = 4;
/// Taps that can be numbered; larger windows are rare.
const TAPS: usize = 256;

/// One axis: sizes before and after, and where windows lie.
#[derive(Clone, Copy)]
struct Axis {
    size: usize,
    out: usize,
    kernel: usize,
    stride: usize,
    pad: usize,
}

impl Axis {
    /// The taps of window `o` that lie in the image.
    #[inline(always)]
    fn taps(&self, o: usize) -> std::ops::Range<usize> {
        let start = o * self.stride;
        self.pad.saturating_sub(start).min(self.kernel)..(self.size + self.pad).saturating_sub(start).min(self.kernel)
    }
}

/// A plane that can be worked on in this way.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    how: &'a Windows,
    rows: Axis,
    cols: Axis,
    /// Values of a phase of a row.
    len: usize,
}

impl<'a> Lines<'a> {
    /// `image` and `folded` are what windows lie on, and what they become. None where plain loops are as good.
    pub(super) fn of<T>(how: &'a Windows, image: &Planes<T>, folded: &Planes<T>, mode: Mode) -> Option<Lines<'a>> {
        let axis = |i: usize| Axis {
            size: image.size[i],
            out: folded.size[i],
            kernel: how.kernel[i],
            stride: how.stride[i],
            pad: how.pad[i],
        };
        let flat = how.kernel[0] == 1 && how.stride[0] == 1 && how.pad[0] == 0 && image.size[0] == 1;
        let lined = image.by[2] == 1 && folded.by[2] == 1 && mode == Mode::Write;
        let (rows, cols) = (axis(1), axis(2));
        let fits = flat && lined && cols.out >= FEW && cols.stride <= 8 && rows.kernel * cols.kernel < TAPS;
        let len = cols.out + (cols.kernel - 1) / cols.stride;
        fits.then_some(Lines { how, rows, cols, len })
    }

    fn room(&self) -> usize {
        self.rows.size * self.cols.stride * self.len
    }

    /// Where what tap `(_, k)` reads of image row `y` begins.
    #[inline(always)]
    fn at(&self, y: usize, k: usize) -> usize {
        (y * self.cols.stride + k % self.cols.stride) * self.len + k / self.cols.stride
    }

    /// The places of a phase that hold values of the image, and the first of these values.
    #[inline(always)]
    fn phase(&self, p: usize) -> (std::ops::Range<usize>, usize) {
        let (s, pad) = (self.cols.stride, self.cols.pad);
        let from = pad.saturating_sub(p).div_ceil(s);
        let to = (self.cols.size + pad).saturating_sub(p).div_ceil(s).min(self.len);
        (from..to.max(from), from * s + p - pad.min(from * s + p))
    }
}

/// Every `s`-th value of a line.
#[inline(always)]
fn pick_up<T: Value>(from: &[T], s: usize, to: &mut [T]) {
    match s {
        1 => to.copy_from_slice(&from[..to.len()]),
        2 => every::<T, 2>(from, to),
        3 => every::<T, 3>(from, to),
        _ => to.iter_mut().zip(from.iter().step_by(s)).for_each(|(t, f)| *t = *f),
    }
}

#[inline(always)]
fn every<T: Value, const S: usize>(from: &[T], to: &mut [T]) {
    let (whole, rest) = from.as_chunks::<S>();
    let n = whole.len().min(to.len());
    for (t, f) in to[..n].iter_mut().zip(whole) {
        *t = f[0];
    }
    if let (Some(t), Some(f)) = (to.get_mut(n), rest.first()) {
        *t = *f;
    }
}

#[inline(always)]
fn lay_down<T: Value>(from: &[T], s: usize, to: &mut [T]) {
    match s {
        1 => to[..from.len()].copy_from_slice(from),
        2 => put_every::<T, 2>(from, to),
        _ => to.iter_mut().step_by(s).zip(from).for_each(|(t, f)| *t = *f),
    }
}

#[inline(always)]
fn put_every<T: Value, const S: usize>(from: &[T], to: &mut [T]) {
    let (whole, rest) = to.as_chunks_mut::<S>();
    let n = whole.len().min(from.len());
    for (t, f) in whole.iter_mut().zip(&from[..n]) {
        t[0] = *f;
    }
    if let (Some(f), Some(t)) = (from.get(n), rest.first_mut()) {
        *t = *f;
    }
}

/// The rows of a plane by phases, what is added holding `blank`.
#[inline(always)]
fn spread<T: Value>(lines: &Lines<'_>, x: &Plane<T>, blank: T, to: &mut [T]) {
    for y in 0..lines.rows.size {
        // SAFETY: the values of a row lie in one piece.
        let row = unsafe { from_raw_parts(x.at(0, y, 0), lines.cols.size) };
        for p in 0..lines.cols.stride {
            let (places, first) = lines.phase(p);
            let to = &mut to[(y * lines.cols.stride + p) * lines.len..][..lines.len];
            to[..places.start.min(lines.len)].fill(blank);
            to[places.end.min(lines.len)..].fill(blank);
            if !places.is_empty() {
                pick_up(&row[first..], lines.cols.stride, &mut to[places]);
            }
        }
    }
}

per_isa! {
    /// The largest value of each window.
    fn max_lines[T: Value](lines: &Lines<'_>, x: Plane<T>, y: Plane<T>, space: &mut [T]) {
        let lowest = T::from_f64(f64::NEG_INFINITY);
        spread(lines, &x, lowest, space);
        for o in 0..lines.rows.out {
            // SAFETY: the values of a row lie in one piece, which this task owns.
            let to = unsafe { from_raw_parts_mut(y.at(0, o, 0), lines.cols.out) };
            to.fill(lowest);
            for ky in lines.rows.taps(o) {
                let row = o * lines.rows.stride + ky - lines.rows.pad;
                for kx in 0..lines.cols.kernel {
                    let from = &space[lines.at(row, kx)..][..to.len()];
                    for (t, v) in to.iter_mut().zip(from) {
                        *t = if is_better(*v, *t) { *v } else { *t };
                    }
                }
            }
        }
    }
}

/// Whether `v` takes the place of `best`: NaN is larger than any number.
#[inline(always)]
#[expect(clippy::eq_op, reason = "only NaN differs from itself")]
fn is_better<T: Value>(v: T, best: T) -> bool {
    v > best || v != v && best == best
}

per_isa! {
    /// Values of `dy` go where the largest value of their window stands.
    fn max_back[T: Value](lines: &Lines<'_>, dy: Plane<T>, x: Plane<T>, dx: Plane<T>, space: &mut [T]) {
        let Lines { rows, cols, .. } = *lines;
        let lowest = T::from_f64(f64::NEG_INFINITY);
        spread(lines, &x, lowest, space);
        for y in 0..rows.size {
            // SAFETY: the values of a row lie in one piece, which this task owns.
            unsafe { from_raw_parts_mut(dx.at(0, y, 0), cols.size) }.fill(T::default());
        }
        let none = T::from_f64(-1.0);
        let (mut best, mut which) = (vec![lowest; cols.out], vec![none; cols.out]);
        let places: Vec<isize> = (0..rows.kernel * cols.kernel)
            .map(|tap| (tap / cols.kernel) as isize * dx.by[1] + (tap % cols.kernel) as isize)
            .collect();
        for o in 0..rows.out {
            best.fill(lowest);
            which.fill(none);
            for ky in rows.taps(o) {
                for kx in 0..cols.kernel {
                    let from = &space[lines.at(o * rows.stride + ky - rows.pad, kx)..][..cols.out];
                    let tap = T::from_f64((ky * cols.kernel + kx) as f64);
                    for ((best, which), v) in best.iter_mut().zip(which.iter_mut()).zip(from) {
                        let better = is_better(*v, *best);
                        *best = if better { *v } else { *best };
                        *which = if better { tap } else { *which };
                    }
                }
            }
            // SAFETY: the values of a row lie in one piece.
            let dy = unsafe { from_raw_parts(dy.at(0, o, 0), cols.out) };
            let corner = (o * rows.stride) as isize - rows.pad as isize;
            for (i, (tap, g)) in which.iter().zip(dy).enumerate() {
                let left = (i * cols.stride) as isize - cols.pad as isize;
                // Nothing is larger than the lowest number: the first place of the window counts.
                let tap = if *tap < T::default() { rows.taps(o).start * cols.kernel + cols.taps(i).start } else { tap.to_f32() as usize };
                let place = dx.p.wrapping_offset(corner * dx.by[1] + left + places[tap]);
                // SAFETY: a tap that is better than the lowest number, or the first one, lies in the image.
                unsafe { *place = *place + *g };
            }
        }
    }
}

/// The part that each value of a window has in its result, for all windows of a row.
#[inline(always)]
fn shares<T: Value>(lines: &Lines<'_>, o: usize, known: &mut Option<usize>, to: &mut [T]) {
    let whole = |axis: &Axis, o: usize| (axis.size + 2 * axis.pad).saturating_sub(o * axis.stride).min(axis.kernel);
    let count = |axis: &Axis, o: usize| if lines.how.count_pad { whole(axis, o) } else { axis.taps(o).len() };
    let rows = count(&lines.rows, o);
    if *known != Some(rows) {
        to.iter_mut().enumerate().for_each(|(i, t)| *t = share(lines.how, rows * count(&lines.cols, i)));
        *known = Some(rows);
    }
}

per_isa! {
    /// The sum or the mean of each window.
    fn sum_lines[T: Value](lines: &Lines<'_>, x: Plane<T>, y: Plane<T>, space: &mut [T]) {
        spread(lines, &x, T::default(), space);
        let (mut known, mut parts) = (None, vec![T::default(); lines.cols.out]);
        for o in 0..lines.rows.out {
            // SAFETY: the values of a row lie in one piece, which this task owns.
            let to = unsafe { from_raw_parts_mut(y.at(0, o, 0), lines.cols.out) };
            to.fill(T::default());
            for ky in lines.rows.taps(o) {
                let row = o * lines.rows.stride + ky - lines.rows.pad;
                for kx in 0..lines.cols.kernel {
                    let from = &space[lines.at(row, kx)..][..to.len()];
                    to.iter_mut().zip(from).for_each(|(t, v)| *t = *t + *v);
                }
            }
            shares(lines, o, &mut known, &mut parts);
            to.iter_mut().zip(&parts).for_each(|(t, s)| *t = *t * *s);
        }
    }
}

per_isa! {
    /// Values of `dy` go to all places of their window.
    fn sum_back[T: Value](lines: &Lines<'_>, dy: Plane<T>, dx: Plane<T>, space: &mut [T]) {
        let Lines { rows, cols, .. } = *lines;
        space.fill(T::default());
        let (mut known, mut parts, mut g) = (None, vec![T::default(); cols.out], vec![T::default(); cols.out]);
        for o in 0..rows.out {
            shares(lines, o, &mut known, &mut parts);
            // SAFETY: the values of a row lie in one piece.
            let dy = unsafe { from_raw_parts(dy.at(0, o, 0), cols.out) };
            g.iter_mut().zip(dy).zip(&parts).for_each(|((g, d), s)| *g = *d * *s);
            for ky in rows.taps(o) {
                // Backwards, so that a place gets its parts in the order of the windows.
                for kx in (0..cols.kernel).rev() {
                    let to = &mut space[lines.at(o * rows.stride + ky - rows.pad, kx)..][..cols.out];
                    to.iter_mut().zip(&g).for_each(|(t, g)| *t = *t + *g);
                }
            }
        }
        for y in 0..rows.size {
            // SAFETY: the values of a row lie in one piece, which this task owns.
            let to = unsafe { from_raw_parts_mut(dx.at(0, y, 0), cols.size) };
            // What no window reaches lies behind the end of its phase.
            to.fill(T::default());
            for p in 0..cols.stride {
                let (places, first) = lines.phase(p);
                if !places.is_empty() {
                    let from = &space[(y * cols.stride + p) * lines.len..][..lines.len];
                    lay_down(&from[places], cols.stride, &mut to[first..]);
                }
            }
        }
    }
}

impl Lines<'_> {
    pub(super) fn max<T: Value>(&self, x: Plane<T>, y: Plane<T>) {
        max_lines(self, x, y, &mut vec![T::default(); self.room()]);
    }
    pub(super) fn max_grad<T: Value>(&self, dy: Plane<T>, x: Plane<T>, dx: Plane<T>) {
        max_back(self, dy, x, dx, &mut vec![T::default(); self.room()]);
    }
    pub(super) fn sum<T: Value>(&self, x: Plane<T>, y: Plane<T>) {
        sum_lines(self, x, y, &mut vec![T::default(); self.room()]);
    }
    pub(super) fn sum_grad<T: Value>(&self, dy: Plane<T>, dx: Plane<T>) {
        sum_back(self, dy, dx, &mut vec![T::default(); self.room()]);
    }
}
