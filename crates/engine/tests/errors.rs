//! Errors and panics become values: of what the work would have written, and of all that depends on it.
#![allow(clippy::unwrap_used)]
mod common;
use common::*;
use gluonish_base::{Cause, Error, Site};
use gluonish_engine::{Lane, Push, Var, Write, engine};
use std::sync::Arc;

fn vars(n: usize) -> Vec<Var> {
    (0..n).map(|_| Var::new(CPU, 16).unwrap()).collect()
}

/// Runs on both engines, with the panics' own messages switched off.
fn on_both(test: impl Fn()) {
    let _one = alone();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    for naive in [false, true] {
        engine().set_naive(naive);
        test();
        forget_errors();
    }
    engine().set_naive(false);
    std::panic::set_hook(hook);
}

fn chain(v: &[Var], fails: impl FnOnce() -> gluonish_base::Result + Send + 'static) -> Error {
    push(&[], &[&v[0]], move |_| fails());
    push(&[&v[0]], &[&v[1]], |_| Ok(()));
    push(&[&v[1]], &[&v[2]], |_| Ok(()));
    push(&[], &[&v[3]], |_| Ok(()));
    let e = wait(&v[2]).unwrap_err();
    assert!(wait(&v[2]).unwrap_err().same(&e), "raised at every wait");
    assert!(wait(&v[0]).unwrap_err().same(&e) && wait(&v[1]).unwrap_err().same(&e), "one and the same error");
    wait(&v[3]).unwrap();
    e
}

#[test]
fn errors_reach_what_depends_on_them_and_stay() {
    on_both(|| {
        let e = chain(&vars(4), || Err(failure("boom")));
        assert_eq!((e.cause(), e.report().op), (&Cause::Failed("boom".into()), "test"));
        let e = chain(&vars(4), || panic!("boom {}", 1));
        assert_eq!(e.cause(), &Cause::Panicked("boom 1".into()));
    });
}

#[test]
fn what_is_kept_outlives_an_input_that_failed_but_not_its_own_failure() {
    on_both(|| {
        let v = vars(3);
        let step = |work: fn() -> gluonish_base::Result| {
            push_on(CPU, Lane::Compute, &[&v[0]], &[(&v[1], Write::Keep), (&v[2], Write::Keep)], move |_| work());
        };
        push(&[], &[&v[0]], |_| Err(failure("gradient")));
        step(|| panic!("must be skipped"));
        wait(&v[1]).unwrap();
        wait(&v[2]).unwrap();
        assert!(wait(&v[0]).is_err(), "the error itself is not lost");
        push(&[], &[&v[0]], |_| Ok(()));
        step(|| Err(failure("half done")));
        assert!(wait(&v[1]).is_err() && wait(&v[2]).is_err());
        step(|| panic!("must be skipped"));
        assert_eq!(wait(&v[1]).unwrap_err().cause(), &Cause::Failed("half done".into()), "it is read, too");
    });
}

#[test]
fn each_error_that_left_something_out_is_told_once_unless_it_lasts() {
    on_both(|| {
        let v = vars(4);
        let told = || engine().take_left_out().inspect(|e| engine().raised(e)).map(|e| e.cause().clone());
        let keep = |gradient: &Var, weight: &Var| {
            push_on(CPU, Lane::Compute, &[gradient], &[(weight, Write::Keep)], |_| panic!("must be skipped"));
            let _ = wait(weight);
        };
        for (i, text) in [(0, "first"), (1, "second")] {
            push(&[], &[&v[i]], move |_| Err(failure(text)));
            keep(&v[i], &v[2]);
            keep(&v[i], &v[3]);
        }
        assert_eq!(told(), Some(Cause::Failed("first".into())));
        assert_eq!(told(), Some(Cause::Failed("second".into())), "one does not hide the other");
        assert_eq!(told(), None);
        push(&[], &[&v[3]], |_| Err(failure("state")));
        for _ in 0..2 {
            keep(&v[0], &v[3]);
            assert!(told().is_some() && told().is_none(), "its own value is an error");
        }
    });
}

