//! Between arrays and NumPy: copies, through the buffer protocol.
use crate::error::to_py;
use crate::native::{dtype_object, dtype_of};
use gluonish_base::{Cause, DType, Dims, Error, Scalar, too_many_dims};
use gluonish_engine::Device;
use gluonish_graph::{In, NDArray, copy_into, current_device, invoke, wait};
use gluonish_kernels::{AttrVal, Attrs};
use gluonish_ops::rows::{CAST, COPY};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

/// A C-contiguous view of an object's memory, released when dropped.
struct Buffer(Box<ffi::Py_buffer>);

impl Buffer {
    fn new(o: &Bound<'_, PyAny>, writable: bool) -> PyResult<Buffer> {
        let mut b = Box::new(ffi::Py_buffer::new());
        let flags = ffi::PyBUF_C_CONTIGUOUS | if writable { ffi::PyBUF_WRITABLE } else { 0 };
        // SAFETY: a live object of an attached thread; the structure is released in `drop`.
        if unsafe { ffi::PyObject_GetBuffer(o.as_ptr(), &mut *b, flags) } != 0 {
            return Err(PyErr::take(o.py()).unwrap_or_else(|| PyBufferError::new_err("the object has no buffer")));
        }
        Ok(Buffer(b))
    }
    fn bytes(&self) -> usize {
        self.0.len as usize
    }
    fn ptr(&self) -> *mut u8 {
        self.0.buf.cast()
    }
}
impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: got from `PyObject_GetBuffer`, released once; whoever holds a buffer is attached.
        unsafe { ffi::PyBuffer_Release(&mut *self.0) };
    }
}

/// A new array with the bytes of a C-contiguous buffer.
pub(crate) fn from_buffer(o: &Bound<'_, PyAny>, dtype: DType, shape: &Dims, device: Device) -> PyResult<NDArray> {
    let buffer = Buffer::new(o, false)?;
    let bytes: &[u8] = match buffer.bytes() {
        0 => &[],
        // SAFETY: the buffer holds that many bytes, which stay while it is held; nobody writes them under the lock we hold.
        n => unsafe { std::slice::from_raw_parts(buffer.ptr(), n) },
    };
    NDArray::from_bytes(device, dtype, shape, bytes).map_err(to_py)
}

/// Anything that NumPy can make an array of, as a new array of the same type.
pub(crate) fn from_array_like(o: &Bound<'_, PyAny>, device: Device) -> PyResult<NDArray> {
    let numpy = o.py().import("numpy")?;
    let order = [("order", "C")].into_py_dict(o.py())?;
    let array = numpy.call_method("asarray", (o,), Some(&order))?;
    let shape: Vec<isize> = array.getattr("shape")?.extract()?;
    let Some(dtype) = dtype_of(&array.getattr("dtype")?) else {
        let text = format!("a NumPy array of {} cannot become an array", array.getattr("dtype")?);
        return Err(to_py(Error::new(Cause::DType(text)).in_op("array")));
    };
    let shape = dims(&shape)?;
    if array.getattr("dtype")?.getattr("isnative")?.is_truthy()? {
        return from_buffer(&array, dtype, &shape, device);
    }
    let native = array.call_method1("astype", (dtype.name(),))?;
    from_buffer(&native, dtype, &shape, device)
}

fn dims(shape: &[isize]) -> PyResult<Dims> {
    Dims::new(shape).ok_or_else(|| to_py(too_many_dims("the array has", shape.len()).in_op("array")))
}

/// A list or tuple of numbers, for an assignment to `like`.
pub(crate) fn from_sequence(o: &Bound<'_, PyAny>, like: &NDArray) -> PyResult<NDArray> {
    let numpy = o.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (o,))?;
    if dtype_of(&array.getattr("dtype")?).is_none() {
        let kind = o.get_type().name()?.to_string();
        let text = format!("a {kind} cannot be assigned to elements of {}", like.dtype());
        return Err(to_py(Error::new(Cause::Argument(text)).in_op("assignment")));
    }
    from_array_like(&array, like.device())
}

/// Nested lists of numbers. Fractions get the floating type of the array beside, else the default one; `None`: NumPy finds
/// no numbers there.
pub(crate) fn from_list(o: &Bound<'_, PyAny>, beside: Option<&NDArray>) -> PyResult<Option<NDArray>> {
    let py = o.py();
    let mut array = py.import("numpy")?.call_method1("asarray", (o,))?;
    let Some(dtype) = dtype_of(&array.getattr("dtype")?) else { return Ok(None) };
    if dtype == DType::F64 {
        array = match beside.map(|a| a.dtype()).filter(|d| d.is_float()) {
            Some(DType::BF16) => array.call_method1("astype", (DType::F32.name(),))?,
            Some(d) => array.call_method1("astype", (d.name(),))?,
            None => {
                let default = py.import("gluonish._dtype")?.call_method0("default_float")?;
                array.call_method1("astype", (default,))?
            }
        };
    }
    from_array_like(&array, beside.map_or_else(current_device, |a| a.device())).map(Some)
}

