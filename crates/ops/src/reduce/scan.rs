//! Running sums and products, and gradients of products, which hold where factors are 0.
use super::wide;
use crate::attr::{Attr, axis};
use crate::cost::Cost;
use crate::def::{Body, Call, Input, Meta, Metas, Op, input, rows, x, y};
use crate::rows::ONES_LIKE;
use crate::rule::{Rule, V};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::scan::{self as k, Form, Way};
use gluonish_kernels::{AttrVal, Attrs};

const A: &[Input] = &[input("a")];
const A_B: &[Input] = &[input("a"), input("b")];

const ATTRS: &[Attr] = &[
    Attr::opt_int("axis", "Axis to go along; the flattened array when None."),
    Attr::opt_dtype("dtype", "Type of the result; integers are taken as 64 bits wide when None."),
];
const RUNNING: &[Attr] = &[
    Attr::int("axis", -1, "Axis to go along."),
    Attr::bool("reverse", false, "From the last element to the first."),
    Attr::bool("exclusive", false, "Each element gets what came before it, without itself."),
    Attr::opt_dtype("dtype", "Type of the result."),
];
const FORMS: &[&str] = &["plain", "lagged", "before"];
const PLAIN: u8 = 0;
const LAGGED: u8 = 1;
const BEFORE: u8 = 2;

fn way(a: &Attrs, shape: &Dims) -> Result<Way> {
    Ok(Way { axis: axis(a.int(0), shape)?, reverse: a.bool(1), exclusive: a.bool(2) })
}

fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    axis(c.attrs.int(0), c.ins[0].shape)?;
    outs.push(Meta { shape: *c.ins[0].shape, dtype: c.attrs.dtype(3).unwrap_or(wide(c.ins[0].dtype)) });
    Ok(())
}

/// A function along an axis, or over the flattened array.
fn running(r: &Rule<'_>, x: V, op: &'static Op) -> V {
    let no = AttrVal::Bool(false);
    // As in NumPy the elements take the type first; of truth values only that makes a difference.
    let x = if r.attrs().dtype(1) == Some(DType::Bool) { r.cast(x, DType::Bool) } else { x };
    let (x, axis) = match r.attrs()[0] {
        // As NumPy, which also lets an array without axes have axis 0 or -1.
        AttrVal::None | AttrVal::Int(0 | -1) if r.attrs()[0] == AttrVal::None || r.shape(x).is_empty() => {
            (r.reshape(x, Dims::of(&[r.shape(x).size() as isize])), AttrVal::Int(0))
        }
        given => (x, given),
    };
    r.call(op, &[x], &[axis, no, no, r.attrs()[1]])
}

/// The product of all other elements of each element's group, over the axes of `set`.
pub(super) fn product_of_others(r: &Rule<'_>, x: V, set: Result<u32>) -> V {
    let shape = r.shape(x);
    let Ok(set) = set.map_err(|e| r.0.fail(e)) else { return x };
    if set == 0 {
        return r.unary_op(&ONES_LIKE, x); // of no others
    }
    let (mut order, mut sizes) = (Dims::EMPTY, Dims::EMPTY);
    for d in (0..shape.len()).filter(|d| set >> d & 1 == 0) {
        order.push(d as isize);
        sizes.push(shape[d]);
    }
    let group = (0..shape.len()).filter(|d| set >> d & 1 == 1).map(|d| shape[d]).product();
    sizes.push(group);
    (0..shape.len()).filter(|d| set >> d & 1 == 1).for_each(|d| order.push(d as isize));
    let turned = r.transpose(x, order);
    let line = r.reshape(turned, sizes);
    let side = |reverse: bool| {
        let attrs = [AttrVal::Int(-1), AttrVal::Bool(reverse), AttrVal::Bool(true), AttrVal::None];
        r.call(&RUNNING_PRODUCT, &[line], &attrs)
    };
    let others = r.reshape(r.mul(side(false), side(true)), r.shape(turned));
    let mut back = order;
    order.iter().enumerate().for_each(|(i, d)| back[*d as usize] = i as isize);
    r.transpose(others, back)
}

fn recur(r: &Rule<'_>, a: V, b: V, form: u8, reverse: bool) -> V {
    r.call(&RECURRENCE, &[a, b], &[r.attrs()[0], AttrVal::Choice(form), AttrVal::Bool(reverse)])
}

