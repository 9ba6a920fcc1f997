//! The loss of connectionist temporal classification. Its gradient comes with the loss; higher orders go through the paths
//! of a label, frame by frame.
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, Grad, Input, Meta, Metas, Op, Output, hidden, input, optional, output, rows, x, y};
use crate::infer::require_float;
use crate::rows::{CONCAT, GREATER, LOG_SOFTMAX, LOGADDEXP, ONE_HOT, SLICE, Slice};
use crate::rule::{Rule, V, Vs};
use crate::sequence::{check_vector, given};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::ctc::{self as k, Labels};
use gluonish_kernels::plain::computed_in;
use gluonish_kernels::sequence::Lengths;
use gluonish_kernels::{AttrVal, Attrs, Cx, View};
use smallvec::smallvec;

const INPUTS: &[Input] = &[input("data"), input("label"), optional("data_lengths"), optional("label_lengths")];
const OUTPUTS: &[Output] = &[output("output"), hidden("gradient")];
const USE_DATA: usize = 0;
const USE_LABEL: usize = 1;
const BLANK: usize = 2;
const LABEL_LENGTHS: Attr = Attr::bool(
    "use_label_lengths",
    false,
    "Whether `label_lengths` says how long labels are; else they end where the filling begins.",
);
const BLANK_LABEL: Attr = Attr::choice(
    "blank_label",
    &["first", "last"],
    0,
    "Which class is the blank. 'first': 0, which also fills up short labels; 'last': the last one, and -1 fills up.",
);
const ATTRS: &[Attr] = &[
    Attr::bool(
        "use_data_lengths",
        false,
        "Whether `data_lengths` says how many frames of each sequence count; at least 1.",
    ),
    LABEL_LENGTHS,
    BLANK_LABEL,
];

fn shape_error(text: String) -> gluonish_base::Error {
    Cause::Shape(text).into()
}

fn checked(data: &Dims, ins: &[View<'_>], a: &Attrs) -> Result {
    let label = ins[1].shape;
    if data.len() != 3 || data[0] == 0 || data[2] == 0 {
        let text = format!("data of shape {data} must be (frames, batch, classes), with at least one frame and class");
        return Err(shape_error(text));
    }
    if label.len() != 2 || (label[0] != data[1] && label[0] != -1 && data[1] != -1) {
        return Err(shape_error(format!(
            "label of shape {label} must be ({}, length) for data of shape {data}",
            data[1]
        )));
    }
    check_vector(ins, 2, "data_lengths", "use_data_lengths", a.bool(USE_DATA), data[1])?;
    check_vector(ins, 3, "label_lengths", "use_label_lengths", a.bool(USE_LABEL), data[1])
}
fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    let v = &c.ins[0];
    require_float(v, "data")?;
    checked(v.shape, c.ins, c.attrs)?;
    outs.push(Meta { shape: Dims::of(&[v.shape[1]]), dtype: v.dtype });
    outs.push(Meta { shape: *v.shape, dtype: computed_in(v.dtype) });
    Ok(())
}

