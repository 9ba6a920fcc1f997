//! A queued piece of work: what it reads and writes, its turn, its run, and what its outcome does to its variables.
use crate::device::{Device, DeviceApi};
use crate::fence::{Done, Fence, Fences, Place};
use crate::scheduler::{engine, here, wait::Signal};
use crate::storage::Var;
use crate::sync::lock;
use gluonish_base::{Error, Result, Site, profiler};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::sync::{Arc, Mutex};

/// What a write does with the value that was there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    /// Replaces it: an array whose value is an error is good again afterwards.
    Overwrite,
    /// Changes it, so it is also a read: skipped while the value is an error.
    Update,
    /// Replaces it if the task succeeds; otherwise the old value stays. For state that a failure must not spoil.
    Commit,
    /// Changes it as `Update` does, but where another input's value is an error the old value stays, and
    /// `Engine::take_left_out` tells of it. For what is trained: a batch that failed must not spoil it.
    Keep,
}

impl Write {
    /// Whether the value that was there matters.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Write::Update | Write::Keep)
    }
}

/// Which threads, or which stream, run a task.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lane {
    /// Kernels: one leader thread per device, which the thread pool helps.
    Compute,
    /// Foreign code, which may push and wait itself.
    Callback,
    /// Copies between devices, beside the kernels.
    Copy,
}

/// What `push` is told about a piece of work.
#[derive(Clone, Copy)]
pub struct Push<'a> {
    /// For errors and profiles.
    pub op: &'static str,
    pub reads: &'a [&'a Var],
    /// A variable that is read and written belongs here alone, as an `Update` or `Keep`; one that is in both lists counts as
    /// an `Update` unless it says `Keep`.
    pub writes: &'a [(&'a Var, Write)],
    pub device: Device,
    pub lane: Lane,
    /// Among tasks that are ready, higher ones run first; equal ones in the order of pushing.
    pub priority: i32,
    /// It waits for nothing and takes a few milliseconds at most: a thread that waits may run it itself, which spares it
    /// the way to another thread and back.
    pub brief: bool,
    pub site: Site,
}

pub(crate) type Work = Box<dyn FnOnce(&Running<'_>) -> Result + Send>;

/// What a running piece of work may ask for.
pub struct Running<'a> {
    task: &'a Task,
    /// Work that this task's result depends on.
    depends: &'a Fences,
}

/// What is to be done.
pub(crate) enum Job {
    Work(Mutex<Option<Work>>),
    /// Nothing but to say that the turn has come; runs on whichever thread grants it.
    Signal(Arc<Signal>),
}

struct Output {
    var: Var,
    kind: Write,
    /// Handed out already, or listed before.
    released: AtomicBool,
    listed_before: bool,
}

/// A queued task. It keeps its variables alive.
pub(crate) struct Task {
    /// Grants that are still to come, plus one while they are asked for.
    missing: AtomicU32,
    /// All variables are granted; what may still be missing is device work on them.
    granted: AtomicBool,
    over: AtomicBool,
    job: Job,
    reads: SmallVec<[Var; 4]>,
    writes: SmallVec<[Output; 2]>,
    pub(crate) op: &'static str,
    site: Site,
    pub(crate) device: Device,
    pub(crate) lane: Lane,
    pub(crate) priority: i32,
    pub(crate) brief: bool,
    pub(crate) seq: u64,
    place: Place,
    pub(crate) bytes: usize,
    queued: u64,
}

/// How a run ended.
enum Outcome {
    Done,
    /// Nothing was started, for the error of an input or because of the engine: the same error goes on.
    Skipped(Error),
    /// Nothing was started: there was no memory, or no device.
    Refused(Error),
    /// The work failed, possibly with a part of it issued to a device.
    Failed(Error),
}

impl Outcome {
    fn error(&self) -> Option<&Error> {
        match self {
            Outcome::Done => None,
            Outcome::Skipped(e) | Outcome::Refused(e) | Outcome::Failed(e) => Some(e),
        }
    }
}