/// NumPy's own scalar types, as numbers.
pub(crate) fn numpy_scalar(o: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    let numpy = o.py().import("numpy")?;
    if !o.is_instance(&numpy.getattr("generic")?)? {
        return Ok(None);
    }
    let v = o.call_method0("item")?;
    if let Ok(b) = v.cast::<pyo3::types::PyBool>() {
        return Ok(Some(Scalar::Bool(b.is_true())));
    }
    if v.is_instance_of::<pyo3::types::PyInt>() {
        return Ok(Some(Scalar::Int(v.extract()?)));
    }
    if v.is_instance_of::<pyo3::types::PyFloat>() {
        return Ok(Some(Scalar::Float(v.extract()?)));
    }
    let text = format!("a NumPy scalar of {} is not a number here", o.getattr("dtype")?);
    Err(to_py(Error::new(Cause::DType(text)).in_op("array")))
}

/// Waits, and copies the values into a new NumPy array; bfloat16 becomes float32, or, as `bits`, the integers of its bits.
pub(crate) fn to_numpy(py: Python<'_>, a: &NDArray, bits: bool) -> PyResult<Py<PyAny>> {
    let a = plain(a, bits)?;
    let dtype = if a.dtype() == DType::BF16 { DType::U16 } else { a.dtype() };
    let shape: Vec<isize> = a.shape().to_vec();
    let shape = pyo3::types::PyTuple::new(py, shape)?;
    let out = py.import("numpy")?.call_method1("empty", (shape, dtype_object(py, dtype)))?;
    if a.size() > 0 {
        let buffer = Buffer::new(&out, true)?;
        let n = a.nbytes().min(buffer.bytes());
        // SAFETY: `plain` gave a ready, contiguous array; while it is held as a reader nobody writes it. The target is a
        // new NumPy array of the same size that nobody else knows.
        unsafe { std::ptr::copy_nonoverlapping(a.data(), buffer.ptr(), n) };
        a.storage().end_read();
    }
    Ok(out.unbind())
}

/// The array as contiguous, ready memory of a type that NumPy has (unless its bits will do), held as a reader (unless it is
/// empty).
fn plain(a: &NDArray, bits: bool) -> PyResult<NDArray> {
    let mut a = gluonish_graph::detach(a);
    if a.dtype() == DType::BF16 && !bits {
        a = cast(&a, DType::F32)?;
    } else if !a.is_contiguous() {
        a = invoke(&COPY, &[In::Array(&a)], &Attrs::new()).map_err(to_py)?.remove(0);
    }
    loop {
        wait(&a).map_err(to_py)?;
        // Another thread may have queued a write since: wait for that too.
        if a.size() == 0 || a.storage().try_read() {
            return Ok(a);
        }
    }
}

fn cast(a: &NDArray, dtype: DType) -> PyResult<NDArray> {
    let a = gluonish_graph::detach(a);
    Ok(invoke(&CAST, &[In::Array(&a)], &Attrs::of(&[AttrVal::DType(dtype)])).map_err(to_py)?.remove(0))
}

/// The only element, as a Python number.
pub(crate) fn item(py: Python<'_>, a: &NDArray) -> PyResult<Py<PyAny>> {
    let half = matches!(a.dtype(), DType::F16 | DType::BF16);
    let a = if half { plain(&cast(a, DType::F32)?, false)? } else { plain(a, false)? };
    if a.size() == 0 {
        return Err(PyValueError::new_err("an empty array has no element"));
    }
    let mut bytes = [0; 8];
    // SAFETY: `plain` gave ready memory of at least one element, of at most eight bytes, that nobody writes while it is held.
    unsafe { std::ptr::copy_nonoverlapping(a.data(), bytes.as_mut_ptr(), a.dtype().size()) };
    a.storage().end_read();
    number(py, a.dtype(), bytes)
}

/// The element whose bytes come first, as a Python number.
fn number(py: Python<'_>, dtype: DType, b: [u8; 8]) -> PyResult<Py<PyAny>> {
    let ([x, y, z, w, ..], long) = (b, u64::from_ne_bytes(b));
    let (short, word) = (u16::from_ne_bytes([x, y]), u32::from_ne_bytes([x, y, z, w]));
    Ok(match dtype {
        DType::Bool => (x != 0).into_pyobject(py)?.to_owned().into_any(),
        DType::U8 => x.into_pyobject(py)?.into_any(),
        DType::U16 => short.into_pyobject(py)?.into_any(),
        DType::U32 => word.into_pyobject(py)?.into_any(),
        DType::U64 => long.into_pyobject(py)?.into_any(),
        DType::I8 => (x as i8).into_pyobject(py)?.into_any(),
        DType::I16 => (short as i16).into_pyobject(py)?.into_any(),
        DType::I32 => (word as i32).into_pyobject(py)?.into_any(),
        DType::I64 => (long as i64).into_pyobject(py)?.into_any(),
        DType::F16 | DType::BF16 | DType::F32 => (f32::from_bits(word) as f64).into_pyobject(py)?.into_any(),
        DType::F64 => f64::from_bits(long).into_pyobject(py)?.into_any(),
    }
    .unbind())
}

/// A copy on another device.
pub(crate) fn to_device(a: &NDArray, device: Device) -> PyResult<NDArray> {
    let out = NDArray::deferred(device, a.dtype(), a.shape()).map_err(to_py)?;
    copy_into(&out, In::Array(a)).map_err(to_py)?;
    Ok(out)
}
