//! Memory: when it is taken, how much of it at a time, where it goes, and what happens when there is no more.
#![allow(clippy::unwrap_used)]
mod common;
use common::*;
use gluonish_base::Cause;
use gluonish_engine::memory::{self, stats};
use gluonish_engine::{Lane, Loan, Var, Write, engine};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};

const MIB: usize = 1 << 20;

fn fill(v: &Var, byte: u8) {
    // SAFETY: the caller holds the variable for writing, or is alone.
    unsafe { v.ptr().write_bytes(byte, v.bytes()) };
}

/// What is pooled in steps of 2 MiB: threads also keep a few small blocks each.
fn large_pooled() -> usize {
    stats().pooled / (2 * MIB) * (2 * MIB)
}

fn first(v: &Var) -> u8 {
    // SAFETY: the caller knows that the variable has a value.
    unsafe { *v.ptr() }
}

#[test]
fn every_size_is_aligned_and_given_back() {
    let _one = alone();
    let before = stats().held;
    let sizes = [0, 1, 63, 64, 65, 1000, 4097, 100_000, MIB - 1, MIB, MIB + 1, 3 * MIB, 40_000_000];
    let vars: Vec<Var> = sizes.iter().map(|n| Var::new(CPU, *n).unwrap()).collect();
    for (v, n) in vars.iter().zip(sizes) {
        assert_eq!((v.ptr() as usize % 64, v.bytes(), v.device()), (0, n, CPU));
        fill(v, 5);
    }
    assert!(stats().held > before + 44 * MIB);
    drop(vars);
    assert_eq!(stats().held, before);
}

#[test]
fn blocks_are_used_again_and_released() {
    let _one = alone();
    memory::release();
    let a = Var::new(CPU, 40 * MIB).unwrap();
    fill(&a, 1);
    let at = a.ptr();
    drop(a);
    assert!(stats().pooled >= 40 * MIB);
    // A smaller block is split from it; the rest merges with it again.
    let (b, c) = (Var::new(CPU, 10 * MIB).unwrap(), Var::new(CPU, 10 * MIB).unwrap());
    assert!(b.ptr() == at && c.ptr() == at.wrapping_add(10 * MIB));
    drop((b, c));
    let a = Var::new(CPU, 40 * MIB).unwrap();
    assert_eq!(a.ptr(), at);
    drop(a);
    assert!(memory::release() >= 40 * MIB);
    assert!(large_pooled() == 0);
}

#[test]
fn free_parts_of_a_region_lose_their_pages() {
    let _one = alone();
    memory::release();
    let whole: Vec<Var> = (0..8).map(|_| Var::new(CPU, 4 * MIB).unwrap()).collect();
    whole.iter().for_each(|v| fill(v, 9));
    let kept = whole.into_iter().nth(3).unwrap();
    assert_eq!(large_pooled(), 28 * MIB);
    memory::release();
    assert_eq!((large_pooled(), first(&kept)), (0, 9));
}

#[test]
fn a_chain_of_queued_ops_needs_three_blocks() {
    const BYTES: usize = 40_000_000;
    let _one = alone();
    memory::release();
    for naive in [false, true] {
        engine().set_naive(naive);
        memory::reset_peak();
        let before = stats().held;
        let mut x = Var::new(CPU, BYTES).unwrap();
        fill(&x, 1);
        for _ in 0..50 {
            let y = Var::deferred(CPU, BYTES).unwrap();
            let (from, to) = (x.clone(), y.clone());
            push(&[&x], &[&y], move |_| {
                fill(&to, first(&from).wrapping_add(1));
                Ok(())
            });
            x = y;
        }
        wait(&x).unwrap();
        assert_eq!(first(&x), 51);
        let blocks = (stats().peak - before) as f64 / BYTES as f64;
        assert!(blocks <= 3.2, "{blocks} blocks");
    }
    engine().set_naive(false);
}

#[test]
fn deferred_storages_have_no_memory_before_their_first_write() {
    let _one = alone();
    let v = Var::deferred(CPU, 1000).unwrap();
    assert!(v.ptr().is_null() && !v.try_read() && !v.try_write());
    let to = v.clone();
    push(&[], &[&v], move |_| {
        fill(&to, 3);
        Ok(())
    });
    wait(&v).unwrap();
    assert!(first(&v) == 3 && v.try_read());
    v.end_read();
}

#[test]
fn the_limit_fails_before_a_page_is_touched() {
    let _one = alone();
    memory::release();
    let limit = memory::set_limit(CPU, stats().held + 100 * MIB);
    let is_oom = |e: &gluonish_base::Error| matches!(e.cause(), Cause::OutOfMemory { asked, .. } if *asked >= 64 * MIB);
    assert!(Var::new(CPU, usize::MAX).is_err() && Var::deferred(CPU, isize::MAX as usize).is_err());
    assert!(is_oom(&Var::deferred(CPU, 1 << 40).err().unwrap()), "what can never fit fails at once");
    let a = Var::new(CPU, 64 * MIB).unwrap();
    assert!(is_oom(&Var::new(CPU, 64 * MIB).err().unwrap()));
    // It fits by itself, so it is queued; when its turn comes there is no room.
    let b = Var::deferred(CPU, 64 * MIB).unwrap();
    push(&[], &[&b], |_| panic!("must not run"));
    let e = wait(&b).unwrap_err();
    assert!(is_oom(&e) && e.report().op == "test");
    // Room is made, and the same storage works.
    drop(a);
    let to = b.clone();
    push(&[], &[&b], move |_| {
        fill(&to, 7);
        Ok(())
    });
    wait(&b).unwrap();
    assert_eq!(first(&b), 7);
    memory::set_limit(CPU, limit);
}

