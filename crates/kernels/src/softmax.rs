//! Softmax, its logarithm, and their gradients, along any axis of floating types.
//!
//! A block of values is worked on in the first cache in the computing type (float32, also for the half types, or float64):
//! where it lies if it lies well, else in buffers. A block is one row along the axis, or, where the axis is short or is not
//! the innermost, several columns side by side. A row too long for the cache is cut into pieces whose maxima and sums are
//! joined in order.
mod length;
pub(crate) mod row;
mod small;

use crate::linalg::in_lines;
use crate::map::{Class, Map};
use crate::reduce::{Acc, Fold, Max, Sink, Source, Sum, fold_rows, fold_tile, sum_type};
use crate::registers::Registers;
use crate::view::{Cx, Out, View};
use crate::walk::{Shared, Walk};
use gluonish_base::isa::isa;
use gluonish_base::{Cause, DType, Dims, Result, pool};
use row::Rows;
use smallvec::SmallVec;
use std::ops::Add;
use std::slice::from_raw_parts;

pub use length::softmax_of_length;

static DIV: Map = crate::map!(float | i, x, y | i.div(x, y));
static RECIPROCAL: Map = crate::map!(float | i, x | i.div(i.c(1.0), x));
static SUB: Map = crate::map!(float | i, x, y | i.sub(x, y));
static MUL: Map = crate::map!(float | i, x, y | i.mul(x, y));
static EXP: Map = crate::map!(float | i, x | i.exp(x));
static LOG: Map = crate::map!(float | i, x | i.log(x));
static EXP_BELOW: Map = crate::map!(float | i, x, top | i.exp(i.sub(x, top)));
static SOFTMAX_GRAD: Map = crate::map!(float | i, y, dy, dot | i.mul(i.sub(dy, dot), y));
static LOG_SOFTMAX_GRAD: Map = crate::map!(float | i, y, dy, total | i.sub(dy, i.mul(i.exp(y), total)));

/// `exp(x / temperature)` divided by its sum along `axis`.
pub fn softmax(cx: &Cx, x: &View<'_>, axis: usize, temperature: f64, out: &Out<'_>) -> Result {
    run(cx, x, None, axis, temperature, out, Step::Softmax)
}

/// `softmax` along the middle axis of `x` seen with three axes of these sizes.
pub fn softmax_between(cx: &Cx, x: &View<'_>, shape: &Dims, out: &Out<'_>) -> Result {
    in_lines(cx, x.dtype, &[*x], &[*out], |ins, outs| {
        let strides = shape.contiguous_strides();
        let view = View { shape, strides: &strides, ..outs[0].view };
        softmax(cx, &View { shape, strides: &strides, ..ins[0] }, 1, 1.0, &Out { view, mode: outs[0].mode })
    })
}

/// The logarithm of `softmax`, computed without forming it.
pub fn log_softmax(cx: &Cx, x: &View<'_>, axis: usize, temperature: f64, out: &Out<'_>) -> Result {
    run(cx, x, None, axis, temperature, out, Step::LogSoftmax)
}

/// Gradient of `softmax` from its result `y`: `(dy - sum(dy * y)) * y / temperature`.
pub fn softmax_grad(cx: &Cx, y: &View<'_>, dy: &View<'_>, axis: usize, temperature: f64, dx: &Out<'_>) -> Result {
    run(cx, y, Some(dy), axis, temperature, dx, Step::SoftmaxGrad)
}

/// Gradient of `log_softmax` from its result `y`: `(dy - exp(y) * sum(dy)) / temperature`.
pub fn log_softmax_grad(cx: &Cx, y: &View<'_>, dy: &View<'_>, axis: usize, temperature: f64, dx: &Out<'_>) -> Result {
    run(cx, y, Some(dy), axis, temperature, dx, Step::LogSoftmaxGrad)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Softmax,
    LogSoftmax,
    SoftmaxGrad,
    LogSoftmaxGrad,
}

impl Step {
    fn is_forward(self) -> bool {
        matches!(self, Step::Softmax | Step::LogSoftmax)
    }
}

fn run(cx: &Cx, x: &View<'_>, dy: Option<&View<'_>>, axis: usize, t: f64, out: &Out<'_>, step: Step) -> Result {
    if !x.dtype.is_float() || !out.view.dtype.is_float() {
        return Err(Cause::DType(format!("softmax is for floating types, not {}", x.dtype)).into());
    }
    if out.view.size > 0 {
        match sum_type(out.view.dtype) {
            DType::F64 if small::run(x, axis, t, out, step) => {}
            DType::F64 => Job::<f64>::new(x, dy, axis, t, out, step).run(cx.threads),
            _ if small::run(x, axis, t as f32, out, step) => {}
            _ => Job::<f32>::new(x, dy, axis, t as f32, out, step).run(cx.threads),
        }
    }
    Ok(())
}

