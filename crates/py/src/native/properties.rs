//! Properties of the array object, and the NumPy dtype objects they hand out.
use super::object::{edge, get, pending, wrap};
use crate::error::to_py;
use gluonish_base::DType;
use gluonish_graph::{grad_of, transpose};
use pyo3::ffi::*;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::ffi::c_void;

static DTYPES: PyOnceLock<Vec<Py<PyAny>>> = PyOnceLock::new();

/// Fetches NumPy's dtype objects; bfloat16, which NumPy lacks, is a string.
pub(super) fn prepare(py: Python<'_>) -> PyResult<()> {
    super::number::prepare()?;
    let dtype = py.import("numpy")?.getattr("dtype")?;
    let mut all = Vec::new();
    for d in DType::ALL {
        let object =
            if d == DType::BF16 { "bfloat16".into_pyobject(py)?.into_any() } else { dtype.call1((d.name(),))? };
        all.push(object.unbind());
    }
    let _ = DTYPES.set(py, all);
    Ok(())
}

/// The object that stands for an element type in Python.
pub(crate) fn dtype_object(py: Python<'_>, d: DType) -> Py<PyAny> {
    match DTYPES.get(py) {
        Some(all) => all[d as usize].clone_ref(py),
        None => py.None(),
    }
}

/// # Safety
/// The thread is attached.
unsafe fn tuple(values: impl ExactSizeIterator<Item = isize>) -> *mut PyObject {
    // SAFETY: by contract; a new tuple is filled before anyone sees it.
    unsafe {
        let t = PyTuple_New(values.len() as Py_ssize_t);
        if !t.is_null() {
            for (i, d) in values.enumerate() {
                PyTuple_SetItem(t, i as Py_ssize_t, PyLong_FromSsize_t(d));
            }
        }
        t
    }
}

macro_rules! getter {
    ($name:ident, |$a:ident| $body:expr) => {
        unsafe extern "C" fn $name(o: *mut PyObject, _: *mut c_void) -> *mut PyObject {
            // SAFETY: called by the interpreter with a live object, the thread attached.
            edge(|| unsafe {
                let Some($a) = get(o) else { return Err(pending()) };
                $body
            })
        }
    };
}

getter!(shape, |a| Ok(tuple(a.shape().iter().copied())));
getter!(strides, |a| Ok(tuple(a.strides().iter().map(|s| s * a.dtype().size() as isize))));
getter!(size, |a| Ok(PyLong_FromSsize_t(a.size() as isize)));
getter!(ndim, |a| Ok(PyLong_FromSsize_t(a.shape().len() as isize)));
getter!(nbytes, |a| Ok(PyLong_FromSsize_t(a.nbytes() as isize)));
getter!(itemsize, |a| Ok(PyLong_FromSsize_t(a.dtype().size() as isize)));
getter!(device, |a| Ok(PyLong_FromSsize_t(a.device().index() as isize)));
getter!(dtype, |a| Ok(dtype_object(Python::assume_attached(), a.dtype()).into_ptr()));
getter!(grad, |a| match grad_of(a) {
    Some((g, _)) => Ok(wrap(g)),
    None => Ok(Python::assume_attached().None().into_ptr()),
});
getter!(transposed, |a| Ok(wrap(transpose(a).map_err(to_py)?)));

type Getter = unsafe extern "C" fn(*mut PyObject, *mut c_void) -> *mut PyObject;

/// The table of properties, which lives as long as the type.
pub(super) fn table() -> *mut PyGetSetDef {
    let all: [(&std::ffi::CStr, Getter, &std::ffi::CStr); 10] = [
        (c"shape", shape, c"Sizes of the axes."),
        (c"strides", strides, c"Bytes from one element to the next along each axis."),
        (c"size", size, c"Number of elements."),
        (c"ndim", ndim, c"Number of axes."),
        (c"nbytes", nbytes, c"Bytes of all elements."),
        (c"itemsize", itemsize, c"Bytes of one element."),
        (c"_device", device, c"Number of the device."),
        (c"dtype", dtype, c"Element type."),
        (c"grad", grad, c"Where backward() leaves the gradient; None without attach_grad()."),
        (c"T", transposed, c"The array with its axes in reverse order, as a view."),
    ];
    let mut defs: Vec<PyGetSetDef> = all
        .iter()
        .map(|(name, get, doc)| PyGetSetDef {
            name: name.as_ptr(),
            get: Some(*get),
            set: None,
            doc: doc.as_ptr(),
            closure: std::ptr::null_mut(),
        })
        .collect();
    defs.push(PyGetSetDef::default());
    Box::leak(defs.into_boxed_slice()).as_mut_ptr()
}
