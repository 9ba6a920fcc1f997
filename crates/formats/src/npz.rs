//! NumPy's npz: a zip archive whose members are npy files.
use crate::bad;
use crate::contents::{Contents, Format, Give, Item};
use crate::crc::Crc;
use crate::sink::Sink;
use crate::source::Source;
use crate::{npy, zip};
use gluonish_base::Result;

const SUFFIX: &str = ".npy";

pub(crate) fn read(source: &mut dyn Source) -> Result<Contents> {
    let mut entries = Vec::new();
    for m in zip::read(source)? {
        let Some(name) = m.name.strip_suffix(SUFFIX) else {
            let torch = if m.name.ends_with("data.pkl") { "; files of PyTorch are not read" } else { "" };
            return Err(bad(format!("the member '{}' of the archive is no npy array{torch}", m.name)));
        };
        entries.push(npy::member(source, m.place, m.size, name.to_string())?);
    }
    Ok(Contents { format: Format::Npz, entries, named: true, metadata: Vec::new() })
}

pub(crate) fn write(items: &[Item], out: &mut dyn Sink, give: &mut Give<'_>) -> Result {
    let mut archive = zip::Writer::new(out);
    for (i, item) in items.iter().enumerate() {
        let (name, header) = (format!("{}{SUFFIX}", item.name), npy::header(item)?);
        give(i, &mut |bytes| archive.add(&name, Crc::of(&[&header, bytes]), [&header, bytes]))?;
    }
    archive.finish()
}
