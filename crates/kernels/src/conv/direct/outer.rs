//! The gradient of filters: sums over places of what a tap sees times the gradient of what it made. A register tile has
//! some neighbouring values of the images and some blocks of output channels; the sums of a band of places are added to
//! those of the bands before, in an order that the shape alone decides.
#![allow(clippy::needless_range_loop)] // sums are arrays of arrays, walked in step with others
use super::band::{Band, Look, Source};
use super::tile::{most, repeat};
use crate::gemm::{Body, Real, Scratch, Simd, Slot, Work, dispatch};
use crate::walk::Shared;
use gluonish_base::pool;
use std::ops::Range;

/// The operands: as in a sweep, with the gradient of its target.
pub(super) struct Outer<'a, T> {
    pub source: Source<T>,
    pub grid: [usize; 2],
    pub step: [usize; 2],
    pub taps: &'a [[isize; 2]],
    pub run: usize,
    /// Blocks of output channels in a group.
    pub blocks: usize,
    /// Blocked gradients.
    pub dy: *const T,
    pub dy_image: usize,
    pub dy_block: usize,
    /// `[group][output block][plane][tap][value of the run][lane]`, written.
    pub sums: *mut T,
}
// SAFETY: the pointers are operands of a kernel; threads write disjoint parts of the sums.
unsafe impl<T: Sync> Sync for Outer<'_, T> {}

/// Places of a band, about: their gradients and one plane of images stay in the first-level cache.
const PLACES: usize = 192;
/// Values of the images in a tile, at most.
const VALUES: usize = 8;
/// Multiplications of a vector that are worth a task.
const TASK: usize = 20_000;
/// Parts of a batch that have sums of their own, at most, and how many sums.
const PARTS: usize = 16;
const SUMS: usize = 1 << 16;

impl<T: Real> Outer<'_, T> {
    /// # Safety
    /// The operands are valid for the shapes; the sums overlap nothing.
    pub(super) unsafe fn run(&self, threads: usize, images: usize, groups: usize) {
        dispatch::<T, _>(All { outer: self, threads, images, groups })
    }

    /// Vectors of sums of one group.
    fn vectors(&self) -> usize {
        self.blocks * self.source.planes * self.taps.len() * self.run
    }
}

struct All<'a, T> {
    outer: &'a Outer<'a, T>,
    threads: usize,
    images: usize,
    groups: usize,
}

impl<T: Real> Work<T> for All<'_, T> {
    type Out = ();

    unsafe fn run<S: Simd<T = T>>(self) {
        let (o, vectors) = (self.outer, 2);
        let panels = o.blocks.div_ceil(vectors);
        let work = self.images * o.grid[0] * o.grid[1] * o.taps.len() * o.run * o.source.planes * o.blocks;
        let threads = self.threads.min(self.groups * work / TASK).max(1);
        if o.source.unit == 1 && self.groups == 1 && self.images > 1 && o.vectors() * S::LANES <= SUMS {
            // SAFETY: the caller's.
            return unsafe { by_images::<S>(o, threads, self.images) };
        }
        let (by_plane, by_panel) = split(o.source.planes, panels, threads.div_ceil(self.groups));
        pool::run(self.groups * by_plane * by_panel, threads, |i| {
            let (part, i) = (i % by_plane, i / by_plane);
            let (panel, group) = (i % by_panel, i / by_panel);
            let blocks = cut(panels, panel, by_panel);
            let blocks = blocks.start * vectors..(blocks.end * vectors).min(o.blocks);
            // SAFETY: the caller's; tasks have different planes or blocks.
            unsafe { task::<S>(o, self.images, group, cut(o.source.planes, part, by_plane), blocks) };
        });
    }
}

/// A first layer has few planes to share among threads, but few sums too: each part of the batch gets some of its own,
/// which are then added up.
unsafe fn by_images<S: Simd>(o: &Outer<'_, S::T>, threads: usize, images: usize) {
    let (parts, len) = (images.min(PARTS), o.vectors() * S::LANES);
    let room = Scratch::<S::T>::take(Slot::C, parts * len);
    let sums = Shared(room.ptr());
    pool::run(parts, threads, |part| {
        let mine = cut(images, part, parts);
        let (sums, dy) = (sums.at((part * len) as isize), o.dy.wrapping_add(mine.start * o.dy_image));
        let part = Outer { source: o.source.at(mine.start, 0), dy, sums, ..*o };
        // SAFETY: the caller's; each part has sums of its own.
        unsafe { task::<S>(&part, mine.len(), 0, 0..o.source.planes, 0..o.blocks) };
    });
    for i in 0..len {
        let of = |part: usize| sums.at((part * len + i) as isize);
        // SAFETY: all sums of all parts are there.
        unsafe { *o.sums.add(i) = (1..parts).fold(*of(0), |sum, part| sum + *of(part)) };
    }
}

fn cut(n: usize, k: usize, of: usize) -> Range<usize> {
    n * k / of..n * (k + 1) / of
}

