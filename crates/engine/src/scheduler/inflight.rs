//! How far pushers may run ahead: a few operations, counted in the bytes that queued tasks will write.
use super::{Engine, here};
use crate::promise::Promise;
use crate::sync::lock;
use gluonish_base::Result;
use gluonish_base::tls::tls;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// What may always be in flight.
const FLOOR: usize = 64 << 20;
/// Tasks as large as the largest one that may be in flight.
const AHEAD: usize = 4;
/// Only larger tasks can raise the bound, so only they are counted one by one.
const COUNTED: usize = FLOOR / AHEAD;

/// Bytes that pending tasks will write.
pub(super) struct Flight {
    now: AtomicUsize,
    peak: AtomicUsize,
    /// A bound set by the user; 0: none.
    fixed: AtomicUsize,
    /// Large pending tasks by size.
    large: Mutex<BTreeMap<usize, usize>>,
}

impl Flight {
    pub(super) fn new(fixed: usize) -> Flight {
        Flight {
            now: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            fixed: AtomicUsize::new(fixed),
            large: Mutex::default(),
        }
    }

    pub(super) fn now(&self) -> usize {
        self.now.load(SeqCst)
    }

    pub(super) fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }

    pub(super) fn add(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let now = self.now.fetch_add(bytes, SeqCst) + bytes;
        if now > self.peak.load(Relaxed) {
            self.peak.fetch_max(now, Relaxed);
        }
        if bytes > COUNTED {
            *lock(&self.large).entry(bytes).or_default() += 1;
        }
    }

    pub(super) fn sub(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        if bytes > COUNTED {
            let mut large = lock(&self.large);
            if let Some(n) = large.get_mut(&bytes).filter(|n| **n > 1) {
                *n -= 1;
            } else {
                large.remove(&bytes);
            }
        }
        self.now.fetch_sub(bytes, SeqCst);
    }

    fn too_much(&self, bytes: usize) -> bool {
        let now = self.now();
        if now == 0 {
            return false;
        }
        let bound = match self.fixed.load(Relaxed) {
            // Below the floor nothing else need be looked at.
            0 if now.saturating_add(bytes) <= FLOOR => return false,
            0 => {
                let largest = lock(&self.large).keys().next_back().copied().unwrap_or(0);
                FLOOR.max(largest.max(bytes).saturating_mul(AHEAD))
            }
            fixed => fixed,
        };
        now.saturating_add(bytes) > bound
    }
}

impl Engine {
    /// Whether `hold_back` would wait. Threads that run tasks are never held back.
    #[inline]
    pub fn would_block(&self, bytes: usize) -> bool {
        self.flight.too_much(bytes) && !tls().worker.get() && here::depth() == 0 && !Promise::any()
    }

    /// Waits while too many bytes are in flight to push a task that writes `bytes` more. `poll` is called about every 50 ms;
    /// its error ends the wait. Locks that tasks may need, such as Python's, must not be held.
    pub fn hold_back(&self, bytes: usize, poll: &dyn Fn() -> Result) -> Result {
        if !self.would_block(bytes) {
            return Ok(());
        }
        self.room.wait_polling(|| !self.flight.too_much(bytes) || Promise::any(), poll)
    }

    /// Sets the bound on bytes in flight and returns the one before. 0: a few operations ahead.
    pub fn set_in_flight_limit(&self, bytes: usize) -> usize {
        self.flight.fixed.swap(bytes, Relaxed)
    }
}
