//! Pooling. The gradients of the largest value and of the sum are rows, each linear in what comes in, and each the other's
//! gradient; the other kinds are made of these.
use crate::attr::Attr;
use crate::conv::{LARGEST, LAYOUTS, axes, is_last, number_for_each, parts, per_axis};
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Input, Meta, Metas, Op, input, rows, x};
use crate::infer::require_float;
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::pooling::{self as k, Windows};
use gluonish_kernels::{AttrVal, Attrs};

const TYPES: &[&str] = &["max", "avg", "sum", "lp"];
const MAX: u8 = 0;
const AVG: u8 = 1;
const LP: u8 = 3;
const OLD_TYPES: &[&str] = &["max", "avg", "sum"];
const CONVENTIONS: &[&str] = &["valid", "full", "same"];
const OLD_CONVENTIONS: &[&str] = &["valid", "full"];
const FULL: u8 = 1;
const SAME: u8 = 2;

const KERNEL: usize = 0;
const POOL_TYPE: usize = 1;
const GLOBAL: usize = 2;
const CONVENTION: usize = 4;
const STRIDE: usize = 5;
const PAD: usize = 6;
const P_VALUE: usize = 7;
const COUNT_PAD: usize = 8;
const LAYOUT: usize = 9;
const WINDOW: Attr = Attr::opt_ints("kernel", "Size of the windows; not needed for `global_pool`.");
const WHOLE: Attr = Attr::bool("global_pool", false, "Whether the window is the whole image.");
const APART: Attr = Attr::opt_ints("stride", "Distance between two windows; 1 when left out.");
const ADDED: Attr = Attr::opt_ints("pad", "What is added on both sides of each axis; nothing when left out.");
const ATTRS: &[Attr] = &[
    WINDOW,
    Attr::choice("pool_type", TYPES, MAX, "What becomes of a window: its largest value, mean, sum, or norm."),
    WHOLE,
    Attr::bool("cudnn_off", false, "For MXNet's GPU code: changes nothing here."),
    Attr::choice(
        "pooling_convention",
        CONVENTIONS,
        0,
        "Whether the last window must lie inside ('valid'), may stick out ('full'), or there are size / stride of them ('same').",
    ),
    APART,
    ADDED,
    Attr::opt_int("p_value", "Which norm 'lp' is: 1, 2, ..."),
    Attr::bool("count_include_pad", true, "Whether a mean counts what was added."),
    Attr::opt_choice("layout", LAYOUTS, "Order of the axes; channels second when None."),
];
/// Of MXNet's first version.
const OLD_ATTRS: &[Attr] = &[
    WINDOW,
    Attr::choice("pool_type", OLD_TYPES, MAX, "What becomes of a window: its largest value, mean, or sum."),
    WHOLE,
    Attr::choice(
        "pooling_convention",
        OLD_CONVENTIONS,
        0,
        "Whether the last window must lie inside ('valid') or may stick out ('full').",
    ),
    APART,
    ADDED,
];
/// Of the rows that `Pooling` is made of: everything resolved.
const PLACED: &[Attr] = &[
    Attr::ints("kernel", "Size of the windows."),
    Attr::ints("stride", "Distance between two windows."),
    Attr::ints("pad", "Before the first value of each axis."),
    Attr::ints("size", "Spatial size of the result."),
    Attr::bool("mean", false, "Whether sums are divided by their number of values."),
    Attr::bool("count_pad", false, "Whether that number counts what was added."),
    Attr::bool("channels_last", false, "Channels are the last axis."),
];
const GRADIENT: &[Input] = &[input("dy"), input("data")];

/// A call of `Pooling`, resolved.
struct Plan {
    kernel: Dims,
    stride: Dims,
    pad: Dims,
    out: Dims,
    channels_last: bool,
}

fn refuse(text: String) -> gluonish_base::Error {
    Cause::Value(text).into()
}

