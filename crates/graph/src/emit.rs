//! Runs gradient rules and compositions op by op, through `invoke`.
use crate::array::NDArray;
use crate::deposit::{Deposit, Deposits};
use crate::invoke::{In, Outs, PartOf, current_device, explain, full, invoke, invoke_on};
use crate::tape::NUMBER;
use crate::tape::node::{Inner, KeptValue, NodeRef};
use crate::write::{deposit, deposit_some, inferred};
use gluonish_base::tls::tls;
use gluonish_base::{Cause, DType, Dims, Error, Result};
use gluonish_engine::{Device, TapeMark};
use gluonish_kernels::{AttrVal, Attrs, Mode};
use gluonish_ops::def::Saved;
use gluonish_ops::{Body, Emit, InputKind, Meta, Op, Rule, V, Vs, rows};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;

/// The arrays that a rule's values stand for.
struct Values {
    all: RefCell<SmallVec<[Value; 8]>>,
    /// Where ops run whose operands are all numbers.
    device: Device,
    /// Whether these compute in float64, as what they are for does; by themselves they would in float32.
    double: bool,
}

enum Value {
    Array(NDArray),
    /// The result of an op that has not run yet: it may be a gradient, which then is written where it belongs.
    Waiting(Box<Waiting>),
    /// The first result of an op of so many that has not run yet; its others follow as `Part`s, which say where it is.
    Several(Box<Waiting>, usize),
    Part(u32),
    /// A gradient that went where it belongs.
    Delivered,
}
struct Waiting {
    op: &'static Op,
    ins: SmallVec<[V; 4]>,
    attrs: Attrs,
}

