//! Where work runs: at once in the caller when it is small and its operands are free, else queued with the engine.
use crate::array::NDArray;
use crate::beside::Beside;
use crate::host;
use crate::invoke::{In, PartOf, call_kernel, call_over, explain, out_views};
use gluonish_base::tls::tls;
use gluonish_base::{Error, Result, Scalar, Site, pool, profiler};
use gluonish_engine::{Device, Lane, Push, Var, Write, engine};
use gluonish_kernels::{Attrs, Cx, Mode, Out, View};
use gluonish_ops::Op;
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Up to this time an op runs in the caller. Handing it over costs some microseconds, and while all threads are at it, the
/// caller has no processor to go on with.
pub const INLINE_NS: u64 = 100_000;
/// Work for another thread of the pool, which is as a rule awake while there is work, must be worth calling it.
const THREAD_NS: u64 = 5_000;
/// Up to this time a thread that waits for an op may run it itself. No interrupt is looked for meanwhile.
const BRIEF_NS: u64 = 4_000_000;
/// How much faster work gets by more threads is not known before: no more than this is counted on.
const GAIN: usize = 4;

static LIMIT: AtomicU64 = AtomicU64::new(INLINE_NS);

/// Threads for work of this cost if it is small enough to run in the caller, else none.
#[inline(always)]
pub(crate) fn threads_here(cost: u64) -> Option<usize> {
    let threads = threads_for(cost);
    fits(cost, threads, LIMIT.load(Relaxed)).then_some(threads)
}

/// Whether work of this cost takes so many threads this time at most.
#[inline(always)]
fn fits(cost: u64, threads: usize, ns: u64) -> bool {
    cost <= ns.saturating_mul(threads.min(GAIN) as u64)
}

/// For tests: `Some(0)` queues nearly everything, `Some(u64::MAX)` nothing; `None` is the default. Returns what was set.
pub fn set_inline(limit: Option<u64>) -> u64 {
    LIMIT.swap(limit.unwrap_or(INLINE_NS), Relaxed)
}

/// Inputs that work in the caller may read until this is dropped, also when a kernel panics.
pub(crate) struct Operands<'a> {
    ins: &'a [In<'a>],
    /// Those that are not registered as read, a bit each. They have no handle but the caller's, which the interpreter's
    /// lock keeps from other threads: a registration costs more than a small op's arithmetic.
    alone: u64,
    /// Whether any is registered.
    registered: bool,
}

impl<'a> Operands<'a> {
    /// All of them or none; never waits.
    #[inline(always)]
    pub(crate) fn take(ins: &'a [In<'a>]) -> Option<Operands<'a>> {
        let locked = tls().locked();
        let mut taken = Operands { ins: &[], alone: 0, registered: false };
        for (k, i) in ins.iter().enumerate() {
            if let In::Array(a) = i {
                if locked && k < u64::BITS as usize && a.is_alone() {
                    taken.alone |= 1 << k;
                } else if a.storage().try_read() {
                    taken.registered = true;
                } else {
                    return None;
                }
            }
            taken.ins = &ins[..=k];
        }
        Some(taken)
    }
}

impl Drop for Operands<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.registered {
            self.release();
        }
    }
}

impl Operands<'_> {
    fn release(&self) {
        for (k, i) in self.ins.iter().enumerate() {
            if let In::Array(a) = i
                && (k >= u64::BITS as usize || self.alone >> k & 1 == 0)
            {
                a.storage().end_read();
            }
        }
    }
}

/// Runs work in the caller; the profiler, when it is on, sees it like queued work.
#[inline(always)]
pub(crate) fn in_caller<T>(op: &'static Op, ins: &[In<'_>], outs: &[NDArray], f: impl FnOnce() -> T) -> T {
    if !profiler::enabled() {
        return f();
    }
    let start = profiler::now();
    let result = f();
    let arrays = ins.iter().filter_map(In::array).chain(outs);
    profiler::record(profiler::Event {
        op: op.name,
        device: outs.first().map_or(0, |o| o.device().index()),
        thread: profiler::thread_number(),
        queued: start,
        start,
        end: profiler::now(),
        bytes: arrays.map(|a| a.nbytes() as u64).sum(),
    });
    result
}

