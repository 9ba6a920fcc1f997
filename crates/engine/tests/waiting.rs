//! Waiting: bounded bytes in flight, interrupts, tasks that push and wait themselves, priorities.
#![allow(clippy::unwrap_used)]
mod common;
use common::*;
use gluonish_base::Cause;
use gluonish_base::tls::tls;
use gluonish_engine::{Device, Lane, Push, Var, Write, engine};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};

const MIB: usize = 1 << 20;

/// Tasks on one variable behind a closed door.
fn closed(door: &Arc<Door>) -> Var {
    let v = Var::new(CPU, 16).unwrap();
    let inside = door.clone();
    push(&[], &[&v], move |_| {
        inside.pass();
        Ok(())
    });
    v
}

#[test]
fn bytes_in_flight_are_bounded() {
    let _one = alone();
    let before = engine().set_in_flight_limit(8 * MIB);
    let most = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        engine().hold_back(MIB, &no_poll).unwrap();
        let (v, most) = (Var::deferred(CPU, MIB).unwrap(), most.clone());
        push(&[], &[&v], move |_| {
            most.fetch_max(engine().stats().in_flight, SeqCst);
            std::thread::yield_now();
            Ok(())
        });
        assert!(engine().stats().in_flight <= 8 * MIB);
    }
    engine().wait_all(&no_poll).unwrap();
    assert!(most.load(SeqCst) <= 8 * MIB);
    engine().set_in_flight_limit(before);
}

#[test]
fn a_few_large_ops_ahead() {
    let _one = alone();
    let door = Arc::new(Door::default());
    let gate = closed(&door);
    let large = |bytes: usize| push(&[&gate], &[&Var::deferred(CPU, bytes).unwrap()], |_| Ok(()));
    assert!(!engine().would_block(1 << 40), "one op may always be in flight");
    large(60 * MIB);
    assert!(!engine().would_block(60 * MIB) && !engine().would_block(100 * MIB));
    (0..3).for_each(|_| large(60 * MIB));
    assert!(engine().would_block(60 * MIB) && engine().would_block(1));
    tls().worker.set(true);
    assert!(!engine().would_block(60 * MIB), "threads that run tasks are exempt");
    engine().hold_back(60 * MIB, &no_poll).unwrap();
    tls().worker.set(false);
    door.open();
    engine().hold_back(60 * MIB, &no_poll).unwrap();
    engine().wait_all(&no_poll).unwrap();
}

#[test]
fn an_interrupt_ends_the_wait_and_not_the_work() {
    let _one = alone();
    let door = Arc::new(Door::default());
    let v = closed(&door);
    let interrupted = |wait: &dyn Fn(&dyn Fn() -> gluonish_base::Result) -> gluonish_base::Result| {
        let polls = AtomicUsize::new(0);
        let e = wait(&|| if polls.fetch_add(1, SeqCst) == 1 { Err(Cause::Interrupted.into()) } else { Ok(()) });
        assert_eq!(e.unwrap_err().cause(), &Cause::Interrupted);
        assert_eq!(polls.load(SeqCst), 2);
    };
    interrupted(&|poll| engine().wait_for_var(&v, poll));
    interrupted(&|poll| engine().wait_to_write(&v, poll));
    interrupted(&|poll| engine().wait_all(poll));
    push(&[&v], &[&Var::deferred(CPU, 80 * MIB).unwrap()], |_| Ok(()));
    let before = engine().set_in_flight_limit(1);
    interrupted(&|poll| engine().hold_back(80 * MIB, poll));
    engine().set_in_flight_limit(before);
    let done = Arc::new(AtomicBool::new(false));
    let set = done.clone();
    update(&v, move |_| {
        set.store(true, SeqCst);
        Ok(())
    });
    door.open();
    wait(&v).unwrap();
    assert!(done.load(SeqCst));
}

/// A callback that pushes a callback that pushes ..., each waiting for the one it pushed.
fn nest(depth: usize, lane: Lane) {
    let v = Var::new(CPU, 16).unwrap();
    push_on(CPU, lane, &[], &[(&v, Write::Overwrite)], move |_| {
        if depth > 0 {
            nest(depth - 1, lane);
        }
        Ok(())
    });
    wait(&v).unwrap();
}

#[test]
fn tasks_may_push_and_wait() {
    let _one = alone();
    for naive in [false, true] {
        engine().set_naive(naive);
        for lane in [Lane::Callback, Lane::Compute, Lane::Copy] {
            nest(6, lane);
        }
        // Many at a time, each waiting for all others.
        for _ in 0..8 {
            let v = Var::new(CPU, 16).unwrap();
            push_on(CPU, Lane::Callback, &[], &[(&v, Write::Overwrite)], |_| {
                push(&[], &[&Var::new(CPU, 16)?], |_| Ok(()));
                engine().wait_all(&no_poll)
            });
        }
        engine().wait_all(&no_poll).unwrap();
    }
    engine().set_naive(false);
}

#[test]
fn lanes_do_not_keep_extra_threads() {
    let _one = alone();
    nest(6, Lane::Callback);
    engine().wait_all(&no_poll).unwrap();
    // The extra threads end when they find nothing to do.
    while engine().stats().threads > 8 {
        std::thread::yield_now();
    }
}

