//! The bytes of one array, from wherever and however they are stored.
use crate::bad;
use crate::crc::Crc;
use crate::inflate::Inflate;
use crate::source::Source;
use gluonish_base::{DType, Result};

/// Where an array's bytes are.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    /// Bytes in the file.
    pub(crate) stored: u64,
    pub(crate) deflated: bool,
    /// Bytes before the array's own, which the checksum covers too.
    pub(crate) skip: u64,
    pub(crate) crc: Option<u32>,
    /// The bytes of each element are in the other order.
    pub(crate) swapped: bool,
}

impl Place {
    /// Bytes that lie in the file as they are in memory.
    pub(crate) fn plain(offset: u64, stored: u64) -> Place {
        Place { offset, stored, deflated: false, skip: 0, crc: None, swapped: false }
    }
}

/// Reads an array from its first byte to its last.
pub struct Stream<'a> {
    raw: Raw<'a>,
    dtype: DType,
    swapped: bool,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(source: &'a mut dyn Source, place: &Place, dtype: DType) -> Result<Stream<'a>> {
        let mut raw = Raw::new(source, place);
        let mut skipped = [0; 512];
        let mut left = place.skip;
        while left > 0 {
            let n = left.min(skipped.len() as u64) as usize;
            raw.read(&mut skipped[..n])?;
            left -= n as u64;
        }
        Ok(Stream { raw, dtype, swapped: place.swapped })
    }

    /// The next bytes; `to` holds whole elements.
    pub fn read(&mut self, to: &mut [u8]) -> Result {
        self.raw.read(to)?;
        if self.swapped {
            to.chunks_exact_mut(self.dtype.size()).for_each(<[u8]>::reverse);
        }
        if self.dtype == DType::Bool {
            // Code that runs on truth values relies on 0 and 1.
            to.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        Ok(())
    }

    /// To be called when everything was read: what only shows at the end is checked.
    pub fn finish(self) -> Result {
        self.raw.finish()
    }
}

/// The bytes of a member of a file, unpacked.
pub(crate) struct Raw<'a> {
    source: &'a mut dyn Source,
    at: u64,
    end: u64,
    inflate: Option<Inflate>,
    crc: Option<(Crc, u32)>,
}

impl<'a> Raw<'a> {
    pub(crate) fn new(source: &'a mut dyn Source, place: &Place) -> Raw<'a> {
        Raw {
            source,
            at: place.offset,
            end: place.offset + place.stored,
            inflate: place.deflated.then(Inflate::new),
            crc: place.crc.map(|c| (Crc::new(), c)),
        }
    }

    pub(crate) fn read(&mut self, to: &mut [u8]) -> Result {
        match &mut self.inflate {
            Some(inflate) => inflate.read(self.source, &mut self.at, self.end, to)?,
            None if to.len() as u64 > self.end - self.at => return Err(bad("an array's bytes end too soon")),
            None => {
                self.source.read_at(self.at, to)?;
                self.at += to.len() as u64;
            }
        }
        if let Some((crc, _)) = &mut self.crc {
            crc.add(to);
        }
        Ok(())
    }

    fn finish(mut self) -> Result {
        if let Some(inflate) = &mut self.inflate {
            inflate.finish(self.source, &mut self.at, self.end)?;
        }
        if self.at != self.end {
            return Err(bad(format!("{} bytes are left over after an array", self.end - self.at)));
        }
        match self.crc {
            Some((crc, wanted)) if crc.value() != wanted => Err(bad(format!(
                "the checksum is {:08x}, not {wanted:08x}: the file was damaged on its way",
                crc.value()
            ))),
            _ => Ok(()),
        }
    }
}
