//! The instruction set and the number of threads are global: tests that change them run one at a time.
use gluonish_base::isa::{Isa, available, detected, limit};
use std::sync::{Mutex, MutexGuard};

static ALONE: Mutex<()> = Mutex::new(());

/// While it lives, no other test of the file changes the machine; then the machine is as it was.
pub(crate) struct Alone<'a> {
    _guard: MutexGuard<'a, ()>,
}
impl Drop for Alone<'_> {
    fn drop(&mut self) {
        limit(detected());
    }
}
pub(crate) fn alone() -> Alone<'static> {
    Alone { _guard: ALONE.lock().unwrap_or_else(|e| e.into_inner()) }
}

/// Calls `f` with each instruction set that this machine has.
pub(crate) fn each_isa(mut f: impl FnMut(Isa)) {
    for isa in available() {
        limit(isa);
        f(isa);
    }
    limit(detected());
}
