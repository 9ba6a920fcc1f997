//! The only place where errors of the core become Python exceptions.
use gluonish_base::{Cause, Error};
use pyo3::exceptions::{PyBaseException, PyException, PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};
use std::io::ErrorKind;
use std::sync::Arc;

/// Name, the exceptions that users of it expect (built in, or with their module), and its documentation.
const CLASSES: &[(&str, &[&str], &str)] = &[
    ("ShapeError", &["ValueError"], "Shapes that do not fit together."),
    ("DTypeError", &["TypeError"], "Element types that do not fit an operation."),
    ("IndexOutOfRange", &["IndexError"], "An index or an axis that does not exist."),
    ("FormatError", &["ValueError"], "A file that is damaged, or of a kind that is not read."),
    ("FileError", &["OSError"], "What the system said about a file."),
    ("FileNotFound", &["FileNotFoundError"], "A file that does not exist."),
    ("FileDenied", &["PermissionError"], "A file that may not be read or written."),
    ("LinAlgError", &["numpy.linalg.LinAlgError"], "A matrix that is singular, or not what an operation needs."),
    ("OutOfMemory", &["MemoryError"], "More memory than the limit allows."),
    ("DeviceError", &[], "Arrays on different devices, or a device that is not there."),
    ("GradientError", &[], "A gradient that cannot be computed, or would be wrong."),
    ("ArgumentError", &["TypeError", "ValueError"], "A call that does not fit an operation's signature."),
    ("NumberOverflow", &["OverflowError", "ValueError"], "A number that an element type cannot hold."),
    ("UnsupportedError", &["NotImplementedError"], "Something that is not built."),
];

struct Classes {
    base: Py<PyType>,
    derived: Vec<Py<PyType>>,
}
static CLASS: PyOnceLock<Classes> = PyOnceLock::new();

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    let builtins = py.import("builtins")?;
    let make = |name: &str, bases: Vec<Bound<'_, PyAny>>, doc: &str| -> PyResult<Py<PyType>> {
        let body = PyDict::new(py);
        body.set_item("__module__", "gluonish.errors")?;
        body.set_item("__doc__", doc)?;
        let class = py.get_type::<PyType>().call1((name, PyTuple::new(py, bases)?, body))?;
        m.add(name, &class)?;
        Ok(class.cast_into::<PyType>()?.unbind())
    };
    let base = make("MXNetError", vec![builtins.getattr("RuntimeError")?], "Base of all errors of gluonish.")?;
    let mut derived = Vec::new();
    for (name, bases, doc) in CLASSES {
        let mut all = vec![base.bind(py).clone().into_any()];
        for b in *bases {
            all.push(match b.rsplit_once('.') {
                Some((module, name)) => py.import(module)?.getattr(name)?,
                None => builtins.getattr(*b)?,
            });
        }
        derived.push(make(name, all, doc)?);
    }
    let _ = CLASS.set(py, Classes { base, derived });
    Ok(())
}

/// Which class an error belongs to; an interrupt stays what Python calls it.
fn class(cause: &Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::Broadcast { .. } | Cause::Shape(_) => "ShapeError",
        Cause::DType(_) => "DTypeError",
        Cause::Index { .. } | Cause::Axis { .. } | Cause::TooManyIndices { .. } | Cause::Key(_) => "IndexOutOfRange",
        Cause::Attribute { .. } | Cause::Argument(_) | Cause::Value(_) => "ArgumentError",
        Cause::Format(_) => "FormatError",
        Cause::File { code, .. } => match std::io::Error::from_raw_os_error(*code).kind() {
            ErrorKind::NotFound => "FileNotFound",
            ErrorKind::PermissionDenied => "FileDenied",
            _ => "FileError",
        },
        Cause::Overflow(_) => "NumberOverflow",
        Cause::LinAlg(_) => "LinAlgError",
        Cause::OutOfMemory { .. } => "OutOfMemory",
        Cause::Device(_) => "DeviceError",
        Cause::Gradient(_) => "GradientError",
        Cause::Unsupported(_) => "UnsupportedError",
        Cause::Failed(_) | Cause::Panicked(_) | Cause::Interrupted => return None,
    })
}

