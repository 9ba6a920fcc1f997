//! The reverse pass: from heads to variables, node by node, freeing what it passes.
use crate::array::NDArray;
use crate::deposit::{self, Deposit, Deposits};
use crate::emit::{Grads, decompose, run_rule};
use crate::fused;
use crate::invoke::{In, PartOf, full, invoke};
use crate::plan::{NOWHERE, Plan};
use crate::tape::few;
use crate::tape::node::{Bundle, GradReq, Head, Inner, Kind, NodeRef};
use crate::write::copy_into;
use gluonish_base::tls::tls;
use gluonish_base::{Cause, Error, Result, Site};
use gluonish_kernels::{AttrVal, Attrs};
use gluonish_ops::{Grad, Meta, Rule, V, Vs, rows};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::Ordering::Acquire;

/// How to run a reverse pass.
#[derive(Clone, Copy, Default)]
pub struct Backward {
    pub retain_graph: bool,
    /// The gradients are recorded themselves, for a further order.
    pub create_graph: bool,
    pub train_mode: bool,
    /// Every gradient is looked at: the first that is not finite raises, naming the line of its forward op.
    pub detect_anomaly: bool,
}

/// Gradients that have arrived at the outputs of a node.
pub(crate) type Arrived = SmallVec<[Option<NDArray>; 1]>;

/// Leaves the gradients of `heads` in the buffers of the variables they depend on.
pub fn backward(heads: &[NDArray], head_grads: &[Option<NDArray>], how: Backward) -> Result {
    check_heads(heads, "backward")?;
    let mut plan = Plan::new(heads, |n| n.is_leaf(), false)?;
    plan.deposits = !how.create_graph && !how.detect_anomaly;
    if plan.nodes.is_empty() {
        let text = "the result does not depend on any variable: call attach_grad() on an array and compute inside autograd.record()";
        return Err(Error::new(Cause::Gradient(text.into())).in_op("backward"));
    }
    plan.run(heads, head_grads, how, |node, dys| match dys.first() {
        _ if !node.is_leaf() => Ok(()),
        Some(Some(dy)) => deliver(node, dy),
        _ => deliver_nothing(node),
    })
}

/// The gradients of `heads` with respect to `variables`, as new arrays.
pub fn gradients(
    heads: &[NDArray],
    variables: &[NDArray],
    head_grads: &[Option<NDArray>],
    how: Backward,
) -> Result<Vec<NDArray>> {
    let fail = |text: String| Err(Error::new(Cause::Gradient(text)).in_op("grad"));
    check_heads(heads, "grad")?;
    let mut targets = Vec::new();
    for (i, v) in variables.iter().enumerate() {
        let Some(t) = v.node.get() else {
            return fail(format!(
                "variable {i} is not part of a recorded computation: call attach_grad() on it before"
            ));
        };
        targets.push(t);
    }
    let plan = Plan::new(heads, |n| targets.iter().any(|(t, _)| t.same(n)), false)?;
    let found = plan.collect(heads, &targets, head_grads, how)?;
    // A copy of a gradient is part of its graph.
    let _mode = Mode::enter(how);
    let mut out = Vec::new();
    for (i, g) in found.into_iter().enumerate() {
        match g {
            Some(Some(g)) => out.push(own(&g, out.iter().chain(head_grads.iter().flatten()))?),
            Some(None) => {
                let v = &variables[i];
                out.push(full(v.device(), v.dtype(), v.shape(), 0.0.into())?);
            }
            None => return fail(format!("the heads do not depend on variable {i}")),
        }
    }
    Ok(out)
}

/// A gradient to give away: in memory of its own, which the caller may write.
fn own<'a>(g: &NDArray, mut others: impl Iterator<Item = &'a NDArray>) -> Result<NDArray> {
    if g.is_contiguous() && !others.any(|o| o.storage().same(g.storage())) {
        return Ok(g.clone());
    }
    Ok(invoke(&rows::COPY, &[In::Array(g)], &Attrs::new())?.remove(0))
}

/// A head that was written through another array no longer stands for its value.
fn check_heads(heads: &[NDArray], op: &'static str) -> Result {
    heads.iter().try_for_each(|h| crate::tape::check_fresh(h).map_err(|e| e.in_op(op)))
}

