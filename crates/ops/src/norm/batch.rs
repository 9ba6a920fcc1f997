//! Batch normalisation.
use super::{TO_VARIANCE, along, check_parameter, normalized, stable};
use crate::attr::{Attr, axis};
use crate::cost::Cost;
use crate::def::{
    Body, Call, Grad, Input, Meta, Metas, Op, Output, Save, hidden, input, output, parameter, rows, state, x, y,
};
use crate::infer::require_float;
use crate::rows::{GREATER, RELU};
use crate::rule::{Rule, V, Vs};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::rowwise::batch_norm::{self as k, How, Images};
use gluonish_kernels::{Args, AttrVal, Attrs, Cx, Out};

const INPUTS: &[Input] =
    &[input("data"), parameter("gamma"), parameter("beta"), state("moving_mean"), state("moving_var")];
const OUTPUTS: &[Output] =
    &[output("output"), output("mean"), output("inv_std"), hidden("new_moving_mean"), hidden("new_moving_var")];
const GRAD_INPUTS: &[Input] = &[input("dy"), input("data"), input("gamma"), input("mean"), input("inv_std")];
const GRAD_OUTPUTS: &[Output] = &[output("data_grad"), output("gamma_grad"), output("beta_grad")];

const EPS: usize = 0;
const MOMENTUM: usize = 1;
const FIX_GAMMA: usize = 2;
const GLOBAL: usize = 3;
const MEAN_VAR: usize = 4;
const AXIS: usize = 5;
const STABLE: Attr = stable(1e-3, TO_VARIANCE);
const KEPT: Attr =
    Attr::float("momentum", 0.9, "What the running statistics keep of themselves in each training step.");
const FIXED: Attr = Attr::bool("fix_gamma", true, "Whether gamma counts as 1, whatever it holds, and has no gradient.");
const RUNNING: Attr = Attr::bool(
    "use_global_stats",
    false,
    "Whether the running statistics are used in training too, and stay as they are.",
);
const SHOWN: Attr = Attr::bool(
    "output_mean_var",
    false,
    "Whether the mean and one over the deviation are results too; no gradient flows through them.",
);
const ATTRS: &[Attr] = &[
    STABLE,
    KEPT,
    FIXED,
    RUNNING,
    SHOWN,
    Attr::int("axis", 1, "Axis of the channels."),
    Attr::bool("cudnn_off", false, "For MXNet's GPU code: changes nothing here."),
    Attr::opt_float("min_calib_range", "For quantised networks: changes nothing here."),
    Attr::opt_float("max_calib_range", "For quantised networks: changes nothing here."),
];
const OLD_ATTRS: &[Attr] = &[STABLE, KEPT, FIXED, RUNNING, SHOWN];
const GRAD_ATTRS: &[Attr] = &[
    Attr::int("axis", 1, "Axis of the channels."),
    Attr::bool("fix_gamma", false, "Whether gamma counts as 1."),
    Attr::bool("global", false, "Whether the statistics are constants."),
];

/// The axis of the channels; the old op has no such attribute, and means axis 1.
fn channel_axis(attrs: &Attrs, data: &Dims) -> Result<usize> {
    axis(attrs.opt_int(AXIS).unwrap_or(1), data)
}

fn images(shape: &Dims, at: usize) -> Images {
    let size = |d: &[isize]| d.iter().product::<isize>() as usize;
    Images { count: size(&shape[..at]), channels: shape[at] as usize, area: size(&shape[at + 1..]) }
}

fn statistics_type(data: DType) -> DType {
    if data == DType::F64 { DType::F64 } else { DType::F32 }
}

fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    let data = &c.ins[0];
    require_float(data, "data")?;
    let channels = data.shape[channel_axis(c.attrs, data.shape)?];
    for (v, name) in c.ins[1..].iter().zip(["gamma", "beta", "moving_mean", "moving_var"]) {
        check_parameter(v, name, channels, data.shape)?;
    }
    outs.push(Meta { shape: *data.shape, dtype: data.dtype });
    let (shape, dtype) = (Dims::of(&[channels]), statistics_type(data.dtype));
    outs.extend([Meta { shape, dtype }, Meta { shape, dtype }]);
    outs.extend([3, 4].map(|i: usize| Meta { shape, dtype: c.ins[i].dtype }));
    Ok(())
}

fn infer_grad(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (dy, data) = (&c.ins[0], &c.ins[1]);
    require_float(data, "data")?;
    let channels = data.shape[axis(c.attrs.int(0), data.shape)?];
    if dy.shape != data.shape {
        return Err(Cause::Shape(format!("dy must have the shape of data, {}, got {}", data.shape, dy.shape)).into());
    }
    for (v, name) in c.ins[2..].iter().zip(["gamma", "mean", "inv_std"]) {
        check_parameter(v, name, channels, data.shape)?;
    }
    outs.push(Meta { shape: *data.shape, dtype: data.dtype });
    outs.extend([0; 2].map(|_| Meta { shape: Dims::of(&[channels]), dtype: c.ins[2].dtype }));
    Ok(())
}

fn fill(shapes: &mut [Dims], attrs: &Attrs) -> Result {
    let channels = shapes[0][channel_axis(attrs, &shapes[0])?];
    shapes[1..].iter_mut().for_each(|s| *s = Dims::of(&[channels]));
    Ok(())
}

