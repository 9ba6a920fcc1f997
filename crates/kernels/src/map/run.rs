//! The executor: walks the tiles of a space and runs a body on each.
use super::body::{Body, Load, PASSED_ON, Step, Work};
use super::encoded::Encoded;
use super::layout::{Lie, Operand, Part, Space};
use super::program::Program;
use super::sweep::REPEAT;
use super::{CHUNK, Class, MAX_INPUTS, Map, scratch};
use crate::convert::{Side, cast_fn, copy_tile, packed};
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::isa::{Isa, isa};
use gluonish_base::{Cause, DType, Error, MAX_DIMS, Result, Scalar, pool};
use smallvec::SmallVec;

/// Bytes of tiles that a body works on: most of the nearest cache.
const BUDGET: usize = 24 << 10;
/// A tile has no more values than this, nor less than a quarter.
pub(super) const TILE: usize = 1024;
/// Of a tile with transposed operands only those are in buffers; the longer its rows are, the better the others are read.
const CROSSED: usize = 4 * TILE;

/// Runs a program over views: inputs are broadcast to the shape that the outputs share. An output may be the same view as
/// an input.
pub fn run(cx: &Cx, program: &Program, ins: &[View<'_>], outs: &[Out<'_>]) -> Result {
    let fits = ins.len() == program.inputs.len() && outs.len() == program.results.len();
    if !fits {
        let (i, o) = (program.inputs.len(), program.results.len());
        let given = format!("{} and {}", ins.len(), outs.len());
        return Err(Cause::Argument(format!("a program of {i} inputs and {o} outputs was given {given}")).into());
    }
    let wrong = |given: DType, declared: DType| -> Error {
        Cause::DType(format!("a program made for {declared} was given {given}")).into()
    };
    for (x, &d) in ins.iter().zip(&program.inputs) {
        if x.dtype != d && x.scalar.is_none() {
            return Err(wrong(x.dtype, d));
        }
    }
    for (o, d) in outs.iter().zip(program.outputs()) {
        if o.view.dtype != d {
            return Err(wrong(o.view.dtype, d));
        }
    }
    let size = outs.first().map_or(0, |o| o.view.size);
    execute(cx, program.body(), program.encoded(size), ins, outs)
}

/// Runs a body over views.
pub(super) fn execute(
    cx: &Cx,
    body: Body<'_>,
    encoded: Option<&Encoded>,
    ins: &[View<'_>],
    outs: &[Out<'_>],
) -> Result {
    let mut space = Space::new(outs.iter().map(|o| o.view), ins)?;
    if space.size() == 0 {
        return Ok(());
    }
    let lane = lane_size(&body);
    let buffers = body.loads.len() + body.slots + 1;
    // Long chains of loops would be called too often for rows.
    let rows = encoded.is_some() || body.steps.len() <= 2;
    let limit = if rows && space.transposed().is_some() {
        CROSSED
    } else {
        (BUDGET / (buffers * lane)).clamp(TILE / 4, TILE) & !63
    };
    space.cut(limit);
    let (tiles, values) = (space.tiles(), space.tile_values());
    let per = (CHUNK / values).max(1);
    let stride = (values * lane).next_multiple_of(64) + 64;
    let job = Job { space, body, encoded, ins, outs, rows, stride, isa: isa() };
    pool::run(tiles.div_ceil(per), cx.threads, |c| {
        let job = &job;
        scratch::with(job.bytes(), |memory| {
            let mut worker = Worker::new(job, memory);
            for t in c * per..tiles.min((c + 1) * per) {
                // SAFETY: the views are valid as `View` and `Out` say, and no two tiles share an output element.
                unsafe { worker.tile(t) };
            }
        });
    });
    Ok(())
}

/// Bytes of the widest lane in a body.
fn lane_size(body: &Body<'_>) -> usize {
    let casts = body
        .steps
        .iter()
        .map(|s| if let Work::Cast { from, via } = s.work { from.size().max(Class::of(via).size()) } else { 0 });
    let others = body.loads.iter().map(|l| l.class.size()).chain(body.outs.iter().map(|o| o.class.size()));
    casts.chain(others).max().unwrap_or(8)
}

struct Job<'a> {
    space: Space,
    body: Body<'a>,
    /// Stands in for the steps.
    encoded: Option<&'a Encoded>,
    ins: &'a [View<'a>],
    outs: &'a [Out<'a>],
    /// Operands in rows are worked on row by row, where they are.
    rows: bool,
    /// Bytes from one tile buffer to the next.
    stride: usize,
    isa: Isa,
}
// SAFETY: threads read the inputs and write disjoint tiles of the outputs, which outlive the call.
unsafe impl Sync for Job<'_> {}