#[test]
fn a_task_that_waits_for_what_it_holds_goes_on() {
    let _one = alone();
    for naive in [false, true] {
        engine().set_naive(naive);
        let v = Var::new(CPU, 16).unwrap();
        let own = v.clone();
        push_on(CPU, Lane::Callback, &[], &[(&v, Write::Update)], move |_| {
            push(&[], &[&own], |_| Ok(())); // behind this task: runs after it
            wait(&own)
        });
        wait(&v).unwrap();
        assert_eq!(v.version(), 2);
    }
    engine().set_naive(false);
}

#[test]
fn long_chains_behind_one_task_do_not_nest() {
    let _one = alone();
    engine().set_naive(true);
    let (v, n) = (Var::new(CPU, 16).unwrap(), Arc::new(AtomicUsize::new(0)));
    let (own, count) = (v.clone(), n.clone());
    update(&v, move |_| {
        for _ in 0..100_000 {
            let count = count.clone();
            update(&own, move |_| {
                count.fetch_add(1, SeqCst);
                Ok(())
            });
        }
        Ok(())
    });
    assert_eq!(n.load(SeqCst), 100_000, "all ran before the push returned");
    engine().set_naive(false);
}

#[test]
fn ready_tasks_run_by_priority_then_in_order() {
    let _one = alone();
    let door = Arc::new(Door::default());
    let v = closed(&door);
    let order = Arc::new(Mutex::new(Vec::new()));
    for (i, priority) in [0, 5, 0, -3, 5, i32::MAX, i32::MIN].into_iter().enumerate() {
        let order = order.clone();
        let writes = &[(&Var::new(CPU, 16).unwrap(), Write::Overwrite)];
        let p = Push {
            op: "p",
            reads: &[&v],
            writes,
            device: CPU,
            lane: Lane::Compute,
            priority,
            brief: true,
            site: Default::default(),
        };
        engine().push(p, move |_| {
            order.lock().unwrap().push(i);
            Ok(())
        });
    }
    door.open();
    engine().wait_all(&no_poll).unwrap();
    assert_eq!(*order.lock().unwrap(), [5, 1, 4, 0, 2, 3, 6]);
}

#[test]
fn devices_and_lanes_do_not_wait_for_each_other() {
    let _one = alone();
    let door = Arc::new(Door::default());
    let blocked = closed(&door);
    for (device, lane) in [(Device::cpu(1), Lane::Compute), (CPU, Lane::Copy), (CPU, Lane::Callback)] {
        let v = Var::new(CPU, 16).unwrap();
        push_on(device, lane, &[], &[(&v, Write::Overwrite)], |_| Ok(()));
        wait(&v).unwrap();
    }
    assert!(!blocked.is_ready());
    door.open();
    wait(&blocked).unwrap();
}

#[test]
fn wait_to_write_waits_for_readers_too() {
    let _one = alone();
    let door = Arc::new(Door::default());
    let (v, done) = (Var::new(CPU, 16).unwrap(), Arc::new(AtomicBool::new(false)));
    let (inside, set) = (door.clone(), done.clone());
    push(&[&v], &[&Var::new(CPU, 16).unwrap()], move |_| {
        inside.pass();
        set.store(true, SeqCst);
        Ok(())
    });
    wait(&v).unwrap(); // nobody writes it
    assert!(!v.is_idle() && !v.try_write() && v.try_read());
    v.end_read();
    door.open();
    engine().wait_to_write(&v, &no_poll).unwrap();
    assert!(done.load(SeqCst) && v.version() == 0);
}

fn push_brief(write: &Var, work: impl FnOnce() -> gluonish_base::Result + Send + 'static) {
    let writes = &[(write, Write::Update)];
    let (lane, site) = (Lane::Compute, Default::default());
    let p = Push { op: "brief", reads: &[], writes, device: CPU, lane, priority: 0, brief: true, site };
    engine().push(p, move |_| work());
}

#[test]
fn waiters_run_what_is_brief() {
    let _one = alone();
    let runs = Arc::new(AtomicUsize::new(0));
    let shared = Var::new(CPU, 16).unwrap();
    std::thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                for i in 0..2000 {
                    let (runs, own) = (runs.clone(), Var::new(CPU, 16).unwrap());
                    let work = move || {
                        runs.fetch_add(1, SeqCst);
                        Ok(())
                    };
                    push_brief(if i % 2 == 0 { &shared } else { &own }, work);
                    engine().wait_for_var(if i % 3 == 0 { &shared } else { &own }, &no_poll).unwrap();
                }
            });
        }
    });
    engine().wait_all(&no_poll).unwrap();
    assert_eq!(runs.load(SeqCst), 6000);
}

#[test]
fn brief_tasks_that_wait_all_the_same_come_to_an_end() {
    let _one = alone();
    for _ in 0..500 {
        let (outer, inner) = (Var::new(CPU, 16).unwrap(), Var::new(CPU, 16).unwrap());
        let wanted = inner.clone();
        push_brief(&outer, move || {
            push_brief(&wanted, || Ok(()));
            engine().wait_for_var(&wanted, &no_poll)
        });
        engine().wait_for_var(&outer, &no_poll).unwrap();
    }
}