#[test]
fn what_is_pooled_makes_room_under_pressure() {
    let _one = alone();
    memory::release();
    let limit = memory::set_limit(CPU, stats().held + 64 * MIB);
    let small: Vec<Var> = (0..24).map(|_| Var::new(CPU, 2 * MIB).unwrap()).collect();
    small.iter().for_each(|v| fill(v, 1));
    drop(small);
    assert_eq!(large_pooled(), 48 * MIB);
    let v = Var::new(CPU, 60 * MIB).unwrap();
    fill(&v, 1);
    assert!(stats().held + stats().pooled <= stats().limit);
    drop(v);
    memory::set_limit(CPU, limit);
}

#[test]
fn carved_storages_share_a_block_and_nothing_else() {
    let _one = alone();
    let held = stats().held;
    let parent = Var::new(CPU, 4096).unwrap();
    fill(&parent, 0);
    let (a, b) = (Var::carve(&parent, 0, 1024), Var::carve(&parent, 1024, 1024));
    let inner = Var::carve(&b, 512, 512);
    assert_eq!(inner.ptr(), parent.ptr().wrapping_add(1536));
    let door = Arc::new(Door::default());
    let inside = door.clone();
    push(&[], &[&a], move |_| {
        inside.pass();
        Err(failure("only this part"))
    });
    assert!(!a.try_read() && b.try_read() && parent.try_read(), "each has a state of its own");
    b.end_read();
    parent.end_read();
    door.open();
    assert!(wait(&a).is_err() && wait(&b).is_ok());
    assert_eq!((a.version(), b.version()), (1, 0));
    forget_errors(); // whoever waits for a variable hears of it before the task lets go of its own handle
    drop((a, b, parent));
    assert!(stats().held > held, "the last part keeps the block");
    fill(&inner, 4);
    drop(inner);
    assert_eq!(stats().held, held);
}

#[test]
fn parts_of_a_deferred_block_get_their_memory_together() {
    let _one = alone();
    let parent = Var::deferred(CPU, 2 * MIB).unwrap();
    let parts: Vec<Var> = (0..8).map(|i| Var::carve(&parent, i * 1000, 1000)).collect();
    assert!(parts[0].ptr().is_null());
    for (i, part) in parts.iter().enumerate() {
        let to = part.clone();
        push_on(
            gluonish_engine::Device::cpu(i as u16 % 3),
            Lane::Compute,
            &[],
            &[(part, Write::Overwrite)],
            move |_| {
                fill(&to, i as u8);
                Ok(())
            },
        );
    }
    engine().wait_all(&no_poll).unwrap();
    for (i, part) in parts.iter().enumerate() {
        assert_eq!((part.ptr(), first(part)), (parent.ptr().wrapping_add(i * 1000), i as u8));
    }
    let late = Var::carve(&parent, 3000, 8);
    assert!(late.try_read() && first(&late) == 3);
    late.end_read();
}

#[test]
fn foreign_memory_is_released_after_its_last_user() {
    let _one = alone();
    let released = Arc::new(AtomicUsize::new(0));
    let (count, mut bytes) = (released.clone(), vec![6u8; 100].into_boxed_slice());
    let ptr = bytes.as_mut_ptr();
    // SAFETY: the bytes live until the release function drops them.
    let v = unsafe {
        Var::foreign(
            CPU,
            ptr,
            100,
            Box::new(move || {
                drop(bytes);
                count.fetch_add(1, SeqCst);
            }),
        )
    };
    assert!(v.shared() && Var::carve(&v, 10, 10).shared() && !Var::new(CPU, 8).unwrap().shared());
    let (door, y) = (Arc::new(Door::default()), Var::deferred(CPU, 8).unwrap());
    let (inside, from) = (door.clone(), v.clone());
    push(&[&v], &[&y], move |_| {
        inside.pass();
        assert_eq!(first(&from), 6);
        Ok(())
    });
    drop(v);
    assert_eq!(released.load(SeqCst), 0, "a queued task still needs it");
    door.open();
    engine().wait_all(&no_poll).unwrap();
    assert_eq!(released.load(SeqCst), 1);
}

#[test]
fn a_loan_marks_its_storage_and_the_whole() {
    let _one = alone();
    let whole = Var::new(CPU, 100).unwrap();
    let part = Var::carve(&whole, 10, 10);
    let (one, two) = (Loan::new(&part), Loan::new(&part));
    drop(one);
    assert!(part.shared() && whole.shared());
    drop(two);
    assert!(!part.shared() && !whole.shared());
}

#[test]
fn storages_start_afresh() {
    let _one = alone();
    for _ in 0..3 {
        let v = Var::new(CPU, 16).unwrap();
        assert_eq!((v.version(), v.tape.saved.load(SeqCst), v.tape.recorded.load(SeqCst)), (0, 0, 0));
        assert!(v.is_idle() && v.error().is_none() && !v.shared());
        v.bump();
        v.tape.saved.store(3, SeqCst);
        v.tape.recorded.store(3, SeqCst);
        push(&[], &[&v], |_| Err(failure("of an earlier life")));
        wait(&v).unwrap_err();
        engine().wait_all(&no_poll).unwrap();
    }
}

#[test]
fn threads_that_end_return_what_they_kept() {
    let _one = alone();
    let held = stats().held;
    for _ in 0..20 {
        std::thread::spawn(|| {
            let vars: Vec<Var> = (0..200).map(|i| Var::new(CPU, i * 7).unwrap()).collect();
            let sent = vars.clone();
            std::thread::spawn(move || drop(sent)).join().unwrap();
            drop(vars);
        })
        .join()
        .unwrap();
    }
    assert_eq!(stats().held, held);
}
