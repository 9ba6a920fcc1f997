//! Fences: places in the order of a device stream. Storages and freed blocks carry them from the moment work is issued
//! until it has retired. One thread per stream waits for the device and tells those who wait for it here.
use crate::device::{Device, Event};
use crate::scheduler::engine;
use crate::sync::lock;
use crate::task::Task;
use gluonish_base::{Error, Result};
use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Everything up to `seq` of one stream. Sequence numbers start at 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fence {
    pub(crate) device: Device,
    pub(crate) stream: u32,
    pub(crate) seq: u64,
}

pub(crate) type Fences = SmallVec<[Fence; 2]>;

/// Where work runs: on a thread of the host, or in the order of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Host,
    Stream(Device, u32),
}

impl Place {
    /// Whether work here can be issued before `fence` has retired: the device keeps the order.
    pub(crate) fn follows(self, fence: Fence) -> bool {
        match self {
            Place::Host => false,
            Place::Stream(device, _) => device == fence.device || device.api().understands(fence.device),
        }
    }
}

/// What was issued to a stream and has not retired.
struct Issued {
    seq: u64,
    event: Event,
    /// Work whose failure is this work's failure too.
    depends: Fences,
    /// What the engine is told when it retires; `None` for the early release of a part.
    done: Option<Done>,
    waiting: Vec<Arc<Task>>,
}

/// The accounts of a task whose work was issued.
pub(crate) struct Done {
    pub(crate) op: &'static str,
    pub(crate) site: gluonish_base::Site,
    pub(crate) bytes: usize,
}

#[derive(Default)]
struct Book {
    issued: u64,
    pending: VecDeque<Issued>,
    /// Failed work by sequence number; kept, because a storage may ask at any time.
    failures: BTreeMap<u64, Error>,
    watched: bool,
}

struct Stream {
    retired: AtomicU64,
    book: Mutex<Book>,
    changed: Condvar,
}

/// The streams of a device.
pub(crate) struct Streams {
    device: Device,
    list: Vec<Stream>,
}

impl Streams {
    pub(crate) fn new(device: Device, n: u32) -> Streams {
        let stream = |_| Stream { retired: AtomicU64::new(0), book: Mutex::default(), changed: Condvar::new() };
        Streams { device, list: (0..n).map(stream).collect() }
    }

    pub(crate) fn len(&self) -> u32 {
        self.list.len() as u32
    }

    /// Marks the end of what was issued so far and sees to it that somebody waits for it.
    pub(crate) fn issue(&'static self, stream: u32, depends: Fences, done: Option<Done>) -> Result<Fence> {
        let s = &self.list[stream as usize];
        let mut book = lock(&s.book);
        let event = self.device.api().record(stream)?;
        let seq = book.issued + 1;
        book.issued = seq;
        book.pending.push_back(Issued { seq, event, depends, done, waiting: Vec::new() });
        if !book.watched {
            book.watched = self.watch(stream);
        }
        let watched = book.watched;
        drop(book);
        s.changed.notify_all();
        if !watched {
            // No thread to be had: wait here. Whoever comes first retires the front; the others find it gone.
            while !self.retired(stream, seq) {
                self.retire_front(stream);
            }
        }
        Ok(Fence { device: self.device, stream, seq })
    }

    fn watch(&'static self, stream: u32) -> bool {
        let name = format!("gluonish-retire-{}-{stream}", self.device.index());
        let run = move || {
            gluonish_base::tls::tls().worker.set(true);
            loop {
                self.retire_front(stream);
            }
        };
        std::thread::Builder::new().name(name).spawn(run).is_ok()
    }

    fn retired(&self, stream: u32, seq: u64) -> bool {
        self.list[stream as usize].retired.load(Acquire) >= seq
    }

    /// Waits for the oldest work of a stream and tells everyone.
    fn retire_front(&'static self, stream: u32) {
        let s = &self.list[stream as usize];
        let mut book = lock(&s.book);
        let (seq, event, depends) = loop {
            match book.pending.front_mut() {
                Some(front) => break (front.seq, front.event, std::mem::take(&mut front.depends)),
                None => book = wait(&s.changed, book),
            }
        };
        drop(book);
        let api = self.device.api();
        let mut failure = api.host_wait(event).err();
        for fence in depends {
            // The device has passed it, since ours came after it; its own watcher may be about to note that.
            fence.wait();
            failure = failure.or_else(|| fence.failure());
        }
        let mut book = lock(&s.book);
        if book.pending.front().is_none_or(|f| f.seq != seq) {
            return; // somebody else retired it
        }
        let Some(front) = book.pending.pop_front() else { return };
        let failure = failure.map(|e| front.done.as_ref().map_or(e.clone(), |d| e.in_op(d.op).at(d.site)));
        if let Some(e) = &failure {
            book.failures.insert(seq, e.clone());
        }
        s.retired.store(seq, Release);
        drop(book);
        s.changed.notify_all();
        api.forget(event);
        if let Some(done) = front.done {
            engine().retired(done.bytes, failure);
        }
        crate::scheduler::admit(|granted| granted.extend(front.waiting));
    }
}

fn wait<'a, T>(c: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    c.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

impl Fence {
    fn stream(self) -> &'static Stream {
        &self.device.entry().streams.list[self.stream as usize]
    }

    /// Whether the work is over. On a device that was lost in a fork, everything is.
    pub(crate) fn retired(self) -> bool {
        self.stream().retired.load(Acquire) >= self.seq || self.device.entry().lost.load(Relaxed)
    }

    /// The error of retired work.
    pub(crate) fn failure(self) -> Option<Error> {
        if self.device.entry().lost.load(Relaxed) {
            return self.device.usable().err();
        }
        lock(&self.stream().book).failures.get(&self.seq).cloned()
    }

    /// Returns when the work has retired.
    pub(crate) fn wait(self) {
        if self.retired() {
            return;
        }
        let s = self.stream();
        let mut book = lock(&s.book);
        while !self.retired() {
            book = wait(&s.changed, book);
        }
    }

    /// Adds a fence to a list that keeps one, the last, of each stream.
    pub(crate) fn join(self, list: &mut Fences) {
        match list.iter_mut().find(|f| f.device == self.device && f.stream == self.stream) {
            Some(f) => f.seq = f.seq.max(self.seq),
            None => list.push(self),
        }
    }

    /// The task hears of it when the work retires; false when it has already.
    pub(crate) fn notify(self, task: &Arc<Task>) -> bool {
        if self.retired() {
            return false;
        }
        let mut book = lock(&self.stream().book);
        // What is not pending any more retired between the two looks.
        match book.pending.iter_mut().find(|i| i.seq == self.seq) {
            Some(issued) => issued.waiting.push(task.clone()),
            None => return false,
        }
        true
    }

    /// What is issued to the stream of `place` from now on runs after this fence.
    pub(crate) fn order_before(self, place: Place) -> Result {
        let Place::Stream(device, stream) = place else { return Ok(()) };
        if (device == self.device && stream == self.stream) || self.retired() {
            return Ok(());
        }
        // Under the lock the event cannot be forgotten.
        let book = lock(&self.stream().book);
        match book.pending.iter().find(|i| i.seq == self.seq) {
            Some(issued) => device.api().stream_wait(stream, issued.event),
            None => Ok(()),
        }
    }
}
