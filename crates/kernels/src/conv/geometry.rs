//! Shapes of a convolution: images and filters of one to three spatial axes, seen as ones of three.
use crate::view::View;
use gluonish_base::{Cause, Dims, Result};

/// Depth, height and width; leading ones are 1 where there are fewer.
pub type Extent = [usize; 3];

/// What a convolution does beside multiplying.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct How {
    pub stride: Extent,
    pub dilate: Extent,
    pub pad: Extent,
    pub groups: usize,
    /// The channels are the last axis of images (and the inputs the last of filters), not the second.
    pub channels_last: bool,
}

impl How {
    /// From lists as long as there are spatial axes, or empty ones for the defaults.
    pub fn new(spatial: usize, stride: &Dims, dilate: &Dims, pad: &Dims, groups: usize, channels_last: bool) -> How {
        let fill = |list: &Dims, neutral: usize, otherwise: usize| {
            let mut all = [neutral; 3];
            for (i, to) in all[3 - spatial..].iter_mut().enumerate() {
                *to = list.get(i).map_or(otherwise, |v| *v as usize);
            }
            all
        };
        How { stride: fill(stride, 1, 1), dilate: fill(dilate, 1, 1), pad: fill(pad, 0, 0), groups, channels_last }
    }

    /// Size of an axis after the convolution, where the filter fits.
    pub fn out(&self, axis: usize, size: usize, kernel: usize) -> Option<usize> {
        let reach = self.dilate[axis].checked_mul(kernel.checked_sub(1)?)?.checked_add(1)?;
        let room = self.pad[axis].checked_mul(2)?.checked_add(size)?.checked_sub(reach)?;
        Some(room / self.stride[axis] + 1)
    }
}

/// A batch of images, or filters: five axes in a fixed order over any memory.
#[derive(Clone, Copy)]
pub(crate) struct Planes<T> {
    pub ptr: *mut T,
    /// Images, or filters.
    pub count: usize,
    /// Channels, or the inputs of a filter.
    pub channels: usize,
    pub size: Extent,
    pub by_count: isize,
    pub by_channel: isize,
    pub by: [isize; 3],
}

// SAFETY: a kernel's operands may be used from any thread while it runs; outputs are written in disjoint parts.
unsafe impl<T: Sync> Sync for Planes<T> {}

impl<T> Planes<T> {
    /// A view of three to five axes.
    pub(crate) fn new(v: &View<'_>, channels_last: bool) -> Result<Planes<T>> {
        let n = v.ndim();
        if !(3..=5).contains(&n) {
            return Err(Cause::Shape(format!("1 to 3 spatial axes are needed, got shape {}", v.shape)).into());
        }
        let (channel, first) = if channels_last { (n - 1, 1) } else { (1, 2) };
        let (mut size, mut by) = ([1; 3], [0; 3]);
        for i in 0..n - 2 {
            let to = 3 - (n - 2) + i;
            size[to] = v.shape[first + i] as usize;
            by[to] = v.strides[first + i];
        }
        Ok(Planes {
            ptr: v.as_ptr(),
            count: v.shape[0] as usize,
            channels: v.shape[channel] as usize,
            size,
            by_count: v.strides[0],
            by_channel: v.strides[channel],
            by,
        })
    }

    pub(super) fn area(&self) -> usize {
        self.size.iter().product()
    }

    /// The distance between neighbours in row-major order of the spatial axes, where it is always the same.
    pub(super) fn even(&self) -> Option<isize> {
        even(self.size, self.by)
    }

    /// Where image `n` and channel `c` begin.
    pub(crate) fn plane(&self, n: usize, c: usize) -> *mut T {
        self.ptr.wrapping_offset(n as isize * self.by_count + c as isize * self.by_channel)
    }
}

/// The one distance between neighbours of a lattice in row-major order, if there is one.
pub(super) fn even(size: Extent, by: [isize; 3]) -> Option<isize> {
    let mut axes = (0..3).rev().filter(|&i| size[i] != 1);
    let Some(inner) = axes.next() else { return Some(1) };
    let mut next = by[inner] * size[inner] as isize;
    for i in axes {
        if by[i] != next {
            return None;
        }
        next *= size[i] as isize;
    }
    Some(by[inner])
}

/// The taps of a filter in row-major order.
pub(super) fn taps(kernel: Extent) -> impl Iterator<Item = Extent> {
    let [d, h, w] = kernel;
    (0..d * h * w).map(move |i| [i / (h * w), i / w % h, i % w])
}

/// Where a tap looks, from the place that a result stands for.
pub(super) fn looks_at(tap: Extent, how: &How) -> [isize; 3] {
    std::array::from_fn(|i| (tap[i] * how.dilate[i]) as isize - how.pad[i] as isize)
}

/// How far a tap is from the first.
pub(super) fn offset(tap: Extent, by: [isize; 3]) -> isize {
    (0..3).map(|i| tap[i] as isize * by[i]).sum()
}

/// The first place of each phase of an image: places a stride apart are looked at by the same taps. Strides may be longer
/// than the image; phases that have no place are not even counted.
pub(super) fn phases(size: Extent, how: &How) -> impl Iterator<Item = Extent> {
    taps(std::array::from_fn(|i| how.stride[i].min(size[i])))
}

/// The result that looks with `tap` at the first place of a phase, if there is one.
pub(super) fn met_by(tap: Extent, phase: Extent, how: &How) -> Option<[isize; 3]> {
    let mut at = [0; 3];
    for i in 0..3 {
        let from = phase[i] as isize - looks_at(tap, how)[i];
        let stride = how.stride[i] as isize;
        if from.rem_euclid(stride) != 0 {
            return None;
        }
        at[i] = from.div_euclid(stride);
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_after() {
        let how = |s, d, p| How { stride: [s; 3], dilate: [d; 3], pad: [p; 3], groups: 1, channels_last: false };
        for (size, kernel, s, d, p, out) in [
            (5, 3, 1, 1, 0, Some(3)),
            (5, 3, 2, 1, 1, Some(3)),
            (7, 3, 1, 3, 0, Some(1)),
            (2, 3, 1, 1, 0, None),
            (0, 1, 1, 1, 0, None),
            (0, 1, 1, 1, 1, Some(2)),
            (usize::MAX, 3, 1, 1, 1, None),
        ] {
            assert_eq!(how(s, d, p).out(2, size, kernel), out);
        }
    }

    #[test]
    fn phases_have_places() {
        let how = How { stride: [1, 2, usize::MAX], dilate: [1; 3], pad: [0; 3], groups: 1, channels_last: false };
        let all: Vec<Extent> = phases([1, 5, 3], &how).collect();
        assert_eq!(all, [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 1, 0], [0, 1, 1], [0, 1, 2]]);
        assert_eq!(phases([1, 1, 3], &how).count(), 3);
        assert_eq!(phases([1, 0, 3], &how).count(), 0);
    }

    #[test]
    fn lattices() {
        assert_eq!(even([1, 4, 5], [20, 5, 1]), Some(1));
        assert_eq!(even([1, 4, 5], [0, 15, 3]), Some(3));
        assert_eq!(even([2, 4, 5], [40, 5, 1]), None);
        assert_eq!(even([1, 1, 1], [7, 7, 7]), Some(1));
    }
}
