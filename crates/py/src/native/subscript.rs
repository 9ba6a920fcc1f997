//! `x[key]` and `x[key] = value`.
use super::attribute::whole;
use super::convert::from_array_like;
use super::dtype_of;
use super::object::{edge, edge_int, get, pending, wrap};
use super::operand::{Operand, holds_array, stacked};
use crate::error::to_py;
use gluonish_base::{Cause, DType, Error, Scalar};
use gluonish_engine::Device;
use gluonish_graph::{In, Index, NDArray, Part, assign, assign_at, parse_index, select_at};
use pyo3::ffi::*;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyTuple};
use smallvec::SmallVec;

type Key = SmallVec<[Index; 4]>;

/// A part that is an integer, a slice, `...` or a new axis; `None` for any other.
///
/// # Safety
/// `o` is a live object of an attached thread.
#[inline]
unsafe fn basic(o: *mut PyObject) -> PyResult<Option<Index>> {
    // SAFETY: by contract.
    unsafe {
        if PySlice_Check(o) != 0 {
            return slice(o).map(Some);
        }
        if PyLong_Check(o) != 0 && o != Py_True() && o != Py_False() {
            return integer(o).map(Some);
        }
        if o == Py_None() {
            return Ok(Some(Index::NewAxis));
        }
        if o == Py_Ellipsis() {
            return Ok(Some(Index::Ellipsis));
        }
        Ok(None)
    }
}

unsafe fn integer(o: *mut PyObject) -> PyResult<Index> {
    // SAFETY: as in `part`.
    if let Some(v) = unsafe { whole(o) } {
        return Ok(Index::At(v));
    }
    // SAFETY: as in `part`.
    let v = unsafe { PyNumber_AsSsize_t(o, PyExc_IndexError) };
    // SAFETY: as in `part`.
    if v == -1 && !unsafe { PyErr_Occurred() }.is_null() { Err(pending()) } else { Ok(Index::At(v)) }
}

/// A slice whose parts are ints or left out, as nearly all are.
#[cfg(not(feature = "abi3"))]
#[inline(always)]
unsafe fn plain_slice(o: *mut PyObject) -> Option<Index> {
    // SAFETY: `o` is a slice, whose parts are live objects.
    unsafe {
        let s = &*o.cast::<PySliceObject>();
        let bound = |o| if o == Py_None() { Some(None) } else { whole(o).map(Some) };
        let step = bound(s.step)?.unwrap_or(1);
        Some(Index::Range(bound(s.start)?, bound(s.stop)?, step))
    }
}

#[cfg(feature = "abi3")]
unsafe fn plain_slice(_: *mut PyObject) -> Option<Index> {
    None
}

unsafe fn slice(o: *mut PyObject) -> PyResult<Index> {
    // SAFETY: as below.
    if let Some(plain) = unsafe { plain_slice(o) } {
        return Ok(plain);
    }
    let (mut start, mut stop, mut step) = (0, 0, 0);
    // SAFETY: `o` is a slice of an attached thread. What is left out comes as the end that it means.
    if unsafe { PySlice_Unpack(o, &mut start, &mut stop, &mut step) } < 0 {
        return Err(pending());
    }
    Ok(Index::Range(Some(start), Some(stop), step))
}

/// A key of basic parts alone; `None` if there are others.
///
/// # Safety
/// `key` is a live object of an attached thread.
unsafe fn parse(key: *mut PyObject) -> PyResult<Option<Key>> {
    let mut out = Key::new();
    // SAFETY: by contract; the items of a tuple are borrowed from it.
    unsafe {
        if PyTuple_Check(key) == 0 {
            return Ok(basic(key)?.map(|part| SmallVec::from_iter([part])));
        }
        for i in 0..PyTuple_Size(key) {
            let Some(part) = basic(PyTuple_GetItem(key, i))? else { return Ok(None) };
            out.push(part);
        }
    }
    Ok(Some(out))
}

/// A key with arrays, lists or truth values among its parts.
///
/// # Safety
/// As for `parse`.
#[cold]
unsafe fn parts(key: *mut PyObject, device: Device) -> PyResult<Vec<Part>> {
    // SAFETY: by contract; the items of a tuple are borrowed from it.
    unsafe {
        if PyTuple_Check(key) == 0 {
            return Ok(vec![part(key, device)?]);
        }
        (0..PyTuple_Size(key)).map(|i| part(PyTuple_GetItem(key, i), device)).collect()
    }
}

unsafe fn part(o: *mut PyObject, device: Device) -> PyResult<Part> {
    // SAFETY: as in `parts`.
    unsafe {
        if let Some(index) = basic(o)? {
            return Ok(Part::Basic(index));
        }
        if let Some(a) = get(o) {
            return Ok(Part::Array(a.clone()));
        }
    }
    // SAFETY: as in `parts`.
    let object = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), o) };
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Part::Truth(truth.is_true()));
    }
    let is_list = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    if !is_list && !object.hasattr("__array__")? {
        // SAFETY: as in `parts`.
        return unsafe { if PyIndex_Check(o) != 0 { integer(o).map(Part::Basic) } else { Err(no_key(&object)) } };
    }
    let numpy = object.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (&object,))?;
    if dtype_of(&array.getattr("dtype")?).is_none() {
        return Err(no_key(&object));
    }
    if array.getattr("ndim")?.extract::<usize>()? == 0 && !is_list {
        return scalar(&array);
    }
    Ok(Part::Array(from_array_like(&array, device)?))
}