/// A gradient has arrived at a variable.
fn deliver(node: &NodeRef, dy: &NDArray) -> Result {
    let Some((buffer, req)) = node.lock().grad.clone() else { return Ok(()) };
    match req {
        GradReq::Write => copy_into(&buffer, In::Array(dy)),
        GradReq::Add => {
            crate::write::invoke_into(&rows::ADD, &[In::Array(&buffer), In::Array(dy)], &Attrs::new(), &buffer)
        }
        GradReq::Null => Ok(()),
    }
}

/// The heads depend on a variable, but by functions alone that are piecewise constant: its gradient is zero.
fn deliver_nothing(node: &NodeRef) -> Result {
    match node.lock().grad.clone() {
        Some((buffer, GradReq::Write)) => copy_into(&buffer, In::Scalar(0.0.into())),
        _ => Ok(()),
    }
}

/// Thread state during the pass; put back however it ends.
struct Mode(bool, bool, Site);
impl Mode {
    fn enter(how: Backward) -> Mode {
        let t = tls();
        Mode(t.recording.replace(how.create_graph), t.training.replace(how.train_mode), t.blame.get())
    }
}
impl Drop for Mode {
    fn drop(&mut self) {
        let t = tls();
        t.recording.set(self.0);
        t.training.set(self.1);
        t.blame.set(self.2);
    }
}

impl Plan {
    /// Puts the heads' own gradients in place: ones, or what the caller gives.
    fn seed(&self, heads: &[NDArray], head_grads: &[Option<NDArray>]) -> Result<Vec<Arrived>> {
        let mut arrived: Vec<Arrived> = vec![Arrived::new(); self.nodes.len()];
        for (i, head) in heads.iter().enumerate() {
            let Some((node, output)) = head.node.get() else { continue };
            let Some(at) = self.position(&node) else { continue };
            let dy = match head_grads.get(i) {
                Some(Some(g)) => {
                    if g.shape() != head.shape() {
                        let text = format!("head gradient {i} has shape {}, its head {}", g.shape(), head.shape());
                        return Err(Error::new(Cause::Shape(text)).in_op("backward"));
                    }
                    self.apart(cast(g.clone(), head.dtype())?)?
                }
                _ => full(head.device(), head.dtype(), head.shape(), 1.0.into())?,
            };
            accumulate(&mut arrived[at], output as usize, dy)?;
        }
        Ok(arrived)
    }

    /// Runs the pass; `reached` is told the gradients that arrived at each node (perhaps none), before they go on.
    fn run(
        mut self,
        heads: &[NDArray],
        head_grads: &[Option<NDArray>],
        how: Backward,
        mut reached: impl FnMut(&NodeRef, &Arrived) -> Result,
    ) -> Result {
        let _mode = Mode::enter(how);
        let mut arrived = self.seed(heads, head_grads)?;
        for k in std::mem::take(&mut self.order) {
            // Nodes are dropped as the pass leaves them behind, so what only the tape held is freed on the way.
            let Some(mut node) = self.nodes[k as usize].take().map(Bundle::into_one) else { continue };
            let mut dys = std::mem::take(&mut arrived[k as usize]);
            if dys.iter().all(Option::is_none) {
                if !self.filled.get(k as usize).is_some_and(|f| *f) {
                    reached(&node, &dys)?;
                }
                continue;
            }
            self.call_hooks(&node, &mut dys)?;
            reached(&node, &dys)?;
            let edges = self.edges_of(k);
            self.propagate(&mut node, edges, dys, how, &mut arrived)?;
        }
        Ok(())
    }

