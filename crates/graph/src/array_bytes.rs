//! The bytes of whole arrays, for files.
use crate::array::NDArray;
use crate::host::wait;
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_engine::{Device, Var};

/// Bytes that are filled at once: they fit in a cache, so clearing them first costs next to nothing.
const PIECE: usize = 1 << 20;

/// Ends the reading however the reader ends.
struct Reading<'a>(&'a Var);
impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.end_read();
    }
}

impl NDArray {
    /// A new array whose bytes `fill` writes: it is called with one piece after the other, each of whole elements.
    pub fn filled_by(
        device: Device,
        dtype: DType,
        shape: &Dims,
        mut fill: impl FnMut(&mut [u8]) -> Result,
    ) -> Result<NDArray> {
        let a = NDArray::empty(device, dtype, shape)?;
        let mut at = 0;
        while at < a.nbytes() {
            let n = PIECE.min(a.nbytes() - at);
            // SAFETY: the array is new, so nobody else holds its storage, and the piece lies inside its memory; it is
            // cleared, so that the slice is of bytes with a value.
            let piece = unsafe {
                let p = a.data().add(at);
                std::ptr::write_bytes(p, 0, n);
                std::slice::from_raw_parts_mut(p, n)
            };
            fill(piece)?;
            at += n;
        }
        Ok(a)
    }

    /// Waits for the value, and lends its bytes. Only for contiguous arrays that are not shared with other libraries.
    pub fn with_bytes<T>(&self, f: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        if !self.is_contiguous() || self.storage().shared() {
            return Err(Cause::Value("only a contiguous array of our own has its bytes in a row".into()).into());
        }
        loop {
            wait(self)?;
            if self.size() == 0 {
                return f(&[]);
            }
            // Another thread may have queued a write since: wait for that too.
            if self.storage().try_read() {
                break;
            }
        }
        let _reading = Reading(self.storage());
        // SAFETY: the array is contiguous, has its value, and is held as a reader: nobody writes it meanwhile.
        f(unsafe { std::slice::from_raw_parts(self.data(), self.nbytes()) })
    }
}