/// How planes and panels are cut for so many threads, so that the last one ends early. Planes first: each of them is copied
/// by those who need it.
fn split(planes: usize, panels: usize, threads: usize) -> (usize, usize) {
    let mut best = (usize::MAX, (1, 1));
    for a in 1..=planes.min(2 * threads) {
        for b in 1..=panels.min(2 * threads) {
            if a * b > 2 * threads {
                continue;
            }
            let time = (a * b).div_ceil(threads) * planes.div_ceil(a) * panels.div_ceil(b) * 16 + a * b + b;
            if time < best.0 {
                best = (time, (a, b));
            }
        }
    }
    best.1
}

/// Some planes by some blocks, over all places.
unsafe fn task<S: Simd>(o: &Outer<'_, S::T>, images: usize, group: usize, planes: Range<usize>, blocks: Range<usize>) {
    if planes.is_empty() || blocks.is_empty() {
        return;
    }
    let flat = o.source.is_flat() && o.step == [1, 1] && o.taps == [[0, 0]] && o.grid == o.source.size;
    let grid = if flat { [1, o.grid[0] * o.grid[1]] } else { o.grid };
    let area = grid[0] * grid[1];
    let together = (PLACES / area.max(1)).max(1);
    let (bands, cols) = match flat {
        true => (1, area.div_ceil(PLACES).max(1)),
        false => (area.div_ceil(PLACES).clamp(1, grid[0].max(1)), 1),
    };
    let value = o.run * S::LANES;
    let (by_plane, by_block) = (o.taps.len() * value, o.source.planes * o.taps.len() * value);
    let first = o.source.at(0, group).part(planes.clone());
    let largest = grid[0].div_ceil(bands);
    // Every band has this many rows, or fewer.
    let look =
        |rows: Range<usize>| Look { rows, cols: o.grid[1], step: o.step, taps: o.taps, run: o.run, beside: true };
    let last = grid[0].saturating_sub(largest)..grid[0].max(1);
    let needs = first.needs(&look(0..largest.max(1))).max(first.needs(&look(last)));
    let room = Scratch::<S::T>::take(Slot::A, needs * together);
    let mut begun = false;
    for image in (0..images).step_by(together) {
        let count = together.min(images - image);
        for (rows, cols) in (0..bands)
            .flat_map(|b| (0..cols).map(move |c| (b, c)))
            .map(|(b, c)| (cut(grid[0], b, bands), cut(grid[1], c, cols)))
        {
            if rows.is_empty() || cols.is_empty() {
                continue;
            }
            let look = look(rows.clone());
            let mut band = None;
            let mut by_image = o.source.by_image;
            for n in 0..count {
                let x = Source { ptr: first.ptr.wrapping_offset((image + n) as isize * o.source.by_image), ..first };
                let size = x.needs(&look);
                if n > 0 && size == 0 {
                    break;
                }
                // SAFETY: there is room for as many as come together.
                let b: Band<S::T> = unsafe { x.band(&look, room.ptr().wrapping_add(n * size)) };
                by_image = if size == 0 { by_image } else { size as isize };
                band.get_or_insert(b);
            }
            let Some(band) = band else { continue };
            let mut block = blocks.start;
            while block < blocks.end {
                let vectors = if blocks.end - block > 1 { 2 } else { 1 };
                let most = most::<S>(vectors);
                let parts = o.run.div_ceil(most.min(VALUES));
                let dy = o.dy.wrapping_add(
                    image * o.dy_image
                        + (group * o.blocks + block) * o.dy_block
                        + (rows.start * o.grid[1] + cols.start) * S::LANES,
                );
                for (plane, number) in planes.clone().enumerate() {
                    let mut t = 0;
                    while t < o.taps.len() {
                        let tap = o.taps[t];
                        let x = band
                            .row(rows.start, o.step[0])
                            .wrapping_offset(plane as isize * band.by_plane + tap[0] * band.by_row)
                            .wrapping_offset(tap[1] * o.source.unit as isize)
                            .wrapping_add(cols.start * o.step[1] * o.source.unit);
                        let sums =
                            o.sums.wrapping_add((group * o.blocks + block) * by_block + number * by_plane + t * value);
                        let (runs, x_run) = evenly(&o.taps[t..], runs_of(o.run, most), |a, b| {
                            (b[0] - a[0]) * band.by_row + (b[1] - a[1]) * o.source.unit as isize
                        });
                        for part in 0..parts {
                            let values = cut(o.run, part, parts);
                            let job = Job {
                                images: count,
                                rows: rows.len(),
                                cols: cols.len(),
                                x: x.wrapping_add(values.start),
                                x_by: [by_image, band.by_row * o.step[0] as isize],
                                x_step: o.step[1] * o.source.unit,
                                x_run,
                                dy,
                                dy_by: [o.dy_image, o.grid[1] * S::LANES],
                                dy_block: o.dy_block,
                                sums: sums.wrapping_add(values.start * S::LANES),
                                by_block,
                                add: begun,
                            };
                            // SAFETY: the places lie in the band and in the gradient.
                            unsafe { multiply::<S>(runs, values.len(), vectors, &job) };
                        }
                        t += runs;
                    }
                }
                block += vectors;
            }
            begun = true;
        }
    }
    if !begun {
        for block in blocks {
            let p = o.sums.wrapping_add((group * o.blocks + block) * by_block + planes.start * by_plane);
            // SAFETY: these planes of the block are the task's.
            (0..planes.len() * by_plane).for_each(|i| unsafe { *p.add(i) = S::T::default() });
        }
    }
}

