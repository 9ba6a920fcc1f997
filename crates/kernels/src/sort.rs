//! Sorting along an axis. Everything is stable, and NaN comes last in both directions.
mod key;
mod order;

use crate::dispatch::Elem;
use crate::reduce::{Sink, add_elements};
use crate::view::{Cx, Mode, Out, View};
use crate::walk::{Shared, Walk};
use crate::{by_dtype, per_isa};
use gluonish_base::{Cause, DType, Result, pool};
use key::{Item, Key32, Key64, Pair32, Pair64, element, is_narrow, key};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The values in order. (-0 comes before 0.)
pub fn sort(cx: &Cx, x: &View<'_>, axis: usize, ascending: bool, out: &Out<'_>) -> Result {
    let job = Job { ascending, zeros: true, ..Job::new(x, axis, length(x, axis)) }.narrowed(cx, x);
    let (target, views) = (Target::new(out), [x, &out.view, x]);
    if job.narrow {
        job.run::<Key32>(cx, views, |at, along, items| target.put_keys(items, &job, at[1], along[1]));
    } else {
        job.run::<Key64>(cx, views, |at, along, items| target.put_keys(items, &job, at[1], along[1]));
    }
    Ok(())
}

/// The positions of the values in order; `out` may have any type, usually int64.
pub fn argsort(cx: &Cx, x: &View<'_>, axis: usize, ascending: bool, out: &Out<'_>) -> Result {
    topk(cx, x, axis, ascending, None, Some(out))
}

/// The first `k` of the sorted values and their positions, each if asked for; `k` is the size of the outputs' axis, at
/// most that of `x`.
pub fn topk(
    cx: &Cx,
    x: &View<'_>,
    axis: usize,
    ascending: bool,
    values: Option<&Out<'_>>,
    indices: Option<&Out<'_>>,
) -> Result {
    let Some(shaped) = values.or(indices) else { return Ok(()) };
    let k = length(&shaped.view, axis);
    check(k, x, axis)?;
    let job = Job { ascending, ..Job::new(x, axis, k) }.narrowed(cx, x);
    let sink = indices.map(|o| Sink::<i64>::new(o, 0));
    let target = values.map(Target::new);
    let views = [x, values.map_or(x, |o| &o.view), indices.map_or(x, |o| &o.view)];
    job.run_pairs(cx, views, |at, along, positions| {
        if let Some(target) = &target {
            target.put_from(job.ptr, positions, at, along);
        }
        if let Some(sink) = &sink {
            // SAFETY: the row is in the output and belongs to this task.
            unsafe { sink.write(at[2], along[2], positions) };
        }
    });
    Ok(())
}

/// 1 where a value is among the first `k` of its row, else 0.
pub fn topk_mask(cx: &Cx, x: &View<'_>, axis: usize, k: usize, ascending: bool, out: &Out<'_>) -> Result {
    check(k, x, axis)?;
    let job = Job { ascending, ..Job::new(x, axis, k) }.narrowed(cx, x);
    let sink = Sink::<i64>::new(out, 0);
    job.run_pairs(cx, [x, &out.view, x], |at, along, positions| {
        let mut mask = vec![0; job.n];
        positions.iter().for_each(|p| mask[*p as usize] = 1);
        // SAFETY: the row is in the output and belongs to this task.
        unsafe { sink.write(at[1], along[1], &mask) };
    });
    Ok(())
}

fn length(x: &View<'_>, axis: usize) -> usize {
    x.shape[axis] as usize
}

fn check(k: usize, x: &View<'_>, axis: usize) -> Result {
    if k <= length(x, axis) {
        return Ok(());
    }
    let text = format!("k={k} is more than the {} values along axis {axis} of {}", length(x, axis), x.shape);
    Err(Cause::Value(text).into())
}

/// Elements of one task.
const CHUNK: usize = 1 << 14;

struct Job {
    ptr: Shared<u8>,
    dtype: DType,
    axis: usize,
    /// Length of a row, and how many of it are wanted.
    n: usize,
    k: usize,
    ascending: bool,
    /// Whether -0 and 0 differ.
    zeros: bool,
    /// Whether keys fit 32 bits once `base` is taken off.
    narrow: bool,
    base: u64,
}

impl Job {
    fn new(x: &View<'_>, axis: usize, k: usize) -> Job {
        Job {
            ptr: Shared(x.ptr),
            dtype: x.dtype,
            axis,
            n: length(x, axis),
            k,
            ascending: true,
            zeros: false,
            narrow: is_narrow(x.dtype),
            base: 0,
        }
    }

    /// Looks whether the keys of a wide type lie near enough to each other to be sorted as narrow ones.
    fn narrowed(mut self, cx: &Cx, x: &View<'_>) -> Job {
        if self.narrow || x.size == 0 {
            return self;
        }
        let (walk, size) = (Walk::new(x.shape, [x.strides]).coalesced(), x.size);
        let (least, most) = (AtomicU64::new(u64::MAX), AtomicU64::new(0));
        let near = || most.load(Relaxed).saturating_sub(least.load(Relaxed)) <= u32::MAX as u64;
        pool::run(size.div_ceil(CHUNK), cx.threads, |task| {
            let (mut low, mut high) = (u64::MAX, 0);
            if near() {
                by_dtype!(self.dtype, T => walk.for_each(task * CHUNK, size.min((task + 1) * CHUNK), |[at]| {
                    // SAFETY: a place of the view's own dimensions.
                    let v = unsafe { *self.ptr.at(0).cast::<T>().wrapping_offset(at) };
                    let k = key(v, self.ascending, self.zeros);
                    (low, high) = (low.min(k), high.max(k));
                }));
                least.fetch_min(low, Relaxed);
                most.fetch_max(high, Relaxed);
            }
        });
        if near() {
            (self.narrow, self.base) = (true, least.into_inner());
        }
        self
    }