impl Task {
    pub(crate) fn new(p: &Push<'_>, job: Job, seq: u64) -> Task {
        let read = Ids::new(p.reads.iter().map(|v| v.id()));
        let written = Ids::new(p.writes.iter().map(|(v, _)| v.id()));
        let mut writes: SmallVec<[Output; 2]> = SmallVec::with_capacity(p.writes.len());
        for &(var, kind) in p.writes {
            let listed_before = written.repeat && writes.iter().any(|w| w.var.same(var));
            let kind = if read.has(var.id()) && !kind.reads() { Write::Update } else { kind };
            writes.push(Output { var: var.clone(), kind, released: AtomicBool::new(listed_before), listed_before });
        }
        let read_only = p.reads.iter().filter(|r| !written.has(r.id()));
        let place = match (p.lane, p.device.is_cpu()) {
            (Lane::Callback, _) | (_, true) => Place::Host,
            (lane, _) => match p.device.entry().streams.len() {
                0 => Place::Host,
                n => Place::Stream(p.device, if lane == Lane::Copy { 1 % n } else { 0 }),
            },
        };
        Task {
            missing: AtomicU32::new(0),
            granted: AtomicBool::new(false),
            over: AtomicBool::new(false),
            job,
            reads: read_only.map(|r| (*r).clone()).collect(),
            bytes: writes.iter().filter(|w| !w.listed_before).map(|w| w.var.bytes()).sum(),
            writes,
            op: p.op,
            site: p.site,
            device: p.device,
            lane: p.lane,
            priority: p.priority,
            brief: p.brief,
            seq,
            place,
            queued: if profiler::enabled() { profiler::now() } else { 0 },
        }
    }

    fn outputs(&self) -> impl Iterator<Item = &Output> {
        self.writes.iter().filter(|w| !w.listed_before)
    }

    /// Every variable once, and whether it is written.
    fn uses(&self) -> impl Iterator<Item = (&Var, bool)> {
        self.reads.iter().map(|v| (v, false)).chain(self.outputs().map(|w| (&w.var, true)))
    }

    pub(crate) fn holds(&self, var: &Var) -> bool {
        self.uses().any(|(v, _)| v.same(var))
    }

    /// Takes this task's place in the order of uses of all its variables. Under the lock that makes a push atomic.
    /// Returns how many grants there are already, one for the asking included.
    pub(crate) fn enlist(self: &Arc<Task>) -> u32 {
        let moves = matches!(self.job, Job::Work(_));
        self.missing.store(1 + (self.reads.len() + self.outputs().count()) as u32, Relaxed);
        let mut granted = 1;
        for (var, write) in self.uses() {
            if write && moves {
                var.bump();
            }
            granted += u32::from(var.append(self, write));
        }
        granted
    }

    /// `n` of what was missing has come: true when the task can run.
    pub(crate) fn granted(self: &Arc<Task>, n: u32) -> bool {
        if self.missing.fetch_sub(n, AcqRel) != n {
            return false;
        }
        self.granted.swap(true, AcqRel) || self.await_devices()
    }

    /// All variables are ours, but devices may still be at work on them: true when nothing of that is in the way.
    fn await_devices(self: &Arc<Task>) -> bool {
        let mut fences = Fences::new();
        for (var, write) in self.uses() {
            var.fences(write).into_iter().filter(|f| !self.place.follows(*f)).for_each(|f| f.join(&mut fences));
        }
        if fences.is_empty() {
            return true;
        }
        self.missing.store(1 + fences.len() as u32, Release);
        let over = fences.iter().filter(|f| !f.notify(self)).count() as u32;
        self.granted(1 + over)
    }

