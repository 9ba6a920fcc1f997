//! Normalisation of rows: along an axis, or of groups of channels of each image.
use super::{TO_VARIANCE, along, check_parameter, normalized, stable};
use crate::attr::{Attr, axis};
use crate::cost::Cost;
use crate::def::{Body, Call, Grad, Input, Meta, Metas, Op, Output, Save, input, output, parameter, rows, x, y};
use crate::infer::require_float;
use crate::rows::REPEAT;
use crate::rule::{Rule, V, Vs};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::rowwise::norm::{self as k, Rows};
use gluonish_kernels::{Args, AttrVal, Attrs, Cx, Mode, Out, View, convert};

const INPUTS: &[Input] = &[input("data"), parameter("gamma"), parameter("beta")];
const NO_BETA: &[Input] = &[input("data"), parameter("gamma")];
const OUTPUTS: &[Output] = &[output("output"), output("mean"), output("std")];
const GRAD_INPUTS: &[Input] = &[input("dy"), input("data"), input("gamma"), input("mean"), input("std")];
const GRAD_OUTPUTS: &[Output] = &[output("data_grad"), output("gamma_grad"), output("beta_grad")];

/// First attribute: the axis, or the number of groups.
const WHICH: usize = 0;
const EPS: usize = 1;
const MEAN_VAR: usize = 2;
const SHOWN: Attr = Attr::bool(
    "output_mean_var",
    false,
    "Whether the mean and the deviation are results too; no gradient flows through them.",
);
const LAYER_ATTRS: &[Attr] = &[Attr::int("axis", -1, "Axis to normalise."), stable(1e-5, TO_VARIANCE), SHOWN];
const GROUP_ATTRS: &[Attr] = &[
    Attr::int("num_groups", 1, "Groups of channels that are normalised together.").at_least(1),
    stable(1e-5, TO_VARIANCE),
    SHOWN,
];
const RMS_ATTRS: &[Attr] =
    &[Attr::int("axis", -1, "Axis to normalise."), stable(1e-6, "Added to the mean square, so that it is not 0.")];
const GRAD_ATTRS: &[Attr] = &[
    Attr::int("axis", -1, "Axis that was normalised."),
    Attr::int("groups", 0, "Groups of channels; 0: along the axis."),
    Attr::bool("center", true, "Whether the mean was taken away."),
];

/// What is normalised together.
#[derive(Clone, Copy)]
struct Shape {
    /// The axis, counted from the front; of groups, that of the channels.
    axis: usize,
    /// 0: along the axis.
    groups: usize,
    center: bool,
}

impl Shape {
    fn along(data: &Dims, at: i64, center: bool) -> Result<Shape> {
        Ok(Shape { axis: axis(at, data)?, groups: 0, center })
    }
    fn grouped(data: &Dims, groups: i64) -> Result<Shape> {
        if data.len() < 2 {
            return Err(Cause::Shape(format!("data of shape {data} has no axis of channels, which is axis 1")).into());
        }
        if data[1] % groups as isize != 0 {
            let text = format!("num_groups={groups} does not divide the {} channels of data of shape {data}", data[1]);
            return Err(Cause::Shape(text).into());
        }
        Ok(Shape { axis: 1, groups: groups as usize, center: true })
    }
    fn rows(&self, data: &Dims) -> Rows {
        let channels = data[self.axis] as usize;
        if self.groups == 0 {
            return Rows { groups: 1, channels, area: 1, center: self.center };
        }
        let area = data[2..].iter().product::<isize>() as usize;
        Rows { groups: self.groups, channels: channels / self.groups, area, center: self.center }
    }
    /// The shape of means and deviations.
    fn statistics(&self, data: &Dims) -> Dims {
        if self.groups > 0 {
            return Dims::of(&[data[0], self.groups as isize]);
        }
        let mut shape = *data;
        shape[self.axis] = 1;
        shape
    }
    fn attrs(&self) -> [AttrVal; 3] {
        [AttrVal::Int(self.axis as i64), AttrVal::Int(self.groups as i64), AttrVal::Bool(self.center)]
    }
}

