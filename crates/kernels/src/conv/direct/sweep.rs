//! A convolution as a walk over the places of a lattice: tiles of neighbouring places, bands of them whose images stay in
//! the second-level cache, and tasks for threads. Every result is one chain of sums in an order that the shape alone
//! decides, however places are cut.
use super::super::blocked::Finish;
use super::band::{Band, Look, Source};
use super::cut::{Cut, Large, Shared};
use super::tile::{Job, Last, Step, Stretch, holds_as_much, most_for, multiply};
use crate::gemm::{Real, Scratch, Simd, Slot, Work, dispatch};
use gluonish_base::pool;
use std::ops::Range;

/// One lattice of places: a whole convolution, or a phase of its gradient.
pub(super) struct Sweep<'a, T> {
    pub source: Source<T>,
    /// Rows and columns of places, and the distance between two in the images.
    pub grid: [usize; 2],
    pub step: [usize; 2],
    /// Where each tap looks, from its place.
    pub taps: &'a [[isize; 2]],
    /// Neighbouring values that a tap takes.
    pub run: usize,
    /// `[group][output block][plane][tap][value of the run][lane]`
    pub filters: *const T,
    /// Blocks of output channels in a group.
    pub blocks: usize,
    pub target: Target<T>,
    pub finish: &'a Finish<T>,
}
// SAFETY: the pointers are operands of a kernel; threads write disjoint parts of the target.
unsafe impl<T: Sync> Sync for Sweep<'_, T> {}

/// Where results go: blocked images, or every so manieth place of them.
#[derive(Clone, Copy)]
pub(super) struct Target<T> {
    pub ptr: *mut T,
    /// From `ptr` to the first place.
    pub first: usize,
    pub by_image: usize,
    pub by_block: usize,
    pub by: [usize; 2],
}

/// Bytes of images that a band may have: half of a second-level cache.
const BAND: usize = 416 << 10;
/// Bytes of images or results that a thread's own caches may hold: more are asked for before they are read or written.
const NEAR: usize = 2 << 20;
/// Bytes of images that no cache holds.
const FAR: usize = 8 << 20;
/// Bytes of filters that tiles go through before the next ones. They come in order from the second-level cache, which keeps
/// up; fewer, for the first-level one, would store and load the sums more often, and were slower.
const FILTERS: usize = 128 << 10;
/// Taps beside the images that are worth walking along columns.
const WASTE: f64 = 0.02;
/// Multiplications of a vector that are worth a task.
const TASK: usize = 20_000;
/// Tasks for each thread from which on one more or less is no matter.
const TASKS: usize = 16;

