//! `x[key]` and `x[key] = value` for integers, slices, `...` and new axes.
use super::attribute::whole;
use super::object::{edge, edge_int, get, pending, wrap};
use super::operand::Operand;
use crate::error::to_py;
use gluonish_base::{Cause, Error};
use gluonish_graph::{Index, NDArray, assign, parse_index};
use pyo3::ffi::*;
use pyo3::prelude::*;
use smallvec::SmallVec;

type Key = SmallVec<[Index; 4]>;

/// # Safety
/// `o` is a live object of an attached thread.
unsafe fn part(o: *mut PyObject) -> PyResult<Index> {
    // SAFETY: by contract.
    unsafe {
        if PySlice_Check(o) != 0 {
            return slice(o);
        }
        if PyLong_Check(o) != 0 && o != Py_True() && o != Py_False() {
            return integer(o);
        }
        if o == Py_None() {
            return Ok(Index::NewAxis);
        }
        if o == Py_Ellipsis() {
            return Ok(Index::Ellipsis);
        }
        other(o)
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

#[cold]
unsafe fn other(o: *mut PyObject) -> PyResult<Index> {
    // SAFETY: as in `part`.
    let object = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), o) };
    // SAFETY: as in `part`.
    let is_number = unsafe { PyIndex_Check(o) } != 0 && unsafe { get(o) }.is_none() && !object.hasattr("__len__")?;
    if is_number && !object.is_instance_of::<pyo3::types::PyBool>() {
        // SAFETY: as in `part`.
        return unsafe { integer(o) };
    }
    let kind = object.get_type().name()?.to_string();
    let text =
        format!("indexing by {kind} is not built: integers, slices, '...' and None are; use take() or boolean_mask()");
    Err(to_py(Error::new(Cause::Unsupported(text)).in_op("index")))
}

/// # Safety
/// `key` is a live object of an attached thread.
unsafe fn parse(key: *mut PyObject) -> PyResult<Key> {
    let mut out = Key::new();
    // SAFETY: by contract; the items of a tuple are borrowed from it.
    unsafe {
        if PyTuple_Check(key) == 0 {
            out.push(part(key)?);
            return Ok(out);
        }
        for i in 0..PyTuple_Size(key) {
            out.push(part(PyTuple_GetItem(key, i))?);
        }
    }
    Ok(out)
}

fn select(a: &NDArray, key: &[Index]) -> PyResult<NDArray> {
    gluonish_graph::select(a, key).map_err(to_py)
}

pub(super) unsafe extern "C" fn get_item(o: *mut PyObject, key: *mut PyObject) -> *mut PyObject {
    // SAFETY: called by the interpreter with live objects, the thread attached.
    edge(|| unsafe {
        let Some(a) = get(o) else { return Err(pending()) };
        if PyTuple_Check(key) == 0 {
            return Ok(wrap(select(a, &[part(key)?])?));
        }
        Ok(wrap(select(a, &parse(key)?)?))
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
        let slice = parse_index(a.shape(), &parse(key)?).map_err(to_py)?;
        let value = match Operand::new(value)? {
            Some(v) => v,
            None => Operand::Own(crate::native::convert::from_sequence(
                &Bound::from_borrowed_ptr(Python::assume_attached(), value),
                a,
            )?),
        };
        assign(a, &slice, value.as_in()).map_err(to_py)?;
        Ok(0)
    })
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
