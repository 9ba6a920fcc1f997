//! NumPy's npy: a magic, a version, the length of a header, the header (a Python dictionary as text), the elements.
use crate::bad;
use crate::contents::{Contents, Entry, Format, Give, Item};
use crate::params::size_of;
use crate::sink::Sink;
use crate::source::Source;
use crate::stream::{Place, Raw};
use gluonish_base::{DType, Dims, MAX_DIMS, Result};

pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// Headers of arrays that can be read take some hundred bytes; NumPy stops at 10000 itself.
const HEADER: usize = 1 << 16;

/// NumPy's codes without the byte order.
const TYPES: [(&str, DType); 12] = [
    ("b1", DType::Bool),
    ("u1", DType::U8),
    ("u2", DType::U16),
    ("u4", DType::U32),
    ("u8", DType::U64),
    ("i1", DType::I8),
    ("i2", DType::I16),
    ("i4", DType::I32),
    ("i8", DType::I64),
    ("f2", DType::F16),
    ("f4", DType::F32),
    ("f8", DType::F64),
];

pub(crate) fn read(source: &mut dyn Source) -> Result<Contents> {
    let size = source.size();
    let entry = member(source, Place::plain(0, size), size, String::new())?;
    Ok(Contents { format: Format::Npy, entries: vec![entry], named: false, metadata: Vec::new() })
}

/// The array in `place`, which holds `size` bytes once unpacked.
pub(crate) fn member(source: &mut dyn Source, place: Place, size: u64, name: String) -> Result<Entry> {
    let what = &if name.is_empty() { "the array".to_string() } else { format!("'{name}'") };
    let mut raw = Raw::new(source, &place);
    let mut start = [0; 8];
    read_part(&mut raw, size, 0, &mut start, what)?;
    if !start.starts_with(MAGIC) {
        return Err(bad(format!("{what} does not start as an npy array does")));
    }
    let mut length = [0; 4];
    let wide = match start[6] {
        1 => 2,
        2 | 3 => 4,
        v => return Err(bad(format!("{what} has version {v} of the npy format; 1 to 3 are known"))),
    };
    read_part(&mut raw, size, 8, &mut length[..wide], what)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > HEADER {
        return Err(bad(format!("the header of {what} claims {length} bytes; at most {HEADER} are read")));
    }
    let mut text = vec![0; length];
    let before = 8 + wide as u64;
    read_part(&mut raw, size, before, &mut text, what)?;
    let text = String::from_utf8(text).map_err(|_| bad(format!("the header of {what} is not UTF-8")))?;
    let header = Header::parse(&text, what)?;
    let (skip, wanted) = (before + length as u64, size_of(&header.shape, header.dtype, what)?);
    if size - skip != wanted {
        let (dtype, shape, has) = (header.dtype, header.shape, size - skip);
        return Err(bad(format!("{what} is {dtype} {shape}, which takes {wanted} bytes, and has {has}")));
    }
    let place = Place { skip, swapped: header.swapped, ..place };
    Ok(Entry { name, dtype: header.dtype, shape: header.shape, columns: header.columns, place })
}

fn read_part(raw: &mut Raw<'_>, size: u64, at: u64, to: &mut [u8], what: &str) -> Result {
    if size - at < to.len() as u64 {
        return Err(bad(format!("{what} ends inside its header")));
    }
    raw.read(to)
}

struct Header {
    dtype: DType,
    swapped: bool,
    columns: bool,
    shape: Dims,
}

