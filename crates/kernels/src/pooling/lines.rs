//! Pooling of images whose rows lie in one piece, a register of windows at a time.
//!
//! Rows are laid out by phases: with a stride of `s`, place `j` of phase `p` is value `j * s + p` of the row, with blanks
//! before the first place and behind the last. What one tap of all windows of a row reads then stands in one piece.
use super::largest::Back;
use super::{Plane, Value, Windows, share};
use crate::conv::Planes;
use crate::formula::Float;
use crate::map::sweep::Vector;
use crate::registers::{Body, WIDEST};
use crate::view::Mode;

/// Windows of a row from which this pays.
const FEW: usize = 4;
/// Taps that can be numbered; larger windows are rare.
const TAPS: usize = 256;

/// One axis: sizes before and after, and where windows lie.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub(super) size: usize,
    pub(super) out: usize,
    pub(super) kernel: usize,
    pub(super) stride: usize,
    pub(super) pad: usize,
}

impl Axis {
    /// The taps of window `o` that lie in the image.
    #[inline(always)]
    pub(super) fn taps(&self, o: usize) -> std::ops::Range<usize> {
        let start = o * self.stride;
        self.pad.saturating_sub(start).min(self.kernel)..(self.size + self.pad).saturating_sub(start).min(self.kernel)
    }

    /// The first tap that reads a phase; every `stride`-th from there on does.
    #[inline(always)]
    pub(super) fn first_tap(&self, phase: usize) -> usize {
        (phase + self.pad) % self.stride
    }

    /// How far behind its window's number the place is that a tap reads.
    #[inline(always)]
    pub(super) fn shift(&self, tap: usize) -> isize {
        (tap as isize - self.pad as isize).div_euclid(self.stride as isize)
    }

    /// The phase that a tap reads.
    #[inline(always)]
    pub(super) fn phase(&self, tap: usize) -> usize {
        (tap as isize - self.pad as isize).rem_euclid(self.stride as isize) as usize
    }
}

/// A plane that can be worked on in this way.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    pub(super) how: &'a Windows,
    pub(super) rows: Axis,
    pub(super) cols: Axis,
    /// Places of a phase that hold values.
    pub(super) places: usize,
    /// Blanks before them, and the whole length of a phase.
    pub(super) before: usize,
    pub(super) len: usize,
    /// Zeros before what windows give back, and the whole length of such a line.
    pub(super) before_back: usize,
    pub(super) back_len: usize,
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
        let places = cols.size.div_ceil(cols.stride);
        let (before, after) = (cols.pad.div_ceil(cols.stride), cols.shift(cols.kernel - 1).max(0) as usize);
        // Registers may begin at any place and reach behind the last one.
        let (len, back_len) = (places.max(cols.out + after) + WIDEST, cols.out.max(places + before) + WIDEST);
        let (len, back_len) = (before + len, after + back_len);
        fits.then_some(Lines { how, rows, cols, places, before, len, before_back: after, back_len })
    }

    /// Values of a row of all phases.
    pub(super) fn row(&self) -> usize {
        self.cols.stride * self.len
    }

    /// Where what a tap reads for the first window stands in a row of phases.
    #[inline(always)]
    pub(super) fn at(&self, tap: usize) -> usize {
        let place = self.before as isize + self.cols.shift(tap);
        self.cols.phase(tap) * self.len + place as usize
    }
}

/// Memory that planes of one shape share, one after the other.
#[derive(Default)]
pub(super) struct Space<T> {
    /// Phases, whose blanks stay.
    pub(super) phases: Vec<T>,
    /// Lines that windows give back, whose zeros stay.
    pub(super) back: Vec<T>,
    /// Anything else.
    pub(super) plain: Vec<T>,
    /// The parts of each value in the result of its window, for rows of so many values.
    pub(super) parts: Vec<T>,
    pub(super) known: Option<usize>,
}

/// Memory of this length that held `blank` everywhere at first.
pub(super) fn room<T: Value>(v: &mut Vec<T>, len: usize, blank: T) -> *mut T {
    if v.len() != len {
        v.clear();
        v.resize(len, blank);
    }
    v.as_mut_ptr()
}

