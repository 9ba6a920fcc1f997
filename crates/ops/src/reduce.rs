//! Reductions over axes, and what undoes a broadcast.
use crate::attr::{Attr, axes};
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Grad, Meta, Metas, Op, rows, x, y};
use crate::infer::reduced;
use crate::rows::EQUAL;
use crate::rule::{Rule, V};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::{Args, AttrVal, Attrs, Cx, Out, reduce as k};

const AXIS: usize = 0;
const DTYPE: usize = 1;
const KEEPDIMS: usize = 2;
const EXCLUDE: usize = 3;

const ATTRS: &[Attr] = &[
    Attr::opt_ints("axis", "Axes to reduce; all when None."),
    Attr::opt_dtype("dtype", "Type of the result and of the accumulation.").only_np(),
    Attr::bool("keepdims", false, "Keep the reduced axes with size 1."),
    Attr::bool("exclude", false, "Reduce all axes but those given.").only_nd(),
];

/// Attributes of a sum over `axes`, for rules.
pub fn sum_attrs(axes: Dims, keepdims: bool) -> [AttrVal; 4] {
    [AttrVal::Ints(axes), AttrVal::None, AttrVal::Bool(keepdims), AttrVal::Bool(false)]
}

/// Attributes of a reduction over everything.
pub fn reduce_all() -> [AttrVal; 4] {
    [AttrVal::None, AttrVal::None, AttrVal::Bool(false), AttrVal::Bool(false)]
}

fn set(attrs: &Attrs, shape: &Dims) -> Result<u32> {
    axes(attrs.ints(AXIS), attrs.bool(EXCLUDE), shape)
}

fn infer_with(c: &Call<'_>, outs: &mut Metas, dtype: DType) -> Result {
    let shape = reduced(c.ins[0].shape, set(c.attrs, c.ins[0].shape)?, c.attrs.bool(KEEPDIMS));
    outs.push(Meta { shape, dtype: c.attrs.dtype(DTYPE).unwrap_or(dtype) });
    Ok(())
}

/// Integers are summed in 64 bits, as NumPy does.
fn wide(d: DType) -> DType {
    match d {
        d if d.is_float() => d,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => DType::U64,
        _ => DType::I64,
    }
}
fn infer_sum(c: &Call<'_>, outs: &mut Metas) -> Result {
    infer_with(c, outs, wide(c.ins[0].dtype))
}
fn infer_mean(c: &Call<'_>, outs: &mut Metas) -> Result {
    infer_with(c, outs, c.ins[0].dtype.to_float())
}
fn infer_max(c: &Call<'_>, outs: &mut Metas) -> Result {
    let v = &c.ins[0];
    let set = set(c.attrs, v.shape)?;
    if let Some(i) = (0..v.shape.len()).find(|i| set >> i & 1 == 1 && v.shape[*i] == 0) {
        let text = format!("no largest or smallest value along axis {i} of shape {}: it is empty", v.shape);
        return Err(Cause::Value(text).into());
    }
    infer_with(c, outs, v.dtype)
}

/// A kernel that takes a set of axes.
type Reduce = fn(&Cx, &gluonish_kernels::View<'_>, u32, &Out<'_>) -> Result;
fn reduce(f: Reduce, cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    f(cx, &a.ins[0], set(a.attrs, a.ins[0].shape)?, &out[0])
}

/// The gradient of a reduction, spread over the reduced axes as a view.
fn spread(r: &Rule<'_>, v: V) -> V {
    let shape = r.input(0).shape;
    let kept = set(r.attrs(), &shape).map_or(shape, |s| reduced(&shape, s, true));
    r.broadcast_to(r.reshape(v, kept), shape)
}

/// How many values go into one.
fn group(r: &Rule<'_>) -> f64 {
    let (n, m) = (r.input(0).shape.size(), r.output(0).shape.size());
    n as f64 / m.max(1) as f64
}

/// The gradient of a largest or smallest value goes to where it came from; equal ones share it.
fn to_extremes(r: &Rule<'_>) {
    r.grad(0, || {
        let hit = r.cast(r.binary_op(&EQUAL, r.x(0), spread(r, r.y(0))), r.input(0).dtype);
        let axes = r.attrs().ints(AXIS).copied();
        let attrs = [
            axes.map_or(AttrVal::None, AttrVal::Ints),
            AttrVal::None,
            AttrVal::Bool(false),
            AttrVal::Bool(r.attrs().bool(EXCLUDE)),
        ];
        let ties = spread(r, r.reshape(r.call(&SUM, &[hit], &attrs), r.output(0).shape));
        r.mul(spread(r, r.dy()), r.div(hit, ties))
    });
}

