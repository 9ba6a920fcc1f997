//! MXNet's own format, a list of arrays and, after them, a list of names. All numbers are little-endian:
//!
//! ```text
//! file   u64 0x112, u64 0, u64 count, arrays, u64 count of names (0 or as many), names: u64 length, UTF-8
//! array  u32 magic, i32 storage type, shape, i32 device type, i32 device number, i32 element type, the elements
//! shape  i32 rank, i64 for each dimension
//! ```
//!
//! The magic says which version: 2 for shapes whose dimensions are all at least 1, 3 for any (NumPy's semantics). Version 1
//! has no storage type. Before that there was no magic: the rank stands in its place, with dimensions of 32 bits.
use crate::bad;
use crate::contents::{Contents, Entry, Format, Give, Item};
use crate::sink::Sink;
use crate::source::{Scan, Source};
use crate::stream::Place;
use gluonish_base::{DType, Dims, MAX_DIMS, Result};

pub(crate) const MAGIC: [u8; 8] = 0x112u64.to_le_bytes();
const V1: u32 = 0xF993_FAC8;
const V2: u32 = 0xF993_FAC9;
const V3: u32 = 0xF993_FACA;

/// Element types by MXNet's numbers. 8 to 11 came with MXNet 2; 1.x does not read them.
const TYPES: [(i32, DType); 13] = [
    (0, DType::F32),
    (1, DType::F64),
    (2, DType::F16),
    (3, DType::U8),
    (4, DType::I32),
    (5, DType::I8),
    (6, DType::I64),
    (7, DType::Bool),
    (8, DType::I16),
    (9, DType::U16),
    (10, DType::U32),
    (11, DType::U64),
    (12, DType::BF16),
];

/// Storage types other than dense, with how many index arrays each has.
const SPARSE: [(i32, &str, usize); 2] = [(1, "row_sparse", 1), (2, "csr", 2)];

