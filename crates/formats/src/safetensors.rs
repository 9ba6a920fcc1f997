//! safetensors: `u64` length of a header, the header in JSON, the arrays' bytes. Their places must cover the rest of the
//! file without gaps and without overlaps.
use crate::bad;
use crate::contents::{Contents, Entry, Format, Give, Item};
use crate::json::{Json, quoted};
use crate::params::size_of;
use crate::sink::Sink;
use crate::source::{Scan, Source};
use crate::stream::Place;
use gluonish_base::{DType, Dims, MAX_DIMS, Result};

/// The format's own limit.
const HEADER: u64 = 100_000_000;

const TYPES: [(&str, DType); 13] = [
    ("BOOL", DType::Bool),
    ("U8", DType::U8),
    ("U16", DType::U16),
    ("U32", DType::U32),
    ("U64", DType::U64),
    ("I8", DType::I8),
    ("I16", DType::I16),
    ("I32", DType::I32),
    ("I64", DType::I64),
    ("F16", DType::F16),
    ("BF16", DType::BF16),
    ("F32", DType::F32),
    ("F64", DType::F64),
];

pub(crate) fn read(source: &mut dyn Source) -> Result<Contents> {
    let mut s = Scan::new(source);
    let length = s.u64("the header's length")?;
    if length > HEADER || length > s.left() {
        let left = s.left();
        return Err(bad(format!(
            "the header of this safetensors file claims {length} bytes; {left} are left, and {HEADER} are allowed"
        )));
    }
    let header = s.text(length, "the header")?;
    if !header.starts_with('{') {
        return Err(bad("the header of a safetensors file starts with '{', this one does not"));
    }
    let (data, bytes) = (s.at(), s.left());
    let (mut entries, mut metadata) = (Vec::new(), Vec::new());
    let mut json = Json::new(&header);
    json.object(|j, key| {
        if key == "__metadata__" {
            return j.object(|j, key| {
                metadata.push((key, j.string()?));
                Ok(())
            });
        }
        entries.push(tensor(j, key, data)?);
        Ok(())
    })?;
    json.end()?;
    check_cover(&entries, data, bytes)?;
    Ok(Contents { format: Format::Safetensors, entries, named: true, metadata })
}

fn tensor(j: &mut Json<'_>, name: String, data: u64) -> Result<Entry> {
    let what = &format!("'{name}'");
    let (mut dtype, mut shape, mut range) = (None, None, None);
    j.object(|j, key| {
        match key.as_str() {
            "dtype" => dtype = Some(element_type(&j.string()?, what)?),
            "shape" => shape = Some(dims(j, what)?),
            "data_offsets" => {
                let mut ends = Vec::new();
                j.list(|j| {
                    ends.push(j.count()?);
                    if ends.len() <= 2 { Ok(()) } else { Err(bad(format!("{what} has more than two offsets"))) }
                })?;
                range = <[u64; 2]>::try_from(ends).ok();
            }
            _ => j.skip()?,
        }
        Ok(())
    })?;
    let (Some(dtype), Some(shape), Some([start, end])) = (dtype, shape, range) else {
        return Err(bad(format!("{what} lacks one of dtype, shape and two data_offsets")));
    };
    let wanted = size_of(&shape, dtype, what)?;
    if end.checked_sub(start) != Some(wanted) || data.checked_add(end).is_none() {
        return Err(bad(format!(
            "{what} is {dtype} {shape}, which takes {wanted} bytes, but its offsets are {start} and {end}"
        )));
    }
    Ok(Entry { name, dtype, shape, columns: false, place: Place::plain(data + start, wanted) })
}

fn element_type(name: &str, what: &str) -> Result<DType> {
    let known = TYPES.iter().find(|(n, _)| *n == name);
    known.map(|(_, d)| *d).ok_or_else(|| bad(format!("{what} has the element type '{name}', which arrays cannot have")))
}

fn dims(j: &mut Json<'_>, what: &str) -> Result<Dims> {
    let mut dims = Dims::EMPTY;
    j.list(|j| {
        let d = j.count()?;
        let d = isize::try_from(d).map_err(|_| bad(format!("{what} has a dimension of {d}")))?;
        if dims.try_push(d) { Ok(()) } else { Err(bad(format!("{what} has more than {MAX_DIMS} dimensions"))) }
    })?;
    Ok(dims)
}

fn check_cover(entries: &[Entry], data: u64, bytes: u64) -> Result {
    let mut order: Vec<&Entry> = entries.iter().collect();
    order.sort_by_key(|e| (e.place.offset, e.place.stored));
    let mut at = data;
    for e in order {
        if e.place.offset != at {
            let kind = if e.place.offset < at { "overlaps another array" } else { "leaves a gap before it" };
            return Err(bad(format!(
                "'{}' starts at byte {} of the data, which {kind}",
                e.name,
                e.place.offset - data
            )));
        }
        at += e.place.stored; // both are below 2^63: the offset was checked, and no array is larger
    }
    if at - data == bytes {
        return Ok(());
    }
    Err(bad(format!("the arrays take {} bytes, and the file has {bytes} for them: it was cut or added to", at - data)))
}

pub(crate) fn write(items: &[Item], metadata: &[(String, String)], out: &mut dyn Sink, give: &mut Give<'_>) -> Result {
    // Larger elements come first, so that each array lies at a multiple of its elements' size for those who map files.
    // The header keeps the order of the items.
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(items[*i].dtype.size()));
    let mut starts = vec![0; items.len()];
    let mut at = 0u64;
    for &i in &order {
        starts[i] = at;
        at += items[i].nbytes() as u64;
    }
    let header = header(items, &starts, metadata)?;
    out.put(&(header.len() as u64).to_le_bytes())?;
    out.put(header.as_bytes())?;
    order.into_iter().try_for_each(|i| give(i, &mut |bytes| out.put(bytes)))
}

fn header(items: &[Item], starts: &[u64], metadata: &[(String, String)]) -> Result<String> {
    let mut parts = Vec::new();
    if !metadata.is_empty() {
        let texts: Vec<_> = metadata.iter().map(|(k, v)| format!("{}:{}", quoted(k), quoted(v))).collect();
        parts.push(format!("\"__metadata__\":{{{}}}", texts.join(",")));
    }
    for (item, start) in items.iter().zip(starts) {
        if item.name == "__metadata__" {
            return Err(bad("an array cannot be called '__metadata__' in a safetensors file"));
        }
        let dtype = TYPES.iter().find(|(_, d)| *d == item.dtype).map_or("", |(n, _)| *n);
        let shape: Vec<_> = item.shape.iter().map(isize::to_string).collect();
        let (name, shape, end) = (quoted(&item.name), shape.join(","), start + item.nbytes() as u64);
        parts.push(format!("{name}:{{\"dtype\":\"{dtype}\",\"shape\":[{shape}],\"data_offsets\":[{start},{end}]}}"));
    }
    let mut header = format!("{{{}}}", parts.join(","));
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    if header.len() as u64 > HEADER {
        return Err(bad(format!("the header would take {} bytes; a safetensors file allows {HEADER}", header.len())));
    }
    Ok(header)
}
