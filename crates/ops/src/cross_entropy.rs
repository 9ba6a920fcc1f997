//! Cross-entropy of the softmax of rows, fused: what is kept of the softmax is one number for each row.
use crate::attr::{Attr, axis};
use crate::cost::Cost;
use crate::def::{Body, Call, Grad, Input, Meta, Metas, Op, Output, hidden, input, optional, output, rows, x, y};
use crate::infer::{reduced, require_float};
use crate::rows::{EQUAL, LOG_SOFTMAX, NEGATIVE, ONE_HOT};
use crate::rule::{Rule, V, Vs};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::rowwise::cross_entropy::{self as k, Labels};
use gluonish_kernels::{Args, AttrVal, Attrs, Cx, Out, View};

const INPUTS: &[Input] = &[input("data"), input("label"), optional("weight")];
const OUTPUTS: &[Output] = &[output("loss"), hidden("log_sum")];
const GRAD_INPUTS: &[Input] = &[input("dy"), input("data"), input("label"), input("log_sum"), optional("weight")];
const DATA_LABEL: &[Input] = &[input("data"), input("label")];
const AXIS: usize = 0;
const SPARSE: usize = 1;
const SMOOTHING: usize = 2;
const USE_IGNORE: usize = 3;
const IGNORED: usize = 4;
const ATTRS: &[Attr] = &[
    Attr::int("axis", -1, "Axis of the classes."),
    Attr::bool("sparse_label", true, "Whether a label is the number of a class; else it is a share of each class."),
    Attr::float("smoothing", 0.0, "What part of a label goes to all classes alike.").within(0.0, 1.0),
    Attr::bool("use_ignore", false, "Whether rows of the label `ignore_label` have neither loss nor gradient."),
    Attr::float("ignore_label", -1.0, "Which label that is."),
];

fn labels(attrs: &Attrs) -> Labels {
    Labels {
        sparse: attrs.bool(SPARSE),
        smoothing: attrs.float(SMOOTHING),
        ignored: (attrs.bool(USE_IGNORE) && attrs.bool(SPARSE)).then(|| attrs.float(IGNORED)),
    }
}

/// The shape of losses.
fn check(c: &Call<'_>, data: &View<'_>, label: &View<'_>, weight: Option<&View<'_>>) -> Result<Dims> {
    require_float(data, "data")?;
    let at = axis(c.attrs.int(AXIS), data.shape)?;
    let rows = reduced(data.shape, 1 << at, false);
    let wanted = if c.attrs.bool(SPARSE) { rows } else { *data.shape };
    if *label.shape != wanted {
        return Err(Cause::Shape(format!(
            "label must have shape {wanted} for data of shape {}, got {}",
            data.shape, label.shape
        ))
        .into());
    }
    if c.attrs.bool(USE_IGNORE) && !c.attrs.bool(SPARSE) {
        return Err(Cause::Argument("use_ignore=True is for labels that are classes, not shares of them".into()).into());
    }
    if let Some(w) = weight.filter(|w| !w.is_absent()) {
        let wanted = Dims::of(&[data.shape[at]]);
        if *w.shape != wanted {
            return Err(Cause::Shape(format!("weight must have shape {wanted}, got {}", w.shape)).into());
        }
    }
    Ok(rows)
}

fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    let rows = check(c, &c.ins[0], &c.ins[1], c.ins.get(2))?;
    let data = c.ins[0].dtype;
    outs.push(Meta { shape: rows, dtype: data });
    outs.push(Meta { shape: rows, dtype: if data == DType::F64 { DType::F64 } else { DType::F32 } });
    Ok(())
}

fn infer_grad(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (dy, data) = (&c.ins[0], &c.ins[1]);
    let rows = check(c, data, &c.ins[2], c.ins.get(4))?;
    for (v, name) in [(dy, "dy"), (&c.ins[3], "log_sum")] {
        if *v.shape != rows {
            return Err(Cause::Shape(format!("{name} must have shape {rows}, got {}", v.shape)).into());
        }
    }
    outs.push(Meta { shape: *data.shape, dtype: data.dtype });
    Ok(())
}

/// Shape and strides with the axis of the classes as the last one.
fn moved(v: &View<'_>, at: usize) -> (Dims, Dims) {
    let (mut shape, mut strides) = (*v.shape, *v.strides);
    let (n, by) = (shape.remove(at), strides.remove(at));
    shape.push(n);
    strides.push(by);
    (shape, strides)
}
fn seen<'a>(v: &View<'a>, (shape, strides): &'a (Dims, Dims)) -> View<'a> {
    View { shape, strides, contiguous: shape.is_contiguous(strides), ..*v }
}
const ABSENT: View<'static> = View {
    ptr: std::ptr::null_mut(),
    shape: &Dims::EMPTY,
    strides: &Dims::EMPTY,
    dtype: DType::F32,
    contiguous: true,
    size: 0,
    scalar: None,
};

fn forward(cx: &Cx, a: &Args<'_>, out: &[Out<'_>]) -> Result {
    let at = axis(a.attrs.int(AXIS), a.ins[0].shape)?;
    let (data, label) = (
        moved(&a.ins[0], at),
        if a.attrs.bool(SPARSE) { (*a.ins[1].shape, *a.ins[1].strides) } else { moved(&a.ins[1], at) },
    );
    let ins = [seen(&a.ins[0], &data), seen(&a.ins[1], &label), a.ins.get(2).copied().unwrap_or(ABSENT)];
    k::cross_entropy(cx, &ins, a.ins[0].shape[at] as usize, &labels(a.attrs), out)
}

