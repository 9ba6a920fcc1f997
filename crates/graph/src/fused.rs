//! Gradient rules of elementwise ops, traced once into a program that makes one pass over memory. What a rule computes
//! does not depend on shapes or values, so a program is kept for each op, attributes, wanted inputs and types.
use crate::array::NDArray;
use crate::deposit::Deposits;
use crate::emit::Grads;
use crate::invoke::{In, Views, out_views, view_of};
use crate::launch::{Operands, Owned, in_caller, submit, threads_for, threads_here};
use crate::tape::NUMBER;
use crate::tape::node::{Inner, KeptValue};
use crate::write::whole_or_part;
use gluonish_base::{Cause, DType, Dims, Error, Result, Site};
use gluonish_engine::{Var, Write};
use gluonish_kernels::map::{self, Builder, Program, Value};
use gluonish_kernels::{Attrs, Cx, Mode, Out, View};
use gluonish_ops::def::Saved;
use gluonish_ops::{Body, Call, Emit, Grad, Meta, Metas, Op, Rule, V, Vs, infer, rows};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

/// A rule of fewer steps gains nothing over running its op directly.
const MIN_STEPS: usize = 2;

/// Fewer values are done sooner by a few small ops than by setting up a program.
const MIN_SIZE: usize = 256;

/// Where a program's input comes from.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Source {
    Dy,
    Kept(usize),
}

/// A traced rule: its inputs, and which input of the forward op each output is the gradient of.
pub(crate) struct Traced {
    pub(crate) program: Program,
    pub(crate) sources: Vec<Source>,
    pub(crate) gives: Vec<(usize, DType)>,
    steps: usize,
}

/// What a trace depends on, beside the op and the wanted inputs.
struct Entry {
    attrs: Option<Box<Attrs>>,
    types: Types,
    /// `None`: the rule does not fuse.
    traced: Option<Arc<Traced>>,
}

/// Entries of one op: attributes that change all the time must not fill the memory.
const KEPT: usize = 16;

type Cache = HashMap<(usize, u64), Vec<Entry>>;
thread_local!(static CACHE: RefCell<Cache> = RefCell::default());

/// The types of the incoming gradient, of the result, and of what was kept. A number takes the type of what it meets.
type Types = SmallVec<[(Option<Saved>, DType, bool); 6]>;

fn types(inner: &Inner, dy: &NDArray) -> Types {
    let mut out = Types::new();
    out.push((None, dy.dtype(), false));
    out.push((None, inner.outs[0].dtype, false));
    for k in &inner.kept {
        let (dtype, is_number) = match &k.value {
            KeptValue::Array(a, _) => (a.dtype(), false),
            KeptValue::Scalar(s) => (s.dtype(), true),
            KeptValue::Absent => (NUMBER.dtype, true),
        };
        out.push((Some(k.what), dtype, is_number));
    }
    out
}

/// Runs the rule as one program, if it is one. `None`: run it op by op.
pub(crate) fn run(
    op: &'static Op,
    inner: &Inner,
    dys: &[Option<NDArray>],
    wanted: u64,
    deposits: &Deposits,
) -> Result<Option<Grads>> {
    let (Body::Map(_), Grad::Rule(rule), Some(Some(dy))) = (&op.body, op.grad, dys.first()) else { return Ok(None) };
    if op.saves.is_empty() || dy.size() < MIN_SIZE {
        return Ok(None);
    }
    let stale = |k: &crate::tape::node::Kept| matches!(&k.value, KeptValue::Array(a, v) if a.storage().version() != *v);
    if inner.kept.iter().any(stale) {
        return Ok(None); // running it op by op says why
    }
    let Some(traced) = lookup(op, rule, inner, dy, wanted) else { return Ok(None) };
    launch(op, &traced, inner, dy, deposits).map(Some)
}

fn lookup(op: &'static Op, rule: fn(&Rule<'_>), inner: &Inner, dy: &NDArray, wanted: u64) -> Option<Arc<Traced>> {
    let types = types(inner, dy);
    CACHE.with_borrow_mut(|cache| {
        let entries = cache.entry((std::ptr::from_ref(op).addr(), wanted)).or_default();
        if let Some(e) = entries.iter().find(|e| e.types == types && e.attrs == inner.attrs) {
            return e.traced.clone();
        }
        let traced = trace(rule, inner, dy, wanted).filter(|t| t.steps >= MIN_STEPS).map(Arc::new);
        if entries.len() == KEPT {
            entries.remove(0);
        }
        entries.push(Entry { attrs: inner.attrs.clone(), types, traced: traced.clone() });
        traced
    })
}

