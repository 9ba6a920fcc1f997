//! Moving whole rows between an array and a list of places in it.
use crate::by_dtype;
use crate::dispatch::Elem;
use crate::reduce::add_elements;
use crate::view::{Mode, View};
use crate::walk::{Shared, Walk};
use gluonish_base::{DType, Dims, pool};
use half::{bf16, f16};

/// Moves `n` elements from `src` to `dst`, both with their strides.
///
/// # Safety
/// All of them must lie in live memory of the types the function was chosen for; `dst` belongs to the caller alone.
pub(super) type Move = unsafe fn(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize);

/// # Safety
/// As for [`Move`].
unsafe fn copy<T: Copy>(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize) {
    let (dst, src) = (dst.cast::<T>(), src.cast::<T>());
    // SAFETY: the caller's promise.
    unsafe {
        if to == 1 && from == 1 {
            return std::ptr::copy_nonoverlapping(src, dst, n);
        }
        for i in 0..n as isize {
            *dst.offset(i * to) = *src.offset(i * from);
        }
    }
}

/// # Safety
/// As for [`Move`].
unsafe fn add<T: Elem, A: Elem>(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize) {
    let (dst, src) = (dst.cast::<A>(), src.cast::<T>());
    let same = |v: T| {
        if A::DTYPE == DType::F32 {
            A::from_f32(v.to_f32())
        } else if A::DTYPE == DType::F64 {
            A::from_f64(v.to_f64())
        } else {
            A::from_i64(v.to_i64())
        }
    };
    // SAFETY: the caller's promise.
    unsafe {
        if to == 1 && from == 1 {
            let (dst, src) = (std::slice::from_raw_parts_mut(dst, n), std::slice::from_raw_parts(src, n));
            return dst.iter_mut().zip(src).for_each(|(d, s)| *d = add_elements(*d, same(*s)));
        }
        for i in 0..n as isize {
            let d = dst.offset(i * to);
            *d = add_elements(*d, same(*src.offset(i * from)));
        }
    }
}

/// Moves single elements: number `numbers[j]` of `src` to place `j` of `dst`, both with their strides.
///
/// # Safety
/// As for [`Move`].
unsafe fn pluck<T: Elem>(dst: *mut u8, to: isize, src: *const u8, from: isize, numbers: &[usize], mode: Mode) {
    let (dst, src) = (dst.cast::<T>(), src.cast::<T>());
    for (j, n) in numbers.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe {
            let (d, v) = (dst.offset(j as isize * to), *src.offset(*n as isize * from));
            *d = if mode == Mode::Write { v } else { add_elements(*d, v) };
        }
    }
}

/// How elements of type `d` go into an output of the same type.
pub(super) fn into_output(d: DType, mode: Mode) -> Move {
    match mode {
        Mode::Write => by_dtype!(bits d, T => copy::<T>),
        Mode::Add => by_dtype!(d, T => add::<T, T>),
    }
}

/// How elements of type `d` are added where sums are kept: the half types in float32.
pub(super) fn into_sums(d: DType) -> Move {
    match d {
        DType::F16 => add::<f16, f32>,
        DType::BF16 => add::<bf16, f32>,
        _ => by_dtype!(d, T => add::<T, T>),
    }
}

/// An array seen as rows: `whole` has dimensions in the place of which `list` has the numbers of rows.
pub(super) struct Rows {
    /// Dimensions before, of the array and of the list.
    before: Walk<2>,
    /// The dimensions that are numbered, of the array.
    numbered: Walk<1>,
    /// Those of the list that stand for them.
    listed: Walk<1>,
    /// Dimensions after, of the array and of the list.
    after: Walk<2>,
    row: usize,
    row_strides: [isize; 2],
    count: usize,
    whole: Shared<u8>,
    list: Shared<u8>,
    sizes: [isize; 2],
}

/// Bytes that one task moves.
const CHUNK: usize = 1 << 18;

