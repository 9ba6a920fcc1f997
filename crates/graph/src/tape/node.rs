//! Nodes of the graph of gradients: one per recorded op, with edges to where its inputs came from and the values that its
//! gradient rule reads. Counted, and freed in a loop (never by recursion) to a free list of the thread.
use crate::array::NDArray;
use gluonish_base::tls::{Listed, NODES, give, take};
use gluonish_base::{Error, Result, Scalar, Site};
use gluonish_engine::TapeMark;
use gluonish_kernels::Attrs;
use gluonish_ops::def::Saved;
use gluonish_ops::{Meta, Op};
use smallvec::SmallVec;
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
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
    /// The graph was freed: nothing will be asked any more. What it holds may hold the graph.
    fn forget(&self) {}
    /// The object of the host language that it holds, for the collector of cycles there.
    fn held(&self) -> Option<NonNull<c_void>> {
        None
    }
}

/// Looks at the gradient of an array, and may replace it.
pub trait Hook: Send + Sync {
    fn call(&self, dy: &NDArray) -> Result<Option<NDArray>>;
    /// As of [`Custom`].
    fn held(&self) -> Option<NonNull<c_void>> {
        None
    }
}

pub(crate) enum Kind {
    /// A variable: where gradients end.
    Leaf,
    Op(&'static Op),
    Custom(Arc<dyn Custom>),
}

/// Aligned so that a `NodeSlot` has bits to spare in its pointer.
#[repr(align(64))]
pub(crate) struct Node {
    pub(super) refs: AtomicU32,
    /// (number of the traversal << 32) | position: written only under the traversal's lock.
    pub(crate) mark: AtomicU64,
    pub(crate) head: Head,
    /// There are hooks, or were: most nodes never have any.
    pub(crate) hooked: AtomicBool,
    inner: Mutex<Inner>,
    /// On the list of doomed nodes, or of free ones.
    next: *mut Node,
}

/// What was recorded, and where. Does not change while the node lives.
pub(crate) struct Head {
    pub(crate) kind: Kind,
    pub(crate) site: Site,
}

impl Listed for Node {
    const LIST: usize = NODES;
    const KEPT: u32 = 4096;
    #[inline(always)]
    fn next(&mut self) -> &mut *mut Node {
        &mut self.next
    }
}

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) attrs: Option<Box<Attrs>>,
    pub(crate) edges: SmallVec<[Edge; 2]>,
    pub(crate) kept: SmallVec<[Kept; 2]>,
    pub(crate) outs: SmallVec<[Meta; 1]>,
    /// The op ran in training mode.
    pub(crate) training: bool,
    /// `backward` has passed and freed what was kept.
    pub(crate) consumed: bool,
    pub(crate) hooks: Vec<(u32, u64, Arc<dyn Hook>)>,
    /// Of a leaf.
    pub(crate) grad: Option<(NDArray, GradReq)>,
}

impl Inner {
    /// Keeps an array for the gradient. Not inlined, so that its parts go from registers to their place: put together on
    /// the stack first, they would be read back in larger pieces than they were written, and that is slow.
    #[inline(never)]
    pub(crate) fn keep(&mut self, what: Saved, a: NDArray, site: Site) {
        let tape = &a.storage().tape;
        tape.saved.fetch_add(1, Relaxed);
        tape.saved_site.store(TapeMark::pack(site), Relaxed);
        let version = a.storage().version();
        self.kept.push(Kept { what, value: KeptValue::Array(a, version) });
    }

    /// Drops what was kept for the gradient, and where the inputs came from.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.attrs = None;
        self.edges.clear();
    }
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
    /// An optional input that was not given.
    Absent,
}

impl Drop for Kept {
    fn drop(&mut self) {
        // A storage that goes away with this value forgets the mark by itself.
        if let KeptValue::Array(a, _) = &self.value
            && !a.is_alone()
        {
            a.storage().tape.saved.fetch_sub(1, Relaxed);
        }
    }
}

/// A counted pointer to a node.
pub(crate) struct NodeRef(pub(super) NonNull<Node>);
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
        // SAFETY: the count is this pointer's own.
        unsafe { release(self.0, 1) }
    }
}

/// Gives back `n` counts.
///
/// # Safety
/// They are the caller's, who does not use the node any more.
#[inline(always)]
pub(super) unsafe fn release(p: NonNull<Node>, n: u32) {
    // SAFETY: the counts keep the node alive.
    let refs = &unsafe { p.as_ref() }.refs;
    // Whoever has all counts needs no read-modify-write: nobody else can clone one.
    if refs.load(Acquire) == n || refs.fetch_sub(n, AcqRel) == n {
        free(p.as_ptr());
    }
}

/// Several counts of one node, given back together.
pub(crate) struct Bundle(NonNull<Node>, u32);

impl Bundle {
    #[inline(always)]
    pub(crate) fn of(node: NodeRef) -> Bundle {
        Bundle(node.into_raw(), 1)
    }

