//! The form of a row.
use crate::attr::Attr;
use crate::cost::Cost;
use crate::rule::{Rule, V, Vs};
use gluonish_base::{DType, Dims, Result};
use gluonish_kernels::map::Map;
use gluonish_kernels::{Attrs, Cx, Kernel, Out, View};
use smallvec::SmallVec;

/// One op. Everything that is not said has the default of `Op::new`.
pub struct Op {
    pub name: &'static str,
    pub doc: &'static str,
    pub inputs: &'static [Input],
    pub attrs: &'static [Attr],
    pub outputs: &'static [Output],
    /// How many outputs a call has, where attributes or the number of inputs decide.
    pub count: Option<fn(&Attrs, usize) -> usize>,
    /// How many of them, from the first on, the caller gets, where attributes decide; else those not marked hidden.
    pub visible: Option<fn(&Attrs, usize) -> usize>,
    /// Shapes and types of the outputs, from partial shapes too: an unknown dimension is -1.
    pub infer: fn(&Call<'_>, &mut Metas) -> Result,
    /// Deduces the shapes of parameter inputs from the others, for parameters that have none yet.
    pub fill: Option<fn(&mut [Dims], &Attrs) -> Result>,
    pub cost: Cost,
    /// Refuses values for which a formula has no answer in the type of the result; looked at before it runs.
    pub check: Option<Check>,
    pub body: Body,
    pub grad: Grad,
    /// What the gradient rule reads beside the incoming gradient, and for which wanted input.
    pub saves: &'static [Save],
    /// The same outputs by rows that can be differentiated any number of times, where the gradient rule is a kernel for
    /// the first order alone. It sees the inputs that are in `saves` (others are absent), and may ask for outputs in there.
    pub decompose: Option<fn(&Rule<'_>, &[V]) -> Vs>,
    /// (auxiliary input, output): after success in training mode the output's values become the input's.
    pub updates: &'static [(usize, usize)],
    /// Whether a call updates at all, where attributes decide.
    pub updates_if: Option<fn(&Attrs) -> bool>,
    /// The input that an output is written over, where there is one: the op changes those arrays in place, in any mode.
    pub overlays: Option<Overlays>,
    /// The input from which kernels derive something that is worth keeping (packed weights).
    pub stamped: Option<usize>,
    pub flags: Flags,
    pub faces: Faces,
    /// What NumPy calls the inputs, where `input_name` does not guess it.
    pub np_inputs: &'static [&'static str],
    /// The ONNX operator with the same meaning, where there is one.
    pub onnx: &'static str,
}

/// An array that an op takes.
pub struct Input {
    pub name: &'static str,
    pub kind: InputKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputKind {
    Required,
    Optional,
    /// Any number of arrays; stands last.
    Variadic,
    /// A learnt parameter: its shape can be deduced by `fill`.
    Parameter,
    /// State that the op updates, as listed in `updates`.
    Auxiliary,
}

/// An array that an op makes. A hidden one serves the gradient or an update and is not given to the caller.
pub struct Output {
    pub name: &'static str,
    pub hidden: bool,
}

/// Shape and type of an output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meta {
    pub shape: Dims,
    pub dtype: DType,
}
pub type Metas = SmallVec<[Meta; 2]>;

/// A call as shape rules see it: the views' pointers are not to be read.
pub struct Call<'a> {
    pub ins: &'a [View<'a>],
    pub attrs: &'a Attrs,
    pub training: bool,
}

