//! Zip archives as npz needs them: members stored or deflated, also beyond 4 GiB (zip64).
use crate::bad;
use crate::inflate::RATIO;
use crate::sink::{Counted, Sink};
use crate::source::{Scan, Source};
use crate::stream::Place;
use gluonish_base::{Error, Result};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const LOCATOR: u32 = 0x0706_4b50;
/// The extra field with numbers of 64 bits.
const WIDE: u16 = 1;

/// Bytes of the end record, and of the locator that stands before it in large archives.
const END_SIZE: u64 = 22;
const LOCATOR_SIZE: u64 = 20;

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) place: Place,
    /// Bytes once unpacked.
    pub(crate) size: u64,
}

/// The central directory: where it lies, and how many members it lists.
struct Directory {
    start: u64,
    end: u64,
    members: u64,
}

/// The members, in the order of the directory.
pub(crate) fn read(source: &mut dyn Source) -> Result<Vec<Member>> {
    let directory = directory(source)?;
    let mut heads = Vec::new();
    let mut s = Scan::part(source, directory.start, directory.end);
    while s.left() > 0 {
        heads.push(central(&mut s)?);
    }
    if heads.len() as u64 != directory.members {
        let (n, given) = (heads.len(), directory.members);
        return Err(bad(format!("the archive says that it has {given} members, and lists {n}")));
    }
    let mut members = Vec::new();
    let mut ranges = Vec::new();
    for head in heads {
        let from = head.header;
        let member = located(source, head, directory.start)?;
        ranges.push((from, member.place.offset + member.place.stored));
        members.push(member);
    }
    // Members that share bytes let a small file unpack to any size.
    ranges.sort_unstable();
    if ranges.windows(2).any(|w| w[1].0 < w[0].1) {
        return Err(bad("members of the archive overlap"));
    }
    Ok(members)
}

#[cold]
fn no_end() -> Error {
    bad("this is not a whole npz (zip) archive: its end is missing; it was cut, or is still being written")
}

fn directory(source: &mut dyn Source) -> Result<Directory> {
    let size = source.size();
    // A comment of up to 65535 bytes may follow the record.
    let reach = size.min(END_SIZE + 0xFFFF);
    let tail = Scan::part(source, size - reach, size).bytes(reach, "the end of the archive")?;
    let fits = |i: &usize| {
        let comment = u16::from_le_bytes([tail[i + 20], tail[i + 21]]) as usize;
        tail[*i..].starts_with(&END.to_le_bytes()) && i + END_SIZE as usize + comment == tail.len()
    };
    let last = tail.len().checked_sub(END_SIZE as usize).ok_or_else(no_end)?;
    let at = (0..=last).rev().find(fits).ok_or_else(no_end)?;
    let end = size - reach + at as u64;
    let mut s = Scan::part(source, end + 10, size);
    let what = "the end of the archive";
    let members = s.u16(what)?;
    let (bytes, start) = (s.u32(what)?, s.u32(what)?);
    let narrow = members != 0xFFFF && bytes != u32::MAX && start != u32::MAX;
    let (members, bytes, start, before) = match if narrow { None } else { wide_end(source, end)? } {
        Some(wide) => wide,
        None => (members as u64, bytes as u64, start as u64, end),
    };
    match start.checked_add(bytes) {
        Some(e) if e <= before => Ok(Directory { start, end: e, members }),
        _ => Err(bad(format!("the archive's directory claims {bytes} bytes at {start}, beyond its end"))),
    }
}

/// The end record with numbers of 64 bits, if there is one: members, bytes and start of the directory, and its own place.
fn wide_end(source: &mut dyn Source, end: u64) -> Result<Option<(u64, u64, u64, u64)>> {
    let what = "the end of the archive";
    let Some(locator) = end.checked_sub(LOCATOR_SIZE) else { return Ok(None) };
    let mut s = Scan::part(source, locator, end);
    if s.u32(what)? != LOCATOR {
        return Ok(None);
    }
    s.skip(4, what)?;
    let at = s.u64(what)?;
    if at > locator {
        return Err(bad(format!("the archive's end record claims to be at byte {at}, beyond its end")));
    }
    let mut s = Scan::part(source, at, locator);
    if s.u32(what)? != END64 {
        return Err(bad("the archive's 64-bit end record is missing"));
    }
    s.skip(28, what)?; // its size, versions, disks, members on this disk
    Ok(Some((s.u64(what)?, s.u64(what)?, s.u64(what)?, at)))
}

