//! Gradients of a few values: an elementwise rule runs in the caller, formula by formula over plain lines of memory, and
//! what it gives is added in place to what has arrived already. No op is launched and, mostly, no array made.
use crate::array::NDArray;
use crate::backward::{Arrived, accumulate};
use crate::fused::{Source, Traced, trace};
use crate::tape::node::{Inner, Kept, KeptValue};
use gluonish_base::{DType, Result, Scalar, profiler};
use gluonish_engine::Var;
use gluonish_kernels::Attrs;
use gluonish_kernels::map::{Class, FEW, Lane};
use gluonish_ops::def::Saved;
use gluonish_ops::{Body, Grad, Op, rows};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::rc::Rc;

/// Inputs and outputs that a rule may have here.
const MOST: usize = 4;

/// What a program was traced for. Types are those of the gradient: all others are the same.
struct Rule {
    op: &'static Op,
    wanted: u64,
    /// Which values the node kept, a bit each.
    saved: u32,
    dtype: DType,
    attrs: Option<Box<Attrs>>,
    /// `None`: it cannot run here.
    traced: Option<Rc<Traced>>,
}

const BUCKETS: usize = 64;
/// Rules that a bucket keeps: attributes that change all the time must not fill the memory.
const KEPT: usize = 16;
thread_local!(static RULES: RefCell<[Vec<Rule>; BUCKETS]> = const { RefCell::new([const { Vec::new() }; BUCKETS]) });

/// Where a gradient goes: the position of a node and which of its outputs.
pub(crate) type Target = (u32, u32);

/// Runs the rule of `op` on `dy` and leaves the gradients of the wanted inputs at their targets. False: not such a rule or
/// not such values, and nothing has happened.
pub(crate) fn run(
    op: &'static Op,
    inner: &Inner,
    dy: &NDArray,
    wanted: u64,
    target: impl Fn(usize) -> Target,
    arrived: &mut [Arrived],
) -> Result<bool> {
    let (Body::Map(_), false) = (&op.body, profiler::enabled()) else { return Ok(false) };
    let fits = |i: usize| wanted >> i & 1 == 0 || inner.edges[i].meta.is_none();
    if !is_few(dy) || dy.dtype() != inner.outs[0].dtype || !(0..inner.edges.len()).all(fits) {
        return Ok(false);
    }
    match lookup(op, inner, dy, wanted) {
        Some(traced) => apply(&traced, inner, dy, target, arrived),
        None => Ok(false),
    }
}

/// The rule as a program, traced when it is first met. Counted: what runs it may come back here.
fn lookup(op: &'static Op, inner: &Inner, dy: &NDArray, wanted: u64) -> Option<Rc<Traced>> {
    let saved = inner.kept.iter().fold(0, |bits, k| bits | bit(k.what));
    RULES.with_borrow_mut(|rules| {
        let bucket = &mut rules[hash(op, wanted)];
        let known = bucket.iter().find(|r| {
            std::ptr::eq(r.op, op)
                && (r.wanted, r.saved, r.dtype) == (wanted, saved, dy.dtype())
                && r.attrs == inner.attrs
        });
        if let Some(rule) = known {
            return rule.traced.clone();
        }
        let other = |k: &Kept| matches!(&k.value, KeptValue::Array(a, _) if a.dtype() != dy.dtype());
        if inner.kept.iter().any(other) {
            return None;
        }
        if bucket.len() == KEPT {
            bucket.remove(0);
        }
        let traced = traced(op, inner, dy, wanted).map(Rc::new);
        let attrs = inner.attrs.clone();
        bucket.push(Rule { op, wanted, saved, dtype: dy.dtype(), attrs, traced: traced.clone() });
        traced
    })
}

/// A line of at most `FEW` real numbers in memory that is ours.
#[inline(always)]
fn is_few(a: &NDArray) -> bool {
    a.size() <= FEW && a.is_contiguous() && matches!(a.dtype(), DType::F32 | DType::F64) && !a.storage().shared()
}

/// Whether `a` is a line as `few` is.
#[inline(always)]
fn alike(a: &NDArray, few: &NDArray) -> bool {
    a.dtype() == few.dtype() && a.is_contiguous() && a.shape() == few.shape() && !a.storage().shared()
}

fn bit(what: Saved) -> u32 {
    match what {
        Saved::X(i) => 1 << i.min(15),
        Saved::Y(i) => 1 << (16 + i.min(15)),
    }
}

#[inline(always)]
fn hash(op: &'static Op, wanted: u64) -> usize {
    let address = std::ptr::from_ref(op).addr();
    (address >> 6 ^ address >> 12 ^ wanted as usize) % BUCKETS
}