/// Values that a block may have: they and a copy fit the first two caches.
const BLOCK: usize = 8192;
/// Rows longer than this are cut into blocks.
const LONG: usize = 8 * BLOCK;
/// Rows shorter than this are worked on as columns, many at once.
const SHORT: usize = 24;
/// Rows that are added up before their sum joins the total of the columns.
const ROWS: usize = 128;
/// Values of one row that are added up before their sum joins the total.
const TILE: usize = 1024;
/// Copies of a single value that the loops of a `Map` want to see.
const REPEAT: usize = crate::map::sweep::REPEAT / 4;

/// A floating type that blocks are computed in.
trait Real: Acc + Registers + PartialOrd + Add<Output = Self> {
    const CLASS: Class;
    type Largest: Fold<Self>;
    type Total: Fold<Self>;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    fn minus(self, b: Self) -> Self;
    fn times(self, b: Self) -> Self;
    fn over(self, b: Self) -> Self;
}
macro_rules! real {
    ($($t:ident $class:ident)*) => {$(
        impl Real for $t {
            const CLASS: Class = Class::$class;
            type Largest = Max;
            type Total = Sum;
            fn exp(self) -> Self { $t::exp(self) }
            fn ln(self) -> Self { $t::ln(self) }
            fn minus(self, b: Self) -> Self { self - b }
            fn times(self, b: Self) -> Self { self * b }
            fn over(self, b: Self) -> Self { self / b }
        }
    )*};
}
real! { f32 F32  f64 F64 }

/// A block of values in cache.
#[derive(Clone, Copy)]
enum Block {
    /// A row along the axis.
    Row(usize),
    /// `len` rows across the axis, each of `width` columns.
    Columns { len: usize, width: usize },
}

/// An operand of a loop over a block.
enum Operand<A> {
    /// One value for each of the block's.
    Each(*const A),
    /// One value for each column, or the one of the row.
    Stat(*const A),
    /// One value for the whole block.
    One(*const A),
}
use Operand::{Each, One, Stat};

impl Block {
    fn size(self) -> usize {
        match self {
            Block::Row(n) => n,
            Block::Columns { len, width } => len * width,
        }
    }

    /// Folds the block along the axis into one value for each column.
    fn fold<A: Real, F: Fold<A>>(self, x: &[A], stat: &mut Vec<A>) {
        stat.clear();
        match self {
            Block::Row(_) => {
                let v = x.chunks(TILE).fold(F::START, |total, tile| F::join(total, fold_tile::<A, F>(tile)));
                stat.resize(REPEAT, v);
            }
            Block::Columns { width, .. } => {
                stat.resize(width, F::START);
                let mut some = vec![F::START; width];
                for rows in x.chunks(ROWS * width) {
                    some.fill(F::START);
                    for few in rows.chunks(4 * width) {
                        let few: SmallVec<[&[A]; 4]> = few.chunks_exact(width).collect();
                        fold_rows::<A, F>(&mut some, &few);
                    }
                    fold_rows::<A, F>(stat, &[&some]);
                }
            }
        }
    }

    /// `out = map(operands)`, value by value; `out` may be an operand.
    ///
    /// # Safety
    /// Each pointer leads to as many values as its kind says (`REPEAT` for a single one), and `out` to a whole block.
    unsafe fn apply<A: Real, const N: usize>(self, map: &Map, out: *mut A, operands: [Operand<A>; N]) {
        let Some(looped) = map.get(A::CLASS, isa()) else { return };
        let (rows, n) = match self {
            Block::Row(n) => (1, n),
            Block::Columns { len, width } => (len, width),
        };
        let wide_stat = matches!(self, Block::Columns { .. });
        let advance = operands.iter().enumerate().fold(0, |bits, (k, o)| match o {
            Each(_) => bits | 1 << k,
            Stat(_) if wide_stat => bits | 1 << k,
            _ => bits,
        });
        for r in 0..rows {
            let ins: [*const u8; N] = std::array::from_fn(|k| match operands[k] {
                Each(p) => p.wrapping_add(r * n).cast(),
                Stat(p) | One(p) => p.cast(),
            });
            // SAFETY: the loop fits the machine; the pointers are what the caller promises, moved by whole rows.
            unsafe { looped(out.wrapping_add(r * n).cast(), ins.as_ptr(), advance, n) };
        }
    }
}

