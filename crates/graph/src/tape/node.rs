//! Nodes of the graph of gradients: one per recorded op, with edges to where its inputs came from and the values that its
//! gradient rule reads. Counted, freed in a loop (never by recursion), and reached from arrays through a `NodeSlot`.
use crate::array::NDArray;
use gluonish_base::{Error, Result, Scalar, Site};
use gluonish_engine::TapeMark;
use gluonish_kernels::Attrs;
use gluonish_ops::def::Saved;
use gluonish_ops::{Meta, Op};
use smallvec::SmallVec;
use std::cell::Cell;
use std::hint::spin_loop;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What `backward` does with the gradient of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GradReq {
    Write,
    Add,
    Null,
}

/// A gradient written outside the op table: Python's `autograd.Function`.
pub trait Custom: Send + Sync {
    fn name(&self) -> &'static str;
    /// From the gradients of the outputs to those of the inputs.
    fn backward(&self, dys: &[NDArray]) -> Result<Vec<Option<NDArray>>>;
}

/// Looks at the gradient of an array, and may replace it.
pub type Hook = Arc<dyn Fn(&NDArray) -> Result<Option<NDArray>> + Send + Sync>;

pub(crate) enum Kind {
    /// A variable: where gradients end.
    Leaf,
    Op(&'static Op),
    Custom(Arc<dyn Custom>),
}

pub(crate) struct Node {
    refs: AtomicU32,
    /// (number of the traversal << 32) | position: written only under the traversal's lock.
    pub(crate) mark: AtomicU64,
    pub(crate) kind: Kind,
    pub(crate) site: Site,
    inner: Mutex<Inner>,
    next_doomed: *mut Node,
}

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) attrs: Option<Box<Attrs>>,
    pub(crate) edges: SmallVec<[Edge; 2]>,
    pub(crate) kept: SmallVec<[Kept; 2]>,
    pub(crate) outs: SmallVec<[Meta; 1]>,
    /// `backward` has passed and freed what was kept.
    pub(crate) consumed: bool,
    pub(crate) hooks: Vec<(u32, u64, Hook)>,
    /// Of a leaf.
    pub(crate) grad: Option<(NDArray, GradReq)>,
}

/// Where an input came from.
pub(crate) struct Edge {
    pub(crate) from: Option<NodeRef>,
    pub(crate) output: u32,
    /// Shape and type of the input, where they differ from those of the op's first output.
    pub(crate) meta: Option<Box<Meta>>,
}

/// A value that the gradient rule reads.
pub(crate) struct Kept {
    pub(crate) what: Saved,
    pub(crate) value: KeptValue,
}
pub(crate) enum KeptValue {
    /// With the version it had: a later write makes it unusable.
    Array(NDArray, u32),
    Scalar(Scalar),
}

impl Kept {
    pub(crate) fn array(what: Saved, a: NDArray, site: Site) -> Kept {
        let tape = &a.storage().tape;
        tape.saved.fetch_add(1, Relaxed);
        tape.saved_site.store(TapeMark::pack(site), Relaxed);
        let version = a.storage().version();
        Kept { what, value: KeptValue::Array(a, version) }
    }
}
impl Drop for Kept {
    fn drop(&mut self) {
        if let KeptValue::Array(a, _) = &self.value {
            a.storage().tape.saved.fetch_sub(1, Relaxed);
        }
    }
}

/// A counted pointer to a node.
pub(crate) struct NodeRef(NonNull<Node>);
// SAFETY: a node's shared parts are atomics and a mutex; the rest does not change while it is shared.
unsafe impl Send for NodeRef {}
// SAFETY: as above.
unsafe impl Sync for NodeRef {}

impl std::ops::Deref for NodeRef {
    type Target = Node;
    #[inline(always)]
    fn deref(&self) -> &Node {
        // SAFETY: the count keeps the node alive.
        unsafe { self.0.as_ref() }
    }
}
impl Clone for NodeRef {
    #[inline]
    fn clone(&self) -> NodeRef {
        self.refs.fetch_add(1, Relaxed);
        NodeRef(self.0)
    }
}

