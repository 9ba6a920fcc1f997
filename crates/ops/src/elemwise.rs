//! Arithmetic of arrays of one shape: nothing is broadcast.
use crate::cost::Cost;
use crate::def::{Body, Call, Input, InputKind, LHS_RHS, Meta, Metas, Op, rows};
use crate::infer;
use crate::rows::{ADD, DIVIDE, MULTIPLY, SUBTRACT};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Error, Result};
use gluonish_kernels::add_n;

const ARGS: &[Input] = &[Input { name: "args", kind: InputKind::Variadic }];

fn unequal(a: &Dims, b: &Dims) -> Error {
    Cause::Shape(format!("the arrays must have one shape, got {a} and {b}; broadcast_add and its kin broadcast")).into()
}

/// `op` of two operands, if their shapes are the same.
fn alike(r: &Rule<'_>, v: &[V], op: &'static Op) -> V {
    let (a, b) = (r.shape(v[0]), r.shape(v[1]));
    if a != b {
        r.0.fail(unequal(&a, &b));
    }
    r.binary_op(op, v[0], v[1])
}

fn infer_sum(c: &Call<'_>, outs: &mut Metas) -> Result {
    let Some(first) = c.ins.first() else {
        return Err(Cause::Argument("at least one array is needed".into()).into());
    };
    if let Some(other) = c.ins.iter().find(|v| v.shape != first.shape) {
        return Err(unequal(first.shape, other.shape));
    }
    outs.push(Meta { shape: *first.shape, dtype: infer::promoted(c.ins) });
    Ok(())
}

const fn row(names: &'static [&'static str], doc: &'static str, compose: fn(&Rule<'_>, &[V]) -> V) -> Op {
    Op::new(names[0], doc, LHS_RHS, Body::Compose(compose)).nd(names)
}

rows! {
    ELEMWISE_ADD = row(&["elemwise_add"], "`lhs + rhs` of arrays of one shape.", |r, v| alike(r, v, &ADD));
    ELEMWISE_SUB = row(&["elemwise_sub"], "`lhs - rhs` of arrays of one shape.", |r, v| alike(r, v, &SUBTRACT));
    ELEMWISE_MUL = row(&["elemwise_mul"], "`lhs * rhs` of arrays of one shape.", |r, v| alike(r, v, &MULTIPLY));
    ELEMWISE_DIV = row(&["elemwise_div"], "`lhs / rhs` of arrays of one shape.", |r, v| alike(r, v, &DIVIDE));
    ADD_N = Op::new("add_n", "The sum of any number of arrays of one shape, in one pass.", ARGS, Body::Kernel(|cx, a, out| {
            add_n::add_n(cx, a.ins, &out[0])
        }))
        .infer(infer_sum).cost(Cost::Bytes(1.0)).nd(&["add_n", "ElementWiseSum"]).onnx("Sum")
        .grad(&[], |r| (0..r.inputs()).for_each(|i| r.grad(i, || r.dy())));
}
