//! Who may use a variable: one state word that answers "may I have it now?", and a queue for those who may not yet.
//!
//! Readers are counted in the word; a writer is alone. Whoever comes while others wait queues behind them, so every
//! variable sees its uses in the order in which they were pushed. The word also says why a variable that nobody holds
//! must not be used in passing (`POISON`, `BARE`, `FENCED`); those bits matter to `try_read` and `try_write` only.
use crate::sync::{AtomicU32, Mutex, lock};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::*;

/// A writer holds the variable.
pub(crate) const WRITER: u32 = 1 << 31;
/// Somebody waits in the queue: newcomers queue behind.
pub(crate) const QUEUED: u32 = 1 << 30;
/// The variable's value is an error.
pub(crate) const POISON: u32 = 1 << 29;
/// There is no memory yet.
pub(crate) const BARE: u32 = 1 << 28;
/// A device may still be at work on it although the task that issued the work is done.
pub(crate) const FENCED: u32 = 1 << 27;
/// Readers that were let in.
pub(crate) const READERS: u32 = FENCED - 1;
const CLOSED: u32 = WRITER | QUEUED | POISON | BARE | FENCED;

/// The state word and the queue of those who wait.
pub(crate) struct Gate<T> {
    state: AtomicU32,
    queue: Mutex<VecDeque<(T, bool)>>,
}

impl<T> Gate<T> {
    pub(crate) fn new() -> Gate<T> {
        Gate { state: AtomicU32::new(0), queue: Mutex::new(VecDeque::new()) }
    }

    /// The word of a variable that nobody else knows yet.
    #[inline(always)]
    pub(crate) fn reset(&self, state: u32) {
        self.state.store(state, Relaxed);
    }

    #[inline(always)]
    pub(crate) fn state(&self) -> u32 {
        self.state.load(Acquire)
    }

    pub(crate) fn set(&self, bits: u32) {
        self.state.fetch_or(bits, AcqRel);
    }

    pub(crate) fn clear(&self, bits: u32) {
        self.state.fetch_and(!bits, AcqRel);
    }

    /// Becomes a reader, unless that would mean waiting.
    #[inline(always)]
    pub(crate) fn try_read(&self) -> bool {
        let mut s = self.state.load(Relaxed);
        while s & CLOSED == 0 {
            match self.state.compare_exchange_weak(s, s + 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => s = now,
            }
        }
        false
    }

    /// True: the caller must call `grant`.
    #[inline(always)]
    #[must_use]
    pub(crate) fn end_read(&self) -> bool {
        let old = self.state.fetch_sub(1, Release);
        old & QUEUED != 0 && old & READERS == 1
    }

    /// Becomes the writer, unless that would mean waiting.
    #[inline(always)]
    pub(crate) fn try_write(&self) -> bool {
        self.state.compare_exchange(0, WRITER, Acquire, Relaxed).is_ok()
    }

    /// True: the caller must call `grant`.
    #[inline(always)]
    #[must_use]
    pub(crate) fn end_write(&self) -> bool {
        self.state.fetch_and(!WRITER, Release) & QUEUED != 0
    }

    /// Lets the newcomer in at once (true) or puts it behind those who wait already.
    #[must_use]
    pub(crate) fn append(&self, waiter: impl FnOnce() -> T, write: bool) -> bool {
        let mut queue = lock(&self.queue);
        let mut s = self.state.load(Relaxed);
        loop {
            let busy = s & (WRITER | QUEUED) != 0 || (write && s & READERS != 0);
            let next = match (busy, write) {
                (true, _) => s | QUEUED,
                (false, true) => s | WRITER,
                (false, false) => s + 1,
            };
            match self.state.compare_exchange_weak(s, next, AcqRel, Relaxed) {
                Ok(_) if busy => {
                    // The lock is held, so whoever saw QUEUED finds the waiter too.
                    queue.push_back((waiter(), write));
                    return false;
                }
                Ok(_) => return true,
                Err(now) => s = now,
            }
        }
    }

    /// Lets in as many as may enter now, in order.
    #[cold]
    pub(crate) fn grant(&self, mut admit: impl FnMut(T)) {
        let mut queue = lock(&self.queue);
        while let Some(&(_, write)) = queue.front() {
            if !self.enter_from_queue(write, queue.len() == 1) {
                break;
            }
            if let Some((waiter, _)) = queue.pop_front() {
                admit(waiter);
            }
        }
    }

    /// The holder of the queue's lock enters for its front; `last`: nobody waits behind it.
    fn enter_from_queue(&self, write: bool, last: bool) -> bool {
        let mut s = self.state.load(Relaxed);
        loop {
            if s & WRITER != 0 || (write && s & READERS != 0) {
                return false;
            }
            let keep = if last { s & !QUEUED } else { s };
            let next = if write { keep | WRITER } else { keep + 1 };
            match self.state.compare_exchange_weak(s, next, AcqRel, Relaxed) {
                Ok(_) => return true,
                Err(now) => s = now,
            }
        }
    }
}