/// With P the product before an element and `x` the factors, `dx[j] = P[j] * (dy[j] + x[j + 1] * dy[j + 1] + ...)`.
fn product_rule(r: &Rule<'_>) {
    let (reverse, exclusive) = (r.attrs().bool(1), r.attrs().bool(2));
    r.grad(0, || {
        let x = r.cast(r.x(0), r.dtype(r.dy()));
        let form = if exclusive { BEFORE } else { LAGGED };
        let after = recur(r, x, r.dy(), form, !reverse);
        let before = r.call(&RUNNING_PRODUCT, &[x], &[r.attrs()[0], r.attrs()[1], AttrVal::Bool(true), AttrVal::None]);
        r.cast(r.mul(before, after), r.input(0).dtype)
    });
}

fn recurrence_rule(r: &Rule<'_>) {
    let (form, reverse) = (r.attrs().choice(1), r.attrs().bool(2));
    let back = |form: u8| recur(r, r.x(0), r.dy(), form, !reverse);
    // How much each state counts in the end; `b` is added to it.
    let states = match form {
        PLAIN => back(LAGGED),
        LAGGED => back(PLAIN),
        _ => back(BEFORE),
    };
    r.grad(0, || match form {
        PLAIN => r.mul(states, recur(r, r.x(0), r.x(1), BEFORE, reverse)),
        LAGGED => r.mul(back(BEFORE), r.y(0)),
        _ => r.mul(states, r.y(0)),
    });
    r.grad(1, || states);
}

rows! {
    CUMSUM = Op::new("cumsum", "Running sums along an axis, or of the flattened array.", A, Body::Compose(|r, ins| running(r, ins[0], &RUNNING_SUM)))
        .attrs(ATTRS).nd(&["cumsum"]).np(&["cumsum"]).methods(&["cumsum"]).onnx("CumSum");
    CUMPROD = Op::new("cumprod", "Running products along an axis, or of the flattened array.", A, Body::Compose(|r, ins| running(r, ins[0], &RUNNING_PRODUCT)))
        .attrs(ATTRS).np(&["cumprod"]).methods(&["cumprod"]);
    RUNNING_SUM = Op::new("_running_sum", "Running sums along an axis.", A, Body::Kernel(|cx, a, out| k::cumsum(cx, &a.ins[0], way(a.attrs, a.ins[0].shape)?, &out[0])))
        .attrs(RUNNING).infer(infer).cost(Cost::Bytes(4.0)).internal()
        .grad(&[], |r| r.grad(0, || {
            let attrs = [r.attrs()[0], AttrVal::Bool(!r.attrs().bool(1)), r.attrs()[2], AttrVal::None];
            r.cast(r.call(&RUNNING_SUM, &[r.dy()], &attrs), r.input(0).dtype)
        }));
    RUNNING_PRODUCT = Op::new("_running_product", "Running products along an axis.", A, Body::Kernel(|cx, a, out| k::cumprod(cx, &a.ins[0], way(a.attrs, a.ins[0].shape)?, &out[0])))
        .attrs(RUNNING).infer(infer).cost(Cost::Bytes(4.0)).internal()
        .grad(&[x(0)], product_rule);
    RECURRENCE = Op::new("_recurrence", "`s[j] = b[j] + a[j] * s[j - 1]` along an axis.", A_B, Body::Kernel(|cx, a, out| {
            let form = match a.attrs.choice(1) {
                PLAIN => Form::Plain,
                LAGGED => Form::Lagged,
                _ => Form::Before,
            };
            k::recurrence(cx, &a.ins[0], &a.ins[1], axis(a.attrs.int(0), out[0].view.shape)?, form, a.attrs.bool(2), &out[0])
        }))
        .attrs(&[
            Attr::int("axis", -1, "Axis to go along."),
            Attr::choice("form", FORMS, PLAIN, "With `a[j]`, with `a[j - 1]`, or the state before each element."),
            Attr::bool("reverse", false, "From the last element to the first."),
        ])
        .infer(|c, outs| {
            let (a, b) = (&c.ins[0], &c.ins[1]);
            axis(c.attrs.int(0), a.shape)?;
            if a.shape != b.shape || a.dtype != b.dtype || !a.dtype.is_float() {
                let text = format!("{} of {} and {} of {} must be alike and floating", a.shape, a.dtype, b.shape, b.dtype);
                return Err(Cause::Shape(text).into());
            }
            outs.push(Meta { shape: *a.shape, dtype: a.dtype });
            Ok(())
        })
        .cost(Cost::Bytes(8.0)).internal()
        .grad(&[x(0), x(1), y(0)], recurrence_rule);
}
