//! The first layer of a network: images with few channels are read as they lie, plainly, and results are blocked. A run of
//! a tile is a row of a filter.
use super::super::blocked::{Blocked, Finish, from_blocked, lanes};
use super::super::geometry::{How, Planes};
use super::band::Source;
use super::outer::Outer;
use super::sweep::Sweep;
use super::target;
use crate::gemm::{Real, Scratch, Slot};
use gluonish_base::pool;

fn source<T: Real>(x: &Planes<T>) -> Source<T> {
    Source {
        ptr: x.ptr.cast_const(),
        planes: x.channels,
        size: [x.size[1], x.size[2]],
        unit: 1,
        by_image: x.by_count,
        by_plane: x.by_channel,
        by: [x.by[1], x.by[2]],
    }
}

/// Where runs begin, from the place of a result, and the values in one: rows of a filter, or its taps where they are not
/// neighbours.
fn runs(kernel: [usize; 3], how: &How) -> (Vec<[isize; 2]>, usize) {
    let [_, h, w] = kernel;
    let run = if how.dilate[2] == 1 { w } else { 1 };
    let at = |t: usize, i: usize| (t * how.dilate[i]) as isize - how.pad[i] as isize;
    let begins = (0..h).flat_map(|y| (0..w).step_by(run.max(1)).map(move |x| (y, x)));
    (begins.map(|(y, x)| [at(y, 1), at(x, 2)]).collect(), run)
}

/// Calls `f` for each filter's value and its place among the packed ones: `[block][channel][row][column][lane]`.
fn each<T: Real>(w: &Planes<T>, lanes: usize, mut f: impl FnMut(*mut T, usize)) {
    let [_, high, wide] = w.size;
    for o in 0..w.count {
        for c in 0..w.channels {
            for t in 0..high * wide {
                let p = w.plane(o, c).wrapping_offset((t / wide) as isize * w.by[1] + (t % wide) as isize * w.by[2]);
                f(p, ((o / lanes * w.channels + c) * high * wide + t) * lanes + o % lanes);
            }
        }
    }
}

fn packed_len<T: Real>(w: &Planes<T>, lanes: usize) -> usize {
    w.count.div_ceil(lanes) * w.channels * w.area() * lanes
}

/// Filters, and what a sweep needs to know of them.
struct Packed<T> {
    taps: Vec<[isize; 2]>,
    run: usize,
    room: Scratch<T>,
    blocks: usize,
}

impl<T: Real> Packed<T> {
    /// # Safety
    /// The filters are valid.
    unsafe fn new(w: &Planes<T>, how: &How) -> Packed<T> {
        let lanes = lanes::<T>();
        let (taps, run) = runs(w.size, how);
        let len = packed_len(w, lanes);
        let room = Scratch::<T>::take(Slot::B, len);
        // SAFETY: the caller's; the room is as large as the packed filters.
        unsafe {
            (0..len).for_each(|i| *room.ptr().add(i) = T::default());
            each(w, lanes, |p, i| *room.ptr().add(i) = *p);
        }
        Packed { taps, run, room, blocks: w.count.div_ceil(lanes) }
    }

    fn sweep<'a>(&'a self, x: &Planes<T>, y: &Blocked<T>, how: &How, finish: &'a Finish<T>) -> Sweep<'a, T> {
        Sweep {
            source: source(x),
            grid: [y.height, y.width],
            step: [how.stride[1], how.stride[2]],
            taps: &self.taps,
            run: self.run,
            filters: self.room.ptr(),
            blocks: self.blocks,
            target: target(y, lanes::<T>()),
            finish,
        }
    }
}

/// `y = finish(conv(x, w))`, for one group.
///
/// # Safety
/// As the blocked `forward`.
pub(crate) unsafe fn forward<T: Real>(
    threads: usize,
    x: &Planes<T>,
    w: &Planes<T>,
    y: &Blocked<T>,
    how: &How,
    finish: &Finish<T>,
) {
    // SAFETY: the caller's.
    unsafe { Packed::new(w, how).sweep(x, y, how, finish).run(threads, x.count, 1) };
}

/// Bytes of results that are laid out at a time: they stay in the second-level cache.
const BAND: usize = 192 << 10;
/// Bytes of results that are worth a band.
const LEAST: usize = 16 << 10;
/// Bands for each thread from which on one more or less is no matter.
const BANDS: usize = 8;

/// The same with plain results, or added to what is there.
///
/// # Safety
/// As for `forward`.
pub(crate) unsafe fn forward_plain<T: Real>(
    threads: usize,
    [x, w, y]: [&Planes<T>; 3],
    how: &How,
    finish: &Finish<T>,
    add: bool,
) {
    let [_, height, width] = y.size;
    let blocked = |ptr: *mut T, height: usize| Blocked { ptr, count: 1, channels: y.channels, height, width };
    let row = w.count.next_multiple_of(lanes::<T>()) * width;
    // SAFETY: the caller's.
    let packed = unsafe { Packed::new(w, how) };
    let all = packed.sweep(x, &blocked(std::ptr::null_mut(), height), how, finish);
    let bytes = row * height * size_of::<T>();
    let shared = (BANDS * threads).div_ceil(x.count.max(1)).min(bytes / LEAST);
    let bands = bytes.div_ceil(BAND).max(shared).clamp(1, height.max(1));
    pool::run(x.count * bands, threads, |i| {
        let (image, band) = (i / bands, i % bands);
        let (top, bottom) = (height * band / bands, height * (band + 1) / bands);
        let room = Scratch::<T>::take(Slot::Results, row * (bottom - top));
        let part = blocked(room.ptr(), bottom - top);
        let ptr = y.plane(image, 0).wrapping_offset(top as isize * y.by[1]);
        let to = Planes { ptr, count: 1, size: [1, bottom - top, width], ..*y };
        // SAFETY: the caller's; the room is as large as the part, and parts are different rows.
        unsafe {
            all.run_rows(image, top..bottom, target(&part, lanes::<T>()));
            from_blocked(1, &part, &to, add);
        }
    });
}

/// The gradient of the filters.
///
/// # Safety
/// As for `forward`.
pub(crate) unsafe fn weight_grad<T: Real>(
    threads: usize,
    x: &Planes<T>,
    dy: &Blocked<T>,
    dw: &Planes<T>,
    how: &How,
    add: bool,
) {
    let lanes = lanes::<T>();
    let (taps, run) = runs(dw.size, how);
    let room = Scratch::<T>::take(Slot::B, packed_len(dw, lanes));
    let outer = Outer {
        source: source(x),
        grid: [dy.height, dy.width],
        step: [how.stride[1], how.stride[2]],
        taps: &taps,
        run,
        blocks: dy.channels.div_ceil(lanes),
        dy: dy.ptr,
        dy_image: dy.by_image(lanes),
        dy_block: dy.by_block(lanes),
        sums: room.ptr(),
    };
    // SAFETY: the caller's; the room is as large as the packed filters.
    unsafe {
        outer.run(threads, x.count, 1);
        each(dw, lanes, |p, i| {
            let value = *room.ptr().add(i);
            *p = if add { *p + value } else { value };
        });
    }
}
