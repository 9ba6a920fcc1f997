//! From Python objects to attribute values.
use super::object::get;
use gluonish_base::{Cause, DType, Dims, Error, MAX_DIMS, too_many_dims};
use gluonish_kernels::AttrVal;
use gluonish_ops::attr::LEFT_OUT;
use gluonish_ops::{Attr, Kind};
use pyo3::ffi::*;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

/// The value of a Python int, but for -1, which may also mean an error.
///
/// # Safety
/// `o` is a live object of an attached thread.
#[inline(always)]
pub(super) unsafe fn whole(o: *mut PyObject) -> Option<isize> {
    // SAFETY: by contract.
    unsafe {
        if PyLong_Check(o) == 0 {
            return None;
        }
        let v = PyLong_AsSsize_t(o);
        if v != -1 {
            return Some(v);
        }
        PyErr_Clear();
        None
    }
}

/// # Safety
/// `o` is a live object of an attached thread.
#[inline]
pub(super) unsafe fn int(o: *mut PyObject) -> Option<i64> {
    // SAFETY: by contract.
    unsafe {
        if let Some(v) = whole(o) {
            return Some(v as i64);
        }
        if PyLong_Check(o) == 0 && (PyIndex_Check(o) == 0 || get(o).is_some_and(|a| a.size() != 1)) {
            return None;
        }
        let v = PyNumber_AsSsize_t(o, PyExc_OverflowError);
        if v == -1 && !PyErr_Occurred().is_null() {
            PyErr_Clear();
            return None;
        }
        Some(v as i64)
    }
}

/// # Safety
/// As `int`.
unsafe fn float(o: *mut PyObject) -> Option<f64> {
    // SAFETY: by contract.
    unsafe {
        let is_text = PyUnicode_Check(o) != 0 || PyBytes_Check(o) != 0;
        if is_text || o == Py_None() || get(o).is_some_and(|a| a.size() != 1) {
            return None;
        }
        let v = PyFloat_AsDouble(o);
        if v == -1.0 && !PyErr_Occurred().is_null() {
            PyErr_Clear();
            return None;
        }
        Some(v)
    }
}

/// The items of a list or a tuple, borrowed from it; `None` when the object is neither.
///
/// # Safety
/// `o` is a live object of an attached thread that outlives the items' use, in which nobody changes it.
#[inline(always)]
pub(super) unsafe fn items(o: *mut PyObject) -> Option<impl Iterator<Item = *mut PyObject>> {
    // SAFETY: by contract.
    let (tuple, n) = unsafe {
        match (PyTuple_Check(o) != 0, PyList_Check(o) != 0) {
            (true, _) => (true, PyTuple_Size(o)),
            (_, true) => (false, PyList_Size(o)),
            _ => return None,
        }
    };
    // SAFETY: by contract; the positions exist.
    Some((0..n).map(move |i| unsafe { if tuple { PyTuple_GetItem(o, i) } else { PyList_GetItem(o, i) } }))
}

/// # Safety
/// As `int`.
unsafe fn ints(o: *mut PyObject) -> Option<Dims> {
    // SAFETY: by contract; items are borrowed from a list or tuple that is alive.
    unsafe {
        let mut d = Dims::EMPTY;
        let Some(items) = items(o) else {
            let Some(v) = int(o) else { return from_sequence(o) };
            d.push(v as isize);
            return Some(d);
        };
        for item in items {
            if !d.try_push(int(item)? as isize) {
                return None;
            }
        }
        Some(d)
    }
}

/// The bounds of a slice: integers and None.
///
/// # Safety
/// As `int`.
#[cold]
unsafe fn bounds(o: *mut PyObject) -> Option<Dims> {
    // SAFETY: by contract; items are borrowed from a list or tuple that is alive.
    unsafe {
        let none = Py_None();
        let mut d = Dims::EMPTY;
        let Some(items) = items(o) else { return if o == none { Some(d) } else { ints(o) } };
        for item in items {
            let bound = if item == none { LEFT_OUT } else { int(item).filter(|v| *v > i64::MIN)? as isize };
            if !d.try_push(bound) {
                return None;
            }
        }
        Some(d)
    }
}

/// Why an attribute cannot have a value that `parse` refused.
#[cold]
pub(crate) fn refusal(attr: &Attr, o: &Bound<'_, PyAny>) -> Error {
    let given = || o.repr().map_or_else(|_| "?".to_string(), |s| s.to_string());
    match attr.kind {
        Kind::Ints | Kind::OptInts | Kind::Bounds => {
            not_ints(attr.name, o).unwrap_or_else(|| Error::new(attr.bad(given())))
        }
        Kind::Int { .. } | Kind::OptInt if o.is_instance_of::<PyInt>() && o.extract::<i64>().is_err() => {
            let expected = "an integer of at most 64 bits".to_string();
            Error::new(Cause::Attribute { name: attr.name.into(), given: given(), expected })
        }
        _ => Error::new(attr.bad(given())),
    }
}