    /// The gradients of some outputs of nodes, where the heads depend on them; none where they do so by functions alone
    /// that are piecewise constant.
    fn collect(
        self,
        heads: &[NDArray],
        targets: &[(NodeRef, u32)],
        head_grads: &[Option<NDArray>],
        how: Backward,
    ) -> Result<Vec<Option<Option<NDArray>>>> {
        let mut found: Vec<Option<Option<NDArray>>> = vec![None; targets.len()];
        self.run(heads, head_grads, how, |node, dys| {
            for (to, (target, output)) in found.iter_mut().zip(targets) {
                if target.same(node) {
                    *to = Some(dys.get(*output as usize).cloned().flatten());
                }
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// A gradient from outside, copied if it lies in the buffer of a variable: the pass may write there before it reads.
    fn apart(&self, g: NDArray) -> Result<NDArray> {
        let lies_in = |n: &Bundle| n.is_leaf() && n.lock().grad.as_ref().is_some_and(|(b, _)| b.overlaps(&g));
        if !self.nodes.iter().flatten().any(lies_in) {
            return Ok(g);
        }
        Ok(invoke(&rows::COPY, &[In::Array(&g)], &Attrs::new())?.remove(0))
    }

    fn call_hooks(&self, node: &NodeRef, dys: &mut Arrived) -> Result {
        if !node.hooked.load(Acquire) {
            return Ok(());
        }
        let hooks = node.lock().hooks.clone();
        for (output, _, hook) in hooks {
            if let Some(Some(dy)) = dys.get(output as usize).cloned()
                && let Some(new) =
                    hook.call(&dy).and_then(|new| stands_for(new, &dy)).map_err(|e| node.head.blame(e))?
            {
                dys[output as usize] = Some(self.apart(new)?);
            }
        }
        Ok(())
    }

    /// From the gradients of a node's outputs to those of its inputs, which are at the ends of `edges`.
    fn propagate(
        &mut self,
        node: &mut NodeRef,
        edges: Range<usize>,
        dys: Arrived,
        how: Backward,
        arrived: &mut [Arrived],
    ) -> Result {
        let mut wanted = 0u64;
        for (i, e) in self.edges[edges.clone()].iter().enumerate() {
            wanted |= ((*e != NOWHERE) as u64) << i.min(63);
        }
        if wanted == 0 || self.run_few(node, &edges, &dys, wanted, how, arrived)? {
            return Ok(());
        }
        tls().blame.set(node.head.site);
        let custom = match &node.head.kind {
            Kind::Custom(c) => Some(self.custom_rule(node, c.as_ref(), &dys).map_err(|e| node.head.blame(e))?),
            _ => None,
        };
        let mut inner = node.lock();
        let targets = &self.edges[edges.clone()];
        let grads = match custom {
            Some(grads) => grads,
            None => {
                let deposits = self.deposits(targets, &inner, &dys, arrived);
                let grads = {
                    let _part = PartOf::enter(node.head.name());
                    rule_of(node, &inner, &dys, wanted, &deposits, how).map_err(|e| node.head.blame(e))?
                };
                for d in deposits.iter().filter(|d| d.filled.get()) {
                    self.filled.resize(self.nodes.len(), false);
                    self.filled[targets[d.input] as usize] = true;
                }
                grads
            }
        };
        for (i, g) in grads {
            let (Some(&to), Some(edge)) = (targets.get(i), inner.edges.get(i)) else { continue };
            if to == NOWHERE {
                continue;
            }
            let meta = edge.meta.as_deref().unwrap_or(&inner.outs[0]);
            let g = fit(g, meta).map_err(|e| node.head.blame(e))?;
            if how.detect_anomaly {
                check_finite(&g, i).map_err(|e| node.head.blame(e))?;
            }
            accumulate(&mut arrived[to as usize], edge.output as usize, g)?;
        }
        if !how.retain_graph {
            self.consume(&edges, &mut inner);
            drop(inner);
            if let Kind::Custom(c) = &node.head.kind {
                c.forget();
            }
        }
        Ok(())
    }

    /// A few values are done here and now.
    fn run_few(
        &mut self,
        node: &mut NodeRef,
        edges: &Range<usize>,
        dys: &Arrived,
        wanted: u64,
        how: Backward,
        arrived: &mut [Arrived],
    ) -> Result<bool> {
        let (head, mut inner) = node.open();
        let (Kind::Op(op), [Some(dy)]) = (&head.kind, &dys[..]) else { return Ok(false) };
        if how.create_graph || how.detect_anomaly || inner.consumed {
            return Ok(false);
        }
        let targets = &self.edges[edges.clone()];
        let target = |i: usize| (targets[i], inner.edges[i].output);
        let done = few::run(op, &inner, dy, wanted, target, arrived).map_err(|e| head.blame(e))?;
        if done && !how.retain_graph {
            self.consume(edges, &mut inner);
        }
        Ok(done)
    }

    /// What was kept for the gradient is freed; a second pass will say so.
    fn consume(&mut self, edges: &Range<usize>, inner: &mut Inner) {
        for (edge, &to) in inner.edges.iter_mut().zip(&self.edges[edges.clone()]) {
            // The pass has the node anyway: it gives back all counts at once.
            if let Some(Some(bundle)) = self.nodes.get_mut(to as usize)
                && let Some(from) = edge.from.take()
            {
                bundle.add(from);
            }
        }
        inner.clear();
        inner.consumed = true;
    }

    /// The buffers that the rule of a node may fill: those of large variables that get a gradient from nowhere else.
    fn deposits(&self, edges: &[u32], inner: &Inner, dys: &Arrived, arrived: &[Arrived]) -> Deposits {
        let mut found = Deposits::new();
        for (i, &to) in edges.iter().enumerate().filter(|(_, to)| self.deposits && **to != NOWHERE) {
            let meta = inner.edges[i].meta.as_deref().unwrap_or(&inner.outs[0]);
            if meta.shape.size() < deposit::MIN_SIZE {
                continue;
            }
            let alone = || arrived[to as usize].is_empty() && self.contributions(to) == 1;
            if let Some(leaf) = self.nodes[to as usize].as_ref().filter(|n| n.is_leaf() && alone())
                && let Some(d) = Deposit::of(leaf, i, meta, dys)
                && !found.iter().any(|f: &Deposit| f.buffer.storage().same(d.buffer.storage()))
            {
                found.push(d);
            }
        }
        found
    }

    fn custom_rule(&self, node: &NodeRef, custom: &dyn crate::tape::node::Custom, dys: &Arrived) -> Result<Grads> {
        let inner = node.lock();
        if inner.consumed {
            return Err(consumed_error(&node.head));
        }
        let outs: Vec<Meta> = inner.outs.to_vec();
        drop(inner);
        let device = dys.iter().flatten().next().map(|a| a.device()).unwrap_or_default();
        let mut all = Vec::new();
        for (i, m) in outs.iter().enumerate() {
            all.push(match dys.get(i).cloned().flatten() {
                Some(dy) => dy,
                None => full(device, m.dtype, &m.shape, 0.0.into())?,
            });
        }
        let grads = custom.backward(&all)?.into_iter().enumerate();
        grads.filter_map(|(i, g)| g.map(|g| Ok((i, self.apart(g)?)))).collect()
    }
}

fn rule_of(
    node: &NodeRef,
    inner: &Inner,
    dys: &Arrived,
    wanted: u64,
    deposits: &Deposits,
    how: Backward,
) -> Result<Grads> {
    let Kind::Op(op) = &node.head.kind else { return Ok(Grads::new()) };
    match op.grad {
        Grad::Zero => Ok(Grads::new()),
        Grad::Missing(why) => Err(Cause::Gradient(format!("it cannot be differentiated: {why}")).into()),
        Grad::Rule(rule) => {
            if inner.consumed {
                return Err(consumed_error(&node.head));
            }
            if !how.create_graph
                && let Some(grads) = fused::run(op, inner, dys, wanted, deposits)?
            {
                return Ok(grads);
            }
            if how.create_graph
                && let Some(f) = op.decompose
            {
                return decomposed(f, node, inner, dys, wanted, how);
            }
            run_rule(rule, node, inner, dys, wanted, deposits, how.create_graph)
        }
    }
}

/// The gradients of an op as those of what it decomposes into, to be differentiated again.
fn decomposed(
    f: fn(&Rule<'_>, &[V]) -> Vs,
    node: &NodeRef,
    inner: &Inner,
    dys: &Arrived,
    wanted: u64,
    how: Backward,
) -> Result<Grads> {
    let made = decompose(f, node, inner)?;
    let (mut heads, mut head_grads) = (Vec::new(), Vec::new());
    for (out, dy) in made.outs.into_iter().zip(dys.iter()) {
        if let (Some(out), Some(dy)) = (out, dy) {
            heads.push(out);
            head_grads.push(Some(dy.clone()));
        }
    }
    let mut targets = Vec::new();
    let mut numbers = Vec::new();
    for (i, a) in made.inputs.iter().enumerate().filter(|(i, _)| wanted >> i.min(&63) & 1 == 1) {
        if let Some(target) = a.as_ref().and_then(|a| a.node.get()) {
            targets.push(target);
            numbers.push(i);
        }
    }
    let plan = Plan::new(&heads, |n| targets.iter().any(|(t, _)| t.same(n)), true)?;
    // What was composed is part of the new graph.
    let found = plan.collect(&heads, &targets, &head_grads, Backward { retain_graph: true, ..how })?;
    Ok(numbers.into_iter().zip(found).filter_map(|(i, g)| g.flatten().map(|g| (i, g))).collect())
}

/// The one place where broadcasting and promotion are undone.
fn fit(g: NDArray, to: &Meta) -> Result<NDArray> {
    let mut g = g;
    if *g.shape() != to.shape {
        if to.shape.broadcast(g.shape()) != Some(*g.shape()) {
            let text = format!("a gradient of shape {} does not fit an input of shape {}", g.shape(), to.shape);
            return Err(Cause::Gradient(text).into());
        }
        g = invoke(&rows::SUM_TO, &[In::Array(&g)], &Attrs::of(&[AttrVal::Ints(to.shape)]))?.remove(0);
    }
    cast(g, to.dtype)
}

fn cast(g: NDArray, to: gluonish_base::DType) -> Result<NDArray> {
    if g.dtype() == to {
        return Ok(g);
    }
    Ok(invoke(&rows::CAST, &[In::Array(&g)], &Attrs::of(&[AttrVal::DType(to)]))?.remove(0))
}

/// What a hook gave in the place of a gradient, if that is like it in every respect.
fn stands_for(new: Option<NDArray>, dy: &NDArray) -> Result<Option<NDArray>> {
    let Some(new) = new else { return Ok(None) };
    let (got, had, remedy) = if new.shape() != dy.shape() {
        (format!("shape {}", new.shape()), format!("shape {}", dy.shape()), "")
    } else if new.dtype() != dy.dtype() {
        (format!("type {}", new.dtype()), format!("type {}", dy.dtype()), "; use astype()")
    } else if new.device() != dy.device() {
        (format!("device {}", new.device().name()), format!("device {}", dy.device().name()), "; use as_in_context()")
    } else {
        return Ok(Some(new));
    };
    Err(Cause::Gradient(format!("a gradient hook returned {got} for a gradient of {had}{remedy}")).into())
}

/// Adds a gradient to those that have arrived.
pub(crate) fn accumulate(slot: &mut Arrived, output: usize, g: NDArray) -> Result {
    while slot.len() <= output {
        slot.push(None);
    }
    slot[output] = Some(match slot[output].take() {
        None => g,
        Some(old) if few::add(&old, &g) => old,
        Some(old) => invoke(&rows::ADD, &[In::Array(&old), In::Array(&g)], &Attrs::new())?.remove(0),
    });
    Ok(())
}

#[cold]
pub(crate) fn consumed_error(head: &Head) -> Error {
    let text = "the graph was freed by an earlier backward(); pass retain_graph=True there to use it again";
    head.blame(Cause::Gradient(text.into()).into())
}

#[cold]
fn check_finite(g: &NDArray, input: usize) -> Result {
    if g.size() == 0 {
        return Ok(());
    }
    let size = invoke(&rows::ABS, &[In::Array(g)], &Attrs::new())?.remove(0);
    let largest = invoke(&rows::MAX, &[In::Array(&size)], &Attrs::of(&rows::extreme_of_all()))?.remove(0);
    let largest = cast(largest, gluonish_base::DType::F64)?;
    crate::host::wait(&largest)?;
    if largest.read_f64().is_finite() {
        return Ok(());
    }
    Err(Cause::Gradient(format!("the gradient of its input {input} is not finite")).into())
}