/// A look at the operands of a formula and at where its result goes.
pub type Check = fn(&Cx, &[View<'_>], &Out<'_>) -> Result;

/// From the number of inputs and an output to the input that this is written over.
pub type Overlays = fn(&Attrs, usize, usize) -> Option<usize>;

/// How an op does its work.
pub enum Body {
    /// An elementwise formula.
    Map(Map),
    Kernel(Kernel),
    /// Another look at the input's memory, for each output; `Viewed::Copy` where the layout does not allow it.
    View(fn(&View<'_>, &Attrs, usize) -> Result<Viewed>),
    /// A composition of other rows, which are what is recorded and differentiated.
    Compose(fn(&Rule<'_>, &[V]) -> V),
    /// The outputs' shapes depend on values: `measure` reads them once the inputs are ready, then the kernel runs.
    Dynamic {
        measure: fn(&Call<'_>, &mut Metas) -> Result,
        kernel: Kernel,
    },
}

pub struct Layout {
    pub shape: Dims,
    pub strides: Dims,
    /// In elements, from the input's first.
    pub offset: isize,
}

pub enum Viewed {
    As(Layout),
    /// A contiguous copy, seen with this shape.
    Copy(Dims),
}

/// The gradient of an op.
#[derive(Clone, Copy)]
pub enum Grad {
    /// A composition of ops, for every order.
    Rule(fn(&Rule<'_>)),
    /// Piecewise constant: the gradient is zero, so nothing flows back.
    Zero,
    /// Not differentiable; the reason is the error that `backward` raises.
    Missing(&'static str),
}

/// A value that a node keeps for its gradient rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Save {
    pub what: Saved,
    /// Only kept when the gradient of this input is wanted; `None`: always.
    pub when: Option<u8>,
}
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Saved {
    /// Input number.
    X(u8),
    /// Output number.
    Y(u8),
}

/// Keeps input `i`.
pub const fn x(i: u8) -> Save {
    Save { what: Saved::X(i), when: None }
}
/// Keeps output `i`.
pub const fn y(i: u8) -> Save {
    Save { what: Saved::Y(i), when: None }
}
impl Save {
    /// Keeps it only when the gradient of input `i` is wanted.
    pub const fn when(mut self, i: u8) -> Save {
        self.when = Some(i);
        self
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Flags {
    /// Takes a ticket of random numbers.
    pub random: bool,
    /// Has no array inputs: the device is the caller's.
    pub creates: bool,
    /// May write to an output that is one of its inputs, element for element.
    pub in_place: bool,
    /// Not offered to users: gradients and tests call it.
    pub internal: bool,
}

/// Under which names Python sees the op. Empty lists: not there.
#[derive(Clone, Copy, Default)]
pub struct Faces {
    /// Functions of `nd`, which follow Gluon's signatures.
    pub nd: &'static [&'static str],
    /// Functions of `np`, which follow NumPy's.
    pub np: &'static [&'static str],
    /// Methods of the array.
    pub methods: &'static [&'static str],
    /// Python's operator slot, as in `__add__`: "add".
    pub operator: &'static str,
}

pub const DATA: &[Input] = &[input("data")];
pub const LHS_RHS: &[Input] = &[input("lhs"), input("rhs")];
pub const OUT: &[Output] = &[Output { name: "output", hidden: false }];

pub const fn input(name: &'static str) -> Input {
    Input { name, kind: InputKind::Required }
}
pub const fn optional(name: &'static str) -> Input {
    Input { name, kind: InputKind::Optional }
}
/// A learnt parameter.
pub const fn parameter(name: &'static str) -> Input {
    Input { name, kind: InputKind::Parameter }
}
/// State that the op updates.
pub const fn state(name: &'static str) -> Input {
    Input { name, kind: InputKind::Auxiliary }
}
pub const fn output(name: &'static str) -> Output {
    Output { name, hidden: false }
}
pub const fn hidden(name: &'static str) -> Output {
    Output { name, hidden: true }
}

impl Op {
    pub const fn new(name: &'static str, doc: &'static str, inputs: &'static [Input], body: Body) -> Op {
        Op {
            name,
            doc,
            inputs,
            attrs: &[],
            outputs: OUT,
            count: None,
            visible: None,
            infer: crate::infer::same,
            fill: None,
            cost: Cost::Bytes(1.0),
            check: None,
            body,
            grad: Grad::Missing("it has no gradient"),
            saves: &[],
            decompose: None,
            updates: &[],
            updates_if: None,
            overlays: None,
            stamped: None,
            flags: Flags { random: false, creates: false, in_place: false, internal: false },
            faces: Faces { nd: &[], np: &[], methods: &[], operator: "" },
            np_inputs: &[],
            onnx: "",
        }
    }
    pub const fn inputs(mut self, inputs: &'static [Input]) -> Op {
        self.inputs = inputs;
        self
    }
    pub const fn attrs(mut self, attrs: &'static [Attr]) -> Op {
        self.attrs = attrs;
        self
    }
    pub const fn outputs(mut self, outputs: &'static [Output]) -> Op {
        self.outputs = outputs;
        self
    }
    pub const fn count(mut self, count: fn(&Attrs, usize) -> usize) -> Op {
        self.count = Some(count);
        self
    }
    pub const fn visible(mut self, visible: fn(&Attrs, usize) -> usize) -> Op {
        self.visible = Some(visible);
        self
    }
    pub const fn infer(mut self, infer: fn(&Call<'_>, &mut Metas) -> Result) -> Op {
        self.infer = infer;
        self
    }
    pub const fn fill(mut self, fill: fn(&mut [Dims], &Attrs) -> Result) -> Op {
        self.fill = Some(fill);
        self
    }
    pub const fn cost(mut self, cost: Cost) -> Op {
        self.cost = cost;
        self
    }
    pub const fn check(mut self, check: Check) -> Op {
        self.check = Some(check);
        self
    }
    /// A gradient rule and what it reads.
    pub const fn grad(mut self, saves: &'static [Save], rule: fn(&Rule<'_>)) -> Op {
        self.saves = saves;
        self.grad = Grad::Rule(rule);
        self
    }
    pub const fn no_grad(mut self, grad: Grad) -> Op {
        self.grad = grad;
        self
    }
    /// How the op is made of differentiable ones, for orders that its gradient's kernel does not have.
    pub const fn decompose(mut self, f: fn(&Rule<'_>, &[V]) -> Vs) -> Op {
        self.decompose = Some(f);
        self
    }
    pub const fn updates(mut self, updates: &'static [(usize, usize)]) -> Op {
        self.updates = updates;
        self
    }
    pub const fn updates_if(mut self, f: fn(&Attrs) -> bool) -> Op {
        self.updates_if = Some(f);
        self
    }
    pub const fn overlays(mut self, f: Overlays) -> Op {
        self.overlays = Some(f);
        self
    }
    pub const fn stamped(mut self, input: usize) -> Op {
        self.stamped = Some(input);
        self
    }
    pub const fn nd(mut self, names: &'static [&'static str]) -> Op {
        self.faces.nd = names;
        self
    }
    pub const fn np(mut self, names: &'static [&'static str]) -> Op {
        self.faces.np = names;
        self
    }
    pub const fn np_inputs(mut self, names: &'static [&'static str]) -> Op {
        self.np_inputs = names;
        self
    }
    pub const fn methods(mut self, names: &'static [&'static str]) -> Op {
        self.faces.methods = names;
        self
    }
    pub const fn operator(mut self, name: &'static str) -> Op {
        self.faces.operator = name;
        self
    }
    pub const fn onnx(mut self, name: &'static str) -> Op {
        self.onnx = name;
        self
    }
    pub const fn random(mut self) -> Op {
        self.flags.random = true;
        self
    }
    pub const fn creates(mut self) -> Op {
        self.flags.creates = true;
        self
    }
    pub const fn in_place(mut self) -> Op {
        self.flags.in_place = true;
        self
    }
    pub const fn internal(mut self) -> Op {
        self.flags.internal = true;
        self
    }

    /// The name of an input in a face: NumPy calls operands of elementwise functions x, or x1 and x2, and others a.
    pub fn input_name(&self, np: bool, i: usize) -> &'static str {
        let own = self.inputs[i].name;
        match (&self.body, self.inputs.len(), i) {
            _ if !np => own,
            _ if i < self.np_inputs.len() => self.np_inputs[i],
            (Body::Map(_), 1, _) => "x",
            (Body::Map(_), 2, 0) => "x1",
            (Body::Map(_), 2, _) => "x2",
            _ if own == "data" => "a",
            _ => own,
        }
    }

    /// Outputs of a call, hidden ones included.
    pub fn count_outputs(&self, attrs: &Attrs, inputs: usize) -> usize {
        self.count.map_or(self.outputs.len(), |f| f(attrs, inputs))
    }
    /// Outputs that the caller gets: the first ones.
    #[inline]
    pub fn visible_outputs(&self, attrs: &Attrs, inputs: usize) -> usize {
        match self.visible {
            Some(f) => f(attrs, inputs),
            None if self.count.is_some() => self.count_outputs(attrs, inputs),
            None => self.outputs.iter().filter(|o| !o.hidden).count(),
        }
    }
    #[inline]
    pub fn is_variadic(&self) -> bool {
        self.inputs.last().is_some_and(|i| i.kind == InputKind::Variadic)
    }
    pub fn is_view(&self) -> bool {
        matches!(self.body, Body::View(_))
    }
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Defines rows and lists them in `ROWS`.
macro_rules! rows {
    ($($id:ident = $row:expr;)*) => {
        $(pub static $id: $crate::Op = $row;)*
        pub(crate) static ROWS: &[&$crate::Op] = &[$(&$id),*];
    };
}
pub(crate) use rows;
