//! The convolution itself, and how it is cut among threads.
use super::super::kept::{Derived, Key};
use super::Convolve;
use super::filters::FiltersToPoints;
use super::product::{MultiplyPoints, Points};
use super::tiles::{FromPoints, Grid, Planes, ToPoints};
use crate::gemm::{Scratch, Simd, Slot};
use gluonish_base::pool;
use std::marker::PhantomData;
use std::ops::Range;

/// Bytes of transformed filters up to which threads take tiles through all steps and share the filters.
const SHARED_FILTERS: usize = 6 << 20;
/// Bytes of the points of one thread's tiles: a part of the second-level cache.
const OWN_POINTS: usize = 512 << 10;
/// Bytes of the points of all threads' tiles at a time, where they are shared.
const SHARED_POINTS: usize = 16 << 20;
/// Tiles whose products are transformed back at a time.
const RUN: usize = 56;
/// Inputs of a panel whose filters are transformed at a time, if there is one run of tiles only.
const INPUTS: usize = 128;

/// What all parts share.
struct Parts<'a, S: Simd> {
    of: &'a Convolve<'a, S::T>,
    grid: Grid,
    /// Blocks of input and of result channels.
    blocks: [usize; 2],
    inputs: usize,
}

/// # Safety
/// The processor has the instructions of `S`; the operands are valid for their shapes, which fit each other.
pub(super) unsafe fn convolve<S: Simd, const F: usize>(of: &Convolve<'_, S::T>) {
    let (x, y) = (of.x, of.y);
    let grid = Grid::new(F, x.count, y.height, y.width, of.pad);
    let blocks = [of.w.inputs.div_ceil(S::LANES), of.w.outputs.div_ceil(S::LANES)];
    if grid.count == 0 || blocks[1] == 0 {
        return;
    }
    let parts = Parts::<S> { of, grid, blocks, inputs: of.w.inputs };
    let filters = Panel::<F>::bytes::<S>(parts.inputs, blocks[1]);
    let few = blocks[0] > 0 && grid.count < of.threads * S::MR && blocks[1] >= 2 * of.threads;
    // SAFETY: the caller's.
    unsafe { if filters <= SHARED_FILTERS && !few { parts.by_tiles::<F>() } else { parts.by_panels::<F>() } }
}

/// Transformed filters of two blocks of outputs, or one at the end: `[(F + 2)^2 planes][inputs][blocks][lanes]`.
struct Panel<const F: usize>;

impl<const F: usize> Panel<F> {
    const PLANES: usize = (F + 2) * (F + 2);

    /// Elements of a plane; an odd number of vectors more or less, as for images.
    fn plane<S: Simd>(inputs: usize, width: usize) -> usize {
        ((inputs * width) | 1) * S::LANES
    }

    fn len<S: Simd>(inputs: usize) -> usize {
        Self::PLANES * Self::plane::<S>(inputs, 2)
    }

    fn bytes<S: Simd>(inputs: usize, blocks: usize) -> usize {
        Self::len::<S>(inputs) * blocks.div_ceil(2) * size_of::<S::T>()
    }
}

/// A pointer that threads share.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);
// SAFETY: threads write disjoint parts of it, and read what no thread writes any more.
unsafe impl<T: Sync> Sync for Shared<T> {}

