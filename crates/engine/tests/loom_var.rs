//! Every interleaving of small programs on the gate of a variable:
//! `RUSTFLAGS="--cfg loom" cargo test -p gluonish-engine --test loom_var --release`.
#![allow(unexpected_cfgs)]
#![allow(clippy::unwrap_used)]
#![cfg(loom)]

mod sync {
    pub(crate) use loom::sync::atomic::AtomicU32;
    pub(crate) use loom::sync::{Mutex, MutexGuard};

    pub(crate) fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
        m.lock().unwrap()
    }
}
#[path = "../src/gate.rs"]
#[allow(dead_code)]
mod gate;

use gate::{FENCED, Gate, QUEUED, READERS, WRITER};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::*};
use loom::thread;

/// A variable: a gate, and a value that loom watches for races.
struct Variable {
    gate: Gate<Use>,
    value: UnsafeCell<u32>,
    done: AtomicUsize,
}

/// A use, and the value that it must find, where the program fixes it.
#[derive(Clone, Copy)]
struct Use {
    write: bool,
    finds: Option<u32>,
}

const READ: Use = Use { write: false, finds: None };
const WRITE: Use = Use { write: true, finds: None };

/// Three threads have too many interleavings to try all of them; bugs show with few switches between threads.
fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(f);
}

impl Variable {
    fn new() -> Arc<Variable> {
        Arc::new(Variable { gate: Gate::new(), value: UnsafeCell::new(0), done: AtomicUsize::new(0) })
    }

    /// Runs a granted use and, in a loop, whatever its end grants.
    fn run(&self, first: Use) {
        let mut granted = vec![first];
        while let Some(u) = granted.pop() {
            // SAFETY: the gate let this use in; loom fails if that was wrong.
            let found = self.value.with(|v| unsafe { *v });
            assert!(u.finds.is_none_or(|n| n == found), "found {found}");
            let more = if u.write {
                // SAFETY: as above.
                self.value.with_mut(|v| unsafe { *v += 1 });
                self.gate.end_write()
            } else {
                self.gate.end_read()
            };
            self.done.fetch_add(1, SeqCst);
            if more {
                self.gate.grant(|u| granted.push(u));
            }
        }
    }

    fn push(&self, u: Use) {
        if self.gate.append(|| u, u.write) {
            self.run(u);
        }
    }

    fn inline_read(&self) -> bool {
        let got = self.gate.try_read();
        if got {
            self.run(READ);
        }
        got
    }

    fn inline_write(&self) -> bool {
        let got = self.gate.try_write();
        if got {
            self.run(WRITE);
        }
        got
    }

    /// Nobody is left inside or in the queue, and every use ran once.
    fn check(&self, uses: usize, writes: u32) {
        assert_eq!(self.done.load(SeqCst), uses);
        assert_eq!(self.gate.state() & (WRITER | QUEUED | READERS), 0);
        // SAFETY: all threads are joined.
        assert_eq!(self.value.with(|v| unsafe { *v }), writes);
    }
}

#[test]
fn two_writers_and_a_reader_are_queued() {
    model(|| {
        let v = Variable::new();
        let (a, b) = (v.clone(), v.clone());
        let t = [thread::spawn(move || a.push(WRITE)), thread::spawn(move || b.push(READ))];
        v.push(WRITE);
        t.into_iter().for_each(|t| t.join().unwrap());
        v.check(3, 2);
    });
}

#[test]
fn readers_in_passing_against_a_queued_writer() {
    model(|| {
        let v = Variable::new();
        let (a, b) = (v.clone(), v.clone());
        let writer = thread::spawn(move || a.push(WRITE));
        let reader = thread::spawn(move || usize::from(b.inline_read()));
        let mine = usize::from(v.inline_read());
        writer.join().unwrap();
        let theirs = reader.join().unwrap();
        v.check(1 + mine + theirs, 1);
    });
}

#[test]
fn a_writer_in_passing_against_queued_uses() {
    model(|| {
        let v = Variable::new();
        let (a, b) = (v.clone(), v.clone());
        let t = [thread::spawn(move || a.push(WRITE)), thread::spawn(move || b.push(READ))];
        let mine = usize::from(v.inline_write());
        t.into_iter().for_each(|t| t.join().unwrap());
        v.check(2 + mine, 1 + mine as u32);
    });
}

#[test]
fn uses_of_one_pusher_keep_their_order() {
    model(|| {
        let v = Variable::new();
        let a = v.clone();
        // A reader inside, so that all that comes must queue or pass according to the rules.
        assert!(v.gate.try_read());
        let t = thread::spawn(move || {
            a.push(Use { finds: Some(0), ..WRITE });
            a.push(Use { finds: Some(1), ..READ });
        });
        if v.gate.end_read() {
            let mut granted = Vec::new();
            v.gate.grant(|u| granted.push(u));
            granted.into_iter().for_each(|u| v.run(u));
        }
        t.join().unwrap();
        v.check(2, 1);
    });
}

#[test]
fn flags_do_not_disturb_the_counts() {
    model(|| {
        let v = Variable::new();
        let (a, b) = (v.clone(), v.clone());
        let t = [
            thread::spawn(move || a.push(WRITE)),
            thread::spawn(move || {
                b.gate.set(FENCED);
                b.gate.clear(FENCED);
            }),
        ];
        let mine = usize::from(v.inline_read());
        t.into_iter().for_each(|t| t.join().unwrap());
        v.check(1 + mine, 1);
    });
}
