//! An array: shape, strides, offset and element type over a storage that others may share. `NDArray` is an 8-byte handle.
use crate::invoke::In;
use crate::launch::Operands;
use crate::tape::node::NodeRef;
use crate::tape::slot::NodeSlot;
use gluonish_base::tls::{ARRAYS, Listed, give, take};
use gluonish_base::{Cause, DType, Dims, Result, Scalar};
use gluonish_engine::{Device, Var};
use gluonish_kernels::View;
use gluonish_kernels::map::{Class, FEW, Lane, Map};
use gluonish_kernels::walk::each;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, Ordering::*};

/// What a handle points to. Immutable but for its place in the graph of gradients.
pub struct RawArray {
    refs: AtomicU32,
    dtype: DType,
    contiguous: bool,
    shape: Dims,
    strides: Dims,
    /// In elements, from the storage's first byte.
    offset: isize,
    size: usize,
    /// `None` only on the free list.
    storage: Option<Var>,
    pub(crate) node: NodeSlot,
    /// The storage's version when this handle was made, or last written through: an older handle is stale.
    stamp: AtomicU32,
    next_free: *mut RawArray,
}

impl Listed for RawArray {
    const LIST: usize = ARRAYS;
    const KEPT: u32 = 4096;
    #[inline(always)]
    fn next(&mut self) -> &mut *mut RawArray {
        &mut self.next_free
    }
}

/// A counted handle to an array. Cloning it shares everything, gradient included.
pub struct NDArray(NonNull<RawArray>);

// SAFETY: the fields of an array do not change while it is shared, but for atomics; the storage guards its own bytes.
unsafe impl Send for NDArray {}
// SAFETY: as above.
unsafe impl Sync for NDArray {}

impl std::ops::Deref for NDArray {
    type Target = RawArray;
    #[inline(always)]
    fn deref(&self) -> &RawArray {
        // SAFETY: a handle holds a count, so the array is alive and not on a free list.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for NDArray {
    #[inline]
    fn clone(&self) -> NDArray {
        self.refs.fetch_add(1, Relaxed);
        NDArray(self.0)
    }
}

impl Drop for NDArray {
    #[inline]
    fn drop(&mut self) {
        // A sole owner needs no read-modify-write: nobody else can clone it.
        if self.refs.load(Acquire) == 1 || self.refs.fetch_sub(1, AcqRel) == 1 {
            // SAFETY: this was the last handle.
            unsafe { recycle(self.0.as_ptr()) }
        }
    }
}

/// # Safety
/// No handle to the array is left.
#[inline]
unsafe fn recycle(p: *mut RawArray) {
    // SAFETY: by contract nobody else can reach it.
    let a = unsafe { &mut *p };
    a.storage = None;
    a.node.clear();
    // SAFETY: arrays are boxed, and this one belongs to us alone.
    unsafe { give(p) }
}

#[cold]
fn fresh() -> *mut RawArray {
    Box::into_raw(Box::new(RawArray {
        refs: AtomicU32::new(0),
        dtype: DType::F32,
        contiguous: true,
        shape: Dims::EMPTY,
        strides: Dims::EMPTY,
        offset: 0,
        size: 0,
        storage: None,
        node: NodeSlot::empty(),
        stamp: AtomicU32::new(0),
        next_free: null_mut(),
    }))
}

impl RawArray {
    #[inline(always)]
    pub fn shape(&self) -> &Dims {
        &self.shape
    }
    #[inline(always)]
    pub fn strides(&self) -> &Dims {
        &self.strides
    }
    #[inline(always)]
    pub fn dtype(&self) -> DType {
        self.dtype
    }
    #[inline(always)]
    pub fn size(&self) -> usize {
        self.size
    }
    #[inline(always)]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }
    pub fn offset(&self) -> isize {
        self.offset
    }
    pub fn nbytes(&self) -> usize {
        self.size * self.dtype.size()
    }
    #[inline(always)]
    pub fn device(&self) -> Device {
        self.storage().device()
    }
    #[inline(always)]
    pub fn storage(&self) -> &Var {
        debug_assert!(self.storage.is_some());
        // SAFETY: only arrays on a free list have no storage, and those have no handles.
        unsafe { self.storage.as_ref().unwrap_unchecked() }
    }
    /// The version of the storage that this handle stands for.
    pub(crate) fn stamp(&self) -> u32 {
        self.stamp.load(Relaxed)
    }
    pub(crate) fn restamp(&self) {
        self.stamp.store(self.storage().version(), Relaxed);
    }

