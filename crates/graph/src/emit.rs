//! Runs gradient rules and compositions op by op, through `invoke`.
use crate::array::NDArray;
use crate::invoke::{In, Outs, invoke};
use crate::tape::NUMBER;
use crate::tape::node::{Inner, KeptValue, NodeRef};
use gluonish_base::{Cause, Error, Result};
use gluonish_engine::TapeMark;
use gluonish_kernels::Attrs;
use gluonish_ops::def::Saved;
use gluonish_ops::{Emit, Meta, Op, Rule, V};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;

/// The arrays that a rule's values stand for.
#[derive(Default)]
struct Values(RefCell<SmallVec<[NDArray; 8]>>);

impl Values {
    fn put(&self, a: NDArray) -> V {
        let mut all = self.0.borrow_mut();
        all.push(a);
        V::Node(all.len() as u32 - 1)
    }
    fn get(&self, v: V) -> Option<NDArray> {
        if let V::Node(i) = v { self.0.borrow().get(i as usize).cloned() } else { None }
    }
    fn meta(&self, v: V) -> Meta {
        match v {
            V::Node(i) => {
                self.0.borrow().get(i as usize).map_or(NUMBER, |a| Meta { shape: *a.shape(), dtype: a.dtype() })
            }
            V::Scalar(s) => Meta { shape: NUMBER.shape, dtype: s.dtype() },
        }
    }
    fn call(&self, op: &'static Op, ins: &[V], attrs: &Attrs) -> Result<SmallVec<[V; 2]>> {
        let outs = {
            let all = self.0.borrow();
            let mut operands: SmallVec<[In<'_>; 4]> = SmallVec::new();
            for v in ins {
                operands.push(match v {
                    V::Node(i) => In::Array(&all[*i as usize]),
                    V::Scalar(s) => In::Scalar(*s),
                });
            }
            invoke(op, &operands, attrs)?
        };
        let mut values = SmallVec::new();
        for a in outs {
            values.push(self.put(a));
        }
        Ok(values)
    }
}

/// One node's rule, run at once.
struct Eager<'a> {
    node: &'a NodeRef,
    inner: &'a Inner,
    dys: &'a [Option<NDArray>],
    /// The gradients are themselves recorded: saved values keep their place in the graph.
    higher: bool,
    wanted: u64,
    values: Values,
    given: RefCell<SmallVec<[(usize, V); 2]>>,
    error: RefCell<Option<Error>>,
}

static NONE: Attrs = Attrs::EMPTY;

impl Emit for Eager<'_> {
    fn call(&self, op: &'static Op, ins: &[V], attrs: &Attrs) -> Result<SmallVec<[V; 2]>> {
        self.values.call(op, ins, attrs)
    }
    fn meta(&self, v: V) -> Meta {
        self.values.meta(v)
    }
    fn saved(&self, what: Saved) -> Result<V> {
        let Some(kept) = self.inner.kept.iter().find(|k| k.what == what) else {
            return Err(Cause::Gradient(format!("its rule reads {what:?}, which the row does not save")).into());
        };
        match &kept.value {
            KeptValue::Scalar(s) => Ok(V::Scalar(*s)),
            KeptValue::Array(a, version) => {
                if a.storage().version() != *version {
                    return Err(overwritten(a));
                }
                Ok(self.values.put(self.in_graph(what, a)))
            }
        }
    }
    fn dy(&self, i: usize) -> Result<V> {
        if let Some(Some(a)) = self.dys.get(i) {
            return Ok(self.values.put(a.clone()));
        }
        let m = self.output(i);
        let device = self.dys.iter().flatten().next().map(|a| a.device()).unwrap_or_default();
        Ok(self.values.put(crate::invoke::full(device, m.dtype, &m.shape, 0.0.into())?))
    }
    fn attrs(&self) -> &Attrs {
        self.inner.attrs.as_deref().unwrap_or(&NONE)
    }
    fn input(&self, i: usize) -> Meta {
        self.inner.edges.get(i).map_or(NUMBER, |e| e.meta.as_deref().copied().unwrap_or(self.inner.outs[0]))
    }
    fn output(&self, i: usize) -> Meta {
        self.inner.outs.get(i).copied().unwrap_or(NUMBER)
    }
    fn inputs(&self) -> usize {
        self.inner.edges.len()
    }
    fn wants(&self, i: usize) -> bool {
        self.wanted >> i.min(63) & 1 == 1
    }
    fn give(&self, i: usize, v: V) {
        self.given.borrow_mut().push((i, v));
    }
    fn fail(&self, e: Error) {
        self.error.borrow_mut().get_or_insert(e);
    }
}