fn plan(attrs: &Attrs, data: &Dims) -> Result<Plan> {
    if !(3..=5).contains(&data.len()) {
        return Err(Cause::Shape(format!("data of shape {data} must have 1 to 3 spatial axes")).into());
    }
    let spatial = data.len() - 2;
    let channels_last = is_last(attrs.opt_choice(LAYOUT), spatial)?;
    let size = parts(data, channels_last).1;
    if attrs.bool(GLOBAL) {
        if size.contains(&0) {
            return Err(Cause::Shape(format!("global_pool has nothing to pool in data of shape {data}")).into());
        }
        let (ones, zeros) = (Dims::filled(spatial, 1), Dims::filled(spatial, 0));
        return Ok(Plan { kernel: size, stride: ones, pad: zeros, out: ones, channels_last });
    }
    let kernel = attrs.ints(KERNEL).copied().unwrap_or(Dims::EMPTY);
    if kernel.len() != spatial || kernel.iter().any(|k| !(1..=LARGEST).contains(k)) {
        let hint = number_for_each("kernel", &kernel, spatial);
        return Err(refuse(format!(
            "kernel={kernel} must be {spatial} positive numbers, at most {LARGEST}, for data of shape {data}{hint}"
        )));
    }
    let stride = per_axis(attrs, STRIDE, "stride", spatial, 1, 1)?;
    let mut pad = per_axis(attrs, PAD, "pad", spatial, 0, 0)?;
    let convention = attrs.choice(CONVENTION);
    let mut out = Dims::filled(spatial, -1);
    for i in (0..spatial).filter(|i| size[*i] != -1) {
        if convention == SAME {
            if pad[i] != 0 {
                return Err(refuse(format!("pad={pad} cannot be given with pooling_convention='same'")));
            }
            out[i] = (size[i] + stride[i] - 1) / stride[i];
            pad[i] = ((out[i] - 1).saturating_mul(stride[i]).saturating_add(kernel[i] - size[i])).max(0) / 2;
            continue;
        }
        if pad[i] >= kernel[i] {
            return Err(refuse(format!("pad={pad} must be less than kernel={kernel}")));
        }
        let room = size[i] + 2 * pad[i] - kernel[i];
        if room < 0 {
            let text = format!("kernel={kernel} is larger than data of size {size} with pad={pad}");
            return Err(Cause::Shape(text).into());
        }
        out[i] = if convention == FULL { (room + stride[i] - 1) / stride[i] } else { room / stride[i] } + 1;
        // A window that begins behind the last value has nothing to fold.
        if (out[i] - 1) * stride[i] >= size[i] + pad[i] {
            out[i] -= 1;
        }
    }
    Ok(Plan { kernel, stride, pad, out, channels_last })
}

impl Plan {
    fn attrs(&self, size: Dims, mean: bool, count_pad: bool) -> [AttrVal; 7] {
        [
            AttrVal::Ints(self.kernel),
            AttrVal::Ints(self.stride),
            AttrVal::Ints(self.pad),
            AttrVal::Ints(size),
            AttrVal::Bool(mean),
            AttrVal::Bool(count_pad),
            AttrVal::Bool(self.channels_last),
        ]
    }
}

fn pooling(r: &Rule<'_>, ins: &[V]) -> V {
    pooled(r, r.attrs(), ins[0], false)
}

/// MXNet's first version: a mean is the sum over the size of the window, also where the window sticks out.
fn pooling_v1(r: &Rule<'_>, ins: &[V]) -> V {
    let &[kernel, kind, global, convention, stride, pad] = &r.attrs()[..] else { return ins[0] };
    let (off, none) = (AttrVal::Bool(false), AttrVal::None);
    let attrs = Attrs::of(&[kernel, kind, global, off, convention, stride, pad, none, off, none]);
    pooled(r, &attrs, ins[0], true)
}

fn pooled(r: &Rule<'_>, attrs: &Attrs, data: V, whole_windows: bool) -> V {
    let plan = match plan(attrs, &r.shape(data)) {
        Ok(plan) => plan,
        Err(e) => {
            r.0.fail(e);
            return data;
        }
    };
    let (kind, p) = (attrs.choice(POOL_TYPE), attrs.opt_int(P_VALUE));
    // 'same' adds as many values as windows need, on the far side perhaps one more.
    let whole_windows = whole_windows || (attrs.choice(CONVENTION) == SAME && attrs.bool(COUNT_PAD));
    let of = |op: &'static Op, v: V, mean: bool| r.call(op, &[v], &plan.attrs(plan.out, mean, attrs.bool(COUNT_PAD)));
    match (kind, p) {
        (MAX, _) => of(&POOL_MAX, data, false),
        (LP, Some(p)) if (1..=LARGEST as i64).contains(&p) => {
            let p = p as f64;
            r.gathered(data, |x| r.pow(of(&POOL_SUM, r.pow(r.unary_op(&crate::rows::ABS, x), p), false), 1.0 / p))
        }
        (LP, _) => {
            let given = p.map_or_else(|| "None".to_string(), |p| p.to_string());
            r.0.fail(refuse(format!(
                "p_value={given} is not valid: pool_type='lp' needs a number from 1 to {LARGEST}"
            )));
            data
        }
        (AVG, _) if whole_windows => {
            let share = 1.0 / plan.kernel.iter().map(|k| *k as f64).product::<f64>();
            r.gathered(data, |x| r.mul(of(&POOL_SUM, x, false), share))
        }
        _ => of(&POOL_SUM, data, kind == AVG),
    }
}