/// Where the values of a block are.
#[derive(Clone, Copy)]
struct Lines<A> {
    x: *const A,
    /// With a gradient.
    dy: *const A,
    out: *mut A,
}

impl<A> Lines<A> {
    fn moved(self, by: [isize; 3]) -> Lines<A> {
        Lines {
            x: self.x.wrapping_offset(by[0]),
            dy: self.dy.wrapping_offset(by[1]),
            out: self.out.wrapping_offset(by[2]),
        }
    }
}

/// Lines that several threads begin at, each to work on rows of its own.
struct Start<A>(Lines<A>);
// SAFETY: inputs are only read; rows of the result are written by one thread each.
unsafe impl<A: Sync> Sync for Start<A> {}
impl<A> Start<A> {
    fn get(&self) -> Lines<A>
    where
        A: Copy,
    {
        self.0
    }
}

/// Buffers of one task: the inputs and the result where they cannot stay in place, products or exponentials, one value per
/// column.
struct Scratch<A> {
    read: [Vec<A>; 2],
    out: Vec<A>,
    spare: Vec<A>,
    stat: Vec<A>,
    top: Vec<A>,
    temperature: [A; REPEAT],
}

impl<A: Real> Scratch<A> {
    fn new(temperature: A) -> Scratch<A> {
        let empty = Vec::new;
        let temperature = [temperature; REPEAT];
        Scratch { read: [empty(), empty()], out: empty(), spare: empty(), stat: empty(), top: empty(), temperature }
    }
}

struct Job<A> {
    x: Source<A>,
    dy: Option<Source<A>>,
    sink: Sink<A>,
    step: Step,
    temperature: A,
    len: usize,
    /// Strides along the axis, and the other dimensions: of `x`, of `dy` (or `x` again), of the output.
    along: [isize; 3],
    rest: Walk<3>,
}

impl<A: Real> Job<A> {
    fn new(x: &View<'_>, dy: Option<&View<'_>>, axis: usize, temperature: A, out: &Out<'_>, step: Step) -> Job<A> {
        let second = dy.unwrap_or(x);
        let strides = |d: usize| [x.strides[d], second.strides[d], out.view.strides[d]];
        let mut others: Vec<usize> = (0..x.ndim()).filter(|&d| d != axis).collect();
        others.sort_by_key(|&d| std::cmp::Reverse(x.strides[d].unsigned_abs()));
        let mut rest = Walk::default();
        others.iter().for_each(|&d| rest.push(x.shape[d], strides(d)));
        Job {
            x: Source::new(x, 0),
            dy: dy.map(|dy| Source::new(dy, 0)),
            sink: Sink::new(out, 0),
            step,
            temperature,
            len: x.shape[axis] as usize,
            along: strides(axis),
            rest: rest.coalesced(),
        }
    }

    fn run(&self, threads: usize) {
        let mut outer = self.rest;
        let (width, across) = outer.pop();
        let innermost = self.along[0].unsigned_abs() <= across[0].unsigned_abs() || width == 1;
        let rows = self.rest.size();
        if self.len > LONG {
            return self.rest.for_each(0, rows, |at| self.long_row(at, threads));
        }
        if (innermost && self.len >= SHORT) || width == 1 {
            let each = (BLOCK / self.len).max(1);
            if let Some((lines, apart)) = self.evenly() {
                return pool::run(rows.div_ceil(each), threads, |task| {
                    let (first, count) = (task * each, each.min(rows - task * each));
                    let lines = lines.get().moved(apart.map(|by| first as isize * by));
                    A::enter(Rows { lines, apart, count, n: self.len, step: self.step });
                });
            }
            return pool::run(rows.div_ceil(each), threads, |task| {
                let mut scratch = Scratch::new(self.temperature);
                self.rest.for_each(task * each, rows.min((task + 1) * each), |at| {
                    let block = Block::Row(self.len);
                    self.row(block, at, &mut scratch, |lines, s| {
                        A::enter(Rows { lines, apart: [0; 3], count: 1, n: self.len, step: self.step });
                        if self.dy.is_some() && self.is_cooled() {
                            // SAFETY: the result is a whole block.
                            unsafe { self.cool(block, lines.out, lines.out, s) };
                        }
                    });
                });
            });
        }
        let step = (BLOCK / self.len).clamp(32, 512).min(width);
        let blocks = width.div_ceil(step);
        let units = outer.size() * blocks;
        let each = (BLOCK / (self.len * step)).max(1);
        pool::run(units.div_ceil(each), threads, |task| {
            let mut scratch = Scratch::new(self.temperature);
            for unit in task * each..units.min((task + 1) * each) {
                let (group, col) = (unit / blocks, unit % blocks * step);
                let start = outer.offset(group);
                let at: [isize; 3] = std::array::from_fn(|i| start[i] + col as isize * across[i]);
                let width = step.min(width - col);
                let block = Block::Columns { len: self.len, width };
                let lines = self.lines(block, at, across, &mut scratch);
                self.statistics(block, lines, &mut scratch);
                self.finish(block, lines, &mut scratch);
                for (r, row) in scratch.out.chunks_exact(width).enumerate() {
                    // SAFETY: these columns are in the output and belong to this task.
                    unsafe { self.sink.write(at[2] + r as isize * self.along[2], across[2], row) };
                }
            }
        });
    }