/// What is wrong with a list that has too many integers, or one that no size and no axis can be.
#[cold]
pub(crate) fn not_ints(name: &str, o: &Bound<'_, PyAny>) -> Option<Error> {
    if o.is_instance_of::<PyString>() {
        return None;
    }
    let one = std::slice::from_ref(o);
    // Only what has a length has an end.
    let iter = o.len().ok().and_then(|_| o.try_iter().ok());
    let many = iter.map(|all| all.map_while(Result::ok).collect::<Vec<_>>());
    let items = many.as_deref().unwrap_or(one);
    if items.len() > MAX_DIMS {
        return Some(too_many_dims(&format!("{name} names"), items.len()));
    }
    let far = items.iter().find(|v| v.is_instance_of::<PyInt>() && v.extract::<isize>().is_err())?;
    let how = match far.lt(0) {
        Ok(true) => format!("too small: at least {}", isize::MIN),
        _ => format!("too large: at most {}", isize::MAX),
    };
    Some(Cause::Shape(format!("{name} has {far}, which is {how} is possible")).into())
}

/// Other sequences of integers, such as NumPy's arrays.
#[cold]
unsafe fn from_sequence(o: *mut PyObject) -> Option<Dims> {
    // SAFETY: a live object of an attached thread.
    let object = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), o) };
    if object.is_instance_of::<PyString>() {
        return None;
    }
    Dims::new(&object.extract::<Vec<isize>>().ok()?)
}

/// One of NumPy's truth values, which are no integers.
#[cold]
fn numpy_bool(o: &Bound<'_, PyAny>) -> Option<bool> {
    let kind = o.py().import("numpy").ok()?.getattr("bool_").ok()?;
    o.is_instance(&kind).ok()?.then(|| o.is_truthy().ok())?
}

/// The element type that an object names: a dtype, a type such as `numpy.float32`, or a string.
#[cold]
pub(crate) fn dtype_of(o: &Bound<'_, PyAny>) -> Option<DType> {
    if o.is_none() {
        return None; // which NumPy takes for float64
    }
    if let Ok(name) = o.extract::<String>()
        && let Some(d) = DType::parse(&name)
    {
        return Some(d);
    }
    let dtype = o.py().import("numpy").ok()?.getattr("dtype").ok()?.call1((o,)).ok()?;
    DType::parse(&dtype.getattr("name").ok()?.extract::<String>().ok()?)
}

/// A tuple of integers given as any Python object.
pub(crate) fn ints_of(o: &Bound<'_, PyAny>) -> Option<Dims> {
    // SAFETY: a live object of an attached thread.
    unsafe { ints(o.as_ptr()) }
}

/// The value of an attribute, checked; `None` when the object does not fit.
///
/// # Safety
/// `o` is a live object of an attached thread.
#[inline]
pub(super) unsafe fn parse(attr: &Attr, o: *mut PyObject, slot: &mut AttrVal) -> bool {
    // SAFETY: by contract.
    let value = unsafe {
        let none = o == Py_None();
        match attr.kind {
            // Without a detour: a list of integers is long to copy, and has no range to check.
            Kind::Ints | Kind::OptInts if !none => {
                let list = ints(o);
                if let Some(list) = list {
                    *slot = AttrVal::Ints(list);
                }
                return list.is_some();
            }
            Kind::Bool if o == Py_True() || o == Py_False() => Some(AttrVal::Bool(o == Py_True())),
            // Gluon's code writes 0 and 1 for truth values.
            Kind::Bool => match int(o) {
                Some(v) => (v == 0 || v == 1).then_some(AttrVal::Bool(v == 1)),
                None => numpy_bool(&Bound::from_borrowed_ptr(Python::assume_attached(), o)).map(AttrVal::Bool),
            },
            Kind::OptInt | Kind::OptFloat | Kind::OptInts | Kind::OptDType | Kind::OptChoice(_) if none => {
                Some(AttrVal::None)
            }
            Kind::Int { .. } | Kind::OptInt if o == Py_True() || o == Py_False() => None,
            Kind::Int { .. } | Kind::OptInt => int(o).map(AttrVal::Int),
            Kind::Float { .. } | Kind::OptFloat => float(o).map(AttrVal::Float),
            Kind::Ints | Kind::OptInts => None,
            Kind::Bounds => bounds(o).map(AttrVal::Ints),
            Kind::DType if none => (!attr.is_required()).then_some(attr.default),
            Kind::DType | Kind::OptDType => {
                dtype_of(&Bound::from_borrowed_ptr(Python::assume_attached(), o)).map(AttrVal::DType)
            }
            Kind::Choice(words) | Kind::OptChoice(words) => choice(words, o),
        }
    };
    match value {
        Some(v) if attr.check(&v).is_ok() => {
            *slot = v;
            true
        }
        _ => false,
    }
}

unsafe fn choice(words: &[&str], o: *mut PyObject) -> Option<AttrVal> {
    // SAFETY: as in `parse`.
    let object = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), o) };
    let word = object.extract::<String>().ok()?;
    words.iter().position(|w| *w == word).map(|i| AttrVal::Choice(i as u8))
}