/// The labels of a call.
fn labels(cx: &Cx, ins: &[View<'_>], a: &Attrs, classes: usize) -> Result<Labels> {
    let most = ins[1].shape[1] as usize;
    let lengths = given(ins, 3).map(|v| Lengths::read("label_lengths", v, 0, most)).transpose()?;
    Labels::read(cx, &ins[1], lengths.as_ref(), classes, a.choice(BLANK) == 1)
}

/// Of a place that no path comes to.
const NEVER: f64 = -1e30;

fn cut(r: &Rule<'_>, v: V, axis: usize, begin: isize, size: isize) -> V {
    let mut slice = Slice::whole(&r.shape(v));
    (slice.begin[axis], slice.size[axis]) = (begin, size);
    r.call(&SLICE, &[v], &slice.attrs())
}
/// Element `i` of the first of three axes.
fn element(r: &Rule<'_>, v: V, i: usize) -> V {
    let mut slice = Slice::whole(&r.shape(v));
    (slice.begin[0], slice.size[0], slice.axes) = (i as isize, 1, Dims::of(&[1, 2]));
    r.call(&SLICE, &[v], &slice.attrs())
}
/// The places moved on by `by`, with what no path comes to at the start.
fn moved(r: &Rule<'_>, v: V, by: isize) -> V {
    let places = r.shape(v)[1];
    if places <= by {
        return r.add(r.mul(v, 0.0), NEVER);
    }
    let start = r.add(r.mul(cut(r, v, 1, 0, by), 0.0), NEVER);
    r.call(&CONCAT, &[start, cut(r, v, 1, 0, places - by)], &[AttrVal::Int(1)])
}

fn decompose(r: &Rule<'_>, ins: &[V]) -> Vs {
    let a = r.attrs();
    let (data, dtype) = (r.shape(ins[0]), r.dtype(ins[0]));
    // In half precision the number for what never happens would be infinite.
    let wide = computed_in(dtype);
    let label_lengths = if a.bool(USE_LABEL) { ins[3] } else { V::Absent };
    let how = [AttrVal::Int(data[2] as i64), a[USE_LABEL], a[BLANK]];
    let paths = r.call_all(&CTC_PATHS, &[ins[1], label_lengths], &how);
    let [own, skip, first, last] = std::array::from_fn(|i| element(r, paths[1], i));
    let hot = [AttrVal::Int(data[2] as i64), AttrVal::Float(1.0), AttrVal::Float(0.0), AttrVal::DType(wide)];
    let classes = r.call(&ONE_HOT, &[paths[0]], &hot);
    let logs = [AttrVal::Int(-1), AttrVal::None, AttrVal::None, AttrVal::Bool(false)];
    let logs = r.call(&LOG_SOFTMAX, &[r.cast(ins[0], wide)], &logs);
    // (batch, frames, classes) by (batch, classes, places), then frames first.
    let by_place = r.matmul(r.transpose(logs, Dims::of(&[1, 0, 2])), r.swap_last(classes));
    let by_place = r.transpose(by_place, Dims::of(&[1, 0, 2]));
    let lengths = a.bool(USE_DATA).then(|| r.reshape(ins[2], Dims::of(&[data[1], 1])));
    let mut at = r.select(own, r.select(first, element(r, by_place, 0), NEVER), NEVER);
    for t in 1..data[0] as usize {
        let come = r.binary_op(&LOGADDEXP, at, moved(r, at, 1));
        let come = r.binary_op(&LOGADDEXP, come, r.select(skip, moved(r, at, 2), NEVER));
        let next = r.select(own, r.add(come, element(r, by_place, t)), NEVER);
        at = match lengths {
            Some(n) => r.select(r.binary_op(&GREATER, n, t as f64), next, at),
            None => next,
        };
    }
    let ends = r.select(last, at, NEVER);
    let total =
        (1..r.shape(ends)[1]).fold(cut(r, ends, 1, 0, 1), |sum, s| r.binary_op(&LOGADDEXP, sum, cut(r, ends, 1, s, 1)));
    smallvec![r.cast(r.neg(r.reshape(total, Dims::of(&[data[1]]))), dtype)]
}

rows! {
    CTC_LOSS = Op::new("CTCLoss", "How unlikely the softmax of frames (frames, batch, classes) is to spell the labels (batch, length), over all ways in which it can; infinity, with a gradient of 0, where there is none.", INPUTS, Body::Kernel(|cx, a, out| {
            let shape = a.ins[0].shape;
            let (steps, batch) = (shape[0] as usize, shape[1] as usize);
            let labels = labels(cx, a.ins, a.attrs, shape[2] as usize)?;
            let frames = match given(a.ins, 2) {
                Some(v) => Lengths::read("data_lengths", v, 1, steps)?,
                None => Lengths::all(steps, batch),
            };
            k::loss(cx, &a.ins[0], &labels, &frames, &out[0], &out[1])
        }))
        .attrs(ATTRS).outputs(OUTPUTS).infer(infer).cost(Cost::Bytes(64.0))
        .nd(&["CTCLoss", "ctc_loss", "contrib.CTCLoss", "contrib.ctc_loss"])
        .grad(&[x(0), x(1), x(2), x(3), y(1)], |r| r.grad(0, || {
            let each = r.reshape(r.dy(), Dims::of(&[1, r.input(0).shape[1], 1]));
            r.mul(r.y(1), r.cast(each, r.dtype(r.y(1))))
        })).decompose(decompose);
    CTC_PATHS = Op::new("_ctc_paths", "The classes along the paths of labels, and which places belong to them, may be reached from two before, may be first, may be last.", &[input("label"), optional("label_lengths")], Body::Kernel(|cx, a, out| {
            let most = a.ins[0].shape[1] as usize;
            let lengths = given(a.ins, 1).map(|v| Lengths::read("label_lengths", v, 0, most)).transpose()?;
            let labels = Labels::read(cx, &a.ins[0], lengths.as_ref(), a.attrs.int(0) as usize, a.attrs.choice(2) == 1)?;
            k::paths(cx, &labels, &out[0], &out[1])
        }))
        .attrs(&[Attr::int_required("classes", "Number of classes.").at_least(1), LABEL_LENGTHS, BLANK_LABEL])
        .outputs(&[output("classes"), output("flags")])
        .infer(|c, outs| {
            let label = c.ins[0].shape;
            if label.len() != 2 {
                return Err(shape_error(format!("label of shape {label} must be (batch, length)")));
            }
            check_vector(c.ins, 1, "label_lengths", "use_label_lengths", c.attrs.bool(1), label[0])?;
            let places = if label[1] == -1 { -1 } else { 2 * label[1] + 1 };
            outs.push(Meta { shape: Dims::of(&[label[0], places]), dtype: DType::I64 });
            outs.push(Meta { shape: Dims::of(&[4, label[0], places]), dtype: DType::Bool });
            Ok(())
        })
        .cost(Cost::Bytes(8.0)).internal().no_grad(Grad::Zero);
}