thread_local! {
    /// Nodes that wait to be freed by the loop further up the stack, and whether there is one.
    static DOOMED: (Cell<*mut Node>, Cell<bool>) = const { (Cell::new(null_mut()), Cell::new(false)) };
}

impl Drop for NodeRef {
    #[inline]
    fn drop(&mut self) {
        if self.refs.load(Acquire) == 1 || self.refs.fetch_sub(1, AcqRel) == 1 {
            free(self.0.as_ptr());
        }
    }
}

/// Frees a node and all that only it kept alive, in a loop: chains of any length need no stack.
fn free(p: *mut Node) {
    DOOMED.with(|(head, running)| {
        // SAFETY: the last count is gone, so the node belongs to this thread.
        unsafe { (*p).next_doomed = head.replace(p) };
        if running.replace(true) {
            return;
        }
        loop {
            let p = head.get();
            if p.is_null() {
                break;
            }
            // SAFETY: doomed nodes are boxed and belong to this thread.
            let node = unsafe { Box::from_raw(p) };
            head.set(node.next_doomed);
            drop(node);
        }
        running.set(false);
    });
}

impl NodeRef {
    pub(crate) fn new(kind: Kind, site: Site, inner: Inner) -> NodeRef {
        NodeRef(NonNull::from(Box::leak(Box::new(Node {
            refs: AtomicU32::new(1),
            mark: AtomicU64::new(0),
            kind,
            site,
            inner: Mutex::new(inner),
            next_doomed: null_mut(),
        }))))
    }
    pub(crate) fn same(&self, other: &NodeRef) -> bool {
        self.0 == other.0
    }
    fn into_raw(self) -> *mut Node {
        let p = self.0.as_ptr();
        std::mem::forget(self);
        p
    }
}

impl Node {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self.kind, Kind::Leaf)
    }
    pub(crate) fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Leaf => "variable",
            Kind::Op(op) => op.name,
            Kind::Custom(c) => c.name(),
        }
    }
    /// An error in a gradient names the op and the line of the forward pass.
    #[cold]
    pub(crate) fn blame(&self, e: Error) -> Error {
        e.in_op(self.name()).at(self.site)
    }
}

/// An array's place in the graph: a node and which of its outputs. The lowest bit of the pointer is a lock for the few
/// instructions in which the pointer and its count must agree.
pub(crate) struct NodeSlot {
    ptr: AtomicPtr<Node>,
    output: AtomicU32,
}

const LOCK: usize = 1;

impl NodeSlot {
    pub(crate) const fn empty() -> NodeSlot {
        NodeSlot { ptr: AtomicPtr::new(null_mut()), output: AtomicU32::new(0) }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.ptr.load(Relaxed).addr() & !LOCK == 0
    }

    fn acquire(&self) -> *mut Node {
        loop {
            let p = self.ptr.load(Relaxed);
            if p.addr() & LOCK == 0
                && self.ptr.compare_exchange_weak(p, p.map_addr(|a| a | LOCK), Acquire, Relaxed).is_ok()
            {
                return p;
            }
            spin_loop();
        }
    }

    /// The node, counted, and the number of the output.
    pub(crate) fn get(&self) -> Option<(NodeRef, u32)> {
        if self.is_empty() {
            return None;
        }
        let p = self.acquire();
        let found = NonNull::new(p).map(|n| {
            // SAFETY: the slot holds a count and is locked, so the node lives; the new pointer takes a count of its own.
            unsafe { n.as_ref() }.refs.fetch_add(1, Relaxed);
            (NodeRef(n), self.output.load(Relaxed))
        });
        self.ptr.store(p, Release);
        found
    }

    pub(crate) fn set(&self, node: Option<NodeRef>, output: u32) {
        let old = self.acquire();
        self.output.store(output, Relaxed);
        self.ptr.store(node.map_or(null_mut(), NodeRef::into_raw), Release);
        drop(NonNull::new(old).map(NodeRef)); // the slot's count, after the lock is gone
    }

    /// For an array that nobody else can reach.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        let p = std::mem::replace(self.ptr.get_mut(), null_mut());
        if let Some(n) = NonNull::new(p) {
            drop(NodeRef(n));
        }
    }
}
