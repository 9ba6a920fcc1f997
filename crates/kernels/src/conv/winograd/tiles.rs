//! Images cut into tiles, and their way into the domain of products and back.
use super::formula::{image, result, result_back};
use crate::conv::blocked::{Blocked, Finish};
use crate::gemm::{Body, Real, Simd};
use std::marker::PhantomData;
use std::ops::Range;

/// The tiles of all images of a batch, in row-major order.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    pub rows: usize,
    pub cols: usize,
    pub count: usize,
    /// Zeros before the first row and column of the image.
    pub pad: [usize; 2],
}

impl Grid {
    /// Of results of this size, in tiles of `f` by `f`.
    pub(super) fn new(f: usize, count: usize, height: usize, width: usize, pad: [usize; 2]) -> Grid {
        let (rows, cols) = (height.div_ceil(f), width.div_ceil(f));
        Grid { rows, cols, count: count * rows * cols, pad }
    }

    /// Image, row and column of a tile.
    #[inline(always)]
    fn place(&self, tile: usize) -> [usize; 3] {
        [tile / self.cols / self.rows, tile / self.cols % self.rows, tile % self.cols]
    }
}

/// Where the points of a run of tiles lie: `[(F + 2)^2 planes][blocks][tiles][lanes]`.
#[derive(Clone, Copy)]
pub(super) struct Planes<T> {
    pub ptr: *mut T,
    pub by_plane: usize,
    pub by_block: usize,
}

// SAFETY: threads write disjoint parts of it, and read what no thread writes any more.
unsafe impl<T: Sync> Sync for Planes<T> {}

impl<T> Planes<T> {
    /// Elements between two planes of `blocks` blocks of `tiles` tiles: an odd number of vectors, or the planes of one point
    /// would compete for a few sets of the cache.
    pub(super) fn plane(blocks: usize, tiles: usize, lanes: usize) -> usize {
        ((blocks * tiles) | 1) * lanes
    }

    #[inline(always)]
    pub(super) fn at(&self, plane: usize, block: usize, tile: usize, lanes: usize) -> *mut T {
        self.ptr.wrapping_add(plane * self.by_plane + block * self.by_block + tile * lanes)
    }
}

/// Images to points: tiles `tiles`, of which the first goes to place `tile0`, of channel blocks `blocks`.
pub(super) struct ToPoints<'a, S: Simd, const F: usize> {
    pub x: &'a Blocked<S::T>,
    pub grid: Grid,
    pub tiles: Range<usize>,
    pub blocks: Range<usize>,
    pub to: Planes<S::T>,
    pub tile0: usize,
    pub of: PhantomData<S>,
}

impl<S: Simd, const F: usize> Body for ToPoints<'_, S, F> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let (x, t) = (self.x, F + 2);
        let (height, width, lanes) = (x.height, x.width, S::LANES);
        let (row, all) = (width * lanes, x.channels.div_ceil(lanes));
        for block in self.blocks {
            for (i, tile) in self.tiles.clone().enumerate() {
                let [n, ty, tx] = self.grid.place(tile);
                let (y0, x0) = (ty * F, tx * F);
                let [py, px] = self.grid.pad;
                // The rows and columns of the tile that lie in the image.
                let (r0, r1) = (py.saturating_sub(y0).min(t), (height + py).saturating_sub(y0).min(t));
                let (c0, c1) = (px.saturating_sub(x0).min(t), (width + px).saturating_sub(x0).min(t));
                let from = x.ptr.wrapping_add((n * all + block) * height * row);
                let from = from.wrapping_add(y0 * row + x0 * lanes).wrapping_sub(py * row + px * lanes);
                let to = self.to.at(0, block, self.tile0 + i, lanes);
                // SAFETY: the rows and columns in these ranges are in the image; the points of this tile are ours.
                unsafe {
                    if (r0, r1, c0, c1) == (0, t, 0, t) {
                        tile_in::<S, F, true>(from, row, 0..t, 0..t, to, self.to.by_plane);
                    } else {
                        tile_in::<S, F, false>(from, row, r0..r1, c0..c1, to, self.to.by_plane);
                    }
                }
            }
        }
    }
}

/// One tile of one block. `INSIDE` says that it lies in the image as a whole.
#[inline(always)]
unsafe fn tile_in<S: Simd, const F: usize, const INSIDE: bool>(
    from: *const S::T,
    row: usize,
    rows: Range<usize>,
    cols: Range<usize>,
    to: *mut S::T,
    by_plane: usize,
) {
    let t = F + 2;
    // SAFETY: the caller's.
    unsafe {
        let zero = S::splat(S::T::default());
        let mut m = [[zero; 6]; 6];
        for j in 0..t {
            if !INSIDE && !cols.contains(&j) {
                continue;
            }
            let mut d = [zero; 6];
            for i in 0..t {
                if INSIDE || rows.contains(&i) {
                    d[i] = S::load(from.wrapping_add(i * row + j * S::LANES));
                }
            }
            let o = image::<S, F>(d);
            for i in 0..t {
                m[i][j] = o[i];
            }
        }
        for i in 0..t {
            let o = image::<S, F>(m[i]);
            for j in 0..t {
                S::store(to.add((i * t + j) * by_plane), o[j]);
            }
        }
    }
}

