//! Reading and writing where a mask (of any type) is not zero.
use super::positions::STRIP;
use super::rows::{Mover, Rows};
use crate::by_dtype;
use crate::convert::fill;
use crate::dispatch::Elem;
use crate::view::{Cx, Mode, Out, View};
use crate::walk::{Shared, Walk};
use gluonish_base::{Cause, DType, Dims, Result, Scalar, pool};

/// Elements of the mask that one task goes through.
const CHUNK: usize = 16 * STRIP;
const ORDER: [u16; STRIP] = {
    let mut order = [0; STRIP];
    let mut i = 0;
    while i < STRIP {
        order[i] = i as u16;
        i += 1;
    }
    order
};

/// A mask, and how many elements are set before each chunk of it.
struct Set {
    ptr: Shared<u8>,
    walk: Walk<1>,
    dtype: DType,
    size: usize,
    /// One more than there are chunks: the last is the total.
    before: Vec<usize>,
}

impl Set {
    fn new(mask: &View<'_>, threads: usize) -> Set {
        let walk = Walk::new(mask.shape, [mask.strides]).coalesced();
        let mut set = Set { ptr: Shared(mask.ptr), walk, dtype: mask.dtype, size: mask.size, before: Vec::new() };
        let mut counts = vec![0; mask.size.div_ceil(CHUNK) + 1];
        let each = Shared(counts.as_mut_ptr());
        pool::run(set.chunks(), threads, |chunk| {
            let mut n = 0;
            set.strips(chunk, |from, len| n += set.count(from, len));
            // SAFETY: each chunk has a place of its own.
            unsafe { *each.at(chunk as isize + 1) = n };
        });
        for i in 1..counts.len() {
            counts[i] += counts[i - 1];
        }
        set.before = counts;
        set
    }

    fn chunks(&self) -> usize {
        self.size.div_ceil(CHUNK)
    }

    fn total(&self) -> usize {
        self.before.last().copied().unwrap_or(0)
    }

    /// Calls `f` with the first element and the length of each strip of a chunk.
    fn strips(&self, chunk: usize, mut f: impl FnMut(usize, usize)) {
        let to = self.size.min((chunk + 1) * CHUNK);
        (chunk * CHUNK..to).step_by(STRIP).for_each(|from| f(from, STRIP.min(to - from)));
    }

    #[inline(always)]
    fn each<T: Elem>(&self, from: usize, n: usize, mut f: impl FnMut(bool)) {
        let src = self.ptr.at(0).cast::<T>();
        let truth = |v: T| if T::DTYPE == DType::Bool { v.to_i64() != 0 } else { v.to_f64() != 0.0 };
        if self.walk.shape.len() == 1 && self.walk.strides[0][0] == 1 {
            // SAFETY: this and below: places of the mask's own dimensions.
            return unsafe { std::slice::from_raw_parts(src.add(from), n) }.iter().for_each(|v| f(truth(*v)));
        }
        // SAFETY: as above.
        self.walk.for_each(from, from + n, |[at]| f(truth(unsafe { *src.offset(at) })));
    }

    fn count(&self, from: usize, len: usize) -> usize {
        by_dtype!(self.dtype, T => {
            let mut n = 0u32;
            self.each::<T>(from, len, |set| n += set as u32);
            n as usize
        })
    }

    /// The positions of those that are set in a strip.
    fn read<'a>(&self, from: usize, len: usize, out: &'a mut [usize; STRIP]) -> &'a [usize] {
        let mut n = 0;
        by_dtype!(self.dtype, T => {
            let mut at = from;
            self.each::<T>(from, len, |set| {
                out[n.min(STRIP - 1)] = at;
                n += set as usize;
                at += 1;
            });
        });
        &out[..n]
    }

    /// For each group of rows and each strip: the group, how many are set before, and the positions of those that are.
    fn each_strip(&self, rows: &Rows, threads: usize, f: impl Fn([isize; 2], usize, &[usize]) + Sync) {
        let chunks = self.chunks();
        pool::run(rows.groups() * chunks, threads, |task| {
            let group = rows.group(task / chunks);
            let mut at = self.before[task % chunks];
            let mut space = [0; STRIP];
            self.strips(task % chunks, |from, len| {
                let numbers = self.read(from, len, &mut space);
                f(group, at, numbers);
                at += numbers.len();
            });
        });
    }
}