#[test]
fn overwrite_heals_and_update_does_not() {
    on_both(|| {
        let v = vars(4);
        let e = chain(&v, || Err(failure("boom")));
        assert!(!v[0].try_read() && !v[0].try_write(), "an error is never used in passing");
        assert!(v[0].error().unwrap().same(&e));
        update(&v[0], |_| panic!("must be skipped"));
        assert!(wait(&v[0]).unwrap_err().same(&e));
        // Read and written is an update, however it was said.
        push(&[&v[0]], &[&v[0]], |_| panic!("must be skipped"));
        assert!(wait(&v[0]).unwrap_err().same(&e));
        push(&[], &[&v[0]], |_| Ok(()));
        wait(&v[0]).unwrap();
        assert!(v[0].try_read());
        v[0].end_read();
        assert!(wait(&v[1]).unwrap_err().same(&e), "healing one does not heal what was made from it");
        v[1].heal();
        wait(&v[1]).unwrap();
    });
}

#[test]
fn a_failed_update_spoils_what_it_was_changing() {
    on_both(|| {
        let v = vars(1);
        update(&v[0], |_| Err(failure("half done")));
        assert_eq!(wait(&v[0]).unwrap_err().cause(), &Cause::Failed("half done".into()));
    });
}

#[test]
fn what_was_released_early_stays_good() {
    on_both(|| {
        let v = vars(2);
        push(&[], &[&v[0], &v[1]], |running| {
            running.release(0)?;
            running.release(0)?;
            running.release(7)?;
            Err(failure("later"))
        });
        wait(&v[0]).unwrap();
        assert!(wait(&v[1]).is_err());
    });
}

#[test]
fn early_release_lets_others_go_on_before_the_task_ends() {
    let _one = alone();
    let v = vars(2);
    let door = Arc::new(Door::default());
    let inside = door.clone();
    push(&[], &[&v[0], &v[1]], move |running| {
        running.release(0)?;
        inside.pass();
        Ok(())
    });
    wait(&v[0]).unwrap();
    assert!(!v[1].is_ready());
    door.open();
    wait(&v[1]).unwrap();
}

#[test]
fn wait_all_raises_each_error_once() {
    on_both(|| {
        let v = vars(3);
        for (i, var) in v.iter().enumerate() {
            push(&[], &[var], move |_| Err(failure(&i.to_string())));
            push(&[var], &[&Var::new(CPU, 16).unwrap()], |_| Ok(()));
        }
        wait(&v[1]).unwrap_err(); // raised here, so not again there
        let mut seen: Vec<String> = Vec::new();
        while let Err(e) = engine().wait_all(&no_poll) {
            seen.push(e.cause().to_string());
        }
        seen.sort();
        assert_eq!(seen, ["0", "2"]);
        wait(&v[0]).unwrap_err();
    });
}

#[test]
fn an_error_names_op_and_site_once() {
    on_both(|| {
        let v = vars(1);
        let site = Site { code: 3, block: 4 };
        let writes = &[(&v[0], Write::Overwrite)];
        engine().push(
            Push { op: "outer", reads: &[], writes, device: CPU, lane: Lane::Compute, priority: 0, brief: false, site },
            |_| Err(failure("boom").in_op("inner")),
        );
        let e = wait(&v[0]).unwrap_err();
        assert_eq!((e.report().op, e.report().site), ("inner", site));
    });
}

#[test]
fn many_reads_and_variables_named_twice() {
    on_both(|| {
        let v = vars(300);
        for (i, var) in v.iter().enumerate() {
            push(&[], &[var], move |_| if i == 299 { Err(failure("last")) } else { Ok(()) });
        }
        let out = Var::new(CPU, 16).unwrap();
        let mut reads: Vec<&Var> = v[..299].iter().collect();
        reads.extend_from_slice(&reads.clone()[..50]);
        let both = [(&out, Write::Overwrite), (&out, Write::Overwrite), (&v[7], Write::Update)];
        push_on(CPU, Lane::Compute, &reads, &both, |_| Ok(()));
        wait(&out).unwrap();
        assert_eq!((out.version(), v[7].version()), (1, 2));
        reads.push(&v[299]);
        push_on(CPU, Lane::Compute, &reads, &both, |_| Ok(()));
        assert_eq!(wait(&out).unwrap_err().cause(), &Cause::Failed("last".into()));
    });
}

#[test]
fn profiles_know_queued_tasks() {
    let _one = alone();
    gluonish_base::profiler::enable(true);
    let (a, b) = (Var::new(CPU, 16).unwrap(), Var::new(CPU, 100).unwrap());
    push(&[&a], &[&b], |_| Ok(()));
    wait(&b).unwrap();
    gluonish_base::profiler::enable(false);
    let (events, _) = gluonish_base::profiler::take(true);
    let e = events.iter().find(|e| e.bytes == 116).expect("the task was recorded");
    assert!(e.op == "test" && e.queued <= e.start && e.start <= e.end);
}
