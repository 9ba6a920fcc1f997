//! Reading strips of the input as the accumulating type, and writing results in the output's type.
use super::fold::{Acc, Fold, add_all};
use super::lanes::{Half, fold_each, fold_line};
use crate::convert::{Cast, cast_fn};
use crate::dispatch::Elem;
use crate::view::{Mode, Out, View};
use crate::walk::{Shared, Walk};
use gluonish_base::DType;
use gluonish_base::isa::{Isa, isa};

/// The input of a reduction.
pub(crate) struct Source<A> {
    ptr: Shared<u8>,
    size: isize,
    /// The elements have the accumulating type: a strip without gaps is used where it lies.
    direct: bool,
    /// The elements are float16, to be accumulated in float32 by a processor that converts them.
    halves: bool,
    load: Cast,
    as_type: std::marker::PhantomData<A>,
}

/// Elements that can be folded where they lie.
pub(super) enum InPlace<'a, A> {
    Same(&'a [A]),
    Halves(&'a [Half]),
}

impl<A: Acc> InPlace<'_, A> {
    pub(super) fn fold<F: Fold<A>>(&self) -> A {
        match self {
            InPlace::Same(x) => fold_line::<A, F, A>(x),
            InPlace::Halves(x) => fold_line::<A, F, Half>(x),
        }
    }

    pub(super) fn fold_each<F: Fold<A>>(&self, row: usize, to: &mut [A]) {
        match self {
            InPlace::Same(x) => fold_each::<A, F, A>(x, row, to),
            InPlace::Halves(x) => fold_each::<A, F, Half>(x, row, to),
        }
    }
}

impl<A: Acc> Source<A> {
    /// The view, its pointer moved by `base` elements.
    pub(crate) fn new(x: &View<'_>, base: isize) -> Source<A> {
        let size = x.dtype.size() as isize;
        Source {
            ptr: Shared(x.ptr.wrapping_offset(base * size)),
            size,
            direct: x.dtype == A::DTYPE,
            halves: (x.dtype, A::DTYPE) == (DType::F16, DType::F32) && isa() >= Isa::Avx2,
            load: cast_fn(x.dtype, A::DTYPE),
            as_type: std::marker::PhantomData,
        }
    }

    /// `n` elements that follow each other, if they need not be read into a buffer first.
    ///
    /// # Safety
    /// They must lie in the view.
    #[inline]
    pub(super) unsafe fn in_place(&self, offset: isize, n: usize) -> Option<InPlace<'_, A>> {
        let start = self.ptr.at(offset * self.size);
        // SAFETY: the caller's promise, and the type is what the fields say.
        unsafe {
            match (self.direct, self.halves) {
                (true, _) => Some(InPlace::Same(std::slice::from_raw_parts(start.cast(), n))),
                (_, true) => Some(InPlace::Halves(std::slice::from_raw_parts(start.cast(), n))),
                _ => None,
            }
        }
    }

    /// Where elements at distances of `stride` lie one after the other in the type that is computed in, from `offset` on.
    pub(crate) fn line(&self, offset: isize, stride: isize) -> Option<*const A> {
        (self.direct && stride == 1).then(|| self.ptr.at(offset * self.size).cast::<A>().cast_const())
    }

    /// `n` elements at distances of `stride`, in place or read into `buf`.
    ///
    /// # Safety
    /// They must lie in the view.
    #[inline]
    pub(crate) unsafe fn strip<'b>(&self, offset: isize, stride: isize, n: usize, buf: &'b mut Vec<A>) -> &'b [A] {
        if self.direct && stride == 1 {
            // SAFETY: the caller's promise; the type is `A` and the distance one element.
            return unsafe { std::slice::from_raw_parts(self.ptr.at(offset * self.size).cast::<A>(), n) };
        }
        buf.resize(n, A::default());
        // SAFETY: the caller's promise.
        unsafe { self.read(offset, stride, buf) };
        buf
    }

    /// Reads `to.len()` elements at distances of `stride`.
    ///
    /// # Safety
    /// They must lie in the view.
    #[inline]
    pub(crate) unsafe fn read(&self, offset: isize, stride: isize, to: &mut [A]) {
        // SAFETY: the caller's promise; `to` holds elements of type `A`.
        unsafe { (self.load)(to.as_mut_ptr().cast(), 1, self.ptr.at(offset * self.size), stride, to.len()) }
    }

    /// Elements `from..to` of a walk over `outer`, then over `inner` elements at distances of `stride`.
    ///
    /// # Safety
    /// They must lie in the view.
    pub(crate) unsafe fn tile<'b>(&self, at: isize, row: &Row, from: usize, to: usize, buf: &'b mut Vec<A>) -> &'b [A] {
        let (first, col) = if row.inner > to { (0, from) } else { (from / row.inner, from % row.inner) };
        if col + to - from <= row.inner {
            let offset = at + row.outer.offset(first)[0] + col as isize * row.stride;
            // SAFETY: the caller's promise.
            return unsafe { self.strip(offset, row.stride, to - from, buf) };
        }
        buf.resize(to - from, A::default());
        let (mut done, mut col) = (0, col);
        row.outer.for_each(first, to.div_ceil(row.inner), |[o]| {
            let n = (row.inner - col).min(buf.len() - done);
            // SAFETY: the caller's promise.
            unsafe { self.read(at + o + col as isize * row.stride, row.stride, &mut buf[done..done + n]) };
            (done, col) = (done + n, 0);
        });
        buf
    }
}

