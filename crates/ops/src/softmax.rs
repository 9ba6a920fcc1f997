//! Softmax and its logarithm. Their gradients are fused kernels, which are rows too, so that every further order works.
use crate::attr::{Attr, axis};
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Input, Meta, Metas, Op, input, rows, x, y};
use crate::infer::require_float;
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::{Args, AttrVal, Attrs, softmax as k};

const AXIS: usize = 0;
const TEMPERATURE: usize = 1;
const ATTRS: &[Attr] = &[
    Attr::int("axis", -1, "Axis along which the values sum to 1."),
    Attr::opt_float("temperature", "Divides the input; 1 when None."),
];
const Y_DY: &[Input] = &[input("y"), input("dy")];

fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    let v = &c.ins[0];
    require_float(v, "the input")?;
    axis(c.attrs.int(AXIS), v.shape)?;
    outs.push(Meta { shape: *v.shape, dtype: v.dtype });
    Ok(())
}
fn infer_grad(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (y, dy) = (&c.ins[0], &c.ins[1]);
    if y.shape != dy.shape || y.dtype != dy.dtype {
        let text = format!("y ({} {}) and dy ({} {}) must be alike", y.dtype, y.shape, dy.dtype, dy.shape);
        return Err(Cause::Shape(text).into());
    }
    infer(c, outs)
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
    Op::new(name, doc, inputs, body).attrs(ATTRS).cost(Cost::Bytes(6.0))
}

rows! {
    SOFTMAX = row("softmax", "`exp(x) / sum(exp(x))` along an axis.", DATA, Body::Kernel(|cx, a, out| {
            k::softmax(cx, &a.ins[0], place(a)?, temperature(a.attrs), &out[0])
        })).infer(infer).nd(&["softmax"]).methods(&["softmax"]).onnx("Softmax")
        .grad(&[y(0)], |r| r.grad(0, || r.call(&SOFTMAX_GRAD, &[r.y(0), r.dy()], &same_attrs(r.attrs()))));
    LOG_SOFTMAX = row("log_softmax", "`x - log(sum(exp(x)))` along an axis.", DATA, Body::Kernel(|cx, a, out| {
            k::log_softmax(cx, &a.ins[0], place(a)?, temperature(a.attrs), &out[0])
        })).infer(infer).nd(&["log_softmax"]).methods(&["log_softmax"]).onnx("LogSoftmax")
        .grad(&[y(0)], |r| r.grad(0, || r.call(&LOG_SOFTMAX_GRAD, &[r.y(0), r.dy()], &same_attrs(r.attrs()))));
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
