//! The type `NDArray`, made from a table of slots.
use super::object::{Object, clear, dealloc, edge, edge_int, get, pending, set_type, traverse};
use super::{buffer, number, properties, subscript};
use crate::native::convert;
use pyo3::exceptions::PyValueError;
use pyo3::ffi::*;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;

/// The one element of an array, as a Python number.
unsafe fn single(o: *mut PyObject) -> PyResult<Py<PyAny>> {
    // SAFETY: called from slots, with live objects and the thread attached.
    let (a, py) = unsafe { (get(o), Python::assume_attached()) };
    let Some(a) = a else { return Err(pending()) };
    if a.size() != 1 {
        return Err(PyValueError::new_err(format!("an array of shape {} is not a single number", a.shape())));
    }
    convert::item(py, a)
}

unsafe extern "C" fn as_float(o: *mut PyObject) -> *mut PyObject {
    // SAFETY: as in `single`.
    edge(|| unsafe { Ok(PyNumber_Float(single(o)?.as_ptr())) })
}
unsafe extern "C" fn as_int(o: *mut PyObject) -> *mut PyObject {
    // SAFETY: as in `single`.
    edge(|| unsafe { Ok(PyNumber_Long(single(o)?.as_ptr())) })
}
unsafe extern "C" fn as_index(o: *mut PyObject) -> *mut PyObject {
    // SAFETY: as in `single`.
    edge(|| unsafe {
        let Some(a) = get(o) else { return Err(pending()) };
        if !a.dtype().is_int() {
            return Err(pyo3::exceptions::PyTypeError::new_err(format!(
                "only an integer can be an index, not {}",
                a.dtype()
            )));
        }
        Ok(single(o)?.into_ptr())
    })
}
unsafe extern "C" fn as_bool(o: *mut PyObject) -> c_int {
    // SAFETY: as in `single`.
    edge_int(|| unsafe {
        if get(o).is_some_and(|a| a.size() == 0) {
            return Err(PyValueError::new_err("the truth of an empty array is not defined; use x.size > 0"));
        }
        Ok(PyObject_IsTrue(single(o)?.as_ptr()))
    })
}

/// By identity, although `==` compares elements: arrays are keys of dictionaries of variables.
unsafe extern "C" fn hash(o: *mut PyObject) -> Py_hash_t {
    let h = (o as usize >> 4) as Py_hash_t;
    if h == -1 { -2 } else { h }
}

pub(super) fn make_type(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let members = Box::leak(Box::new([
        PyMemberDef {
            name: c"__weaklistoffset__".as_ptr(),
            type_code: Py_T_PYSSIZET,
            offset: offset_of!(Object, weak) as Py_ssize_t,
            flags: Py_READONLY,
            doc: std::ptr::null(),
        },
        PyMemberDef::default(),
    ]));
    let mut slots: Vec<(c_int, *mut c_void)> = vec![
        (Py_tp_dealloc, dealloc as *mut c_void),
        (Py_tp_traverse, traverse as *mut c_void),
        (Py_tp_clear, clear as *mut c_void),
        (Py_tp_members, members.as_mut_ptr().cast()),
        (Py_tp_getset, properties::table().cast()),
        (Py_tp_hash, hash as *mut c_void),
        (Py_mp_subscript, subscript::get_item as *mut c_void),
        (Py_mp_ass_subscript, subscript::set_item as *mut c_void),
        (Py_mp_length, subscript::length as *mut c_void),
        (Py_sq_item, subscript::item as *mut c_void),
        (Py_bf_getbuffer, buffer::get_buffer as *mut c_void),
        (Py_bf_releasebuffer, buffer::release_buffer as *mut c_void),
        (Py_nb_float, as_float as *mut c_void),
        (Py_nb_int, as_int as *mut c_void),
        (Py_nb_index, as_index as *mut c_void),
        (Py_nb_bool, as_bool as *mut c_void),
    ];
    slots.extend(number::slots());
    slots.push((0, null_mut()));
    let mut slots: Vec<PyType_Slot> = slots.into_iter().map(|(slot, pfunc)| PyType_Slot { slot, pfunc }).collect();
    let mut spec = PyType_Spec {
        name: c"gluonish.NDArray".as_ptr(),
        basicsize: size_of::<Object>() as c_int,
        itemsize: 0,
        flags: (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION) as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the spec and its slots outlive the call; what they point to (names, members, getters) is static or leaked.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, PyType_FromSpec(&mut spec)) }?;
    // One reference stays with the static for ever.
    set_type(made.clone().into_ptr().cast());
    Ok(made)
}