/// What becomes of two values.
pub(super) trait Join {
    const BLANK: f64;
    fn join<I: Float>(i: I, acc: I::V, v: I::V) -> I::V;
}
pub(super) struct Max;
impl Join for Max {
    const BLANK: f64 = f64::NEG_INFINITY;
    #[inline(always)]
    fn join<I: Float>(i: I, acc: I::V, v: I::V) -> I::V {
        i.max(v, acc)
    }
}
struct Sum;
impl Join for Sum {
    const BLANK: f64 = 0.0;
    #[inline(always)]
    fn join<I: Float>(i: I, acc: I::V, v: I::V) -> I::V {
        i.add(acc, v)
    }
}

/// `n` rows of an image, `step` values apart, folded to one: `LANES` values from `x` on. What lies beyond `size` is blank.
///
/// # Safety
/// The rows have `size` values each.
#[inline(always)]
unsafe fn fold_rows<I: Float + Vector, J: Join>(
    i: I,
    row: *const I::T,
    step: isize,
    n: usize,
    x: usize,
    size: usize,
) -> I::V {
    let blank = i.c(J::BLANK);
    let left = size.saturating_sub(x).min(I::LANES);
    let mut acc = blank;
    for k in 0..n {
        let from = row.wrapping_offset(k as isize * step).wrapping_add(x);
        // SAFETY: the caller's; only values before `size` are read.
        let v = unsafe { if left == I::LANES { i.load(from) } else { i.load_or(from, left, blank) } };
        acc = if k == 0 { v } else { J::join(i, acc, v) };
    }
    acc
}

/// `n` rows of an image folded to one, by phases.
///
/// # Safety
/// The rows have as many values as the image is wide; `to` has room for a row of phases.
#[inline(always)]
pub(super) unsafe fn spread<I: Float + Vector, J: Join>(
    i: I,
    lines: &Lines<'_>,
    row: *const I::T,
    step: isize,
    n: usize,
    to: *mut I::T,
) {
    let (size, to) = (lines.cols.size, to.wrapping_add(lines.before));
    // SAFETY: registers begin at places, and a phase has room for a register behind the last one.
    unsafe {
        match lines.cols.stride {
            1 => {
                for x in (0..size).step_by(I::LANES) {
                    i.store(to.add(x), fold_rows::<I, J>(i, row, step, n, x, size));
                }
            }
            2 => {
                for j in (0..lines.places).step_by(I::LANES) {
                    let a = fold_rows::<I, J>(i, row, step, n, 2 * j, size);
                    let b = fold_rows::<I, J>(i, row, step, n, 2 * j + I::LANES, size);
                    let (even, odd) = i.unzip(a, b);
                    i.store(to.add(j), even);
                    i.store(to.add(lines.len + j), odd);
                }
            }
            s => {
                let mut x = 0;
                for from in (0..size).step_by(I::LANES) {
                    let mut some = [std::mem::MaybeUninit::<I::T>::uninit(); WIDEST];
                    i.store(some.as_mut_ptr().cast(), fold_rows::<I, J>(i, row, step, n, from, size));
                    for v in &some[..I::LANES.min(size - from)] {
                        *to.add(x % s * lines.len + x / s) = v.assume_init();
                        x += 1;
                    }
                }
            }
        }
    }
}

