//! What the engine's tests share.
#![allow(dead_code)]
pub(crate) mod mock_device;

use gluonish_base::{Cause, Error, Result, Site};
use gluonish_engine::{Device, Lane, Push, Running, Var, Write, engine};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) const CPU: Device = Device::cpu(0);

/// The engine is one per process: tests that look at its accounts or change its mode run one at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    engine().set_naive(false);
    forget_errors();
    guard
}

/// Waits for everything and forgets what went wrong.
pub(crate) fn forget_errors() {
    while engine().wait_all(&no_poll).is_err() {}
}

pub(crate) fn no_poll() -> Result {
    Ok(())
}

pub(crate) fn wait(v: &Var) -> Result {
    engine().wait_for_var(v, &no_poll)
}

/// xorshift: programs must be the same on every machine.
pub(crate) struct Rng(u64);
impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A push with the usual answers.
pub(crate) fn push_on(
    device: Device,
    lane: Lane,
    reads: &[&Var],
    writes: &[(&Var, Write)],
    work: impl FnOnce(&Running<'_>) -> Result + Send + 'static,
) {
    engine()
        .push(Push { op: "test", reads, writes, device, lane, priority: 0, brief: false, site: Site::default() }, work);
}

pub(crate) fn push(reads: &[&Var], writes: &[&Var], work: impl FnOnce(&Running<'_>) -> Result + Send + 'static) {
    let writes: Vec<(&Var, Write)> = writes.iter().map(|v| (*v, Write::Overwrite)).collect();
    push_on(CPU, Lane::Compute, reads, &writes, work);
}

pub(crate) fn update(var: &Var, work: impl FnOnce(&Running<'_>) -> Result + Send + 'static) {
    push_on(CPU, Lane::Compute, &[], &[(var, Write::Update)], work);
}

pub(crate) fn failure(text: &str) -> Error {
    Cause::Failed(text.to_string()).into()
}

/// Opens once; tasks wait before it.
#[derive(Default)]
pub(crate) struct Door(Mutex<bool>, std::sync::Condvar);
impl Door {
    pub(crate) fn open(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }
    pub(crate) fn pass(&self) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !*open {
            open = self.1.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
