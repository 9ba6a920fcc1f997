//! Norms, sums of squares, and whether all is finite.
use crate::attr::{Attr, axes, axes_if_any};
use crate::cost::Cost;
use crate::def::{Body, DATA, Grad, Input, InputKind, Meta, Op, rows, x, y};
use crate::infer::reduced;
use crate::rows::{CONCAT, EQUAL, MIN, SIGN};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::{AttrVal, Attrs, reduce as k};

const ORD: usize = 0;
const AXIS: usize = 1;
const DTYPE: usize = 2;
const KEEPDIMS: usize = 3;

const ARRAYS: &[Input] = &[Input { name: "data", kind: InputKind::Variadic }];
const COUNT: &[Attr] = &[Attr::int_required("num_arrays", "How many arrays there are.").at_least(0)];

fn set(attrs: &Attrs, shape: &Dims) -> Result<u32> {
    axes_if_any(attrs.ints(AXIS), false, shape)
}

/// What belongs to a result, over all elements that it was made of.
fn spread(r: &Rule<'_>, v: V) -> V {
    let shape = r.input(0).shape;
    let kept = set(r.attrs(), &shape).map_or(shape, |s| reduced(&shape, s, true));
    r.broadcast_to(r.reshape(v, kept), shape)
}

/// One number for each array, as a vector.
fn each(r: &Rule<'_>, ins: &[V], op: &'static Op) -> V {
    let n = r.attrs().int(0);
    if n != ins.len() as i64 {
        r.0.fail(Cause::Value(format!("num_arrays={n}, but {} arrays were given", ins.len())).into());
    }
    let numbers: Vec<V> = ins.iter().map(|x| r.call(op, &[*x], &[])).collect();
    r.call(&CONCAT, &numbers, &[AttrVal::Int(0)])
}

rows! {
    NORM = Op::new("norm", "The Euclidean norm over axes, or with `ord=1` the sum of the absolute values.", DATA, Body::Kernel(|cx, a, out| {
            k::norm(cx, &a.ins[0], set(a.attrs, a.ins[0].shape)?, a.attrs.int(ORD), &out[0])
        }))
        .attrs(&[
            Attr::int("ord", 2, "Which norm: 1 or 2.").between(1, 2),
            super::AXES,
            Attr::opt_dtype("out_dtype", "Floating type of the result and of the accumulation."),
            Attr::bool("keepdims", false, "Keep the reduced axes with size 1."),
        ])
        .infer(|c, outs| {
            let v = &c.ins[0];
            let dtype = c.attrs.dtype(DTYPE).unwrap_or(v.dtype.to_float());
            if !dtype.is_float() {
                return Err(Cause::DType(format!("out_dtype must be a floating type, got {dtype}")).into());
            }
            outs.push(Meta { shape: reduced(v.shape, set(c.attrs, v.shape)?, c.attrs.bool(KEEPDIMS)), dtype });
            Ok(())
        })
        .nd(&["norm"]).methods(&["norm"]).cost(Cost::Bytes(1.0)).onnx("ReduceL2")
        .grad(&[x(0), y(0)], |r| r.grad(0, || {
            let (dy, dtype) = (spread(r, r.dy()), r.input(0).dtype);
            if r.attrs().int(ORD) == 1 {
                return r.cast(r.mul(dy, r.unary_op(&SIGN, r.x(0))), dtype);
            }
            // At 0 no direction is better than another.
            let norm = r.select(r.binary_op(&EQUAL, r.y(0), 0.0), 1.0, r.y(0));
            r.cast(r.mul(dy, r.div(r.x(0), spread(r, norm))), dtype)
        }));
    SUM_SQUARES = Op::new("_sum_squares", "The sum of the squares of all elements, as a vector of one float32.", DATA, Body::Kernel(|cx, a, out| {
            k::sum_squares(cx, &a.ins[0], axes(None, false, a.ins[0].shape)?, &number(&out[0]))
        }))
        .infer(infer_number).internal()
        .grad(&[x(0)], |r| r.grad(0, || {
            let dy = r.cast(r.reshape(r.dy(), Dims::EMPTY), r.input(0).dtype);
            r.mul(dy, r.mul(r.x(0), 2.0))
        }));
    ALL_FINITE = Op::new("_all_finite", "1 if all elements are finite, else 0, as a vector of one float32.", DATA, Body::Kernel(|cx, a, out| k::all_finite(cx, &a.ins[0], &out[0])))
        .infer(infer_number).internal().no_grad(Grad::Zero);
    MULTI_SUM_SQ = Op::new("multi_sum_sq", "The sum of the squares of each array, as a vector of float32.", ARRAYS, Body::Compose(|r, ins| each(r, ins, &SUM_SQUARES)))
        .attrs(COUNT).nd(&["multi_sum_sq"]);
    MULTI_ALL_FINITE = Op::new("_multi_all_finite", "1 if all elements of all arrays are finite, else 0, as a vector of one float32.", ARRAYS, Body::Compose(|r, ins| {
            r.call(&MIN, &[each(r, ins, &ALL_FINITE)], &[AttrVal::None, AttrVal::Bool(true), AttrVal::Bool(false)])
        }))
        .attrs(COUNT).internal().no_grad(Grad::Zero);
}

fn infer_number(_: &crate::def::Call<'_>, outs: &mut crate::def::Metas) -> Result {
    outs.push(Meta { shape: Dims::of(&[1]), dtype: DType::F32 });
    Ok(())
}

/// A vector of one element, seen as a number: reductions tell dropped axes by the number of those that are left.
fn number<'a>(out: &gluonish_kernels::Out<'a>) -> gluonish_kernels::Out<'a> {
    gluonish_kernels::Out {
        view: gluonish_kernels::View { shape: &Dims::EMPTY, strides: &Dims::EMPTY, ..out.view },
        ..*out
    }
}