    /// The first row and how far apart rows are, where all are equally far and can be worked on where they lie.
    fn evenly(&self) -> Option<(Start<A>, [isize; 3])> {
        let apart = match self.rest.shape.len() {
            0 => [0; 3],
            1 => std::array::from_fn(|k| self.rest.strides[k][0]),
            _ => return None,
        };
        let x = self.x.line(0, self.along[0])?;
        let dy = self.dy.as_ref().map_or(Some(std::ptr::null()), |dy| dy.line(0, self.along[1]))?;
        let out = self.sink.line(0, self.along[2])?;
        (!self.is_cooled()).then_some((Start(Lines { x, dy, out }), apart))
    }

    /// The block that begins at `at`, its inputs in place or read, and divided by the temperature; its result in a buffer.
    fn lines(&self, block: Block, at: [isize; 3], across: [isize; 3], s: &mut Scratch<A>) -> Lines<A> {
        let sources = [Some(&self.x), self.dy.as_ref()];
        let [x, dy] = std::array::from_fn(|k| {
            let (Some(source), buf) = (sources[k], &mut s.read[k]) else { return std::ptr::null() };
            if let Block::Columns { width, .. } = block {
                buf.resize(block.size(), A::default());
                for (r, row) in buf.chunks_exact_mut(width).enumerate() {
                    // SAFETY: the columns come from the view's own dimensions.
                    unsafe { source.read(at[k] + r as isize * self.along[k], across[k], row) };
                }
                return buf.as_ptr();
            }
            // SAFETY: so does the row.
            unsafe { source.strip(at[k], self.along[k], block.size(), buf) }.as_ptr()
        });
        s.out.resize(block.size(), A::default());
        let lines = Lines { x, dy, out: s.out.as_mut_ptr() };
        if self.dy.is_none() && self.is_cooled() {
            s.read[0].resize(block.size(), A::default());
            let cooled = s.read[0].as_mut_ptr();
            // SAFETY: both are whole blocks.
            unsafe { self.cool(block, x, cooled, s) };
            return Lines { x: cooled, ..lines };
        }
        lines
    }

    /// Calls `f` with a row or a piece of one, and sees to it that its result is stored.
    fn row(&self, block: Block, at: [isize; 3], s: &mut Scratch<A>, f: impl FnOnce(Lines<A>, &mut Scratch<A>)) {
        let lines = self.lines(block, at, [0; 3], s);
        if let Some(out) = self.sink.line(at[2], self.along[2]) {
            return f(Lines { out, ..lines }, s);
        }
        f(lines, s);
        // SAFETY: the row is in the output and belongs to the caller's task.
        unsafe { self.sink.write(at[2], self.along[2], &s.out) };
    }

    /// `from` divided by the temperature.
    ///
    /// # Safety
    /// `from` and `out` are whole blocks.
    unsafe fn cool(&self, block: Block, from: *const A, out: *mut A, s: &Scratch<A>) {
        // SAFETY: the caller's promise.
        unsafe { block.apply(&DIV, out, [Each(from), One(s.temperature.as_ptr())]) }
    }

    fn is_cooled(&self) -> bool {
        self.temperature != A::from_f64(1.0)
    }

    /// The sum (`stat`) and, without a gradient, the largest value (`top`) of each column. Of softmax, `out` then holds the
    /// exponentials; of its logarithm, the distances from the largest value.
    fn statistics(&self, block: Block, lines: Lines<A>, s: &mut Scratch<A>) {
        let Lines { x, dy, out } = lines;
        let n = block.size();
        s.spare.resize(n, A::default());
        let spare = s.spare.as_mut_ptr();
        // SAFETY: the lines are whole blocks, as is the spare one; `top` is made for them.
        unsafe {
            if self.dy.is_none() {
                block.fold::<A, A::Largest>(from_raw_parts(x, n), &mut s.top);
                self.begin(block, lines, s);
            }
            let summed = match self.step {
                Step::Softmax => out,
                Step::LogSoftmax => {
                    block.apply(&EXP, spare, [Each(out)]);
                    spare
                }
                Step::SoftmaxGrad => {
                    block.apply(&MUL, spare, [Each(x), Each(dy)]);
                    spare
                }
                Step::LogSoftmaxGrad => dy,
            };
            block.fold::<A, A::Total>(from_raw_parts(summed, n), &mut s.stat);
        }
    }

