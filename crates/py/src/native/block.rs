//! Waiting: the interpreter runs on meanwhile, and Ctrl-C is noticed.
use gluonish_base::tls::{adopt_main_thread, tls};
use gluonish_base::{Cause, Result, pool};
use gluonish_graph::{self as graph, Host, Waiting};
use pyo3::prelude::*;

/// What waits do about the interpreter: it runs on meanwhile, and Ctrl-C is noticed.
pub(super) fn install() {
    pool::prepare_thread(); // small operations run on the thread that imports the package
    adopt_main_thread();
    // SAFETY: handles that are not counted are those of Python's objects, which other threads reach with the interpreter's
    // lock alone; this thread lets go of it in `detached` only, where nothing begins.
    unsafe { tls().set_locked(true) };
    graph::install(Host { block });
}

fn block(f: Waiting<'_>) {
    if !super::site::attached() {
        return f(&|| Ok(()));
    }
    Python::attach(|py| detached(py, || f(&interrupted)));
}

/// Calls something that waits, with the interpreter's lock released.
pub(crate) fn detached<T>(py: Python<'_>, f: impl FnOnce() -> T) -> T {
    // The closure is called on this thread; the wrapper only says so to the type system.
    struct SameThread<T>(T);
    // SAFETY: `detach` calls its closure on the calling thread, before it returns.
    unsafe impl<T> Send for SameThread<T> {}
    let f = SameThread(f);
    // SAFETY: the lock is not held inside, and is held again after.
    let before = unsafe { tls().set_locked(false) };
    let SameThread(result) = py.detach(move || {
        let f = f;
        SameThread((f.0)())
    });
    // SAFETY: as it was before.
    unsafe { tls().set_locked(before) };
    result
}

/// Runs pending signal handlers; the exception stays set for whoever turns the error into one.
fn interrupted() -> Result {
    Python::attach(|py| {
        py.check_signals().map_err(|e| {
            e.restore(py);
            Cause::Interrupted.into()
        })
    })
}
