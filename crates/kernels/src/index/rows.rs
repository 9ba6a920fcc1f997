//! Moving whole rows between an array and a list of places in it.
use super::positions::{Positions, STRIP, in_order};
use crate::by_dtype;
use crate::dispatch::Elem;
use crate::reduce::add_elements;
use crate::registers::prefetch;
use crate::view::{Mode, View};
use crate::walk::{Shared, Walk};
use gluonish_base::{DType, Dims, Result};
use half::{bf16, f16};

/// How elements get from one place to another, in rows or one by one.
#[derive(Clone, Copy)]
pub(super) struct Mover {
    /// `n` elements from `src` to `dst`, both with their strides.
    row: unsafe fn(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize),
    /// Element `numbers[j]` of `src` to place `j` of `dst`.
    gather: unsafe fn(dst: *mut u8, to: isize, src: *const u8, from: isize, numbers: &[usize]),
    /// Place `j` of `src`, for every `j` listed, to element `numbers[j]` of `dst`.
    scatter: unsafe fn(dst: *mut u8, to: isize, src: *const u8, from: isize, numbers: &[usize], mine: &[u16]),
}

/// What is done with an element that goes from a `T` to an `A`.
trait Step<T, A>: 'static {
    /// It is moved as it is, so that whole rows are.
    const MOVES: bool = false;
    fn put(to: &mut A, v: T);
}
struct Set;
impl<T: Copy> Step<T, T> for Set {
    const MOVES: bool = true;
    #[inline(always)]
    fn put(to: &mut T, v: T) {
        *to = v;
    }
}
struct Add;
impl<T: Elem, A: Elem> Step<T, A> for Add {
    #[inline(always)]
    fn put(to: &mut A, v: T) {
        let v = if A::DTYPE == DType::F32 {
            A::from_f32(v.to_f32())
        } else if A::DTYPE == DType::F64 {
            A::from_f64(v.to_f64())
        } else {
            A::from_i64(v.to_i64())
        };
        *to = add_elements(*to, v);
    }
}

/// # Safety
/// This and the next two: all elements lie in live memory of these types; those that are written belong to the caller alone.
unsafe fn row<T: Copy, A, S: Step<T, A>>(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize) {
    let (dst, src) = (dst.cast::<A>(), src.cast::<T>());
    // SAFETY: the caller's promise.
    unsafe {
        if to == 1 && from == 1 && S::MOVES {
            return std::ptr::copy(src.cast::<A>(), dst, n);
        }
        if to == 1 && from == 1 {
            let (dst, src) = (std::slice::from_raw_parts_mut(dst, n), std::slice::from_raw_parts(src, n));
            return dst.iter_mut().zip(src).for_each(|(d, s)| S::put(d, *s));
        }
        for i in 0..n as isize {
            S::put(&mut *dst.offset(i * to), *src.offset(i * from));
        }
    }
}

unsafe fn gather<T: Copy, A, S: Step<T, A>>(dst: *mut u8, to: isize, src: *const u8, from: isize, numbers: &[usize]) {
    let (dst, src) = (dst.cast::<A>(), src.cast::<T>());
    for (j, n) in numbers.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { S::put(&mut *dst.offset(j as isize * to), *src.offset(*n as isize * from)) };
    }
}

unsafe fn scatter<T: Copy, A, S: Step<T, A>>(
    dst: *mut u8,
    to: isize,
    src: *const u8,
    from: isize,
    numbers: &[usize],
    mine: &[u16],
) {
    let (dst, src) = (dst.cast::<A>(), src.cast::<T>());
    for j in mine {
        let n = numbers[*j as usize] as isize;
        // SAFETY: the caller's promise.
        unsafe { S::put(&mut *dst.offset(n * to), *src.offset(*j as isize * from)) };
    }
}

impl Mover {
    const fn of<T: Copy, A, S: Step<T, A>>() -> Mover {
        Mover { row: row::<T, A, S>, gather: gather::<T, A, S>, scatter: scatter::<T, A, S> }
    }

    /// Into an output of the same type.
    pub(super) fn into_output(d: DType, mode: Mode) -> Mover {
        match mode {
            Mode::Write => by_dtype!(bits d, T => Mover::of::<T, T, Set>()),
            Mode::Add => by_dtype!(d, T => Mover::of::<T, T, Add>()),
        }
    }

