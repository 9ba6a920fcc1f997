//! Filters in the order in which tiles read them: for each value of the images a vector of output channels.
use super::super::geometry::Planes;
use crate::gemm::{Body, Real, Simd, Work, dispatch};
use gluonish_base::pool;
use std::marker::PhantomData;

/// Which channels of the filters are outputs: those that they are counted by, or (for gradients) those they have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Way {
    Forward,
    Backward,
}

/// Filters as a matrix of outputs and inputs for each tap.
#[derive(Clone, Copy)]
struct Matrix<T> {
    p: *const T,
    by_out: isize,
    by_in: isize,
}

/// Vectors of a part of filters that is turned round at a time: taps, or lanes.
const MOST: usize = 64;

/// Whether taps lie side by side.
fn in_order(offsets: &[isize]) -> bool {
    offsets.iter().enumerate().all(|(i, at)| *at == i as isize)
}

/// Elements of packed filters with so many taps.
pub(super) fn packed_len(outputs: usize, inputs: usize, groups: usize, taps: usize, lanes: usize) -> usize {
    groups * outputs.div_ceil(lanes) * inputs.div_ceil(lanes) * taps * lanes * lanes
}

/// Packs the taps at `offsets` of each filter to `[group][output block][input block][tap][input][output]`, zeros behind the
/// last channels.
///
/// # Safety
/// The filters are valid for their shape and offsets, `to` has `packed_len` elements.
pub(super) unsafe fn pack<T: Real>(
    threads: usize,
    w: &Planes<T>,
    groups: usize,
    way: Way,
    offsets: &[isize],
    to: *mut T,
) {
    dispatch::<T, _>(Pack { threads, w, groups, way, offsets, to: To(to) })
}

#[derive(Clone, Copy)]
struct To<T>(*mut T);
// SAFETY: tasks write disjoint parts.
unsafe impl<T: Sync> Sync for To<T> {}
impl<T> To<T> {
    fn get(&self) -> *mut T {
        self.0
    }
}

struct Pack<'a, T> {
    threads: usize,
    w: &'a Planes<T>,
    groups: usize,
    way: Way,
    offsets: &'a [isize],
    to: To<T>,
}

impl<T: Real> Work<T> for Pack<'_, T> {
    type Out = ();

    unsafe fn run<S: Simd<T = T>>(self) {
        let Pack { w, groups, way, offsets, to, .. } = self;
        let (inner, outer) = (w.channels, w.count / groups);
        let (outputs, inputs, by_out, by_in) = match way {
            Way::Forward => (outer, inner, w.by_count, w.by_channel),
            Way::Backward => (inner, outer, w.by_channel, w.by_count),
        };
        let (ob, ib) = (outputs.div_ceil(S::LANES), inputs.div_ceil(S::LANES));
        let square = offsets.len() * S::LANES * S::LANES;
        let threads = if groups * ob * ib * square < 1 << 16 { 1 } else { self.threads };
        pool::run(groups * ob, threads, |i| {
            let (o, g) = (i % ob * S::LANES, i / ob);
            for b in 0..ib {
                let c = b * S::LANES;
                let p = w.plane(g * outer, 0).cast_const().wrapping_offset(o as isize * by_out + c as isize * by_in);
                let body = Square::<S> {
                    from: Matrix { p, by_out, by_in },
                    outputs: S::LANES.min(outputs - o),
                    inputs: S::LANES.min(inputs - c),
                    offsets,
                    to: to.get().wrapping_add((i * ib + b) * square),
                    of: PhantomData,
                };
                // SAFETY: the caller's; squares are disjoint.
                unsafe { S::enter(body) };
            }
        });
    }
}

/// One block of outputs by one of inputs, all taps.
struct Square<'a, S: Simd> {
    from: Matrix<S::T>,
    outputs: usize,
    inputs: usize,
    offsets: &'a [isize],
    to: *mut S::T,
    of: PhantomData<S>,
}

impl<S: Simd> Body for Square<'_, S> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let Square { from: Matrix { p, by_out, by_in }, outputs, inputs, offsets, to, .. } = self;
        let whole = outputs == S::LANES && inputs == S::LANES;
        let each = S::LANES * S::LANES;
        // SAFETY: the square has these outputs, inputs and taps, and room for whole ones.
        unsafe {
            if whole && by_in == 1 {
                for (t, &at) in offsets.iter().enumerate() {
                    S::transpose(p.wrapping_offset(at), by_out, S::LANES, S::LANES, to.add(t * each), S::LANES);
                }
            } else if whole && by_out == 1 {
                for (t, &at) in offsets.iter().enumerate() {
                    for i in 0..S::LANES {
                        let x = S::load(p.wrapping_offset(at + i as isize * by_in));
                        S::store(to.add(t * each + i * S::LANES), x);
                    }
                }
            } else if whole && by_in == offsets.len() as isize && in_order(offsets) {
                // An output's values of all inputs and taps lie side by side.
                let mut part = [S::splat(S::T::default()); MOST];
                let tile = part.as_mut_ptr().cast::<S::T>();
                for from in (0..offsets.len() * S::LANES).step_by(S::LANES) {
                    S::transpose(p.wrapping_add(from), by_out, S::LANES, S::LANES, tile, S::LANES);
                    for u in 0..S::LANES {
                        let (i, t) = ((from + u) / offsets.len(), (from + u) % offsets.len());
                        S::store(to.add(t * each + i * S::LANES), S::load(tile.add(u * S::LANES)));
                    }
                }
            } else if whole
                && by_out > 1
                && by_out <= MOST as isize
                && offsets.iter().all(|at| (0..by_out).contains(at))
            {
                // The same for an input's values of all outputs and taps.
                let taps = by_out as usize;
                let mut part = [S::splat(S::T::default()); MOST];
                let tile = part.as_mut_ptr().cast::<S::T>();
                for i in 0..S::LANES {
                    let p = p.wrapping_offset(i as isize * by_in);
                    for t in (0..taps).step_by(S::LANES) {
                        let n = S::LANES.min(taps - t);
                        S::transpose(p.wrapping_add(t), by_out, S::LANES, n, tile.add(t * S::LANES), S::LANES);
                    }
                    for (t, &at) in offsets.iter().enumerate() {
                        S::store(to.add(t * each + i * S::LANES), S::load(tile.add(at as usize * S::LANES)));
                    }
                }
            } else {
                for i in 0..S::LANES {
                    for o in 0..S::LANES {
                        let p = p.wrapping_offset(i as isize * by_in + o as isize * by_out);
                        for (t, &at) in offsets.iter().enumerate() {
                            let inside = i < inputs && o < outputs;
                            let value = if inside { *p.wrapping_offset(at) } else { S::T::default() };
                            *to.add(t * each + i * S::LANES + o) = value;
                        }
                    }
                }
            }
        }
    }
}