impl Eager<'_> {
    /// A saved value, for a further order with its place in the graph.
    fn in_graph(&self, what: Saved, a: &NDArray) -> NDArray {
        if !self.higher {
            return a.clone();
        }
        match what {
            Saved::X(i) => match self.inner.edges.get(i as usize).and_then(|e| e.from.clone().map(|n| (n, e.output))) {
                Some((node, output)) => a.detached().with_node(node, output),
                None => a.clone(),
            },
            Saved::Y(i) => a.detached().with_node(self.node.clone(), i as u32),
        }
    }
}

#[cold]
fn overwritten(a: &NDArray) -> Error {
    let text = "an array that its gradient reads was overwritten in place after it was recorded; write to a new array, or copy() it before";
    let tape = &a.storage().tape;
    let e = Error::new(Cause::Gradient(text.into()));
    if tape.recorded.load(Relaxed) == 0 {
        e
    } else {
        e.and_at("written in place", TapeMark::unpack(tape.recorded_site.load(Relaxed)))
    }
}

pub(crate) type Grads = SmallVec<[(usize, NDArray); 2]>;

/// Runs the rule of `node` and returns the gradients of the inputs in `wanted` (a bit each).
pub(crate) fn run_rule(
    rule: fn(&Rule<'_>),
    node: &NodeRef,
    inner: &Inner,
    dys: &[Option<NDArray>],
    wanted: u64,
    higher: bool,
) -> Result<Grads> {
    let e = Eager {
        node,
        inner,
        dys,
        higher,
        wanted,
        values: Values::default(),
        given: RefCell::default(),
        error: RefCell::default(),
    };
    rule(&Rule(&e));
    if let Some(error) = e.error.into_inner() {
        return Err(error);
    }
    let mut out = Grads::new();
    for (i, v) in e.given.into_inner() {
        let array = match e.values.get(v) {
            Some(a) => a,
            None => {
                let V::Scalar(s) = v else { continue };
                let m = inner.outs[0];
                crate::invoke::full(
                    dys.iter().flatten().next().map(|a| a.device()).unwrap_or_default(),
                    m.dtype,
                    &m.shape,
                    s,
                )?
            }
        };
        out.push((i, array));
    }
    Ok(out)
}

/// A composition on its way: no saved values, no gradients, only ops.
struct Composing<'a> {
    attrs: &'a Attrs,
    values: Values,
    error: RefCell<Option<Error>>,
}

impl Emit for Composing<'_> {
    fn call(&self, op: &'static Op, ins: &[V], attrs: &Attrs) -> Result<SmallVec<[V; 2]>> {
        self.values.call(op, ins, attrs)
    }
    fn meta(&self, v: V) -> Meta {
        self.values.meta(v)
    }
    fn saved(&self, _: Saved) -> Result<V> {
        Err(Cause::Failed("a composition has nothing saved".into()).into())
    }
    fn dy(&self, _: usize) -> Result<V> {
        Err(Cause::Failed("a composition has no gradient of its own".into()).into())
    }
    fn attrs(&self) -> &Attrs {
        self.attrs
    }
    fn input(&self, i: usize) -> Meta {
        self.values.meta(V::Node(i as u32))
    }
    fn output(&self, _: usize) -> Meta {
        NUMBER
    }
    fn inputs(&self) -> usize {
        0
    }
    fn wants(&self, _: usize) -> bool {
        false
    }
    fn give(&self, _: usize, _: V) {}
    fn fail(&self, e: Error) {
        self.error.borrow_mut().get_or_insert(e);
    }
}

/// Runs a row that is a composition of others.
pub(crate) fn compose(op: &'static Op, f: fn(&Rule<'_>, &[V]) -> V, ins: &[In<'_>], attrs: &Attrs) -> Result<Outs> {
    let c = Composing { attrs, values: Values::default(), error: RefCell::default() };
    let mut vs: SmallVec<[V; 4]> = SmallVec::new();
    for i in ins {
        vs.push(match i {
            In::Array(a) => c.values.put((*a).clone()),
            In::Scalar(s) => V::Scalar(*s),
            In::Absent => return Err(Error::new(Cause::Argument("an input is missing".into())).in_op(op.name)),
        });
    }
    let v = f(&Rule(&c), &vs);
    match (c.error.into_inner(), c.values.get(v)) {
        (Some(e), _) => Err(e.in_op(op.name)),
        (None, Some(a)) => Ok(SmallVec::from_iter([a])),
        (None, None) => Err(Error::new(Cause::Argument("at least one array is needed".into())).in_op(op.name)),
    }
}
