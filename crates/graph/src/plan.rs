//! The part of the recorded graph that a reverse pass goes through.
use crate::array::NDArray;
use crate::backward::consumed_error;
use crate::tape::node::{Bundle, Kind, Node, NodeRef};
use gluonish_base::Result;
use gluonish_ops::Grad;
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

/// The part of the graph that leads from the heads to the targets, and an order in which every node comes after all that
/// was made of it.
pub(crate) struct Plan {
    pub(crate) nodes: Vec<Option<Bundle>>,
    /// Positions of the inputs' nodes, node after node; `NOWHERE` where no gradient is wanted.
    pub(crate) edges: Vec<u32>,
    /// Where the edges of each node end; they start where those of the one before end.
    ends: Vec<u32>,
    pub(crate) order: Vec<u32>,
    /// How many edges lead to each node, counted when first asked for.
    users: OnceCell<Vec<u32>>,
    /// Rules may write to the buffers of the variables themselves.
    pub(crate) deposits: bool,
    /// Which variables got their gradients so; empty while none did.
    pub(crate) filled: Vec<bool>,
}
pub(crate) const NOWHERE: u32 = u32::MAX;

impl Plan {
    /// Breadth first, with no recursion. Marks on the nodes say what has been seen; one traversal at a time uses them.
    /// `until` ends it at the targets, where none depends on another.
    pub(crate) fn new(heads: &[NDArray], is_target: impl Fn(&Node) -> bool, until: bool) -> Result<Plan> {
        static TRAVERSALS: Mutex<u64> = Mutex::new(0);
        let mut number = TRAVERSALS.lock().unwrap_or_else(PoisonError::into_inner);
        *number += 1;
        let tag = *number << 32;
        let mut plan = Plan {
            nodes: Vec::new(),
            edges: Vec::new(),
            ends: Vec::new(),
            order: Vec::new(),
            users: OnceCell::new(),
            deposits: false,
            filled: Vec::new(),
        };
        // How many nodes that were made of each are still to come.
        let mut users: Vec<u32> = Vec::new();
        for (node, _) in heads.iter().filter_map(|h| h.node.get()) {
            plan.find(&node, tag, &mut users);
        }
        let (mut next, mut freed) = (0, false);
        while let Some(node) = plan.nodes.get_mut(next).and_then(Option::take) {
            let inner = node.lock();
            freed |= inner.consumed;
            let end = until && is_target(&node);
            for e in &inner.edges {
                let from = e.from.as_ref().filter(|_| !end);
                let at = from.map_or(NOWHERE, |n| plan.find(n, tag, &mut users));
                if at != NOWHERE {
                    users[at as usize] += 1;
                }
                plan.edges.push(at);
            }
            drop(inner);
            plan.ends.push(plan.edges.len() as u32);
            plan.nodes[next] = Some(node);
            next += 1;
        }
        drop(number);
        plan.sort(users);
        if freed {
            plan.check_freed(heads)?;
        }
        plan.prune(is_target);
        Ok(plan)
    }

    /// Refuses a graph in which a gradient would come to a node that an earlier pass has freed. None comes to what lies behind
    /// functions that are piecewise constant.
    #[cold]
    fn check_freed(&self, heads: &[NDArray]) -> Result {
        let mut reached = vec![false; self.nodes.len()];
        let positions = heads.iter().filter_map(|h| h.node.get()).filter_map(|(node, _)| self.position(&node));
        positions.for_each(|at| reached[at] = true);
        for &i in &self.order {
            let Some(node) = self.nodes[i as usize].as_ref().filter(|n| reached[i as usize] && !is_flat(n)) else {
                continue;
            };
            if node.lock().consumed {
                return Err(consumed_error(&node.head));
            }
            let edges = self.edges[self.edges_of(i)].iter();
            edges.filter(|e| **e != NOWHERE).for_each(|e| reached[*e as usize] = true);
        }
        Ok(())
    }

    /// The position of a node, which is added if it is new.
    #[inline]
    fn find(&mut self, node: &NodeRef, tag: u64, users: &mut Vec<u32>) -> u32 {
        let mark = node.mark.load(Relaxed);
        if mark >= tag {
            return mark as u32;
        }
        let at = self.nodes.len() as u32;
        node.mark.store(tag | at as u64, Relaxed);
        self.nodes.push(Some(Bundle::of(node.clone())));
        users.push(0);
        at
    }

    /// Which of the edges are those of a node.
    #[inline(always)]
    pub(crate) fn edges_of(&self, node: u32) -> Range<usize> {
        let start = if node == 0 { 0 } else { self.ends[node as usize - 1] };
        start as usize..self.ends[node as usize] as usize
    }

    fn sort(&mut self, mut users: Vec<u32>) {
        let mut ready: Vec<u32> = (0..users.len() as u32).filter(|i| users[*i as usize] == 0).collect();
        self.order.reserve(users.len());
        while let Some(i) = ready.pop() {
            self.order.push(i);
            for &e in self.edges[self.edges_of(i)].iter().filter(|e| **e != NOWHERE) {
                users[e as usize] -= 1;
                if users[e as usize] == 0 {
                    ready.push(e);
                }
            }
        }
    }

    /// Forgets the edges that lead to no target.
    fn prune(&mut self, is_target: impl Fn(&Node) -> bool) {
        let mut needed = vec![false; self.nodes.len()];
        for &i in self.order.iter().rev() {
            let range = self.edges_of(i);
            let edges = &mut self.edges[range];
            edges.iter_mut().filter(|e| **e != NOWHERE && !needed[**e as usize]).for_each(|e| *e = NOWHERE);
            needed[i as usize] =
                edges.iter().any(|e| *e != NOWHERE) || self.nodes[i as usize].as_ref().is_some_and(|n| is_target(n));
        }
    }

    pub(crate) fn position(&self, node: &NodeRef) -> Option<usize> {
        let is = |n: &Option<Bundle>| n.as_ref().is_some_and(|n| node.same(n));
        // Marks may have moved on to another traversal: compare the node itself.
        let at = node.mark.load(Relaxed) as u32 as usize;
        if self.nodes.get(at).is_some_and(is) { Some(at) } else { self.nodes.iter().position(is) }
    }

    /// How many edges lead to a node.
    pub(crate) fn contributions(&self, to: u32) -> u32 {
        let count = || {
            let mut users = vec![0; self.nodes.len()];
            self.edges.iter().filter(|e| **e != NOWHERE).for_each(|e| users[*e as usize] += 1);
            users
        };
        self.users.get_or_init(count)[to as usize]
    }
}

/// Whether a node is that of a piecewise constant function.
fn is_flat(node: &Node) -> bool {
    matches!(&node.head.kind, Kind::Op(op) if matches!(op.grad, Grad::Zero))
}