/// What is reduced, as rows: an inner run of elements and where the runs begin.
pub(crate) struct Row {
    pub(crate) outer: Walk<1>,
    pub(crate) inner: usize,
    pub(crate) stride: isize,
    /// Elements in all.
    pub(crate) len: usize,
}

impl Row {
    pub(crate) fn new(reduced: &Walk<1>) -> Row {
        let len = reduced.size();
        let mut outer = *reduced;
        let (inner, [stride]) = outer.pop();
        Row { outer, inner, stride, len }
    }

    /// Whether the elements follow each other.
    pub(super) fn is_line(&self) -> bool {
        self.outer.shape.is_empty() && self.stride == 1
    }
}

/// The output of a reduction.
pub(crate) struct Sink<A> {
    ptr: Shared<u8>,
    size: isize,
    mode: Mode,
    /// The elements have the accumulating type.
    direct: bool,
    store: Cast,
    /// For outputs that are added to.
    load: Cast,
    as_type: std::marker::PhantomData<A>,
}

/// The sum of two elements: integers wrap, bools are or-ed.
#[inline(always)]
pub(crate) fn sum<T: Elem>(a: T, b: T) -> T {
    match T::DTYPE {
        DType::F64 => T::from_f64(a.to_f64() + b.to_f64()),
        d if d.is_float() => T::from_f32(a.to_f32() + b.to_f32()),
        _ => T::from_i64(a.to_i64().wrapping_add(b.to_i64())),
    }
}

impl<A: Acc> Sink<A> {
    pub(crate) fn new(out: &Out<'_>, base: isize) -> Sink<A> {
        let size = out.view.dtype.size() as isize;
        Sink {
            ptr: Shared(out.view.ptr.wrapping_offset(base * size)),
            size,
            mode: out.mode,
            direct: out.view.dtype == A::DTYPE,
            store: cast_fn(A::DTYPE, out.view.dtype),
            load: cast_fn(out.view.dtype, A::DTYPE),
            as_type: std::marker::PhantomData,
        }
    }

    /// Elements `from..from + n` of an output without gaps.
    ///
    /// # Safety
    /// The output has no gaps and elements of type `T`; the range lies in it, and no other thread uses it.
    #[expect(clippy::mut_from_ref, reason = "the ranges are disjoint: that is the caller's promise")]
    pub(crate) unsafe fn slice<T>(&self, from: usize, n: usize) -> &mut [T] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.at(0).cast::<T>().add(from), n) }
    }

    /// Where elements at distances of `stride` begin, if results can be made there: nothing to convert, nothing to add.
    #[inline]
    pub(crate) fn line(&self, offset: isize, stride: isize) -> Option<*mut A> {
        (self.direct && stride == 1 && self.mode == Mode::Write).then(|| self.ptr.at(offset * self.size).cast())
    }

    /// Stores `from` at distances of `stride`.
    ///
    /// # Safety
    /// The places must lie in the output, and no other thread may store there.
    #[inline]
    pub(crate) unsafe fn write(&self, offset: isize, stride: isize, from: &[A]) {
        let place = self.ptr.at(offset * self.size);
        let store = |from: &[A]| {
            // SAFETY: the caller's promise; `from` holds elements of type `A`.
            unsafe { (self.store)(place, stride, from.as_ptr().cast(), 1, from.len()) }
        };
        if self.mode == Mode::Write {
            return store(from);
        }
        let mut total = vec![A::default(); from.len()];
        // SAFETY: the caller's promise; `total` holds elements of type `A`.
        unsafe { (self.load)(total.as_mut_ptr().cast(), 1, place, stride, from.len()) };
        add_all(&mut total, from);
        store(&total);
    }

    /// Stores results `from..` of the walk (its second operand is the output).
    ///
    /// # Safety
    /// They must lie in the output, and no other thread may store the same ones.
    pub(crate) unsafe fn put(&self, kept: &Walk<2>, mut from: usize, mut results: &[A]) {
        let mut outer = *kept;
        let (inner, [_, stride]) = outer.pop();
        while !results.is_empty() {
            let col = from % inner;
            let n = results.len().min(inner - col);
            let offset = outer.offset(from / inner)[1] + col as isize * stride;
            // SAFETY: the caller's promise.
            unsafe { self.write(offset, stride, &results[..n]) };
            results = &results[n..];
            from += n;
        }
    }
}
