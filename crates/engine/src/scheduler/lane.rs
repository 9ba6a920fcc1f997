//! Lanes: queues of ready tasks and the threads that run them. A lane has one thread at work, its worker or a thread that
//! helps while it waits anyway; while that one waits inside a task, another takes its place, so a task may wait for tasks
//! behind it.
use super::bell::POLL;
use super::wait::look_for;
use super::{Engine, here};
use crate::device::Device;
use crate::sync::lock;
use crate::task::{Lane, Task};
use gluonish_base::pool;
use gluonish_base::tls::tls;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicIsize, AtomicPtr, AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// As much as a main thread has: callbacks may run any code.
const STACK: usize = 8 << 20;
/// While others help with what is brief, a worker naps rather than sleeps: it need not be woken for a few brief tasks,
/// which costs more than they are worth; what nobody helps with after all is found at the end of the nap.
const NAP: Duration = Duration::from_millis(1);
/// Naps after the last help.
const NAPS: u32 = 10;
/// Tasks for which a nap goes on.
const FEW: usize = 4;

/// One lane of one device.
pub(crate) struct Queue {
    device: Device,
    lane: Lane,
    inside: Mutex<Inside>,
    wake: Condvar,
    /// Tasks in the heap, readable without the lock.
    ready: AtomicUsize,
    /// Threads that run a task and do not wait inside it. This and the next may be less than none where a wait is inside a
    /// wait; both are changed under the lock.
    busy: AtomicIsize,
    /// Threads that help, or look for a chance to: brief tasks are theirs.
    helpers: AtomicIsize,
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
    /// One of those asleep was told to wake up, and has not yet.
    called: bool,
    /// Naps to come before a worker sleeps.
    naps: u32,
    napping: bool,
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
            busy: AtomicIsize::new(0),
            helpers: AtomicIsize::new(0),
            older: self.newest.load(Relaxed),
        }));
        self.newest.store(std::ptr::from_ref(queue).cast_mut(), Release);
        queue
    }

    /// The lanes whose work a thread that waits may do: kernels that run on the processor.
    pub(super) fn to_help(&self, device: Option<Device>) -> impl Iterator<Item = &'static Queue> {
        let fits = move |q: &Queue| device.is_none_or(|d| d == q.device);
        self.iter().filter(move |q| q.lane == Lane::Compute && q.device.is_cpu() && fits(q))
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
        self.put(&mut inside, task);
        self.staff(engine, inside);
    }

    fn put(&self, inside: &mut Inside, task: Arc<Task>) {
        inside.heap.push(task);
        self.ready.fetch_add(1, Release);
    }

    /// Sees to it that somebody takes what is ready: whoever is at work does so later, else a worker is woken or hired.
    fn staff(&'static self, engine: &'static Engine, mut inside: MutexGuard<'_, Inside>) {
        let Some(first) = inside.heap.peek() else { return };
        let can_wait = self.is_helped() || inside.napping && inside.heap.len() <= FEW;
        if self.is_busy() || first.brief && can_wait {
            return;
        }
        let wake = inside.asleep > 0 && !std::mem::replace(&mut inside.called, true);
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

    fn is_busy(&self) -> bool {
        self.busy.load(Relaxed) > 0
    }

    fn is_helped(&self) -> bool {
        self.helpers.load(Relaxed) > 0
    }

    /// The first task, for a thread that is to run it, if nobody is at work and it is not left to others.
    fn take(&self, inside: &mut Inside, helping: bool) -> Option<Arc<Task>> {
        let brief = inside.heap.peek()?.brief;
        let for_others = if helping { !brief } else { brief && self.is_helped() };
        if self.is_busy() || for_others {
            return None;
        }
        self.busy.fetch_add(1, Relaxed);
        self.ready.fetch_sub(1, Relaxed);
        inside.heap.pop()
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
        here::set_queue(Some(self));
        let mut next = self.next(false);
        while let Some(task) = next {
            engine.execute(task);
            next = self.next(true);
        }
        engine.ended.ring();
    }

    /// A task is over: the lock again, with what the task left to this thread back among the others.
    fn after_task(&self) -> MutexGuard<'_, Inside> {
        let kept = here::take_kept();
        let mut inside = lock(&self.inside);
        self.busy.fetch_sub(1, Relaxed);
        if let Some(task) = kept {
            self.put(&mut inside, task);
        }
        inside
    }

    /// The next task for this worker, which may come from one; none: the worker is not needed any more.
    fn next(&self, from_task: bool) -> Option<Arc<Task>> {
        if from_task
            && self.ready.load(Acquire) == 0
            && let Some(kept) = here::take_kept()
        {
            return Some(kept);
        }
        let mut inside = if from_task { self.after_task() } else { lock(&self.inside) };
        let mut looked = false;
        loop {
            if let Some(task) = self.take(&mut inside, false) {
                return Some(task);
            }
            if inside.stop || inside.workers - inside.blocked > 1 {
                inside.workers -= 1;
                return None;
            }
            if std::mem::replace(&mut looked, true) {
                inside = self.rest(inside);
            } else {
                drop(inside);
                look_for(|| self.ready.load(Relaxed) > 0 || self.is_helped());
                inside = lock(&self.inside);
            }
        }
    }

    /// Sleeps until somebody calls, or naps.
    fn rest<'a>(&self, mut inside: MutexGuard<'a, Inside>) -> MutexGuard<'a, Inside> {
        inside.asleep += 1;
        inside.napping = inside.naps > 0;
        if inside.napping {
            inside.naps -= 1;
            inside = self.wake.wait_timeout(inside, NAP).unwrap_or_else(PoisonError::into_inner).0;
        } else {
            inside = self.wake.wait(inside).unwrap_or_else(PoisonError::into_inner);
        }
        inside.asleep -= 1;
        (inside.called, inside.napping) = (false, false);
        inside
    }

    /// Does what is brief in this lane until `done`, until there is nothing to do, or until it is time to look for an
    /// interrupt. For threads that wait and run no task.
    pub(super) fn help(&'static self, engine: &'static Engine, done: &dyn Fn() -> bool) {
        let mut inside = lock(&self.inside);
        if inside.heap.is_empty() && !self.is_busy() {
            return;
        }
        self.helpers.fetch_add(1, Relaxed);
        here::set_queue(Some(self));
        let end = Instant::now() + POLL;
        while !done() && Instant::now() < end {
            if let Some(task) = self.take(&mut inside, true) {
                drop(inside);
                engine.execute(task);
                inside = self.after_task();
                inside.naps = NAPS;
            } else if inside.heap.peek().is_some_and(|t| !t.brief) {
                break;
            } else {
                drop(inside);
                let found = look_for(|| done() || !self.is_busy() && self.ready.load(Relaxed) > 0);
                inside = lock(&self.inside);
                if !found {
                    break;
                }
            }
        }
        here::set_queue(None);
        self.helpers.fetch_sub(1, Relaxed);
        self.staff(engine, inside);
        engine.run_deferred();
    }
}

/// A thread at work that waits inside a task: its lane has another one meanwhile.
pub(super) struct Blocked {
    queue: &'static Queue,
    /// One of the lane's own, not a helper.
    worker: bool,
}

/// To be held while this thread waits for tasks.
pub(super) fn blocked(engine: &'static Engine) -> Option<Blocked> {
    let (queue, worker) = (here::queue()?, tls().worker.get());
    let mut inside = lock(&queue.inside);
    queue.busy.fetch_sub(1, Relaxed);
    queue.helpers.fetch_sub(isize::from(!worker), Relaxed);
    inside.blocked += usize::from(worker);
    queue.staff(engine, inside);
    engine.run_deferred();
    Some(Blocked { queue, worker })
}

impl Drop for Blocked {
    fn drop(&mut self) {
        let mut inside = lock(&self.queue.inside);
        self.queue.busy.fetch_add(1, Relaxed);
        self.queue.helpers.fetch_add(isize::from(!self.worker), Relaxed);
        inside.blocked -= usize::from(self.worker);
    }
}