/// Runs a kernel in the caller, which holds the operands.
#[inline(always)]
pub(crate) fn run_inline(
    op: &'static Op,
    cx: &Cx,
    ins: &[In<'_>],
    views: &[View<'_>],
    outs: &[NDArray],
    attrs: &Attrs,
) -> Result {
    let mut to = out_views(outs, Mode::Write);
    in_caller(op, ins, outs, || guarded(op, ins, || call_over(op, cx, views, &mut to, attrs)))
}

/// An operand that a queued task owns.
pub(crate) enum Owned {
    Array(NDArray),
    Scalar(Scalar),
    Absent,
}
impl Owned {
    pub(crate) fn of(i: &In<'_>) -> Owned {
        match i {
            In::Array(a) => Owned::Array((*a).clone()),
            In::Scalar(s) => Owned::Scalar(*s),
            In::Absent => Owned::Absent,
        }
    }
    pub(crate) fn borrow(&self) -> In<'_> {
        match self {
            Owned::Array(a) => In::Array(a),
            Owned::Scalar(s) => In::Scalar(*s),
            Owned::Absent => In::Absent,
        }
    }
}

/// Threads worth using for work of this cost.
#[inline(always)]
pub(crate) fn threads_for(cost: u64) -> usize {
    if cost < THREAD_NS { 1 } else { pool::threads() }
}

/// One op on its way to the engine.
pub(crate) struct Launch {
    pub(crate) op: &'static Op,
    pub(crate) cx: Cx,
    pub(crate) cost: u64,
    pub(crate) device: Device,
    pub(crate) site: Site,
}

impl Launch {
    /// Queues the kernel over fresh outputs.
    #[cold]
    pub(crate) fn queue(self, ins: &[In<'_>], outs: &[NDArray], attrs: &Attrs) -> Result {
        let writes: SmallVec<[(&Var, Write); 2]> = outs.iter().map(|o| (o.storage(), Write::Overwrite)).collect();
        self.push(ins, outs, attrs, Mode::Write, &writes)
    }

    /// Queues the kernel; `writes` says how each output's storage is written.
    pub(crate) fn push(
        self,
        ins: &[In<'_>],
        outs: &[NDArray],
        attrs: &Attrs,
        mode: Mode,
        writes: &[(&Var, Write)],
    ) -> Result {
        let Launch { op, mut cx, cost, device, site } = self;
        cx.threads = threads_for(cost);
        let owned: SmallVec<[Owned; 3]> = ins.iter().map(Owned::of).collect();
        let (held, attrs) = (outs.iter().cloned().collect::<SmallVec<[NDArray; 1]>>(), attrs.clone());
        let part_of = tls().part_of.get();
        let work = move || {
            let _part = PartOf::set(part_of);
            let ins: SmallVec<[In<'_>; 3]> = owned.iter().map(Owned::borrow).collect();
            let mut views = out_views(&held, mode);
            guarded(op, &ins, || call_kernel(op, &cx, &ins, &mut views, &attrs))
        };
        submit(op.name, ins, writes, device, Some(cost), site, work)
    }
}

/// A panic becomes an error that names the inputs, as any other.
pub(crate) fn guarded(op: &'static Op, ins: &[In<'_>], f: impl FnOnce() -> Result) -> Result {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|p| Err(Error::from_panic(p))).map_err(|e| explain(e, op, ins))
}

/// Pushes work of a known cost, or foreign code, on the lane for callbacks. Where too much is in flight, or an operand
/// belongs to another library too, it waits.
pub(crate) fn submit(
    name: &'static str,
    ins: &[In<'_>],
    writes: &[(&Var, Write)],
    device: Device,
    cost: Option<u64>,
    site: Site,
    work: impl FnOnce() -> Result + Send + 'static,
) -> Result {
    let bytes: usize = writes.iter().map(|(v, _)| v.bytes()).sum();
    if engine().would_block(bytes) {
        host::block(|poll| engine().hold_back(bytes, poll))?;
    }
    let (lane, brief) = cost.map_or((Lane::Callback, false), |ns| (Lane::Compute, fits(ns, threads_for(ns), BRIEF_NS)));
    let reads: SmallVec<[&Var; 4]> = ins.iter().filter_map(In::array).map(|a| a.storage()).collect();
    engine().push(Push { op: name, reads: &reads, writes, device, lane, priority: 0, brief, site }, move |_| work());
    let shared = |v: &&Var| v.shared();
    if reads.iter().any(shared) || writes.iter().any(|(v, _)| v.shared()) {
        for v in reads.into_iter().chain(writes.iter().map(|(v, _)| *v)) {
            host::block(|poll| engine().wait_for_var(v, poll))?;
        }
    }
    Ok(())
}

/// Queues foreign code that fills `outs` from `ins`, on the lane for callbacks: it may itself push and wait.
pub fn call_back(
    name: &'static str,
    ins: &[NDArray],
    outs: &[NDArray],
    f: impl FnOnce() -> Result + Send + 'static,
) -> Result {
    let operands: SmallVec<[In<'_>; 4]> = ins.iter().map(In::Array).collect();
    let writes: SmallVec<[(&Var, Write); 2]> = outs.iter().map(|o| (o.storage(), Write::Overwrite)).collect();
    let device = outs.first().or(ins.first()).map_or_else(|| Device::cpu(0), |a| a.device());
    submit(name, &operands, &writes, device, None, Site::here(), f)
}

/// Calls `f` with an output's view while the caller alone holds the array. What fails leaves what a queued write would.
pub(crate) fn write_inline(
    dst: &NDArray,
    mode: Mode,
    kind: Write,
    f: impl FnOnce(&mut [Out<'_>]) -> Result,
) -> Option<Result> {
    let _held = Written::take(std::slice::from_ref(dst))?;
    let done = f(&mut [Out { view: dst.view(), mode }]);
    if let Err(e) = &done {
        dst.storage().fail(kind, &e.clone().at(Site::here()));
    }
    Some(done)
}

/// Storages that the caller alone holds until this is dropped, also when a kernel panics.
pub(crate) struct Written<'a> {
    /// Of which the first `held` are held.
    all: Beside<'a>,
    held: usize,
}

impl<'a> Written<'a> {
    /// Those of all arrays, or none; never waits.
    pub(crate) fn take(arrays: &'a [NDArray]) -> Option<Written<'a>> {
        let mut taken = Written { all: Beside::of(arrays.iter()), held: 0 };
        let held = taken.all.storages().take_while(|a| a[0].storage().try_write()).count();
        taken.held = held;
        if held < taken.all.storages().count() {
            return None;
        }
        taken.storages().for_each(|v| v.bump());
        Some(taken)
    }

    fn storages(&self) -> impl Iterator<Item = &Var> {
        self.all.storages().take(self.held).map(|a| a[0].storage())
    }

    /// Whether an array lies in one of them.
    pub(crate) fn covers(&self, a: &NDArray) -> bool {
        !self.all.in_storage_of(a).is_empty()
    }
}
impl Drop for Written<'_> {
    fn drop(&mut self) {
        self.storages().for_each(|v| v.end_write());
    }
}
