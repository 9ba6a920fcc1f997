//! The buffer protocol: other code reads and writes an array's memory where it is.
//!
//! NumPy asks any object for a readable buffer before it calls `__array__`, and would take `asarray(x)` for the array's own
//! memory. So the array itself gives its memory to those who mean to write to it (`readinto`) or want
//! plain bytes (`write`, a hash); what `memoryview` asks for, which is what NumPy asks for, is had from `x.data`.
use super::object::{Arg, edge_int, get, pending};
use crate::error::to_py;
use gluonish_base::{DType, MAX_DIMS};
use gluonish_engine::{Loan, engine};
use gluonish_graph::{NDArray, block, detach};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi::*;
use pyo3::prelude::*;
use std::ffi::{CStr, c_int};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;

/// What `PyBUF_INDIRECT` adds to `PyBUF_STRIDES`: only `memoryview` and NumPy ask for that much.
const INDIRECT: c_int = PyBUF_INDIRECT & !PyBUF_STRIDES;

/// The array's memory as an object that `memoryview` takes.
#[pyclass(frozen, module = "gluonish._core")]
pub(crate) struct Memory(NDArray);

#[pymethods]
impl Memory {
    #[new]
    fn new(array: Arg<'_>) -> Memory {
        Memory(detach(&array))
    }
    // SAFETY: pyo3 calls it with a view that is the caller's, the thread attached.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: as above; the object is alive.
        unsafe { fill(slf.as_ptr(), &slf.get().0, view, flags) }
    }
    // SAFETY: pyo3 calls it with a view that `__getbuffer__` filled, once.
    unsafe fn __releasebuffer__(&self, view: *mut Py_buffer) {
        // SAFETY: as above.
        unsafe { release(view) }
    }
}

/// What a view points to.
struct Lent {
    _array: NDArray,
    _loan: Loan,
    shape: [Py_ssize_t; MAX_DIMS],
    strides: [Py_ssize_t; MAX_DIMS],
}

/// Whether a write from outside would spoil a gradient, or other elements.
pub(super) fn is_fixed(a: &NDArray) -> bool {
    a.storage().tape.saved.load(Relaxed) > 0 || !a.is_injective()
}

/// Lends the memory, once all work on it is done.
pub(super) fn lend(a: &NDArray) -> PyResult<Loan> {
    let loan = Loan::new(a.storage());
    block(|poll| engine().wait_to_write(a.storage(), poll)).map_err(to_py)?;
    Ok(loan)
}

const fn format(d: DType) -> Option<&'static CStr> {
    Some(match d {
        DType::Bool => c"?",
        DType::U8 => c"B",
        DType::U16 => c"H",
        DType::U32 => c"I",
        DType::U64 => c"Q",
        DType::I8 => c"b",
        DType::I16 => c"h",
        DType::I32 => c"i",
        DType::I64 => c"q",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::BF16 => return None,
    })
}

/// Why the array cannot be given as `flags` ask for it.
fn refusal(a: &NDArray, flags: c_int) -> Option<String> {
    let asks = |what: c_int| flags & what == what;
    if !a.device().is_cpu() {
        return Some(format!("the array is on {}: copy it to the host first", a.device().name()));
    }
    if asks(PyBUF_FORMAT) && format(a.dtype()).is_none() {
        return Some(format!("buffers know no {}: use astype('float32')", a.dtype()));
    }
    if asks(PyBUF_WRITABLE) && is_fixed(a) {
        return Some(
            "the array is saved for a gradient or repeats its elements: copy() it to write to its memory".into(),
        );
    }
    let (mut shape, mut strides) = (*a.shape(), *a.strides());
    shape.reverse();
    strides.reverse();
    let columns = shape.is_contiguous(&strides);
    let fits = match () {
        () if a.is_contiguous() => !asks(PyBUF_F_CONTIGUOUS) || columns,
        () if columns => asks(PyBUF_STRIDES) && !asks(PyBUF_C_CONTIGUOUS),
        () => {
            asks(PyBUF_STRIDES)
                && ![PyBUF_C_CONTIGUOUS, PyBUF_F_CONTIGUOUS, PyBUF_ANY_CONTIGUOUS].map(asks).contains(&true)
        }
    };
    (!fits).then(|| "the array's elements do not lie one after the other: copy() it first".into())
}

/// # Safety
/// `owner` is a live object that holds `a`, `view` is the caller's to fill, and the thread is attached.
unsafe fn fill(owner: *mut PyObject, a: &NDArray, view: *mut Py_buffer, flags: c_int) -> PyResult<()> {
    // SAFETY: by contract.
    let view = unsafe { &mut *view };
    view.obj = null_mut();
    if let Some(why) = refusal(a, flags) {
        return Err(PyBufferError::new_err(why));
    }
    let read_only = is_fixed(a);
    let loan = lend(a)?;
    let mut lent = Box::new(Lent { _array: detach(a), _loan: loan, shape: [0; MAX_DIMS], strides: [0; MAX_DIMS] });
    let size = a.dtype().size() as Py_ssize_t;
    for (i, (d, s)) in a.shape().iter().zip(a.strides().iter()).enumerate() {
        (lent.shape[i], lent.strides[i]) = (*d, s * size);
    }
    let asks = |what: c_int| flags & what == what;
    view.buf = a.data().cast();
    view.len = a.nbytes() as Py_ssize_t;
    view.itemsize = size;
    view.readonly = read_only as c_int;
    view.ndim = a.shape().len() as c_int;
    view.format = format(a.dtype()).filter(|_| asks(PyBUF_FORMAT)).map_or(null_mut(), |f| f.as_ptr().cast_mut());
    view.shape = if asks(PyBUF_ND) { lent.shape.as_mut_ptr() } else { null_mut() };
    view.strides = if asks(PyBUF_STRIDES) { lent.strides.as_mut_ptr() } else { null_mut() };
    view.suboffsets = null_mut();
    view.internal = Box::into_raw(lent).cast();
    // SAFETY: a live object; the view holds a reference until it is released.
    unsafe { Py_INCREF(owner) };
    view.obj = owner;
    Ok(())
}

/// # Safety
/// `fill` filled the view, which is released once.
unsafe fn release(view: *mut Py_buffer) {
    // SAFETY: by contract `internal` is a box of `fill`.
    unsafe {
        drop(Box::from_raw((*view).internal.cast::<Lent>()));
        (*view).internal = null_mut();
    }
}

pub(super) unsafe extern "C" fn get_buffer(o: *mut PyObject, view: *mut Py_buffer, flags: c_int) -> c_int {
    // SAFETY: called by the interpreter with a live object and a view of the caller's, the thread attached.
    edge_int(|| unsafe {
        (*view).obj = null_mut();
        let Some(a) = get(o) else { return Err(pending()) };
        if flags & INDIRECT != 0 && flags & PyBUF_WRITABLE == 0 {
            let text = "the memory of an array as a memoryview is x.data; numpy.asarray(x) copies it";
            return Err(PyBufferError::new_err(text));
        }
        fill(o, a, view, flags).map(|()| 0)
    })
}

pub(super) unsafe extern "C" fn release_buffer(_: *mut PyObject, view: *mut Py_buffer) {
    // SAFETY: called by the interpreter once for a view that `get_buffer` filled.
    unsafe { release(view) }
}