    /// The work was done, or at least issued.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(SeqCst)
    }

    /// The signal to send when the turn comes, for a task that does no work.
    pub(crate) fn signal(&self) -> Option<&Arc<Signal>> {
        match &self.job {
            Job::Signal(s) => Some(s),
            Job::Work(_) => None,
        }
    }

    /// Ends a task that did no work.
    pub(crate) fn pass(&self) {
        self.outputs().for_each(|w| w.var.end_write());
        self.reads.iter().for_each(|v| v.end_read());
    }

    /// Runs the work and passes its outcome on to what it wrote. A fence: device work is issued and will retire. `refused`:
    /// the work is not to be run. An error that began here goes to `note`.
    pub(crate) fn run(&self, refused: Option<Error>, note: impl FnOnce(&Error)) -> Option<Fence> {
        let start = if self.queued != 0 { profiler::now() } else { 0 };
        let mut depends = Fences::new();
        let mut outcome = match refused {
            None => self.attempt(&mut depends),
            Some(e) => Outcome::Skipped(e),
        };
        let issued = match self.place {
            Place::Stream(device, stream) if matches!(outcome, Outcome::Done | Outcome::Failed(_)) => {
                let done = Done { op: self.op, site: self.site, bytes: self.bytes };
                let fence = device.entry().streams.issue(stream, depends, Some(done));
                fence.map_err(|e| outcome = Outcome::Failed(self.without_fence(e))).ok()
            }
            _ => None,
        };
        match &outcome {
            Outcome::Refused(e) | Outcome::Failed(e) => note(e),
            Outcome::Skipped(e) => self.tell_if_left_out(e),
            Outcome::Done => {}
        }
        if self.queued != 0 {
            self.profile(start);
        }
        self.finish(&outcome, issued);
        self.over.store(true, SeqCst);
        issued
    }

    fn attempt(&self, depends: &mut Fences) -> Outcome {
        let Job::Work(work) = &self.job else { return Outcome::Done };
        let Some(work) = lock(work).take() else { return Outcome::Done };
        self.list_dependencies(depends);
        if let Some(e) = self.inputs().find_map(|v| v.error()) {
            return Outcome::Skipped(e);
        }
        if let Err(e) = self.prepare() {
            return Outcome::Refused(self.blame(e));
        }
        let running = Running { task: self, depends };
        let _current = here::enter(self);
        match catch_unwind(AssertUnwindSafe(|| work(&running))) {
            Ok(Ok(())) => Outcome::Done,
            Ok(Err(e)) => Outcome::Failed(self.blame(e)),
            Err(panic) => Outcome::Failed(self.blame(Error::from_panic(panic))),
        }
    }

    /// Variables whose value matters to the result.
    fn inputs(&self) -> impl Iterator<Item = &Var> {
        let updated = self.outputs().filter(|w| w.kind.reads()).map(|w| &w.var);
        self.reads.iter().chain(updated)
    }

    /// Device work on the inputs that has not retired: should it fail, this task has failed. To be listed before the inputs
    /// are asked for errors, since what retires in between shows there.
    fn list_dependencies(&self, depends: &mut Fences) {
        if self.place == Place::Host {
            return;
        }
        for fence in self.inputs().flat_map(|v| v.fences(false)) {
            if !depends.contains(&fence) {
                depends.push(fence);
            }
        }
    }

    /// Memory for what has none, and order between streams.
    fn prepare(&self) -> Result {
        self.device.usable()?;
        for (var, write) in self.uses() {
            if var.is_bare() {
                var.provide(self.place)?;
            }
            for fence in var.fences(write) {
                fence.order_before(self.place)?;
            }
        }
        Ok(())
    }

    /// The end of issued work could not be marked, so nobody can wait for it in particular: wait for everything.
    #[cold]
    fn without_fence(&self, e: Error) -> Error {
        let all = self.device.api().synchronise();
        self.blame(all.err().unwrap_or(e))
    }

    #[cold]
    fn blame(&self, e: Error) -> Error {
        e.in_op(self.op).at(self.site)
    }

    /// Old values show nothing of the error because of which they stay.
    #[cold]
    fn tell_if_left_out(&self, e: &Error) {
        let mut kept = self.outputs().filter(|w| w.kind == Write::Keep).peekable();
        if kept.peek().is_some() {
            engine().note_left_out(e, kept.any(|w| w.var.error().is_some()));
        }
    }

    fn finish(&self, outcome: &Outcome, issued: Option<Fence>) {
        let error = outcome.error();
        let _completing = here::completing();
        let skipped = matches!(outcome, Outcome::Skipped(_));
        for w in self.outputs() {
            w.hand_out(error.filter(|_| !(skipped && w.kind == Write::Keep)), issued);
        }
        for v in &self.reads {
            if let Some(fence) = issued {
                v.attach(fence, false);
            }
            v.end_read();
        }
    }

    #[cold]
    fn profile(&self, start: u64) {
        profiler::record(profiler::Event {
            op: self.op,
            device: self.device.index(),
            thread: profiler::thread_number(),
            queued: self.queued,
            start,
            end: profiler::now(),
            bytes: self.uses().map(|(v, _)| v.bytes() as u64).sum(),
        });
    }
}

