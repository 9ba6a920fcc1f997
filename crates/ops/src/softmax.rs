//! Softmax and its logarithm. Their gradients are fused kernels, which are rows too, so that every further order works.
use crate::attr::{Attr, axis};
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Input, Meta, Metas, Op, input, optional, rows, x, y};
use crate::infer::{reduced, require_float};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::{Args, AttrVal, Attrs, View, softmax as k};

const AXIS: usize = 0;
const TEMPERATURE: usize = 1;
const DTYPE: usize = 2;
const USE_LENGTH: usize = 3;
const ALONG: Attr = Attr::int("axis", -1, "Axis along which the values sum to 1.");
const DIVISOR: Attr = Attr::opt_float("temperature", "Divides the input; 1 when None.");
const ATTRS: &[Attr] = &[
    ALONG,
    DIVISOR,
    Attr::opt_dtype("dtype", "Type of the result; that of the input when None."),
    Attr::bool("use_length", false, "Whether `length` says how many values of each row count; the others give 0."),
];
const GRAD_ATTRS: &[Attr] = &[ALONG, DIVISOR];
const DATA_LENGTH: &[Input] = &[input("data"), optional("length")];
const Y_DY: &[Input] = &[input("y"), input("dy")];

fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    let v = &c.ins[0];
    require_float(v, "the input")?;
    axis(c.attrs.int(AXIS), v.shape)?;
    let dtype = c.attrs.dtype(DTYPE).unwrap_or(v.dtype);
    if !dtype.is_float() {
        return Err(Cause::DType(format!("the result must have a floating type, not {dtype}")).into());
    }
    check_length(c)?;
    outs.push(Meta { shape: *v.shape, dtype });
    Ok(())
}
/// Whether the optional input `length` is there.
fn has_length(ins: &[View<'_>]) -> bool {
    ins.get(1).is_some_and(|v| v.scalar.is_some() || !v.is_absent())
}
/// `length` is given where `use_length` says so, has the input's shape without the axis, and holds whole numbers.
fn check_length(c: &Call<'_>) -> Result {
    match (has_length(c.ins), c.attrs.bool(USE_LENGTH)) {
        (false, false) => return Ok(()),
        (false, true) => return Err(Cause::Argument("use_length=True needs the input length".into()).into()),
        (true, false) => return Err(Cause::Argument("length is given, but use_length is False".into()).into()),
        (true, true) => {}
    }
    let (x, length) = (&c.ins[0], &c.ins[1]);
    let wanted = reduced(x.shape, 1 << axis(c.attrs.int(AXIS), x.shape)?, false);
    if *length.shape != wanted || length.scalar.is_some() {
        let text = format!("length must have shape {wanted}, the input's without the axis, got {}", length.shape);
        return Err(Cause::Shape(text).into());
    }
    Ok(())
}
/// The rows without an input `length`.
fn infer_plain(c: &Call<'_>, outs: &mut Metas) -> Result {
    if c.attrs.bool(USE_LENGTH) {
        return Err(Cause::Argument("use_length=True is for softmax alone, which has the input length".into()).into());
    }
    infer(c, outs)
}
fn infer_grad(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (y, dy) = (&c.ins[0], &c.ins[1]);
    if y.shape != dy.shape || y.dtype != dy.dtype {
        let text = format!("y ({} {}) and dy ({} {}) must be alike", y.dtype, y.shape, dy.dtype, dy.shape);
        return Err(Cause::Shape(text).into());
    }
    require_float(y, "the input")?;
    axis(c.attrs.int(AXIS), y.shape)?;
    outs.push(Meta { shape: *y.shape, dtype: y.dtype });
    Ok(())
}

fn temperature(attrs: &Attrs) -> f64 {
    attrs.opt_float(TEMPERATURE).unwrap_or(1.0)
}
fn place(a: &Args<'_>) -> Result<usize> {
    axis(a.attrs.int(AXIS), a.ins[0].shape)
}
fn same_attrs(attrs: &Attrs) -> [AttrVal; 2] {
    [attrs[AXIS], attrs[TEMPERATURE]]
}
fn axis_of(attrs: &Attrs) -> Dims {
    Dims::of(&[attrs.int(AXIS) as isize])
}

const fn row(name: &'static str, doc: &'static str, inputs: &'static [Input], body: Body) -> Op {
    Op::new(name, doc, inputs, body).attrs(GRAD_ATTRS).cost(Cost::Bytes(6.0))
}

/// The gradient of the input, in its own type.
fn back(r: &Rule<'_>, op: &'static Op) {
    r.grad(0, || r.cast(r.call(op, &[r.y(0), r.dy()], &same_attrs(r.attrs())), r.input(0).dtype));
}

/// Attributes of `softmax` along an axis.
fn along(axis: i64) -> [AttrVal; 4] {
    [AttrVal::Int(axis), AttrVal::None, AttrVal::None, AttrVal::Bool(false)]
}
const MODES: &[&str] = &["instance", "channel"];

/// `softmax` without `length`.
fn softmax_of(r: &Rule<'_>, v: V, attrs: &[AttrVal]) -> V {
    r.call(&SOFTMAX, &[v], attrs)
}

const DATA_MASK: &[Input] = &[input("data"), input("mask")];
const MASKED_ATTRS: &[Attr] = &[ALONG, Attr::float("temperature", 1.0, "Divides the input.")];

/// `op` of what the mask leaves, and `other` elsewhere. What is not a number under the mask does not matter.
fn masked(r: &Rule<'_>, v: &[V], op: &'static Op, other: f64) -> V {
    let (axis, temperature) = (r.attrs().int(AXIS), AttrVal::Float(r.attrs().float(TEMPERATURE)));
    let truth = r.binary_op(&crate::rows::NOT_EQUAL, v[1], 0.0);
    if r.shape(v[0]).broadcast(&r.shape(v[1])) != Some(r.shape(v[0])) {
        let text = format!("mask of shape {} does not broadcast to data of shape {}", r.shape(v[1]), r.shape(v[0]));
        r.0.fail(Cause::Shape(text).into());
        return v[0];
    }
    let left = r.select(truth, v[0], f64::NEG_INFINITY);
    let attrs = [AttrVal::Int(axis), temperature, AttrVal::None, AttrVal::Bool(false)];
    r.select(truth, r.call(op, &[left], &attrs), other)
}

rows! {
    SOFTMAX = row("softmax", "`exp(x) / sum(exp(x))` along an axis.", DATA_LENGTH, Body::Kernel(|cx, a, out| {
            if has_length(a.ins) {
                return k::softmax_of_length(cx, &a.ins[0], &a.ins[1], place(a)?, temperature(a.attrs), &out[0]);
            }
            k::softmax(cx, &a.ins[0], place(a)?, temperature(a.attrs), &out[0])
        })).attrs(ATTRS).infer(infer).nd(&["softmax"]).methods(&["softmax"]).onnx("Softmax")
        .grad(&[y(0)], |r| back(r, &SOFTMAX_GRAD));
    LOG_SOFTMAX = row("log_softmax", "`x - log(sum(exp(x)))` along an axis.", DATA, Body::Kernel(|cx, a, out| {
            k::log_softmax(cx, &a.ins[0], place(a)?, temperature(a.attrs), &out[0])
        })).attrs(ATTRS).infer(infer_plain).nd(&["log_softmax"]).methods(&["log_softmax"]).onnx("LogSoftmax")
        .grad(&[y(0)], |r| back(r, &LOG_SOFTMAX_GRAD));
    SOFTMIN = Op::new("softmin", "`softmax(-x)` along an axis.", DATA, Body::Compose(|r, v| {
            if r.attrs().bool(USE_LENGTH) {
                r.0.fail(Cause::Argument("use_length=True is for softmax alone, which has the input length".into()).into());
            }
            softmax_of(r, r.neg(v[0]), r.attrs())
        })).attrs(ATTRS).nd(&["softmin"]).methods(&["softmin"]);
    SOFTMAX_ACTIVATION = Op::new("SoftmaxActivation", "`softmax` along the last axis, or along axis 1.", DATA, Body::Compose(|r, v| {
            softmax_of(r, v[0], &along(if r.attrs().choice(0) == 0 { -1 } else { 1 }))
        })).attrs(&[Attr::choice("mode", MODES, 0, "The last axis: 'instance'; axis 1: 'channel'.")]).nd(&["SoftmaxActivation"]);
    MASKED_SOFTMAX = Op::new("masked_softmax", "`softmax` of the values whose mask is not 0; the others give 0, and a row without values gives zeros.", DATA_MASK, Body::Compose(|r, v| {
            masked(r, v, &SOFTMAX, 0.0)
        })).attrs(MASKED_ATTRS).nd(&["masked_softmax"]).methods(&[]);
    MASKED_LOG_SOFTMAX = Op::new("masked_log_softmax", "`log_softmax` of the values whose mask is not 0; the others give -inf.", DATA_MASK, Body::Compose(|r, v| {
            masked(r, v, &LOG_SOFTMAX, f64::NEG_INFINITY)
        })).attrs(MASKED_ATTRS).nd(&["masked_log_softmax"]).methods(&[]);
    SOFTMAX_GRAD = row("_softmax_grad", "`(dy - sum(dy * y)) * y / temperature`.", Y_DY, Body::Kernel(|cx, a, out| {
            k::softmax_grad(cx, &a.ins[0], &a.ins[1], place(a)?, temperature(a.attrs), &out[0])
        })).infer(infer_grad).internal()
        .grad(&[x(0), x(1)], |r| {
            // With <a, b> for the sum along the axis: the map is g -> (g - <g, y>) y / t.
            let (yy, dy, g) = (r.x(0), r.x(1), r.mul(r.dy(), 1.0 / temperature(r.attrs())));
            let axis = axis_of(r.attrs());
            let gy = r.sum(r.mul(g, yy), axis, true);
            r.grad(1, || r.mul(yy, r.sub(g, gy)));
            r.grad(0, || r.sub(r.mul(g, r.sub(dy, r.sum(r.mul(dy, yy), axis, true))), r.mul(dy, gy)));
        });
    LOG_SOFTMAX_GRAD = row("_log_softmax_grad", "`(dy - exp(y) * sum(dy)) / temperature`.", Y_DY, Body::Kernel(|cx, a, out| {
            k::log_softmax_grad(cx, &a.ins[0], &a.ins[1], place(a)?, temperature(a.attrs), &out[0])
        })).infer(infer_grad).internal()
        .grad(&[x(0), x(1)], |r| {
            let (p, dy, g) = (r.exp(r.x(0)), r.x(1), r.mul(r.dy(), 1.0 / temperature(r.attrs())));
            let axis = axis_of(r.attrs());
            r.grad(0, || r.neg(r.mul(r.mul(g, p), r.sum(dy, axis, true))));
            r.grad(1, || r.sub(g, r.sum(r.mul(g, p), axis, true)));
        });
}