fn forward(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>], relu: bool) -> Result {
    let data = a.ins[0].shape;
    let how = How {
        images: images(data, channel_axis(a.attrs, data)?),
        eps: a.attrs.float(EPS),
        momentum: a.attrs.float(MOMENTUM),
        fix_gamma: a.attrs.bool(FIX_GAMMA),
        global: a.attrs.bool(GLOBAL) || !cx.training,
        relu,
    };
    k::batch_norm(cx, a.ins, &how, out)
}

/// The gradients, `dy` being that of what was normalised.
fn back(r: &Rule<'_>, dy: V) {
    let a = r.attrs();
    let global = a.bool(GLOBAL) || !r.training();
    let axis = a.opt_int(AXIS).unwrap_or(1);
    let attrs = [AttrVal::Int(axis), AttrVal::Bool(a.bool(FIX_GAMMA)), AttrVal::Bool(global)];
    let grads = r.call_all(&BATCH_NORM_GRAD, &[dy, r.x(0), r.x(1), r.y(1), r.y(2)], &attrs);
    (0..3).for_each(|i| r.grad(i, || grads[i]));
}

/// The result, made of other rows. What the op reads of its running statistics are constants, kept as used.
fn decompose(r: &Rule<'_>, v: &[V]) -> Vs {
    let a = r.attrs();
    let (shape, dtype) = (r.shape(v[0]), r.dtype(v[0]));
    let (rank, at) = (shape.len(), channel_axis(a, &shape).unwrap_or(0));
    let unit = if a.bool(GLOBAL) || !r.training() {
        r.mul(r.sub(v[0], along(r, r.y(1), rank, at)), along(r, r.y(2), rank, at))
    } else {
        let mut axes = Dims::EMPTY;
        (0..rank).filter(|d| *d != at).for_each(|d| axes.push(d as isize));
        normalized(r, v[0], axes, a.float(EPS), true)
    };
    let scaled = if a.bool(FIX_GAMMA) { unit } else { r.mul(unit, along(r, v[1], rank, at)) };
    Vs::from_slice(&[r.cast(r.add(scaled, along(r, v[2], rank, at)), dtype)])
}

fn cost(c: &Call<'_>, outs: &[Meta]) -> u64 {
    (c.ins[0].size * outs[0].dtype.size()) as u64 / 4
}

const SAVES: &[Save] = &[x(0), x(1), x(2), y(1), y(2)];
const SAVES_RESULT: &[Save] = &[x(0), x(1), x(2), y(0), y(1), y(2)];

const fn row(name: &'static str, doc: &'static str, body: Body) -> Op {
    Op::new(name, doc, INPUTS, body)
        .attrs(ATTRS)
        .outputs(OUTPUTS)
        .visible(|a, _| if a.bool(MEAN_VAR) { 3 } else { 1 })
        .infer(infer)
        .fill(fill)
        .cost(Cost::Of(cost))
        .updates(&[(3, 3), (4, 4)])
        .updates_if(|a| !a.bool(GLOBAL))
        .grad(SAVES, |r| back(r, r.dy()))
        .decompose(decompose)
}

const DOC: &str = "Channels brought to mean 0 and deviation 1, times gamma, plus beta. In training the statistics are those of the batch, \
and the running ones become `momentum * running + (1 - momentum) * batch` (with the biased variance); otherwise the running \
ones are used. A batch of no values leaves them as they are.";

rows! {
    BATCH_NORM = row("BatchNorm", DOC, Body::Kernel(|cx, a, out| forward(cx, a, out, false)))
        .nd(&["BatchNorm"]).onnx("BatchNormalization");
    BATCH_NORM_V1 = row("BatchNorm_v1", "As BatchNorm, along axis 1.", Body::Kernel(|cx, a, out| forward(cx, a, out, false)))
        .attrs(OLD_ATTRS).nd(&["BatchNorm_v1"]);
    BATCH_NORM_RELU = row("BatchNormWithReLU", "As BatchNorm; then what is below 0 becomes 0.", Body::Kernel(|cx, a, out| forward(cx, a, out, true)))
        .nd(&["contrib.BatchNormWithReLU"])
        .grad(SAVES_RESULT, |r| back(r, r.select(r.binary_op(&GREATER, r.y(0), 0.0), r.dy(), 0.0)))
        .decompose(|r, v| Vs::from_slice(&[r.unary_op(&RELU, decompose(r, v)[0])]));
    BATCH_NORM_GRAD = Op::new("_batch_norm_grad", "Gradients of batch normalisation.", GRAD_INPUTS, Body::Kernel(|cx, a, out| {
            let data = a.ins[1].shape;
            let images = images(data, axis(a.attrs.int(0), data)?);
            k::batch_norm_grad(cx, a.ins, images, a.attrs.bool(1), a.attrs.bool(2), out)
        }))
        .attrs(GRAD_ATTRS).outputs(GRAD_OUTPUTS).infer(infer_grad).cost(Cost::Of(cost)).internal()
        .no_grad(Grad::Missing("higher orders are taken of what BatchNorm decomposes into"));
}
