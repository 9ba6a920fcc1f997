//! Files of arrays: MXNet's `.params`, safetensors, NumPy's npz and npy, to and from plain structs.
//!
//! Reading goes in two steps. [`Contents::read`] looks at headers alone and says what is in a file; it checks every size
//! against the file's own length, so nothing that a file merely claims is allocated. [`Entry::stream`] then gives the
//! bytes of one array, in order, for whoever has made room for them. Nothing in a file is ever run.
#![forbid(unsafe_code)]
mod contents;
mod crc;
mod inflate;
mod json;
mod npy;
mod npz;
mod params;
mod replace;
mod safetensors;
mod sink;
mod source;
mod stream;
mod zip;

pub use contents::{Contents, Entry, Format, Item, write};
pub use replace::Replace;
pub use sink::Sink;
pub use source::{FileSource, Source};
pub use stream::Stream;

use gluonish_base::{Cause, Error};

#[cfg(not(target_endian = "little"))]
compile_error!("the formats are little-endian, and arrays are written as they lie in memory");

/// An error about what a file holds.
#[cold]
pub(crate) fn bad(text: impl Into<String>) -> Error {
    Cause::Format(text.into()).into()
}

/// An error of the system: what was tried, and its answer.
#[cold]
pub(crate) fn io(what: &str, path: &std::path::Path, e: &std::io::Error) -> Error {
    // The system's text without the number, which the exception carries apart.
    let text = e.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let text = if what.is_empty() { text.to_string() } else { format!("{what}: {text}") };
    Cause::File { code: e.raw_os_error().unwrap_or(0), path: path.display().to_string(), text }.into()
}
