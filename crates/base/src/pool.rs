//! THE thread pool. A region is a number of chunks, of which each thread has a share of neighbours: it takes them from
//! the front, and then helps others from the back of theirs. The caller works too; who wakes too late finds his share
//! done. A thread thus meets the same part of an array in one operation after the other, and finds it in its cache.
//! Chunks are functions of the work alone, so results do not depend on how many threads there are.
use crate::settings::settings;
use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};

mod share;
use share::Share;

const MAX_THREADS: usize = 1024;
/// About 50 us of spinning before a worker parks: long enough to bridge the gap between two operations.
const SPINS: u32 = 4000;

const OPEN: u64 = 1;
const JOIN: u64 = 2;
const JOINED: u64 = 0xfffe;
const EPOCH: u64 = 1 << 16;

type Job = *const (dyn Fn(usize) + Sync);

struct Pool {
    /// epoch | joined workers | open: one word, so that a worker joins a region or misses it, never half of each.
    gate: AtomicU64,
    left: AtomicUsize,
    width: AtomicUsize,
    /// One for each thread that takes part, the caller's first.
    shares: Box<[Share]>,
    job: UnsafeCell<Option<Job>>,
    /// A region runs. Whoever finds it set works alone.
    busy: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    sleeping: AtomicUsize,
    workers: Mutex<Vec<Thread>>,
}

// SAFETY: `job` is written only by the holder of `busy`, before the gate opens (release), and read only by workers that
// joined through the gate (acquire) and are counted out before the holder goes on.
unsafe impl Sync for Pool {}
// SAFETY: the job is a pointer to a `Sync` closure; see above for when it is read.
unsafe impl Send for Pool {}

static CURRENT: AtomicPtr<Pool> = AtomicPtr::new(std::ptr::null_mut());
static THREADS: AtomicUsize = AtomicUsize::new(0);
thread_local!(static INSIDE: Cell<bool> = const { Cell::new(false) });

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processors that this process may use: affinity mask and cgroup quota.
pub fn cpus() -> usize {
    static CPUS: OnceLock<usize> = OnceLock::new();
    *CPUS.get_or_init(|| thread::available_parallelism().map_or(1, |n| n.get()))
}

/// Threads that one operation may use.
#[inline]
pub fn threads() -> usize {
    match THREADS.load(Relaxed) {
        0 => default_threads(),
        n => n,
    }
}

#[cold]
fn default_threads() -> usize {
    let n = match settings().num_threads {
        0 => cpus(),
        n => n,
    };
    set_threads(n);
    threads()
}

/// Sets the number of threads of an operation (at least 1, at most 1024) and returns the number before.
pub fn set_threads(n: usize) -> usize {
    let old = THREADS.swap(n.clamp(1, MAX_THREADS), Relaxed);
    if old == 0 { n } else { old }
}

/// What every thread that runs kernels does first: denormals as the settings say.
pub fn prepare_thread() {
    #[cfg(target_arch = "x86_64")]
    if settings().ftz {
        let mut csr = 0u32;
        // SAFETY: reads and writes this thread's own floating-point control word; the two bits set (flush to zero,
        // denormals are zero) change results of denormal arithmetic only, which is what the user asked for.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &mut csr);
            csr |= 1 << 15 | 1 << 6;
            std::arch::asm!("ldmxcsr [{}]", in(reg) &csr);
        }
    }
    #[cfg(target_arch = "aarch64")]
    if settings().ftz {
        // SAFETY: as above, in ARM's control word, where one bit does both.
        unsafe {
            std::arch::asm!("mrs {0}, fpcr", "orr {0}, {0}, #1 << 24", "msr fpcr, {0}", out(reg) _);
        }
    }
}

/// After a fork the child has no workers: it starts a pool of its own. Only to be called there, with one thread running.
pub fn after_fork() {
    CURRENT.store(std::ptr::null_mut(), SeqCst);
    INSIDE.set(false);
}

