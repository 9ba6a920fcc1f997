//! The primitives under the gate of a variable. The model checker compiles `gate.rs` against its own set of them.
pub(crate) use std::sync::atomic::AtomicU32;
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Locks, also after a thread panicked with the lock held: what is guarded here is valid at every point.
pub(crate) fn lock<T: ?Sized>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