    /// The first element. Only to be read or written by who holds the storage; null until it has memory.
    #[inline(always)]
    pub fn data(&self) -> *mut u8 {
        self.storage().ptr().wrapping_offset(self.offset * self.dtype.size() as isize)
    }

    #[inline(always)]
    pub fn view(&self) -> View<'_> {
        View {
            ptr: self.data(),
            shape: &self.shape,
            strides: &self.strides,
            dtype: self.dtype,
            contiguous: self.contiguous,
            size: self.size,
            scalar: None,
        }
    }
}

impl NDArray {
    #[inline]
    fn build(storage: Var, dtype: DType, shape: &Dims, strides: &Dims, offset: isize, contiguous: bool) -> NDArray {
        let mut p = take::<RawArray>();
        if p.is_null() {
            p = fresh();
        }
        // SAFETY: taken from the list or just made: nobody else knows it.
        let a = unsafe { &mut *p };
        *a.refs.get_mut() = 1;
        a.dtype = dtype;
        a.contiguous = contiguous;
        a.shape = *shape;
        a.strides = *strides;
        a.offset = offset;
        a.size = shape.size();
        *a.stamp.get_mut() = storage.version();
        // SAFETY: the place holds `None`, which needs no drop.
        unsafe { std::ptr::write(&mut a.storage, Some(storage)) };
        NDArray(NonNull::from(a))
    }

    /// Bytes of a contiguous array, or the error for a shape that no memory could hold.
    #[inline]
    pub(crate) fn bytes_of(shape: &Dims, dtype: DType) -> Result<usize> {
        match shape.checked_size() {
            Some(n) => Ok(n * dtype.size()),
            None => Err(Cause::Shape(format!(
                "an array of shape {shape} cannot exist: a dimension is negative or the size overflows"
            ))
            .into()),
        }
    }

    /// A contiguous array with memory whose contents are whatever was there.
    #[inline]
    pub fn empty(device: Device, dtype: DType, shape: &Dims) -> Result<NDArray> {
        let storage = Var::new(device, NDArray::bytes_of(shape, dtype)?)?;
        Ok(NDArray::build(storage, dtype, shape, &shape.contiguous_strides(), 0, true))
    }

    /// A new contiguous array of the shape and type of this one, which is contiguous too.
    #[inline]
    pub(crate) fn like(&self) -> Result<NDArray> {
        let storage = Var::new(self.device(), self.nbytes())?;
        Ok(NDArray::build(storage, self.dtype, &self.shape, &self.strides, 0, true))
    }

    /// Whether nobody else has this array or its memory, which is idle and has a value. It stays so while the caller lets
    /// nobody else reach this handle.
    #[inline(always)]
    pub(crate) fn is_alone(&self) -> bool {
        self.has_one_handle() && self.storage().is_alone()
    }

    #[inline(always)]
    pub(crate) fn has_one_handle(&self) -> bool {
        self.refs.load(Acquire) == 1
    }