fn current() -> &'static Pool {
    let p = CURRENT.load(Acquire);
    if p.is_null() {
        return start();
    }
    // SAFETY: pools are leaked; the pointer is valid for ever.
    unsafe { &*p }
}

#[cold]
fn start() -> &'static Pool {
    let fresh = Box::into_raw(Box::new(Pool {
        gate: AtomicU64::new(0),
        left: AtomicUsize::new(0),
        width: AtomicUsize::new(0),
        shares: share::none(MAX_THREADS),
        job: UnsafeCell::new(None),
        busy: AtomicBool::new(false),
        panic: Mutex::new(None),
        sleeping: AtomicUsize::new(0),
        workers: Mutex::new(Vec::new()),
    }));
    match CURRENT.compare_exchange(std::ptr::null_mut(), fresh, AcqRel, Acquire) {
        // SAFETY: as in `current`.
        Ok(_) => unsafe { &*fresh },
        // SAFETY: the same; and nobody knows the pool that lost the race, which has no threads yet.
        Err(other) => unsafe {
            drop(Box::from_raw(fresh));
            &*other
        },
    }
}

/// Calls `f(0)`, ..., `f(chunks - 1)`, each once, on up to `width` threads including this one. Returns when all are done.
/// A panic in a chunk is raised here, after the others have finished. Nested and concurrent regions run on the caller alone.
pub fn run(chunks: usize, width: usize, f: impl Fn(usize) + Sync) {
    let width = width.min(chunks).min(threads());
    if width <= 1 || INSIDE.get() {
        return (0..chunks).for_each(f);
    }
    let pool = current();
    if pool.busy.compare_exchange(false, true, Acquire, Relaxed).is_err() {
        return (0..chunks).for_each(f);
    }
    match u32::try_from(chunks) {
        Ok(n) => pool.region(n, width, &f),
        // More than a share can count: several at a time.
        Err(_) => {
            let each = chunks.div_ceil(u32::MAX as usize);
            let some = |i: usize| (i * each..chunks.min((i + 1) * each)).for_each(&f);
            pool.region(chunks.div_ceil(each) as u32, width, &some);
        }
    }
}

