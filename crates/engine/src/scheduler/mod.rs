//! The engine: takes work, lets it run when its turn has come, and keeps the accounts.
mod bell;
pub(crate) mod here;
mod inflight;
mod lane;
pub(crate) mod wait;

use crate::device::Device;
use crate::fence::Fence;
use crate::sync::lock;
use crate::task::{Job, Lane, Push, Running, Task};
use bell::Bell;
use gluonish_base::settings::settings;
use gluonish_base::tls::tls;
use gluonish_base::{Cause, Error, Result};
use inflight::Flight;
use lane::Lanes;
use smallvec::SmallVec;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// Errors that are kept for `wait_all`; older ones are still raised by waits on their arrays.
const KEPT_ERRORS: usize = 64;

/// Errors because of which writes were left out.
#[derive(Default)]
struct LeftOut {
    any: AtomicBool,
    list: Mutex<Vec<(Error, bool)>>,
}

/// The scheduler of this process; see `engine()`.
pub struct Engine {
    /// Makes a push atomic over its variables: two pushers cannot end up waiting for each other.
    order: Mutex<()>,
    seq: AtomicU64,
    /// Tasks that are not over.
    pending: AtomicUsize,
    /// Those of them that call back into a host language.
    callbacks: AtomicUsize,
    /// Tasks that are themselves waiting for all others.
    resting: AtomicUsize,
    flight: Flight,
    lanes: Lanes,
    naive: AtomicBool,
    closing: AtomicBool,
    errors: Mutex<Vec<Error>>,
    left_out: LeftOut,
    /// Rings when no task is pending, when bytes in flight went down, and when a task or a thread ended.
    drained: Bell,
    room: Bell,
    ended: Bell,
}

/// The accounts of the engine.
#[derive(Clone, Copy, Debug)]
pub struct Stats {
    /// Tasks pushed so far.
    pub pushed: u64,
    /// Tasks that are not over.
    pub pending: usize,
    /// Those of them that call back into a host language.
    pub callbacks: usize,
    /// Bytes that they will write.
    pub in_flight: usize,
    /// The most that `in_flight` has been.
    pub in_flight_peak: usize,
    /// Threads that run tasks.
    pub threads: usize,
}

static CURRENT: AtomicPtr<Engine> = AtomicPtr::new(null_mut());

/// The engine of this process.
#[inline]
pub fn engine() -> &'static Engine {
    let p = CURRENT.load(Acquire);
    if p.is_null() {
        return start();
    }
    // SAFETY: engines are leaked, so the pointer is valid for ever.
    unsafe { &*p }
}

#[cold]
fn start() -> &'static Engine {
    static STARTING: Mutex<()> = Mutex::new(());
    crate::fork::install();
    let _one = lock(&STARTING);
    if CURRENT.load(Acquire).is_null() {
        CURRENT.store(Box::into_raw(Box::new(Engine::new())), Release);
    }
    drop(_one);
    engine()
}

/// The child of a fork has no threads: its engine starts afresh. The old one is left as it is.
pub(crate) fn forget_engine() {
    here::after_fork();
    CURRENT.store(null_mut(), Release);
}

/// Whether there is an engine: nothing is made just to be ended.
pub(crate) fn is_started() -> bool {
    !CURRENT.load(Acquire).is_null()
}

pub(crate) type Granted = SmallVec<[Arc<Task>; 4]>;

/// Tasks got one of the grants they were missing; those that miss nothing any more are made to run.
pub(crate) fn admit(collect: impl FnOnce(&mut Granted)) {
    let mut granted = Granted::new();
    collect(&mut granted);
    let engine = engine();
    for task in granted {
        if task.granted(1) {
            engine.ready(task);
        }
    }
    engine.run_deferred();
}

impl Engine {
    fn new() -> Engine {
        Engine {
            order: Mutex::new(()),
            seq: AtomicU64::new(0),
            pending: AtomicUsize::new(0),
            callbacks: AtomicUsize::new(0),
            resting: AtomicUsize::new(0),
            flight: Flight::new(settings().inflight_bytes),
            lanes: Lanes::default(),
            naive: AtomicBool::new(settings().naive),
            closing: AtomicBool::new(false),
            errors: Mutex::new(Vec::new()),
            left_out: LeftOut::default(),
            drained: Bell::default(),
            room: Bell::default(),
            ended: Bell::default(),
        }
    }

