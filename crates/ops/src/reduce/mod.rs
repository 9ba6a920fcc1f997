//! Reductions over axes, and what undoes a broadcast.
pub(crate) mod arg;
pub(crate) mod bins;
pub(crate) mod nan;
pub(crate) mod scan;
pub(crate) mod size;
pub(crate) mod variance;

pub use arg::*;
pub use bins::*;
pub use nan::*;
pub use scan::*;
pub use size::*;
pub use variance::*;

use crate::attr::{Attr, axes_if_any};
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Grad, Meta, Metas, Op, rows, x, y};
use crate::infer::reduced;
use crate::rows::EQUAL;
use crate::rule::{Rule, V};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::{Args, AttrVal, Attrs, Cx, Out, reduce as k};

// `axis` is the first attribute of a reduction; `keepdims` and `exclude` are its last two.
const AXIS: usize = 0;
const DTYPE: usize = 1;

/// For Gluon an empty list of axes is all of them, for NumPy none.
const AXES: Attr = Attr::opt_ints("axis", "Axes to reduce; all when None.").empty_is_none();

const ATTRS: &[Attr] = &[
    AXES,
    Attr::opt_dtype("dtype", "Type of the result and of the accumulation.").only_np(),
    Attr::bool("keepdims", false, "Keep the reduced axes with size 1."),
    Attr::bool("exclude", false, "Reduce all axes but those given.").only_nd(),
];

/// As `ATTRS`, where the result has the type of the elements or one that is fixed.
const ATTRS_OF_KEPT_TYPE: &[Attr] = &[
    AXES,
    Attr::bool("keepdims", false, "Keep the reduced axes with size 1."),
    Attr::bool("exclude", false, "Reduce all axes but those given.").only_nd(),
];

fn keepdims(attrs: &Attrs) -> bool {
    attrs.bool(attrs.len().saturating_sub(2))
}
fn exclude(attrs: &Attrs) -> bool {
    attrs.bool(attrs.len().saturating_sub(1))
}

/// Attributes of a sum over `axes`, for rules.
pub fn sum_attrs(axes: Dims, keepdims: bool) -> [AttrVal; 4] {
    [AttrVal::Ints(axes), AttrVal::None, AttrVal::Bool(keepdims), AttrVal::Bool(false)]
}

/// Attributes of a largest or smallest value of everything.
pub fn extreme_of_all() -> [AttrVal; 3] {
    [AttrVal::None, AttrVal::Bool(false), AttrVal::Bool(false)]
}

fn set(attrs: &Attrs, shape: &Dims) -> Result<u32> {
    axes_if_any(attrs.ints(AXIS), exclude(attrs), shape)
}

fn infer_with(c: &Call<'_>, outs: &mut Metas, dtype: DType) -> Result {
    let shape = reduced(c.ins[0].shape, set(c.attrs, c.ins[0].shape)?, keepdims(c.attrs));
    outs.push(Meta { shape, dtype: c.attrs.dtype(DTYPE).unwrap_or(dtype) });
    Ok(())
}

/// Integers are summed in 64 bits, as NumPy does.
pub(crate) fn wide(d: DType) -> DType {
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

fn infer_truth(c: &Call<'_>, outs: &mut Metas) -> Result {
    infer_with(c, outs, DType::Bool)
}

/// A kernel that takes a set of axes.
type Reduce = fn(&Cx, &gluonish_kernels::View<'_>, u32, &Out<'_>) -> Result;
fn reduce(f: Reduce, cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    f(cx, &a.ins[0], set(a.attrs, a.ins[0].shape)?, &out[0])
}

/// As `reduce`, where `truth` does the same for truth values: as NumPy, the elements take the result's type first, in which
/// a fraction is true and not 0.
fn reduce_typed(f: Reduce, truth: Reduce, cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    reduce(if out[0].view.dtype == DType::Bool { truth } else { f }, cx, a, out)
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
            AttrVal::Bool(exclude(r.attrs())),
        ];
        let ties = spread(r, r.reshape(r.call(&SUM, &[hit], &attrs), r.output(0).shape));
        r.mul(spread(r, r.dy()), r.div(hit, ties))
    });
}

const fn row(names: &'static [&'static str], doc: &'static str, body: Body) -> Op {
    Op::new(names[0], doc, DATA, body).attrs(ATTRS).nd(names).np(names).methods(names).cost(Cost::Bytes(1.0))
}

rows! {
    SUM = row(&["sum"], "Sum over axes.", Body::Kernel(|cx, a, out| reduce_typed(k::sum, k::any, cx, a, out)))
        .infer(infer_sum).nd(&["sum", "sum_axis"]).onnx("ReduceSum")
        .grad(&[], |r| r.grad(0, || spread(r, r.dy())));
    PROD = row(&["prod"], "Product over axes.", Body::Kernel(|cx, a, out| reduce_typed(k::prod, k::all, cx, a, out)))
        .infer(infer_sum).onnx("ReduceProd")
        .grad(&[x(0)], |r| r.grad(0, || {
            let others = product_of_others(r, r.x(0), set(r.attrs(), &r.input(0).shape));
            r.cast(r.mul(spread(r, r.dy()), others), r.input(0).dtype)
        }));
    MEAN = row(&["mean"], "Arithmetic mean over axes.", Body::Kernel(|cx, a, out| reduce_typed(k::mean, k::any, cx, a, out)))
        .infer(infer_mean).onnx("ReduceMean")
        .grad(&[], |r| r.grad(0, || spread(r, r.mul(r.dy(), 1.0 / group(r)))));
    MAX = row(&["max"], "Largest value over axes; NaN if there is one.", Body::Kernel(|cx, a, out| reduce(k::max, cx, a, out)))
        .attrs(ATTRS_OF_KEPT_TYPE).infer(infer_max).nd(&["max", "max_axis"]).np(&["max", "amax"]).onnx("ReduceMax")
        .grad(&[x(0), y(0)], to_extremes);
    MIN = row(&["min"], "Smallest value over axes; NaN if there is one.", Body::Kernel(|cx, a, out| reduce(k::min, cx, a, out)))
        .attrs(ATTRS_OF_KEPT_TYPE).infer(infer_max).nd(&["min", "min_axis"]).np(&["min", "amin"]).onnx("ReduceMin")
        .grad(&[x(0), y(0)], to_extremes);
    ANY = row(&["any"], "Whether some element over axes is not 0.", Body::Kernel(|cx, a, out| reduce(k::any, cx, a, out)))
        .attrs(ATTRS_OF_KEPT_TYPE).infer(infer_truth).nd(&[]).no_grad(Grad::Zero);
    ALL = row(&["all"], "Whether no element over axes is 0.", Body::Kernel(|cx, a, out| reduce(k::all, cx, a, out)))
        .attrs(ATTRS_OF_KEPT_TYPE).infer(infer_truth).nd(&[]).no_grad(Grad::Zero);
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
}