impl Job<'_> {
    /// Scratch of one worker: single values of loads and constants, tiles of loads and slots, one tile to spare.
    fn bytes(&self) -> usize {
        let b = &self.body;
        (b.loads.len() + b.consts.len()) * REPEAT + (b.loads.len() + b.slots + 1) * self.stride
    }
}

/// What a thread keeps from tile to tile.
struct Worker<'a> {
    job: &'a Job<'a>,
    memory: *mut u8,
    /// Where each place is in this tile.
    places: SmallVec<[*mut u8; 12]>,
    /// Whether it is an array (1) or a single value (0).
    advance: SmallVec<[u8; 12]>,
    /// How far it is from row to row, in bytes, where a tile is worked on by rows.
    leap: SmallVec<[isize; 12]>,
    by_rows: bool,
    /// For each load, how it lies and what its buffer holds.
    lies: SmallVec<[Lie; 6]>,
    held: SmallVec<[*const u8; 6]>,
    extent: [usize; MAX_DIMS],
}

impl<'a> Worker<'a> {
    fn new(job: &'a Job<'a>, memory: *mut u8) -> Worker<'a> {
        let b = &job.body;
        let mut w = Worker {
            job,
            memory,
            places: SmallVec::from_elem(std::ptr::null_mut(), b.places()),
            advance: SmallVec::from_elem(1, b.places()),
            leap: SmallVec::from_elem(0, b.places()),
            by_rows: false,
            lies: SmallVec::from_elem(Lie::Scattered, b.loads.len()),
            held: SmallVec::from_elem(std::ptr::null(), b.loads.len()),
            extent: [0; MAX_DIMS],
        };
        for (k, (bytes, class)) in b.consts.iter().enumerate() {
            let at = w.single(b.loads.len() + k);
            // SAFETY: the place for single values is that large.
            unsafe { repeat(at, *bytes, class.size()) };
            w.places[b.loads.len() + k] = at;
            w.advance[b.loads.len() + k] = 0;
        }
        for k in 0..b.slots {
            w.places[b.first_slot() + k] = w.buffer(b.loads.len() + k);
        }
        w
    }

    /// Memory of a single value, repeated.
    fn single(&self, k: usize) -> *mut u8 {
        self.memory.wrapping_add(k * REPEAT)
    }
    /// Memory of a tile: loads, slots, and one more.
    fn buffer(&self, k: usize) -> *mut u8 {
        let b = &self.job.body;
        self.memory.wrapping_add((b.loads.len() + b.consts.len()) * REPEAT + k * self.job.stride)
    }

    /// # Safety
    /// The operands are valid, and no other thread works on this tile.
    unsafe fn tile(&mut self, index: usize) {
        let job = self.job;
        let p = job.space.part(index);
        let same = self.extent == p.extent;
        self.extent = p.extent;
        self.by_rows = false;
        // SAFETY: the caller's promise covers this tile; buffers hold a tile of the widest lanes each.
        unsafe {
            for k in 0..job.body.loads.len() {
                self.load(k, &p, same);
            }
            let direct = self.place_outputs(&p);
            if self.by_rows {
                self.rows(p.row(job.space.ndim), p.values);
            } else {
                self.steps(p.values);
            }
            for (k, out) in job.outs.iter().enumerate() {
                if direct & (1 << k) == 0 {
                    self.store(k, out, &p);
                }
            }
        }
    }

    /// # Safety
    /// As for `tile`; the operands of the steps are in place, for `n` values.
    #[inline]
    unsafe fn steps(&mut self, n: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.job.encoded {
                Some(code) => code.run(n, &self.places),
                None => self.job.body.steps.iter().for_each(|s| self.step(s, n)),
            }
        }
    }

    /// The steps for one row of `n` values after the other, so that operands in rows need not be gathered.
    ///
    /// # Safety
    /// As for `steps`, for `values` of the tile in all.
    unsafe fn rows(&mut self, n: usize, values: usize) {
        let first = self.places.clone();
        for _ in 0..values / n {
            // SAFETY: the caller's promise; each place moves on by its row.
            unsafe { self.steps(n) };
            self.places.iter_mut().zip(&self.leap).for_each(|(p, leap)| *p = p.wrapping_offset(*leap));
        }
        self.places = first;
    }

    /// Whether an operand of this lie can be worked on where it is, if nothing is to be converted.
    fn in_place(&mut self, lie: Lie) -> bool {
        let rows = lie == Lie::Rows && self.job.rows;
        self.by_rows |= rows;
        rows || lie == Lie::Packed
    }

    /// Bytes from row to row of an operand where it is.
    fn leap_of(&self, op: &Operand, p: &Part) -> isize {
        let ndim = self.job.space.ndim;
        if ndim < 2 || p.values == p.row(ndim) { 0 } else { op.strides[ndim - 2] * op.dtype.size() as isize }
    }

    /// Brings load `k` of a tile into reach: where it is, as one value, or converted into its buffer.
    ///
    /// # Safety
    /// As for `tile`.
    unsafe fn load(&mut self, k: usize, p: &Part, same: bool) {
        let job = self.job;
        let Load { input, class, last_read } = job.body.loads[k];
        let op = &job.space.operands[job.outs.len() + input as usize];
        let at = op.at(job.space.ndim, p);
        if !same {
            self.lies[k] = op.lie(job.space.ndim, p);
        }
        let kept = same && self.held[k] == at.cast_const();
        self.held[k] = at;
        let lie = self.lies[k];
        self.advance[k] = (lie != Lie::Single) as u8;
        self.leap[k] = 0;
        // SAFETY: `at` and its extent lie within the view; the buffers hold what is written to them.
        unsafe {
            if lie == Lie::Single {
                self.places[k] = self.single(k);
                if !kept {
                    let bytes = lane(class, at, op.dtype, job.ins[input as usize].scalar);
                    repeat(self.places[k], bytes, class.size());
                }
                if job.encoded.is_some() {
                    self.spread(k, class, p.values, kept);
                }
            } else if op.dtype == class.dtype() && last_read != PASSED_ON && self.in_place(lie) {
                self.places[k] = at;
                self.leap[k] = self.leap_of(op, p);
            } else {
                self.places[k] = self.buffer(k);
                self.leap[k] = (p.row(job.space.ndim) * class.size()) as isize;
                if !kept {
                    let strides = packed(job.space.ndim, &p.extent);
                    let dst = Side { ptr: self.places[k], dtype: class.dtype(), strides: &strides };
                    transfer(job.space.ndim, p, lie, dst, Side { ptr: at, dtype: op.dtype, strides: &op.strides });
                }
            }
        }
    }

    /// Repeats the single value of load `k` over its tile: encoded chains know arrays only.
    ///
    /// # Safety
    /// The place holds a single value; a tile has at least `n` values.
    unsafe fn spread(&mut self, k: usize, class: Class, n: usize, kept: bool) {
        let tile = self.buffer(k);
        if !kept {
            // SAFETY: the caller's promise.
            unsafe { cast_fn(class.dtype(), class.dtype())(tile, 1, self.single(k), 0, n) };
        }
        (self.places[k], self.advance[k]) = (tile, 1);
    }

    /// Points the slots of outputs to the outputs themselves where nothing is to be converted, scattered or added.
    /// Returns which ones.
    fn place_outputs(&mut self, p: &Part) -> u64 {
        let job = self.job;
        let mut direct = 0;
        for (k, (out, spec)) in job.outs.iter().zip(job.body.outs).enumerate().take(64) {
            let Some(made) = spec.made else { continue };
            let op = &job.space.operands[k];
            let slot = spec.place as usize - job.body.first_slot() + job.body.loads.len();
            let lie = op.lie(job.space.ndim, p);
            let plain = op.dtype == spec.class.dtype() && out.mode == Mode::Write;
            let first = !job.body.outs[..k].iter().any(|o| o.place == spec.place);
            let at = op.at(job.space.ndim, p);
            // Written over an input, it must be the last to read it; encoded chains read everything first.
            let late = job.encoded.is_some()
                || job.body.loads.iter().zip(&self.places).all(|(l, &from)| from != at || l.last_read <= made);
            let is_direct = plain && first && late && (p.values == 1 || self.in_place(lie));
            if first {
                let (place, leap) = if is_direct {
                    (at, self.leap_of(op, p))
                } else {
                    (self.buffer(slot), (p.row(job.space.ndim) * spec.class.size()) as isize)
                };
                (self.places[spec.place as usize], self.leap[spec.place as usize]) = (place, leap);
            }
            direct |= (is_direct as u64) << k;
        }
        direct
    }

    /// # Safety
    /// As for `tile`; the operands of the step are in place.
    #[inline]
    unsafe fn step(&mut self, s: &Step, n: usize) {
        let dst = self.places[s.dst as usize];
        // SAFETY: every place holds `n` lanes of the step's class, or a repeated value where it does not advance.
        unsafe {
            match s.work {
                Work::Loop(loops) => {
                    let mut p = [std::ptr::null::<u8>(); MAX_INPUTS];
                    let mut advance = 0;
                    for (k, &a) in s.args[..s.arity as usize].iter().enumerate() {
                        p[k] = self.places[a as usize];
                        advance |= (self.advance[a as usize] as u32) << k;
                    }
                    loops[self.job.isa as usize](dst, p.as_ptr(), advance, n);
                }
                Work::Cast { from, via } => {
                    let src = self.places[s.args[0] as usize];
                    let step = self.advance[s.args[0] as usize] as isize;
                    let to = Class::of(via).dtype();
                    let spare = self.buffer(self.job.body.loads.len() + self.job.body.slots);
                    let middle = if via == to { dst } else { spare };
                    cast_fn(from.dtype(), via)(middle, 1, src, step, n);
                    if via != to {
                        cast_fn(via, to)(dst, 1, spare, 1, n);
                    }
                }
            }
        }
    }

    /// Stores output `k` from its place: converted, scattered, added.
    ///
    /// # Safety
    /// As for `tile`.
    unsafe fn store(&mut self, k: usize, out: &Out<'_>, p: &Part) {
        let (ndim, op, spec) = (self.job.space.ndim, &self.job.space.operands[k], &self.job.body.outs[k]);
        let at = op.at(ndim, p);
        let lie = if p.values == 1 { Lie::Packed } else { op.lie(ndim, p) };
        let target = Side { ptr: at, dtype: op.dtype, strides: &op.strides };
        let strides = packed(ndim, &p.extent);
        let (mut src, mut step) = (self.places[spec.place as usize], self.advance[spec.place as usize]);
        let spare = self.buffer(self.job.body.loads.len() + self.job.body.slots);
        // SAFETY: the place holds a tile or a single value; the output's tile is this thread's alone.
        unsafe {
            if out.mode == Mode::Add {
                let tile = Side { ptr: spare, dtype: spec.class.dtype(), strides: &strides };
                transfer(ndim, p, lie, tile, target);
                let sum = &SUM.loops[spec.class as usize];
                if let Some(loops) = sum {
                    let operands = [spare.cast_const(), src.cast_const()];
                    loops[self.job.isa as usize](spare, operands.as_ptr(), 1 | (step as u32) << 1, p.values);
                }
                (src, step) = (spare, 1);
            }
            if step == 1 {
                transfer(ndim, p, lie, target, Side { ptr: src, dtype: spec.class.dtype(), strides: &strides });
            } else {
                copy_tile(
                    ndim,
                    &p.extent,
                    target,
                    Side { ptr: src, dtype: spec.class.dtype(), strides: &[0; MAX_DIMS] },
                );
            }
        }
    }
}

