//! Lanes: queues of ready tasks and the threads that run them. A lane has one thread at work; while that one waits inside
//! a task, another takes its place, so a task may wait for tasks behind it.
use super::wait::look_for;
use super::{Engine, here};
use crate::device::Device;
use crate::sync::lock;
use crate::task::{Lane, Task};
use gluonish_base::pool;
use gluonish_base::tls::tls;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// As much as a main thread has: callbacks may run any code.
const STACK: usize = 8 << 20;

/// One lane of one device.
pub(crate) struct Queue {
    device: Device,
    lane: Lane,
    inside: Mutex<Inside>,
    wake: Condvar,
    /// Tasks in the heap, readable without the lock.
    ready: AtomicUsize,
    /// The lane made before this one.
    older: *const Queue,
}

// SAFETY: `older` points to a leaked queue and is written before the queue is shared; the rest is locks and atomics.
unsafe impl Sync for Queue {}
// SAFETY: as above.
unsafe impl Send for Queue {}

#[derive(Default)]
struct Inside {
    heap: BinaryHeap<Arc<Task>>,
    workers: usize,
    asleep: usize,
    /// Workers that wait inside a task.
    blocked: usize,
    stop: bool,
}

/// All lanes that were ever used: a list that only grows, and is short.
#[derive(Default)]
pub(super) struct Lanes {
    newest: AtomicPtr<Queue>,
    making: Mutex<()>,
}

impl Lanes {
    fn iter(&self) -> impl Iterator<Item = &'static Queue> {
        let mut at = self.newest.load(Acquire).cast_const();
        std::iter::from_fn(move || {
            // SAFETY: queues are leaked, and the list is linked before its head is published.
            let queue = unsafe { at.as_ref() }?;
            at = queue.older;
            Some(queue)
        })
    }

    /// The lane of a device. All callbacks share one.
    pub(super) fn of(&self, device: Device, lane: Lane) -> &'static Queue {
        let device = if lane == Lane::Callback { Device::cpu(0) } else { device };
        self.find(device, lane).unwrap_or_else(|| self.make(device, lane))
    }

    fn find(&self, device: Device, lane: Lane) -> Option<&'static Queue> {
        self.iter().find(|q| q.device == device && q.lane == lane)
    }

    #[cold]
    fn make(&self, device: Device, lane: Lane) -> &'static Queue {
        let _one = lock(&self.making);
        if let Some(queue) = self.find(device, lane) {
            return queue;
        }
        let queue: &'static Queue = Box::leak(Box::new(Queue {
            device,
            lane,
            inside: Mutex::default(),
            wake: Condvar::new(),
            ready: AtomicUsize::new(0),
            older: self.newest.load(Relaxed),
        }));
        self.newest.store(std::ptr::from_ref(queue).cast_mut(), Release);
        queue
    }

    pub(super) fn threads(&self) -> usize {
        self.iter().map(|q| lock(&q.inside).workers).sum()
    }

    /// Workers end when they have nothing to do.
    pub(super) fn stop(&self) {
        for queue in self.iter() {
            lock(&queue.inside).stop = true;
            queue.wake.notify_all();
        }
    }
}

impl Queue {
    /// Takes in a task that is ready.
    pub(super) fn share(&'static self, engine: &'static Engine, task: Arc<Task>) {
        let Some(task) = here::keep(self, task) else { return };
        let mut inside = lock(&self.inside);
        inside.heap.push(task);
        self.ready.fetch_add(1, Release);
        let wake = inside.asleep > 0;
        let hire = self.needs_worker(&inside);
        inside.workers += usize::from(hire);
        drop(inside);
        if wake {
            self.wake.notify_one(); // a system call even when nobody sleeps, hence the count
        }
        if hire {
            self.hire(engine);
        }
    }

    /// Everyone who could run a task is waiting inside one.
    fn needs_worker(&self, inside: &Inside) -> bool {
        inside.workers == inside.blocked
    }

    /// Starts a worker that is counted already. Where the system refuses a thread, the caller does the work.
    #[cold]
    fn hire(&'static self, engine: &'static Engine) {
        let name = format!("gluonish-{:?}-{}", self.lane, self.device.index()).to_lowercase();
        let builder = std::thread::Builder::new().name(name).stack_size(STACK);
        if builder.spawn(move || self.worker(engine)).is_err() {
            let mut inside = lock(&self.inside);
            inside.workers -= 1;
            let tasks = std::mem::take(&mut inside.heap);
            self.ready.fetch_sub(tasks.len(), Relaxed);
            tasks.into_sorted_vec().into_iter().rev().for_each(here::defer);
        }
    }

    pub(super) fn warm_up(&'static self, engine: &'static Engine) {
        let mut inside = lock(&self.inside);
        let hire = self.needs_worker(&inside);
        inside.workers += usize::from(hire);
        drop(inside);
        if hire {
            self.hire(engine);
        }
    }

    fn worker(&'static self, engine: &'static Engine) {
        pool::prepare_thread();
        tls().worker.set(true);
        here::set_queue(self);
        while let Some(task) = self.next() {
            engine.execute(task);
        }
        engine.ended.ring();
    }

    /// The next task for this worker; none: the worker is not needed any more.
    fn next(&self) -> Option<Arc<Task>> {
        let kept = here::take_kept();
        if self.ready.load(Acquire) == 0 {
            if kept.is_some() {
                return kept;
            }
            self.look();
        }
        let mut inside = lock(&self.inside);
        if let Some(task) = kept {
            inside.heap.push(task);
            self.ready.fetch_add(1, Relaxed);
        }
        loop {
            if let Some(task) = inside.heap.pop() {
                self.ready.fetch_sub(1, Relaxed);
                return Some(task);
            }
            if inside.stop || inside.workers - inside.blocked > 1 {
                inside.workers -= 1;
                return None;
            }
            inside.asleep += 1;
            inside = self.wake.wait(inside).unwrap_or_else(PoisonError::into_inner);
            inside.asleep -= 1;
        }
    }

    fn look(&self) {
        look_for(|| self.ready.load(Relaxed) > 0);
    }
}

/// A worker that waits inside a task: its lane has another one meanwhile.
pub(super) struct Blocked(&'static Queue);

/// To be held while this thread waits for tasks.
pub(super) fn blocked(engine: &'static Engine) -> Option<Blocked> {
    let queue = here::queue()?;
    let mut inside = lock(&queue.inside);
    inside.blocked += 1;
    let hire = !inside.heap.is_empty() && queue.needs_worker(&inside);
    inside.workers += usize::from(hire);
    drop(inside);
    if hire {
        queue.hire(engine);
        engine.run_deferred();
    }
    Some(Blocked(queue))
}

impl Drop for Blocked {
    fn drop(&mut self) {
        lock(&self.0.inside).blocked -= 1;
    }
}
