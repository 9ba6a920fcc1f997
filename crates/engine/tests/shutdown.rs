//! The end of the process. In a file, and so a process, of its own: nothing else runs afterwards.
#![allow(clippy::unwrap_used)]
mod common;
use common::*;
use gluonish_engine::{Lane, Var, Write, engine, shutdown};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

#[test]
fn callbacks_are_dropped_and_the_rest_is_finished() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = |n: usize| {
        let ran = ran.clone();
        move || {
            ran.fetch_add(n, SeqCst);
            Ok(())
        }
    };
    let door = Arc::new(Door::default());
    let (v, w) = (Var::new(CPU, 16).unwrap(), Var::new(CPU, 16).unwrap());
    let inside = door.clone();
    push(&[], &[&v], move |_| {
        inside.pass();
        Ok(())
    });
    for _ in 0..10 {
        let work = count(1);
        push(&[&v], &[&Var::new(CPU, 16).unwrap()], move |_| work());
    }
    let callback = count(1000);
    push_on(CPU, Lane::Callback, &[&v], &[(&w, Write::Overwrite)], move |_| callback());
    assert!(!shutdown(Duration::from_millis(30)), "something is still running");
    door.open();
    assert!(shutdown(Duration::from_secs(60)));
    assert_eq!((ran.load(SeqCst), engine().stats().threads), (10, 0));
    assert!(w.error().unwrap().to_string().contains("the process is ending"));
    // Late work, as from destructors, runs in its caller.
    let work = count(100);
    push(&[], &[&v], move |_| work());
    assert_eq!(ran.load(SeqCst), 110);
    wait(&v).unwrap();
    assert!(shutdown(Duration::ZERO));
}