impl Header {
    /// `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, in any order.
    fn parse(text: &str, what: &str) -> Result<Header> {
        let wrong = || bad(format!("the header of {what} is not what NumPy writes: {}", shortened(text)));
        let (mut descr, mut columns, mut shape) = (None, None, None);
        let mut rest = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).ok_or_else(wrong)?.trim_start();
        while !rest.is_empty() {
            let (key, after) = string(rest).ok_or_else(wrong)?;
            let value = after.trim_start().strip_prefix(':').ok_or_else(wrong)?.trim_start();
            let after = match key {
                "descr" if value.starts_with('[') => {
                    return Err(bad(format!("{what} is a structured array, which arrays here cannot be")));
                }
                "descr" => {
                    let (code, after) = string(value).ok_or_else(wrong)?;
                    descr = Some(element_type(code, what)?);
                    after
                }
                "fortran_order" => {
                    columns = Some(value.starts_with("True"));
                    value.strip_prefix("True").or_else(|| value.strip_prefix("False")).ok_or_else(wrong)?
                }
                "shape" => {
                    let (inside, after) = value.strip_prefix('(').and_then(|v| v.split_once(')')).ok_or_else(wrong)?;
                    shape = Some(dims(inside, what)?);
                    after
                }
                _ => return Err(wrong()),
            };
            let after = after.trim_start();
            rest = match after.strip_prefix(',') {
                Some(next) => next.trim_start(),
                None if after.is_empty() => after,
                None => return Err(wrong()),
            };
        }
        let (Some((dtype, swapped)), Some(columns), Some(shape)) = (descr, columns, shape) else { return Err(wrong()) };
        Ok(Header { dtype, swapped, columns, shape })
    }
}

/// A Python string without escapes at the start of a text, and what follows it.
fn string(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// The type, and whether its bytes are in the other order.
fn element_type(code: &str, what: &str) -> Result<(DType, bool)> {
    let (order, bare) = code.split_at_checked(1).unwrap_or((code, ""));
    let known = TYPES.iter().find(|(c, _)| *c == bare && matches!(order, "<" | ">" | "|" | "="));
    if let Some((_, dtype)) = known {
        return Ok((*dtype, order == ">" && dtype.size() > 1));
    }
    Err(bad(match code {
        "|O" | "O" => format!("{what} holds pickled Python objects, which are not read: loading them could run code"),
        "|V2" | "<V2" => {
            format!("{what} has the element type '{code}': bfloat16 has no place in npz files; use .safetensors")
        }
        _ => format!("{what} has the element type '{code}', which arrays cannot have"),
    }))
}

fn dims(text: &str, what: &str) -> Result<Dims> {
    let wrong = |t: &str| bad(format!("{what} has a dimension of '{}'", shortened(t)));
    let mut dims = Dims::EMPTY;
    for part in text.split(',').map(str::trim) {
        if part.is_empty() {
            continue; // after the last comma
        }
        let digits = part.strip_suffix('L').unwrap_or(part); // Python 2 wrote 3L
        let d = digits.parse::<isize>().map_err(|_| wrong(part))?;
        if d < 0 || !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(wrong(part));
        }
        if !dims.try_push(d) {
            return Err(bad(format!("{what} has more than {MAX_DIMS} dimensions")));
        }
    }
    Ok(dims)
}

/// Everything before the elements, as long as a multiple of 64.
pub(crate) fn header(item: &Item) -> Result<Vec<u8>> {
    let Some((code, _)) = TYPES.iter().find(|(_, d)| *d == item.dtype) else {
        return Err(bad(format!(
            "'{}' is {}, for which NumPy has no type; save it as .safetensors, or as astype('float32')",
            item.name, item.dtype
        )));
    };
    let order = if item.dtype.size() == 1 { '|' } else { '<' };
    let shape = &item.shape;
    let mut text = format!("{{'descr': '{order}{code}', 'fortran_order': False, 'shape': {shape}, }}");
    let start = MAGIC.len() + 4;
    let padding = (start + text.len() + 1).next_multiple_of(64) - (start + text.len() + 1);
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let length = (text.len() as u16).to_le_bytes(); // twelve dimensions take a few hundred bytes at most
    Ok([MAGIC, &[1, 0], &length, text.as_bytes()].concat())
}

pub(crate) fn write(items: &[Item], out: &mut dyn Sink, give: &mut Give<'_>) -> Result {
    let [item] = items else { return Err(bad(format!("an .npy file holds one array, not {}", items.len()))) };
    out.put(&header(item)?)?;
    give(0, &mut |bytes| out.put(bytes))
}
