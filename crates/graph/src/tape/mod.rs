//! Recording: which arrays are variables, and a node for every op whose inputs lead to one.
pub(crate) mod few;
pub(crate) mod node;
pub(crate) mod slot;

use crate::array::NDArray;
use crate::invoke::In;
use crate::tape::node::{Edge, Inner, Kept, KeptValue, Kind, Node, NodeRef};
use crate::tape::slot::NodeSlot;
use gluonish_base::tls::tls;
use gluonish_base::{Cause, Dims, Error, Result, Site};
use gluonish_engine::TapeMark;
use gluonish_kernels::Attrs;
use gluonish_ops::def::Saved;
use gluonish_ops::{Meta, Op};
use smallvec::SmallVec;
use std::ffi::c_void;
use std::ops::ControlFlow;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, MutexGuard};

pub use crate::tape::node::{Custom, GradReq, Hook};

fn meta(a: &NDArray) -> Meta {
    Meta { shape: *a.shape(), dtype: a.dtype() }
}

/// Makes `a` a variable: `backward` leaves its gradient in `grad`, which keeps its identity. Its history is forgotten.
pub fn mark_variable(a: &NDArray, grad: NDArray, req: GradReq) -> Result {
    if grad.shape() != a.shape() || grad.dtype() != a.dtype() {
        let text = format!(
            "a gradient of {} {} does not fit a variable of {} {}",
            grad.dtype(),
            grad.shape(),
            a.dtype(),
            a.shape()
        );
        return Err(Cause::Gradient(text).into());
    }
    if req == GradReq::Null {
        a.node.set(None, 0);
        return Ok(());
    }
    let node = NodeRef::new(Kind::Leaf, Site::here(), |inner| {
        inner.outs.push(meta(a));
        inner.grad = Some((grad, req));
    });
    a.node.set(Some(node), 0);
    Ok(())
}

/// As `mark_variable`, with a gradient of zeros.
pub fn attach_grad(a: &NDArray, req: GradReq) -> Result {
    if !a.dtype().is_float() && req != GradReq::Null {
        let text = format!("an array of {} has no gradient; cast it to a floating type first", a.dtype());
        return Err(Error::new(Cause::DType(text)).in_op("attach_grad"));
    }
    let zeros = crate::invoke::full(a.device(), a.dtype(), a.shape(), 0.0.into())?;
    mark_variable(a, zeros, req)
}

/// The buffer in which `backward` leaves the gradient of a variable.
pub fn grad_of(a: &NDArray) -> Option<(NDArray, GradReq)> {
    let (node, _) = a.node.get()?;
    node.lock().grad.clone()
}

pub fn is_leaf(a: &NDArray) -> bool {
    a.node.get().is_some_and(|(n, _)| n.is_leaf())
}

/// Whether `a` is a variable, or a view of one that was taken while recording.
pub(crate) fn looks_at_variable(a: &NDArray) -> bool {
    let mut next = a.node.get().map(|(n, _)| n);
    while let Some(node) = next {
        next = match &node.head.kind {
            Kind::Leaf => return true,
            Kind::Op(op) if op.is_view() => node.lock().edges.first().and_then(|e| e.from.clone()),
            _ => None,
        };
    }
    false
}

/// The same values, from which no gradient flows.
pub fn detach(a: &NDArray) -> NDArray {
    a.detached()
}

/// Forgets how `a` was made.
pub fn drop_graph(a: &NDArray) {
    a.node.set(None, 0);
}

/// Calls `hook` with the gradient of `a` in every `backward` that reaches it. Returns a number for `remove_hook`.
pub fn add_hook(a: &NDArray, hook: Arc<dyn Hook>) -> Result<u64> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let Some((node, output)) = a.node.get() else {
        let text = "the array is not part of a recorded computation: call attach_grad() or record it first";
        return Err(Error::new(Cause::Gradient(text.into())).in_op("register_hook"));
    };
    let id = NEXT.fetch_add(1, Relaxed);
    node.lock().hooks.push((output, id, hook));
    node.hooked.store(true, Release);
    Ok(id)
}

