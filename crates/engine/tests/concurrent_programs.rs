//! Several threads push on the same variables without a lock between them: what each op saw must fit one serial order, which
//! keeps the order of each thread wherever its ops share a variable.
#![allow(clippy::unwrap_used)]
mod common;
use common::*;
use gluonish_base::{Result, Site};
use gluonish_engine::{Device, Lane, Push, Var, Write, engine};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

const THREADS: u64 = 3;
const SLOTS: usize = 24;

/// A variable's memory: its value, and how many writes it has seen. Plain memory: a race would show.
fn cell(v: &Var) -> *mut [u64; 2] {
    v.ptr().cast()
}

#[derive(Clone)]
struct Did {
    id: u64,
    /// Variable, and the write count that was seen.
    reads: Vec<(usize, u64)>,
    writes: Vec<(usize, u64)>,
}

fn apply(id: u64, mem: &mut HashMap<usize, u64>, reads: &[usize], writes: &[usize]) {
    let mut h = id.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for r in reads {
        h = (h ^ mem[r]).rotate_left(17).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    for w in writes {
        let old = mem[w];
        mem.insert(*w, h ^ old.rotate_left(*w as u32 % 63));
    }
}

type Log = Arc<Mutex<Vec<Did>>>;

fn body(
    vars: Arc<Vec<Var>>,
    id: u64,
    reads: Vec<usize>,
    writes: Vec<usize>,
    log: Log,
) -> impl FnOnce() -> Result + Send {
    move || {
        // SAFETY: the engine gave this op its variables, which hold two numbers each.
        let get = |i: &usize| unsafe { cell(&vars[*i]).read_volatile() };
        let mut mem: HashMap<usize, u64> = reads.iter().chain(&writes).map(|i| (*i, get(i)[0])).collect();
        let counts = |of: &[usize]| of.iter().map(|i| (*i, get(i)[1])).collect::<Vec<_>>();
        let did = Did { id, reads: counts(&reads), writes: counts(&writes) };
        apply(id, &mut mem, &reads, &writes);
        if id.is_multiple_of(7) {
            std::thread::yield_now();
        }
        for (i, count) in did.reads.iter().chain(&did.writes) {
            assert_eq!(get(i)[1], *count, "variable {i} changed under an op that holds it");
        }
        for i in &writes {
            // SAFETY: as above, and held for writing.
            unsafe { cell(&vars[*i]).write_volatile([mem[i], get(i)[1] + 1]) };
        }
        log.lock().unwrap().push(did);
        Ok(())
    }
}

fn one(vars: &Arc<Vec<Var>>, rng: &mut Rng, id: u64, hot: u64, log: &Log) {
    let mut some = |n: u64| (0..n).map(|_| rng.below(hot) as usize).collect::<Vec<_>>();
    let (reads, mut writes) = (some(id % 4), some(1 + id % 2));
    writes.sort_unstable();
    writes.dedup();
    let work = body(vars.clone(), id, reads.clone(), writes.clone(), log.clone());
    if rng.one_in(3) {
        let only: Vec<usize> = reads.iter().copied().filter(|r| !writes.contains(r)).collect();
        let got_w = writes.iter().take_while(|w| vars[**w].try_write()).count();
        let all_w = got_w == writes.len();
        let got_r = if all_w { only.iter().take_while(|r| vars[**r].try_read()).count() } else { 0 };
        let mut work = Some(work);
        if all_w
            && got_r == only.len()
            && let Some(work) = work.take()
        {
            work().unwrap();
        }
        only[..got_r].iter().for_each(|r| vars[*r].end_read());
        writes[..got_w].iter().for_each(|w| vars[*w].end_write());
        if let Some(work) = work {
            queue(vars, rng, &reads, &writes, work);
        }
    } else {
        queue(vars, rng, &reads, &writes, work);
    }
}

fn queue(vars: &[Var], rng: &mut Rng, reads: &[usize], writes: &[usize], f: impl FnOnce() -> Result + Send + 'static) {
    let reads: Vec<&Var> = reads.iter().map(|i| &vars[*i]).collect();
    let writes: Vec<(&Var, Write)> = writes.iter().map(|i| (&vars[*i], Write::Update)).collect();
    let lane = [Lane::Compute, Lane::Copy, Lane::Callback][rng.below(3) as usize];
    let (device, priority) = (Device::cpu(rng.below(2) as u16), rng.below(3) as i32);
    let brief = rng.one_in(2);
    engine().push(
        Push { op: "op", reads: &reads, writes: &writes, device, lane, priority, brief, site: Site::default() },
        move |_| f(),
    );
}

fn run(seed: u64, ops: u64) {
    let vars: Arc<Vec<Var>> = Arc::new((0..SLOTS).map(|_| Var::new(CPU, 16).unwrap()).collect());
    // SAFETY: nobody else knows these variables yet.
    vars.iter().enumerate().for_each(|(i, v)| unsafe { *cell(v) = [i as u64, 0] });
    let log = Log::default();
    let hot = 2 + seed % (SLOTS as u64 - 1); // few variables: contention; many: parallelism
    std::thread::scope(|s| {
        for t in 0..THREADS {
            let (vars, log) = (&vars, &log);
            s.spawn(move || {
                let mut rng = Rng::new(seed * 1000 + t);
                for k in 0..ops {
                    one(vars, &mut rng, k * THREADS + t, hot, log);
                    if rng.one_in(100) {
                        wait(&vars[rng.below(hot) as usize]).unwrap();
                    }
                }
            });
        }
    });
    engine().wait_all(&no_poll).unwrap();
    let log = log.lock().unwrap().clone();
    assert_eq!(log.len() as u64, ops * THREADS);
    check(&log, &vars, ops);
}

/// Who must come before whom, by what was seen and by the order of each thread.
fn order(log: &[Did], ops: u64) -> Vec<Vec<usize>> {
    let mut writer = HashMap::new();
    for (i, d) in log.iter().enumerate() {
        for w in &d.writes {
            assert!(writer.insert((w.0, w.1 + 1), i).is_none(), "two writers of one count");
        }
    }
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); log.len()];
    for (i, d) in log.iter().enumerate() {
        for a in d.reads.iter().chain(&d.writes) {
            before[i].extend(writer.get(a).filter(|w| **w != i)); // after the writer of what it saw
            if let Some(&w) = writer.get(&(a.0, a.1 + 1)).filter(|w| **w != i) {
                before[w].push(i); // and before the writer of the next
            }
        }
    }
    let at: HashMap<u64, usize> = log.iter().enumerate().map(|(i, d)| (d.id, i)).collect();
    for t in 0..THREADS {
        let mut last: HashMap<usize, (Option<usize>, Vec<usize>)> = HashMap::new(); // last writer, readers since
        for i in (0..ops).map(|k| at[&(k * THREADS + t)]) {
            for (v, _) in &log[i].reads {
                let e = last.entry(*v).or_default();
                before[i].extend(e.0);
                e.1.push(i);
            }
            for (v, _) in &log[i].writes {
                let e = last.entry(*v).or_default();
                before[i].extend(e.0.filter(|w| *w != i));
                before[i].extend(e.1.drain(..).filter(|r| *r != i));
                e.0 = Some(i);
            }
        }
    }
    before
}

