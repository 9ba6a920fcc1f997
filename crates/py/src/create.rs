//! Making arrays, and getting their values.
use crate::error::{argument, to_py};
use crate::native::{Arg, Operand, dtype_of, ints_of, not_ints, own};
use crate::native::{Memory, convert, dlpack};
use gluonish_base::{Cause, DType, Dims, Error, Scalar};
use gluonish_engine::Device;
use gluonish_graph::{In, NDArray, full as filled, invoke_on};
use gluonish_kernels::{AttrVal, Attrs};
use gluonish_ops::rows::ARANGE_OP;
use pyo3::prelude::*;

fn place(index: u32) -> PyResult<Device> {
    Device::from_index(index).ok_or_else(|| argument("device", format!("there is no device number {index}")))
}
fn shape_of(o: &Bound<'_, PyAny>) -> PyResult<Dims> {
    ints_of(o).ok_or_else(|| match not_ints("shape", o) {
        Some(e) => to_py(e),
        None => argument("shape", format!("{o} is not a shape: a tuple of integers is needed")),
    })
}
fn type_of(o: &Bound<'_, PyAny>) -> PyResult<DType> {
    dtype_of(o).ok_or_else(|| argument("dtype", format!("{o} is not a dtype")))
}
fn number(o: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    match Operand::of(o)? {
        Some(Operand::In(In::Scalar(s))) => Ok(s),
        _ => Err(argument("number", format!("{o} is not a number"))),
    }
}

#[pyfunction]
fn from_buffer(
    py: Python<'_>,
    obj: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
    shape: &Bound<'_, PyAny>,
    device: u32,
) -> PyResult<Py<PyAny>> {
    own(py, convert::from_buffer(obj, type_of(dtype)?, &shape_of(shape)?, place(device)?)?)
}

#[pyfunction]
#[pyo3(signature = (x, bits=false))]
fn to_numpy(py: Python<'_>, x: Arg<'_>, bits: bool) -> PyResult<Py<PyAny>> {
    convert::to_numpy(py, &x, bits)
}

/// A DLPack capsule that shares the array's memory, or that of a copy.
#[pyfunction]
fn to_dlpack(py: Python<'_>, x: Arg<'_>, versioned: bool, copy: Option<bool>, write: bool) -> PyResult<Py<PyAny>> {
    dlpack::export(py, &x, versioned, copy, write)
}

/// The array of a DLPack capsule, which is used up.
#[pyfunction]
fn from_dlpack(py: Python<'_>, capsule: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Py<PyAny>> {
    own(py, dlpack::import(capsule, copy)?)
}

#[pyfunction]
fn item(py: Python<'_>, x: Arg<'_>) -> PyResult<Py<PyAny>> {
    if x.size() != 1 {
        return Err(pyo3::exceptions::PyValueError::new_err(format!(
            "an array of shape {} is not a single number",
            x.shape()
        )));
    }
    convert::item(py, &x)
}

#[pyfunction]
fn empty(py: Python<'_>, shape: &Bound<'_, PyAny>, dtype: &Bound<'_, PyAny>, device: u32) -> PyResult<Py<PyAny>> {
    own(py, NDArray::empty(place(device)?, type_of(dtype)?, &shape_of(shape)?).map_err(to_py)?)
}

#[pyfunction]
fn full(
    py: Python<'_>,
    shape: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
    device: u32,
) -> PyResult<Py<PyAny>> {
    let (value, dtype) = (number(value)?, type_of(dtype)?);
    if !value.fits(dtype) {
        let text = format!("the number {value} does not fit in {dtype}");
        return Err(to_py(Error::new(Cause::Overflow(text)).in_op("full")));
    }
    own(py, filled(place(device)?, dtype, &shape_of(shape)?, value).map_err(to_py)?)
}

#[pyfunction]
fn arange(
    py: Python<'_>,
    start: &Bound<'_, PyAny>,
    step: &Bound<'_, PyAny>,
    count: isize,
    dtype: &Bound<'_, PyAny>,
    device: u32,
) -> PyResult<Py<PyAny>> {
    let attrs = Attrs::of(&[AttrVal::Ints(Dims::of(&[count])), AttrVal::DType(type_of(dtype)?)]);
    let ins = [In::Scalar(number(start)?), In::Scalar(number(step)?)];
    let mut outs = invoke_on(&ARANGE_OP, &ins, &attrs, place(device)?).map_err(to_py)?;
    own(py, outs.remove(0))
}

#[pyfunction]
fn copy_to_device(py: Python<'_>, x: Arg<'_>, device: u32) -> PyResult<Py<PyAny>> {
    own(py, convert::to_device(&x, place(device)?)?)
}

#[pyfunction]
fn copy_into(dst: Arg<'_>, src: &Bound<'_, PyAny>) -> PyResult<()> {
    let Some(value) = Operand::of(src)? else {
        return Err(argument("copyto", format!("an array or a number is needed, got {}", src.get_type().name()?)));
    };
    gluonish_graph::copy_into(&dst, value.as_in()).map_err(to_py)
}

#[pyfunction]
fn commit_into(state: Arg<'_>, value: Arg<'_>, told: bool) -> PyResult<()> {
    gluonish_graph::commit_into(&state, &value, told).map_err(to_py)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(from_buffer, m)?)?;
    m.add_function(wrap_pyfunction!(to_numpy, m)?)?;
    m.add_function(wrap_pyfunction!(to_dlpack, m)?)?;
    m.add_function(wrap_pyfunction!(from_dlpack, m)?)?;
    m.add_class::<Memory>()?;
    m.add_function(wrap_pyfunction!(item, m)?)?;
    m.add_function(wrap_pyfunction!(empty, m)?)?;
    m.add_function(wrap_pyfunction!(full, m)?)?;
    m.add_function(wrap_pyfunction!(arange, m)?)?;
    m.add_function(wrap_pyfunction!(copy_to_device, m)?)?;
    m.add_function(wrap_pyfunction!(copy_into, m)?)?;
    m.add_function(wrap_pyfunction!(commit_into, m)?)
}
