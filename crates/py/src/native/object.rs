//! The Python object of an array: made and freed with every op, so it comes from a free list.
//!
//! Its type takes part in the collection of cycles, but an object only once Python code hangs on its array (a hook, a
//! gradient function): so the collector has nothing to do with all others.
use crate::error::to_py;
use gluonish_base::Error;
use gluonish_base::tls::{OBJECTS, tls};
use gluonish_graph::{NDArray, RawArray, forget_held, visit_held};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi::*;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

#[repr(C)]
pub(crate) struct Object {
    base: PyObject,
    array: *mut RawArray,
    pub(super) weak: *mut PyObject,
}

/// Objects that a thread keeps.
const KEPT: u32 = 1024;
static TYPE: AtomicPtr<PyTypeObject> = AtomicPtr::new(null_mut());

pub(super) fn set_type(t: *mut PyTypeObject) {
    TYPE.store(t, Relaxed);
}
#[inline(always)]
pub(super) fn array_type() -> *mut PyTypeObject {
    TYPE.load(Relaxed)
}

/// The array in an object, if it is one.
///
/// # Safety
/// `o` is a live object, kept alive for `'a`, and the thread is attached.
#[inline(always)]
pub(crate) unsafe fn get<'a>(o: *mut PyObject) -> Option<&'a NDArray> {
    // SAFETY: objects of the type (or a subtype) have our layout and hold a handle.
    unsafe {
        let t = Py_TYPE(o);
        if t == array_type() || PyType_IsSubtype(t, array_type()) != 0 {
            Some(NDArray::borrow(&(*o.cast::<Object>()).array))
        } else {
            None
        }
    }
}

/// The array in an object that Python hands to a function.
pub(crate) fn array_of<'a>(o: &'a Bound<'_, PyAny>) -> Option<&'a NDArray> {
    // SAFETY: a bound reference is a live object of an attached thread.
    unsafe { get(o.as_ptr()) }
}

/// A new object that takes over the array.
///
/// # Safety
/// The thread is attached.
#[inline(always)]
pub(crate) unsafe fn wrap(a: NDArray) -> *mut PyObject {
    let list = &tls().free[OBJECTS];
    let p = list.head.get().cast::<Object>();
    // SAFETY: what is on the list is memory of freed objects of exactly our type, linked through `array`.
    unsafe {
        let o = if p.is_null() {
            PyObject_GC_New::<Object>(array_type())
        } else {
            list.head.set((*p).array.cast());
            list.len.set(list.len.get() - 1);
            PyObject_Init(p.cast(), array_type()).cast::<Object>()
        };
        if !o.is_null() {
            (*o).array = a.into_raw();
            (*o).weak = null_mut();
        }
        o.cast()
    }
}

pub(super) unsafe extern "C" fn dealloc(o: *mut PyObject) {
    // SAFETY: called once by the interpreter for an object of our type; the handle is taken out once.
    unsafe {
        let (p, t) = (o.cast::<Object>(), Py_TYPE(o));
        PyObject_GC_UnTrack(o.cast());
        if !(*p).weak.is_null() {
            PyObject_ClearWeakRefs(o);
        }
        drop(NDArray::from_raw((*p).array));
        let list = &tls().free[OBJECTS];
        if t == array_type() && list.len.get() < KEPT {
            (*p).array = list.head.get().cast();
            list.head.set(p.cast());
            list.len.set(list.len.get() + 1);
        } else {
            PyObject_GC_Del(o.cast::<c_void>());
        }
        Py_DECREF(t.cast());
    }
}

pub(super) unsafe extern "C" fn traverse(o: *mut PyObject, visit: visitproc, arg: *mut c_void) -> c_int {
    // SAFETY: called by the collector, with a live object of our type and the thread attached; `visit` takes objects that
    // the given one owns, as those are that live by its array alone.
    unsafe {
        let mut answer = visit(Py_TYPE(o).cast(), arg);
        if let (0, Some(a)) = (answer, get(o)) {
            let _ = visit_held(a, |held| {
                answer = visit(held.as_ptr().cast(), arg);
                if answer == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        }
        answer
    }
}

pub(super) unsafe extern "C" fn clear(o: *mut PyObject) -> c_int {
    // SAFETY: as in `traverse`; the collector holds a reference.
    if let Some(a) = unsafe { get(o) } {
        forget_held(a);
    }
    0
}

/// The object of an array, for pyo3.
pub(crate) fn own(py: Python<'_>, a: NDArray) -> PyResult<Py<PyAny>> {
    // SAFETY: the token proves that the thread is attached; `wrap` gives a new reference or null.
    unsafe { Bound::from_owned_ptr_or_err(py, wrap(a)).map(Bound::unbind) }
}

/// Runs at the edge of a slot: an error becomes a Python exception, and so does a panic.
#[inline(always)]
pub(super) fn edge(f: impl FnOnce() -> PyResult<*mut PyObject>) -> *mut PyObject {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(p)) => p,
        Ok(Err(e)) => raise(e),
        Err(p) => raise(to_py(Error::from_panic(p))),
    }
}

/// As `edge`, for slots that answer with a number, -1 on error.
pub(super) fn edge_int(f: impl FnOnce() -> PyResult<i32>) -> i32 {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(n)) => n,
        Ok(Err(e)) => {
            raise(e);
            -1
        }
        Err(p) => {
            raise(to_py(Error::from_panic(p)));
            -1
        }
    }
}

#[cold]
fn raise(e: PyErr) -> *mut PyObject {
    // SAFETY: slots are called by the interpreter, so the thread is attached.
    e.restore(unsafe { Python::assume_attached() });
    null_mut()
}

/// The exception that the interpreter has set.
#[cold]
pub(super) fn pending() -> PyErr {
    // SAFETY: only called from slots, with the thread attached.
    PyErr::take(unsafe { Python::assume_attached() })
        .unwrap_or_else(|| PyTypeError::new_err("an error without a message"))
}

/// An argument of a pyo3 function that must be an array.
pub(crate) struct Arg<'py>(pub(crate) Bound<'py, PyAny>);
impl Arg<'_> {
    /// From now on the collector looks at it.
    pub(crate) fn may_be_in_a_cycle(&self) {
        let o = self.0.as_ptr();
        // SAFETY: a live object of a type that the collector knows.
        unsafe {
            if PyObject_GC_IsTracked(o) == 0 {
                PyObject_GC_Track(o.cast());
            }
        }
    }
}
impl std::ops::Deref for Arg<'_> {
    type Target = NDArray;
    fn deref(&self) -> &NDArray {
        // SAFETY: checked when it was extracted; the bound reference keeps it alive.
        match unsafe { get(self.0.as_ptr()) } {
            Some(a) => a,
            None => unreachable!("checked when extracted"),
        }
    }
}
impl<'a, 'py> FromPyObject<'a, 'py> for Arg<'py> {
    type Error = PyErr;
    fn extract(o: Borrowed<'a, 'py, PyAny>) -> PyResult<Arg<'py>> {
        // SAFETY: a live object of an attached thread.
        if unsafe { get(o.as_ptr()) }.is_some() {
            return Ok(Arg(o.to_owned()));
        }
        let kind = o.get_type().name().map_or_else(|_| "?".to_string(), |n| n.to_string());
        Err(PyTypeError::new_err(format!("an NDArray is needed, got {kind}")))
    }
}
