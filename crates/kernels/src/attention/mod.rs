//! Attention without its matrix of scores: blocks of queries meet blocks of keys, and of each row only the largest score
//! and the sum of exponentials so far are kept, so memory is linear in the length. The gradient makes the scores again from
//! the logarithm of those sums.
//!
//! Tasks are heads, or parts of heads where there are few of them, by the shape alone. A query that sees no key gives zeros.
mod backward;
mod block;
mod forward;
mod lines;

pub use backward::{Grads, backward};
pub use forward::forward;

use crate::convert::{cast_fn, copy_view};
use crate::plain::Value;
use crate::room::{Room, room};
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::philox::philox;
use gluonish_base::{DType, Dims, Result, Ticket};

/// What attention does beside its products.
#[derive(Clone, Copy, Debug)]
pub struct How {
    pub scale: f64,
    /// Query `i` sees keys `0..=i` alone.
    pub causal: bool,
    /// Share of the weights that become 0, and the numbers that say which.
    pub dropout: f64,
    pub ticket: Ticket,
}

/// Heads from which each is a task.
const MANY: usize = 8;

/// Sizes of a call: queries (batch, heads, rows, width), keys and values (batch, groups, columns, width or depth).
#[derive(Clone, Copy)]
struct Sizes {
    batch: usize,
    heads: usize,
    groups: usize,
    rows: usize,
    columns: usize,
    width: usize,
    depth: usize,
}

impl Sizes {
    fn of(q: &View<'_>, k: &View<'_>, v: &View<'_>) -> Sizes {
        let n = |view: &View<'_>, d: usize| view.shape[d] as usize;
        Sizes {
            batch: n(q, 0),
            heads: n(q, 1),
            groups: n(k, 1),
            rows: n(q, 2),
            columns: n(k, 2),
            width: n(q, 3),
            depth: n(v, 3),
        }
    }
    /// Heads of queries that share the keys and values of a group.
    fn each(&self) -> usize {
        self.heads / self.groups.max(1)
    }
}

/// Matrices of heads whose rows are contiguous and can be read in whole vectors: where they lie, or copied.
struct Heads<T> {
    ptr: *const T,
    by: [isize; 3],
    held: Room<T>,
}
// SAFETY: only read, from memory that outlives the kernel.
unsafe impl<T: Sync> Sync for Heads<T> {}

impl<T: Value> Heads<T> {
    fn of(cx: &Cx, v: &View<'_>, lanes: usize) -> Result<Heads<T>> {
        let width = v.shape[3] as usize;
        let unit = v.strides[3] == 1 || width == 1;
        if v.dtype == T::DTYPE && unit && width.is_multiple_of(lanes) {
            return Ok(Heads { ptr: v.as_ptr(), by: [v.strides[0], v.strides[1], v.strides[2]], held: Room::EMPTY });
        }
        let wide = width.next_multiple_of(lanes);
        let [batch, heads, rows] = [0, 1, 2].map(|d| v.shape[d] as usize);
        let mut held = room::<T>(batch * heads * rows * wide)?;
        let by = [heads * rows * wide, rows * wide, wide].map(|n| n as isize);
        let strides = Dims::of(&[by[0], by[1], by[2], 1]);
        let view = View {
            ptr: held.as_mut_ptr().cast(),
            shape: v.shape,
            strides: &strides,
            dtype: T::DTYPE,
            contiguous: false,
            size: v.size,
            scalar: None,
        };
        copy_view(cx, v, &Out { view, mode: Mode::Write })?;
        Ok(Heads { ptr: held.as_ptr(), by, held })
    }
    fn row(&self, batch: usize, head: usize, row: usize) -> *const T {
        let p = if self.held.is_empty() { self.ptr } else { self.held.as_ptr() };
        p.wrapping_offset(batch as isize * self.by[0] + head as isize * self.by[1] + row as isize * self.by[2])
    }
    fn stride(&self) -> isize {
        self.by[2]
    }
}

/// A mask over (batch, heads, rows, columns), with a stride of 0 where it broadcasts.
#[derive(Clone, Copy)]
struct Mask {
    ptr: *const u8,
    dtype: DType,
    by: [isize; 4],
}
// SAFETY: as of `Heads`.
unsafe impl Sync for Mask {}