    /// Added where sums are kept: the half types in float32.
    pub(super) fn into_sums(d: DType) -> Mover {
        match d {
            DType::F16 => Mover::of::<f16, f32, Add>(),
            DType::BF16 => Mover::of::<bf16, f32, Add>(),
            _ => by_dtype!(d, T => Mover::of::<T, T, Add>()),
        }
    }

    /// One element.
    ///
    /// # Safety
    /// Both lie in live memory of the types that this was chosen for; the target belongs to the caller alone.
    #[inline]
    pub(super) unsafe fn one(&self, dst: *mut u8, src: *const u8) {
        // SAFETY: the caller's promise.
        unsafe { (self.row)(dst, 1, src, 1, 1) }
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
    pub(super) count: usize,
    whole: Shared<u8>,
    list: Shared<u8>,
    sizes: [isize; 2],
    /// The strides of the numbered and the listed dimensions, where a row is one element and each is walked as one.
    single: Option<[isize; 2]>,
}

/// Bytes that one task moves.
const CHUNK: usize = 1 << 18;
/// How many rows before its turn a row is asked for, and how many bytes of it.
const AHEAD: usize = 4;
const NEAR: usize = 2048;

/// The numbers of rows: read where they are needed once, listed where they are needed for many groups.
enum Numbers<'a> {
    Strips(&'a Positions),
    List(Vec<usize>),
}

impl Numbers<'_> {
    fn of(positions: &Positions, groups: usize) -> Result<Numbers<'_>> {
        Ok(if groups > 1 { Numbers::List(positions.all()?) } else { Numbers::Strips(positions) })
    }
    fn strip<'b>(&'b self, from: usize, n: usize, space: &'b mut [usize; STRIP]) -> Result<&'b [usize]> {
        match self {
            Numbers::List(all) => Ok(&all[from..from + n]),
            Numbers::Strips(p) => {
                p.read(from, &mut space[..n])?;
                Ok(&space[..n])
            }
        }
    }
}

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
        let (numbered, listed) = (single(whole, numbered), single(list, listed));
        let one = |w: &Walk<1>| match w.shape.len() {
            0 => Some(0),
            1 => Some(w.strides[0][0]),
            _ => None,
        };
        let element = row == 1 && after.shape.is_empty();
        Rows {
            before: pair(0, 0, axis),
            single: one(&numbered).zip(one(&listed)).filter(|_| element).map(|(n, l)| [n, l]),
            count: listed.size(),
            numbered,
            listed,
            after,
            row,
            row_strides,
            whole: Shared(whole.ptr),
            list: Shared(list.ptr),
            sizes: [whole.dtype.size() as isize, list.dtype.size() as isize],
        }
    }

    pub(super) fn groups(&self) -> usize {
        self.before.size()
    }

    /// Where a group begins in the array and in the list.
    pub(super) fn group(&self, number: usize) -> [isize; 2] {
        self.before.offset(number)
    }

    /// Rows that one task moves.
    fn share(&self) -> usize {
        let bytes = self.row * self.after.size() * self.sizes[1] as usize;
        (CHUNK / bytes.max(1)).max(1)
    }

    /// Where row number `row` begins in the array, or place `row` in the list.
    #[inline]
    fn place(walk: &Walk<1>, row: usize) -> isize {
        match walk.shape.len() {
            0 => 0,
            1 => row as isize * walk.strides[0][0],
            _ => walk.offset(row)[0],
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

    /// Row `numbers[j]` of a group to place `from + j` of its list.
    ///
    /// # Safety
    /// The numbers are those of rows, the places are in the list, and no other thread writes them.
    pub(super) unsafe fn fetch(&self, [whole, list]: [isize; 2], from: usize, numbers: &[usize], mover: Mover) {
        if let Some([step, place]) = self.single {
            let list = list + from as isize * place;
            let (w, l) = (self.whole.at(whole * self.sizes[0]), self.list.at(list * self.sizes[1]));
            // SAFETY: both are places of the views' own dimensions.
            return unsafe { (mover.gather)(l, place, w, step, numbers) };
        }
        let mut j = 0;
        let ahead = self.after.shape.is_empty() && self.row_strides[0] == 1;
        self.listed.for_each(from, from + numbers.len(), |[at]| {
            if let Some(next) = numbers.get(j + AHEAD).filter(|_| ahead) {
                // Rows lie anywhere: the processor cannot guess the next one.
                let row = self.whole.at((whole + Rows::place(&self.numbered, *next)) * self.sizes[0]);
                prefetch(row.cast_const(), (self.row * self.sizes[0] as usize).min(NEAR));
            }
            self.runs(whole + Rows::place(&self.numbered, numbers[j]), list + at, |w, l| {
                // SAFETY: as above.
                unsafe { (mover.row)(l, self.row_strides[1], w, self.row_strides[0], self.row) };
            });
            j += 1;
        });
    }

    /// Place `from + j` of a group's list, for every `j` in `mine`, to row `numbers[j]` of the group.
    ///
    /// # Safety
    /// The numbers are those of rows, which no other thread touches; the places are in the list.
    pub(super) unsafe fn store(
        &self,
        [whole, list]: [isize; 2],
        from: usize,
        numbers: &[usize],
        mine: &[u16],
        mover: Mover,
    ) {
        if let Some([step, place]) = self.single {
            let list = list + from as isize * place;
            let (w, l) = (self.whole.at(whole * self.sizes[0]), self.list.at(list * self.sizes[1]));
            // SAFETY: both are places of the views' own dimensions.
            return unsafe { (mover.scatter)(w, step, l, place, numbers, mine) };
        }
        for &j in mine {
            let at = Rows::place(&self.listed, from + j as usize);
            self.runs(whole + Rows::place(&self.numbered, numbers[j as usize]), list + at, |w, l| {
                // SAFETY: as above.
                unsafe { (mover.row)(w, self.row_strides[0], l, self.row_strides[1], self.row) };
            });
        }
    }

    /// Row `numbers[j]` of the array to place `j` of the list.
    pub(super) fn gather(&self, positions: &Positions, mover: Mover, threads: usize) -> Result {
        let (groups, each) = (self.groups(), self.share());
        let numbers = Numbers::of(positions, groups)?;
        // A task is a part of a group, or several groups of few rows.
        let (tasks, together) = (self.count.div_ceil(each), (each / self.count.max(1)).max(1));
        in_order(groups.div_ceil(together) * tasks, threads, |task| {
            let first = task / tasks * together;
            let from = task % tasks * each;
            let to = self.count.min(from + each);
            let mut space = [0; STRIP];
            for group in (first..groups.min(first + together)).map(|g| self.group(g)) {
                for at in (from..to).step_by(STRIP) {
                    let strip = numbers.strip(at, STRIP.min(to - at), &mut space)?;
                    // SAFETY: the numbers were checked; each place of the list is written by one task.
                    unsafe { self.fetch(group, at, strip, mover) };
                }
            }
            Ok(())
        })
    }

    /// Place `j` of the list to row `numbers[j]` of the array, in the order of the list. A thread owns a range of rows,
    /// so that what comes twice is done in the same order on any number of them.
    pub(super) fn scatter(&self, positions: &Positions, mover: Mover, threads: usize) -> Result {
        let (rows, groups) = (self.numbered.size(), self.groups());
        let owners = if self.count <= self.share() { 1 } else { threads.clamp(1, rows.max(1)) };
        let numbers = Numbers::of(positions, groups)?;
        in_order(groups * owners, threads, |task| {
            let group = self.group(task / owners);
            let owner = task % owners;
            let owned = rows * owner / owners..rows * (owner + 1) / owners;
            let (mut space, mut mine) = ([0; STRIP], [0; STRIP]);
            for at in (0..self.count).step_by(STRIP) {
                let strip = numbers.strip(at, STRIP.min(self.count - at), &mut space)?;
                let mut n = 0;
                for (j, number) in strip.iter().enumerate() {
                    mine[n] = j as u16;
                    n += owned.contains(number) as usize;
                }
                // SAFETY: the numbers were checked; each row of the array is written by its owner alone.
                unsafe { self.store(group, at, strip, &mine[..n], mover) };
            }
            Ok(())
        })
    }
}