/// Replays the log in an order that fits; the values must come out the same.
fn check(log: &[Did], vars: &[Var], ops: u64) {
    let before = order(log, ops);
    let mut after = vec![Vec::new(); log.len()];
    let mut missing: Vec<usize> = before.iter().map(Vec::len).collect();
    before.iter().enumerate().for_each(|(i, b)| b.iter().for_each(|p| after[*p].push(i)));
    let mut ready: Vec<usize> = (0..log.len()).filter(|i| missing[*i] == 0).collect();
    let mut mem: HashMap<usize, u64> = (0..SLOTS).map(|i| (i, i as u64)).collect();
    let mut done = 0;
    while let Some(i) = ready.pop() {
        let names = |l: &[(usize, u64)]| l.iter().map(|x| x.0).collect::<Vec<_>>();
        apply(log[i].id, &mut mem, &names(&log[i].reads), &names(&log[i].writes));
        done += 1;
        for n in &after[i] {
            missing[*n] -= 1;
            if missing[*n] == 0 {
                ready.push(*n);
            }
        }
    }
    assert_eq!(done, log.len(), "no serial order explains what was seen");
    for (i, v) in vars.iter().enumerate() {
        // SAFETY: all work is done.
        assert_eq!(unsafe { (*cell(v))[0] }, mem[&i], "variable {i}");
    }
}

#[test]
fn pushers_in_parallel_fit_one_serial_order() {
    let _one = alone();
    let programs = std::env::var("ENGINE_PROGRAMS").map_or(4000, |v| v.parse().unwrap());
    for seed in 1..=1 + programs / 40 {
        run(seed, 400);
    }
}

#[test]
fn pushers_in_parallel_on_the_serial_engine() {
    let _one = alone();
    engine().set_naive(true);
    for seed in 1..=20 {
        run(seed, 200);
    }
    engine().set_naive(false);
}
