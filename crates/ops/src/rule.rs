//! Gradient rules are written against `Rule`: a few values of the forward op, and one method per op they use. What runs
//! them (at once, recorded for a further order, or traced into a fused program) stands behind `Emit`.
use crate::def::{Meta, Op, Saved};
use crate::rows;
use gluonish_base::{Cause, DType, Dims, Error, Result, Scalar};
use gluonish_kernels::{AttrVal, Attrs};
use smallvec::SmallVec;

/// A value in a rule: something the emitter knows by number, or a plain number (weak, as a Python scalar is).
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum V {
    Node(u32),
    Scalar(Scalar),
    /// An optional input that was not given.
    Absent,
}
/// Several values, as a composition of several outputs gives them.
pub type Vs = SmallVec<[V; 2]>;
impl From<f64> for V {
    fn from(v: f64) -> V {
        V::Scalar(Scalar::Float(v))
    }
}

/// Runs or records the ops of a rule.
pub trait Emit {
    fn call(&self, op: &'static Op, ins: &[V], attrs: &Attrs) -> Result<Vs>;
    fn meta(&self, v: V) -> Meta;
    /// A saved value of the forward op. Asking for one that the row does not list is an error.
    fn saved(&self, what: Saved) -> Result<V>;
    /// The gradient of output `i`; zeros where none arrived.
    fn dy(&self, i: usize) -> Result<V>;
    fn attrs(&self) -> &Attrs;
    fn input(&self, i: usize) -> Meta;
    fn output(&self, i: usize) -> Meta;
    fn inputs(&self) -> usize;
    fn wants(&self, i: usize) -> bool;
    /// Whether the forward op ran in training mode.
    fn training(&self) -> bool;
    fn give(&self, i: usize, v: V);
    /// Remembers the first error; the rule goes on with harmless values and the caller raises it.
    fn fail(&self, e: Error);
}

/// What a rule sees.
pub struct Rule<'a>(pub &'a dyn Emit);

