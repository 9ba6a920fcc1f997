//! Fork: the child has an engine that works, whatever the parent was doing.
#![allow(clippy::unwrap_used)]
mod common;
use common::mock_device::mock;
use common::*;
use gluonish_engine::{Lane, Var, Write, engine, memory};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// Runs `child` in a forked process; whether it returned true.
fn forked(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child only runs the engine and ends without unwinding into the test's frames.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(false);
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(if good { 0 } else { 1 }) };
    }
    assert!(pid > 0);
    let mut status = 0;
    // SAFETY: waits for the child just made.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

fn add_one(v: &Var) {
    let to = v.clone();
    update(v, move |_| {
        // SAFETY: the engine gave the variable to this task.
        unsafe { *to.ptr().cast::<u64>() += 1 };
        Ok(())
    });
}

fn number(v: &Var) -> u64 {
    wait(v).unwrap();
    // SAFETY: nobody writes it after the wait.
    unsafe { *v.ptr().cast::<u64>() }
}

fn works() -> bool {
    let v = Var::deferred(CPU, 3 << 20).unwrap();
    let to = v.clone();
    push(&[], &[&v], move |_| {
        // SAFETY: the engine gave the variable to this task.
        gluonish_base::pool::run(8, 8, |i| unsafe { *to.ptr().add(i) = i as u8 });
        Ok(())
    });
    wait(&v).unwrap();
    let last = Var::new(CPU, 8).unwrap();
    push_on(CPU, Lane::Callback, &[&v], &[(&last, Write::Overwrite)], |_| Ok(()));
    // SAFETY: nobody writes it after the wait.
    wait(&last).is_ok() && engine().wait_all(&no_poll).is_ok() && unsafe { *v.ptr().add(7) } == 7
}

#[test]
fn the_child_has_a_working_engine() {
    let _one = alone();
    gluonish_base::pool::set_threads(2);
    assert!(works());
    let v = Var::new(CPU, 8).unwrap();
    // SAFETY: nobody else knows it yet.
    unsafe { *v.ptr().cast::<u64>() = 0 };
    (0..1000).for_each(|_| add_one(&v));
    assert!(forked(|| {
        // What was pushed before the fork is done; the copy is the child's own.
        add_one(&v);
        number(&v) == 1001 && works()
    }));
    assert_eq!(number(&v), 1000);
    assert!(works());
}

#[test]
fn children_of_children_and_of_busy_parents() {
    let _one = alone();
    let stop = Arc::new(AtomicBool::new(false));
    let busy: Vec<_> = (0..2)
        .map(|_| {
            let stop = stop.clone();
            std::thread::spawn(move || {
                while !stop.load(SeqCst) {
                    engine().hold_back(2 << 20, &no_poll).unwrap();
                    let v = Var::deferred(CPU, 2 << 20).unwrap();
                    push(&[], &[&v], |_| Ok(()));
                    drop(Var::new(CPU, 100_000).unwrap());
                }
            })
        })
        .collect();
    for _ in 0..10 {
        assert!(forked(|| works() && forked(works)));
    }
    stop.store(true, SeqCst);
    busy.into_iter().for_each(|b| b.join().unwrap());
    assert!(works());
}

#[test]
fn errors_and_other_devices_in_the_child() {
    let _one = alone();
    let (device, _inner) = mock(64 << 20, 0);
    let (bad, there) = (Var::new(CPU, 8).unwrap(), Var::deferred(device, 100).unwrap());
    push(&[], &[&bad], |_| Err(failure("before")));
    push_on(device, Lane::Compute, &[], &[(&there, Write::Overwrite)], |_| Ok(()));
    assert!(forked(|| {
        let lost = Var::deferred(device, 100).unwrap();
        push_on(device, Lane::Compute, &[&there], &[(&lost, Write::Overwrite)], |_| Ok(()));
        memory::release();
        wait(&bad).is_err() && wait(&lost).unwrap_err().to_string().contains("forked") && works()
    }));
    wait(&there).unwrap();
    wait(&bad).unwrap_err();
}
