//! Waiting for work: for one storage, or for all of it.
use super::bell::POLL;
use super::{Engine, here, lane};
use crate::device::Device;
use crate::storage::Var;
use crate::sync::lock;
use crate::task::{Job, Lane, Push, Write};
use gluonish_base::{Error, Result, Site, pool};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

/// How often, and how long each time, a thread looks for something before it goes to sleep: some microseconds in all.
const LOOKS: u32 = 8;
const SPINS: u32 = 64;

/// Looks for a while whether something comes true. In between the processor is offered to others: whoever is to make it come
/// true may be waiting for this very one.
pub(super) fn look_for(done: impl Fn() -> bool) -> bool {
    for _ in 0..LOOKS {
        for _ in 0..if pool::cpus() > 1 { SPINS } else { 1 } {
            if done() {
                return true;
            }
            spin_loop();
        }
        std::thread::yield_now();
    }
    done()
}

/// Says once that something has come.
#[derive(Default)]
pub(crate) struct Signal {
    sent: AtomicBool,
    /// Somebody sleeps.
    asleep: Mutex<bool>,
    wake: Condvar,
}

impl Signal {
    pub(crate) fn send(&self) {
        let asleep = lock(&self.asleep);
        self.sent.store(true, Release);
        if *asleep {
            self.wake.notify_one();
        }
    }

    fn is_sent(&self) -> bool {
        self.sent.load(Acquire)
    }

    fn wait(&self, poll: &dyn Fn() -> Result) -> Result {
        if look_for(|| self.is_sent()) {
            return Ok(());
        }
        loop {
            let mut asleep = lock(&self.asleep);
            if self.is_sent() {
                return Ok(());
            }
            *asleep = true;
            let (guard, timeout) = self.wake.wait_timeout(asleep, POLL).unwrap_or_else(PoisonError::into_inner);
            drop(guard);
            if timeout.timed_out() {
                poll()?;
            }
        }
    }
}

impl Engine {
    /// Returns when what was pushed so far to write `var` is done; an error of any of it, or of what it depended on, is
    /// returned, every time. `poll` is called about every 50 ms; its error ends the wait, while the work goes on.
    #[inline]
    pub fn wait_for_var(&'static self, var: &Var, poll: &dyn Fn() -> Result) -> Result {
        if !var.is_ready() {
            self.wait_turn(var, false, poll)?;
        }
        self.value(var)
    }

    /// As `wait_for_var`, and what was pushed so far to read it is done too.
    pub fn wait_to_write(&'static self, var: &Var, poll: &dyn Fn() -> Result) -> Result {
        if !var.is_idle() {
            self.wait_turn(var, true, poll)?;
        }
        self.value(var)
    }

    fn value(&self, var: &Var) -> Result {
        match var.error() {
            None => Ok(()),
            Some(e) => {
                self.raised(&e);
                Err(e)
            }
        }
    }

    #[cold]
    fn wait_turn(&'static self, var: &Var, write: bool, poll: &dyn Fn() -> Result) -> Result {
        if here::holds(var) {
            return Ok(()); // what is queued behind the caller cannot be waited for
        }
        let signal = Arc::new(Signal::default());
        let (reads, writes) = (&[var], &[(var, Write::Update)]);
        let p = Push {
            op: "wait",
            reads: if write { &[] } else { reads },
            writes: if write { writes } else { &[] },
            device: Device::cpu(0),
            lane: Lane::Compute,
            priority: i32::MAX,
            brief: true,
            site: Site::default(),
        };
        self.enlist(&p, Job::Signal(signal.clone()));
        self.lend_a_hand(Some(var.device()), &|| signal.is_sent());
        let _blocked = lane::blocked(self);
        signal.wait(poll)
    }

    /// Returns when nothing is left to do: what others push meanwhile is waited for as well. Errors that no wait has raised yet are raised here, one per call, each
    /// once. Inside a task, tasks that wait like this one do not count.
    pub fn wait_all(&'static self, poll: &dyn Fn() -> Result) -> Result {
        self.drain(poll)?;
        match self.take_error() {
            None => Ok(()),
            Some(e) => Err(e),
        }
    }

    fn take_error(&self) -> Option<Error> {
        let mut errors = lock(&self.errors);
        (!errors.is_empty()).then(|| errors.remove(0))
    }

    /// Waits for everything, and leaves the errors alone.
    pub fn drain(&'static self, poll: &dyn Fn() -> Result) -> Result {
        self.lend_a_hand(None, &|| self.is_drained());
        let _resting = Resting::new(self);
        let _blocked = lane::blocked(self);
        self.drained.wait_polling(|| self.is_drained(), poll)
    }

    /// Waits for everything until the deadline at most; whether all is done.
    pub(crate) fn drain_until(&'static self, deadline: Instant) -> bool {
        let _resting = Resting::new(self);
        let _blocked = lane::blocked(self);
        self.drained.wait_deadline(|| self.is_drained(), deadline)
    }

    /// Runs brief tasks of a device, or of all, while this thread would wait for them: they need not go to another thread
    /// and their results need not come back.
    fn lend_a_hand(&'static self, device: Option<Device>, done: &dyn Fn() -> bool) {
        if here::depth() == 0 && here::queue().is_none() {
            self.lanes.to_help(device).for_each(|lane| lane.help(self, done));
        }
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.pending.load(SeqCst) <= self.resting.load(SeqCst)
    }
}

/// The tasks that run on this thread wait for all others.
struct Resting(&'static Engine, usize);

impl Resting {
    fn new(engine: &'static Engine) -> Resting {
        let depth = here::depth();
        if depth > 0 {
            engine.resting.fetch_add(depth, SeqCst);
            engine.drained.ring();
        }
        Resting(engine, depth)
    }
}

impl Drop for Resting {
    fn drop(&mut self) {
        if self.1 > 0 {
            self.0.resting.fetch_sub(self.1, SeqCst);
        }
    }
}