    /// Takes over another count.
    #[inline(always)]
    pub(crate) fn add(&mut self, node: NodeRef) {
        if node.0 == self.0 {
            let _ = node.into_raw();
            self.1 += 1;
        }
    }

    /// Gives back all counts but one.
    #[inline(always)]
    pub(crate) fn into_one(self) -> NodeRef {
        let Bundle(p, n) = *ManuallyDrop::new(self);
        let node = NodeRef(p);
        if n == 1 {
            return node;
        }
        if node.refs.load(Acquire) == n {
            node.refs.store(1, Relaxed); // all of them are ours
        } else {
            node.refs.fetch_sub(n - 1, Release); // never the last
        }
        node
    }
}
impl std::ops::Deref for Bundle {
    type Target = Node;
    #[inline(always)]
    fn deref(&self) -> &Node {
        // SAFETY: the counts keep the node alive.
        unsafe { self.0.as_ref() }
    }
}
impl Drop for Bundle {
    fn drop(&mut self) {
        // SAFETY: the counts are the bundle's own.
        unsafe { release(self.0, self.1) }
    }
}
// SAFETY: as for `NodeRef`.
unsafe impl Send for Bundle {}

/// The contents of a node that nobody else can change meanwhile.
pub(crate) enum Access<'a> {
    /// There is one pointer to the node, and the caller has it.
    Alone(&'a mut Inner),
    Locked(MutexGuard<'a, Inner>),
}
impl std::ops::Deref for Access<'_> {
    type Target = Inner;
    #[inline(always)]
    fn deref(&self) -> &Inner {
        match self {
            Access::Alone(inner) => inner,
            Access::Locked(guard) => guard,
        }
    }
}
impl std::ops::DerefMut for Access<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Inner {
        match self {
            Access::Alone(inner) => inner,
            Access::Locked(guard) => guard,
        }
    }
}

/// Frees a node and all that only it kept alive, in a loop: chains of any length need no stack.
fn free(p: *mut Node) {
    DOOMED.with(|(head, running)| {
        // SAFETY: the last count is gone, so the node belongs to this thread.
        unsafe { (*p).next = head.replace(p) };
        if running.replace(true) {
            return;
        }
        loop {
            let p = head.get();
            if p.is_null() {
                break;
            }
            // SAFETY: doomed nodes belong to this thread.
            let node = unsafe { &mut *p };
            head.set(node.next);
            node.empty();
            // SAFETY: nodes are boxed, and this one belongs to us alone.
            unsafe { give(p) };
        }
        running.set(false);
    });
}

#[cold]
fn fresh() -> *mut Node {
    Box::into_raw(Box::new(Node {
        refs: AtomicU32::new(0),
        mark: AtomicU64::new(0),
        head: Head { kind: Kind::Leaf, site: Site::default() },
        hooked: AtomicBool::new(false),
        inner: Mutex::default(),
        next: null_mut(),
    }))
}

impl NodeRef {
    /// A node whose contents `fill` puts in.
    #[inline(always)]
    pub(crate) fn new(kind: Kind, site: Site, fill: impl FnOnce(&mut Inner)) -> NodeRef {
        let mut p = take::<Node>();
        if p.is_null() {
            p = fresh();
        }
        // SAFETY: taken from the list or just made: nobody else knows it.
        let node = unsafe { &mut *p };
        *node.refs.get_mut() = 1;
        *node.mark.get_mut() = 0;
        node.head = Head { kind, site };
        fill(node.inner.get_mut().unwrap_or_else(PoisonError::into_inner));
        NodeRef(NonNull::from(node))
    }
    pub(crate) fn same(&self, other: &Node) -> bool {
        std::ptr::eq(self.0.as_ptr(), other)
    }
    /// The pointer, count included.
    #[inline(always)]
    pub(super) fn into_raw(self) -> NonNull<Node> {
        ManuallyDrop::new(self).0
    }
    /// The contents; without a lock where nobody else has the node.
    #[inline(always)]
    pub(crate) fn open(&mut self) -> (&Head, Access<'_>) {
        if self.refs.load(Acquire) != 1 {
            return (&self.head, Access::Locked(self.lock()));
        }
        // SAFETY: this is the only pointer to the node, and it is borrowed for as long as the contents are.
        let node = unsafe { self.0.as_mut() };
        (&node.head, Access::Alone(node.inner.get_mut().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Node {
    /// Drops everything that it holds; what is left is as new.
    fn empty(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        inner.clear();
        if !matches!(self.head.kind, Kind::Op(_)) || *self.hooked.get_mut() {
            self.head.kind = Kind::Leaf;
            inner.grad = None;
            inner.hooks = Vec::new();
            *self.hooked.get_mut() = false;
        }
        inner.outs.clear();
        inner.consumed = false;
    }

    /// The contents, if nobody looks at them now.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Inner>> {
        self.inner.try_lock().ok()
    }
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self.head.kind, Kind::Leaf)
    }
}

impl Head {
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