impl Pool {
    fn region(&'static self, chunks: u32, width: usize, f: &(dyn Fn(usize) + Sync)) {
        self.hire(width - 1);
        // SAFETY: this thread holds `busy` and the gate is closed, so nobody reads `job`. The lifetime is erased; no
        // worker uses the closure after it counted itself out, and this function waits for that below.
        unsafe { *self.job.get() = Some(std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), Job>(f)) };
        self.left.store(0, Relaxed);
        self.width.store(width, Relaxed);
        share::deal(&self.shares[..width], chunks);
        let epoch = (self.gate.load(Relaxed) & !(OPEN | JOINED)).wrapping_add(EPOCH);
        self.gate.store(epoch | OPEN, SeqCst);
        if self.sleeping.load(SeqCst) > 0 {
            lock(&self.workers).iter().take(width - 1).for_each(Thread::unpark);
        }
        INSIDE.set(true);
        self.take_chunks(0, f);
        INSIDE.set(false);
        let joined = (self.gate.fetch_and(!OPEN, AcqRel) & JOINED) / JOIN;
        let mut spins = 0u32;
        while self.left.load(Acquire) as u64 != joined {
            spins += 1;
            if spins > 20_000 { thread::yield_now() } else { spin_loop() }
        }
        let panic = lock(&self.panic).take();
        self.busy.store(false, Release);
        if let Some(p) = panic {
            resume_unwind(p);
        }
    }

    /// The chunks of this thread's share, then what is left of others'.
    fn take_chunks(&self, me: usize, f: &(dyn Fn(usize) + Sync)) {
        let shares = &self.shares[..self.width.load(Relaxed)];
        let work = || {
            while let Some(i) = shares[me].first() {
                f(i);
            }
            for other in shares[me + 1..].iter().chain(&shares[..me]) {
                while let Some(i) = other.last() {
                    f(i);
                }
            }
        };
        if let Err(p) = catch_unwind(AssertUnwindSafe(work)) {
            lock(&self.panic).get_or_insert(p);
        }
    }

    /// Starts workers until there are `n`. A machine that refuses a thread gets by with fewer.
    fn hire(&'static self, n: usize) {
        let mut workers = lock(&self.workers);
        while workers.len() < n {
            let id = workers.len();
            let spawned = thread::Builder::new().name(format!("gluonish-pool-{id}")).spawn(move || self.worker(id + 1));
            match spawned {
                Ok(h) => workers.push(h.thread().clone()),
                Err(_) => break,
            }
        }
    }

    fn worker(&self, me: usize) {
        prepare_thread();
        INSIDE.set(true);
        let mut seen = 0;
        loop {
            let gate = self.await_epoch(seen);
            seen = gate & !(OPEN | JOINED);
            if !self.join(seen, me) {
                continue;
            }
            // SAFETY: joined through the open gate, so the job is set and its owner waits for `left`.
            if let Some(job) = unsafe { *self.job.get() } {
                // SAFETY: as above: the closure lives until this worker has counted itself out.
                self.take_chunks(me, unsafe { &*job });
            }
            self.left.fetch_add(1, Release);
        }
    }

    /// Spins, then parks, until a region other than `seen` is open.
    fn await_epoch(&self, seen: u64) -> u64 {
        let spins = if threads() > cpus() { 0 } else { SPINS };
        let is_new = |g: u64| g & OPEN != 0 && g & !(OPEN | JOINED) != seen;
        loop {
            for _ in 0..spins {
                let g = self.gate.load(Acquire);
                if is_new(g) {
                    return g;
                }
                spin_loop();
            }
            self.sleeping.fetch_add(1, SeqCst);
            let g = self.gate.load(SeqCst);
            if !is_new(g) {
                thread::park();
            }
            self.sleeping.fetch_sub(1, SeqCst);
            if is_new(g) {
                return g;
            }
            // Woken, perhaps too late for the region that called: the next one may follow at once, so it spins again.
            // Going straight back to sleep would miss each of a row of short regions.
        }
    }

    fn join(&self, epoch: u64, me: usize) -> bool {
        let mut g = self.gate.load(Acquire);
        loop {
            if g & OPEN == 0 || g & !(OPEN | JOINED) != epoch || me >= self.width.load(Relaxed) {
                return false;
            }
            match self.gate.compare_exchange_weak(g, g + JOIN, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(now) => g = now,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chunk_once() {
        set_threads(4);
        for n in [0, 1, 2, 3, 100, 1000] {
            let seen: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
            for _ in 0..200 {
                run(n, 4, |i| {
                    seen[i].fetch_add(1, Relaxed);
                });
            }
            assert!(seen.iter().all(|s| s.load(Relaxed) == 200));
        }
    }

    #[test]
    fn panics_reach_the_caller_and_the_pool_goes_on() {
        set_threads(4);
        for _ in 0..50 {
            let r = catch_unwind(|| run(8, 4, |i| assert!(i != 5, "chunk five")));
            assert!(r.is_err());
        }
        let sum = AtomicUsize::new(0);
        run(10, 4, |i| {
            sum.fetch_add(i, Relaxed);
        });
        assert_eq!(sum.load(Relaxed), 45);
    }

    #[test]
    fn nested_and_concurrent() {
        set_threads(4);
        let sum = AtomicUsize::new(0);
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..500 {
                        run(4, 4, |_| {
                            run(4, 4, |_| {
                                sum.fetch_add(1, Relaxed);
                            })
                        })
                    }
                });
            }
        });
        assert_eq!(sum.load(Relaxed), 4 * 500 * 16);
    }
}
