//! Memory shared with other libraries by DLPack: capsules of both kinds, out and in. The structures are those of `dlpack.h`,
//! version 1.
use super::buffer::{is_fixed, lend};
use crate::error::to_py;
use gluonish_base::{Cause, DType, Dims, Error, MAX_DIMS, Result};
use gluonish_engine::{Device, Loan, Var};
use gluonish_graph::{In, NDArray, detach, invoke, wait};
use gluonish_kernels::Attrs;
use gluonish_ops::rows::COPY;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi::*;
use pyo3::prelude::*;
use std::ffi::{CStr, c_void};

const MAJOR: u32 = 1;
const READ_ONLY: u64 = 1;
const COPIED: u64 = 2;
/// Types of devices whose memory the host can read and write: its own, and what it pinned for CUDA or ROCm.
const HOST: i32 = 1;
const REACHABLE: [i32; 3] = [HOST, 3, 11];
/// Marks capsules of our own: their arrays are taken out again.
static MARK: u8 = 0;

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

/// What the two kinds of capsules have in common.
trait Head: Sized + 'static {
    const NAME: &'static CStr;
    const USED: &'static CStr;
    fn new(tensor: Tensor, flags: u64) -> Self;
    fn tensor(&self) -> &Tensor;
    fn context(&self) -> *mut c_void;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
    fn flags(&self) -> u64;
    fn check(&self) -> PyResult<()>;
}

fn mark() -> *mut c_void {
    (&raw const MARK).cast_mut().cast()
}

impl Head for Managed {
    const NAME: &'static CStr = c"dltensor";
    const USED: &'static CStr = c"used_dltensor";
    fn new(tensor: Tensor, _: u64) -> Managed {
        Managed { tensor, context: mark(), deleter: Some(delete::<Managed>) }
    }
    fn tensor(&self) -> &Tensor {
        &self.tensor
    }
    fn context(&self) -> *mut c_void {
        self.context
    }
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Managed)> {
        self.deleter
    }
    fn flags(&self) -> u64 {
        0
    }
    fn check(&self) -> PyResult<()> {
        Ok(())
    }
}

impl Head for Versioned {
    const NAME: &'static CStr = c"dltensor_versioned";
    const USED: &'static CStr = c"used_dltensor_versioned";
    fn new(tensor: Tensor, flags: u64) -> Versioned {
        Versioned { major: MAJOR, minor: 0, context: mark(), deleter: Some(delete::<Versioned>), flags, tensor }
    }
    fn tensor(&self) -> &Tensor {
        &self.tensor
    }
    fn context(&self) -> *mut c_void {
        self.context
    }
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Versioned)> {
        self.deleter
    }
    fn flags(&self) -> u64 {
        self.flags
    }
    fn check(&self) -> PyResult<()> {
        if self.major == MAJOR {
            return Ok(());
        }
        let text = format!("DLPack of version {}.{}: versions {MAJOR}.x are understood", self.major, self.minor);
        Err(PyBufferError::new_err(text))
    }
}

/// What we give away: the head, by whose address others know it, and what it points to.
#[repr(C)]
struct Given<H> {
    head: H,
    array: NDArray,
    _loan: Loan,
    shape: [i64; MAX_DIMS],
    strides: [i64; MAX_DIMS],
}

/// Whoever took a capsule is done with the memory, on whatever thread. The array has no place in a graph of gradients, so
/// nothing of Python's hangs on it.
unsafe extern "C" fn delete<H: Head>(head: *mut H) {
    if !head.is_null() {
        // SAFETY: the heads with this deleter stand first in boxes of `Given`; it is called once.
        drop(unsafe { Box::from_raw(head.cast::<Given<H>>()) });
    }
}

/// The capsule goes; if nobody took what is in it, that goes too.
unsafe extern "C" fn destroy<H: Head>(capsule: *mut PyObject) {
    // SAFETY: called by the interpreter with a capsule of `wrap`; under this name it holds a head that nobody took.
    unsafe {
        if PyCapsule_IsValid(capsule, H::NAME.as_ptr()) != 0 {
            delete::<H>(PyCapsule_GetPointer(capsule, H::NAME.as_ptr()).cast());
        }
    }
}

const fn code_of(d: DType) -> u8 {
    match d {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 0,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 1,
        DType::F16 | DType::F32 | DType::F64 => 2,
        DType::BF16 => 4,
        DType::Bool => 6,
    }
}

fn copied(a: &NDArray) -> PyResult<NDArray> {
    Ok(invoke(&COPY, &[In::Array(a)], &Attrs::new()).map_err(to_py)?.remove(0))
}