/// How many elements of the mask are not zero.
pub fn count(cx: &Cx, mask: &View<'_>) -> usize {
    Set::new(mask, cx.threads).total()
}

/// The positions in row-major order where the mask is not zero; `out` has `count(mask)` elements of int64.
pub fn flat_nonzero(cx: &Cx, mask: &View<'_>, out: &Out<'_>) -> Result {
    let set = Set::new(mask, cx.threads);
    check(&set, mask, out.view.shape, 0)?;
    let place = Shared(out.view.as_ptr::<i64>());
    let (stride, fresh) = (out.view.strides[0], out.mode == Mode::Write);
    pool::run(set.chunks(), cx.threads, |chunk| {
        let mut at = set.before[chunk] as isize;
        let mut space = [0; STRIP];
        set.strips(chunk, |from, len| {
            for n in set.read(from, len, &mut space) {
                // SAFETY: a place of the output that belongs to this chunk: `check` has counted them.
                unsafe {
                    let to = place.at(at * stride);
                    *to = *n as i64 + if fresh { 0 } else { *to };
                }
                at += 1;
            }
        });
    });
    Ok(())
}

/// The elements of `x`, from `axis` on numbered over the mask's dimensions, where the mask is not zero: `out` has one
/// dimension of `count(mask)` in their place.
pub fn compress(cx: &Cx, x: &View<'_>, mask: &View<'_>, axis: usize, out: &Out<'_>) -> Result {
    let set = Set::new(mask, cx.threads);
    check(&set, mask, out.view.shape, axis)?;
    if out.view.size > 0 {
        let rows = Rows::new(x, &out.view, axis, mask.ndim(), 1);
        let mover = Mover::into_output(x.dtype, out.mode);
        set.each_strip(&rows, cx.threads, |group, from, numbers| {
            // SAFETY: positions in the mask, whose dimensions `x` has, and the places of the list that are this strip's.
            unsafe { rows.fetch(group, from, numbers, mover) };
        });
    }
    Ok(())
}

/// Gradient of `compress`: what is in `dy` goes back to where it came from, the rest gets nothing.
pub fn expand(cx: &Cx, dy: &View<'_>, mask: &View<'_>, axis: usize, dx: &Out<'_>) -> Result {
    if dx.mode == Mode::Write {
        fill(cx, Scalar::Int(0), dx)?;
    }
    let set = Set::new(mask, cx.threads);
    check(&set, mask, dy.shape, axis)?;
    store(cx, &set, dy, mask, axis, dx);
    Ok(())
}

/// Writes to where the mask is not zero: one value for each, or the same for all where `value` has size 1 there.
pub fn assign(cx: &Cx, value: &View<'_>, mask: &View<'_>, axis: usize, out: &View<'_>) -> Result {
    let set = Set::new(mask, cx.threads);
    let (mut shape, mut strides) = (*value.shape, *value.strides);
    if shape[axis] == 1 {
        (shape[axis], strides[axis]) = (set.total() as isize, 0);
    }
    check(&set, mask, &shape, axis)?;
    let value = View { shape: &shape, strides: &strides, size: shape.size(), contiguous: false, ..*value };
    store(cx, &set, &value, mask, axis, &Out { view: *out, mode: Mode::Write });
    Ok(())
}

fn store(cx: &Cx, set: &Set, list: &View<'_>, mask: &View<'_>, axis: usize, out: &Out<'_>) {
    if list.size == 0 {
        return;
    }
    let rows = Rows::new(&out.view, list, axis, mask.ndim(), 1);
    let mover = Mover::into_output(list.dtype, out.mode);
    set.each_strip(&rows, cx.threads, |group, from, numbers| {
        // SAFETY: positions in the mask, each of them once, and the places of the list that belong to them.
        unsafe { rows.store(group, from, numbers, &ORDER[..numbers.len()], mover) };
    });
}

/// Whether a list of this shape has a place for each element that is set: the mask's values are only seen here, after the
/// shape was decided.
fn check(set: &Set, mask: &View<'_>, list: &Dims, axis: usize) -> Result {
    if list.get(axis) == Some(&(set.total() as isize)) {
        return Ok(());
    }
    let text =
        format!("a mask of shape {} with {} true values does not fit values of shape {list}", mask.shape, set.total());
    Err(Cause::Shape(text).into())
}
