//! The gradient of filters, and how it is cut among threads.
use super::Gradient;
use super::filters::FiltersFromPoints;
use super::product::{AddUp, Sums};
use super::tiles::{GradToPoints, Grid, Planes, ToPoints};
use crate::gemm::{Scratch, Simd, Slot};
use gluonish_base::pool;
use std::marker::PhantomData;
use std::ops::Range;

/// Bytes of sums up to which they are kept for all filters, so that each plane is one product.
const KEPT_SUMS: usize = 4 << 20;
/// Bytes of the points of the tiles that are transformed at a time.
const POINTS: usize = 3 << 20;
/// Tiles that are summed in registers: the operands of a product then fit in the first-level cache.
const DEEP: usize = 128;

struct Parts<'a, S: Simd> {
    of: &'a Gradient<'a, S::T>,
    grid: Grid,
    /// Blocks of image and of result channels.
    blocks: [usize; 2],
    x: Planes<S::T>,
    dy: Planes<S::T>,
    /// Tiles of a group.
    most: usize,
}

/// # Safety
/// The processor has the instructions of `S`; the operands are valid for their shapes, which fit each other.
pub(super) unsafe fn gradient<S: Simd, const F: usize>(of: &Gradient<'_, S::T>) {
    let planes = (F + 2) * (F + 2);
    let grid = Grid::new(F, of.x.count, of.dy.height, of.dy.width, of.pad);
    let blocks = [of.dw.channels.div_ceil(S::LANES), of.dw.count.div_ceil(S::LANES)];
    if blocks[0] * blocks[1] == 0 {
        return;
    }
    let of_tile = planes * (blocks[0] + blocks[1]) * S::LANES * size_of::<S::T>();
    // Without tiles there is one empty group: sums of nothing have to be written too.
    let groups = grid.count.div_ceil((POINTS / of_tile).max(DEEP)).max(1);
    let most = grid.count.div_ceil(groups);
    let [x, dy] = blocks.map(|b| Planes::<S::T>::plane(b, most, S::LANES));
    let scratch = Scratch::<S::T>::take(Slot::Other, planes * (x + dy));
    let parts = Parts::<S> {
        of,
        grid,
        blocks,
        x: Planes { ptr: scratch.ptr(), by_plane: x, by_block: most * S::LANES },
        dy: Planes { ptr: scratch.ptr().wrapping_add(planes * x), by_plane: dy, by_block: most * S::LANES },
        most,
    };
    let sums = planes * blocks[0] * blocks[1] * S::LANES * S::LANES * size_of::<S::T>();
    // SAFETY: the caller's.
    unsafe { if sums <= KEPT_SUMS { parts.by_planes::<F>(groups) } else { parts.by_panels::<F>(groups) } }
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

    fn panels(&self) -> usize {
        self.blocks[1].div_ceil(2)
    }

    /// The tiles of a group.
    fn group(&self, g: usize, groups: usize) -> Range<usize> {
        self.grid.count * g / groups..self.grid.count * (g + 1) / groups
    }

    /// Transforms images and gradients of a group.
    unsafe fn transform<const F: usize>(&self, group: Range<usize>) {
        let (grid, tiles) = (self.grid, group.len());
        let cuts = tiles.div_ceil(S::MR);
        let blocks = self.blocks[0] + self.blocks[1];
        pool::run(cuts * blocks, self.of.threads, |i| {
            let (block, cut) = (i / cuts, i % cuts);
            let (a, b) = (tiles * cut / cuts, tiles * (cut + 1) / cuts);
            let (tiles, tile0) = (group.start + a..group.start + b, a);
            // SAFETY: the caller's; tiles and blocks are disjoint.
            unsafe {
                if block < self.blocks[0] {
                    let (x, blocks) = (self.of.x, block..block + 1);
                    S::enter(ToPoints::<S, F> { x, grid, tiles, blocks, to: self.x, tile0, of: PhantomData });
                } else {
                    let block = block - self.blocks[0];
                    let (dy, blocks, to) = (self.of.dy, block..block + 1, self.dy);
                    let panel = self.most;
                    S::enter(GradToPoints::<S, F> { dy, grid, tiles, blocks, to, tile0, panel, of: PhantomData });
                }
            }
        });
    }

    /// The sums of one plane for a block of image channels and a panel of result channels.
    unsafe fn sums(&self, (plane, block, p): (usize, usize, usize), tiles: usize, c: *mut S::T, ldc: usize, add: bool) {
        let (width, lanes) = (self.width(p), S::LANES);
        let rows = lanes.min(self.of.dw.channels - block * lanes);
        let dy = self.dy.at(plane, 2 * p, 0, lanes);
        let cuts = tiles.div_ceil(DEEP).max(1);
        for i in 0..cuts {
            let (from, to) = (tiles * i / cuts, tiles * (i + 1) / cuts);
            let (a, b) = (self.x.at(plane, block, from, lanes), dy.wrapping_add(from * width * lanes));
            let p = Sums { a: a.cast_const(), b: b.cast_const(), tiles: to - from, c, ldc, add: add || i > 0 };
            // SAFETY: the caller's.
            unsafe { S::enter(AddUp::<S> { p, rows, two: width == 2, of: PhantomData }) };
        }
    }

    /// Transforms sums of a panel back, for some inputs; `from` belongs to the first.
    unsafe fn filters<const F: usize>(
        &self,
        (p, inputs): (usize, Range<usize>),
        from: *const S::T,
        (by_plane, by_input): (usize, usize),
        add: bool,
    ) {
        let dw = self.of.dw;
        for v in 0..self.width(p) {
            let (from, block, inputs) = (from.wrapping_add(v * S::LANES), 2 * p + v, inputs.clone());
            // SAFETY: the caller's.
            unsafe {
                S::enter(FiltersFromPoints::<S, F> {
                    from,
                    by_plane,
                    by_input,
                    dw,
                    block,
                    inputs,
                    add,
                    of: PhantomData,
                })
            }
        }
    }

    /// Sums of all filters are kept; threads take planes, at the end filters.
    unsafe fn by_planes<const F: usize>(&self, groups: usize) {
        let (planes, panels, lanes) = ((F + 2) * (F + 2), self.panels(), S::LANES);
        let ldc = self.blocks[1] * lanes;
        let by_plane = ((self.blocks[0] * lanes * self.blocks[1]) | 1) * lanes;
        let scratch = Scratch::<S::T>::take(Slot::B, planes * by_plane);
        let all = Shared(scratch.ptr());
        for g in 0..groups {
            let group = self.group(g, groups);
            let tiles = group.len();
            // SAFETY: the caller's; planes and panels are disjoint.
            unsafe {
                self.transform::<F>(group);
                pool::run(planes * panels, self.of.threads, |i| {
                    let (all, plane, p) = (&all, i / panels, i % panels);
                    for block in 0..self.blocks[0] {
                        let c = all.0.wrapping_add(plane * by_plane + block * lanes * ldc + 2 * p * lanes);
                        self.sums((plane, block, p), tiles, c, ldc, g > 0);
                    }
                });
            }
        }
        let inputs = self.of.dw.channels;
        pool::run(self.blocks[0] * panels, self.of.threads, |i| {
            let (all, block, p) = (&all, i / panels, i % panels);
            let from = all.0.wrapping_add(block * lanes * ldc + 2 * p * lanes);
            let part = block * lanes..inputs.min((block + 1) * lanes);
            // SAFETY: as above.
            unsafe { self.filters::<F>((p, part), from, (by_plane, ldc), self.of.add) };
        });
    }

    /// Sums of a block and a panel are transformed back at once: those of all filters would outgrow the caches.
    unsafe fn by_panels<const F: usize>(&self, groups: usize) {
        let (planes, panels, lanes) = ((F + 2) * (F + 2), self.panels(), S::LANES);
        let by_plane = (2 * lanes + 1) * lanes;
        let inputs = self.of.dw.channels;
        for g in 0..groups {
            let group = self.group(g, groups);
            let tiles = group.len();
            // SAFETY: the caller's; blocks and panels are disjoint.
            unsafe {
                self.transform::<F>(group);
                pool::run(panels * self.blocks[0], self.of.threads, |i| {
                    let (p, block) = (i / self.blocks[0], i % self.blocks[0]);
                    let own = Scratch::<S::T>::take(Slot::C, planes * by_plane);
                    for plane in 0..planes {
                        let c = own.ptr().wrapping_add(plane * by_plane);
                        self.sums((plane, block, p), tiles, c, 2 * lanes, false);
                    }
                    let part = block * lanes..inputs.min((block + 1) * lanes);
                    self.filters::<F>((p, part), own.ptr(), (by_plane, 2 * lanes), self.of.add || g > 0);
                });
            }
        }
    }
}