fn layer_shape(attrs: &Attrs, data: &Dims) -> Result<Shape> {
    Shape::along(data, attrs.int(WHICH), true)
}
fn group_shape(attrs: &Attrs, data: &Dims) -> Result<Shape> {
    Shape::grouped(data, attrs.int(WHICH))
}
fn rms_shape(attrs: &Attrs, data: &Dims) -> Result<Shape> {
    Shape::along(data, attrs.int(WHICH), false)
}
fn grad_shape(attrs: &Attrs, data: &Dims) -> Result<Shape> {
    match attrs.int(1) {
        0 => Shape::along(data, attrs.int(0), attrs.bool(2)),
        groups => Shape::grouped(data, groups),
    }
}
type ShapeOf = fn(&Attrs, &Dims) -> Result<Shape>;

fn statistics_type(data: DType) -> DType {
    if data == DType::F64 { DType::F64 } else { DType::F32 }
}

fn infer(c: &Call<'_>, outs: &mut Metas, shape: ShapeOf) -> Result {
    let data = &c.ins[0];
    require_float(data, "data")?;
    let shape = shape(c.attrs, data.shape)?;
    for (v, name) in c.ins[1..].iter().zip(["gamma", "beta"]) {
        let by_group = shape.groups > 0 && *v.shape == Dims::of(&[shape.groups as isize]);
        check_parameter(v, name, if by_group { v.shape[0] } else { data.shape[shape.axis] }, data.shape)?;
    }
    outs.push(Meta { shape: *data.shape, dtype: data.dtype });
    outs.extend([0; 2].map(|_| Meta { shape: shape.statistics(data.shape), dtype: statistics_type(data.dtype) }));
    Ok(())
}

fn infer_grad(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (dy, data) = (&c.ins[0], &c.ins[1]);
    require_float(data, "data")?;
    let shape = grad_shape(c.attrs, data.shape)?;
    let channels = data.shape[shape.axis];
    check_parameter(&c.ins[2], "gamma", channels, data.shape)?;
    let wanted = shape.statistics(data.shape);
    for (v, name, wanted) in [(dy, "dy", *data.shape), (&c.ins[3], "mean", wanted), (&c.ins[4], "std", wanted)] {
        if *v.shape != wanted {
            return Err(Cause::Shape(format!("{name} must have shape {wanted}, got {}", v.shape)).into());
        }
    }
    outs.push(Meta { shape: *data.shape, dtype: data.dtype });
    outs.extend([0; 2].map(|_| Meta { shape: Dims::of(&[channels]), dtype: c.ins[2].dtype }));
    Ok(())
}

fn fill(shapes: &mut [Dims], attrs: &Attrs, shape: ShapeOf) -> Result {
    let channels = shapes[0][shape(attrs, &shapes[0])?.axis];
    shapes[1..].iter_mut().for_each(|s| *s = Dims::of(&[channels]));
    Ok(())
}

/// Shape and strides with an axis as the last one.
fn moved(v: &View<'_>, shape: &Shape) -> (Dims, Dims) {
    let (mut dims, mut strides) = (*v.shape, *v.strides);
    if shape.groups == 0 {
        let (n, by) = (dims.remove(shape.axis), strides.remove(shape.axis));
        dims.push(n);
        strides.push(by);
    }
    (dims, strides)
}
fn seen<'a>(v: &View<'a>, (dims, strides): &'a (Dims, Dims)) -> View<'a> {
    View { shape: dims, strides, contiguous: dims.is_contiguous(strides), ..*v }
}

/// A parameter with a number for each channel that was given with one for each group.
struct ByChannel {
    memory: Vec<u64>,
    shape: Dims,
    strides: Dims,
}
impl ByChannel {
    fn new(cx: &Cx, v: &View<'_>, channels: usize) -> Result<Option<ByChannel>> {
        if v.size == channels || v.size == 0 {
            return Ok(None);
        }
        let mut memory = vec![0u64; (channels * v.dtype.size()).div_ceil(8)];
        let shape = Dims::of(&[v.size as isize, (channels / v.size) as isize]);
        let (repeated, strides) = (Dims::of(&[v.strides[0], 0]), shape.contiguous_strides());
        let from = View { shape: &shape, strides: &repeated, size: channels, contiguous: false, ..*v };
        let view = View::contiguous(memory.as_mut_ptr().cast(), v.dtype, &shape, &strides);
        convert::copy_view(cx, &from, &Out { view, mode: Mode::Write })?;
        Ok(Some(ByChannel { memory, shape: Dims::of(&[channels as isize]), strides: Dims::of(&[1]) }))
    }
    fn view(&mut self, dtype: DType) -> View<'_> {
        View::contiguous(self.memory.as_mut_ptr().cast(), dtype, &self.shape, &self.strides)
    }
}