fn windows(attrs: &Attrs) -> Windows {
    let list = |i: usize, otherwise: usize| {
        let given = attrs.ints(i).copied().unwrap_or(Dims::EMPTY);
        let mut all = [otherwise; 3];
        for (to, v) in all[3 - given.len()..].iter_mut().zip(given.iter()) {
            *to = *v as usize;
        }
        all
    };
    Windows {
        kernel: list(0, 1),
        stride: list(1, 1),
        pad: list(2, 0),
        mean: attrs.bool(4),
        count_pad: attrs.bool(5),
        channels_last: attrs.bool(6),
    }
}

fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    let v = &c.ins[0];
    require_float(v, "data")?;
    let size = c.attrs.ints(3).copied().unwrap_or(Dims::EMPTY);
    if v.shape.len() != size.len() + 2 || !(1..=3).contains(&size.len()) {
        return Err(Cause::Shape(format!("{} does not have {} spatial axes", v.shape, size.len())).into());
    }
    for (at, name, least) in [(0, "kernel", 1), (1, "stride", 1), (2, "pad", 0)] {
        per_axis(c.attrs, at, name, size.len(), least, least)?;
    }
    let last = c.attrs.bool(6);
    outs.push(Meta { shape: axes(v.shape[0], parts(v.shape, last).0, &size, last), dtype: v.dtype });
    Ok(())
}
/// With a second input, of the shape of the first or of the result.
fn infer_both(c: &Call<'_>, outs: &mut Metas, like_result: bool) -> Result {
    infer(c, outs)?;
    let (wanted, got) = (if like_result { outs[0].shape } else { *c.ins[0].shape }, c.ins[1].shape);
    if *got != wanted {
        return Err(Cause::Shape(format!("data must have shape {wanted}, got {got}")).into());
    }
    Ok(())
}

/// The attributes of the row that goes the other way.
fn back(r: &Rule<'_>, size: Dims) -> [AttrVal; 7] {
    let a = r.attrs();
    [a[0], a[1], a[2], AttrVal::Ints(size), a[4], a[5], a[6]]
}
fn spatial(r: &Rule<'_>, input: usize) -> Dims {
    parts(&r.input(input).shape, r.attrs().bool(6)).1
}
fn spatial_2d(r: &Rule<'_>) -> Dims {
    Dims::of(&r.input(0).shape[2..])
}
const fn placed(name: &'static str, doc: &'static str, inputs: &'static [Input], body: Body) -> Op {
    Op::new(name, doc, inputs, body).attrs(PLACED).infer(infer).cost(Cost::Bytes(8.0)).internal()
}

const SIZE: &[Attr] = &[Attr::ints("size", "Height and width of the result.")];

fn infer_adaptive(c: &Call<'_>, outs: &mut Metas) -> Result {
    let v = &c.ins[0];
    require_float(v, "data")?;
    let size = c.attrs.ints(0).copied().unwrap_or(Dims::EMPTY);
    if v.shape.len() != 4 || size.len() != 2 || v.shape[2..].contains(&0) || size.iter().any(|n| *n < 1) {
        let text = format!("images of shape {} cannot be divided into {size} windows", v.shape);
        return Err(Cause::Shape(text).into());
    }
    outs.push(Meta { shape: Dims::of(&[v.shape[0], v.shape[1], size[0], size[1]]), dtype: v.dtype });
    Ok(())
}

fn adaptive(r: &Rule<'_>, ins: &[V]) -> V {
    let given = r.attrs().ints(0).copied().unwrap_or(Dims::EMPTY);
    let size = match given.len() {
        0 => Dims::of(&[1, 1]),
        1 => Dims::of(&[given[0], given[0]]),
        _ => given,
    };
    r.call(&ADAPTIVE_MEAN, &[ins[0]], &[AttrVal::Ints(size)])
}