impl<T: Real> Sweep<'_, T> {
    /// # Safety
    /// The operands are valid for the shapes, and the target overlaps none of the others.
    pub(super) unsafe fn run(&self, threads: usize, images: usize, groups: usize) {
        let turned: Vec<[isize; 2]> = self.taps.iter().map(|t| [t[1], t[0]]).collect();
        let turned = self.outside(1).gt(&(self.outside(0) + WASTE)).then(|| self.turned(&turned));
        dispatch::<T, _>(All { sweep: turned.as_ref().unwrap_or(self), threads, images, groups })
    }

    /// Some rows of one image, to a place of their own, by this thread.
    ///
    /// # Safety
    /// As for `run`.
    pub(super) unsafe fn run_rows(&self, image: usize, rows: Range<usize>, target: Target<T>) {
        let down = (rows.start * self.step[0]) as isize;
        let taps: Vec<[isize; 2]> = self.taps.iter().map(|t| [t[0] + down, t[1]]).collect();
        let (source, grid) = (self.source.at(image, 0), [rows.len(), self.grid[1]]);
        // SAFETY: the caller's.
        unsafe { Sweep { source, grid, taps: &taps, target, ..*self }.run(1, 1, 1) };
    }

    /// The part of all taps of all places that looks beside the images along an axis: its sums are zeros.
    fn outside(&self, axis: usize) -> f64 {
        // Runs of plain images are rows of filters, which cannot be turned.
        if self.source.unit == 1 {
            return 0.0;
        }
        let all = self.grid[axis] * self.taps.len();
        let beside =
            |place: usize| self.taps.iter().filter(|t| !self.source.has(axis, place * self.step[axis], t)).count();
        (0..self.grid[axis]).map(beside).sum::<usize>() as f64 / all.max(1) as f64
    }

    /// Rows or columns of the images that each place adds to those that the place before it looks at.
    fn seen(&self, axis: usize) -> usize {
        let mut at: Vec<isize> = self.taps.iter().map(|t| t[axis]).collect();
        at.sort_unstable();
        at.dedup();
        let wide = if axis == 1 && self.source.unit == 1 { self.run } else { 1 };
        self.step[axis].min(at.len().saturating_mul(wide).max(1))
    }

    /// The same sums with rows for columns: bands are laid out so, and taps that leave out whole rows are left out.
    fn turned<'t>(&'t self, taps: &'t [[isize; 2]]) -> Sweep<'t, T> {
        let turn = |[a, b]: [usize; 2]| [b, a];
        let (source, target) = (self.source, self.target);
        Sweep {
            source: Source { size: turn(source.size), by: [source.by[1], source.by[0]], ..source },
            grid: turn(self.grid),
            step: turn(self.step),
            taps,
            target: Target { by: turn(target.by), ..target },
            ..*self
        }
    }
}

struct All<'a, T> {
    sweep: &'a Sweep<'a, T>,
    threads: usize,
    images: usize,
    groups: usize,
}

impl<T: Real> Work<T> for All<'_, T> {
    type Out = ();

    unsafe fn run<S: Simd<T = T>>(self) {
        let s = self.sweep;
        let Some(plan) = Plan::new::<S, T>(s, self.threads, self.images * self.groups) else { return };
        let Cut { bands, parts, by_part } = plan.cut;
        pool::run(self.images * self.groups * bands * parts, self.threads, |i| {
            let whole = self.images * self.groups * bands;
            let (part, i) = if by_part { (i / whole, i % whole) } else { (i % parts, i / parts) };
            let (band, i) = (i % bands, i / bands);
            let (group, image) = (i % self.groups, i / self.groups);
            let cut = |n: usize, k: usize, of: usize| n * k / of..n * (k + 1) / of;
            // Single blocks, where whole tiles of them would make uneven parts.
            let groups = s.blocks.div_ceil(plan.vectors);
            let unit = if groups.is_multiple_of(parts) { plan.vectors } else { 1 };
            let blocks = cut(s.blocks.div_ceil(unit), part, parts);
            let blocks = blocks.start * unit..(blocks.end * unit).min(s.blocks);
            let (rows, cols) = match plan.flat {
                true => (0..1, cut(plan.grid[1].div_ceil(plan.pixels), band, bands)),
                false => (cut(plan.grid[0], band, bands), 0..1),
            };
            let cols = match plan.flat {
                true => cols.start * plan.pixels..(cols.end * plan.pixels).min(plan.grid[1]),
                false => 0..plan.grid[1],
            };
            // SAFETY: the caller's; tasks are different places or blocks.
            unsafe { task::<S>(s, &plan, image, group, blocks, rows, cols) };
        });
    }
}

struct Plan {
    /// Places are counted through the whole image: there are no borders between rows.
    flat: bool,
    grid: [usize; 2],
    /// Bands of places, and parts of the output blocks.
    cut: Cut,
    /// The largest tile: places, and blocks.
    pixels: usize,
    vectors: usize,
    step: Step,
    /// Runs that are multiplied before the next tile.
    depth: usize,
    /// Results are more than near caches hold.
    is_far: bool,
    /// Images are asked for before their turn.
    asks: bool,
}

