//! What an op accepts as an array: ours, a Python number, or an array of another library, which is copied.
use super::object::get;
use crate::native::convert;
use gluonish_base::Scalar;
use gluonish_graph::{In, NDArray};
use pyo3::ffi::*;
use pyo3::prelude::*;

/// An operand that may own an array made for this call.
pub(crate) enum Operand<'a> {
    In(In<'a>),
    Own(NDArray),
}

impl Operand<'_> {
    #[inline(always)]
    pub(crate) fn as_in(&self) -> In<'_> {
        match self {
            Operand::In(i) => *i,
            Operand::Own(a) => In::Array(a),
        }
    }

    /// As `new`, for an object that Python hands to a function.
    pub(crate) fn of<'a>(o: &'a Bound<'_, PyAny>) -> PyResult<Option<Operand<'a>>> {
        // SAFETY: a bound reference is a live object of an attached thread.
        unsafe { Operand::new(o.as_ptr()) }
    }

    /// `None` when the object is nothing of the kind; an error when a number does not fit.
    ///
    /// # Safety
    /// `o` is a live object, kept alive for the operand's lifetime, and the thread is attached.
    #[inline(always)]
    pub(crate) unsafe fn new<'a>(o: *mut PyObject) -> PyResult<Option<Operand<'a>>> {
        // SAFETY: passed on.
        unsafe {
            if let Some(a) = get(o) {
                return Ok(Some(Operand::In(In::Array(a))));
            }
            if PyFloat_Check(o) != 0 {
                return Ok(Some(Operand::In(In::Scalar(Scalar::Float(PyFloat_AsDouble(o))))));
            }
            if PyLong_Check(o) != 0 {
                return integer(o).map(|s| Some(Operand::In(In::Scalar(s))));
            }
            foreign(o)
        }
    }
}

unsafe fn integer(o: *mut PyObject) -> PyResult<Scalar> {
    // SAFETY: `o` is an int of an attached thread.
    unsafe {
        if o == Py_True() || o == Py_False() {
            return Ok(Scalar::Bool(o == Py_True()));
        }
        let v = PyLong_AsLongLong(o);
        if v == -1 && !PyErr_Occurred().is_null() {
            PyErr_Clear();
            return Err(too_large(o));
        }
        Ok(Scalar::Int(v))
    }
}

#[cold]
unsafe fn too_large(o: *mut PyObject) -> PyErr {
    // SAFETY: a live object of an attached thread.
    let number = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), o) };
    crate::error::argument("number", format!("{number} does not fit in 64 bits; write it as a float"))
}

/// NumPy's scalars and arrays, and whatever else has `__array__`.
#[cold]
unsafe fn foreign<'a>(o: *mut PyObject) -> PyResult<Option<Operand<'a>>> {
    // SAFETY: a live object of an attached thread.
    let object = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), o) };
    if object.is_none() || !object.hasattr("__array__")? {
        return Ok(None);
    }
    if let Some(s) = convert::numpy_scalar(&object)? {
        return Ok(Some(Operand::In(In::Scalar(s))));
    }
    convert::from_array_like(&object).map(|a| Some(Operand::Own(a)))
}