rows! {
    ADAPTIVE_POOLING = Op::new("AdaptiveAvgPooling2D", "Images are divided evenly into `output_size` windows; each becomes its mean. Windows overlap where the sizes do not divide.", DATA, Body::Compose(adaptive))
        .attrs(&[Attr::opt_ints("output_size", "Height and width of the result, or one number for both; (1, 1) when left out.")])
        .nd(&["contrib.AdaptiveAvgPooling2D"]);
    ADAPTIVE_MEAN = Op::new("_adaptive_mean", "The means of windows that divide images evenly.", DATA, Body::Kernel(|cx, a, out| {
            k::adaptive_mean(cx, &a.ins[0], &out[0])
        })).attrs(SIZE).infer(infer_adaptive).cost(Cost::Bytes(8.0)).internal()
        .grad(&[], |r| r.grad(0, || r.call(&ADAPTIVE_MEAN_GRAD, &[r.dy()], &[AttrVal::Ints(spatial_2d(r))])));
    ADAPTIVE_MEAN_GRAD = Op::new("_adaptive_mean_grad", "Gradients of means, at all places of their window.", DATA, Body::Kernel(|cx, a, out| {
            k::adaptive_mean_grad(cx, &a.ins[0], &out[0])
        })).attrs(SIZE).infer(infer_adaptive).cost(Cost::Bytes(8.0)).internal()
        .grad(&[], |r| r.grad(0, || r.call(&ADAPTIVE_MEAN, &[r.dy()], &[AttrVal::Ints(spatial_2d(r))])));
    POOLING = Op::new("Pooling", "Windows slide over images; each becomes one value.", DATA, Body::Compose(pooling))
        .attrs(ATTRS).nd(&["Pooling"]);
    POOLING_V1 = Op::new("Pooling_v1", "As Pooling; means count what is outside of the images.", DATA, Body::Compose(pooling_v1))
        .attrs(OLD_ATTRS).nd(&["Pooling_v1"]);
    POOL_MAX = placed("_pool_max", "The largest value of each window.", DATA, Body::Kernel(|cx, a, out| {
            k::max(cx, &a.ins[0], &windows(a.attrs), &out[0])
        })).grad(&[x(0)], |r| r.grad(0, || r.call(&POOL_MAX_GRAD, &[r.dy(), r.x(0)], &back(r, spatial(r, 0)))));
    POOL_MAX_GRAD = placed("_pool_max_grad", "Gradients, where the largest value of their window stands.", GRADIENT, Body::Kernel(|cx, a, out| {
            k::max_grad(cx, &a.ins[0], &a.ins[1], &windows(a.attrs), &out[0])
        })).infer(|c, outs| infer_both(c, outs, true))
        .grad(&[x(1)], |r| r.grad(0, || r.call(&POOL_PICK, &[r.dy(), r.x(1)], &back(r, spatial(r, 0)))));
    POOL_PICK = placed("_pool_pick", "Values that stand where the largest value of each window of data does.", GRADIENT, Body::Kernel(|cx, a, out| {
            k::pick(cx, &a.ins[0], &a.ins[1], &windows(a.attrs), &out[0])
        })).infer(|c, outs| infer_both(c, outs, false))
        .grad(&[x(1)], |r| r.grad(0, || r.call(&POOL_MAX_GRAD, &[r.dy(), r.x(1)], &back(r, spatial(r, 0)))));
    POOL_SUM = placed("_pool_sum", "The sum or the mean of each window.", DATA, Body::Kernel(|cx, a, out| {
            k::sum(cx, &a.ins[0], &windows(a.attrs), &out[0])
        })).grad(&[], |r| r.grad(0, || r.call(&POOL_SUM_GRAD, &[r.dy()], &back(r, spatial(r, 0)))));
    POOL_SUM_GRAD = placed("_pool_sum_grad", "Gradients, at all places of their window.", DATA, Body::Kernel(|cx, a, out| {
            k::sum_grad(cx, &a.ins[0], &windows(a.attrs), &out[0])
        })).grad(&[], |r| r.grad(0, || r.call(&POOL_SUM, &[r.dy()], &back(r, spatial(r, 0)))));
}