impl Mask {
    fn of(v: &View<'_>) -> Mask {
        let mut by = [0; 4];
        let from = 4 - v.ndim();
        for d in 0..v.ndim() {
            by[from + d] = if v.shape[d] == 1 { 0 } else { v.strides[d] };
        }
        Mask { ptr: v.ptr.cast_const(), dtype: v.dtype, by }
    }

    /// Applies a part of a row to scores: adds it, or hides where it is false.
    ///
    /// # Safety
    /// The place lies in the mask; `spare` is as long as `scores`.
    unsafe fn apply<T: Value>(&self, [b, h, i, j]: [usize; 4], scores: &mut [T], spare: &mut [T]) {
        let at = b as isize * self.by[0] + h as isize * self.by[1] + i as isize * self.by[2] + j as isize * self.by[3];
        let from = self.ptr.wrapping_offset(at * self.dtype.size() as isize);
        // SAFETY: the caller's; the mask has as many values from there on.
        unsafe { cast_fn(self.dtype, T::DTYPE)(spare.as_mut_ptr().cast(), 1, from, self.by[3], scores.len()) };
        if self.dtype == DType::Bool {
            for (s, m) in scores.iter_mut().zip(spare) {
                *s = if *m == T::default() { T::from_f64(f64::NEG_INFINITY) } else { *s };
            }
        } else {
            scores.iter_mut().zip(spare).for_each(|(s, m)| *s = *s + *m);
        }
    }
}

/// Which weights dropout keeps: the same numbers in both directions.
#[derive(Clone, Copy)]
struct Drop<T> {
    key: [u32; 2],
    limit: u64,
    scale: T,
}

impl<T: Value> Drop<T> {
    fn of(how: &How) -> Option<Drop<T>> {
        let scale = if how.dropout < 1.0 { 1.0 / (1.0 - how.dropout) } else { 0.0 };
        (how.dropout > 0.0).then(|| Drop {
            key: how.ticket.key(),
            limit: (how.dropout * (1u64 << 32) as f64) as u64,
            scale: T::from_f64(scale),
        })
    }
    /// Multiplies the weights from number `at` on.
    fn apply(&self, at: u64, weights: &mut [T]) {
        let mut words = [0; 4];
        for (i, w) in weights.iter_mut().enumerate() {
            let n = at + i as u64;
            if i == 0 || n.is_multiple_of(4) {
                let block = n / 4;
                words = philox([block as u32, (block >> 32) as u32, 0, 0], self.key);
            }
            *w = if u64::from(words[n as usize % 4]) < self.limit { T::default() } else { *w * self.scale };
        }
    }
}

/// What dropout multiplies the weights (batch, heads, rows, columns) with.
pub fn kept(cx: &Cx, how: &How, out: &Out<'_>) -> Result {
    crate::plain::with_value!(out.view.dtype, T => {
        let mut to = crate::plain::Target::<T>::of(out)?;
        // SAFETY: the output has so many values, which belong to this kernel.
        let all = unsafe { std::slice::from_raw_parts_mut(to.ptr(), out.view.size) };
        all.fill(1.0);
        if let Some(drop) = Drop::<T>::of(how) {
            drop.apply(0, all);
        }
        to.finish(cx)
    })
}

/// Writes down a ticket: seed, stream, counter.
pub fn write_ticket(cx: &Cx, ticket: Ticket, out: &Out<'_>) -> Result {
    let mut words = [ticket.seed as i64, i64::from(ticket.stream), ticket.counter as i64];
    let (shape, strides) = (Dims::of(&[3]), Dims::of(&[1]));
    copy_view(cx, &View::contiguous(words.as_mut_ptr().cast(), DType::I64, &shape, &strides), out)
}

/// The ticket that was written down.
pub fn read_ticket(v: &View<'_>) -> Result<Ticket> {
    let mut words = [0i64; 3];
    let (shape, strides) = (Dims::of(&[3]), Dims::of(&[1]));
    let view = View::contiguous(words.as_mut_ptr().cast(), DType::I64, &shape, &strides);
    copy_view(&Cx::default(), v, &Out { view, mode: Mode::Write })?;
    Ok(Ticket { seed: words[0] as u64, stream: words[1] as u32, counter: words[2] as u64 })
}
