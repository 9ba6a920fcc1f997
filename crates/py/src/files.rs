//! Files of arrays: which format, where the bytes go, and that Python runs on meanwhile.
use crate::error::{argument, guarded, to_py};
use crate::native::{Arg, own};
use gluonish_base::{Cause, Error, Result};
use gluonish_engine::Device;
use gluonish_formats::{Contents, Entry, FileSource, Format, Item, Replace, Sink, Source, write};
use gluonish_graph::{In, NDArray, Poll, block, detach, invoke, transpose};
use gluonish_kernels::Attrs;
use gluonish_ops::rows::COPY;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a long read or write looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// Bytes that are written between two looks.
const PIECE: usize = 16 << 20;

/// Looks for signals, but not too often: each look needs the interpreter's lock.
struct Patience<'a> {
    poll: Poll<'a>,
    last: Instant,
}
impl<'a> Patience<'a> {
    fn new(poll: Poll<'a>) -> Patience<'a> {
        Patience { poll, last: Instant::now() }
    }
    fn look(&mut self) -> Result {
        if self.last.elapsed() < LOOK {
            return Ok(());
        }
        self.last = Instant::now();
        (self.poll)()
    }
}

fn format_of(name: &str) -> PyResult<Format> {
    Format::parse(name).ok_or_else(|| argument("save", format!("'{name}' is not a format")))
}

/// Names the file in an error about its contents.
fn in_file(path: &Path, e: Error) -> Error {
    match e.cause() {
        Cause::Format(text) => Cause::Format(format!("{}: {text}", path.display())).into(),
        _ => e,
    }
}

/// An array as bytes in a row that nobody else writes.
fn in_a_row(a: &NDArray) -> Result<NDArray> {
    let a = detach(a);
    if a.is_contiguous() && !a.storage().shared() {
        return Ok(a);
    }
    invoke(&COPY, &[In::Array(&a)], &Attrs::new()).map(|mut o| o.remove(0))
}

/// A file's bytes on their way out, with a look for Ctrl-C now and then.
struct Watched<'a, 'b> {
    out: &'a mut dyn Sink,
    patience: Patience<'b>,
}
impl Sink for Watched<'_, '_> {
    fn put(&mut self, bytes: &[u8]) -> Result {
        for piece in bytes.chunks(PIECE) {
            self.out.put(piece)?;
            self.patience.look()?;
        }
        Ok(())
    }
}

/// What is to be written.
struct Order {
    format: Format,
    items: Vec<Item>,
    arrays: Vec<NDArray>,
    named: bool,
    metadata: Vec<(String, String)>,
}

impl Order {
    fn new(
        format: &str,
        names: Option<Vec<String>>,
        arrays: &[Arg<'_>],
        metadata: Vec<(String, String)>,
    ) -> PyResult<Order> {
        let named = names.is_some();
        let names = names.unwrap_or_else(|| vec![String::new(); arrays.len()]);
        if names.len() != arrays.len() {
            return Err(argument("save", format!("{} names for {} arrays", names.len(), arrays.len())));
        }
        let arrays: Vec<NDArray> = arrays.iter().map(|a| in_a_row(a)).collect::<Result<_>>().map_err(to_py)?;
        let item = |(name, a): (String, &NDArray)| Item { name, dtype: a.dtype(), shape: *a.shape() };
        let items = names.into_iter().zip(&arrays).map(item).collect();
        Ok(Order { format: format_of(format)?, items, arrays, named, metadata })
    }

    /// Writes everything, with the interpreter's lock released.
    fn write(&self, out: &mut dyn Sink, poll: Poll<'_>) -> Result {
        let mut out = Watched { out, patience: Patience::new(poll) };
        write(self.format, &self.items, self.named, &self.metadata, &mut out, &mut |i, take| {
            self.arrays[i].with_bytes(|bytes| take(bytes))
        })
    }
}

#[pyfunction]
fn save_file(
    path: PathBuf,
    format: &str,
    names: Option<Vec<String>>,
    arrays: Vec<Arg<'_>>,
    metadata: Vec<(String, String)>,
) -> PyResult<()> {
    let order = Order::new(format, names, &arrays, metadata)?;
    guarded(|| {
        block(|poll| {
            // What fails while it is computed fails before anything is written.
            order.arrays.iter().try_for_each(gluonish_graph::wait)?;
            let mut file = Replace::new(&path)?;
            order.write(&mut file, poll)?;
            file.commit()
        })
        .map_err(|e| in_file(&path, e).in_op("save"))
    })
}

#[pyfunction]
fn save_bytes<'py>(
    py: Python<'py>,
    format: &str,
    names: Option<Vec<String>>,
    arrays: Vec<Arg<'_>>,
    metadata: Vec<(String, String)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let order = Order::new(format, names, &arrays, metadata)?;
    let bytes = guarded(|| {
        block(|poll| {
            let mut bytes = Vec::new();
            order.write(&mut bytes, poll).map(|()| bytes)
        })
        .map_err(|e| e.in_op("save"))
    })?;
    Ok(PyBytes::new(py, &bytes))
}

fn read_array(entry: &Entry, source: &mut dyn Source, device: Device, patience: &mut Patience<'_>) -> Result<NDArray> {
    let mut shape = entry.shape;
    if entry.columns {
        shape.reverse();
    }
    let mut stream = entry.stream(source)?;
    let a = NDArray::filled_by(device, entry.dtype, &shape, |piece| {
        patience.look()?;
        stream.read(piece)
    })?;
    stream.finish()?;
    Ok(a)
}

/// Headers and arrays, with the interpreter's lock released.
fn read_all(source: &mut dyn Source, hint: Option<Format>, device: Device) -> Result<(Contents, Vec<NDArray>)> {
    block(|poll| {
        let mut patience = Patience::new(poll);
        let contents = Contents::read(source, hint)?;
        let arrays =
            contents.entries.iter().map(|e| read_array(e, source, device, &mut patience)).collect::<Result<_>>()?;
        Ok((contents, arrays))
    })
}

/// The format, the names if there are any, the arrays, the metadata.
type Loaded<'py> = (&'static str, Option<Vec<String>>, Bound<'py, PyList>, Bound<'py, PyDict>);