/// Lays packed sums out as filters, or adds them to those.
///
/// # Safety
/// As for `pack`, the other way round.
pub(super) unsafe fn unpack<T: Real>(
    threads: usize,
    from: *const T,
    w: &Planes<T>,
    groups: usize,
    offsets: &[isize],
    add: bool,
) {
    dispatch::<T, _>(Unpack { threads, from: To(from.cast_mut()), w, groups, offsets, add })
}

struct Unpack<'a, T> {
    threads: usize,
    from: To<T>,
    w: &'a Planes<T>,
    groups: usize,
    offsets: &'a [isize],
    add: bool,
}

impl<T: Real> Work<T> for Unpack<'_, T> {
    type Out = ();

    unsafe fn run<S: Simd<T = T>>(self) {
        let Unpack { w, groups, offsets, from, add, .. } = self;
        let outputs = w.count / groups;
        let (ob, ib) = (outputs.div_ceil(S::LANES), w.channels.div_ceil(S::LANES));
        let square = offsets.len() * S::LANES * S::LANES;
        let threads = if groups * ob * ib * square < 1 << 16 { 1 } else { self.threads };
        pool::run(groups * ob, threads, |i| {
            let (o, g) = (i % ob * S::LANES, i / ob);
            for b in 0..ib {
                let c = b * S::LANES;
                let body = Spread::<S> {
                    from: from.get().wrapping_add((i * ib + b) * square),
                    outputs: S::LANES.min(outputs - o),
                    inputs: S::LANES.min(w.channels - c),
                    offsets,
                    to: w.plane(g * outputs + o, c),
                    by: [w.by_count, w.by_channel],
                    add,
                    of: PhantomData,
                };
                // SAFETY: the caller's; squares are disjoint.
                unsafe { S::enter(body) };
            }
        });
    }
}

/// One block of outputs by one of inputs, all taps.
struct Spread<'a, S: Simd> {
    from: *const S::T,
    outputs: usize,
    inputs: usize,
    offsets: &'a [isize],
    to: *mut S::T,
    by: [isize; 2],
    add: bool,
    of: PhantomData<S>,
}

impl<S: Simd> Body for Spread<'_, S> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let Spread { from, outputs, inputs, offsets, to, by, add, .. } = self;
        // SAFETY: the square has these outputs, inputs and taps.
        unsafe {
            let whole = outputs == S::LANES && inputs == S::LANES;
            if whole && by[1] == offsets.len() as isize && in_order(offsets) {
                // A filter's values of all inputs and taps lie side by side.
                let zero = S::splat(S::T::default());
                let (mut part, mut turned) = ([zero; MOST], [zero; MOST]);
                let (tile, rows) = (part.as_mut_ptr().cast::<S::T>(), turned.as_mut_ptr().cast::<S::T>());
                for first in (0..offsets.len() * S::LANES).step_by(S::LANES) {
                    for u in 0..S::LANES {
                        let (i, t) = ((first + u) / offsets.len(), (first + u) % offsets.len());
                        S::store(tile.add(u * S::LANES), S::load(from.add((t * S::LANES + i) * S::LANES)));
                    }
                    S::transpose(tile, S::LANES as isize, S::LANES, S::LANES, rows, S::LANES);
                    for o in 0..S::LANES {
                        let p = to.wrapping_offset(o as isize * by[0]).wrapping_add(first);
                        let x = S::load(rows.add(o * S::LANES));
                        S::store(p, if add { S::add(x, S::load(p)) } else { x });
                    }
                }
                return;
            }
            for o in 0..outputs {
                for i in 0..inputs {
                    let p = to.wrapping_offset(o as isize * by[0] + i as isize * by[1]);
                    for (t, &at) in offsets.iter().enumerate() {
                        let value = *from.add((t * S::LANES + i) * S::LANES + o);
                        let p = p.wrapping_offset(at);
                        *p = if add { *p + value } else { value };
                    }
                }
            }
        }
    }
}