/// A capsule with the array's memory. `copy`: always, never, or where it must be. `write`: it is meant to be written to.
pub(crate) fn export(
    py: Python<'_>,
    a: &NDArray,
    versioned: bool,
    copy: Option<bool>,
    write: bool,
) -> PyResult<Py<PyAny>> {
    if !a.device().is_cpu() {
        let text = format!("the array is on {}: copy it to the host first", a.device().name());
        return Err(PyBufferError::new_err(text));
    }
    let mut a = detach(a);
    let (fixed, mut flags) = (is_fixed(&a), 0);
    if fixed && write {
        let text = "the array is saved for a gradient or repeats its elements: copy() it to write to its memory";
        return Err(PyBufferError::new_err(text));
    }
    if copy == Some(true) || (fixed && !versioned && copy.is_none()) {
        a = copied(&a)?;
        flags = COPIED;
    } else if fixed && !versioned {
        let text = "the array is saved for a gradient or repeats its elements: it can be shared for reading only, which a capsule without a version cannot say; copy=None makes a copy";
        return Err(PyBufferError::new_err(text));
    } else if fixed {
        flags = READ_ONLY;
    }
    let loan = lend(&a)?;
    if versioned { wrap::<Versioned>(py, a, loan, flags) } else { wrap::<Managed>(py, a, loan, flags) }
}