fn loaded<'py>(py: Python<'py>, contents: Contents, arrays: Vec<NDArray>) -> PyResult<Loaded<'py>> {
    let list = PyList::empty(py);
    for (a, entry) in arrays.into_iter().zip(&contents.entries) {
        let a = if entry.columns { by_rows(&a).map_err(to_py)? } else { a };
        list.append(own(py, a)?)?;
    }
    let names = contents.named.then(|| contents.entries.into_iter().map(|e| e.name).collect());
    Ok((contents.format.name(), names, list, texts(py, contents.metadata)?))
}

/// An array that was stored column by column, in the order of rows.
fn by_rows(a: &NDArray) -> Result<NDArray> {
    let mut outs = invoke(&COPY, &[In::Array(&transpose(a)?)], &Attrs::new())?;
    Ok(outs.remove(0))
}

fn texts(py: Python<'_>, metadata: Vec<(String, String)>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    metadata.into_iter().try_for_each(|(k, v)| dict.set_item(k, v))?;
    Ok(dict)
}

fn place(index: u32) -> PyResult<Device> {
    Device::from_index(index).ok_or_else(|| argument("device", format!("there is no device number {index}")))
}

fn hint(path: &Path) -> Option<Format> {
    path.extension().and_then(|e| Format::parse(&e.to_str()?.to_ascii_lowercase()))
}

#[pyfunction]
fn load_file(py: Python<'_>, path: PathBuf, device: u32) -> PyResult<Loaded<'_>> {
    let device = place(device)?;
    let (contents, arrays) = guarded(|| {
        let read = || read_all(&mut FileSource::open(&path)?, hint(&path), device);
        read().map_err(|e| in_file(&path, e).in_op("load"))
    })?;
    loaded(py, contents, arrays)
}

#[pyfunction]
fn load_bytes(py: Python<'_>, bytes: PyBackedBytes, device: u32) -> PyResult<Loaded<'_>> {
    let device = place(device)?;
    let (contents, arrays) = guarded(|| read_all(&mut &*bytes, None, device).map_err(|e| e.in_op("load")))?;
    loaded(py, contents, arrays)
}

/// The texts that a file has beside its arrays, from its header alone.
#[pyfunction]
fn file_metadata(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let contents = guarded(|| {
        let read = || block(|_| Contents::read(&mut FileSource::open(&path)?, hint(&path)));
        read().map_err(|e| in_file(&path, e).in_op("load"))
    })?;
    texts(py, contents.metadata)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(save_file, m)?)?;
    m.add_function(wrap_pyfunction!(save_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(load_file, m)?)?;
    m.add_function(wrap_pyfunction!(load_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(file_metadata, m)?)
}
