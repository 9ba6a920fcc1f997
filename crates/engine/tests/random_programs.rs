//! Random programs: what the threaded engine computes is what running the ops one after the other computes.
//! ENGINE_PROGRAMS sets how many are tried.
#![allow(clippy::unwrap_used, clippy::print_stderr)]
mod common;
use common::*;
use gluonish_base::{Cause, Error, Result, Site};
use gluonish_engine::{Device, Lane, Push, Running, Var, Write, engine};

#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Works,
    Fails,
    Panics,
}

#[derive(Clone)]
struct Op {
    id: u64,
    reads: Vec<usize>,
    writes: Vec<(usize, Write)>,
    fate: Fate,
    /// The first write is handed out before the op is over.
    early: bool,
    inline: bool,
    /// The slots that are overwritten get new storages.
    fresh: bool,
    device: Device,
    lane: Lane,
    priority: i32,
    wait: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Inline {
    Never,
    Sometimes,
    Always,
}

fn program(seed: u64, inline: Inline) -> (usize, Vec<Op>) {
    let mut rng = Rng::new(seed);
    let slots = 1 + rng.below(12) as usize;
    let errors = rng.one_in(2);
    let ops = (1..=20 + rng.below(80))
        .map(|id| {
            let mut writes: Vec<(usize, Write)> = Vec::new();
            for _ in 0..1 + rng.below(2) {
                let slot = rng.below(slots as u64) as usize;
                if writes.iter().all(|w| w.0 != slot) {
                    const KINDS: [Write; 6] = {
                        use Write::*;
                        [Overwrite, Overwrite, Update, Update, Commit, Keep]
                    };
                    writes.push((slot, KINDS[rng.below(6) as usize]));
                }
            }
            let fate = match rng.below(24) {
                0 if errors => Fate::Fails,
                1 if errors => Fate::Panics,
                _ => Fate::Works,
            };
            Op {
                id,
                reads: (0..rng.below(4)).map(|_| rng.below(slots as u64) as usize).collect(),
                writes,
                fate,
                early: rng.one_in(4),
                inline: match inline {
                    Inline::Never => false,
                    Inline::Sometimes => rng.one_in(2),
                    Inline::Always => true,
                },
                fresh: rng.one_in(3),
                device: Device::cpu(rng.below(2) as u16),
                lane: [Lane::Compute, Lane::Compute, Lane::Copy, Lane::Callback][rng.below(4) as usize],
                priority: rng.below(3) as i32,
                wait: rng.one_in(16).then(|| rng.below(slots as u64) as usize),
            }
        })
        .collect();
    (slots, ops)
}

fn mix(h: u64, v: u64) -> u64 {
    (h ^ v).rotate_left(17).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// A slot's value, or the number of the op that failed.
type Value = std::result::Result<u64, u64>;

impl Op {
    /// Inputs in the order in which the engine looks at them.
    fn inputs(&self) -> Vec<usize> {
        let only_read = self.reads.iter().copied().filter(|r| self.writes.iter().all(|w| w.0 != *r));
        let changed = self.writes.iter().filter(|w| matches!(self.kind(**w), Write::Update | Write::Keep));
        only_read.chain(changed.map(|w| w.0)).collect()
    }

    /// How a slot is written: what is read as well is changed, however it was said.
    fn kind(&self, w: (usize, Write)) -> Write {
        if w.1 != Write::Keep && self.reads.contains(&w.0) { Write::Update } else { w.1 }
    }

    fn result(&self, inputs: &[u64], slot: usize) -> u64 {
        mix(inputs.iter().fold(self.id, |h, v| mix(h, *v)), slot as u64)
    }

    /// What the op means.
    fn apply(&self, slots: &mut [Value]) {
        let inputs: std::result::Result<Vec<u64>, u64> = self.inputs().iter().map(|i| slots[*i]).collect();
        for (k, w) in self.writes.iter().enumerate() {
            let old = slots[w.0];
            slots[w.0] = match (&inputs, self.kind(*w)) {
                (Ok(values), _) if self.fate == Fate::Works || (self.early && k == 0) => Ok(self.result(values, w.0)),
                (_, Write::Commit) | (Err(_), Write::Keep) => old,
                (Err(_), Write::Update) if old.is_err() => old,
                (Err(e), _) => Err(*e),
                (Ok(_), _) => Err(self.id),
            };
        }
    }
}

fn cell(v: &Var) -> *mut u64 {
    v.ptr().cast()
}

/// The op as work. It holds what it uses, so nothing of that may change until it changes it itself.
fn body(op: Op, vars: Vec<Var>) -> impl FnOnce(Option<&Running<'_>>) -> Result + Send + 'static {
    move |running| {
        let at = |slot: usize| cell(&vars[slot]);
        let held: Vec<usize> = op.reads.iter().copied().chain(op.writes.iter().map(|w| w.0)).collect();
        // SAFETY: the engine gave this op the variables in `held`; they have memory of at least 8 bytes.
        let look = |slots: &[usize]| slots.iter().map(|i| unsafe { at(*i).read_volatile() }).collect::<Vec<_>>();
        let before = look(&held);
        let inputs = look(&op.inputs());
        if op.id.is_multiple_of(3) {
            std::thread::yield_now(); // stretch the window
        }
        assert_eq!(before, look(&held), "what an op holds changed under it");
        for (k, w) in op.writes.iter().enumerate() {
            if op.fate == Fate::Works || (op.early && k == 0) {
                // SAFETY: as above, and it is held for writing.
                unsafe { at(w.0).write_volatile(op.result(&inputs, w.0)) };
            }
            if op.early
                && k == 0
                && let Some(running) = running
            {
                running.release(0)?;
                std::thread::yield_now();
            }
        }
        match op.fate {
            Fate::Works => Ok(()),
            Fate::Fails => Err(failure(&op.id.to_string())),
            Fate::Panics => std::panic::panic_any(op.id.to_string()),
        }
    }
}

/// Runs in the caller if everything is to be had at once: all or nothing.
fn try_inline(op: &Op, vars: &[Var]) -> bool {
    let only_read: Vec<usize> = op.reads.iter().copied().filter(|r| op.writes.iter().all(|w| w.0 != *r)).collect();
    let writes = op.writes.iter().take_while(|w| vars[w.0].try_write()).count();
    let all_writes = writes == op.writes.len();
    let reads = if all_writes { only_read.iter().take_while(|r| vars[**r].try_read()).count() } else { 0 };
    let all = all_writes && reads == only_read.len();
    if all {
        op.writes.iter().for_each(|w| vars[w.0].bump());
        body(op.clone(), vars.to_vec())(None).unwrap();
    }
    only_read[..reads].iter().for_each(|r| vars[*r].end_read());
    op.writes[..writes].iter().for_each(|w| vars[w.0].end_write());
    all
}

fn issue(op: &Op, vars: &mut [Var]) {
    if op.fresh {
        for w in op.writes.iter().filter(|w| op.kind(**w) == Write::Overwrite) {
            vars[w.0] = Var::deferred(CPU, if op.id.is_multiple_of(2) { 8 } else { 200 }).unwrap();
        }
    }
    if op.inline && op.fate == Fate::Works && try_inline(op, vars) {
        return;
    }
    let reads: Vec<&Var> = op.reads.iter().map(|i| &vars[*i]).collect();
    let writes: Vec<(&Var, Write)> = op.writes.iter().map(|w| (&vars[w.0], w.1)).collect();
    let work = body(op.clone(), vars.to_vec());
    let (device, lane, priority) = (op.device, op.lane, op.priority);
    let brief = op.id.is_multiple_of(3);
    let p = Push { op: "op", reads: &reads, writes: &writes, device, lane, priority, brief, site: Site::default() };
    engine().push(p, move |running| work(Some(running)));
}

fn failed_op(e: &Error) -> u64 {
    match e.cause() {
        Cause::Failed(text) | Cause::Panicked(text) => text.parse().unwrap(),
        other => panic!("{other}"),
    }
}

/// What a slot is, as a wait shows it.
fn seen(v: &Var) -> Value {
    // SAFETY: the wait returned without an error: the variable has memory and nobody writes it.
    wait(v).map(|()| unsafe { cell(v).read_volatile() }).map_err(|e| failed_op(&e))
}

fn run(seed: u64, inline: Inline, naive: bool) {
    let (slots, ops) = program(seed, inline);
    engine().set_naive(naive);
    let mut expected: Vec<Value> = (0..slots as u64).map(Ok).collect();
    let mut vars: Vec<Var> = (0..slots).map(|_| Var::new(CPU, 8).unwrap()).collect();
    // SAFETY: nobody else knows these variables yet.
    vars.iter().enumerate().for_each(|(i, v)| unsafe { cell(v).write(i as u64) });
    for op in &ops {
        let versions: Vec<u32> = op.writes.iter().map(|w| vars[w.0].version()).collect();
        let storages: Vec<usize> = vars.iter().map(Var::id).collect();
        issue(op, &mut vars);
        op.apply(&mut expected);
        for (w, version) in op.writes.iter().zip(versions) {
            let renewed = storages[w.0] != vars[w.0].id();
            assert_eq!(vars[w.0].version(), if renewed { 1 } else { version + 1 }, "versions move at the push");
        }
        if let Some(slot) = op.wait {
            assert_eq!(seen(&vars[slot]), expected[slot], "seed {seed} op {} slot {slot} {inline:?} {naive}", op.id);
        }
    }
    for slot in 0..slots {
        assert_eq!(seen(&vars[slot]), expected[slot], "seed {seed} slot {slot} {inline:?} naive {naive}");
    }
    forget_errors();
    assert_eq!((engine().stats().pending, engine().stats().in_flight), (0, 0));
}

fn programs() -> u64 {
    std::env::var("ENGINE_PROGRAMS").map_or(4000, |v| v.parse().unwrap())
}

#[test]
fn threaded_and_serial_equal_one_after_the_other() {
    let _one = alone();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        // Panics of ops are part of the programs; those of assertions are not.
        if info.payload().downcast_ref::<String>().is_none_or(|s| s.parse::<u64>().is_err()) {
            eprintln!("{info}");
        }
    }));
    for seed in 1..=programs() {
        let inline = [Inline::Never, Inline::Sometimes, Inline::Always][(seed % 3) as usize];
        run(seed, inline, seed.is_multiple_of(8));
    }
    std::panic::set_hook(hook);
}
