//! A condition that others make true: waiting for it, with the occasional look at something else.
use crate::sync::lock;
use gluonish_base::Result;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a wait looks for an interrupt.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// Rings for those who wait. Costs one load when nobody does.
#[derive(Default)]
pub(crate) struct Bell {
    waiting: AtomicUsize,
    lock: Mutex<()>,
    rung: Condvar,
}

/// How a wait ended.
#[derive(PartialEq, Eq)]
enum Ended {
    True,
    TooLate,
}

impl Bell {
    /// What `done` looks at has changed. Its writer and its reader use sequential consistency, so that either the writer
    /// sees the waiter or the waiter sees the write.
    #[inline]
    pub(crate) fn ring(&self) {
        if self.waiting.load(SeqCst) > 0 {
            self.ring_aloud();
        }
    }

    #[cold]
    fn ring_aloud(&self) {
        drop(lock(&self.lock));
        self.rung.notify_all();
    }

    pub(crate) fn wait_until(&self, done: impl Fn() -> bool) {
        // Without a poll and a deadline the wait ends only when it is done.
        let _ = self.wait(done, &|| Ok(()), None);
    }

    /// Waits; `poll` is called about every 50 ms, without a lock held, and its error ends the wait.
    pub(crate) fn wait_polling(&self, done: impl Fn() -> bool, poll: &dyn Fn() -> Result) -> Result {
        self.wait(done, poll, None).map(|_| ())
    }

    /// Waits until the deadline at most; whether it came true.
    pub(crate) fn wait_deadline(&self, done: impl Fn() -> bool, deadline: Instant) -> bool {
        self.wait(done, &|| Ok(()), Some(deadline)).is_ok_and(|e| e == Ended::True)
    }

    fn wait(&self, done: impl Fn() -> bool, poll: &dyn Fn() -> Result, deadline: Option<Instant>) -> Result<Ended> {
        if done() {
            return Ok(Ended::True);
        }
        let _registered = Registered::new(&self.waiting);
        let mut guard = lock(&self.lock);
        let mut next_poll = Instant::now() + POLL;
        loop {
            if done() {
                return Ok(Ended::True);
            }
            let now = Instant::now();
            if deadline.is_some_and(|d| now >= d) {
                return Ok(Ended::TooLate);
            }
            if now >= next_poll {
                drop(guard);
                poll()?;
                next_poll = Instant::now() + POLL;
                guard = lock(&self.lock);
                continue;
            }
            let until = deadline.map_or(next_poll, |d| d.min(next_poll));
            guard = self.rung.wait_timeout(guard, until - now).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// One of those who wait.
struct Registered<'a>(&'a AtomicUsize);

impl<'a> Registered<'a> {
    fn new(count: &'a AtomicUsize) -> Registered<'a> {
        count.fetch_add(1, SeqCst);
        Registered(count)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}
