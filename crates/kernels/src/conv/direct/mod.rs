//! Direct convolution: no matrix is laid out, tiles of results read images where they lie, or rows of them with zeros
//! around. Images are blocked; those of a first layer, with few channels, are plain.
mod band;
mod cut;
pub(crate) mod first;
mod outer;
mod pack;
mod sweep;
mod tile;

use super::blocked::{Blocked, Finish, lanes};
use super::geometry::{How, Planes, met_by, offset, phases, taps};
use super::kept::{Derived, Key, Stamp};
use crate::gemm::{Real, Scratch, Slot};
use band::Source;
use outer::Outer;
use pack::{Way, pack, packed_len, unpack};
use sweep::{Sweep, Target};

fn source<T: Real>(x: &Blocked<T>, groups: usize, lanes: usize) -> Source<T> {
    Source {
        ptr: x.ptr.cast_const(),
        planes: x.channels.div_ceil(lanes) / groups,
        size: [x.height, x.width],
        unit: lanes,
        by_image: x.by_image(lanes) as isize,
        by_plane: x.by_block(lanes) as isize,
        by: [(x.width * lanes) as isize, lanes as isize],
    }
}

fn target<T: Real>(y: &Blocked<T>, lanes: usize) -> Target<T> {
    Target {
        ptr: y.ptr,
        first: 0,
        by_image: y.by_image(lanes),
        by_block: y.by_block(lanes),
        by: [y.width * lanes, lanes],
    }
}

/// Packed filters: the taps at `offsets`, which are those of a phase (the only one is `[0, 0]` going forward).
///
/// # Safety
/// As `pack`.
unsafe fn packed<T: Real>(
    threads: usize,
    w: &Planes<T>,
    how: &How,
    way: Way,
    (phase, offsets): ([usize; 2], &[isize]),
    stamp: Option<Stamp>,
) -> Derived<T> {
    let lanes = lanes::<T>();
    let len = packed_len(w.count / how.groups, w.channels, how.groups, offsets.len(), lanes);
    let made = if way == Way::Forward { "direct" } else { "direct backwards" };
    let key = stamp.map(|stamp| Key::new((made, *how, [lanes, phase[0], phase[1]]), w, stamp));
    // SAFETY: the caller's; there are as many elements as the packed filters have.
    Derived::new(key, Slot::B, len, |to| unsafe { pack(threads, w, how.groups, way, offsets, to) })
}

/// Where taps look, from the place of a result.
fn looks(kernel: [usize; 3], how: &How) -> Vec<[isize; 2]> {
    let at = |t: [usize; 3], i: usize| (t[i] * how.dilate[i]) as isize - how.pad[i] as isize;
    taps(kernel).map(|t| [at(t, 1), at(t, 2)]).collect()
}

/// `y = finish(conv(x, w))`
///
/// # Safety
/// The operands are valid for their shapes, which fit each other; `y` overlaps no other operand but, element for element,
/// the residual.
pub(crate) unsafe fn forward<T: Real>(
    threads: usize,
    x: &Blocked<T>,
    w: &Planes<T>,
    y: &Blocked<T>,
    how: &How,
    finish: &Finish<T>,
    stamp: Option<Stamp>,
) {
    let (lanes, groups) = (lanes::<T>(), how.groups);
    let looks = looks(w.size, how);
    let offsets: Vec<isize> = taps(w.size).map(|t| offset(t, w.by)).collect();
    // SAFETY: the caller's.
    unsafe {
        let filters = packed(threads, w, how, Way::Forward, ([0, 0], &offsets), stamp);
        let sweep = Sweep {
            source: source(x, groups, lanes),
            grid: [y.height, y.width],
            step: [how.stride[1], how.stride[2]],
            taps: &looks,
            run: lanes,
            filters: filters.ptr(),
            blocks: y.channels.div_ceil(lanes) / groups,
            target: target(y, lanes),
            finish,
        };
        sweep.run(threads, x.count, groups);
    }
}

/// The gradient of `x`, phase by phase: places of `x` that the same taps look at are the results of a convolution without
/// strides.
///
/// # Safety
/// As for `forward`.
pub(crate) unsafe fn data_grad<T: Real>(
    threads: usize,
    dy: &Blocked<T>,
    w: &Planes<T>,
    dx: &Blocked<T>,
    how: &How,
    add: bool,
    stamp: Option<Stamp>,
) {
    let (lanes, groups) = (lanes::<T>(), how.groups);
    let finish = Finish::plain(add);
    let size = [dx.height, dx.width];
    for phase in phases([1, dx.height, dx.width], how) {
        let grid = [1, 2].map(|i| size[i - 1].saturating_sub(phase[i]).div_ceil(how.stride[i]));
        let met: Vec<_> = taps(w.size).filter_map(|t| Some((t, met_by(t, phase, how)?))).collect();
        if met.is_empty() && add {
            continue;
        }
        let looks: Vec<[isize; 2]> = met.iter().map(|(_, at)| [at[1], at[2]]).collect();
        let offsets: Vec<isize> = met.iter().map(|(t, _)| offset(*t, w.by)).collect();
        let whole = target(dx, lanes);
        // SAFETY: the caller's; phases are different places.
        unsafe {
            let filters = packed(threads, w, how, Way::Backward, ([phase[1], phase[2]], &offsets), stamp);
            let sweep = Sweep {
                source: source(dy, groups, lanes),
                grid,
                step: [1, 1],
                taps: &looks,
                run: lanes,
                filters: filters.ptr(),
                blocks: dx.channels.div_ceil(lanes) / groups,
                target: Target {
                    first: phase[1] * whole.by[0] + phase[2] * whole.by[1],
                    by: [whole.by[0] * how.stride[1], whole.by[1] * how.stride[2]],
                    ..whole
                },
                finish: &finish,
            };
            sweep.run(threads, dx.count, groups);
        }
    }
}

/// The gradient of the filters.
///
/// # Safety
/// As for `forward`.
pub(crate) unsafe fn weight_grad<T: Real>(
    threads: usize,
    x: &Blocked<T>,
    dy: &Blocked<T>,
    dw: &Planes<T>,
    how: &How,
    add: bool,
) {
    let (lanes, groups) = (lanes::<T>(), how.groups);
    let looks = looks(dw.size, how);
    let offsets: Vec<isize> = taps(dw.size).map(|t| offset(t, dw.by)).collect();
    let room = Scratch::<T>::take(Slot::B, packed_len(dw.count / groups, dw.channels, groups, looks.len(), lanes));
    let outer = Outer {
        source: source(x, groups, lanes),
        grid: [dy.height, dy.width],
        step: [how.stride[1], how.stride[2]],
        taps: &looks,
        run: lanes,
        blocks: dy.channels.div_ceil(lanes) / groups,
        dy: dy.ptr,
        dy_image: dy.by_image(lanes),
        dy_block: dy.by_block(lanes),
        sums: room.ptr(),
    };
    // SAFETY: the caller's; the room is large enough.
    unsafe {
        outer.run(threads, x.count, groups);
        unpack(threads, room.ptr(), dw, groups, &offsets, add);
    }
}
