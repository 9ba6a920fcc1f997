//! Where files are read from, and a cursor for their headers.
use crate::{bad, io};
use gluonish_base::{Error, Result};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes that can be read from any place.
pub trait Source {
    fn size(&self) -> u64;
    /// Fills `to` with the bytes from `offset` on.
    fn read_at(&mut self, offset: u64, to: &mut [u8]) -> Result;
}

impl Source for &[u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }
    fn read_at(&mut self, offset: u64, to: &mut [u8]) -> Result {
        let start = usize::try_from(offset).ok();
        match start.and_then(|s| self.get(s..s.checked_add(to.len())?)) {
            Some(bytes) => {
                to.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(short(offset, to.len() as u64, self.size())),
        }
    }
}

#[cold]
fn short(offset: u64, wanted: u64, size: u64) -> Error {
    bad(format!("the file ends too soon: {wanted} bytes are needed at byte {offset}, and it has {size} in all"))
}

/// A file on disk.
pub struct FileSource {
    file: File,
    path: PathBuf,
    size: u64,
    at: u64,
}

impl FileSource {
    pub fn open(path: &Path) -> Result<FileSource> {
        // A pipe without a writer would keep the call from ever returning, so its kind is looked at first.
        let known = std::fs::metadata(path).map_err(|e| io("", path, &e))?;
        if !known.is_file() && !known.is_dir() {
            return Err(bad("it is not a regular file; read it yourself, and give the bytes to load_frombuffer"));
        }
        let mut file = File::open(path).map_err(|e| io("", path, &e))?;
        if known.is_dir() {
            file.read(&mut [0]).map_err(|e| io("", path, &e))?; // the system's own words
        }
        let size = file.metadata().map_err(|e| io("", path, &e))?.len();
        Ok(FileSource { file, path: path.into(), size, at: 0 })
    }
}

impl Source for FileSource {
    fn size(&self) -> u64 {
        self.size
    }
    fn read_at(&mut self, offset: u64, to: &mut [u8]) -> Result {
        let mut done = Ok(0);
        if self.at != offset {
            done = self.file.seek(SeekFrom::Start(offset));
        }
        let done = done.and_then(|_| self.file.read_exact(to));
        // After a failure nobody knows where the file stands.
        self.at = if done.is_ok() { offset + to.len() as u64 } else { u64::MAX };
        done.map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => short(offset, to.len() as u64, self.size),
            _ => io("", &self.path, &e),
        })
    }
}

/// Bytes that are read ahead for the small fields of headers.
const AHEAD: u64 = 4096;

/// A cursor over a part of a source. Every length is checked against what is left before anything is allocated.
pub(crate) struct Scan<'a> {
    source: &'a mut dyn Source,
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    /// Where the buffer's first byte lies.
    start: u64,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(source: &'a mut dyn Source) -> Scan<'a> {
        let end = source.size();
        Scan::part(source, 0, end)
    }

    /// From `at` to `end`, which the caller has checked to be inside the source.
    pub(crate) fn part(source: &'a mut dyn Source, at: u64, end: u64) -> Scan<'a> {
        Scan { source, at, end, buffer: Vec::new(), start: 0 }
    }

    pub(crate) fn at(&self) -> u64 {
        self.at
    }
    pub(crate) fn left(&self) -> u64 {
        self.end - self.at
    }

    fn check(&self, n: u64, what: &str) -> Result {
        if n <= self.left() {
            return Ok(());
        }
        let (at, left) = (self.at, self.left());
        Err(bad(format!("the file ends inside {what}: {n} bytes are needed at byte {at}, and {left} are left")))
    }

    pub(crate) fn skip(&mut self, n: u64, what: &str) -> Result {
        self.check(n, what)?;
        self.at += n;
        Ok(())
    }

    fn fill(&mut self, to: &mut [u8], what: &str) -> Result {
        let n = to.len() as u64;
        self.check(n, what)?;
        if n > AHEAD {
            self.source.read_at(self.at, to)?;
        } else {
            if self.at < self.start || self.at + n > self.start + self.buffer.len() as u64 {
                let ahead = AHEAD.min(self.left()) as usize;
                self.buffer.resize(ahead, 0);
                self.start = self.at;
                self.source.read_at(self.at, &mut self.buffer)?;
            }
            let from = (self.at - self.start) as usize;
            to.copy_from_slice(&self.buffer[from..from + to.len()]);
        }
        self.at += n;
        Ok(())
    }

    pub(crate) fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, what)?;
        Ok(bytes)
    }
    pub(crate) fn bytes(&mut self, n: u64, what: &str) -> Result<Vec<u8>> {
        self.check(n, what)?;
        let mut bytes = vec![0; n as usize];
        self.fill(&mut bytes, what)?;
        Ok(bytes)
    }
    pub(crate) fn text(&mut self, n: u64, what: &str) -> Result<String> {
        String::from_utf8(self.bytes(n, what)?).map_err(|_| bad(format!("{what} is not UTF-8")))
    }
    pub(crate) fn u16(&mut self, what: &str) -> Result<u16> {
        self.take(what).map(u16::from_le_bytes)
    }
    pub(crate) fn u32(&mut self, what: &str) -> Result<u32> {
        self.take(what).map(u32::from_le_bytes)
    }
    pub(crate) fn u64(&mut self, what: &str) -> Result<u64> {
        self.take(what).map(u64::from_le_bytes)
    }
}