    /// What a formula makes of a few floats of one type, and numbers, in new memory. `None` where that is not what it is, or
    /// where an operand is in use; nothing has happened then.
    #[inline(always)]
    pub(crate) fn by_formula(map: &Map, ins: &[In<'_>]) -> Option<Result<NDArray>> {
        // The number of operands is fixed, so that the compiler unrolls what is done for each.
        match ins {
            [x] => NDArray::few(map, [*x]),
            [x, y] => NDArray::few(map, [*x, *y]),
            _ => None,
        }
    }

    #[inline(always)]
    fn few<const N: usize>(map: &Map, ins: [In<'_>; N]) -> Option<Result<NDArray>> {
        let first = ins.iter().find_map(In::array)?;
        let class = match first.dtype {
            DType::F32 => Class::F32,
            DType::F64 => Class::F64,
            _ => return None,
        };
        let mut joined = None;
        for a in ins.iter().filter_map(In::array) {
            if a.dtype != first.dtype || a.device() != first.device() {
                return None;
            }
            let shape = joined.as_ref().unwrap_or(&first.shape);
            if a.shape != *shape {
                joined = Some(shape.broadcast(&a.shape)?);
            }
        }
        let (shape, size) = match &joined {
            None => (&first.shape, first.size),
            Some(s) => (s, s.checked_size()?),
        };
        if size > FEW {
            return None;
        }
        let _held = Operands::take(&ins)?;
        let dtype = if map.is_truth() { DType::Bool } else { first.dtype };
        let storage = match Var::new(first.device(), size * dtype.size()) {
            Ok(v) => v,
            Err(e) => return Some(Err(e)),
        };
        let lanes = ins.map(|i| match i {
            In::Array(a) if a.contiguous && a.size == size => Lane::Line(a.data()),
            In::Array(a) => Lane::Spread { ptr: a.data(), shape: &a.shape, strides: &a.strides },
            In::Scalar(s) => Lane::Number(s),
            In::Absent => Lane::Number(Scalar::Bool(false)), // no formula has optional operands
        });
        // SAFETY: the operands are of the class's own type, broadcast to the shape and are held as readers; the output is new
        // and has as much memory.
        let done = unsafe { map.straight(class, storage.ptr(), lanes, shape, size) };
        done.then(|| Ok(NDArray::build(storage, dtype, shape, &shape.contiguous_strides(), 0, true)))
    }

    /// A contiguous array that gets its memory when the work that writes it starts.
    #[inline]
    pub fn deferred(device: Device, dtype: DType, shape: &Dims) -> Result<NDArray> {
        let storage = Var::deferred(device, NDArray::bytes_of(shape, dtype)?)?;
        Ok(NDArray::build(storage, dtype, shape, &shape.contiguous_strides(), 0, true))
    }

    /// An array over an existing storage.
    pub fn over(storage: Var, dtype: DType, shape: &Dims, strides: &Dims, offset: isize) -> NDArray {
        NDArray::build(storage, dtype, shape, strides, offset, shape.is_contiguous(strides))
    }

    /// Another look at the same memory; `offset` counts elements from this array's first. Not recorded.
    #[inline]
    pub fn view_as(&self, shape: &Dims, strides: &Dims, offset: isize) -> NDArray {
        let contiguous = shape.is_contiguous(strides);
        let a = NDArray::build(self.storage().clone(), self.dtype, shape, strides, self.offset + offset, contiguous);
        a.stamp.store(self.stamp(), Relaxed); // a view of a stale handle is as stale
        a
    }

    /// The same values without a place in the graph.
    #[inline]
    pub fn detached(&self) -> NDArray {
        let a = NDArray::build(
            self.storage().clone(),
            self.dtype,
            &self.shape,
            &self.strides,
            self.offset,
            self.contiguous,
        );
        a.stamp.store(self.stamp(), Relaxed);
        a
    }

    /// From bytes in row-major order; `bytes` must have exactly the length.
    pub fn from_bytes(device: Device, dtype: DType, shape: &Dims, bytes: &[u8]) -> Result<NDArray> {
        let a = NDArray::empty(device, dtype, shape)?;
        if bytes.len() != a.nbytes() {
            return Err(Cause::Shape(format!(
                "{} bytes do not fill an array of shape {shape} and type {dtype}",
                bytes.len()
            ))
            .into());
        }
        // SAFETY: the array is new, so nobody else holds its storage, which has `nbytes` bytes of memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), a.data(), bytes.len()) };
        Ok(a)
    }

    /// The value of an array of one float64 that is ready and that nobody else knows.
    pub(crate) fn read_f64(&self) -> f64 {
        debug_assert!(self.dtype == DType::F64 && self.size == 1 && self.storage().is_ready());
        // SAFETY: one float64 in memory that nobody else can write.
        unsafe { self.data().cast::<f64>().read() }
    }

    /// Whether the two may share bytes.
    pub fn overlaps(&self, other: &NDArray) -> bool {
        self.storage().same(other.storage()) && self.size > 0 && other.size > 0 && {
            let ((a, b), (c, d)) = (self.range(), other.range());
            a < d && c < b
        }
    }

    /// Whether the two have an element in common. Slower than `overlaps`, and right about views that lie between each other.
    pub(crate) fn shares_elements(&self, other: &NDArray) -> bool {
        if !self.overlaps(other) {
            return false;
        }
        let places = |a: &NDArray, f: &mut dyn FnMut(isize)| {
            each(a.shape(), [a.strides()], |[o]| f(a.offset + o));
        };
        let (first, end) = self.range();
        let mut taken = vec![false; (end - first) as usize];
        places(self, &mut |at| taken[(at - first) as usize] = true);
        let mut shared = false;
        places(other, &mut |at| shared |= (first..end).contains(&at) && taken[(at - first) as usize]);
        shared
    }

    /// Whether both are the same elements in the same order.
    pub fn same_layout(&self, other: &NDArray) -> bool {
        self.storage().same(other.storage())
            && self.offset == other.offset
            && self.dtype == other.dtype
            && self.shape == other.shape
            && self.strides == other.strides
    }

    /// A number for which elements of the storage these are.
    pub(crate) fn layout_hash(&self) -> u64 {
        let mut h = DefaultHasher::new();
        (self.offset, self.shape, self.strides).hash(&mut h);
        h.finish()
    }

    /// First and one past the last element, from the storage's start.
    fn range(&self) -> (isize, isize) {
        let (mut lo, mut hi) = (self.offset, self.offset);
        for (d, s) in self.shape.iter().zip(self.strides.iter()) {
            let reach = (d - 1) * s;
            if reach < 0 { lo += reach } else { hi += reach }
        }
        (lo, hi + 1)
    }

    /// Whether no two elements are the same place in memory.
    pub fn is_injective(&self) -> bool {
        if self.contiguous || self.size < 2 {
            return true;
        }
        let mut axes: Vec<(isize, isize)> =
            self.shape.iter().copied().zip(self.strides.iter().map(|s| s.abs())).filter(|(d, _)| *d > 1).collect();
        axes.sort_by_key(|(_, s)| *s);
        let mut reach = 0;
        axes.iter().all(|(d, s)| {
            let ok = *s > reach;
            reach += (d - 1) * s;
            ok
        })
    }

    /// Gives up the handle, count included.
    #[inline(always)]
    pub fn into_raw(self) -> *mut RawArray {
        let p = self.0.as_ptr();
        std::mem::forget(self);
        p
    }

    /// # Safety
    /// `p` comes from `into_raw`, and is used for this once.
    #[inline(always)]
    pub unsafe fn from_raw(p: *mut RawArray) -> NDArray {
        // SAFETY: `into_raw` never gives null.
        NDArray(unsafe { NonNull::new_unchecked(p) })
    }

    /// # Safety
    /// `p` points to a handle's raw form that is kept alive elsewhere as long as the result is used.
    #[inline(always)]
    pub unsafe fn borrow(p: &*mut RawArray) -> &NDArray {
        // SAFETY: the handle is a transparent pointer of the same kind.
        unsafe { &*std::ptr::from_ref(p).cast::<NDArray>() }
    }

    pub(crate) fn with_node(self, node: NodeRef, output: u32) -> NDArray {
        self.node.set(Some(node), output);
        self
    }

    /// Whether gradients flow through it.
    #[inline(always)]
    pub fn is_tracked(&self) -> bool {
        !self.node.is_empty()
    }
}

const _: () = assert!(size_of::<NDArray>() == size_of::<*mut RawArray>());
