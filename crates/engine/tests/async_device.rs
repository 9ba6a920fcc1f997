//! Devices whose work is issued now and done later: order between streams, the host, errors, and memory.
#![allow(clippy::unwrap_used)]
mod common;
use common::mock_device::{Inner, mock};
use common::*;
use gluonish_base::{Cause, Error};
use gluonish_engine::{Device, Lane, Var, Write, engine, memory};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

const LIMIT: usize = 256 << 20;

fn value(v: &Var) -> *mut u64 {
    v.ptr().cast()
}

/// Issues `out = mix(id, inputs)` to the device: it happens when the device gets to it. The device uses raw addresses, as
/// real ones do: nothing keeps the storages alive for it.
fn launch(device: Device, inner: &Arc<Inner>, lane: Lane, id: u64, reads: &[&Var], out: (&Var, Write)) {
    let (inner, from, to) = (inner.clone(), reads.iter().map(|v| (*v).clone()).collect::<Vec<_>>(), out.0.clone());
    let update = out.1 == Write::Update;
    push_on(device, lane, reads, &[out], move |running| {
        let from: Vec<usize> = from.iter().map(|v| value(v) as usize).collect();
        let to = value(&to) as usize;
        inner.launch(running.stream().unwrap(), move || {
            // SAFETY: the engine keeps the memory until the work has retired, and orders it with other users.
            unsafe {
                let old = update.then(|| (to as *mut u64).read_volatile());
                let inputs = from.iter().map(|p| (*p as *mut u64).read_volatile());
                (to as *mut u64).write_volatile(inputs.chain(old).fold(id, mix));
            }
            Ok(())
        });
        Ok(())
    });
}