impl Rows {
    /// `numbered` dimensions from `axis` on of `whole`, for `listed` dimensions from `axis` on of `list`.
    pub(super) fn new(whole: &View<'_>, list: &View<'_>, axis: usize, numbered: usize, listed: usize) -> Rows {
        let pair = |from: usize, shift: usize, to: usize| {
            let mut w = Walk::<2>::default();
            (from..to).for_each(|d| w.push(whole.shape[d], [whole.strides[d], list.strides[d - from + shift]]));
            w.coalesced()
        };
        let single = |v: &View<'_>, n: usize| {
            let take = |d: &Dims| Dims::of(&d[axis..axis + n]);
            Walk::new(&take(v.shape), [&take(v.strides)]).coalesced()
        };
        let mut after = pair(axis + numbered, axis + listed, whole.ndim());
        let (row, row_strides) = after.pop();
        let listed = single(list, listed);
        Rows {
            before: pair(0, 0, axis),
            numbered: single(whole, numbered),
            count: listed.size(),
            listed,
            after,
            row,
            row_strides,
            whole: Shared(whole.ptr),
            list: Shared(list.ptr),
            sizes: [whole.dtype.size() as isize, list.dtype.size() as isize],
        }
    }

    /// The strides of the numbered and the listed dimensions, if each is walked as one.
    fn strides_of_elements(&self) -> Option<[isize; 2]> {
        let one = |w: &Walk<1>| match w.shape.len() {
            0 => Some(0),
            1 => Some(w.strides[0][0]),
            _ => None,
        };
        Some([one(&self.numbered)?, one(&self.listed)?])
    }

    /// Where row number `row` begins in the array.
    #[inline]
    fn place(&self, row: usize) -> isize {
        match self.numbered.shape.len() {
            0 => 0,
            1 => row as isize * self.numbered.strides[0][0],
            _ => self.numbered.offset(row)[0],
        }
    }

    /// Calls `f` with places in the array and in the list for each run of elements of one row.
    #[inline]
    fn runs(&self, whole: isize, list: isize, mut f: impl FnMut(*mut u8, *mut u8)) {
        let mut run = |[w, l]: [isize; 2]| {
            f(self.whole.at((whole + w) * self.sizes[0]), self.list.at((list + l) * self.sizes[1]));
        };
        if self.after.shape.is_empty() {
            return run([0, 0]);
        }
        self.after.for_each(0, self.after.size(), run);
    }

    /// Row `numbers[j]` of the array to place `j` of the list. The numbers are below the number of rows.
    pub(super) fn gather(&self, numbers: &[usize], dtype: DType, mode: Mode, threads: usize) {
        let mover = into_output(dtype, mode);
        let single = (self.row == 1 && self.after.shape.is_empty()).then(|| self.strides_of_elements()).flatten();
        let bytes = self.row * self.after.size() * self.sizes[0] as usize;
        let each = (CHUNK / bytes.max(1)).max(1);
        let groups = self.before.size();
        let tasks = self.count.div_ceil(each);
        pool::run(groups * tasks, threads, |task| {
            let [whole, list] = self.before.offset(task / tasks);
            let from = task % tasks * each;
            if let Some([step, place]) = single {
                let numbers = &numbers[from..self.count.min(from + each)];
                let (w, l) = (
                    self.whole.at(whole * self.sizes[0]),
                    self.list.at((list + from as isize * place) * self.sizes[1]),
                );
                // SAFETY: both come from the views' own dimensions and checked numbers; each place of the list is written
                // by one task.
                return by_dtype!(dtype, T => unsafe { pluck::<T>(l, place, w, step, numbers, mode) });
            }
            let mut j = from;
            self.listed.for_each(from, self.count.min(from + each), |[at]| {
                self.runs(whole + self.place(numbers[j]), list + at, |w, l| {
                    // SAFETY: both runs come from the views' own dimensions and checked numbers; each place of the list
                    // is written by one task.
                    unsafe { mover(l, self.row_strides[1], w, self.row_strides[0], self.row) };
                });
                j += 1;
            });
        });
    }

    /// Place `j` of the list to row `numbers[j]` of the array, in the order of the list. A thread owns a range of rows,
    /// so that what comes twice is added in the same order on any number of them.
    pub(super) fn scatter(&self, numbers: &[usize], mover: Move, threads: usize) {
        let rows = self.numbered.size();
        let bytes = self.row * self.after.size() * self.count * self.sizes[1] as usize;
        let owners = if bytes < CHUNK { 1 } else { threads.clamp(1, rows.max(1)) };
        pool::run(self.before.size() * owners, threads, |task| {
            let [whole, list] = self.before.offset(task / owners);
            let owner = task % owners;
            let mine = rows * owner / owners..rows * (owner + 1) / owners;
            let mut j = 0;
            self.listed.for_each(0, self.count, |[at]| {
                if mine.contains(&numbers[j]) {
                    self.runs(whole + self.place(numbers[j]), list + at, |w, l| {
                        // SAFETY: both runs come from the views' own dimensions and checked numbers; each row of the
                        // array is written by its owner alone.
                        unsafe { mover(w, self.row_strides[0], l, self.row_strides[1], self.row) };
                    });
                }
                j += 1;
            });
        });
    }
}