impl<S: Simd> Parts<'_, S> {
    /// The width of panel `p` in blocks.
    fn width(&self, p: usize) -> usize {
        (self.blocks[1] - 2 * p).min(2)
    }

    /// Transforms filters of a panel.
    unsafe fn filters<const F: usize>(&self, p: usize, inputs: Range<usize>, to: *mut S::T, by_plane: usize) {
        let (w, width) = (&self.of.w, self.width(p));
        // SAFETY: the caller's.
        unsafe { S::enter(FiltersToPoints::<S, F> { w, block: 2 * p, width, inputs, to, by_plane, of: PhantomData }) }
    }

    /// Transforms tiles, all blocks.
    unsafe fn points<const F: usize>(&self, tiles: Range<usize>, blocks: Range<usize>, to: Planes<S::T>, tile0: usize) {
        let (x, grid) = (self.of.x, self.grid);
        // SAFETY: the caller's.
        unsafe { S::enter(ToPoints::<S, F> { x, grid, tiles, blocks, to, tile0, of: PhantomData }) }
    }

    /// Multiplies points by the filters of a panel.
    unsafe fn products<const F: usize>(
        &self,
        points: Planes<S::T>,
        (tile0, tiles): (usize, usize),
        (inputs, width, filters, by_plane): (Range<usize>, usize, *const S::T, usize),
        to: Planes<S::T>,
    ) {
        for plane in 0..Panel::<F>::PLANES {
            let p = Points {
                a: points.at(plane, inputs.start / S::LANES, tile0, S::LANES),
                by_block: points.by_block,
                k: inputs.len(),
                b: filters.wrapping_add(plane * by_plane),
                c: to.at(plane, 0, 0, S::LANES),
                by_result: to.by_block,
                add: inputs.start > 0,
            };
            // SAFETY: the caller's.
            unsafe { S::enter(MultiplyPoints::<S> { p, tiles, two: width == 2, of: PhantomData }) };
        }
    }

    /// Transforms the products of a panel back.
    unsafe fn results<const F: usize>(&self, p: usize, tiles: Range<usize>, from: Planes<S::T>) {
        let (y, grid, blocks) = (self.of.y, self.grid, 2 * p..2 * p + self.width(p));
        let finish = &self.of.finish;
        // SAFETY: the caller's.
        unsafe { S::enter(FromPoints::<S, F> { from, grid, tiles, tile0: 0, blocks, y, finish, of: PhantomData }) }
    }

    /// Transforms the filters of all panels.
    unsafe fn all_filters<const F: usize>(&self, to: *mut S::T) {
        let (inputs, len, all) = (self.inputs, Panel::<F>::len::<S>(self.inputs), Shared(to));
        let cuts = inputs.div_ceil(INPUTS / 2);
        pool::run(self.blocks[1].div_ceil(2) * cuts, self.of.threads, |i| {
            let (all, p, i) = (&all, i / cuts, i % cuts);
            let part = inputs * i / cuts..inputs * (i + 1) / cuts;
            let width = self.width(p);
            let to = all.0.wrapping_add(p * len + part.start * width * S::LANES);
            // SAFETY: the caller's; parts are disjoint.
            unsafe { self.filters::<F>(p, part, to, Panel::<F>::plane::<S>(inputs, width)) };
        });
    }

    /// Each thread takes some tiles through all steps; the filters are transformed before, or have been for an earlier call.
    unsafe fn by_tiles<const F: usize>(&self) {
        let (threads, tiles, inputs) = (self.of.threads, self.grid.count, self.inputs);
        let (panels, len) = (self.blocks[1].div_ceil(2), Panel::<F>::len::<S>(inputs));
        let key = self.of.key.map(|key| Key { made: (key.made.0, key.made.1, [S::LANES, F, 0]), ..key });
        // SAFETY: the caller's; there is room for the filters of all panels.
        let all = Derived::new(key, Slot::Other, panels * len, |to| unsafe { self.all_filters::<F>(to) });
        let all = Shared(all.ptr().cast_mut());
        let of_tile = Panel::<F>::PLANES * self.blocks[0] * S::LANES * size_of::<S::T>();
        let most = (OWN_POINTS / of_tile.max(1)).clamp(S::MR, RUN);
        let chunks = tiles.div_ceil(most);
        let chunks = chunks.next_multiple_of(threads.clamp(1, tiles));
        pool::run(chunks.min(tiles), threads, |i| {
            let all = &all;
            let (from, to) = (tiles * i / chunks.min(tiles), tiles * (i + 1) / chunks.min(tiles));
            let here = to - from;
            let (points, _own) = planes::<S>(Slot::A, Panel::<F>::PLANES, self.blocks[0], here);
            let (results, _room) = planes::<S>(Slot::C, Panel::<F>::PLANES, 2, here);
            // SAFETY: the caller's; tiles are disjoint.
            unsafe {
                self.points::<F>(from..to, 0..self.blocks[0], points, 0);
                for p in 0..panels {
                    let width = self.width(p);
                    let filters = all.0.wrapping_add(p * len).cast_const();
                    let filters = (0..inputs, width, filters, Panel::<F>::plane::<S>(inputs, width));
                    self.products::<F>(points, (0, here), filters, results);
                    self.results::<F>(p, from..to, results);
                }
            }
        });
    }

    /// All tiles are transformed; then each thread takes panels of result channels, and transforms their filters.
    unsafe fn by_panels<const F: usize>(&self) {
        let (threads, inputs) = (self.of.threads, self.inputs);
        let panels = self.blocks[1].div_ceil(2);
        let of_tile = Panel::<F>::PLANES * self.blocks[0] * S::LANES * size_of::<S::T>();
        let most = (SHARED_POINTS / of_tile.max(1)).max(RUN);
        let groups = self.grid.count.div_ceil(most);
        for g in 0..groups {
            let (from, to) = (self.grid.count * g / groups, self.grid.count * (g + 1) / groups);
            let tiles = to - from;
            let (points, _all) = planes::<S>(Slot::Other, Panel::<F>::PLANES, self.blocks[0], tiles);
            let cuts = tiles.div_ceil(S::MR);
            pool::run(cuts * self.blocks[0], threads, |i| {
                let (block, cut) = (i / cuts, i % cuts);
                let (a, b) = (tiles * cut / cuts, tiles * (cut + 1) / cuts);
                // SAFETY: the caller's; tiles and blocks are disjoint.
                unsafe { self.points::<F>(from + a..from + b, block..block + 1, points, a) };
            });
            let runs = tiles.div_ceil(RUN);
            let step = if runs == 1 { INPUTS.min(inputs) } else { inputs };
            pool::run(panels, threads, |p| {
                let width = self.width(p);
                let by_plane = Panel::<F>::plane::<S>(step, width);
                let filters = Scratch::<S::T>::take(Slot::B, Panel::<F>::len::<S>(step));
                let (results, _room) = planes::<S>(Slot::C, Panel::<F>::PLANES, 2, tiles.div_ceil(runs));
                for r in 0..runs {
                    let (a, b) = (tiles * r / runs, tiles * (r + 1) / runs);
                    for k in (0..inputs).step_by(step) {
                        let part = k..(k + step).min(inputs);
                        // SAFETY: the caller's; panels are disjoint.
                        unsafe {
                            if r == 0 {
                                self.filters::<F>(p, part.clone(), filters.ptr(), by_plane);
                            }
                            let filters = (part, width, filters.ptr().cast_const(), by_plane);
                            self.products::<F>(points, (a, b - a), filters, results);
                        }
                    }
                    // SAFETY: as above.
                    unsafe { self.results::<F>(p, from + a..from + b, results) };
                }
            });
        }
    }
}

/// Room for the points of some tiles.
fn planes<S: Simd>(slot: Slot, planes: usize, blocks: usize, tiles: usize) -> (Planes<S::T>, Scratch<S::T>) {
    let by_plane = Planes::<S::T>::plane(blocks, tiles, S::LANES);
    let scratch = Scratch::take(slot, planes * by_plane);
    (Planes { ptr: scratch.ptr(), by_plane, by_block: tiles * S::LANES }, scratch)
}