/// A NumPy number, or an array of its without axes.
fn scalar(array: &Bound<'_, PyAny>) -> PyResult<Part> {
    let value = array.call_method0("item")?;
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Part::Truth(truth.is_true()));
    }
    if !value.is_instance_of::<PyInt>() {
        return Err(no_key(&value));
    }
    // SAFETY: a live int of an attached thread.
    unsafe { integer(value.as_ptr()) }.map(Part::Basic)
}

#[cold]
fn no_key(object: &Bound<'_, PyAny>) -> PyErr {
    let kind = object.get_type().name().map_or_else(|_| "?".to_string(), |n| n.to_string());
    let text =
        format!("{kind} is no index: integers, slices, '...', None, and arrays or lists of integers or bool are");
    to_py(Error::new(Cause::Key(text)).in_op("index"))
}

fn select(a: &NDArray, key: &[Index]) -> PyResult<NDArray> {
    gluonish_graph::select(a, key).map_err(to_py)
}

pub(super) unsafe extern "C" fn get_item(o: *mut PyObject, key: *mut PyObject) -> *mut PyObject {
    // SAFETY: called by the interpreter with live objects, the thread attached.
    edge(|| unsafe {
        let Some(a) = get(o) else { return Err(pending()) };
        if PyTuple_Check(key) == 0
            && let Some(one) = basic(key)?
        {
            return Ok(wrap(select(a, &[one])?));
        }
        match parse(key)? {
            Some(key) => Ok(wrap(select(a, &key)?)),
            None => Ok(wrap(select_at(a, &parts(key, a.device())?).map_err(to_py)?)),
        }
    })
}

/// The sequence protocol, by which Python iterates: one row.
pub(super) unsafe extern "C" fn item(o: *mut PyObject, i: Py_ssize_t) -> *mut PyObject {
    // SAFETY: called by the interpreter with a live object, the thread attached.
    edge(|| unsafe {
        let Some(a) = get(o) else { return Err(pending()) };
        Ok(wrap(select(a, &[Index::At(i)])?))
    })
}

pub(super) unsafe extern "C" fn set_item(o: *mut PyObject, key: *mut PyObject, value: *mut PyObject) -> i32 {
    // SAFETY: called by the interpreter with live objects (a null value means deletion), the thread attached.
    edge_int(|| unsafe {
        let Some(a) = get(o) else { return Err(pending()) };
        if value.is_null() {
            return Err(crate::error::argument("index", "elements of an array cannot be deleted".into()));
        }
        let slice = match parse(key)? {
            Some(key) => Ok(parse_index(a.shape(), &key).map_err(to_py)?),
            None => Err(parts(key, a.device())?),
        };
        let value = match Operand::new(value)? {
            Some(v) => v,
            None if holds_array(value) => Operand::Own(stacked(value)?),
            None => Operand::Own(crate::native::convert::from_sequence(
                &Bound::from_borrowed_ptr(Python::assume_attached(), value),
                a,
            )?),
        };
        if let In::Scalar(number) = value.as_in() {
            check_fits(number, a.dtype())?;
        }
        match &slice {
            Ok(slice) => assign(a, slice, value.as_in()),
            Err(parts) => assign_at(a, parts, value.as_in()),
        }
        .map_err(to_py)?;
        Ok(0)
    })
}

/// A number that the elements cannot hold is refused, as NumPy does; of a bool only the truth is asked for.
fn check_fits(number: Scalar, dtype: DType) -> PyResult<()> {
    let cause = match number {
        _ if dtype == DType::Bool => return Ok(()),
        Scalar::Int(v) if !number.fits(dtype) => Cause::Overflow(format!("{v} does not fit in {dtype}")),
        Scalar::Float(v) if v.is_nan() && dtype.int_range().is_some() => {
            Cause::Value(format!("NaN cannot be an element of {dtype}"))
        }
        Scalar::Float(v) if v.is_infinite() && dtype.int_range().is_some() => {
            Cause::Overflow(format!("{v} does not fit in {dtype}"))
        }
        _ => return Ok(()),
    };
    Err(to_py(Error::new(cause).in_op("index")))
}

pub(super) unsafe extern "C" fn length(o: *mut PyObject) -> Py_ssize_t {
    // SAFETY: called by the interpreter with a live object, the thread attached.
    match unsafe { get(o) }.and_then(|a| a.shape().first().copied()) {
        Some(n) => n,
        None => {
            let e = pyo3::exceptions::PyTypeError::new_err("an array without axes has no len()");
            // SAFETY: as above.
            e.restore(unsafe { Python::assume_attached() });
            -1
        }
    }
}
