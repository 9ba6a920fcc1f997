//! The chunks of a region that one thread begins with.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Chunks `first..end`, both in one word, so that its owner and those who help never take the same one. A line of the
/// cache (two, as processors fetch them) of its own.
#[repr(align(128))]
pub(super) struct Share(AtomicU64);

const fn word(first: u32, end: u32) -> u64 {
    (end as u64) << 32 | first as u64
}

impl Share {
    /// Takes the first chunk.
    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        self.take(|first, end| (first, word(first + 1, end)))
    }

    /// Takes the last chunk, which its owner reaches last.
    #[inline]
    pub(super) fn last(&self) -> Option<usize> {
        self.take(|first, end| (end - 1, word(first, end - 1)))
    }

    #[inline]
    fn take(&self, part: impl Fn(u32, u32) -> (u32, u64)) -> Option<usize> {
        let mut now = self.0.load(Relaxed);
        loop {
            let (first, end) = (now as u32, (now >> 32) as u32);
            if first >= end {
                return None;
            }
            let (chunk, rest) = part(first, end);
            match self.0.compare_exchange_weak(now, rest, Relaxed, Relaxed) {
                Ok(_) => return Some(chunk as usize),
                Err(other) => now = other,
            }
        }
    }
}

pub(super) fn none(n: usize) -> Box<[Share]> {
    (0..n).map(|_| Share(AtomicU64::new(0))).collect()
}

/// Shares of neighbours, equal but for one chunk.
pub(super) fn deal(shares: &[Share], chunks: u32) {
    let n = shares.len() as u64;
    let until = |i: usize| (chunks as u64 * i as u64 / n) as u32;
    for (i, share) in shares.iter().enumerate() {
        share.0.store(word(until(i), until(i + 1)), Relaxed);
    }
}