impl Output {
    /// Gives the variable to whoever comes next, once.
    fn hand_out(&self, error: Option<&Error>, issued: Option<Fence>) {
        if self.released.swap(true, AcqRel) {
            return;
        }
        self.var.conclude(self.kind, error, issued);
        self.var.end_write();
    }
}

impl Running<'_> {
    /// Where the work was pushed to.
    pub fn device(&self) -> Device {
        self.task.device
    }

    /// The interface of that device.
    pub fn api(&self) -> &'static dyn DeviceApi {
        self.task.device.api()
    }

    /// The stream to issue to; `None` for work on a thread of the host, which is done when it returns.
    pub fn stream(&self) -> Option<u32> {
        match self.task.place {
            Place::Stream(_, stream) => Some(stream),
            Place::Host => None,
        }
    }

    /// Hands out the `i`-th write of the push before the work is over: the value is final, and stays good if the work
    /// fails later. A variable that is listed twice is handed out at its first place.
    pub fn release(&self, i: usize) -> Result {
        let Some(output) = self.task.writes.get(i).filter(|w| !w.released.load(Relaxed)) else { return Ok(()) };
        let issued = match self.task.place {
            Place::Host => None,
            Place::Stream(device, s) => Some(device.entry().streams.issue(s, self.depends.clone(), None)?),
        };
        output.hand_out(None, issued);
        Ok(())
    }
}

/// A set of variables, for finding those in both lists of a push: few as a rule, but hundreds for an executable.
struct Ids {
    list: SmallVec<[usize; 8]>,
    sorted: bool,
    /// One of them is there twice.
    repeat: bool,
}

impl Ids {
    fn new(ids: impl Iterator<Item = usize>) -> Ids {
        let mut list: SmallVec<[usize; 8]> = ids.collect();
        let sorted = list.len() > 8;
        let repeat = if sorted {
            list.sort_unstable();
            list.windows(2).any(|w| w[0] == w[1])
        } else {
            list.iter().enumerate().any(|(i, id)| list[..i].contains(id))
        };
        Ids { list, sorted, repeat }
    }

    fn has(&self, id: usize) -> bool {
        if self.sorted { self.list.binary_search(&id).is_ok() } else { self.list.contains(&id) }
    }
}

/// The order in which ready tasks run: by priority, then as they were pushed.
impl Ord for Task {
    fn cmp(&self, other: &Task) -> std::cmp::Ordering {
        self.priority.cmp(&other.priority).then(other.seq.cmp(&self.seq))
    }
}
impl PartialOrd for Task {
    fn partial_cmp(&self, other: &Task) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Task {
    fn eq(&self, other: &Task) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Task {}