/// Stores a row of the image whose places in each phase `of` makes.
///
/// # Safety
/// `to` is a row of the image.
#[inline(always)]
pub(super) unsafe fn gather<I: Float + Vector>(i: I, lines: &Lines<'_>, to: *mut I::T, of: impl Places<I>) {
    let size = lines.cols.size;
    // SAFETY: places are those of the row; what lies behind it is not stored.
    unsafe {
        for j in (0..lines.places).step_by(I::LANES) {
            match lines.cols.stride {
                1 => i.store_up_to(to.add(j), of.at(i, 0, j), size - j),
                2 => {
                    let (a, b) = i.zip(of.at(i, 0, j), of.at(i, 1, j));
                    i.store_up_to(to.add(2 * j), a, size - 2 * j);
                    if size > 2 * j + I::LANES {
                        i.store_up_to(to.add(2 * j + I::LANES), b, size - 2 * j - I::LANES);
                    }
                }
                s => {
                    for p in 0..s {
                        let mut some = [std::mem::MaybeUninit::<I::T>::uninit(); WIDEST];
                        i.store(some.as_mut_ptr().cast(), of.at(i, p, j));
                        for (k, v) in some[..I::LANES].iter().enumerate() {
                            let x = (j + k) * s + p;
                            if x < size {
                                *to.add(x) = v.assume_init();
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What makes a register of places of a phase.
pub(super) trait Places<I: Vector>: Copy {
    fn at(self, i: I, phase: usize, place: usize) -> I::V;
}

/// The largest value or the sum of each window.
struct Forward<'a, T, J> {
    lines: &'a Lines<'a>,
    x: Plane<T>,
    y: Plane<T>,
    space: &'a mut Space<T>,
    join: std::marker::PhantomData<J>,
}

impl<T: Value, J: Join> Body<T> for Forward<'_, T, J> {
    type Out = ();
    #[inline(always)]
    fn run<I: Float + Vector<T = T>>(self, i: I) {
        // The windows of most networks, with numbers that the compiler knows.
        match (self.lines.cols.kernel, self.lines.cols.stride) {
            (2, 2) => self.with::<I, 2, 2>(i),
            (3, 2) => self.with::<I, 3, 2>(i),
            (3, 1) => self.with::<I, 3, 1>(i),
            _ => self.with::<I, 0, 0>(i),
        }
    }
}

impl<T: Value, J: Join> Forward<'_, T, J> {
    /// `KERNEL` and `STRIDE` are those of columns, or 0.
    #[inline(always)]
    fn with<I: Float + Vector<T = T>, const KERNEL: usize, const STRIDE: usize>(self, i: I) {
        let (mut lines, x, y) = (*self.lines, self.x, self.y);
        if KERNEL > 0 {
            (lines.cols.kernel, lines.cols.stride) = (KERNEL, STRIDE);
        }
        let both = room(&mut self.space.phases, 2 * lines.row(), T::from_f64(J::BLANK));
        let phases = |o: usize| both.wrapping_add(o % 2 * lines.row());
        // Rows are folded one ahead: registers that begin elsewhere than those that were just stored would wait for the stores.
        for ahead in 0..=lines.rows.out {
            if ahead < lines.rows.out {
                let taps = lines.rows.taps(ahead);
                let first = (ahead * lines.rows.stride + taps.start).saturating_sub(lines.rows.pad);
                // SAFETY: the taps lie in the image, whose rows lie in one piece; there is room for a row of phases.
                unsafe { spread::<I, J>(i, &lines, x.at(0, first, 0), x.by[1], taps.len(), phases(ahead)) };
            }
            let Some(o) = ahead.checked_sub(1) else { continue };
            let phases = phases(o);
            let parts = shares(&lines, o, self.space);
            let to = y.at(0, o, 0);
            // SAFETY: windows have room for registers behind the last one; the row of the result belongs to this task.
            unsafe {
                for j in (0..lines.cols.out).step_by(I::LANES) {
                    let mut acc = i.load(phases.add(lines.at(0) + j));
                    for tap in 1..lines.cols.kernel {
                        acc = J::join(i, acc, i.load(phases.add(lines.at(tap) + j)));
                    }
                    if let Some(parts) = parts {
                        acc = i.mul(acc, i.load(parts.add(j)));
                    }
                    i.store_up_to(to.add(j), acc, lines.cols.out - j);
                }
            }
        }
    }
}

/// The part that each value of a window has in its result, for all windows of a row; none where it is all.
#[inline(always)]
fn shares<T: Value>(lines: &Lines<'_>, o: usize, space: &mut Space<T>) -> Option<*const T> {
    if !lines.how.mean {
        return None;
    }
    let whole = |axis: &Axis, o: usize| (axis.size + 2 * axis.pad).saturating_sub(o * axis.stride).min(axis.kernel);
    let count = |axis: &Axis, o: usize| if lines.how.count_pad { whole(axis, o) } else { axis.taps(o).len() };
    let rows = count(&lines.rows, o);
    room(&mut space.parts, lines.cols.out + WIDEST, T::default());
    if space.known != Some(rows) {
        let parts = space.parts[..lines.cols.out].iter_mut().enumerate();
        parts.for_each(|(j, t)| *t = share(lines.how, rows * count(&lines.cols, j)));
        space.known = Some(rows);
    }
    Some(space.parts.as_ptr())
}

/// Values of `dy` go to all places of their window.
struct SumBack<'a, T> {
    lines: &'a Lines<'a>,
    dy: Plane<T>,
    dx: Plane<T>,
    space: &'a mut Space<T>,
}

/// Sums of what the windows of a row give back.
#[derive(Clone, Copy)]
struct Given<'a, T> {
    lines: &'a Lines<'a>,
    /// What each window gives, zeros around it.
    g: *const T,
}
impl<I: Float + Vector> Places<I> for Given<'_, I::T> {
    #[inline(always)]
    fn at(self, i: I, phase: usize, place: usize) -> I::V {
        let cols = &self.lines.cols;
        let mut acc = i.c(0.0);
        for tap in (cols.first_tap(phase)..cols.kernel).step_by(cols.stride) {
            let from = (self.lines.before_back + place).wrapping_add_signed(-cols.shift(tap));
            // SAFETY: zeros before and behind cover what taps reach beyond the windows.
            acc = i.add(acc, unsafe { i.load(self.g.add(from)) });
        }
        acc
    }
}

impl<T: Value> Body<T> for SumBack<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Float + Vector<T = T>>(self, i: I) {
        let (lines, dy, dx) = (*self.lines, self.dy, self.dx);
        let rows = lines.rows;
        let g = room(&mut self.space.back, lines.back_len, T::default());
        for y in 0..rows.size {
            // The windows that reach this row, and so their taps that do.
            let last = ((y + rows.pad) / rows.stride + 1).min(rows.out);
            let first = (y + rows.pad + 1).saturating_sub(rows.kernel).div_ceil(rows.stride);
            // SAFETY: rows lie in one piece; registers begin at windows, with room behind the last one.
            unsafe {
                let to = g.add(lines.before_back);
                if first >= last {
                    std::slice::from_raw_parts_mut(to, lines.cols.out).fill(T::default());
                }
                for o in first..last {
                    let parts = shares(&lines, o, self.space);
                    for j in (0..lines.cols.out).step_by(I::LANES) {
                        let left = (lines.cols.out - j).min(I::LANES);
                        let mut v = i.load_or(dy.at(0, o, j), left, i.c(0.0));
                        if let Some(parts) = parts {
                            v = i.mul(v, i.load(parts.add(j)));
                        }
                        let v = if o == first { v } else { i.add(i.load(to.add(j)), v) };
                        i.store(to.add(j), v);
                    }
                }
                gather(i, &lines, dx.at(0, y, 0), Given { lines: &lines, g: g.cast_const() });
            }
        }
    }
}

impl Lines<'_> {
    pub(super) fn max<T: Value>(&self, x: Plane<T>, y: Plane<T>, space: &mut Space<T>) {
        T::enter(Forward { lines: self, x, y, space, join: std::marker::PhantomData::<Max> });
    }
    pub(super) fn sum<T: Value>(&self, x: Plane<T>, y: Plane<T>, space: &mut Space<T>) {
        T::enter(Forward { lines: self, x, y, space, join: std::marker::PhantomData::<Sum> });
    }
    pub(super) fn max_grad<T: Value>(&self, dy: Plane<T>, x: Plane<T>, dx: Plane<T>, space: &mut Space<T>) {
        T::enter(Back { lines: self, dy, x, dx, space });
    }
    pub(super) fn sum_grad<T: Value>(&self, dy: Plane<T>, dx: Plane<T>, space: &mut Space<T>) {
        T::enter(SumBack { lines: self, dy, dx, space });
    }
}