    /// Queues work, to run after all that was pushed before on the same storages. Never waits (the serial engine runs the
    /// work first) and never fails: an error becomes the value of what is written. Versions of the written storages move
    /// now. Whoever pushes in a loop calls `hold_back` before.
    pub fn push(&'static self, p: Push<'_>, work: impl FnOnce(&Running<'_>) -> Result + Send + 'static) {
        let task = self.enlist(&p, Job::Work(Mutex::new(Some(Box::new(work)))));
        if self.is_naive() && !tls().worker.get() && here::depth() == 0 {
            // Somebody else may hold a variable for a moment; whoever lets go of it runs the task.
            self.ended.wait_until(|| task.is_over());
        }
    }

    /// Puts a task into the queues of its variables, and starts it if they are free.
    fn enlist(&'static self, p: &Push<'_>, job: Job) -> Arc<Task> {
        let counts = matches!(job, Job::Work(_));
        let task = Arc::new(Task::new(p, job, self.seq.fetch_add(1, Relaxed)));
        if counts {
            self.pending.fetch_add(1, SeqCst);
            self.callbacks.fetch_add((p.lane == Lane::Callback) as usize, Relaxed);
            self.flight.add(task.bytes);
        }
        let granted = {
            let _order = lock(&self.order);
            task.enlist()
        };
        if task.granted(granted) {
            self.ready(task.clone());
        }
        self.run_deferred();
        task
    }

    /// All that a task needs is there.
    fn ready(&'static self, task: Arc<Task>) {
        if let Some(signal) = task.signal() {
            task.pass();
            signal.send();
        } else if self.is_naive() && !tls().worker.get() {
            here::defer(task);
        } else {
            self.lanes.of(task.device, task.lane).share(self, task);
        }
    }

    /// Runs what became ready on this thread and has no other thread to run on. Not from inside the completion of a task:
    /// the loop further up goes on with it, so that long chains do not nest.
    fn run_deferred(&'static self) {
        while let Some(task) = here::next_deferred() {
            if let Some(fence) = self.execute(task) {
                fence.wait();
            }
        }
    }

    /// Runs a task and keeps the accounts. Device work is accounted for when it retires.
    fn execute(&'static self, task: Arc<Task>) -> Option<Fence> {
        let refused = self.closing.load(Relaxed) && task.lane == Lane::Callback;
        let refused = refused.then(|| Cause::Failed("not run, because the process is ending".into()).into());
        let issued = task.run(refused, |e| self.note(e));
        let bytes = task.bytes;
        self.callbacks.fetch_sub((task.lane == Lane::Callback) as usize, Relaxed);
        drop(task); // its storages are freed before anyone hears that it is over
        if issued.is_none() {
            self.finished(bytes);
        }
        issued
    }

    fn finished(&self, bytes: usize) {
        self.flight.sub(bytes);
        let left = self.pending.fetch_sub(1, SeqCst) - 1;
        if left <= self.resting.load(SeqCst) {
            self.drained.ring();
        }
        if bytes > 0 {
            self.room.ring();
        }
        self.ended.ring();
    }

    /// Device work of a task has retired.
    pub(crate) fn retired(&self, bytes: usize, failure: Option<Error>) {
        if let Some(e) = failure {
            self.note(&e);
        }
        self.finished(bytes);
    }

    /// Keeps an error for `wait_all`.
    #[cold]
    fn note(&self, error: &Error) {
        let mut errors = lock(&self.errors);
        if errors.len() < KEPT_ERRORS && !errors.iter().any(|e| e.same(error)) {
            errors.push(error.clone());
        }
    }

    /// A task did not run because of an error, and what it would have written stayed as it was. `lasting`: because of an
    /// error of one of these themselves, so that the next one will not run either.
    #[cold]
    pub(crate) fn note_left_out(&self, error: &Error, lasting: bool) {
        let mut list = lock(&self.left_out.list);
        if list.len() < KEPT_ERRORS {
            list.push((error.clone(), lasting));
            self.left_out.any.store(true, Release);
        }
    }

    /// The error because of which a write was left out, if nobody has been told of it: what is kept shows none. One that
    /// lasts is told each time.
    pub fn take_left_out(&self) -> Option<Error> {
        if !self.left_out.any.load(Acquire) {
            return None;
        }
        let mut list = lock(&self.left_out.list);
        let untold = |e: &Error| lock(&self.errors).iter().any(|other| other.same(e));
        let found = list.iter().position(|(e, lasting)| *lasting || untold(e));
        // Those before it have been told of; those behind it are told of the next time.
        let end = found.map_or(list.len(), |i| i + 1);
        let error = list.drain(..end).next_back().filter(|_| found.is_some());
        self.left_out.any.store(!list.is_empty(), Release);
        error.map(|(e, _)| e)
    }

    /// Says that an error was raised: `wait_all` does not raise it again.
    #[cold]
    pub fn raised(&self, error: &Error) {
        lock(&self.errors).retain(|e| !e.same(error));
    }

    /// Whether work runs before `push` returns.
    #[inline]
    pub fn is_naive(&self) -> bool {
        self.naive.load(Relaxed)
    }

    /// Chooses between the serial and the threaded engine, and returns the choice before. What is queued stays queued.
    pub fn set_naive(&self, naive: bool) -> bool {
        self.naive.swap(naive, Relaxed)
    }

    pub fn stats(&self) -> Stats {
        Stats {
            pushed: self.seq.load(Relaxed),
            pending: self.pending.load(Relaxed),
            callbacks: self.callbacks.load(Relaxed),
            in_flight: self.flight.now(),
            in_flight_peak: self.flight.peak(),
            threads: self.lanes.threads(),
        }
    }

    /// Keeps pushers out while the process is copied.
    pub(crate) fn freeze(&'static self) -> MutexGuard<'static, ()> {
        lock(&self.order)
    }

    /// See `shutdown`.
    pub(crate) fn close(&'static self, deadline: Instant) -> bool {
        self.closing.store(true, SeqCst);
        self.set_naive(true);
        let drained = self.drain_until(deadline);
        self.lanes.stop();
        self.ended.wait_deadline(|| self.lanes.threads() == 0, deadline) && drained
    }

    /// Starts the leader thread of a device before there is work for it.
    pub fn warm_up(&'static self, device: Device) {
        self.lanes.of(device, Lane::Compute).warm_up(self);
    }
}
