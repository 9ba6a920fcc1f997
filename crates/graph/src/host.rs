//! How to block: a language binding releases its lock around waits and looks for signals meanwhile.
use crate::array::NDArray;
use crate::meeting::give_up;
use gluonish_base::Result;
use gluonish_engine::engine;
use std::cell::Cell;
use std::sync::OnceLock;
use std::time::Duration;

/// Looks for signals; an error ends the wait.
pub type Poll<'a> = &'a dyn Fn() -> Result;

/// Something that waits, and calls what it is given meanwhile.
pub type Waiting<'a> = &'a mut dyn FnMut(Poll<'_>);

/// What a binding installs.
#[derive(Clone, Copy)]
pub struct Host {
    /// Calls the function with the interpreter's lock released, and hands it a check for signals.
    pub block: fn(Waiting<'_>),
}

static HOST: OnceLock<Host> = OnceLock::new();

pub fn install(host: Host) {
    // The first binding of a process stays.
    let _ = HOST.set(host);
}

/// Runs something that may wait for the engine.
pub fn block<T>(mut f: impl FnMut(Poll<'_>) -> Result<T>) -> Result<T> {
    match HOST.get() {
        None => f(&|| Ok(())),
        Some(host) => {
            let (mut out, interrupted) = (None, Cell::new(false));
            (host.block)(&mut |poll| out = Some(f(&|| poll().inspect_err(|_| interrupted.set(true)))));
            if interrupted.get() {
                // Perhaps it waited for what a device was to bring.
                give_up();
            }
            out.unwrap_or_else(|| f(&|| Ok(())))
        }
    }
}

/// The end of the process, as the engine has it. Sums over devices that have not all come are given up before: what needs
/// them fails at once instead of being waited for.
pub fn shutdown(patience: Duration) -> bool {
    give_up();
    gluonish_engine::shutdown(patience)
}

/// Waits until the array has its value; an error of what makes it is raised, now and at every later wait.
pub fn wait(a: &NDArray) -> Result {
    let v = a.storage();
    if v.is_ready() {
        return v.error().map_or(Ok(()), |e| {
            engine().raised(&e);
            Err(e)
        });
    }
    block(|poll| engine().wait_for_var(v, poll))
}