    /// Sorts each row of the first view and hands the first items to `done`, with where the row begins in the views and
    /// the strides along it.
    fn run<I: Item>(&self, cx: &Cx, views: [&View<'_>; 3], done: impl Fn([isize; 3], [isize; 3], &[I]) + Sync) {
        if views[0].size == 0 || self.k == 0 {
            return;
        }
        let mut rows = Walk::<3>::default();
        for d in (0..views[0].ndim()).filter(|&d| d != self.axis) {
            rows.push(views[0].shape[d], views.map(|v| v.strides[d]));
        }
        let rows = rows.coalesced();
        let along = views.map(|v| v.strides[self.axis]);
        let (count, each) = (rows.size(), (CHUNK / self.n).max(1));
        let work = |task: usize, threads: usize| {
            let (mut items, mut spare) = (Vec::new(), Vec::new());
            rows.for_each(task * each, count.min((task + 1) * each), |at| {
                items.resize(self.n, I::default());
                // SAFETY: the row comes from the view's own dimensions.
                by_dtype!(self.dtype, T => unsafe { self.read::<T, I>(at[0], along[0], &mut items) });
                order::sort_first(&mut items, &mut spare, self.k, threads);
                done(at, along, &items);
            });
        };
        let tasks = count.div_ceil(each);
        if tasks < cx.threads {
            return (0..tasks).for_each(|t| work(t, cx.threads));
        }
        pool::run(tasks, cx.threads, |t| work(t, 1));
    }

    /// As `run`, with the positions of the items.
    fn run_pairs(&self, cx: &Cx, views: [&View<'_>; 3], done: impl Fn([isize; 3], [isize; 3], &[i64]) + Sync) {
        fn positions<I: Item>(items: &[I]) -> Vec<i64> {
            items.iter().map(|i| i.position() as i64).collect()
        }
        if self.narrow && u32::try_from(self.n).is_ok() {
            self.run::<Pair32>(cx, views, |at, along, items| done(at, along, &positions(items)));
        } else {
            self.run::<Pair64>(cx, views, |at, along, items| done(at, along, &positions(items)));
        }
    }

    /// # Safety
    /// The row lies in the view, which has elements of type `T`.
    unsafe fn read<T: Elem, I: Item>(&self, at: isize, stride: isize, to: &mut [I]) {
        let row = self.ptr.at(0).cast::<T>().wrapping_offset(at);
        if stride == 1 {
            // SAFETY: the caller's promise.
            return items_of(unsafe { std::slice::from_raw_parts(row, self.n) }, self, to);
        }
        for (i, to) in to.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *to = self.item(unsafe { *row.wrapping_offset(i as isize * stride) }, i);
        }
    }

    #[inline(always)]
    fn item<T: Elem, I: Item>(&self, v: T, position: usize) -> I {
        I::new(key(v, self.ascending, self.zeros) - self.base, position)
    }
}

per_isa! {
    fn items_of[T: Elem, I: Item](row: &[T], job: &Job, to: &mut [I]) {
        for i in 0..row.len().min(to.len()) {
            to[i] = job.item(row[i], i);
        }
    }
}

/// An output of elements.
struct Target {
    ptr: Shared<u8>,
    dtype: DType,
    mode: Mode,
}

impl Target {
    fn new(out: &Out<'_>) -> Target {
        Target { ptr: Shared(out.view.ptr), dtype: out.view.dtype, mode: out.mode }
    }

    /// Stores the elements that keys stand for.
    fn put_keys<I: Item>(&self, items: &[I], job: &Job, at: isize, stride: isize) {
        by_dtype!(self.dtype, T => {
            let values = items.iter().map(|i| element::<T>(i.key() + job.base, job.ascending));
            // SAFETY: the row is in the output and belongs to this task.
            unsafe { self.put(values, at, stride) };
        });
    }

    /// Stores the elements at these positions of the row of `x`, which has the same type.
    fn put_from(&self, x: Shared<u8>, positions: &[i64], at: [isize; 3], along: [isize; 3]) {
        by_dtype!(self.dtype, T => {
            let row = x.at(0).cast::<T>().wrapping_offset(at[0]);
            // SAFETY: positions of the row itself.
            let values = positions.iter().map(|p| unsafe { *row.wrapping_offset(*p as isize * along[0]) });
            // SAFETY: the row is in the output and belongs to this task.
            unsafe { self.put(values, at[1], along[1]) };
        });
    }

    /// # Safety
    /// The places lie in the output, which has elements of type `T`, and no other thread uses them.
    unsafe fn put<T: Elem>(&self, values: impl Iterator<Item = T>, at: isize, stride: isize) {
        let mut to = self.ptr.at(0).cast::<T>().wrapping_offset(at);
        for v in values {
            // SAFETY: the caller's promise.
            unsafe { *to = if self.mode == Mode::Write { v } else { add_elements(*to, v) } };
            to = to.wrapping_offset(stride);
        }
    }
}