const fn row(names: &'static [&'static str], doc: &'static str, body: Body) -> Op {
    Op::new(names[0], doc, DATA, body).attrs(ATTRS).nd(names).np(names).methods(names).cost(Cost::Bytes(1.0))
}

rows! {
    SUM = row(&["sum"], "Sum over axes.", Body::Kernel(|cx, a, out| reduce(k::sum, cx, a, out)))
        .infer(infer_sum).nd(&["sum", "sum_axis"]).onnx("ReduceSum")
        .grad(&[], |r| r.grad(0, || spread(r, r.dy())));
    MEAN = row(&["mean"], "Arithmetic mean over axes.", Body::Kernel(|cx, a, out| reduce(k::mean, cx, a, out)))
        .infer(infer_mean).onnx("ReduceMean")
        .grad(&[], |r| r.grad(0, || spread(r, r.mul(r.dy(), 1.0 / group(r)))));
    MAX = row(&["max"], "Largest value over axes; NaN if there is one.", Body::Kernel(|cx, a, out| reduce(k::max, cx, a, out)))
        .infer(infer_max).nd(&["max", "max_axis"]).np(&["max", "amax"]).onnx("ReduceMax")
        .grad(&[x(0), y(0)], to_extremes);
    MIN = row(&["min"], "Smallest value over axes; NaN if there is one.", Body::Kernel(|cx, a, out| reduce(k::min, cx, a, out)))
        .infer(infer_max).nd(&["min", "min_axis"]).np(&["min", "amin"]).onnx("ReduceMin")
        .grad(&[x(0), y(0)], to_extremes);
    SUM_TO = Op::new("_sum_to", "Sums down to a shape that broadcasts to the input's.", DATA, Body::Kernel(|cx, a, out| k::sum_to(cx, &a.ins[0], &out[0])))
        .attrs(&[Attr::ints("shape", "The shape to reach.")]).internal()
        .infer(|c, outs| {
            let shape = c.attrs.ints(0).copied().unwrap_or_default();
            if shape.broadcast(c.ins[0].shape) != Some(*c.ins[0].shape) {
                return Err(Cause::Shape(format!("{} cannot be summed down to {shape}", c.ins[0].shape)).into());
            }
            outs.push(Meta { shape, dtype: c.ins[0].dtype });
            Ok(())
        })
        .grad(&[], |r| r.grad(0, || r.broadcast_to(r.dy(), r.input(0).shape)));
    ARGMAX = arg(&["argmax"], "Position of the largest value along an axis, or in the flattened array.", Body::Kernel(|cx, a, out| {
        k::argmax(cx, &a.ins[0], arg_axis(a)?, &out[0])
    })).onnx("ArgMax");
    ARGMIN = arg(&["argmin"], "Position of the smallest value along an axis, or in the flattened array.", Body::Kernel(|cx, a, out| {
        k::argmin(cx, &a.ins[0], arg_axis(a)?, &out[0])
    })).onnx("ArgMin");
}

const fn arg(names: &'static [&'static str], doc: &'static str, body: Body) -> Op {
    row(names, doc, body).attrs(ARG_ATTRS).infer(infer_arg).no_grad(Grad::Zero)
}
const ARG_ATTRS: &[Attr] = &[
    Attr::opt_int("axis", "Axis to search; the flattened array when None."),
    Attr::bool("keepdims", false, "Keep the searched axis with size 1."),
];

fn arg_axis(a: &Args<'_>) -> Result<Option<usize>> {
    a.attrs.opt_int(0).map(|axis| crate::attr::axis(axis, a.ins[0].shape)).transpose()
}

fn infer_arg(c: &Call<'_>, outs: &mut Metas) -> Result {
    let shape = c.ins[0].shape;
    let set = match c.attrs.opt_int(0) {
        Some(axis) => 1 << crate::attr::axis(axis, shape)?,
        None => axes(None, false, shape)?,
    };
    if let Some(i) = (0..shape.len()).find(|i| set >> i & 1 == 1 && shape[*i] == 0) {
        return Err(Cause::Value(format!("nothing to search along axis {i} of shape {shape}: it is empty")).into());
    }
    outs.push(Meta { shape: reduced(shape, set, c.attrs.bool(1)), dtype: DType::I64 });
    Ok(())
}
