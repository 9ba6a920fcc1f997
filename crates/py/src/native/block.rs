//! Waiting: the interpreter runs on meanwhile, and Ctrl-C is noticed.
use gluonish_base::{Cause, Result, pool};
use gluonish_graph::{self as graph, Host, Waiting};
use pyo3::prelude::*;

/// What waits do about the interpreter: it runs on meanwhile, and Ctrl-C is noticed.
pub(super) fn install() {
    pool::prepare_thread(); // small operations run on the thread that imports the package
    graph::install(Host { block });
}

fn block(f: Waiting<'_>) {
    // SAFETY: asks only whether this thread holds the interpreter.
    if unsafe { pyo3::ffi::PyGILState_Check() } == 0 {
        return f(&|| Ok(()));
    }
    // The closure is called on this thread; the wrapper only says so to the type system.
    struct SameThread<'a>(Waiting<'a>);
    // SAFETY: `detach` calls its closure on the calling thread, before it returns.
    unsafe impl Send for SameThread<'_> {}
    let f = SameThread(f);
    Python::attach(|py| {
        py.detach(move || {
            let f = f;
            (f.0)(&interrupted);
        });
    });
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