fn wrap<H: Head>(py: Python<'_>, a: NDArray, loan: Loan, flags: u64) -> PyResult<Py<PyAny>> {
    let tensor = Tensor {
        data: a.data().cast(),
        device_type: HOST,
        device_id: 0,
        ndim: a.shape().len() as i32,
        code: code_of(a.dtype()),
        bits: 8 * a.dtype().size() as u8,
        lanes: 1,
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    let (mut shape, mut strides) = ([0; MAX_DIMS], [0; MAX_DIMS]);
    for (i, (d, s)) in a.shape().iter().zip(a.strides().iter()).enumerate() {
        (shape[i], strides[i]) = (*d as i64, *s as i64);
    }
    let given = Box::into_raw(Box::new(Given { head: H::new(tensor, flags), array: a, _loan: loan, shape, strides }));
    // SAFETY: just boxed; the lists stay at their addresses as long as the head does. The capsule takes the box over, and
    // gives it back through `destroy`; where there is no capsule it is dropped here.
    unsafe {
        let tensor: *const Tensor = (*given).head.tensor();
        let tensor = tensor.cast_mut();
        (*tensor).shape = (&raw mut (*given).shape).cast();
        (*tensor).strides = (&raw mut (*given).strides).cast();
        let capsule = PyCapsule_New(given.cast(), H::NAME.as_ptr(), Some(destroy::<H>));
        if capsule.is_null() {
            delete::<H>(given.cast());
        }
        Bound::from_owned_ptr_or_err(py, capsule).map(Bound::unbind)
    }
}

/// The array in a capsule, whose memory it shares. `copy`: always, never, or where it must be.
pub(crate) fn import(capsule: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<NDArray> {
    let is = |name: &CStr| {
        // SAFETY: a live object of an attached thread.
        unsafe { PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) != 0 }
    };
    if is(Versioned::NAME) {
        take::<Versioned>(capsule, copy)
    } else if is(Managed::NAME) {
        take::<Managed>(capsule, copy)
    } else if is(Versioned::USED) || is(Managed::USED) {
        Err(PyBufferError::new_err("the DLPack capsule was used already: each can be taken once"))
    } else {
        let kind = capsule.get_type().name()?.to_string();
        Err(crate::error::argument("from_dlpack", format!("an array or a DLPack capsule is needed, got {kind}")))
    }
}

/// What another library gave, and how it gets it back.
struct Taken<H: Head>(*mut H);
// SAFETY: DLPack's deleters may be called on any thread, which is all that is done with it elsewhere.
unsafe impl<H: Head> Send for Taken<H> {}

impl<H: Head> Drop for Taken<H> {
    fn drop(&mut self) {
        // SAFETY: the head is alive until its deleter is called, once, here.
        unsafe {
            if let Some(delete) = (*self.0).deleter() {
                delete(self.0);
            }
        }
    }
}

fn take<H: Head>(capsule: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<NDArray> {
    // SAFETY: the capsule has this name, so it holds a head that nobody took yet.
    let head = unsafe { PyCapsule_GetPointer(capsule.as_ptr(), H::NAME.as_ptr()) }.cast::<H>();
    // SAFETY: as above; the capsule keeps it alive meanwhile.
    let h = unsafe { &*head };
    h.check()?;
    let layout = Layout::of(h.tensor()).map_err(|e| to_py(e.in_op("from_dlpack")))?;
    let must = h.flags() & READ_ONLY != 0;
    if must && copy == Some(false) {
        return Err(PyBufferError::new_err("the memory is read-only: it cannot be shared; leave out copy=False"));
    }
    // SAFETY: a capsule of an attached thread; the name is static.
    if unsafe { PyCapsule_SetName(capsule.as_ptr(), H::USED.as_ptr()) } != 0 {
        return Err(PyErr::fetch(capsule.py()));
    }
    let taken = Taken(head);
    let array = if h.context() == mark() {
        // SAFETY: the mark says that this is the head of a `Given`.
        detach(unsafe { &(*head.cast::<Given<H>>()).array })
    } else {
        layout.share(taken)
    };
    if !must && copy != Some(true) {
        return Ok(array);
    }
    let copy = copied(&array)?;
    wait(&copy).map_err(to_py)?;
    Ok(copy)
}

/// Where the elements of a tensor are.
struct Layout {
    data: *mut u8,
    dtype: DType,
    shape: Dims,
    strides: Dims,
    /// The first and one past the last element, counted from `data`.
    first: isize,
    end: isize,
}

fn refuse<T>(cause: Cause) -> Result<T> {
    Err(Error::new(cause))
}

impl Layout {
    fn of(t: &Tensor) -> Result<Layout> {
        if !REACHABLE.contains(&t.device_type) {
            return refuse(Cause::Device(format!(
                "the array is on a device of DLPack's type {}: copy it to the host first",
                t.device_type
            )));
        }
        let dtype = DType::ALL.into_iter().find(|d| code_of(*d) == t.code && 8 * d.size() == t.bits as usize);
        let Some(dtype) = dtype.filter(|_| t.lanes == 1) else {
            let text = format!("elements of DLPack's type {} with {} bits and {} lanes", t.code, t.bits, t.lanes);
            return refuse(Cause::DType(format!("{text} are not known here")));
        };
        let ndim = usize::try_from(t.ndim).ok().filter(|n| *n <= MAX_DIMS);
        let Some(ndim) = ndim.filter(|n| *n == 0 || !t.shape.is_null()) else {
            let text = format!("an array of {} dimensions; 0 to {MAX_DIMS} are possible", t.ndim);
            return refuse(Cause::Shape(text));
        };
        let list = |p: *mut i64| {
            let mut d = Dims::EMPTY;
            for i in 0..ndim {
                // SAFETY: DLPack's lists have `ndim` entries.
                d.push(unsafe { p.add(i).read() } as isize);
            }
            d
        };
        let shape = list(t.shape);
        if shape.iter().any(|d| *d < 0) || shape.checked_size().is_none_or(|n| n.checked_mul(dtype.size()).is_none()) {
            return refuse(Cause::Shape(format!("an array of shape {shape} cannot exist")));
        }
        let strides = if t.strides.is_null() { shape.contiguous_strides() } else { list(t.strides) };
        let (mut first, mut end) = (0i128, (shape.size() > 0) as i128);
        for (d, s) in shape.iter().zip(strides.iter()).filter(|_| shape.size() > 0) {
            let reach = (*d as i128 - 1) * *s as i128;
            if reach < 0 { first += reach } else { end += reach }
        }
        let far = isize::MAX as i128 / 8;
        if first < -far || end > far {
            return refuse(Cause::Shape(format!("strides {strides} of shape {shape} leave the memory")));
        }
        let data = if shape.size() == 0 { std::ptr::dangling_mut::<u64>().cast() } else { t.data.cast::<u8>() };
        let data = data.wrapping_add(if shape.size() == 0 { 0 } else { t.byte_offset as usize });
        if !(data as usize).is_multiple_of(dtype.size()) {
            return refuse(Cause::Shape(format!(
                "elements of {dtype} at an odd address: copy them in their library first"
            )));
        }
        Ok(Layout { data, dtype, shape, strides, first: first as isize, end: end as isize })
    }

    /// The array over this memory, which goes back when nobody uses it any more.
    fn share<H: Head>(self, taken: Taken<H>) -> NDArray {
        let size = self.dtype.size();
        let start = self.data.wrapping_offset(self.first * size as isize);
        let bytes = (self.end - self.first) as usize * size;
        let back = Box::new(move || drop(taken));
        // SAFETY: the producer says that its elements are there until its deleter is called, and lets us write to them.
        let storage = unsafe { Var::foreign(Device::cpu(0), start, bytes, back) };
        NDArray::over(storage, self.dtype, &self.shape, &self.strides, -self.first)
    }
}
