//! Where files are written to.
use gluonish_base::Result;

/// Takes the bytes of a file in order.
pub trait Sink {
    fn put(&mut self, bytes: &[u8]) -> Result;
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) -> Result {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// Counts what passes.
pub(crate) struct Counted<'a> {
    out: &'a mut dyn Sink,
    pub(crate) written: u64,
}

impl<'a> Counted<'a> {
    pub(crate) fn new(out: &'a mut dyn Sink) -> Counted<'a> {
        Counted { out, written: 0 }
    }
}

impl Sink for Counted<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result {
        self.out.put(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}
