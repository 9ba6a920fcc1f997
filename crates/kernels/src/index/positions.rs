//! Reading indices: from any type to checked positions, a strip at a time.
use super::Bounds;
use crate::dispatch::Elem;
use crate::view::View;
use crate::walk::{Shared, Walk};
use crate::{by_dtype, per_isa};
use gluonish_base::{Cause, DType, Dims, Error, Result, pool};
use std::sync::{Mutex, PoisonError};

/// Positions that are read at once: they stay in the nearest cache.
pub(crate) const STRIP: usize = 1024;
/// Indices that one task checks.
const CHUNK: usize = 1 << 16;

/// Indices that name positions among `size` elements. They are read strip by strip: a list of them all would be more memory
/// traffic than what they point to.
pub(crate) struct Positions {
    ptr: Shared<u8>,
    walk: Walk<1>,
    dtype: DType,
    pub(crate) count: usize,
    axis: usize,
    size: usize,
    bounds: Bounds,
}

impl Positions {
    /// `axis` is what errors name.
    pub(crate) fn new(indices: &View<'_>, axis: usize, size: usize, bounds: Bounds) -> Positions {
        Positions::over(indices, indices.shape, axis, size, bounds)
    }

    /// The same, repeated over a shape that the indices broadcast to.
    pub(crate) fn over(indices: &View<'_>, shape: &Dims, axis: usize, size: usize, bounds: Bounds) -> Positions {
        let strides = indices.shape.broadcast_strides(indices.strides, shape);
        Positions {
            ptr: Shared(indices.ptr),
            walk: Walk::new(shape, [&strides]).coalesced(),
            dtype: indices.dtype,
            count: shape.size(),
            axis,
            size,
            bounds,
        }
    }

    /// Positions `from..from + out.len()` in row-major order.
    pub(crate) fn read(&self, from: usize, out: &mut [usize]) -> Result {
        let n = self.size as i64;
        let good = match self.bounds {
            _ if n == 0 => out.is_empty(),
            Bounds::Clip => self.fix(from, out, n, |i| i.max(0).min(n - 1)),
            Bounds::Wrap => self.fix(from, out, n, |i| if (0..n).contains(&i) { i } else { i.rem_euclid(n) }),
            Bounds::Raise => self.fix(from, out, n, |i| i.wrapping_add(n & (i >> 63))),
            Bounds::Strict => self.fix(from, out, n, |i| i),
        };
        if good { Ok(()) } else { Err(self.blame(from, out.len())) }
    }

    /// As `read`, but what is out of range is `size`, whatever the bounds say.
    pub(super) fn read_inside(&self, from: usize, out: &mut [usize]) -> Result {
        let n = self.size as i64;
        let good = self.fix(from, out, n + 1, |i| if (0..n).contains(&i) { i } else { n });
        if good { Ok(()) } else { Err(self.blame(from, out.len())) }
    }

    /// Every position, for those who go through them several times.
    pub(super) fn all(&self) -> Result<Vec<usize>> {
        let mut all = vec![0; self.count];
        self.read(0, &mut all)?;
        Ok(all)
    }

    /// The error of the first index that has no position, if there is one.
    pub(crate) fn check(&self, threads: usize) -> Result {
        in_order(self.count.div_ceil(CHUNK), threads, |task| {
            let mut strip = [0; STRIP];
            let to = self.count.min((task + 1) * CHUNK);
            (task * CHUNK..to).step_by(STRIP).try_for_each(|at| self.read(at, &mut strip[..STRIP.min(to - at)]))
        })
    }

    /// Whether the fraction of an index is cut off, as Gluon does, or refused, as NumPy does.
    fn cuts(&self) -> bool {
        matches!(self.bounds, Bounds::Clip | Bounds::Wrap)
    }

    /// Fills the strip with `fix(index)`. False: an index is no whole number, or what it was fixed to is not below `limit`.
    #[inline]
    fn fix(&self, from: usize, out: &mut [usize], limit: i64, fix: impl Fn(i64) -> i64) -> bool {
        let cut = self.cuts();
        by_dtype!(self.dtype, T => {
            if self.walk.shape.len() == 1 && self.walk.strides[0][0] == 1 {
                let first = self.ptr.at(0).cast::<T>().wrapping_add(from);
                // SAFETY: places of the indices' own dimension.
                return fix_line(unsafe { std::slice::from_raw_parts(first, out.len()) }, cut, limit, fix, out);
            }
            let mut good = true;
            self.each::<T>(from, out, |v, to| good &= fix_one(v, cut, limit, &fix, to));
            good
        })
    }