fn backward(cx: &Cx, a: &Args<'_>, out: &[Out<'_>]) -> Result {
    let at = axis(a.attrs.int(AXIS), a.ins[1].shape)?;
    let (data, dx) = (moved(&a.ins[1], at), moved(&out[0].view, at));
    let label = if a.attrs.bool(SPARSE) { (*a.ins[2].shape, *a.ins[2].strides) } else { moved(&a.ins[2], at) };
    let weight = a.ins.get(4).copied().unwrap_or(ABSENT);
    let ins = [a.ins[0], seen(&a.ins[1], &data), seen(&a.ins[2], &label), a.ins[3], weight];
    let outs = [Out { view: seen(&out[0].view, &dx), mode: out[0].mode }];
    k::cross_entropy_grad(cx, &ins, a.ins[1].shape[at] as usize, &labels(a.attrs), &outs)
}

fn back(r: &Rule<'_>) {
    let a = r.attrs();
    let (x, label, sum, weight) = (r.x(0), r.x(1), r.y(1), if r.inputs() > 2 { r.x(2) } else { V::Absent });
    r.grad(0, || r.call(&CROSS_ENTROPY_GRAD, &[r.dy(), x, label, sum, weight], a));
    if r.wants(1) && a.bool(SPARSE) {
        r.missing("labels that are classes have no gradient");
    }
    r.grad(1, || {
        let shape = r.shape(x);
        let at = axis(a.int(AXIS), &shape).unwrap_or(0);
        let mut column = shape;
        column[at] = 1;
        let surprise = r.sub(r.reshape(sum, column), x);
        let part = r.mul(r.reshape(r.dy(), column), 1.0 - a.float(SMOOTHING));
        let whole = r.mul(part, surprise);
        if weight == V::Absent { whole } else { r.mul(whole, spread(r, weight, shape.len(), at)) }
    });
    if r.wants(2) {
        r.missing("weights of classes are constants");
    }
}

fn spread(r: &Rule<'_>, v: V, rank: usize, at: usize) -> V {
    let mut shape = Dims::filled(rank, 1);
    shape[at] = r.shape(v).size() as isize;
    r.reshape(v, shape)
}

fn decompose(r: &Rule<'_>, v: &[V]) -> Vs {
    let a = r.attrs();
    let (shape, dtype, smoothing) = (r.shape(v[0]), r.dtype(v[0]), a.float(SMOOTHING));
    let at = axis(a.int(AXIS), &shape).unwrap_or(0);
    let classes = shape[at];
    let all = smoothing / classes.max(1) as f64;
    let log =
        r.call(&LOG_SOFTMAX, &[v[0]], &[AttrVal::Int(at as i64), AttrVal::None, AttrVal::None, AttrVal::Bool(false)]);
    let target = if a.bool(SPARSE) {
        let on = AttrVal::Float(1.0 - smoothing + all);
        let rows =
            r.call(&ONE_HOT, &[v[1]], &[AttrVal::Int(classes as i64), on, AttrVal::Float(all), AttrVal::DType(dtype)]);
        // The classes are the last axis of what that makes.
        let mut order = Dims::EMPTY;
        (0..shape.len() as isize - 1).for_each(|d| order.push(d));
        order.insert(at, shape.len() as isize - 1);
        r.transpose(rows, order)
    } else {
        r.add(r.mul(v[1], 1.0 - smoothing), all)
    };
    let weighted = match v.get(2) {
        Some(w) if *w != V::Absent => r.mul(target, spread(r, *w, shape.len(), at)),
        _ => target,
    };
    let loss = r.call(&NEGATIVE, &[r.sum(r.mul(weighted, log), Dims::of(&[at as isize]), false)], &[]);
    let counted =
        if a.bool(USE_IGNORE) { r.select(r.binary_op(&EQUAL, v[1], a.float(IGNORED)), 0.0, loss) } else { loss };
    Vs::from_slice(&[r.cast(counted, dtype)])
}

rows! {
    CROSS_ENTROPY = Op::new("_softmax_cross_entropy", "`-sum(weight * label * log_softmax(data))` for each row. A label that is not a class is an error; NaN in a row makes its loss NaN.", INPUTS,
            Body::Kernel(|cx, a, out| forward(cx, a, out)))
        .attrs(ATTRS).outputs(OUTPUTS).infer(infer).cost(Cost::Bytes(8.0)).internal()
        .grad(&[x(0), x(1), x(2), y(1)], back).decompose(decompose);
    CROSS_ENTROPY_GRAD = Op::new("_softmax_cross_entropy_grad", "Gradient of the cross-entropy of rows.", GRAD_INPUTS, Body::Kernel(|cx, a, out| backward(cx, a, out)))
        .attrs(ATTRS).infer(infer_grad).cost(Cost::Bytes(4.0)).internal()
        .no_grad(Grad::Missing("higher orders are taken of what the cross-entropy decomposes into"));
    SOFTMAX_CROSS_ENTROPY = Op::new("softmax_cross_entropy", "The sum of the cross-entropies of rows and their classes, an array of one value.", DATA_LABEL, Body::Compose(|r, v| {
            if r.shape(v[0]).len() != 2 {
                r.0.fail(Cause::Shape(format!("data must be rows, got shape {}", r.shape(v[0]))).into());
                return v[0];
            }
            let plain = [AttrVal::Int(1), AttrVal::Bool(true), AttrVal::Float(0.0), AttrVal::Bool(false), AttrVal::Float(-1.0)];
            let loss = r.call(&CROSS_ENTROPY, &[v[0], v[1], V::Absent], &plain);
            r.sum(loss, Dims::of(&[0]), true)
        }))
        .nd(&["softmax_cross_entropy"]);
}