pub fn remove_hook(a: &NDArray, id: u64) {
    if let Some((node, _)) = a.node.get() {
        let gone: Vec<_> = node.lock().hooks.extract_if(.., |(_, i, _)| *i == id).collect();
        drop(gone); // without the lock: it may be the last of an object, whose end may run anything
    }
}

/// Calls `visit` with every object of the host language that lives by `a` alone: those of hooks and functions at its node,
/// where neither another handle nor the graph of another array nor a running pass has the node. The caller has the host's
/// lock, without which nobody else comes to have it meanwhile.
pub fn visit_held(a: &NDArray, mut visit: impl FnMut(NonNull<c_void>) -> ControlFlow<()>) -> ControlFlow<()> {
    let Some((node, inner)) = alone(a) else { return ControlFlow::Continue(()) };
    if let Kind::Custom(c) = &node.head.kind
        && Arc::strong_count(c) == 1
        && let Some(held) = c.held()
    {
        visit(held)?;
    }
    let hooks = inner.hooks.iter().filter(|(_, _, hook)| Arc::strong_count(hook) == 1);
    hooks.filter_map(|(_, _, hook)| hook.held()).try_for_each(visit)
}

/// Lets go of what `visit_held` shows: the collector found that nothing else leads to `a`.
pub fn forget_held(a: &NDArray) {
    let Some((node, mut inner)) = alone(a) else { return };
    let hooks = std::mem::take(&mut inner.hooks);
    drop(inner);
    if let Kind::Custom(c) = &node.head.kind {
        c.forget();
    }
    drop(hooks); // may free `a`, which the caller keeps
}

fn alone(a: &NDArray) -> Option<(&Node, MutexGuard<'_, Inner>)> {
    let node = if a.has_one_handle() { a.node.alone() } else { None }?;
    Some((node, node.try_lock()?))
}

/// While recording, a handle that is older than a recorded write in place has no right gradient: it raises.
pub(crate) fn check_fresh(a: &NDArray) -> Result {
    let tape = &a.storage().tape;
    if tape.recorded.load(Relaxed) <= a.stamp() {
        return Ok(());
    }
    let text = "this array shares memory with one that was written in place while recording, and was made before that write; take the view again after the write";
    let site = TapeMark::unpack(tape.recorded_site.load(Relaxed));
    Err(Error::new(Cause::Gradient(text.into())).at(Site::here()).and_at("written in place", site))
}

/// Whether recording `op` on these inputs makes a node.
#[inline]
pub(crate) fn leads_to_variable(ins: &[In<'_>]) -> bool {
    ins.iter().any(|i| i.array().is_some_and(|a| a.is_tracked()))
}

/// Fills in what every recorded function has: its outputs, and where its inputs came from.
#[inline(always)]
fn connect(inner: &mut Inner, ins: &[In<'_>], outs: &[NDArray]) {
    for o in outs {
        inner.outs.push(meta(o));
    }
    for i in ins {
        inner.edges.push(edge(i, &outs[0]));
    }
}

#[inline(always)]
fn edge(i: &In<'_>, first: &NDArray) -> Edge {
    let Some(a) = i.array() else { return Edge { from: None, output: 0, meta: None } };
    let same = a.shape() == first.shape() && a.dtype() == first.dtype();
    let meta = (!same).then(|| Box::new(meta(a)));
    match a.node.get().filter(|_| a.dtype().is_float()) {
        Some((n, output)) => Edge { from: Some(n), output, meta },
        None => Edge { from: None, output: 0, meta },
    }
}

/// Makes the node of an op that ran, for its new outputs.
pub(crate) fn record(op: &'static Op, ins: &[In<'_>], attrs: &Attrs, outs: &[NDArray]) {
    if let Some(node) = node_of(op, ins, attrs, outs) {
        attach(node, outs);
    }
}

/// Makes the node of an op that wrote over `dst`.
pub(crate) fn record_over(op: &'static Op, ins: &[In<'_>], attrs: &Attrs, dst: &NDArray) {
    if let Some(node) = node_of(op, ins, attrs, std::slice::from_ref(dst)) {
        dst.node.set(Some(node), 0);
    }
}