/// The same for rules.
fn by_channel(r: &Rule<'_>, v: V, channels: isize) -> V {
    match r.shape(v)[..] {
        [n] if n != channels && n > 0 => r.call(&REPEAT, &[v], &[AttrVal::Int((channels / n) as i64), AttrVal::None]),
        _ => v,
    }
}

fn forward(cx: &Cx, a: &Args<'_>, out: &[Out<'_>], shape: ShapeOf) -> Result {
    let shape = shape(a.attrs, a.ins[0].shape)?;
    let [x, y] = [&a.ins[0], &out[0].view].map(|v| moved(v, &shape));
    let absent = View::contiguous(std::ptr::null_mut(), a.ins[1].dtype, &Dims::EMPTY, &Dims::EMPTY);
    let beta = a.ins.get(2).copied().unwrap_or(View { size: 0, ..absent });
    let outs = [Out { view: seen(&out[0].view, &y), mode: out[0].mode }, out[1], out[2]];
    let channels = a.ins[0].shape[shape.axis] as usize;
    let mut wide = [ByChannel::new(cx, &a.ins[1], channels)?, ByChannel::new(cx, &beta, channels)?];
    let [scale, shift] = &mut wide;
    let gamma = scale.as_mut().map_or(a.ins[1], |w| w.view(a.ins[1].dtype));
    let beta = shift.as_mut().map_or(beta, |w| w.view(beta.dtype));
    k::norm(cx, &[seen(&a.ins[0], &x), gamma, beta], shape.rows(a.ins[0].shape), a.attrs.float(EPS), &outs)
}

fn backward(cx: &Cx, a: &Args<'_>, out: &[Out<'_>]) -> Result {
    let data = a.ins[1].shape;
    let shape = grad_shape(a.attrs, data)?;
    let [dy, x, dx] = [&a.ins[0], &a.ins[1], &out[0].view].map(|v| moved(v, &shape));
    let ins = [seen(&a.ins[0], &dy), seen(&a.ins[1], &x), a.ins[2], a.ins[3], a.ins[4]];
    let outs = [Out { view: seen(&out[0].view, &dx), mode: out[0].mode }, out[1], out[2]];
    k::norm_grad(cx, &ins, shape.rows(data), &outs)
}

fn back(r: &Rule<'_>, shape: ShapeOf) {
    let shape = match shape(r.attrs(), &r.input(0).shape) {
        Ok(shape) => shape,
        Err(e) => return r.0.fail(e),
    };
    let channels = r.input(0).shape[shape.axis];
    let gamma = by_channel(r, r.x(1), channels);
    let grads = r.call_all(&NORM_GRAD, &[r.dy(), r.x(0), gamma, r.y(1), r.y(2)], &shape.attrs());
    r.grad(0, || grads[0]);
    for i in 1..r.inputs().min(3) {
        r.grad(i, || match r.input(i).shape[..] {
            [n] if n != channels && n > 0 => {
                r.sum(r.reshape(grads[i], Dims::of(&[n, channels / n])), Dims::of(&[1]), false)
            }
            _ => grads[i],
        });
    }
}

fn decompose(r: &Rule<'_>, v: &[V], shape: ShapeOf) -> Vs {
    let (data, eps, dtype) = (r.shape(v[0]), r.attrs().float(EPS), r.dtype(v[0]));
    let Ok(shape) = shape(r.attrs(), &data) else { return Vs::from_slice(&v[..1]) };
    let unit = if shape.groups == 0 {
        normalized(r, v[0], Dims::of(&[shape.axis as isize]), eps, shape.center)
    } else {
        let rows = shape.rows(&data);
        let flat = Dims::of(&[data[0], rows.groups as isize, (rows.channels * rows.area) as isize]);
        r.reshape(normalized(r, r.reshape(v[0], flat), Dims::of(&[2]), eps, true), data)
    };
    let parameter = |v: V| along(r, by_channel(r, v, data[shape.axis]), data.len(), shape.axis);
    let scaled = r.mul(unit, parameter(v[1]));
    let result = v.get(2).map_or(scaled, |beta| r.add(scaled, parameter(*beta)));
    Vs::from_slice(&[r.cast(result, dtype)])
}