fn mix(h: u64, v: u64) -> u64 {
    (h ^ v).rotate_left(17).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

fn read(v: &Var) -> u64 {
    wait(v).unwrap();
    // SAFETY: the wait returned: the device is done with it.
    unsafe { value(v).read_volatile() }
}

#[test]
fn random_programs_on_two_streams_and_the_host() {
    let _one = alone();
    let (device, inner) = mock(LIMIT, 60);
    let programs = std::env::var("ENGINE_PROGRAMS").map_or(4000, |v| v.parse::<u64>().unwrap()) / 50;
    for seed in 1..=programs {
        let mut rng = Rng::new(seed);
        let slots = 2 + rng.below(8) as usize;
        // Half of the slots in the device's memory, half in the host's, whose first 64 bytes are inside the storage.
        let make = |slot: usize| {
            Var::deferred(if slot.is_multiple_of(2) { device } else { CPU }, 8 + 100 * (slot % 3)).unwrap()
        };
        let mut vars: Vec<Var> = (0..slots).map(make).collect();
        let mut expected: Vec<u64> = vec![0; slots];
        for (slot, var) in vars.iter().enumerate() {
            launch(device, &inner, Lane::Compute, slot as u64, &[], (var, Write::Overwrite));
            expected[slot] = slot as u64;
        }
        for id in 1..60 {
            let reads: Vec<usize> = (0..rng.below(3)).map(|_| rng.below(slots as u64) as usize).collect();
            let out = rng.below(slots as u64) as usize;
            let reads: Vec<usize> = reads.into_iter().filter(|r| *r != out).collect();
            let write = if rng.one_in(2) { Write::Overwrite } else { Write::Update };
            if write == Write::Overwrite && rng.one_in(3) {
                vars[out] = make(out); // the old one is freed, often before its last user retired
            }
            let inputs: Vec<&Var> = reads.iter().map(|r| &vars[*r]).collect();
            match rng.below(4) {
                3 => host_op(id, &inputs, (&vars[out], write)),
                n => {
                    let lane = if n == 0 { Lane::Copy } else { Lane::Compute };
                    launch(device, &inner, lane, id, &inputs, (&vars[out], write));
                }
            }
            let old = (write == Write::Update).then_some(expected[out]);
            expected[out] = reads.iter().map(|r| expected[*r]).chain(old).fold(id, mix);
            if rng.one_in(12) {
                let slot = rng.below(slots as u64) as usize;
                assert_eq!(read(&vars[slot]), expected[slot], "seed {seed} op {id} slot {slot}");
            }
        }
        for (slot, var) in vars.iter().enumerate() {
            assert_eq!(read(var), expected[slot], "seed {seed} slot {slot}");
        }
    }
    engine().wait_all(&no_poll).unwrap();
    assert!(inner.waits.load(SeqCst) > 0, "streams waited for each other");
    assert_eq!(memory::stats_of(device).held, 0);
}

/// The same op on the host, sometimes in the caller. The mock's memory can be used by both.
fn host_op(id: u64, reads: &[&Var], out: (&Var, Write)) {
    let (from, to, update) =
        (reads.iter().map(|v| (*v).clone()).collect::<Vec<_>>(), out.0.clone(), out.1 == Write::Update);
    let work = move || {
        // SAFETY: the engine gave these variables to this op.
        unsafe {
            let old = update.then(|| value(&to).read_volatile());
            let inputs = from.iter().map(|v| value(v).read_volatile());
            value(&to).write_volatile(inputs.chain(old).fold(id, mix));
        }
    };
    let written = out.0.try_write();
    let read = if written { reads.iter().take_while(|r| r.try_read()).count() } else { 0 };
    let all = written && read == reads.len();
    let work = if all {
        out.0.bump();
        work();
        None
    } else {
        Some(work)
    };
    reads[..read].iter().for_each(|r| r.end_read());
    if written {
        out.0.end_write();
    }
    if let Some(work) = work {
        push_on(CPU, Lane::Compute, reads, &[out], move |_| {
            work();
            Ok(())
        });
    }
}

#[test]
fn the_same_stream_is_granted_at_issue_and_the_host_at_retire() {
    let _one = alone();
    let (device, inner) = mock(LIMIT, 0);
    let (door, issued) = (Arc::new(Door::default()), Arc::new(AtomicUsize::new(0)));
    let v = Var::deferred(device, 1000).unwrap();
    for i in 0..3 {
        let (inner, door, issued) = (inner.clone(), door.clone(), issued.clone());
        push_on(device, Lane::Compute, &[], &[(&v, Write::Update)], move |running| {
            inner.launch(running.stream().unwrap(), move || {
                if i == 0 {
                    door.pass();
                }
                Ok(())
            });
            issued.fetch_add(1, SeqCst);
            Ok(())
        });
    }
    let seen = Arc::new(AtomicBool::new(false));
    let (set, copy_issued) = (seen.clone(), issued.clone());
    push_on(CPU, Lane::Compute, &[&v], &[], move |_| {
        set.store(true, SeqCst);
        Ok(())
    });
    push_on(device, Lane::Copy, &[&v], &[], move |_| {
        copy_issued.fetch_add(1, SeqCst);
        Ok(())
    });
    // All device work gets issued although nothing has been done; that a host task waits cannot be waited for.
    while issued.load(SeqCst) < 4 {
        std::thread::yield_now();
    }
    assert!(!seen.load(SeqCst) && !v.try_read() && !v.is_ready() && engine().stats().pending > 0);
    door.open();
    wait(&v).unwrap();
    engine().wait_all(&no_poll).unwrap();
    assert!(seen.load(SeqCst) && v.try_read());
    v.end_read();
}

#[test]
fn errors_that_show_at_retire_reach_what_was_issued_after() {
    let _one = alone();
    for naive in [false, true] {
        engine().set_naive(naive);
        let (device, inner) = mock(LIMIT, 200);
        let vars: Vec<Var> = (0..5).map(|_| Var::deferred(device, 64).unwrap()).collect();
        let failing = inner.clone();
        push_on(device, Lane::Compute, &[], &[(&vars[0], Write::Overwrite)], move |running| {
            failing.launch(running.stream().unwrap(), || Err(failure("on the device")));
            Ok(())
        });
        launch(device, &inner, Lane::Compute, 1, &[&vars[0]], (&vars[1], Write::Overwrite));
        launch(device, &inner, Lane::Copy, 2, &[&vars[1]], (&vars[2], Write::Overwrite));
        launch(device, &inner, Lane::Compute, 3, &[], (&vars[3], Write::Overwrite));
        launch(device, &inner, Lane::Compute, 4, &[], (&vars[4], Write::Overwrite));
        launch(device, &inner, Lane::Copy, 5, &[&vars[0]], (&vars[4], Write::Update));
        push_on(CPU, Lane::Compute, &[&vars[2]], &[], |_| panic!("must be skipped"));
        let cause = |e: Error| e.cause().clone();
        for i in [0, 1, 2, 4] {
            assert_eq!(cause(wait(&vars[i]).unwrap_err()), Cause::Failed("on the device".into()), "variable {i}");
        }
        wait(&vars[3]).unwrap();
        launch(device, &inner, Lane::Copy, 6, &[], (&vars[0], Write::Overwrite));
        assert_eq!(read(&vars[0]), 6, "overwriting heals");
        forget_errors();
    }
    engine().set_naive(false);
}

#[test]
fn early_release_on_a_stream() {
    let _one = alone();
    let (device, inner) = mock(LIMIT, 0);
    let (a, b) = (Var::deferred(device, 64).unwrap(), Var::deferred(device, 64).unwrap());
    let door = Arc::new(Door::default());
    let (stream, inside, to) = (inner.clone(), door.clone(), a.clone());
    push_on(device, Lane::Compute, &[], &[(&a, Write::Overwrite), (&b, Write::Overwrite)], move |running| {
        let to = value(&to) as usize;
        stream.launch(0, move || {
            // SAFETY: the variable is this task's until the mark that the release makes.
            unsafe { (to as *mut u64).write(11) };
            Ok(())
        });
        running.release(0)?;
        stream.launch(0, move || {
            inside.pass();
            Ok(())
        });
        Ok(())
    });
    assert_eq!(read(&a), 11);
    assert!(!b.is_ready());
    door.open();
    wait(&b).unwrap();
    engine().wait_all(&no_poll).unwrap();
}

#[test]
fn freed_blocks_carry_their_fences() {
    let _one = alone();
    let (device, inner) = mock(LIMIT, 0);
    let door = Arc::new(Door::default());
    let a = Var::deferred(device, 1 << 20).unwrap();
    let (stream, inside, to) = (inner.clone(), door.clone(), a.clone());
    let at = Arc::new(AtomicUsize::new(0));
    let place = at.clone();
    push_on(device, Lane::Compute, &[], &[(&a, Write::Overwrite)], move |_| {
        let to = value(&to) as usize;
        place.store(to, SeqCst);
        stream.launch(0, move || {
            inside.pass();
            // SAFETY: the block is not given to anyone else's work before this has retired.
            unsafe { (to as *mut u64).write(1) };
            Ok(())
        });
        Ok(())
    });
    // The same stream uses the block again at once: its work comes after.
    drop(a);
    let b = Var::deferred(device, 1 << 20).unwrap();
    launch(device, &inner, Lane::Compute, 2, &[], (&b, Write::Overwrite));
    while b.ptr().is_null() {
        std::thread::yield_now();
    }
    assert_eq!(b.ptr() as usize, at.load(SeqCst), "freed while in use, and used again");
    drop(b);
    // The host may have it only when the device is done: it gets other memory.
    let c = Var::new(device, 1 << 20).unwrap();
    assert_ne!(c.ptr() as usize, at.load(SeqCst));
    // Neither does the other stream, while there is other memory.
    let d = Var::deferred(device, 1 << 20).unwrap();
    launch(device, &inner, Lane::Copy, 3, &[], (&d, Write::Overwrite));
    assert_eq!(read(&d), 3);
    assert_ne!(d.ptr() as usize, at.load(SeqCst));
    door.open();
    engine().wait_all(&no_poll).unwrap();
    drop((c, d));
    memory::release();
    assert_eq!(inner.allocated.load(SeqCst), 0);
}

#[test]
fn storages_with_memory_inside_are_not_used_again_too_early() {
    let _one = alone();
    let (device, inner) = mock(LIMIT, 0);
    let door = Arc::new(Door::default());
    let (stream, inside, v) = (inner.clone(), door.clone(), Var::new(CPU, 8).unwrap());
    let to = value(&v) as usize;
    push_on(device, Lane::Copy, &[], &[(&v, Write::Overwrite)], move |_| {
        stream.launch(1, move || {
            inside.pass();
            // SAFETY: the engine keeps the memory until this has retired.
            unsafe { (to as *mut u64).write(u64::MAX) };
            Ok(())
        });
        Ok(())
    });
    std::thread::sleep(std::time::Duration::from_millis(5)); // so that the task has most likely let go of it
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        door.open();
    });
    drop(v);
    let fresh: Vec<Var> = (0..40).map(|_| Var::new(CPU, 8).unwrap()).collect();
    // SAFETY: nobody else knows these variables.
    fresh.iter().for_each(|v| unsafe { value(v).write(0) });
    engine().wait_all(&no_poll).unwrap();
    // SAFETY: as above.
    assert!(fresh.iter().all(|v| unsafe { value(v).read() } == 0));
}