#[inline(always)]
fn node_of(op: &'static Op, ins: &[In<'_>], attrs: &Attrs, outs: &[NDArray]) -> Option<NodeRef> {
    if !outs.iter().any(|o| o.dtype().is_float()) {
        return None;
    }
    let site = Site::here();
    Some(NodeRef::new(Kind::Op(op), site, |inner| {
        connect(inner, ins, outs);
        inner.training = tls().training.get();
        if !attrs.is_empty() {
            inner.attrs = Some(Box::new(attrs.clone()));
        }
        save(inner, op, ins, outs, site);
    }))
}

/// Keeps what the gradient rule of `op` reads.
#[inline(always)]
fn save(inner: &mut Inner, op: &'static Op, ins: &[In<'_>], outs: &[NDArray], site: Site) {
    for save in op.saves {
        if save.when.is_some_and(|i| inner.edges.get(i as usize).is_none_or(|e| e.from.is_none())) {
            continue;
        }
        match save.what {
            // An optional input at the end may be left out altogether.
            Saved::X(i) => match ins.get(i as usize).unwrap_or(&In::Absent) {
                In::Array(a) => inner.keep(save.what, keep(a), site),
                In::Scalar(s) => inner.kept.push(Kept { what: save.what, value: KeptValue::Scalar(*s) }),
                In::Absent => inner.kept.push(Kept { what: save.what, value: KeptValue::Absent }),
            },
            Saved::Y(i) => {
                if let Some(a) = outs.get(i as usize) {
                    let kept = if a.storage().shared() { keep(a) } else { a.detached() };
                    inner.keep(save.what, kept, site);
                }
            }
        }
    }
}

/// An array as the tape keeps it: memory that another library may change is copied.
#[inline(always)]
fn keep(a: &NDArray) -> NDArray {
    if a.storage().shared()
        && let Ok(copy) = crate::invoke::contiguous_copy(a)
    {
        return copy;
    }
    // The handle itself: what is saved cannot be written while recording, so it cannot come to depend on this node.
    a.clone()
}

/// Puts new outputs into the graph.
#[inline(always)]
fn attach(node: NodeRef, outs: &[NDArray]) {
    let floats = outs.iter().enumerate().filter(|(_, o)| o.dtype().is_float());
    NodeSlot::fill(node, floats.map(|(i, o)| (i as u32, &o.node)));
}

/// Records a function whose gradient is written outside the table.
pub fn record_custom(custom: Arc<dyn Custom>, ins: &[NDArray], outs: &[NDArray]) {
    let ins: SmallVec<[In<'_>; 4]> = ins.iter().map(In::Array).collect();
    if outs.is_empty() || !leads_to_variable(&ins) {
        return;
    }
    attach(NodeRef::new(Kind::Custom(custom), Site::here(), |inner| connect(inner, &ins, outs)), outs);
}

/// Bytes that the nodes behind `a` keep for their gradients, each storage counted once.
pub fn kept_bytes(a: &NDArray) -> usize {
    let mut seen = std::collections::HashSet::new();
    let mut bytes = 0;
    let mut stack: Vec<NodeRef> = a.node.get().map(|(n, _)| n).into_iter().collect();
    let mut nodes = std::collections::HashSet::new();
    while let Some(node) = stack.pop() {
        if !nodes.insert(std::ptr::from_ref(&*node) as usize) {
            continue;
        }
        let inner = node.lock();
        for k in &inner.kept {
            if let KeptValue::Array(a, _) = &k.value
                && seen.insert(a.storage().id())
            {
                bytes += a.storage().bytes();
            }
        }
        stack.extend(inner.edges.iter().filter_map(|e| e.from.clone()));
    }
    bytes
}

/// An unknown shape where a rule asks for an input that is a plain number.
pub(crate) const NUMBER: Meta = Meta { shape: Dims::EMPTY, dtype: gluonish_base::DType::F32 };