/// An entry of the directory.
struct Head {
    name: String,
    method: u16,
    crc: u32,
    stored: u64,
    size: u64,
    header: u64,
}

fn central(s: &mut Scan<'_>) -> Result<Head> {
    let what = "the archive's directory";
    if s.u32(what)? != CENTRAL {
        return Err(bad("the archive's directory is damaged"));
    }
    s.skip(4, what)?; // versions
    let flags = s.u16(what)?;
    let method = s.u16(what)?;
    s.skip(4, what)?; // time
    let crc = s.u32(what)?;
    let (stored, size) = (s.u32(what)? as u64, s.u32(what)? as u64);
    let (name, extra, comment) = (s.u16(what)?, s.u16(what)?, s.u16(what)?);
    s.skip(8, what)?; // disk, attributes
    let header = s.u32(what)? as u64;
    let name = s.text(name as u64, "a member's name")?;
    let mut head = Head { name, method, crc, stored, size, header };
    let extra = s.bytes(extra as u64, what)?;
    widen(&mut head, &extra)?;
    s.skip(comment as u64, what)?;
    if flags & 1 != 0 {
        return Err(bad(format!("'{}' is encrypted", head.name)));
    }
    Ok(head)
}

/// Numbers that did not fit in 32 bits stand in an extra field, in this order.
fn widen(head: &mut Head, extra: &[u8]) -> Result {
    let mut s: &[u8] = extra;
    let mut s = Scan::new(&mut s);
    let what = "a member's extra fields";
    while s.left() >= 4 {
        let (id, length) = (s.u16(what)?, s.u16(what)? as u64);
        if id != WIDE {
            s.skip(length, what)?;
            continue;
        }
        for field in [&mut head.size, &mut head.stored, &mut head.header] {
            if *field == u32::MAX as u64 {
                *field = s.u64(what)?;
            }
        }
        return Ok(());
    }
    Ok(())
}

/// Finds the bytes of a member behind its own header.
fn located(source: &mut dyn Source, head: Head, end: u64) -> Result<Member> {
    let Head { name, method, crc, stored, size, header } = head;
    let what = &format!("'{name}'");
    if header > end {
        return Err(bad(format!("{what} claims to be at byte {header}, beyond the archive's members")));
    }
    let mut s = Scan::part(source, header, end);
    if s.u32(what)? != LOCAL {
        return Err(bad(format!("{what} is not where the archive's directory says")));
    }
    s.skip(22, what)?; // what the directory repeats
    let (name_length, extra) = (s.u16(what)?, s.u16(what)?);
    s.skip(name_length as u64 + extra as u64, what)?;
    let offset = s.at();
    s.skip(stored, what)?;
    let deflated = match method {
        0 if stored == size => false,
        8 if size <= stored.saturating_mul(RATIO) => true,
        0 | 8 => return Err(bad(format!("{what} claims that {stored} bytes unpack to {size}, which is not possible"))),
        m => return Err(bad(format!("{what} is packed by method {m}; only stored and deflated members are read"))),
    };
    let place = Place { offset, stored, deflated, skip: 0, crc: Some(crc), swapped: false };
    Ok(Member { name, place, size })
}