impl Values {
    /// For work on the device of the first of these arrays.
    fn beside<'a>(mut arrays: impl Iterator<Item = &'a NDArray>) -> Values {
        let first = arrays.next();
        let device = first.map_or_else(current_device, |a| a.device());
        Values { all: RefCell::default(), device, double: first.is_some_and(|a| a.dtype() == DType::F64) }
    }
    /// The operands of an op on numbers alone, the first of them as an array of the type to compute in.
    fn doubled(&self, op: &'static Op, ins: &[V]) -> Result<Option<Vs>> {
        let (true, Body::Map(_), Some(V::Scalar(first))) = (self.double, &op.body, ins.first()) else {
            return Ok(None);
        };
        if !ins.iter().all(|v| matches!(v, V::Scalar(_))) {
            return Ok(None);
        }
        let mut typed = Vs::from_slice(ins);
        typed[0] = self.put(full(self.device, DType::F64, &Dims::EMPTY, *first)?);
        Ok(Some(typed))
    }
    fn invoke(&self, op: &'static Op, ins: &[V], attrs: &Attrs) -> Result<Outs> {
        self.with(ins, |ins| match ins.iter().any(|i| matches!(i, In::Array(_))) {
            true => invoke(op, ins, attrs),
            false => invoke_on(op, ins, attrs, self.device),
        })
    }
    fn put(&self, a: NDArray) -> V {
        self.push(Value::Array(a))
    }
    fn push(&self, value: Value) -> V {
        let mut all = self.all.borrow_mut();
        all.push(value);
        V::Node(all.len() as u32 - 1)
    }
    fn get(&self, v: V) -> Option<NDArray> {
        let V::Node(i) = v else { return None };
        if let Some(Value::Array(a)) = self.all.borrow().get(i as usize) { Some(a.clone()) } else { None }
    }
    fn meta(&self, v: V) -> Meta {
        match v {
            V::Node(_) => self.get(v).map_or(NUMBER, |a| Meta { shape: *a.shape(), dtype: a.dtype() }),
            V::Scalar(s) => Meta { shape: NUMBER.shape, dtype: s.dtype() },
            V::Absent => NUMBER,
        }
    }
    /// Shape and type of a result that waits for its op, where they are known before.
    fn expected(&self, v: V) -> Result<Option<Meta>> {
        let V::Node(i) = v else { return Ok(None) };
        let all = self.all.borrow();
        let Some(Value::Waiting(w)) = all.get(i as usize) else { return Ok(None) };
        if !matches!(w.op.body, Body::Map(_) | Body::Kernel(_)) {
            return Ok(None);
        }
        self.with(&w.ins, |ins| inferred(w.op, ins, &w.attrs)).map(Some)
    }
    /// Calls `f` with values, none of which waits, as operands.
    fn with<T>(&self, ins: &[V], f: impl FnOnce(&[In<'_>]) -> Result<T>) -> Result<T> {
        let all = self.all.borrow();
        let mut operands: SmallVec<[In<'_>; 4]> = SmallVec::new();
        for v in ins {
            operands.push(match v {
                V::Node(i) => match &all[*i as usize] {
                    Value::Array(a) => In::Array(a),
                    _ => return Err(Cause::Failed("a value is not there yet".into()).into()),
                },
                V::Scalar(s) => In::Scalar(*s),
                V::Absent => In::Absent,
            });
        }
        f(&operands)
    }
    fn call(&self, op: &'static Op, ins: &[V], attrs: &Attrs) -> Result<Vs> {
        let doubled = self.doubled(op, ins)?;
        let outs = self.invoke(op, doubled.as_deref().unwrap_or(ins), attrs)?;
        let mut values = SmallVec::new();
        for a in outs {
            values.push(self.put(a));
        }
        Ok(values)
    }
    /// Calls an op of one output later, when its value is asked for.
    fn call_later(&self, op: &'static Op, ins: &[V], attrs: &Attrs) -> Result<V> {
        let doubled = self.doubled(op, ins)?;
        let ins = doubled.as_deref().unwrap_or(ins);
        ins.iter().try_for_each(|v| self.finish(*v, None).map(drop))?;
        Ok(self.push(Value::Waiting(Box::new(Waiting { op, ins: SmallVec::from_slice(ins), attrs: attrs.clone() }))))
    }
    /// The same for an op of `count` outputs.
    fn call_all_later(&self, op: &'static Op, ins: &[V], attrs: &Attrs, count: usize) -> Result<Vs> {
        ins.iter().try_for_each(|v| self.finish(*v, None).map(drop))?;
        let waiting = Box::new(Waiting { op, ins: SmallVec::from_slice(ins), attrs: attrs.clone() });
        let first = self.push(Value::Several(waiting, count));
        let V::Node(number) = first else { return Ok(SmallVec::new()) };
        let mut values = Vs::from_slice(&[first]);
        (1..count).for_each(|_| values.push(self.push(Value::Part(number))));
        Ok(values)
    }
    /// Runs the op of several outputs whose first is value `first`; those for which `offered` has a buffer go there if
    /// they suit.
    fn finish_several(&self, first: u32, offered: &[Option<&Deposit>]) -> Result {
        let (outs, delivered) = {
            let all = self.all.borrow();
            let Some(Value::Several(w, _)) = all.get(first as usize) else { return Ok(()) };
            let buffers: SmallVec<[_; 4]> = offered.iter().map(|d| d.map(|d| d.buffer.clone())).collect();
            let some = buffers.iter().any(Option::is_some);
            match self.with(&w.ins, |ins| if some { deposit_some(w.op, ins, &w.attrs, &buffers) } else { Ok(None) })? {
                Some(outs) => (outs, true),
                None => (self.invoke(w.op, &w.ins, &w.attrs)?.into_iter().collect(), false),
            }
        };
        let mut all = self.all.borrow_mut();
        for (k, out) in outs.into_iter().enumerate() {
            all[first as usize + k] = match offered.get(k).copied().flatten().filter(|_| delivered) {
                Some(d) => {
                    d.filled.set(true);
                    Value::Delivered
                }
                None => Value::Array(out),
            };
        }
        Ok(())
    }
    /// Runs ops of several outputs that still wait: what is given to one input alone goes to the buffer on offer for it.
    fn deliver_several(&self, given: &[(usize, V)], deposits: &Deposits) -> Result {
        let waiting: SmallVec<[(u32, usize); 2]> = self
            .all
            .borrow()
            .iter()
            .enumerate()
            .filter_map(|(i, v)| if let Value::Several(_, count) = v { Some((i as u32, *count)) } else { None })
            .collect();
        for (first, count) in waiting {
            let offer = |k: usize| {
                let mut takers = given.iter().filter(|g| g.1 == V::Node(first + k as u32));
                let taker = takers.next().filter(|_| takers.next().is_none())?;
                deposits.iter().find(|d| d.input == taker.0 && d.mode == Mode::Write)
            };
            let offered: SmallVec<[_; 4]> = (0..count).map(offer).collect();
            self.finish_several(first, &offered)?;
        }
        Ok(())
    }
    /// Runs the op that `v` waits for, if any: into a buffer where one is offered and suits, which is then the answer.
    fn finish(&self, v: V, offered: Option<&Deposit>) -> Result<bool> {
        let V::Node(i) = v else { return Ok(false) };
        let several = match self.all.borrow().get(i as usize) {
            Some(Value::Several(..)) => Some(i),
            Some(Value::Part(first)) => Some(*first),
            Some(Value::Delivered) => return Ok(true),
            _ => None,
        };
        if let Some(first) = several {
            return self.finish_several(first, &[]).map(|()| false);
        }
        let out = {
            let all = self.all.borrow();
            let Some(Value::Waiting(w)) = all.get(i as usize) else { return Ok(false) };
            if let Some(to) = offered
                && self.with(&w.ins, |ins| deposit(w.op, ins, &w.attrs, &to.buffer, to.mode))?
            {
                to.filled.set(true);
                return Ok(true);
            }
            self.invoke(w.op, &w.ins, &w.attrs)?.remove(0)
        };
        self.all.borrow_mut()[i as usize] = Value::Array(out);
        Ok(false)
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
    /// Buffers that gradients may go to. Where there are any, ops wait until it is clear what their results are for.
    deposits: &'a Deposits,
}

static NONE: Attrs = Attrs::EMPTY;

impl Emit for Eager<'_> {
    fn call(&self, op: &'static Op, ins: &[V], attrs: &Attrs) -> Result<Vs> {
        if self.deposits.is_empty() {
            return self.values.call(op, ins, attrs);
        }
        match op.count_outputs(attrs, ins.len()) {
            1 => Ok(SmallVec::from_slice(&[self.values.call_later(op, ins, attrs)?])),
            n => self.values.call_all_later(op, ins, attrs, n),
        }
    }
    fn meta(&self, v: V) -> Meta {
        // To be asked for its shape is no reason for an op to run.
        match self.values.expected(v).and_then(|known| match known {
            Some(meta) => Ok(meta),
            None => self.values.finish(v, None).map(|_| self.values.meta(v)),
        }) {
            Ok(meta) => meta,
            Err(e) => {
                self.fail(e);
                NUMBER
            }
        }
    }
    fn saved(&self, what: Saved) -> Result<V> {
        let Some(kept) = self.inner.kept.iter().find(|k| k.what == what) else {
            return Err(Cause::Gradient(format!("its rule reads {what:?}, which the row does not save")).into());
        };
        match &kept.value {
            KeptValue::Scalar(s) => Ok(V::Scalar(*s)),
            KeptValue::Absent => Ok(V::Absent),
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
        Ok(self.values.put(full(self.values.device, m.dtype, &m.shape, 0.0.into())?))
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
    fn training(&self) -> bool {
        self.inner.training
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
    Error::new(Cause::Gradient(text.into()))
        .and_at("written in place", TapeMark::unpack(tape.written_site.load(Relaxed)))
}

pub(crate) type Grads = SmallVec<[(usize, NDArray); 2]>;

/// Runs the rule of `node` and returns the gradients of the inputs in `wanted` (a bit each), but for those that went into a
/// buffer on offer.
pub(crate) fn run_rule(
    rule: fn(&Rule<'_>),
    node: &NodeRef,
    inner: &Inner,
    dys: &[Option<NDArray>],
    wanted: u64,
    deposits: &Deposits,
    higher: bool,
) -> Result<Grads> {
    let e = Eager {
        node,
        inner,
        dys,
        higher,
        wanted,
        values: Values::beside(dys.iter().flatten()),
        given: RefCell::default(),
        error: RefCell::default(),
        deposits,
    };
    rule(&Rule(&e));
    if let Some(error) = e.error.into_inner() {
        return Err(error);
    }
    let mut out = Grads::new();
    let given = e.given.into_inner();
    e.values.deliver_several(&given, deposits)?;
    for (k, &(i, v)) in given.iter().enumerate() {
        // What is also the gradient of another input must be an array.
        let twice = given.iter().enumerate().any(|(j, g)| j != k && g.1 == v);
        if e.values.finish(v, deposits.iter().find(|d| d.input == i && !twice))? {
            continue;
        }
        let array = match e.values.get(v) {
            Some(a) => a,
            None => {
                let V::Scalar(s) = v else { continue };
                let m = inner.outs[0];
                full(e.values.device, m.dtype, &m.shape, s)?
            }
        };
        out.push((i, array));
    }
    Ok(out)
}

/// A composition on its way: no gradients, only ops.
struct Composing<'a> {
    attrs: &'a Attrs,
    training: bool,
    /// The recorded op that is composed again, with what it saved.
    again: Option<&'a Inner>,
    values: Values,
    error: RefCell<Option<Error>>,
}

impl Emit for Composing<'_> {
    fn call(&self, op: &'static Op, ins: &[V], attrs: &Attrs) -> Result<Vs> {
        self.values.call(op, ins, attrs)
    }
    fn meta(&self, v: V) -> Meta {
        self.values.meta(v)
    }
    fn saved(&self, what: Saved) -> Result<V> {
        match self.again.and_then(|inner| inner.kept.iter().find(|k| k.what == what)).map(|k| &k.value) {
            Some(KeptValue::Array(a, _)) => Ok(self.values.put(a.detached())),
            Some(KeptValue::Scalar(s)) => Ok(V::Scalar(*s)),
            Some(KeptValue::Absent) => Ok(V::Absent),
            None => Err(Cause::Failed(format!("a composition asks for {what:?}, which is not saved")).into()),
        }
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
    fn training(&self) -> bool {
        self.training
    }
    fn give(&self, _: usize, _: V) {}
    fn fail(&self, e: Error) {
        self.error.borrow_mut().get_or_insert(e);
    }
}

/// Runs a row that is a composition of others.
pub(crate) fn compose(
    op: &'static Op,
    f: fn(&Rule<'_>, &[V]) -> V,
    ins: &[In<'_>],
    attrs: &Attrs,
    device: Device,
) -> Result<Outs> {
    let training = tls().training.get();
    let values = Values { device, ..Values::beside(ins.iter().filter_map(In::array)) };
    let c = Composing { attrs, training, again: None, values, error: RefCell::default() };
    let mut vs: SmallVec<[V; 4]> = SmallVec::new();
    for (k, i) in ins.iter().enumerate() {
        vs.push(match i {
            In::Array(a) => c.values.put((*a).clone()),
            In::Scalar(s) => V::Scalar(*s),
            In::Absent if op.inputs.get(k).is_some_and(|i| i.kind == InputKind::Optional) => V::Absent,
            In::Absent => return Err(Error::new(Cause::Argument("an input is missing".into())).in_op(op.name)),
        });
    }
    let v = {
        let _part = PartOf::enter(op.name);
        f(&Rule(&c), &vs)
    };
    match (c.error.into_inner(), c.values.get(v)) {
        // Whichever op found it: users know the one that they called.
        (Some(e), _) => Err(explain(e.of_op(""), op, ins)),
        (None, Some(a)) => Ok(SmallVec::from_iter([a])),
        (None, None) => Err(Error::new(Cause::Argument("at least one array is needed".into())).in_op(op.name)),
    }
}

/// What a recorded op gives, computed again by ops that can be differentiated.
pub(crate) struct Decomposed {
    /// The inputs, each with a node of its own, so that an array which is given twice gets two gradients.
    pub(crate) inputs: SmallVec<[Option<NDArray>; 4]>,
    pub(crate) outs: SmallVec<[Option<NDArray>; 2]>,
}

fn kept_arrays(inner: &Inner) -> impl Iterator<Item = &NDArray> {
    inner.kept.iter().filter_map(|k| if let KeptValue::Array(a, _) = &k.value { Some(a) } else { None })
}

/// Composes the op of `node` from its saved inputs, while recording.
pub(crate) fn decompose(f: fn(&Rule<'_>, &[V]) -> Vs, node: &NodeRef, inner: &Inner) -> Result<Decomposed> {
    let saved = Eager {
        node,
        inner,
        dys: &[],
        higher: true,
        wanted: 0,
        values: Values::beside(kept_arrays(inner)),
        given: RefCell::default(),
        error: RefCell::default(),
        deposits: &Deposits::new(),
    };
    let c = Composing {
        attrs: saved.attrs(),
        training: inner.training,
        again: Some(inner),
        values: Values::beside(kept_arrays(inner)),
        error: RefCell::default(),
    };
    let (mut inputs, mut vs) = (SmallVec::new(), SmallVec::<[V; 4]>::new());
    for i in 0..inner.edges.len() {
        let what = Saved::X(i as u8);
        // What the row does not save its composition does not read.
        let v = if inner.kept.iter().any(|k| k.what == what) { saved.saved(what)? } else { V::Absent };
        let array = saved.values.get(v);
        let own = match &array {
            Some(a) => {
                Some(invoke(&rows::RESHAPE_AS, &[In::Array(a)], &Attrs::of(&[AttrVal::Ints(*a.shape())]))?.remove(0))
            }
            None => None,
        };
        vs.push(own.as_ref().map_or(v, |a| c.values.put(a.clone())));
        inputs.push(own);
    }
    let made = f(&Rule(&c), &vs);
    if let Some(e) = c.error.into_inner() {
        return Err(e);
    }
    Ok(Decomposed { inputs, outs: made.iter().map(|v| c.values.get(*v)).collect() })
}
