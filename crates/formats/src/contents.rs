//! What a file holds, whatever its format.
use crate::sink::Sink;
use crate::source::Source;
use crate::stream::{Place, Stream};
use crate::{bad, npy, npz, params, safetensors};
use gluonish_base::{DType, Dims, Result};
use std::collections::HashSet;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Params,
    Safetensors,
    Npz,
    Npy,
}

impl Format {
    pub const ALL: [Format; 4] = [Format::Params, Format::Safetensors, Format::Npz, Format::Npy];

    pub const fn name(self) -> &'static str {
        match self {
            Format::Params => "params",
            Format::Safetensors => "safetensors",
            Format::Npz => "npz",
            Format::Npy => "npy",
        }
    }

    pub fn parse(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.name() == name)
    }

    /// What the first bytes say; `None` where they are those of no format.
    pub fn of(start: &[u8]) -> Option<Format> {
        match start {
            s if s.starts_with(&params::MAGIC) => Some(Format::Params),
            s if s.starts_with(npy::MAGIC) => Some(Format::Npy),
            s if s.starts_with(b"PK\x03\x04") || s.starts_with(b"PK\x05\x06") => Some(Format::Npz),
            [_, _, _, _, _, _, _, _, b'{', ..] => Some(Format::Safetensors),
            _ => None,
        }
    }
}

/// One array of a file: its metadata, and where its bytes are.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Empty where the file has no names.
    pub name: String,
    pub dtype: DType,
    /// Checked: no dimension is negative, and the size does not overflow.
    pub shape: Dims,
    /// The bytes are in column-major order: those of a row-major array of the reversed shape.
    pub columns: bool,
    pub(crate) place: Place,
}

impl Entry {
    pub fn nbytes(&self) -> usize {
        self.shape.size() * self.dtype.size()
    }

    /// The bytes of the array, in order.
    pub fn stream<'a>(&self, source: &'a mut dyn Source) -> Result<Stream<'a>> {
        Stream::new(source, &self.place, self.dtype)
    }
}

/// What is in a file.
#[derive(Clone, Debug)]
pub struct Contents {
    pub format: Format,
    /// In the order of the file.
    pub entries: Vec<Entry>,
    pub named: bool,
    /// Texts that the file has beside its arrays (safetensors).
    pub metadata: Vec<(String, String)>,
}

impl Contents {
    /// Reads the headers. The content decides which format it is; `hint`, from the name of the file, decides which format
    /// to complain about where the content is none.
    pub fn read(source: &mut dyn Source, hint: Option<Format>) -> Result<Contents> {
        let mut start = [0; 32];
        let n = source.size().min(start.len() as u64) as usize;
        source.read_at(0, &mut start[..n])?;
        let format = Format::of(&start[..n]).or(hint.filter(|_| n >= 8)).ok_or_else(|| unknown(&start[..n]))?;
        let contents = match format {
            Format::Params => params::read(source),
            Format::Safetensors => safetensors::read(source),
            Format::Npz => npz::read(source),
            Format::Npy => npy::read(source),
        }?;
        unique(&contents)?;
        Ok(contents)
    }
}

fn unique(contents: &Contents) -> Result {
    let mut seen = HashSet::new();
    match contents.entries.iter().find(|e| contents.named && !seen.insert(e.name.as_str())) {
        Some(e) => Err(bad(format!("two arrays are called '{}'", e.name))),
        None => Ok(()),
    }
}

#[cold]
fn unknown(start: &[u8]) -> gluonish_base::Error {
    let looks = match start {
        [] => "it is empty".to_string(),
        s if s.starts_with(b"version https://git-lfs") => {
            "it is a pointer of Git LFS, not the file itself; `git lfs pull` fetches that".into()
        }
        s if s.starts_with(b"\x89HDF") => "it is HDF5".into(),
        [0x80, ..] => "it looks like a Python pickle, which is not read: loading one runs code".into(),
        s if s.starts_with(b"<") => "it looks like a web page".into(),
        s => format!("it starts with the bytes {:02x?}", &s[..s.len().min(8)]),
    };
    bad(format!("this is no file of arrays (MXNet's .params, safetensors, npz or npy): {looks}"))
}

/// An array that is to be written.
#[derive(Clone, Debug)]
pub struct Item {
    /// Not used where names are not written.
    pub name: String,
    pub dtype: DType,
    pub shape: Dims,
}

impl Item {
    pub fn nbytes(&self) -> usize {
        self.shape.size() * self.dtype.size()
    }
}

/// Takes the bytes of one array, in one piece.
pub(crate) type Take<'a> = &'a mut dyn FnMut(&[u8]) -> Result;

/// Gives the bytes of the array with that number.
pub(crate) type Give<'a> = dyn FnMut(usize, Take<'_>) -> Result + 'a;

/// Writes a file. `give(i, take)` must call `take` once, with the bytes of `items[i]`; it is asked for one array after
/// the other, so only one needs to be at hand. `metadata` is for safetensors alone.
pub fn write(
    format: Format,
    items: &[Item],
    named: bool,
    metadata: &[(String, String)],
    out: &mut dyn Sink,
    give: &mut Give<'_>,
) -> Result {
    if !metadata.is_empty() && format != Format::Safetensors {
        return Err(bad(format!("a .{} file has no place for metadata; a .safetensors file has", format.name())));
    }
    let mut seen = HashSet::new();
    if let Some(i) = items.iter().find(|i| named && !seen.insert(i.name.as_str())) {
        return Err(bad(format!("two arrays are called '{}'", i.name)));
    }
    // What is given must fill what the header promises.
    let mut give = |i: usize, take: Take<'_>| {
        let wanted = items[i].nbytes();
        give(i, &mut |bytes: &[u8]| {
            if bytes.len() != wanted {
                return Err(bad(format!("array {i}: {} bytes were given for {wanted}", bytes.len())));
            }
            take(bytes)
        })
    };
    match format {
        Format::Params => params::write(items, named, out, &mut give),
        Format::Safetensors => safetensors::write(items, metadata, out, &mut give),
        Format::Npz => npz::write(items, out, &mut give),
        Format::Npy => npy::write(items, out, &mut give),
    }
}
