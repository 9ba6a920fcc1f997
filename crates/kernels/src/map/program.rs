//! Chains of formulas that run tile by tile: what would be one pass over memory per operation becomes one for all.
use super::body::{Body, Load, OutSpec, Step};
use super::encoded::Encoded;
use super::{Class, MAX_INPUTS, Map};
use gluonish_base::{Cause, DType, Result, Scalar};
use std::sync::OnceLock;

/// A value of a program: an input, a constant, or what a step computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value(u32);

#[derive(Clone, Copy)]
pub(crate) enum Node {
    /// An input in lanes of a class; its own class gives its own values, another one converts.
    Load {
        input: u16,
        class: Class,
    },
    Const {
        bytes: [u8; 8],
        class: Class,
    },
    Step {
        map: &'static Map,
        class: Class,
        args: [Value; MAX_INPUTS],
    },
    /// Lanes of `from` as elements of type `via`, as lanes of that type's class.
    Cast {
        arg: Value,
        from: Class,
        via: DType,
    },
    /// A Python number that has not met a type yet.
    Weak(Scalar),
}

/// What a node holds: lanes of `class` that stand for elements of type `dtype`. `raw` lanes still have more range or
/// precision than the type.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub(crate) class: Class,
    pub(crate) dtype: DType,
    raw: bool,
}

/// Builds a [`Program`]. Every step computes in a stated element type, exactly as if each were run by itself: operands of
/// other types are converted, and results of narrow types are rounded or wrapped before they are used again.
#[derive(Default)]
pub struct Builder {
    pub(crate) nodes: Vec<(Node, Held)>,
    inputs: Vec<DType>,
    outs: Vec<(Value, DType)>,
}

impl Builder {
    pub fn new() -> Builder {
        Builder::default()
    }

    /// The next input, of a stated element type.
    pub fn input(&mut self, dtype: DType) -> Value {
        let class = Class::of(dtype);
        self.inputs.push(dtype);
        let input = (self.inputs.len() - 1) as u16;
        self.push(Node::Load { input, class }, Held { class, dtype, raw: false })
    }

    /// A number, which takes the type of what it meets.
    pub fn constant(&mut self, v: impl Into<Scalar>) -> Value {
        let v = v.into();
        self.push(Node::Weak(v), Held { class: Class::of(v.dtype()), dtype: v.dtype(), raw: false })
    }

    /// Applies a formula in the element type `compute`. A formula with a truth value yields bool, any other `compute`.
    pub fn step(&mut self, map: &'static Map, compute: DType, args: &[Value]) -> Result<Value> {
        let class = Class::of(compute);
        if !map.has(class) {
            return Err(Cause::DType(format!("this operation is not defined for {compute}")).into());
        }
        if args.len() != map.arity() {
            return Err(Cause::Argument(format!("{} operands for a formula of {}", args.len(), map.arity())).into());
        }
        let mut list = [Value(0); MAX_INPUTS];
        for (to, &from) in list.iter_mut().zip(args) {
            *to = self.coerce(from, compute)?;
        }
        let held = if map.is_truth() {
            Held { class, dtype: DType::Bool, raw: false }
        } else {
            Held { class, dtype: compute, raw: compute != class.dtype() }
        };
        Ok(self.push(Node::Step { map, class, args: list }, held))
    }

    /// The value as an element type.
    pub fn cast(&mut self, v: Value, to: DType) -> Result<Value> {
        self.coerce(v, to)
    }

    /// The element type a value stands for.
    pub fn dtype(&self, v: Value) -> Result<DType> {
        Ok(self.node(v)?.1.dtype)
    }

    /// The next output, stored as an element type.
    pub fn output(&mut self, v: Value, dtype: DType) -> Result {
        let (node, held) = self.node(v)?;
        let v = match node {
            Node::Weak(_) => self.coerce(v, dtype)?,
            _ if held.raw && held.dtype != dtype => self.settle(v, held),
            _ => v,
        };
        self.outs.push((v, dtype));
        Ok(())
    }

    fn node(&self, v: Value) -> Result<(Node, Held)> {
        let missing = || Cause::Argument("a value of another program".into()).into();
        self.nodes.get(v.0 as usize).copied().ok_or_else(missing)
    }