    #[inline(always)]
    fn each<T: Elem>(&self, from: usize, out: &mut [usize], mut f: impl FnMut(T, &mut usize)) {
        let src = self.ptr.at(0).cast::<T>();
        match self.walk.shape.len() {
            0 => {
                // SAFETY: this and those below are places of the indices' own dimensions.
                out.iter_mut().for_each(|to| f(unsafe { *src }, to));
            }
            1 => {
                let stride = self.walk.strides[0][0];
                // SAFETY: as above.
                let value = |i: usize| unsafe { *src.offset((from + i) as isize * stride) };
                out.iter_mut().enumerate().for_each(|(i, to)| f(value(i), to));
            }
            _ => {
                let mut places = out.iter_mut();
                self.walk.for_each(from, from + places.len(), |[at]| {
                    if let Some(to) = places.next() {
                        // SAFETY: as above.
                        f(unsafe { *src.offset(at) }, to);
                    }
                });
            }
        }
    }

    /// The error of the first bad index of a strip.
    #[cold]
    fn blame(&self, from: usize, count: usize) -> Error {
        by_dtype!(self.dtype, T => {
            let mut first = None;
            let mut sink = vec![0; count];
            let mut place = from;
            self.each::<T>(from, &mut sink, |v, _| {
                if first.is_none() {
                    first = self.fault(v, place);
                }
                place += 1;
            });
            first.unwrap_or_else(|| Cause::Failed("an index changed while it was read".into()).into())
        })
    }

    /// What is wrong with the index at a place, if anything is.
    fn fault<T: Elem>(&self, v: T, place: usize) -> Option<Error> {
        let (i, whole) = integer(v, self.cuts());
        if !whole {
            let text = format!(
                "an index must be a whole number, not {} (number {place} of the indices, into axis {} of size {})",
                v.to_f64(),
                self.axis,
                self.size
            );
            return Some(Cause::Value(text).into());
        }
        let n = self.size as i64;
        let inside = match self.bounds {
            _ if n == 0 => false,
            Bounds::Clip | Bounds::Wrap => true,
            Bounds::Raise => (-n..n).contains(&i),
            Bounds::Strict => (0..n).contains(&i),
        };
        (!inside).then(|| Cause::Index { index: i, axis: self.axis, size: self.size }.into())
    }
}

/// Stores what an index is fixed to; false if it is no whole number or then not below `limit`.
#[inline(always)]
fn fix_one<T: Elem>(v: T, cut: bool, limit: i64, fix: &impl Fn(i64) -> i64, to: &mut usize) -> bool {
    let (i, whole) = integer(v, cut);
    let at = fix(i);
    *to = at as usize;
    whole & ((at as u64) < limit as u64)
}

per_isa! {
    fn fix_line[T: Elem, F: Fn(i64) -> i64](line: &[T], cut: bool, limit: i64, fix: F, out: &mut [usize]) -> bool {
        let mut good = true;
        // By number: an iterator may not become part of code for an instruction set.
        for k in 0..line.len().min(out.len()) {
            good &= fix_one(line[k], cut, limit, &fix, &mut out[k]);
        }
        good
    }
}

/// An index as an integer, and whether it is one, or becomes one as its fraction is cut off. Beyond 64 bits it saturates:
/// that is out of any range.
#[inline(always)]
fn integer<T: Elem>(v: T, cut: bool) -> (i64, bool) {
    if T::DTYPE.is_float() {
        let f = v.to_f64();
        return (f as i64, (cut | (f.trunc() == f)) & f.is_finite());
    }
    let i = v.to_i64();
    (if T::DTYPE == DType::U64 && i < 0 { i64::MAX } else { i }, true)
}

/// Runs the tasks and returns the error of the first, in their order, that failed.
pub(crate) fn in_order(tasks: usize, threads: usize, f: impl Fn(usize) -> Result + Sync) -> Result {
    let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    pool::run(tasks, threads, |task| {
        if let Err(e) = f(task) {
            let mut first = failed.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(t, _)| task < *t) {
                *first = Some((task, e));
            }
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, e)| Err(e))
}
