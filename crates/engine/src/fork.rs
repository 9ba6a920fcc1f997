//! Fork: the parent drains first, so that no task is half done in the copy, and nobody is inside a lock; the child gets a
//! new engine and new threads. Devices other than the processor do not survive in the child.
use crate::device::{self, Device, Entry, entries};
use crate::memory::Frozen;
use crate::scheduler::{engine, forget_engine, is_started};
use gluonish_base::pool;
use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{MutexGuard, Once, RwLockWriteGuard};
use std::time::{Duration, Instant};

/// How long a fork waits for queued work. A callback that needs a lock of the forking thread can never finish before.
const PATIENCE: Duration = Duration::from_secs(10);

/// Everything that is locked while the process is copied.
struct Held {
    _order: MutexGuard<'static, ()>,
    _pools: Vec<Frozen>,
    _devices: RwLockWriteGuard<'static, Vec<&'static Entry>>,
}

thread_local!(static HELD: RefCell<Option<Held>> = const { RefCell::new(None) });

/// Asks the system to call us around every fork.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handlers are plain functions that live as long as the program. Where the system has no room for them,
        // a fork is what it would have been without.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    });
}

extern "C" fn before() {
    if !is_started() {
        return;
    }
    let deadline = Instant::now() + PATIENCE;
    let order = loop {
        engine().drain_until(deadline);
        let order = engine().freeze();
        // A pusher may have come between the two: then what it pushed is waited for as well.
        if engine().is_drained() || Instant::now() >= deadline {
            break order;
        }
    };
    let pools = entries().iter().map(|e| e.pool.freeze()).collect();
    HELD.set(Some(Held { _order: order, _pools: pools, _devices: device::freeze() }));
}

extern "C" fn in_parent() {
    HELD.take();
}

extern "C" fn in_child() {
    if HELD.take().is_none() {
        return;
    }
    forget_engine();
    pool::after_fork();
    for entry in entries().iter().filter(|e| !std::ptr::eq(**e, Device::cpu(0).entry())) {
        entry.lost.store(true, Relaxed);
    }
}
