//! What an op accepts as an array: ours, a Python number, or an array of another library, which is copied.
use super::attribute::items;
use super::object::get;
use crate::error::to_py;
use crate::native::convert;
use gluonish_base::{Cause, DType, Dims, Error, Scalar};
use gluonish_engine::Device;
use gluonish_graph::{In, NDArray, current_device};
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
                return match integer(o) {
                    Some(s) => Ok(Some(Operand::In(In::Scalar(s)))),
                    None => Err(too_large(o, None)),
                };
            }
            foreign(o, current_device())
        }
    }

    /// What meets an array in an operator: whatever `new` takes, lists, and integers of any size where they have a meaning
    /// beside this array. `truth`: the operator compares.
    ///
    /// # Safety
    /// As `new`.
    #[cold]
    pub(super) unsafe fn beside<'a>(o: *mut PyObject, array: &NDArray, truth: bool) -> PyResult<Option<Operand<'a>>> {
        // SAFETY: passed on.
        unsafe {
            if PyLong_Check(o) != 0 {
                return match integer(o) {
                    Some(s) => Ok(Some(Operand::In(In::Scalar(s)))),
                    None => large(o, array, truth).map(Some),
                };
            }
            if PyFloat_Check(o) != 0 {
                return Ok(Some(Operand::In(In::Scalar(Scalar::Float(PyFloat_AsDouble(o))))));
            }
            match foreign(o, array.device())? {
                None => list(o, Some(array)),
                found => Ok(found),
            }
        }
    }
}

/// A Python int or bool; `None` where it does not fit in 64 bits.
#[inline(always)]
unsafe fn integer(o: *mut PyObject) -> Option<Scalar> {
    // SAFETY: `o` is an int of an attached thread.
    unsafe {
        if o == Py_True() || o == Py_False() {
            return Some(Scalar::Bool(o == Py_True()));
        }
        let v = PyLong_AsLongLong(o);
        if v == -1 && !PyErr_Occurred().is_null() {
            PyErr_Clear();
            return None;
        }
        Some(Scalar::Int(v))
    }
}

/// An integer beyond 64 bits beside an array: unsigned ones may hold it, floats round it, and a comparison of other
/// integers with it has one answer for all.
#[cold]
unsafe fn large<'a>(o: *mut PyObject, array: &NDArray, truth: bool) -> PyResult<Operand<'a>> {
    // SAFETY: `o` is an int of an attached thread.
    let number = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), o) };
    if array.dtype() == DType::U64
        && let Ok(v) = number.extract::<u64>()
    {
        let whole = NDArray::from_bytes(array.device(), DType::U64, &Dims::EMPTY, &v.to_ne_bytes());
        return whole.map(Operand::Own).map_err(to_py);
    }
    if array.dtype().is_float() {
        return Ok(Operand::In(In::Scalar(Scalar::Float(number.extract()?))));
    }
    if truth {
        let beyond = if number.lt(0)? { f64::NEG_INFINITY } else { f64::INFINITY };
        return Ok(Operand::In(In::Scalar(Scalar::Float(beyond))));
    }
    // SAFETY: as above.
    Err(unsafe { too_large(o, Some(array.dtype())) })
}

#[cold]
unsafe fn too_large(o: *mut PyObject, dtype: Option<DType>) -> PyErr {
    // SAFETY: a live object of an attached thread.
    let number = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), o) };
    let text = match dtype {
        Some(d) => format!("{number} does not fit in {d}; write it as a float"),
        None => format!("{number} does not fit in 64 bits; write it as a float"),
    };
    to_py(Error::new(Cause::Overflow(text)).in_op("number"))
}

/// Nested lists of numbers, as NumPy reads them, and of arrays, which are stacked; `None` for anything else.
///
/// # Safety
/// `o` is a live object of an attached thread.
#[cold]
pub(super) unsafe fn list<'a>(o: *mut PyObject, beside: Option<&NDArray>) -> PyResult<Option<Operand<'a>>> {
    // SAFETY: by contract.
    unsafe {
        if items(o).is_none() {
            return Ok(None);
        }
        if holds_array(o) {
            return stacked(o).map(|a| Some(Operand::Own(a)));
        }
        let object = Bound::from_borrowed_ptr(Python::assume_attached(), o);
        Ok(convert::from_list(&object, beside)?.map(Operand::Own))
    }
}

/// Nested lists with arrays of ours among the numbers, as one array: their gradients go through.
///
/// # Safety
/// `o` is a live object of an attached thread.
#[cold]
pub(super) unsafe fn stacked(o: *mut PyObject) -> PyResult<NDArray> {
    // SAFETY: by contract.
    let object = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), o) };
    let made = object.py().import("gluonish.np.creation")?.getattr("array")?.call1((&object,))?;
    // SAFETY: a live object of an attached thread.
    match unsafe { get(made.as_ptr()) } {
        Some(a) => Ok(a.clone()),
        None => Err(pyo3::exceptions::PyTypeError::new_err("a list of arrays could not be stacked")),
    }
}

/// Whether an object is an array of ours, or a list in which there is one.
///
/// # Safety
/// `o` is a live object of an attached thread.
pub(super) unsafe fn holds_array(o: *mut PyObject) -> bool {
    // SAFETY: as `list`; items are borrowed from a list or tuple that is alive.
    unsafe { get(o).is_some() || items(o).is_some_and(|mut all| all.any(|item| holds_array(item))) }
}

/// NumPy's scalars and arrays, and whatever else has `__array__`.
#[cold]
unsafe fn foreign<'a>(o: *mut PyObject, device: Device) -> PyResult<Option<Operand<'a>>> {
    // SAFETY: a live object of an attached thread.
    let object = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), o) };
    if object.is_none() || !object.hasattr("__array__")? {
        return Ok(None);
    }
    if let Some(s) = convert::numpy_scalar(&object)? {
        return Ok(Some(Operand::In(In::Scalar(s))));
    }
    convert::from_array_like(&object, device).map(|a| Some(Operand::Own(a)))
}
