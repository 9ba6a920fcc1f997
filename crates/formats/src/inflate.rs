//! Unpacks deflated bytes piece by piece.
use crate::bad;
use crate::source::Source;
use gluonish_base::Result;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

/// Bytes that are fetched from the file at once.
const INPUT: usize = 64 << 10;

/// No deflated byte stands for more: a match of 258 bytes takes two bits at least.
pub(crate) const RATIO: u64 = 1032;

pub(crate) struct Inflate {
    state: Box<InflateState>,
    input: Vec<u8>,
    used: usize,
    ended: bool,
}

impl Inflate {
    pub(crate) fn new() -> Inflate {
        Inflate { state: InflateState::new_boxed(DataFormat::Raw), input: Vec::new(), used: 0, ended: false }
    }

    /// Fills `to`; the packed bytes are those from `at` to `end`.
    pub(crate) fn read(&mut self, source: &mut dyn Source, at: &mut u64, end: u64, to: &mut [u8]) -> Result {
        let mut done = 0;
        while done < to.len() {
            match self.step(source, at, end, &mut to[done..])? {
                0 => return Err(bad("the packed bytes of an array end too soon")),
                n => done += n,
            }
        }
        Ok(())
    }

    /// Checks that nothing more comes out, and that nothing is left over.
    pub(crate) fn finish(&mut self, source: &mut dyn Source, at: &mut u64, end: u64) -> Result {
        let mut more = [0];
        if self.step(source, at, end, &mut more)? > 0 {
            return Err(bad("an array has more bytes than its header says"));
        }
        *at -= (self.input.len() - self.used) as u64;
        Ok(())
    }

    /// Unpacks into `to`: how many bytes came out, 0 at the end only.
    fn step(&mut self, source: &mut dyn Source, at: &mut u64, end: u64, to: &mut [u8]) -> Result<usize> {
        while !self.ended {
            if self.used == self.input.len() {
                let n = (end - *at).min(INPUT as u64) as usize;
                self.input.resize(n, 0);
                source.read_at(*at, &mut self.input)?;
                *at += n as u64;
                self.used = 0;
            }
            let r = inflate(&mut self.state, &self.input[self.used..], to, MZFlush::None);
            self.used += r.bytes_consumed;
            match r.status {
                Ok(MZStatus::StreamEnd) => self.ended = true,
                Ok(_) => {}
                Err(_) if r.bytes_written > 0 || r.bytes_consumed > 0 => {}
                Err(_) => return Err(bad("the packed bytes of an array are damaged, or end too soon")),
            }
            if r.bytes_written > 0 {
                return Ok(r.bytes_written);
            }
            if !self.ended && r.bytes_consumed == 0 && self.input.is_empty() {
                return Err(bad("the packed bytes of an array end too soon"));
            }
        }
        Ok(0)
    }
}