pub(super) static SUM: Map = crate::map!(num | i, a, b | i.add(a, b));

/// Copies a tile between an operand and a buffer; in one run where the operand has no gaps.
///
/// # Safety
/// Both sides are valid for the part; `lie` is the operand's.
#[inline]
unsafe fn transfer(ndim: usize, p: &Part, lie: Lie, dst: Side<'_>, src: Side<'_>) {
    // SAFETY: the caller's promise.
    unsafe {
        if lie == Lie::Packed {
            cast_fn(src.dtype, dst.dtype)(dst.ptr, 1, src.ptr, 1, p.values);
        } else {
            copy_tile(ndim, &p.extent, dst, src);
        }
    }
}

/// One element as a lane of a class; a Python number keeps its own precision.
///
/// # Safety
/// `at` is a valid element of the type, unless there is a number.
#[inline(always)]
pub(super) unsafe fn lane(class: Class, at: *const u8, dtype: DType, number: Option<Scalar>) -> [u8; 8] {
    match (number, class) {
        (Some(s), Class::F32) => {
            let [a, b, c, d] = (s.as_f64() as f32).to_ne_bytes();
            [a, b, c, d, 0, 0, 0, 0]
        }
        (Some(s), Class::F64) => s.as_f64().to_ne_bytes(),
        (Some(s), _) => s.to_bytes(class.dtype()),
        (None, _) => {
            let mut bytes = [0; 8];
            // SAFETY: one element each; a lane has at most eight bytes.
            unsafe { cast_fn(dtype, class.dtype())(bytes.as_mut_ptr(), 1, at, 1, 1) };
            bytes
        }
    }
}

/// Repeats a lane over `REPEAT` bytes.
///
/// # Safety
/// That much is writable at `at`.
#[inline(always)]
pub(super) unsafe fn repeat(at: *mut u8, bytes: [u8; 8], size: usize) {
    let [a, b, c, d, ..] = bytes;
    let word = u64::from_ne_bytes(if size == 4 { [a, b, c, d, a, b, c, d] } else { bytes });
    // SAFETY: the caller's promise.
    unsafe { at.cast::<[u64; REPEAT / 8]>().write_unaligned([word; REPEAT / 8]) }
}