/// Gradients of results to points, for gradients of filters. One or two blocks of a panel lie side by side: `to` has
/// `[planes][panels][tiles][2 * lanes]`, the last panel perhaps half as wide.
pub(super) struct GradToPoints<'a, S: Simd, const F: usize> {
    pub dy: &'a Blocked<S::T>,
    pub grid: Grid,
    pub tiles: Range<usize>,
    pub blocks: Range<usize>,
    pub to: Planes<S::T>,
    pub tile0: usize,
    /// Tiles of a panel.
    pub panel: usize,
    pub of: PhantomData<S>,
}

impl<S: Simd, const F: usize> Body for GradToPoints<'_, S, F> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let (dy, t, lanes) = (self.dy, F + 2, S::LANES);
        let (row, all) = (dy.width * lanes, dy.channels.div_ceil(lanes));
        for block in self.blocks {
            let wide = if block / 2 * 2 + 1 < all { 2 } else { 1 };
            let panel = self.to.ptr.wrapping_add(block / 2 * 2 * self.panel * lanes + block % 2 * lanes);
            for (i, tile) in self.tiles.clone().enumerate() {
                let [n, ty, tx] = self.grid.place(tile);
                let (h, w) = (F.min(dy.height - ty * F), F.min(dy.width - tx * F));
                let from = dy.ptr.wrapping_add(((n * all + block) * dy.height + ty * F) * row + tx * F * lanes);
                let to = panel.wrapping_add((self.tile0 + i) * wide * lanes);
                // SAFETY: these rows and columns are in the image; the points of this tile are ours.
                unsafe {
                    let zero = S::splat(S::T::default());
                    let mut m = [[zero; 4]; 6];
                    for j in 0..F {
                        if j >= w {
                            continue;
                        }
                        let mut d = [zero; 4];
                        for i in 0..F {
                            if i < h {
                                d[i] = S::load(from.wrapping_add(i * row + j * lanes));
                            }
                        }
                        let o = result_back::<S, F>(d);
                        for i in 0..t {
                            m[i][j] = o[i];
                        }
                    }
                    for i in 0..t {
                        let o = result_back::<S, F>(m[i]);
                        for j in 0..t {
                            S::store(to.add((i * t + j) * self.to.by_plane), o[j]);
                        }
                    }
                }
            }
        }
    }
}

/// Products to results: blocks `blocks`, of which the first lies at place 0 of `from`.
pub(super) struct FromPoints<'a, S: Simd, const F: usize> {
    pub from: Planes<S::T>,
    pub grid: Grid,
    pub tiles: Range<usize>,
    pub tile0: usize,
    pub blocks: Range<usize>,
    pub y: &'a Blocked<S::T>,
    pub finish: &'a Store<S::T>,
    pub of: PhantomData<S>,
}

/// A `Finish` that threads share.
#[derive(Clone, Copy)]
pub(super) struct Store<T>(pub Finish<T>);

// SAFETY: what it points to is only read while a kernel runs.
unsafe impl<T: Sync> Sync for Store<T> {}

impl<S: Simd, const F: usize> Body for FromPoints<'_, S, F> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let (y, t, lanes, finish) = (self.y, F + 2, S::LANES, self.finish.0);
        let (row, all) = (y.width * lanes, y.channels.div_ceil(lanes));
        // SAFETY: scale and shift have whole blocks; rows and columns below `h` and `w` are in the image and ours.
        unsafe {
            let zero = S::splat(S::T::default());
            for block in self.blocks.clone() {
                let by_channel = |p: Option<*const S::T>, otherwise: S::T| match p {
                    Some(p) => S::load(p.add(block * lanes)),
                    None => S::splat(otherwise),
                };
                let scale = by_channel(finish.scale, S::T::ONE);
                let shift = by_channel(finish.shift, S::T::default());
                for (i, tile) in self.tiles.clone().enumerate() {
                    let [n, ty, tx] = self.grid.place(tile);
                    let from = self.from.at(0, block - self.blocks.start, self.tile0 + i, lanes);
                    let (h, w) = (F.min(y.height - ty * F), F.min(y.width - tx * F));
                    let at = ((n * all + block) * y.height + ty * F) * row + tx * F * lanes;
                    let mut m = [[zero; 6]; 4];
                    for j in 0..t {
                        let mut d = [zero; 6];
                        for i in 0..t {
                            d[i] = S::load(from.wrapping_add((i * t + j) * self.from.by_plane));
                        }
                        let o = result::<S, F>(d);
                        for i in 0..F {
                            m[i][j] = o[i];
                        }
                    }
                    for i in 0..F {
                        if i >= h {
                            continue;
                        }
                        let o = result::<S, F>(m[i]);
                        for j in 0..F {
                            if j >= w {
                                continue;
                            }
                            let at = at + i * row + j * lanes;
                            let mut v = S::fma(o[j], scale, shift);
                            if let Some(r) = &finish.residual {
                                v = S::add(v, S::load(r.ptr.wrapping_add(at)));
                            }
                            if finish.relu {
                                v = S::max(zero, v);
                            }
                            let to = y.ptr.wrapping_add(at);
                            if finish.add {
                                v = S::add(v, S::load(to));
                            }
                            S::store(to, v);
                        }
                    }
                }
            }
        }
    }
}