#[cold]
fn traced(op: &'static Op, inner: &Inner, dy: &NDArray, wanted: u64) -> Option<Traced> {
    let Grad::Rule(rule) = op.grad else { return None };
    let t = trace(rule, inner, dy, wanted)?;
    let passes_dy = |k| t.program.passed_on(k).is_none_or(|i| t.sources[i] == Source::Dy);
    let runs = t.program.is_straight() && t.sources.len() <= MOST && t.gives.len() <= MOST;
    (runs && (0..t.gives.len()).all(passes_dy)).then_some(t)
}

/// Storages that are held as read until this is dropped.
#[derive(Default)]
struct Reading<'a>(SmallVec<[&'a Var; MOST]>);

impl<'a> Reading<'a> {
    /// The values of an operand like `dy`, held; `None` where it differs or is in use.
    #[inline(always)]
    fn line(&mut self, a: &'a NDArray) -> Option<Lane<'a>> {
        // What nobody else has needs no holding.
        if !a.is_alone() {
            if !a.storage().try_read() {
                return None;
            }
            self.0.push(a.storage());
        }
        Some(Lane::Line(a.data()))
    }
}
impl Drop for Reading<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.iter().for_each(|v| v.end_read());
    }
}

fn apply(
    t: &Traced,
    inner: &Inner,
    dy: &NDArray,
    target: impl Fn(usize) -> Target,
    arrived: &mut [Arrived],
) -> Result<bool> {
    let mut reading = Reading::default();
    let kept = &inner.kept[..];
    let mut lanes = [Lane::Number(Scalar::Bool(false)); MOST];
    for (lane, source) in lanes.iter_mut().zip(&t.sources) {
        let operand = match source {
            Source::Dy => reading.line(dy),
            Source::Kept(i) => match &kept[*i].value {
                KeptValue::Array(a, version) if a.storage().version() == *version && alike(a, dy) => reading.line(a),
                KeptValue::Array(..) => None,
                KeptValue::Scalar(s) => Some(Lane::Number(*s)),
                KeptValue::Absent => None,
            },
        };
        let Some(operand) = operand else { return Ok(false) };
        *lane = operand;
    }
    // What is added to a gradient that has arrived needs no array of its own.
    let mut spare = [const { MaybeUninit::<[u64; FEW]>::uninit() }; MOST];
    let mut outs = [null_mut(); MOST];
    let mut made = [const { None::<NDArray> }; MOST];
    for (k, (input, _)) in t.gives.iter().enumerate() {
        let (node, output) = target(*input);
        let there = arrived[node as usize].get(output as usize).and_then(Option::as_ref);
        made[k] = if t.program.passed_on(k).is_some() {
            Some(dy.clone())
        } else if there.is_some_and(|old| may_add(old, dy)) {
            outs[k] = spare[k].as_mut_ptr().cast();
            None
        } else {
            let new = dy.like()?;
            outs[k] = new.data();
            Some(new)
        };
    }
    // SAFETY: every line has as many values as `dy`, of its type, and is held; the outputs are new or on the stack.
    unsafe { t.program.straight(&outs[..t.gives.len()], &lanes[..t.sources.len()], dy.size()) };
    drop(reading);
    for ((made, out), (input, _)) in made.into_iter().zip(outs).zip(&t.gives) {
        let (node, output) = target(*input);
        let slot = &mut arrived[node as usize];
        match made {
            Some(g) => accumulate(slot, output as usize, g)?,
            None => {
                if let Some(Some(old)) = slot.get(output as usize) {
                    // SAFETY: nobody else has the old gradient, as was found above; the new one has as many values.
                    unsafe { add_line(old, out) }
                }
            }
        }
    }
    Ok(true)
}

/// Whether a gradient like `g` can be added to `old` in place.
#[inline(always)]
fn may_add(old: &NDArray, g: &NDArray) -> bool {
    old.is_alone() && alike(old, g) && !old.is_tracked()
}

/// # Safety
/// The caller alone has `old`, a few real numbers in a line; `g` points to as many.
#[inline(always)]
unsafe fn add_line(old: &NDArray, g: *const u8) {
    let Body::Map(add) = &rows::ADD.body else { return };
    // SAFETY: the caller's promise; the sum may be written over an operand.
    unsafe {
        let lines = [Lane::Line(old.data()), Lane::Line(g)];
        add.straight(Class::of(old.dtype()), old.data(), lines, old.shape(), old.size());
    }
}

/// `old += g`, where both are a few values that may be added here and now.
#[inline]
pub(crate) fn add(old: &NDArray, g: &NDArray) -> bool {
    if !is_few(g) || g.is_tracked() || profiler::enabled() || !may_add(old, g) {
        return false;
    }
    let mut reading = Reading::default();
    let Some(Lane::Line(values)) = reading.line(g) else { return false };
    // SAFETY: the old gradient is ours alone, and the new one is held and has as many values.
    unsafe { add_line(old, values) };
    true
}