#[test]
fn work_that_fails_half_issued_is_still_fenced() {
    let _one = alone();
    let (device, inner) = mock(LIMIT, 0);
    let door = Arc::new(Door::default());
    let (stream, inside, v) = (inner.clone(), door.clone(), Var::deferred(device, 1000).unwrap());
    let at = Arc::new(AtomicUsize::new(0));
    let (place, to) = (at.clone(), v.clone());
    push_on(device, Lane::Compute, &[], &[(&v, Write::Overwrite)], move |_| {
        let to = value(&to) as usize;
        place.store(to, SeqCst);
        stream.launch(0, move || {
            inside.pass();
            // SAFETY: the memory is kept until this has retired.
            unsafe { (to as *mut u64).write(1) };
            Ok(())
        });
        Err(failure("after the first launch"))
    });
    while at.load(SeqCst) == 0 {
        std::thread::yield_now();
    }
    drop(v);
    let other = Var::new(device, 1000).unwrap();
    assert_ne!(other.ptr() as usize, at.load(SeqCst));
    door.open();
    assert!(engine().wait_all(&no_poll).unwrap_err().to_string().contains("after the first launch"));
}

#[test]
fn a_full_device_waits_for_its_own_work_before_it_gives_up() {
    let _one = alone();
    const BLOCK: usize = 1 << 20;
    let (device, inner) = mock(3 * BLOCK, 300);
    for id in 0..40u64 {
        let v = Var::deferred(device, BLOCK).unwrap();
        let lane = if id.is_multiple_of(2) { Lane::Compute } else { Lane::Copy };
        launch(device, &inner, lane, id, &[], (&v, Write::Overwrite));
        if id.is_multiple_of(5) {
            assert_eq!(read(&v), id);
        }
    }
    engine().wait_all(&no_poll).unwrap();
    let full: Vec<Var> = (0..3).map(|_| Var::new(device, BLOCK).unwrap()).collect();
    assert!(matches!(Var::new(device, BLOCK).err().unwrap().cause(), Cause::OutOfMemory { .. }));
    drop(full);
    assert!(device.name() == "mock" && Device::from_index(device.index()) == Some(device) && !device.is_cpu());
}

#[test]
fn copies_between_host_and_device() {
    let _one = alone();
    let (device, _inner) = mock(LIMIT, 100);
    let host = Var::new(CPU, 4096).unwrap();
    // SAFETY: nobody else knows the variable yet.
    unsafe { host.ptr().write_bytes(42, 4096) };
    let (there, back) = (Var::deferred(device, 4096).unwrap(), Var::deferred(CPU, 4096).unwrap());
    for (from, to) in [(&host, &there), (&there, &back)] {
        let (src, dst) = (from.clone(), to.clone());
        push_on(device, Lane::Copy, &[from], &[(to, Write::Overwrite)], move |running| {
            // SAFETY: the engine gave both storages to this work, and keeps them until it has retired.
            unsafe { running.api().copy(running.stream().unwrap(), dst.ptr(), src.ptr(), 4096) }
        });
    }
    drop((host, there));
    wait(&back).unwrap();
    // SAFETY: the copy has retired.
    assert!((0..4096).all(|i| unsafe { *back.ptr().add(i) } == 42));
}