impl Rule<'_> {
    /// The value, or a harmless one after telling of the error.
    pub fn ok(&self, r: Result<V>) -> V {
        r.unwrap_or_else(|e| {
            self.0.fail(e);
            V::Scalar(Scalar::Float(0.0))
        })
    }

    /// Input `i` of the forward op (the row saves it).
    pub fn x(&self, i: u8) -> V {
        self.ok(self.0.saved(Saved::X(i)))
    }
    /// Output `i` of the forward op (the row saves it).
    pub fn y(&self, i: u8) -> V {
        self.ok(self.0.saved(Saved::Y(i)))
    }
    /// The gradient of the first output.
    pub fn dy(&self) -> V {
        self.dy_of(0)
    }
    pub fn dy_of(&self, i: usize) -> V {
        self.ok(self.0.dy(i))
    }
    pub fn attrs(&self) -> &Attrs {
        self.0.attrs()
    }
    /// Shape and type of input `i`, whether saved or not.
    pub fn input(&self, i: usize) -> Meta {
        self.0.input(i)
    }
    pub fn output(&self, i: usize) -> Meta {
        self.0.output(i)
    }
    pub fn inputs(&self) -> usize {
        self.0.inputs()
    }
    pub fn shape(&self, v: V) -> Dims {
        self.0.meta(v).shape
    }
    pub fn dtype(&self, v: V) -> DType {
        self.0.meta(v).dtype
    }
    pub fn wants(&self, i: usize) -> bool {
        self.0.wants(i)
    }
    pub fn training(&self) -> bool {
        self.0.training()
    }

    /// The gradient of input `i`, computed only if somebody wants it. Broadcasting is undone by the caller.
    pub fn grad(&self, i: usize, f: impl FnOnce() -> V) {
        if self.0.wants(i) {
            self.0.give(i, f());
        }
    }

    /// An input that is wanted has no gradient: `backward` raises this reason.
    pub fn missing(&self, why: &str) {
        self.0.fail(Cause::Gradient(format!("it cannot be differentiated: {why}")).into());
    }

    pub fn call(&self, op: &'static Op, ins: &[V], attrs: &[AttrVal]) -> V {
        self.ok(self.0.call(op, ins, &Attrs::of(attrs)).map(|outs| outs[0]))
    }

    /// All outputs of an op.
    pub fn call_all(&self, op: &'static Op, ins: &[V], attrs: &[AttrVal]) -> Vs {
        let attrs = Attrs::of(attrs);
        self.0.call(op, ins, &attrs).unwrap_or_else(|e| {
            self.0.fail(e);
            SmallVec::from_elem(V::Scalar(Scalar::Float(0.0)), op.count_outputs(&attrs, ins.len()))
        })
    }

    fn unary(&self, op: &'static Op, a: V) -> V {
        self.call(op, &[a], &[])
    }
    fn binary(&self, op: &'static Op, a: impl Into<V>, b: impl Into<V>) -> V {
        self.call(op, &[a.into(), b.into()], &[])
    }
    pub fn add(&self, a: impl Into<V>, b: impl Into<V>) -> V {
        self.binary(&rows::ADD, a, b)
    }
    pub fn sub(&self, a: impl Into<V>, b: impl Into<V>) -> V {
        self.binary(&rows::SUBTRACT, a, b)
    }
    pub fn mul(&self, a: impl Into<V>, b: impl Into<V>) -> V {
        self.binary(&rows::MULTIPLY, a, b)
    }
    pub fn div(&self, a: impl Into<V>, b: impl Into<V>) -> V {
        self.binary(&rows::DIVIDE, a, b)
    }
    pub fn pow(&self, a: impl Into<V>, b: impl Into<V>) -> V {
        self.binary(&rows::POWER, a, b)
    }
    pub fn neg(&self, a: V) -> V {
        self.unary(&rows::NEGATIVE, a)
    }
    pub fn exp(&self, a: V) -> V {
        self.unary(&rows::EXP, a)
    }
    pub fn log(&self, a: V) -> V {
        self.unary(&rows::LOG, a)
    }
    pub fn sqrt(&self, a: V) -> V {
        self.unary(&rows::SQRT, a)
    }
    pub fn square(&self, a: V) -> V {
        self.unary(&rows::SQUARE, a)
    }
    pub fn unary_op(&self, op: &'static Op, a: V) -> V {
        self.unary(op, a)
    }
    pub fn binary_op(&self, op: &'static Op, a: impl Into<V>, b: impl Into<V>) -> V {
        self.binary(op, a, b)
    }
    /// `a` where `c` holds, else `b`.
    pub fn select(&self, c: V, a: impl Into<V>, b: impl Into<V>) -> V {
        self.call(&rows::WHERE, &[c, a.into(), b.into()], &[])
    }
    pub fn sum(&self, a: V, axes: Dims, keepdims: bool) -> V {
        self.call(&rows::SUM, &[a], &rows::sum_attrs(axes, keepdims))
    }
    pub fn reshape(&self, a: V, shape: Dims) -> V {
        self.call(&rows::RESHAPE_AS, &[a], &[AttrVal::Ints(shape)])
    }
    pub fn broadcast_to(&self, a: V, shape: Dims) -> V {
        self.call(&rows::BROADCAST_TO, &[a], &[AttrVal::Ints(shape)])
    }
    pub fn transpose(&self, a: V, axes: Dims) -> V {
        self.call(&rows::TRANSPOSE, &[a], &[AttrVal::Ints(axes)])
    }
    /// Exchanges the last two axes.
    pub fn swap_last(&self, a: V) -> V {
        let n = self.shape(a).len();
        let mut axes = Dims::of(&[0; gluonish_base::MAX_DIMS][..n]);
        (0..n).for_each(|i| axes[i] = i as isize);
        if n >= 2 {
            axes.swap(n - 1, n - 2);
        }
        self.transpose(a, axes)
    }
    pub fn matmul(&self, a: V, b: V) -> V {
        self.binary(&rows::MATMUL, a, b)
    }
    /// What `f` makes of the values as they are gathered: halves as float32, rounded once, at the end.
    pub fn gathered(&self, a: V, f: impl FnOnce(V) -> V) -> V {
        let dtype = self.dtype(a);
        self.cast(f(self.cast(a, dtype.gathering())), dtype)
    }
    pub fn cast(&self, a: V, dtype: DType) -> V {
        if self.0.meta(a).dtype == dtype { a } else { self.call(&rows::CAST, &[a], &[AttrVal::DType(dtype)]) }
    }
}