fn cost(c: &Call<'_>, outs: &[Meta]) -> u64 {
    (c.ins[0].size * outs[0].dtype.size()) as u64 / 4
}

const SAVES: &[Save] = &[x(0), x(1), x(2), y(1), y(2)];

const fn row(name: &'static str, doc: &'static str, attrs: &'static [Attr], body: Body) -> Op {
    Op::new(name, doc, INPUTS, body)
        .attrs(attrs)
        .outputs(OUTPUTS)
        .visible(|a, _| if a.bool(MEAN_VAR) { 3 } else { 1 })
        .cost(Cost::Of(cost))
}

rows! {
    LAYER_NORM = row("LayerNorm", "Values along an axis brought to mean 0 and deviation 1, times gamma, plus beta.", LAYER_ATTRS,
            Body::Kernel(|cx, a, out| forward(cx, a, out, layer_shape)))
        .infer(|c, outs| infer(c, outs, layer_shape)).fill(|s, a| fill(s, a, layer_shape)).nd(&["LayerNorm"]).onnx("LayerNormalization")
        .grad(SAVES, |r| back(r, layer_shape)).decompose(|r, v| decompose(r, v, layer_shape));
    GROUP_NORM = row("GroupNorm", "Each group of channels of an image brought to mean 0 and deviation 1, then channels (or groups) times gamma, plus beta.", GROUP_ATTRS,
            Body::Kernel(|cx, a, out| forward(cx, a, out, group_shape)))
        .infer(|c, outs| infer(c, outs, group_shape)).fill(|s, a| fill(s, a, group_shape)).nd(&["GroupNorm"]).onnx("GroupNormalization")
        .grad(SAVES, |r| back(r, group_shape)).decompose(|r, v| decompose(r, v, group_shape));
    RMS_NORM = row("RMSNorm", "Values along an axis divided by the root of their mean square, times gamma.", RMS_ATTRS,
            Body::Kernel(|cx, a, out| forward(cx, a, out, rms_shape)))
        .inputs(NO_BETA).visible(|_, _| 1).infer(|c, outs| infer(c, outs, rms_shape)).fill(|s, a| fill(s, a, rms_shape)).nd(&["RMSNorm"])
        .grad(&[x(0), x(1), y(1), y(2)], |r| back(r, rms_shape)).decompose(|r, v| decompose(r, v, rms_shape));
    INSTANCE_NORM = Op::new("InstanceNorm", "Each channel of an image brought to mean 0 and deviation 1, times gamma, plus beta.", INPUTS, Body::Compose(|r, v| {
            let data = r.shape(v[0]);
            if data.len() < 3 {
                r.0.fail(Cause::Shape(format!("data of shape {data} must have channels and at least one axis after them")).into());
                return v[0];
            }
            r.call(&GROUP_NORM, v, &[AttrVal::Int(data[1].max(1) as i64), r.attrs()[0], AttrVal::Bool(false)])
        }))
        .attrs(&[stable(1e-3, TO_VARIANCE)]).fill(|s, _| {
            let channels = s[0].get(1).copied().unwrap_or(-1);
            s[1..].iter_mut().for_each(|s| *s = Dims::of(&[channels]));
            Ok(())
        }).nd(&["InstanceNorm"]).onnx("InstanceNormalization");
    NORM_GRAD = Op::new("_norm_grad", "Gradients of the normalisation of rows.", GRAD_INPUTS, Body::Kernel(|cx, a, out| backward(cx, a, out)))
        .attrs(GRAD_ATTRS).outputs(GRAD_OUTPUTS).infer(infer_grad).cost(Cost::Of(cost)).internal()
        .no_grad(Grad::Missing("higher orders are taken of what the op decomposes into"));
}