/// Writes an archive of stored members.
pub(crate) struct Writer<'a> {
    out: Counted<'a>,
    directory: Vec<u8>,
    members: u64,
    /// From this value on a number takes 64 bits.
    limit: u64,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(out: &'a mut dyn Sink) -> Writer<'a> {
        Writer::with_limit(out, u32::MAX as u64)
    }
    fn with_limit(out: &'a mut dyn Sink, limit: u64) -> Writer<'a> {
        Writer { out: Counted::new(out), directory: Vec::new(), members: 0, limit }
    }

    fn narrow(&self, v: u64) -> u32 {
        if v >= self.limit { u32::MAX } else { v as u32 }
    }

    /// A member of two parts, whose checksum is known.
    pub(crate) fn add(&mut self, name: &str, crc: u32, parts: [&[u8]; 2]) -> Result {
        let Ok(name_length) = u16::try_from(name.len()) else {
            return Err(bad(format!("the name of an array has {} bytes; an npz file allows 65535", name.len())));
        };
        let size = parts.iter().map(|p| p.len() as u64).sum::<u64>();
        let start = self.out.written;
        // Version 4.5 has the wide numbers. Names are UTF-8; the date is always the first that there is, so that the same
        // arrays make the same file.
        let wide = size >= self.limit || start >= self.limit;
        let mut fields = Vec::new();
        for v in [if wide { 45u16 } else { 20 }, 1 << 11, 0, 0, 0x21] {
            fields.extend(v.to_le_bytes());
        }
        for v in [crc, self.narrow(size), self.narrow(size)] {
            fields.extend(v.to_le_bytes());
        }
        fields.extend(name_length.to_le_bytes());
        let extra = self.extra(size, None);
        let head = [&LOCAL.to_le_bytes(), &fields[..], &(extra.len() as u16).to_le_bytes(), name.as_bytes(), &extra];
        self.out.put(&head.concat())?;
        parts.iter().try_for_each(|p| self.out.put(p))?;
        let extra = self.extra(size, Some(start));
        let made_by = 45u16.to_le_bytes();
        let rest = [0; 10]; // comment, disk, attributes
        self.directory
            .extend([&CENTRAL.to_le_bytes(), &made_by[..], &fields, &(extra.len() as u16).to_le_bytes()].concat());
        self.directory.extend([&rest, &self.narrow(start).to_le_bytes()[..], name.as_bytes(), &extra].concat());
        self.members += 1;
        Ok(())
    }

    fn extra(&self, size: u64, start: Option<u64>) -> Vec<u8> {
        let values = [Some(size), Some(size), start];
        let wide: Vec<u8> =
            values.into_iter().flatten().filter(|v| *v >= self.limit).flat_map(u64::to_le_bytes).collect();
        if wide.is_empty() {
            return wide;
        }
        [&WIDE.to_le_bytes()[..], &(wide.len() as u16).to_le_bytes(), &wide].concat()
    }

    pub(crate) fn finish(mut self) -> Result {
        let (start, bytes) = (self.out.written, self.directory.len() as u64);
        self.out.put(&self.directory)?;
        if self.members >= self.limit.min(0xFFFF) || start >= self.limit || bytes >= self.limit {
            let at = self.out.written;
            let mut end = END64.to_le_bytes().to_vec();
            end.extend(44u64.to_le_bytes());
            end.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // versions, disks
            for v in [self.members, self.members, bytes, start] {
                end.extend(v.to_le_bytes());
            }
            end.extend([LOCATOR, 0].map(u32::to_le_bytes).concat());
            end.extend(at.to_le_bytes());
            end.extend(1u32.to_le_bytes());
            self.out.put(&end)?;
        }
        let members = if self.members >= self.limit.min(0xFFFF) { 0xFFFF } else { self.members as u16 };
        let mut end = END.to_le_bytes().to_vec();
        for v in [0, 0, members, members] {
            end.extend(v.to_le_bytes());
        }
        for v in [self.narrow(bytes), self.narrow(start)] {
            end.extend(v.to_le_bytes());
        }
        end.extend([0, 0]); // no comment
        self.out.put(&end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crc::Crc;

    fn archive(limit: u64) -> Result<Vec<u8>> {
        let mut file = Vec::new();
        let mut w = Writer::with_limit(&mut file, limit);
        for (name, data) in [("a", &[7; 50][..]), ("b/ü", &[9; 200]), ("c", &[])] {
            w.add(name, Crc::of(&[b"head", data]), [b"head", data])?;
        }
        w.finish()?;
        Ok(file)
    }

    #[test]
    fn wide_and_narrow_numbers() -> Result {
        for limit in [0, 1, 60, 100, u32::MAX as u64] {
            let file = archive(limit)?;
            let members = read(&mut &file[..])?;
            let sizes: Vec<_> = members.iter().map(|m| (m.name.as_str(), m.size)).collect();
            assert_eq!(sizes, [("a", 54), ("b/ü", 204), ("c", 4)]);
            assert_eq!(&file[members[1].place.offset as usize..][..6], b"head\x09\x09");
        }
        Ok(())
    }

    /// For a look with other programs: `ZIP64_SAMPLE=x.zip cargo test -p gluonish-formats wide_sample`.
    #[test]
    fn wide_sample() -> Result {
        if let Some(path) = std::env::var_os("ZIP64_SAMPLE") {
            std::fs::write(path, archive(0)?).map_err(|e| bad(e.to_string()))?;
        }
        Ok(())
    }
}