impl Plan {
    fn new<S: Simd, T: Real>(s: &Sweep<'_, T>, threads: usize, images: usize) -> Option<Plan> {
        let unit = s.source.unit;
        let flat = s.source.is_flat()
            && s.step == [1, 1]
            && s.taps == [[0, 0]]
            && s.target.by[0] == s.target.by[1] * s.grid[1]
            && s.grid == s.source.size;
        let grid = if flat { [1, s.grid[0] * s.grid[1]] } else { s.grid };
        if images * grid[0] * grid[1] == 0 || s.blocks == 0 {
            return None;
        }
        let step = if unit == 1 { Step::Elements(s.step[1]) } else { Step::Vectors(s.step[1]) };
        let room = |vectors: usize| most_for::<S>(step, vectors);
        let value = size_of::<T>();
        // The rows and columns of images that places look at: not all, where taps leave some out.
        let across = |i: usize| grid[i].saturating_mul(s.seen(i));
        let under = (s.source.planes * unit * value).saturating_mul(across(0)).saturating_mul(across(1));
        // Few places leave room for more blocks.
        let near = match (grid[1] <= room(4), s.blocks) {
            (true, 4..) => 4,
            (_, 3) if holds_as_much::<S>(3) => 3,
            (_, 2..) => 2,
            _ => 1,
        };
        // Images from memory had better come while all channels are computed than while the first two blocks are.
        let from_far = flat && holds_as_much::<S>(4) && matches!(s.blocks, 4 | 8) && images.saturating_mul(under) > FAR;
        let vectors = if from_far { 4 } else { near };
        let pixels = grid[1].div_ceil(grid[1].div_ceil(room(vectors)));
        let runs = s.source.planes * s.taps.len();
        // Not by how many images there are: that would change the order of sums.
        let per_run = s.run * near * S::LANES * value;
        let depth = if s.finish.add { runs } else { (FILTERS / per_run.max(1)).max(1) };
        let depth = runs.div_ceil(runs.div_ceil(depth).max(1)).max(1);
        let pieces = if flat { grid[1].div_ceil(pixels) } else { grid[0] };
        let filters = runs * s.run * s.blocks * S::LANES * value;
        // Threads had better share filters that are much larger than the images.
        let band = if filters / 2 > under { 2 * BAND } else { BAND };
        let bands = under.div_ceil(band).clamp(1, pieces);
        let work = images * grid[0] * grid[1] * runs.max(1) * s.run * s.blocks;
        let most = (work / TASK).clamp(1, TASKS * threads);
        let large = match filters > BAND {
            true => Large::Filters,
            false if filters + under > 2 * BAND => Large::Images,
            false => Large::Neither,
        };
        let shared = Shared { threads, images, pieces, blocks: s.blocks, vectors };
        let cut = shared.cut(bands, most, large, filters > under);
        let is_far = images * grid[0] * grid[1] * s.blocks * S::LANES * value > NEAR;
        // Under one tap, or with a stride, a tile takes a few places of each plane, or not neighbours: the processor does not
        // guess what comes next.
        let jumps = s.taps == [[0, 0]] || s.step != [1, 1];
        let asks = unit > 1 && jumps && images.saturating_mul(under) > NEAR;
        Some(Plan { flat, grid, cut, pixels, vectors, step, depth, is_far, asks })
    }
}

