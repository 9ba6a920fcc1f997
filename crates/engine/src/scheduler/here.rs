//! What the engine keeps per thread: the task that runs, and work that this thread goes on with.
use super::lane::Queue;
use crate::storage::Var;
use crate::task::Task;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ptr::null;
use std::sync::Arc;

struct Here {
    /// The innermost running task.
    current: Cell<*const Task>,
    /// Running tasks, one inside the other.
    depth: Cell<usize>,
    /// The thread is passing on the outcome of a task.
    completing: Cell<bool>,
    /// The lane whose worker or helper this thread is.
    queue: Cell<Option<&'static Queue>>,
    /// What the completion made ready in that lane: goes on here without a lock or a wake-up.
    next: RefCell<Option<Arc<Task>>>,
    /// What is to be run on this thread because the engine is serial.
    deferred: RefCell<VecDeque<Arc<Task>>>,
}

thread_local! {
    static HERE: Here = const {
        Here {
            current: Cell::new(null()),
            depth: Cell::new(0),
            completing: Cell::new(false),
            queue: Cell::new(None),
            next: RefCell::new(None),
            deferred: RefCell::new(VecDeque::new()),
        }
    };
}

/// A task runs on this thread until this is dropped.
pub(crate) struct Entered(*const Task);

pub(crate) fn enter(task: &Task) -> Entered {
    HERE.with(|h| {
        h.depth.set(h.depth.get() + 1);
        Entered(h.current.replace(task))
    })
}

impl Drop for Entered {
    fn drop(&mut self) {
        HERE.with(|h| {
            h.depth.set(h.depth.get() - 1);
            h.current.set(self.0);
        });
    }
}

/// How many tasks run on this thread, one inside the other.
pub(crate) fn depth() -> usize {
    HERE.with(|h| h.depth.get())
}

/// Whether the task that runs on this thread uses the variable.
pub(super) fn holds(var: &Var) -> bool {
    let current = HERE.with(|h| h.current.get());
    // SAFETY: `Entered` resets the pointer before the borrow of the task that it was made from ends.
    !current.is_null() && unsafe { (*current).holds(var) }
}

/// The outcome of a task is passed on until this is dropped.
pub(crate) struct Completing(bool);

pub(crate) fn completing() -> Completing {
    Completing(HERE.with(|h| h.completing.replace(true)))
}

impl Drop for Completing {
    fn drop(&mut self) {
        HERE.with(|h| h.completing.set(self.0));
    }
}

/// To be run on this thread.
pub(super) fn defer(task: Arc<Task>) {
    HERE.with(|h| h.deferred.borrow_mut().push_back(task));
}

/// The next task to be run on this thread; none while an outcome is passed on.
#[inline]
pub(super) fn next_deferred() -> Option<Arc<Task>> {
    HERE.with(|h| if h.completing.get() { None } else { h.deferred.borrow_mut().pop_front() })
}

pub(super) fn queue() -> Option<&'static Queue> {
    HERE.with(|h| h.queue.get())
}

pub(super) fn set_queue(queue: Option<&'static Queue>) {
    HERE.with(|h| h.queue.set(queue));
}

/// In the child of a fork this thread is nobody's worker: the lane it came from has no threads there.
pub(crate) fn after_fork() {
    HERE.with(|h| h.queue.set(None));
}

/// Keeps a task for this thread if it works for that lane and is about to need one.
pub(super) fn keep(queue: &Queue, task: Arc<Task>) -> Option<Arc<Task>> {
    HERE.with(|h| {
        let ours = h.completing.get() && h.queue.get().is_some_and(|q| std::ptr::eq(q, queue));
        if !ours || h.next.borrow().is_some() {
            return Some(task);
        }
        *h.next.borrow_mut() = Some(task);
        None
    })
}

pub(super) fn take_kept() -> Option<Arc<Task>> {
    HERE.with(|h| h.next.borrow_mut().take())
}
