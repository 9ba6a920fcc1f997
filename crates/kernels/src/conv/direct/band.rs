//! What a band of places looks at: images as they lie, or rows of them copied with zeros around.
use std::ops::Range;

/// Images as planes of rows: blocks of channels with `unit` values to a place, or single channels of plain images.
#[derive(Clone, Copy)]
pub(super) struct Source<T> {
    pub ptr: *const T,
    /// Planes of a group.
    pub planes: usize,
    pub size: [usize; 2],
    pub unit: usize,
    pub by_image: isize,
    pub by_plane: isize,
    pub by: [isize; 2],
}

/// Rows that a band of places looks at.
#[derive(Clone, Copy)]
pub(super) struct Band<T> {
    /// What row 0, column 0 of the places looks at: perhaps before the memory that there is.
    ptr: *const T,
    pub by_plane: isize,
    pub by_row: isize,
}

impl<T> Band<T> {
    /// What the first place of a row looks at.
    pub(super) fn row(&self, row: usize, step: usize) -> *const T {
        self.ptr.wrapping_offset((row * step) as isize * self.by_row)
    }
}

/// Places, and what of the images their taps take.
pub(super) struct Look<'a> {
    pub rows: Range<usize>,
    pub cols: usize,
    pub step: [usize; 2],
    pub taps: &'a [[isize; 2]],
    /// Neighbouring values that a tap takes.
    pub run: usize,
    /// Rows beside the images are taken too, as zeros; else whoever looks leaves out the taps that would take them.
    pub beside: bool,
}

/// The rows or columns that taps reach from places `from..to`: how far before the first place, and how many.
fn reach(places: &Range<usize>, step: usize, taps: impl Iterator<Item = isize> + Clone, more: usize) -> (isize, usize) {
    let (lo, hi) = (taps.clone().min().unwrap_or(0), taps.max().unwrap_or(0));
    let first = (places.start * step) as isize + lo;
    let end = ((places.end - 1) * step) as isize + hi + more as isize;
    (first, (end - first).max(0) as usize)
}

impl<T: Copy + Default> Source<T> {
    /// One group of one image.
    pub(super) fn at(&self, image: usize, group: usize) -> Source<T> {
        let offset = image as isize * self.by_image + (group * self.planes) as isize * self.by_plane;
        Source { ptr: self.ptr.wrapping_offset(offset), ..*self }
    }

    /// Some planes.
    pub(super) fn part(&self, planes: Range<usize>) -> Source<T> {
        let ptr = self.ptr.wrapping_offset(planes.start as isize * self.by_plane);
        Source { ptr, planes: planes.len(), ..*self }
    }

    /// Whether a tap of a place that looks at row (or column) `from` looks at one that exists.
    pub(super) fn has(&self, axis: usize, from: usize, tap: &[isize; 2]) -> bool {
        ((from as isize + tap[axis]) as usize) < self.size[axis]
    }

    /// Rows follow each other without gaps.
    pub(super) fn is_flat(&self) -> bool {
        self.by[1] == self.unit as isize && self.by[0] == self.by[1] * self.size[1] as isize
    }

    /// Rows and columns under places: (first, count) each, and whether all of them exist side by side.
    fn under(&self, look: &Look<'_>) -> ([(isize, usize); 2], bool) {
        let wide = if self.unit == 1 { look.run } else { 1 };
        let mut y = reach(&look.rows, look.step[0], look.taps.iter().map(|t| t[0]), 1);
        let x = reach(&(0..look.cols), look.step[1], look.taps.iter().map(|t| t[1]), wide);
        if !look.beside {
            let within = |row: isize| row.clamp(0, self.size[0] as isize);
            let (first, end) = (within(y.0), within(y.0 + y.1 as isize));
            y = (first, (end - first) as usize);
        }
        let inside = |(first, n): (isize, usize), size: usize| first >= 0 && first as usize + n <= size;
        let exist = inside(y, self.size[0]) && inside(x, self.size[1]) && self.by[1] == self.unit as isize;
        ([y, x], exist || look.taps.is_empty())
    }

    /// Elements of scratch memory for `band`.
    pub(super) fn needs(&self, look: &Look<'_>) -> usize {
        match self.under(look) {
            (_, true) => 0,
            ([y, x], false) => self.planes * y.1 * x.1 * self.unit,
        }
    }

    /// What places look at, in `room` if it cannot stay where it is.
    ///
    /// # Safety
    /// The image is valid, and `room` has as many elements as `needs` says.
    pub(super) unsafe fn band(&self, look: &Look<'_>, room: *mut T) -> Band<T> {
        let ([(top, high), (left, wide)], exist) = self.under(look);
        if exist {
            return Band { ptr: self.ptr, by_plane: self.by_plane, by_row: self.by[0] };
        }
        let (unit, zero) = (self.unit, T::default());
        let line = wide * unit;
        // Columns `lo..hi` of the band exist in the image.
        let lo = (-left).clamp(0, wide as isize) as usize;
        let hi = (self.size[1] as isize - left).clamp(lo as isize, wide as isize) as usize;
        for plane in 0..self.planes {
            for row in 0..high {
                let y = top + row as isize;
                // SAFETY: the band has a line for each plane and row; only rows and columns of the image are read.
                unsafe {
                    let to = room.add((plane * high + row) * line);
                    let fill = |from: usize, to_: usize| (from * unit..to_ * unit).for_each(|i| *to.add(i) = zero);
                    if (y as usize) >= self.size[0] {
                        fill(0, wide);
                        continue;
                    }
                    let from = self.ptr.wrapping_offset(
                        plane as isize * self.by_plane + y * self.by[0] + (left + lo as isize) * self.by[1],
                    );
                    fill(0, lo);
                    fill(hi, wide);
                    if self.by[1] == unit as isize {
                        std::ptr::copy_nonoverlapping(from, to.add(lo * unit), (hi - lo) * unit);
                    } else {
                        let place = |i: usize| from.wrapping_offset(i as isize * self.by[1]);
                        let places = (0..hi - lo).map(|i| (place(i), to.add((lo + i) * unit)));
                        // Lengths that the compiler knows are copied without a call.
                        match unit {
                            16 => places.for_each(|(from, to)| std::ptr::copy_nonoverlapping(from, to, 16)),
                            8 => places.for_each(|(from, to)| std::ptr::copy_nonoverlapping(from, to, 8)),
                            4 => places.for_each(|(from, to)| std::ptr::copy_nonoverlapping(from, to, 4)),
                            _ => places.for_each(|(from, to)| std::ptr::copy_nonoverlapping(from, to, unit)),
                        }
                    }
                }
            }
        }
        let by_row = line as isize;
        let ptr = room.wrapping_offset(-top * by_row - left * unit as isize);
        Band { ptr, by_plane: by_row * high as isize, by_row }
    }
}