/// Runs of so many values that a tile takes together: only those of the lengths that instances are made for.
fn runs_of(len: usize, most: usize) -> usize {
    match len {
        3 if most >= 9 => 3,
        3 | 5 | 7 if most >= 2 * len => 2,
        _ => 1,
    }
}

/// How many of the first taps, `most` of them or one, are equally far apart, and how far.
fn evenly(taps: &[[isize; 2]], most: usize, apart: impl Fn(&[isize; 2], &[isize; 2]) -> isize) -> (usize, isize) {
    let mut gaps = taps.windows(2).map(|pair| apart(&pair[0], &pair[1]));
    let first = gaps.next().unwrap_or(0);
    let even = 2 + gaps.take_while(|gap| *gap == first).count();
    if taps.len() >= most && even >= most { (most, first) } else { (1, 0) }
}

/// One register tile over the places of a band.
struct Job<T> {
    images: usize,
    rows: usize,
    cols: usize,
    x: *const T,
    /// To the next image and row.
    x_by: [isize; 2],
    x_step: usize,
    /// To the next run.
    x_run: isize,
    dy: *const T,
    dy_by: [usize; 2],
    dy_block: usize,
    sums: *mut T,
    by_block: usize,
    /// Adds to sums that are there.
    add: bool,
}

/// `R` runs of `M` values by `V` blocks.
struct Run<'a, S: Simd, const R: usize, const M: usize, const V: usize>(&'a Job<S::T>);

impl<S: Simd, const R: usize, const M: usize, const V: usize> Body for Run<'_, S, R, M, V> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        if R * M > most::<S>(V) {
            debug_assert!(false, "a tile of {R} x {M} x {V}");
            return;
        }
        let j = self.0;
        // SAFETY: the job's operands are valid for a tile of this size.
        unsafe {
            let zero = S::splat(S::T::default());
            let mut acc = [[[zero; V]; M]; R];
            let (next, step) = (j.dy_block, j.x_step);
            for image in 0..j.images {
                for row in 0..j.rows {
                    let x = j.x.wrapping_offset(image as isize * j.x_by[0] + row as isize * j.x_by[1]);
                    let mut x = std::array::from_fn::<_, R, _>(|r| x.wrapping_offset(r as isize * j.x_run));
                    let mut dy = j.dy.wrapping_add(image * j.dy_by[0] + row * j.dy_by[1]);
                    macro_rules! place {
                        () => {
                            let mut g = [zero; V];
                            for v in 0..V {
                                g[v] = S::load(dy.add(v * next));
                            }
                            for r in 0..R {
                                repeat!(M, i, {
                                    let b = S::splat(*x[r].add(i));
                                    for v in 0..V {
                                        acc[r][i][v] = S::fma(b, g[v], acc[r][i][v]);
                                    }
                                });
                                x[r] = x[r].wrapping_add(step);
                            }
                            dy = dy.wrapping_add(S::LANES);
                        };
                    }
                    for _ in 0..j.cols / 2 {
                        place!();
                        place!();
                    }
                    if j.cols % 2 == 1 {
                        place!();
                    }
                }
            }
            for r in 0..R {
                repeat!(M, i, {
                    for v in 0..V {
                        let to = j.sums.add((r * M + i) * S::LANES + v * j.by_block);
                        let sum = if j.add { S::add(S::load(to), acc[r][i][v]) } else { acc[r][i][v] };
                        S::store(to, sum);
                    }
                });
            }
        }
    }
}

/// # Safety
/// The processor has the instructions of `S`, and the job's operands are valid for such a tile.
unsafe fn multiply<S: Simd>(runs: usize, values: usize, blocks: usize, job: &Job<S::T>) {
    macro_rules! instances {
        ($(($r:literal, $m:literal))*) => {
            // SAFETY: the caller's.
            unsafe {
                match (blocks, runs, values) {
                    $((1, $r, $m) => S::enter(Run::<S, $r, $m, 1>(job)),)*
                    $((2, $r, $m) => S::enter(Run::<S, $r, $m, 2>(job)),)*
                    _ => debug_assert!(false, "a tile of {runs} x {values} x {blocks}"),
                }
            }
        };
    }
    instances!((1, 1)(1, 2)(1, 3)(1, 4)(1, 5)(1, 6)(1, 7)(1, 8)(2, 3)(3, 3)(2, 5)(2, 7))
}