/// Records the formulas of a rule instead of running them.
struct Tracer<'a> {
    inner: &'a Inner,
    dy: &'a NDArray,
    wanted: u64,
    builder: RefCell<Builder>,
    values: RefCell<Vec<(Value, DType)>>,
    inputs: RefCell<Vec<(Source, V)>>,
    given: RefCell<Vec<(usize, V)>>,
    steps: Cell<usize>,
    /// The rule did something that is not elementwise, or looked at a shape.
    stopped: Cell<bool>,
}

pub(crate) fn trace(rule: fn(&Rule<'_>), inner: &Inner, dy: &NDArray, wanted: u64) -> Option<Traced> {
    let t = Tracer {
        inner,
        dy,
        wanted,
        builder: RefCell::default(),
        values: RefCell::default(),
        inputs: RefCell::default(),
        given: RefCell::default(),
        steps: Cell::new(0),
        stopped: Cell::new(false),
    };
    rule(&Rule(&t));
    if t.stopped.get() {
        return None;
    }
    let mut builder = t.builder.into_inner();
    let values = t.values.into_inner();
    let mut gives = Vec::new();
    for (i, v) in t.given.into_inner() {
        let V::Node(n) = v else { return None };
        let (value, dtype) = values[n as usize];
        builder.output(value, dtype).ok()?;
        gives.push((i, dtype));
    }
    let sources = t.inputs.into_inner().into_iter().map(|(s, _)| s).collect();
    Some(Traced { program: builder.build().ok()?, sources, gives, steps: t.steps.get() })
}

impl Tracer<'_> {
    fn put(&self, v: Value, dtype: DType) -> V {
        let mut all = self.values.borrow_mut();
        all.push((v, dtype));
        V::Node(all.len() as u32 - 1)
    }
    fn input_value(&self, source: Source, dtype: DType) -> V {
        if let Some((_, v)) = self.inputs.borrow().iter().find(|(s, _)| *s == source) {
            return *v;
        }
        let v = self.put(self.builder.borrow_mut().input(dtype), dtype);
        self.inputs.borrow_mut().push((source, v));
        v
    }
    #[cold]
    fn stop(&self) -> Error {
        self.stopped.set(true);
        Cause::Unsupported("not elementwise".into()).into()
    }
    fn step(&self, op: &'static Op, map: &'static map::Map, ins: &[V]) -> Result<V> {
        let values = self.values.borrow().clone();
        let views: Result<SmallVec<[View<'_>; 4]>> = ins
            .iter()
            .map(|v| match v {
                V::Node(i) => Ok(view_of(&In::Absent, std::ptr::null(), values[*i as usize].1)),
                V::Scalar(s) => Ok(view_of(&In::Scalar(*s), std::ptr::null(), s.dtype())),
                V::Absent => Err(self.stop()),
            })
            .collect();
        let views = views?;
        let mut metas = Metas::new();
        (op.infer)(&Call { ins: &views, attrs: &Attrs::new(), training: false }, &mut metas)?;
        let compute = if map.is_truth() { infer::comparison_type(&views) } else { metas[0].dtype };
        let mut builder = self.builder.borrow_mut();
        let args: SmallVec<[Value; 4]> = ins
            .iter()
            .filter_map(|v| match v {
                V::Node(i) => Some(values[*i as usize].0),
                V::Scalar(s) => Some(builder.constant(*s)),
                V::Absent => None,
            })
            .collect();
        let out = builder.step(map, compute, &args)?;
        drop(builder);
        self.steps.set(self.steps.get() + 1);
        Ok(self.put(out, metas[0].dtype))
    }
}

static NONE: Attrs = Attrs::EMPTY;

impl Emit for Tracer<'_> {
    fn call(&self, op: &'static Op, ins: &[V], attrs: &Attrs) -> Result<Vs> {
        if self.stopped.get() {
            return Err(self.stop());
        }
        let out = match (&op.body, ins) {
            (Body::Map(map), _) => self.step(op, map, ins),
            (_, [V::Node(i)]) if std::ptr::eq(op, &rows::CAST) => {
                let (value, from) = self.values.borrow()[*i as usize];
                let to = attrs.dtype(0).unwrap_or(from);
                self.builder.borrow_mut().cast(value, to).map(|v| (v, to)).map(|(v, to)| self.put(v, to))
            }
            _ => Err(self.stop()),
        };
        out.map(|v| SmallVec::from_slice(&[v])).map_err(|_| self.stop())
    }
    fn meta(&self, v: V) -> Meta {
        match v {
            V::Node(i) => Meta { shape: Dims::EMPTY, dtype: self.values.borrow()[i as usize].1 },
            V::Scalar(s) => Meta { shape: Dims::EMPTY, dtype: s.dtype() },
            V::Absent => NUMBER,
        }
    }
    fn saved(&self, what: Saved) -> Result<V> {
        let Some(i) = self.inner.kept.iter().position(|k| k.what == what) else { return Err(self.stop()) };
        let dtype = match &self.inner.kept[i].value {
            KeptValue::Array(a, _) => a.dtype(),
            // A number takes the type of what it meets, which in a gradient is the type of the result.
            KeptValue::Scalar(_) => self.inner.outs[0].dtype,
            KeptValue::Absent => return Err(self.stop()),
        };
        Ok(self.input_value(Source::Kept(i), dtype))
    }
    fn dy(&self, i: usize) -> Result<V> {
        if i == 0 { Ok(self.input_value(Source::Dy, self.dy.dtype())) } else { Err(self.stop()) }
    }
    fn attrs(&self) -> &Attrs {
        self.inner.attrs.as_deref().unwrap_or(&NONE)
    }
    fn input(&self, i: usize) -> Meta {
        // Types are part of the key; shapes are not, so a rule that reads one stops the trace by what it does with it.
        let outs = self.inner.outs[0];
        let dtype = self.inner.edges.get(i).map_or(NUMBER.dtype, |e| e.meta.as_deref().map_or(outs.dtype, |m| m.dtype));
        Meta { shape: Dims::EMPTY, dtype }
    }
    fn output(&self, _: usize) -> Meta {
        Meta { shape: Dims::EMPTY, dtype: self.inner.outs[0].dtype }
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
    fn fail(&self, _: Error) {
        self.stopped.set(true);
    }
}

/// Runs the program; gradients that went into a buffer on offer are not among those returned.
fn launch(op: &'static Op, traced: &Arc<Traced>, inner: &Inner, dy: &NDArray, deposits: &Deposits) -> Result<Grads> {
    let ins: SmallVec<[In<'_>; 4]> = traced
        .sources
        .iter()
        .map(|s| match s {
            Source::Dy => In::Array(dy),
            Source::Kept(i) => match &inner.kept[*i].value {
                KeptValue::Array(a, _) => In::Array(a),
                KeptValue::Scalar(s) => In::Scalar(*s),
                KeptValue::Absent => In::Absent,
            },
        })
        .collect();
    let (shape, device, number) = (dy.shape(), dy.device(), inner.outs[0].dtype);
    let cost = (dy.size() * (traced.steps + ins.len())) as u64 / 4;
    if let Some(threads) = threads_here(cost)
        && let Some(_held) = Operands::take(&ins)
    {
        let outs: Result<Arrays> = traced.gives.iter().map(|(_, d)| NDArray::empty(device, *d, shape)).collect();
        let outs = outs?;
        let run = || execute(&traced.program, threads, &ins, &out_views(&outs, Mode::Write), number);
        in_caller(op, &ins, &outs, run)?;
        return Ok(traced.gives.iter().map(|(i, _)| *i).zip(outs).collect());
    }
    let (mut outs, mut modes, mut grads) = (Arrays::new(), Modes::new(), Grads::new());
    for &(i, dtype) in &traced.gives {
        let offered = deposits.iter().find(|t| t.input == i && t.buffer.dtype() == dtype && t.buffer.shape() == shape);
        if let Some(t) = offered {
            t.filled.set(true);
            outs.push(t.buffer.clone());
        } else {
            outs.push(NDArray::deferred(device, dtype, shape)?);
            grads.extend(outs.last().map(|o| (i, o.clone())));
        }
        modes.push(offered.map_or(Mode::Write, |t| t.mode));
    }
    let owned: SmallVec<[Owned; 4]> = ins.iter().map(Owned::of).collect();
    let writes: SmallVec<[(&Var, Write); 2]> =
        outs.iter().zip(&modes).map(|(o, m)| (o.storage(), whole_or_part(o, *m))).collect();
    let (held, shared, threads) = (outs.clone(), traced.clone(), threads_for(cost));
    submit(op.name, &ins, &writes, device, Some(cost), Site::here(), move || {
        let ins: SmallVec<[In<'_>; 4]> = owned.iter().map(Owned::borrow).collect();
        let outs: OutViews<'_> = held.iter().zip(&modes).map(|(o, &mode)| Out { view: o.view(), mode }).collect();
        execute(&shared.program, threads, &ins, &outs, number)
    })?;
    Ok(grads)
}

type Arrays = SmallVec<[NDArray; 2]>;
type Modes = SmallVec<[Mode; 2]>;
type OutViews<'a> = SmallVec<[Out<'a>; 2]>;

fn execute(program: &Program, threads: usize, ins: &[In<'_>], outs: &[Out<'_>], number: DType) -> Result {
    let bytes: SmallVec<[[u8; 8]; 4]> =
        ins.iter().map(|i| if let In::Scalar(s) = i { s.to_bytes(number) } else { [0; 8] }).collect();
    let views: Views<'_> = ins.iter().zip(&bytes).map(|(i, b)| view_of(i, b, number)).collect();
    map::run(&Cx { threads, ..Cx::default() }, program, &views, outs)
}