    /// What the largest value (`top`) is for: the exponentials or the distances, in `out`.
    ///
    /// # Safety
    /// The lines are whole blocks; `top` has a value for each column.
    unsafe fn begin(&self, block: Block, lines: Lines<A>, s: &Scratch<A>) {
        let Lines { x, out, .. } = lines;
        let top = Stat(s.top.as_ptr());
        // SAFETY: the caller's promise.
        unsafe {
            match self.step {
                Step::Softmax => block.apply(&EXP_BELOW, out, [Each(x), top]),
                Step::LogSoftmax => block.apply(&SUB, out, [Each(x), top]),
                Step::SoftmaxGrad | Step::LogSoftmaxGrad => {}
            }
        }
    }

    /// The result from the statistics; `out` is as they left it.
    fn finish(&self, block: Block, lines: Lines<A>, s: &mut Scratch<A>) {
        let Lines { x, dy, out } = lines;
        let stat = s.stat.as_mut_ptr();
        // SAFETY: the lines are whole blocks; `stat` has a value for each column.
        unsafe {
            match self.step {
                Step::Softmax => {
                    Block::Row(s.stat.len()).apply(&RECIPROCAL, stat, [Each(stat)]);
                    block.apply(&MUL, out, [Each(out), Stat(stat)]);
                }
                Step::LogSoftmax => {
                    Block::Row(s.stat.len()).apply(&LOG, stat, [Each(stat)]);
                    block.apply(&SUB, out, [Each(out), Stat(stat)]);
                }
                Step::SoftmaxGrad => block.apply(&SOFTMAX_GRAD, out, [Each(x), Each(dy), Stat(stat)]),
                Step::LogSoftmaxGrad => block.apply(&LOG_SOFTMAX_GRAD, out, [Each(x), Each(dy), Stat(stat)]),
            }
            if self.dy.is_some() && self.is_cooled() {
                self.cool(block, out, out, s);
            }
        }
    }

    /// A row that is cut into blocks: their statistics first, joined in order, then the results.
    fn long_row(&self, at: [isize; 3], threads: usize) {
        let blocks = self.len.div_ceil(BLOCK);
        let piece = |i: usize| {
            let n = BLOCK.min(self.len - i * BLOCK);
            (Block::Row(n), std::array::from_fn(|k| at[k] + (i * BLOCK) as isize * self.along[k]))
        };
        let mut parts = vec![(A::default(), A::default()); blocks];
        let to = Shared(parts.as_mut_ptr());
        pool::run(blocks, threads, |i| {
            let mut s = Scratch::new(self.temperature);
            let (block, start) = piece(i);
            let lines = self.lines(block, start, [0; 3], &mut s);
            self.statistics(block, lines, &mut s);
            // SAFETY: one place for each block, inside the vector, which outlives the region.
            unsafe { *to.at(i as isize) = (s.top.first().copied().unwrap_or_default(), s.stat[0]) };
        });
        let (top, total) = self.join(&parts);
        pool::run(blocks, threads, |i| {
            let mut s = Scratch::new(self.temperature);
            let (block, start) = piece(i);
            self.row(block, start, &mut s, |lines, s| {
                s.top.resize(REPEAT, top);
                s.stat.resize(REPEAT, total);
                // SAFETY: the lines are whole blocks, `top` is repeated.
                unsafe { self.begin(block, lines, s) };
                self.finish(block, lines, s);
            });
        });
    }

    /// The largest value of all pieces, and their sums brought to it.
    fn join(&self, parts: &[(A, A)]) -> (A, A) {
        let top = parts.iter().fold(A::Largest::START, |t, p| A::Largest::join(t, p.0));
        let forward = self.dy.is_none();
        let total = parts.iter().fold(A::Total::START, |total, &(piece_top, sum)| {
            // A piece of nothing but -inf adds nothing to others; by itself its sum is not a number.
            let nothing = forward && piece_top < top && piece_top == A::Largest::START;
            let sum = if nothing { A::default() } else { sum };
            A::Total::join(total, if forward { sum.times(piece_top.minus(top).exp()) } else { sum })
        });
        (top, total)
    }
}
