//! An array's place in the graph: a node and which of its outputs.
//!
//! A slot holds several counts of its node, so that handing one out is one step on the slot's own word and the node's count
//! is touched once for many. The lowest bits of the pointer say how many counts are left to hand out, and the very lowest is
//! a lock for the few instructions in which the word is replaced.
use crate::tape::node::{Node, NodeRef, release};
use std::hint::spin_loop;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

pub(crate) struct NodeSlot {
    word: AtomicPtr<Node>,
    output: AtomicU32,
}

const LOCK: usize = 1;
const ONE: usize = 2;
const TAGS: usize = align_of::<Node>() - 1;
const SPARE: usize = TAGS & !LOCK;
/// Counts that a slot takes at once, to hand out.
const STOCK: u32 = (SPARE / ONE) as u32;

#[inline(always)]
fn node_of(word: *mut Node) -> Option<NonNull<Node>> {
    NonNull::new(word.map_addr(|a| a & !TAGS))
}

/// The counts in a word: the slot's own, and what it has to hand out.
#[inline(always)]
fn counts(word: *mut Node) -> u32 {
    1 + ((word.addr() & SPARE) / ONE) as u32
}

impl NodeSlot {
    pub(crate) const fn empty() -> NodeSlot {
        NodeSlot { word: AtomicPtr::new(null_mut()), output: AtomicU32::new(0) }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        node_of(self.word.load(Relaxed)).is_none()
    }

    fn lock(&self) -> *mut Node {
        loop {
            let w = self.word.load(Relaxed);
            if w.addr() & LOCK == 0
                && self.word.compare_exchange_weak(w, w.map_addr(|a| a | LOCK), Acquire, Relaxed).is_ok()
            {
                return w;
            }
            spin_loop();
        }
    }

    /// The node, counted, and the number of the output.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<(NodeRef, u32)> {
        loop {
            let w = self.word.load(Relaxed);
            let node = node_of(w)?;
            if w.addr() & SPARE == 0 || w.addr() & LOCK != 0 {
                self.restock();
                continue;
            }
            if self.word.compare_exchange_weak(w, w.map_addr(|a| a - ONE), Acquire, Relaxed).is_err() {
                continue;
            }
            let node = NodeRef(node); // with the count that was taken from the slot
            let output = self.output.load(Acquire);
            // An array never comes back to a node it has left, so if the node is there still, the number is its own.
            if node_of(self.word.load(Relaxed)) == Some(node.0) {
                return Some((node, output));
            }
        }
    }

    /// The node, if all its counts are this slot's: no edge, no other array and no running pass has it.
    pub(crate) fn alone(&self) -> Option<&Node> {
        let w = self.word.load(Acquire);
        // SAFETY: the slot has counts of the node, and keeps them while its array is borrowed under the host's lock.
        let node = unsafe { node_of(w)?.as_ref() };
        (w.addr() & LOCK == 0 && node.refs.load(Acquire) == counts(w)).then_some(node)
    }

    #[cold]
    fn restock(&self) {
        let w = self.lock();
        let stocked = match node_of(w) {
            Some(node) if w.addr() & SPARE == 0 => {
                // SAFETY: the slot has a count of its own and is locked, so the node lives.
                unsafe { node.as_ref() }.refs.fetch_add(STOCK, Relaxed);
                w.map_addr(|a| a | SPARE)
            }
            _ => w,
        };
        self.word.store(stocked, Release);
    }

    pub(crate) fn set(&self, node: Option<NodeRef>, output: u32) {
        let old = self.lock();
        self.output.store(output, Release);
        self.word.store(node.map_or(null_mut(), |n| n.into_raw().as_ptr()), Release);
        give_back(old); // after the lock is gone
    }

    /// Puts a new node, which nobody else knows, into the slots of new arrays, which nobody else knows either.
    #[inline(always)]
    pub(crate) fn fill<'a>(node: NodeRef, slots: impl Iterator<Item = (u32, &'a NodeSlot)>) {
        let mut counted = 0;
        for (output, slot) in slots {
            counted += 1 + STOCK;
            slot.output.store(output, Relaxed);
            slot.word.store(node.0.as_ptr().map_addr(|a| a | SPARE), Relaxed);
        }
        if counted > 0 {
            node.refs.store(counted, Relaxed);
            let _ = node.into_raw(); // the counts are the slots' now
        }
    }

    /// For an array that nobody else can reach.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        give_back(std::mem::replace(self.word.get_mut(), null_mut()));
    }
}

#[inline(always)]
fn give_back(word: *mut Node) {
    if let Some(node) = node_of(word) {
        // SAFETY: the word was taken out of its slot, and its counts with it.
        unsafe { release(node, counts(word)) }
    }
}