enum Found {
    Dense(Entry),
    /// Skipped: the name of its storage type.
    Sparse(&'static str),
}

pub(crate) fn read(source: &mut dyn Source) -> Result<Contents> {
    let mut s = Scan::new(source);
    let start = s.u64("the header")?.to_le_bytes();
    if start != MAGIC {
        return Err(bad(format!(
            "this is no .params file: it starts with the bytes {start:02x?}, not with {MAGIC:02x?}"
        )));
    }
    s.u64("the header")?; // reserved
    let count = s.u64("the header")?;
    let mut entries = Vec::new();
    let mut sparse = None;
    let names = (0..count).try_for_each(|i| {
        match array(&mut s, i)? {
            Found::Dense(e) => entries.push(e),
            Found::Sparse(kind) => sparse = sparse.or(Some((i, kind))),
        }
        Ok(())
    });
    let names = names.and_then(|()| names_of(&mut s, count));
    // Told first: MXNet writes some sparse arrays so that what follows cannot be found, not even by itself.
    if let Some((i, kind)) = sparse {
        let name = names.ok().and_then(|n| n.get(i as usize).map(|n| format!("'{n}'")));
        return Err(bad(format!(
            "{} is a sparse array ({kind}), which is not supported; save it dense, as .tostype('default')",
            name.unwrap_or_else(|| format!("array {i}"))
        )));
    }
    let names = names?;
    let named = !names.is_empty();
    entries.iter_mut().zip(names).for_each(|(e, name)| e.name = name);
    Ok(Contents { format: Format::Params, entries, named, metadata: Vec::new() })
}

fn names_of(s: &mut Scan<'_>, count: u64) -> Result<Vec<String>> {
    let given = s.u64("the number of names")?;
    if given != 0 && given != count {
        return Err(bad(format!("the file has {count} arrays but {given} names")));
    }
    let mut names = Vec::new();
    for i in 0..given {
        let what = format!("name {i}");
        let length = s.u64(&what)?;
        names.push(s.text(length, &what)?);
    }
    if s.left() > 0 {
        return Err(bad(format!("{} bytes are left over after the names", s.left())));
    }
    Ok(names)
}

fn array(s: &mut Scan<'_>, i: u64) -> Result<Found> {
    let what = &format!("array {i}");
    let magic = s.u32(what)?;
    let mut sparse = None;
    let mut storage = None;
    let shape = match magic {
        V2 | V3 => {
            let kind = s.u32(what)? as i32;
            if kind != 0 {
                let known = SPARSE.iter().find(|(k, ..)| *k == kind);
                sparse = Some(known.ok_or_else(|| bad(format!("{what} has the unknown storage type {kind}")))?);
                storage = Some(wide_shape(s, what)?);
            }
            wide_shape(s, what)?
        }
        V1 => wide_shape(s, what)?,
        rank if rank as usize <= MAX_DIMS => old_shape(s, rank, what)?,
        _ => return Err(bad(format!("{what} starts with {magic:#010x}, which is not how an array starts"))),
    };
    if shape.is_empty() && magic != V3 {
        return Err(bad(format!("{what} has no shape: it was saved before it had a value")));
    }
    s.skip(8, what)?; // the device that it was saved from
    let dtype = element_type(s, what)?;
    if let (Some((_, kind, indices)), Some(storage)) = (sparse, storage) {
        skip_sparse(s, *indices, &storage, dtype, what)?;
        return Ok(Found::Sparse(kind));
    }
    let bytes = size_of(&shape, dtype, what)?;
    let place = Place::plain(s.at(), bytes);
    s.skip(bytes, what)?;
    Ok(Found::Dense(Entry { name: String::new(), dtype, shape, columns: false, place }))
}

fn wide_shape(s: &mut Scan<'_>, what: &str) -> Result<Dims> {
    let rank = s.u32(what)? as i32;
    shape(rank, what, || s.take(what).map(i64::from_le_bytes))
}

fn old_shape(s: &mut Scan<'_>, rank: u32, what: &str) -> Result<Dims> {
    shape(rank as i32, what, || s.u32(what).map(i64::from))
}

fn shape(rank: i32, what: &str, mut next: impl FnMut() -> Result<i64>) -> Result<Dims> {
    if rank == -1 {
        return Err(bad(format!("{what} has no shape: it was saved before it had a value")));
    }
    if !(0..=MAX_DIMS as i32).contains(&rank) {
        return Err(bad(format!("{what} has {rank} dimensions; at most {MAX_DIMS} are possible")));
    }
    let mut dims = Dims::EMPTY;
    for _ in 0..rank {
        let d = next()?;
        dims.push(isize::try_from(d).map_err(|_| bad(format!("{what} has a dimension of {d}")))?);
    }
    Ok(dims)
}

fn element_type(s: &mut Scan<'_>, what: &str) -> Result<DType> {
    let flag = s.u32(what)? as i32;
    let known = TYPES.iter().find(|(f, _)| *f == flag);
    known.map(|(_, d)| *d).ok_or_else(|| bad(format!("{what} has the unknown element type {flag}")))
}

pub(crate) fn size_of(shape: &Dims, dtype: DType, what: &str) -> Result<u64> {
    let n = shape.checked_size().ok_or_else(|| {
        bad(format!("{what} has the shape {shape}, which cannot exist: negative, or larger than any memory"))
    })?;
    Ok((n * dtype.size()) as u64)
}

/// Types and shapes of the index arrays, the values, the index arrays.
fn skip_sparse(s: &mut Scan<'_>, indices: usize, storage: &Dims, dtype: DType, what: &str) -> Result {
    let mut bytes = size_of(storage, dtype, what)?;
    for _ in 0..indices {
        let dtype = element_type(s, what)?;
        let shape = wide_shape(s, what)?;
        bytes = bytes.saturating_add(size_of(&shape, dtype, what)?);
    }
    s.skip(bytes, what)
}

pub(crate) fn write(items: &[Item], named: bool, out: &mut dyn Sink, give: &mut Give<'_>) -> Result {
    // Version 2 cannot say "no dimensions" or "no elements". Where it can serve, MXNet 1.x reads it without ado; the two
    // do not mix in one file, as MXNet reads each in a mode of its own.
    let plain = |item: &Item| !item.shape.is_empty() && item.shape.iter().all(|d| *d > 0);
    let magic = if items.iter().all(plain) { V2 } else { V3 };
    out.put(&MAGIC)?;
    out.put(&0u64.to_le_bytes())?;
    out.put(&(items.len() as u64).to_le_bytes())?;
    for (i, item) in items.iter().enumerate() {
        out.put(&header(item, magic))?;
        give(i, &mut |bytes| out.put(bytes))?;
    }
    let names: &[Item] = if named { items } else { &[] };
    out.put(&(names.len() as u64).to_le_bytes())?;
    for item in names {
        out.put(&(item.name.len() as u64).to_le_bytes())?;
        out.put(item.name.as_bytes())?;
    }
    Ok(())
}

fn header(item: &Item, magic: u32) -> Vec<u8> {
    let mut h = Vec::new();
    let mut int = |v: i32| h.extend(v.to_le_bytes());
    int(magic as i32);
    int(0); // dense
    int(item.shape.len() as i32);
    item.shape.iter().for_each(|d| h.extend((*d as i64).to_le_bytes()));
    let flag = TYPES.iter().find(|(_, d)| *d == item.dtype).map_or(-1, |(f, _)| *f);
    for v in [1, 0, flag] {
        h.extend(i32::to_le_bytes(v)); // cpu(0), the type
    }
    h
}
