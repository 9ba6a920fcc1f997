//! `op.parameter_shapes`: the shapes of parameters that have none yet, as a layer asks for them before its first call.
use super::arguments::{Given, required, unknown};
use super::attribute::{ints_of, not_ints};
use super::callable::{OpObject, Slot};
use super::object::{edge, get};
use crate::error::{argument, to_py};
use gluonish_base::{Cause, Dims, Error};
use pyo3::ffi::*;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

pub(super) const DOC: &std::ffi::CStr = c"parameter_shapes($self, /, *args, **kwargs)\n--\n\n\
    The shape of each input, in order, from those that are known. It is called as the op itself, with an array or a shape\n\
    for each input; None stands for what is absent. Parameters get the shapes that the op would need.";

/// # Safety
/// Called by the interpreter: `me` is one of our objects, `args` a tuple, `given` a dictionary or null.
pub(super) unsafe extern "C" fn parameter_shapes(
    me: *mut PyObject,
    args: *mut PyObject,
    given: *mut PyObject,
) -> *mut PyObject {
    edge(|| {
        // SAFETY: by contract.
        let (py, me) = unsafe { (Python::assume_attached(), &*me.cast::<OpObject>()) };
        // SAFETY: by contract.
        let args = unsafe { Bound::from_borrowed_ptr(py, args) }.cast_into::<PyTuple>()?;
        // SAFETY: by contract.
        let given =
            unsafe { Bound::from_borrowed_ptr_or_opt(py, given) }.map(|d| d.cast_into::<PyDict>()).transpose()?;
        let shapes = shapes(me, &args, given.as_ref())?;
        let lists =
            shapes.iter().map(|s| s.as_ref().map(|s| PyTuple::new(py, s.iter().map(|d| (*d).max(0)))).transpose());
        Ok(lists.collect::<PyResult<Vec<_>>>()?.into_pyobject(py)?.into_ptr())
    })
}

fn shapes(me: &OpObject, args: &Bound<'_, PyTuple>, given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<Option<Dims>>> {
    let op = me.op;
    let Some(fill) = op.fill else {
        let text = "the shapes of its inputs cannot be told from each other: give them whole";
        return Err(to_py(Error::from(Cause::Shape(text.to_string())).in_op(op.name)));
    };
    let mut call = Given::new();
    call.attrs.0.extend_from_slice(me.defaults);
    let mut known: Vec<Option<Dims>> = vec![None; op.inputs.len()];
    let mut take = |slot: Option<Slot>, value: &Bound<'_, PyAny>| {
        match slot {
            Some(Slot::Input(i)) => known[i as usize] = known_part(me, i as usize, value)?,
            // SAFETY: a live object of an attached thread.
            Some(Slot::Attr(i)) => unsafe { call.attr(op, i as usize, value.as_ptr()) }?,
            Some(_) => {}
            None => return Ok(false),
        }
        PyResult::Ok(true)
    };
    for (i, value) in args.iter().enumerate() {
        if !take(me.slot(i), &value)? {
            return Err(argument(op.name, format!("{} positional arguments are too many", args.len())));
        }
    }
    for (name, value) in given.into_iter().flatten() {
        // SAFETY: live objects of an attached thread.
        if !take(unsafe { me.find(name.as_ptr()) }, &value)? {
            // SAFETY: as above.
            return Err(unsafe { unknown(me, name.as_ptr(), value.as_ptr()) });
        }
    }
    required(op, &call.attrs)?;
    let count = known.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    if known.first().is_none_or(Option::is_none) {
        return Err(argument(op.name, format!("the shape of '{}' is needed", op.inputs[0].name)));
    }
    let mut shapes: Vec<Dims> = known[..count].iter().map(|s| s.unwrap_or(Dims::EMPTY)).collect();
    fill(&mut shapes, &call.attrs).map_err(|e| to_py(e.in_op(op.name)))?;
    Ok(known.iter().enumerate().map(|(i, given)| given.map(|_| shapes[i])).collect())
}

/// The shape of an array, or a shape with 0 where a dimension is not known yet; None for None.
fn known_part(me: &OpObject, i: usize, value: &Bound<'_, PyAny>) -> PyResult<Option<Dims>> {
    // SAFETY: a live object of an attached thread.
    if let Some(array) = unsafe { get(value.as_ptr()) } {
        return Ok(Some(*array.shape()));
    }
    if value.is_none() {
        return Ok(None);
    }
    let name = me.op.inputs[i].name;
    let Some(mut shape) = ints_of(value) else {
        let what = format!("'{name}' must be an array or a shape, got {}", value.repr()?);
        return Err(not_ints(name, value).map_or_else(|| argument(me.op.name, what), |e| to_py(e.in_op(me.op.name))));
    };
    shape.iter_mut().filter(|d| **d == 0).for_each(|d| *d = -1);
    Ok(Some(shape))
}

/// The method, and the end of the list that it stands in.
pub(super) fn methods() -> [PyMethodDef; 2] {
    let method = PyMethodDef {
        ml_name: c"parameter_shapes".as_ptr(),
        ml_meth: PyMethodDefPointer { PyCFunctionWithKeywords: parameter_shapes },
        ml_flags: METH_VARARGS | METH_KEYWORDS,
        ml_doc: DOC.as_ptr(),
    };
    [method, PyMethodDef::zeroed()]
}