/// One task: some places of one image, for some blocks of output channels.
unsafe fn task<S: Simd>(
    s: &Sweep<'_, S::T>,
    plan: &Plan,
    image: usize,
    group: usize,
    blocks: Range<usize>,
    rows: Range<usize>,
    cols: Range<usize>,
) {
    if blocks.is_empty() || rows.is_empty() || cols.is_empty() {
        return;
    }
    let x = s.source.at(image, group);
    let look = Look { rows: rows.clone(), cols: s.grid[1], step: s.step, taps: s.taps, run: s.run, beside: false };
    let room = Scratch::<S::T>::take(Slot::A, x.needs(&look));
    // SAFETY: the scratch memory is as large as the band asked for; the image is valid.
    let band: Band<S::T> = unsafe { x.band(&look, room.ptr()) };
    let vector = s.run * S::LANES;
    let stretches = |has: &dyn Fn(&[isize; 2]) -> bool| -> Vec<Stretch> {
        let all = (0..s.source.planes).flat_map(|c| s.taps.iter().map(move |t| (c, t))).enumerate();
        all.filter(|(_, (_, t))| has(t))
            .map(|(i, (c, t))| {
                let x = c as isize * band.by_plane + t[0] * band.by_row + t[1] * s.source.unit as isize;
                Stretch { x, w: i * vector }
            })
            .collect()
    };
    let runs = stretches(&|_| true);
    // Rows of places some of whose taps look beside the image: these are left out.
    let at_border: Vec<Option<Vec<Stretch>>> = rows
        .clone()
        .map(|row| {
            let has = |t: &[isize; 2]| s.source.has(0, row * s.step[0], t);
            (!s.taps.iter().all(has)).then(|| stretches(&has))
        })
        .collect();
    let w_block = runs.len() * vector;
    let wide = cols.end - cols.start;
    let to = s.target;
    let begin = to.first + image * to.by_image + group * s.blocks * to.by_block;
    let mut block = blocks.start;
    while block < blocks.end {
        let vectors = match blocks.end - block {
            3 if holds_as_much::<S>(3) => 3, // a block alone would go over the images once more
            n if n >= plan.vectors => plan.vectors,
            2.. => 2,
            _ => 1,
        };
        let n = wide.div_ceil(plan.pixels.min(most_for::<S>(plan.step, vectors)));
        let tiles: Vec<usize> = (0..=n).map(|tile| cols.start + wide * tile / n).collect();
        let filters = s.filters.wrapping_add((group * s.blocks + block) * w_block);
        let deep = runs.chunks(plan.depth).enumerate().map(Some);
        for chunk in deep.chain(runs.is_empty().then_some(None)) {
            let (k, chunk) = chunk.unwrap_or((0, &[]));
            let is_last = (k + 1) * plan.depth >= runs.len();
            for (row, at_border) in rows.clone().zip(&at_border) {
                let x = band.row(row, s.step[0]);
                let chunk = at_border.as_ref().map_or(chunk, |runs| {
                    let until = |end: usize| runs.partition_point(|r| r.w < end * plan.depth * vector);
                    &runs[until(k)..until(k + 1)]
                });
                let next_row = match row + 1 < rows.end {
                    true => band.row(row + 1, s.step[0]),
                    false => band.row(rows.start, s.step[0]).wrapping_offset(chunk.len() as isize * band.by_plane),
                };
                for tile in tiles.windows(2) {
                    let &[from, end] = tile else { continue };
                    let place = begin + block * to.by_block + row * to.by[0] + from * to.by[1];
                    let look = |row: *const S::T, col: usize| row.wrapping_add(col * s.step[1] * s.source.unit);
                    let job = Job {
                        x: look(x, from),
                        next: (plan.asks && block == blocks.start).then(|| match end < cols.end {
                            true => look(x, end),
                            false => look(next_row, cols.start),
                        }),
                        runs: chunk,
                        len: s.run,
                        step: s.step[1] * s.source.unit,
                        w: filters,
                        w_block,
                        y: to.ptr.wrapping_add(place),
                        y_step: to.by[1],
                        y_block: to.by_block,
                        resume: k > 0,
                        is_far: plan.is_far,
                        last: is_last.then_some(Last {
                            finish: s.finish,
                            channel: (group * s.blocks + block) * S::LANES,
                            at: place,
                        }),
                    };
                    // SAFETY: the places lie in the band and the target, the blocks in the filters.
                    unsafe { multiply::<S>(end - from, vectors, plan.step, &job) };
                }
            }
        }
        block += vectors;
    }
}