#[cold]
pub(crate) fn to_py(e: Error) -> PyErr {
    Python::attach(|py| {
        if *e.cause() == Cause::Interrupted {
            return PyErr::take(py).unwrap_or_else(|| PyKeyboardInterrupt::new_err(()));
        }
        if let Some(Raised(o)) = e.report().origin.as_ref().and_then(|o| o.downcast_ref::<Raised>()) {
            return noted(py, o.clone_ref(py), &e);
        }
        let origin = e.report().origin.as_ref().and_then(|o| o.downcast_ref::<PyErr>());
        if let Some(o) = origin
            && !o.is_instance_of::<PyException>(py)
        {
            return o.clone_ref(py); // an interrupt, or the end of the program
        }
        let Some(classes) = CLASS.get(py) else { return PyRuntimeError::new_err(e.to_string()) };
        let at = class(e.cause()).and_then(|name| CLASSES.iter().position(|(n, ..)| *n == name));
        let kind = at.map_or(&classes.base, |i| &classes.derived[i]);
        let raised = PyErr::from_type(kind.bind(py).clone(), e.to_string());
        if let Cause::File { code, path, text } = e.cause() {
            let told = format!("{}: {text}", e.report().op);
            describe(raised.value(py), *code, told, path);
        }
        raised.set_cause(py, origin.map(|o| o.clone_ref(py)));
        raised
    })
}

/// Fills in what Python's own errors of files have. `OSError` does this itself only where it comes first among the bases.
fn describe(e: &Bound<'_, PyBaseException>, code: i32, text: String, path: &str) {
    if code == 0 {
        return; // the exception shows its text as it is
    }
    // Names that every such exception has: nothing can fail here but memory.
    let _ = e.setattr("errno", code);
    let _ = e.setattr("strerror", text);
    let _ = e.setattr("filename", path);
}

/// The exception of Python code that the caller waits for while it runs: it reaches the caller as it is.
struct Raised(PyErr);

/// An error that stands for an exception of the user's own, and says by what it was raised.
#[cold]
pub(crate) fn raised_by(who: String, e: PyErr) -> Error {
    Error::new(Cause::Failed(who)).from_origin(Arc::new(Raised(e)))
}

/// The exception with a note of where it comes from, as Python shows since 3.11.
fn noted(py: Python<'_>, o: PyErr, e: &Error) -> PyErr {
    let site = e.report().site;
    let at = if site.is_known() { format!(", recorded at {}", site.describe()) } else { String::new() };
    let add = || -> PyResult<()> {
        let value = o.value(py);
        let notes = match value.getattr("__notes__") {
            Ok(notes) => notes.cast_into::<PyList>()?,
            Err(_) => PyList::empty(py),
        };
        notes.append(format!("raised by {}{at}", e.cause()))?;
        value.setattr("__notes__", notes)
    };
    let _ = add(); // an exception that takes no notes does without
    o
}

/// An error of Python code that ran inside an operation, as an error of that operation.
#[cold]
pub(crate) fn from_py(py: Python<'_>, e: PyErr) -> Error {
    let kind = e.get_type(py).name().map_or_else(|_| "error".to_string(), |n| n.to_string());
    let text = format!("the Python function raised {kind}: {}", e.value(py));
    Error::new(Cause::Failed(text)).from_origin(Arc::new(e))
}

/// `ArgumentError` with a text of the binding's own.
#[cold]
pub(crate) fn argument(op: &'static str, text: String) -> PyErr {
    to_py(Error::new(Cause::Argument(text)).in_op(op))
}

/// Runs something of the core: an error becomes a Python exception, and so does a panic.
pub(crate) fn guarded<T>(f: impl FnOnce() -> gluonish_base::Result<T>) -> PyResult<T> {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|p| Err(Error::from_panic(p))).map_err(to_py)
}
