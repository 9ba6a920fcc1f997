//! Reading and adding at positions along one axis, each row with positions of its own.
use crate::by_dtype;
use crate::convert::{copy_view, fill};
use crate::dispatch::Elem;
use crate::index::Bounds;
use crate::index::positions::{Positions, in_order};
use crate::view::{Cx, Mode, Out, View};
use crate::walk::{Shared, Walk};
use gluonish_base::{DType, Result, Scalar};

/// Elements that one task moves.
const CHUNK: usize = 1 << 15;

/// `out[a, j, b] = x[a, indices[a, j, b], b]` along `axis`; `indices` and `out` have one shape.
pub fn take(cx: &Cx, x: &View<'_>, indices: &View<'_>, axis: usize, out: &Out<'_>) -> Result {
    match out.mode {
        Mode::Write => {
            by_dtype!(bits x.dtype, T => each(cx, x, &out.view, indices, axis, |from: &mut T, to: &mut T| *to = *from))
        }
        Mode::Add => {
            by_dtype!(x.dtype, T => each(cx, x, &out.view, indices, axis, |from: &mut T, to: &mut T| *to = sum(*to, *from)))
        }
    }
}

/// `out[a, indices[a, j, b], b] += x[a, j, b]` along `axis`, over zeros when `out` is to be written.
pub fn put(cx: &Cx, x: &View<'_>, indices: &View<'_>, axis: usize, out: &Out<'_>) -> Result {
    if out.mode == Mode::Write {
        fill(cx, Scalar::Int(0), out)?;
    }
    by_dtype!(x.dtype, T => each(cx, &out.view, x, indices, axis, |to: &mut T, from: &mut T| *to = sum(*to, *from)))
}

/// Integers wrap in 64 bits; floats are added in float64, which no float type exceeds.
#[inline(always)]
fn sum<T: Elem>(a: T, b: T) -> T {
    if T::DTYPE.is_float() {
        T::from_f64(a.to_f64() + b.to_f64())
    } else {
        T::from_i64(a.to_i64().wrapping_add(b.to_i64()))
    }
}

/// Calls `f` with the place in `whole` that each index names and the place in `part` that belongs to the index. What lies
/// along the axis is done in order and by one task.
fn each<T: Copy>(
    cx: &Cx,
    whole: &View<'_>,
    part: &View<'_>,
    indices: &View<'_>,
    axis: usize,
    f: impl Fn(&mut T, &mut T) + Sync,
) -> Result {
    if part.size == 0 {
        return Ok(());
    }
    let lines = |indices: &View<'_>| Lines::new(whole, part, indices, axis);
    match indices.dtype {
        DType::I32 => lines(indices).run::<T, i32>(cx, &f),
        DType::I64 => lines(indices).run::<T, i64>(cx, &f),
        _ => with_plain(cx, indices, |plain| lines(plain).run::<T, i64>(cx, &f)),
    }
}

/// Calls `f` with the indices as contiguous int64.
fn with_plain(cx: &Cx, indices: &View<'_>, f: impl FnOnce(&View<'_>) -> Result) -> Result {
    // This only tells whether they are whole numbers, and below 2^63 where the conversion would wrap.
    let bounds = if indices.dtype == DType::U64 { Bounds::Strict } else { Bounds::Raise };
    Positions::new(indices, 0, i64::MAX as usize, bounds).check(cx.threads)?;
    let mut list = vec![0i64; indices.size];
    let strides = indices.shape.contiguous_strides();
    let view = View::contiguous(list.as_mut_ptr().cast(), DType::I64, indices.shape, &strides);
    copy_view(cx, indices, &Out { view, mode: Mode::Write })?;
    f(&view)
}

/// The lines along an axis of three operands: the array, its part, the indices.
struct Lines {
    walk: Walk<3>,
    steps: [isize; 3],
    axis: usize,
    size: usize,
    length: usize,
    places: [Shared<u8>; 3],
}

impl Lines {
    fn new(whole: &View<'_>, part: &View<'_>, indices: &View<'_>, axis: usize) -> Lines {
        let mut walk = Walk::<3>::default();
        let strides = |d: usize| [whole.strides[d], part.strides[d], indices.strides[d]];
        (0..part.ndim()).filter(|d| *d != axis).for_each(|d| walk.push(part.shape[d], strides(d)));
        Lines {
            walk: walk.coalesced(),
            steps: strides(axis),
            axis,
            size: whole.shape[axis] as usize,
            length: part.shape[axis] as usize,
            places: [whole, part, indices].map(|v| Shared(v.ptr)),
        }
    }

    /// Lines that are done together, index by index: neighbours in memory where the axis is not the last one.
    fn run<T: Copy, I: Elem>(&self, cx: &Cx, f: &(impl Fn(&mut T, &mut T) + Sync)) -> Result {
        const TOGETHER: usize = 256;
        let total = self.walk.size();
        let together = if self.steps[2] == 1 { 1 } else { TOGETHER };
        let each = (CHUNK / self.length.max(1)).max(1).next_multiple_of(together);
        in_order(total.div_ceil(each), cx.threads, |task| {
            let to = total.min((task + 1) * each);
            let mut places = [[0; 3]; TOGETHER];
            for from in (task * each..to).step_by(together) {
                let n = together.min(to - from);
                let mut k = 0;
                self.walk.for_each(from, from + n, |at| {
                    places[k] = at;
                    k += 1;
                });
                self.block::<T, I>(&places[..n], f)?;
            }
            Ok(())
        })
    }

    #[inline(always)]
    fn block<T: Copy, I: Elem>(&self, places: &[[isize; 3]], f: &impl Fn(&mut T, &mut T)) -> Result {
        let (whole, part) = (self.places[0].at(0).cast::<T>(), self.places[1].at(0).cast::<T>());
        let indices = self.places[2].at(0).cast::<I>();
        let n = self.size as i64;
        for j in 0..self.length as isize {
            for [w, p, i] in places {
                // SAFETY: the places come from the views' own dimensions, and the position was checked; this task alone
                // has these lines.
                unsafe {
                    let index = (*indices.offset(i + j * self.steps[2])).to_i64();
                    let at = index.wrapping_add(n & (index >> 63));
                    if at as u64 >= n as u64 {
                        return Err(self.outside(index));
                    }
                    let from = &mut *whole.offset(w + at as isize * self.steps[0]);
                    f(from, &mut *part.offset(p + j * self.steps[1]));
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn outside(&self, index: i64) -> gluonish_base::Error {
        gluonish_base::Cause::Index { index, axis: self.axis, size: self.size }.into()
    }
}
