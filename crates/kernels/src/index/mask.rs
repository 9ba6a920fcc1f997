//! Reading and writing where a mask (of any type) is not zero.
use super::positions::STRIP;
use super::rows::{Mover, Rows};
use crate::convert::fill;
use crate::dispatch::Elem;
use crate::view::{Cx, Mode, Out, View};
use crate::walk::{Shared, Walk};
use crate::{by_dtype, per_isa};
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
            set.strips(chunk, |from, len| n += sum(&set.truths(from, len)));
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

    /// A strip as bytes, 1 where the mask is set, and zeros after it.
    fn truths(&self, from: usize, len: usize) -> [u8; STRIP] {
        let mut truths = [0; STRIP];
        by_dtype!(self.dtype, T => {
            let src = self.ptr.at(0).cast::<T>();
            if self.walk.shape.len() == 1 && self.walk.strides[0][0] == 1 {
                // SAFETY: this and below: places of the mask's own dimensions.
                mark(unsafe { std::slice::from_raw_parts(src.add(from), len) }, &mut truths);
            } else {
                let mut marks = truths.iter_mut();
                self.walk.for_each(from, from + len, |[at]| {
                    if let Some(m) = marks.next() {
                        // SAFETY: as above.
                        *m = is_set(unsafe { *src.offset(at) }) as u8;
                    }
                });
            }
        });
        truths
    }

    /// The positions of those that are set in a strip.
    fn read<'a>(&self, from: usize, len: usize, out: &'a mut Places) -> &'a [usize] {
        let n = places(&self.truths(from, len), from, out);
        &out[..n]
    }

    /// For each group of rows and each strip: the group, how many are set before, and the positions of those that are.
    fn each_strip(&self, rows: &Rows, threads: usize, f: impl Fn([isize; 2], usize, &[usize]) + Sync) {
        let chunks = self.chunks();
        pool::run(rows.groups() * chunks, threads, |task| {
            let group = rows.group(task / chunks);
            let mut at = self.before[task % chunks];
            let mut space = [0; STRIP + 8];
            self.strips(task % chunks, |from, len| {
                let numbers = self.read(from, len, &mut space);
                f(group, at, numbers);
                at += numbers.len();
            });
        });
    }
}

/// Room for the positions of a strip: the last eight may be written though fewer are meant.
type Places = [usize; STRIP + 8];

/// For every eight bits, where those that are set stand.
static SET: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut k, mut n) = (0, 0);
        while k < 8 {
            if bits >> k & 1 == 1 {
                table[bits][n] = k as u8;
                n += 1;
            }
            k += 1;
        }
        bits += 1;
    }
    table
};

#[inline(always)]
fn is_set<T: Elem>(v: T) -> bool {
    match T::DTYPE {
        DType::F64 => v.to_f64() != 0.0,
        d if d.is_float() => v.to_f32() != 0.0,
        _ => v.to_i64() != 0,
    }
}

// Plain loops: adapters of iterators may not become part of code for an instruction set.
per_isa! {
    /// 1 for each value that is not zero.
    fn mark[T: Elem](values: &[T], truths: &mut [u8; STRIP]) {
        for k in 0..values.len().min(STRIP) {
            truths[k] = is_set(values[k]) as u8;
        }
    }
}

per_isa! {
    fn sum(truths: &[u8; STRIP]) -> usize {
        let mut n = 0u32;
        for t in truths {
            n += *t as u32;
        }
        n as usize
    }
}

per_isa! {
    /// The positions of the ones in a strip that begins at `from`; returns how many there are.
    fn places(truths: &[u8; STRIP], from: usize, out: &mut Places) -> usize {
        let (eights, _) = truths.as_chunks::<8>();
        let (mut n, mut at) = (0, from);
        for eight in eights {
            let eight = u64::from_le_bytes(*eight);
            // The product's highest byte gathers the ones as bits, or adds them up.
            let set = SET[(eight.wrapping_mul(0x0102_0408_1020_4080) >> 56) as usize];
            let mut eight_places = [0; 8];
            for j in 0..8 {
                eight_places[j] = at + set[j] as usize;
            }
            // SAFETY: at most eight for each eight before, so eight more fit.
            unsafe { out.as_mut_ptr().add(n).cast::<[usize; 8]>().write(eight_places) };
            n += (eight.wrapping_mul(0x0101_0101_0101_0101) >> 56) as usize;
            at += 8;
        }
        n
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
        let mut space = [0; STRIP + 8];
        set.strips(chunk, |from, len| {
            let numbers = set.read(from, len, &mut space);
            // SAFETY: places of the output that belong to this chunk: `check` has counted them.
            unsafe {
                if fresh && stride == 1 {
                    std::ptr::copy_nonoverlapping(numbers.as_ptr().cast(), place.at(at), numbers.len());
                } else {
                    for (k, n) in (at..).zip(numbers) {
                        let to = place.at(k * stride);
                        *to = *n as i64 + if fresh { 0 } else { *to };
                    }
                }
            }
            at += numbers.len() as isize;
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