    fn push(&mut self, node: Node, held: Held) -> Value {
        self.nodes.push((node, held));
        Value(self.nodes.len() as u32 - 1)
    }

    /// A raw value with the range and precision of its type.
    fn settle(&mut self, v: Value, held: Held) -> Value {
        let same = |n: &Node| matches!(n, Node::Cast { arg, via, .. } if *arg == v && *via == held.dtype);
        match self.nodes.iter().position(|(n, _)| same(n)) {
            Some(k) => Value(k as u32),
            None => self.push(Node::Cast { arg: v, from: held.class, via: held.dtype }, Held { raw: false, ..held }),
        }
    }

    /// Lanes of the class of `to` that hold `v` as an element of type `to`.
    fn coerce(&mut self, v: Value, to: DType) -> Result<Value> {
        let class = Class::of(to);
        let (node, held) = self.node(v)?;
        let new = Held { class, dtype: to, raw: false };
        if let Node::Weak(s) = node {
            // Rounded to the element type, then widened to the lanes.
            let (narrow, mut bytes) = (s.to_bytes(to), [0; 8]);
            let cast = crate::convert::cast_fn(to, class.dtype());
            // SAFETY: one element on each side, in eight bytes.
            unsafe { cast(bytes.as_mut_ptr(), 1, narrow.as_ptr(), 1, 1) };
            return Ok(self.push(Node::Const { bytes, class }, new));
        }
        if held.dtype == to && held.class == class && !held.raw {
            return Ok(v);
        }
        // A truth value is 0 or 1 in any lanes.
        if held.dtype == DType::Bool && held.class == class && !held.raw {
            return Ok(v);
        }
        if let (Node::Load { input, .. }, true) = (node, to == class.dtype()) {
            return Ok(self.push(Node::Load { input, class }, new));
        }
        let settled = if held.raw { self.settle(v, held) } else { v };
        if held.dtype == to && held.class == class {
            return Ok(settled);
        }
        Ok(self.push(Node::Cast { arg: settled, from: held.class, via: to }, new))
    }

    /// The finished program.
    pub fn build(mut self) -> Result<Program> {
        if self.outs.is_empty() {
            return Err(Cause::Argument("a program needs an output".into()).into());
        }
        super::fuse::fuse(&mut self.nodes, &self.outs);
        super::compile::compile(self.nodes, self.inputs, self.outs)
    }
}

impl Value {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A compiled chain: straight-line steps over tiles.
pub struct Program {
    pub(crate) nodes: Vec<(Node, Held)>,
    pub(crate) results: Vec<(Value, DType)>,
    pub(crate) inputs: Vec<DType>,
    pub(crate) loads: Vec<Load>,
    pub(crate) consts: Vec<([u8; 8], Class)>,
    pub(crate) steps: Vec<Step>,
    pub(crate) outs: Vec<OutSpec>,
    pub(crate) slots: usize,
    /// The class of all its values, where `straight` can run it.
    pub(crate) line: Option<Class>,
    /// Machine code of the whole, made when it is first worth it.
    pub(crate) encoded: OnceLock<Option<Encoded>>,
}

impl Program {
    pub fn builder() -> Builder {
        Builder::new()
    }
    /// Element types of the inputs.
    pub fn inputs(&self) -> &[DType] {
        &self.inputs
    }
    /// Element types of the outputs.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = DType> + '_ {
        self.results.iter().map(|r| r.1)
    }
    /// Steps that a tile goes through.
    pub fn len(&self) -> usize {
        self.steps.len()
    }
    /// Whether the program only moves its inputs.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
    /// Machine operations for one value; see [`Map::ops`].
    pub fn ops(&self) -> u32 {
        let of = |n: &(Node, Held)| if let Node::Step { map, class, .. } = n.0 { map.ops_in(class) } else { 0 };
        self.nodes.iter().map(of).sum()
    }
    /// Whether the program runs as machine code by now.
    pub fn is_encoded(&self) -> bool {
        self.encoded.get().is_some_and(Option::is_some)
    }
    pub(crate) fn body(&self) -> Body<'_> {
        Body { loads: &self.loads, consts: &self.consts, steps: &self.steps, outs: &self.outs, slots: self.slots }
    }
}
