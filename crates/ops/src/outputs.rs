//! Layers at the end of a network: what they compute is not what their gradient is that of. The gradient is that of a loss
//! between the input and the label, whatever comes in from behind.
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Input, Meta, Metas, Op, Output, Save, hidden, input, output, rows, state, x, y};
use crate::infer::require_float;
use crate::rows::{CAST, EQUAL, GREATER, LESS, MAXIMUM, ONE_HOT, SIGMOID, SIGN, SOFTMAX};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::{AttrVal, Attrs, convert, map, softmax};

const DATA_LABEL: &[Input] = &[input("data"), input("label")];
const NORMALIZATIONS: &[&str] = &["batch", "null", "valid"];
const BATCH: u8 = 0;
const VALID: u8 = 2;
const SCALE: Attr = Attr::float("grad_scale", 1.0, "Factor of the gradient.");

/// The number of true values, at least 1, as an array of no axes.
fn count(r: &Rule<'_>, truth: V, dtype: DType) -> V {
    let rank = r.shape(truth).len();
    let mut all = Dims::EMPTY;
    (0..rank as isize).for_each(|d| all.push(d));
    let numbers = r.call(&CAST, &[truth], &[AttrVal::DType(dtype)]);
    r.binary_op(&MAXIMUM, r.sum(numbers, all, false), 1.0)
}

/// The gradient of `MakeLoss`: a number everywhere.
fn make_loss(r: &Rule<'_>) {
    r.grad(0, || {
        let (a, shape, dtype) = (r.attrs(), r.input(0).shape, r.input(0).dtype);
        let scale = a.float(0);
        match a.choice(2) {
            BATCH => V::from(scale / shape.first().copied().unwrap_or(1).max(1) as f64),
            VALID => {
                let valid = count(r, r.binary_op(&GREATER, r.x(0), a.float(1)), dtype);
                r.broadcast_to(r.div(scale, valid), shape)
            }
            _ => V::from(scale),
        }
    });
}

// Regressions: identity or sigmoid; the gradient is that of half the squared, or the absolute, difference.

fn infer_regression(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (data, label) = (&c.ins[0], &c.ins[1]);
    require_float(data, "data")?;
    if label.size != data.size || label.shape.first() != data.shape.first() {
        let text = format!("label of shape {} must hold as many values as data of shape {}", label.shape, data.shape);
        return Err(Cause::Shape(text).into());
    }
    outs.push(Meta { shape: *data.shape, dtype: data.dtype });
    Ok(())
}

fn regression(r: &Rule<'_>, predicted: V, slope: fn(&Rule<'_>, V) -> V) {
    r.grad(0, || {
        let shape = r.input(0).shape;
        let each = shape.iter().skip(1).product::<isize>().max(1) as f64;
        let gap = r.sub(predicted, r.cast(r.reshape(r.x(1), shape), r.input(0).dtype));
        r.mul(slope(r, gap), r.attrs().float(0) / each)
    });
}

const fn regression_row(name: &'static str, doc: &'static str, body: Body, nd: &'static [&'static str]) -> Op {
    Op::new(name, doc, DATA_LABEL, body).attrs(&[SCALE]).infer(infer_regression).nd(nd)
}

// Softmax.

const IGNORED: usize = 1;
const MULTI: usize = 2;
const USE_IGNORE: usize = 3;
const PRESERVE: usize = 4;
const NORMALIZATION: usize = 5;
const OUT_GRAD: usize = 6;
const SMOOTH: usize = 7;
const SOFTMAX_ATTRS: &[Attr] = &[
    SCALE,
    Attr::float("ignore_label", -1.0, "The label of what has no gradient, if `use_ignore` says so."),
    Attr::bool(
        "multi_output",
        false,
        "Whether axis 1 are the classes, and there is a label for each place of the others.",
    ),
    Attr::bool("use_ignore", false, "Whether what has the label `ignore_label` has no gradient."),
    Attr::bool("preserve_shape", false, "Whether the last axis are the classes; else all axes but the first are."),
    Attr::choice(
        "normalization",
        NORMALIZATIONS,
        1,
        "What the gradient is divided by: the size of the batch, nothing, or the number of labels that are not `ignore_label`.",
    ),
    Attr::bool("out_grad", false, "Whether the gradient is multiplied by that which comes in."),
    Attr::float("smooth_alpha", 0.0, "What part of a label goes to the other classes alike.").within(0.0, 1.0),
];

/// Data as classes between what stands before and after them.
fn classes(attrs: &Attrs, shape: &Dims) -> [isize; 3] {
    let product = |d: &[isize]| d.iter().product::<isize>();
    match shape.split_last() {
        None => [1, 1, 1],
        Some(_) if attrs.bool(MULTI) && shape.len() > 1 => [shape[0], shape[1], product(&shape[2..])],
        Some((last, rest)) if attrs.bool(PRESERVE) => [product(rest), *last, 1],
        Some(_) => [shape[0], product(&shape[1..]), 1],
    }
}

fn infer_softmax(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (data, label) = (&c.ins[0], &c.ins[1]);
    require_float(data, "data")?;
    let [before, _, after] = classes(c.attrs, data.shape);
    if label.shape != data.shape && label.size as isize != before * after {
        let text = format!(
            "label of shape {} must hold {} classes, or have the shape of data, {}",
            label.shape,
            before * after,
            data.shape
        );
        return Err(Cause::Shape(text).into());
    }
    outs.push(Meta { shape: *data.shape, dtype: data.dtype });
    Ok(())
}

fn softmax_output(r: &Rule<'_>) {
    r.grad(0, || {
        let (a, shape, dtype) = (r.attrs(), r.input(0).shape, r.input(0).dtype);
        let parts = classes(a, &shape);
        let [before, n, after] = parts;
        let middle = Dims::of(&parts);
        let along = [AttrVal::Int(1), AttrVal::None, AttrVal::None, AttrVal::Bool(false)];
        // Made again from the input, so that a gradient of this gradient goes through the softmax itself.
        let p = r.call(&SOFTMAX, &[r.reshape(r.x(0), middle)], &along);
        let mut scale = V::from(a.float(0));
        let mut g;
        if r.input(1).shape == shape {
            g = r.sub(p, r.cast(r.reshape(r.x(1), middle), dtype));
        } else {
            let label = r.reshape(r.x(1), Dims::of(&[before, 1, after]));
            let others = a.float(SMOOTH) / (n - 1).max(1) as f64;
            let hot = [
                AttrVal::Int(n as i64),
                AttrVal::Float(1.0 - a.float(SMOOTH)),
                AttrVal::Float(others),
                AttrVal::DType(dtype),
            ];
            let target = r.call(&ONE_HOT, &[r.reshape(label, Dims::of(&[before, after]))], &hot);
            g = r.sub(p, r.transpose(target, Dims::of(&[0, 2, 1])));
            let ignored = r.binary_op(&EQUAL, label, a.float(IGNORED));
            if a.bool(USE_IGNORE) {
                g = r.select(ignored, 0.0, g);
            }
            let area = if a.choice(NORMALIZATION) == VALID { 1.0 } else { after.max(1) as f64 };
            scale = match a.choice(NORMALIZATION) {
                BATCH => V::from(a.float(0) / area / before.max(1) as f64),
                VALID => r.div(a.float(0), count(r, r.binary_op(&EQUAL, ignored, 0.0), dtype)),
                _ => V::from(a.float(0) / area),
            };
        }
        g = r.reshape(r.mul(g, scale), shape);
        if a.bool(OUT_GRAD) { r.mul(g, r.dy()) } else { g }
    });
}

const BOTH: &[Save] = &[x(0), x(1)];

const fn softmax_row(name: &'static str, doc: &'static str, nd: &'static [&'static str]) -> Op {
    Op::new(
        name,
        doc,
        DATA_LABEL,
        Body::Kernel(|cx, a, out| {
            let shape = Dims::of(&classes(a.attrs, a.ins[0].shape));
            softmax::softmax_between(cx, &a.ins[0], &shape, &out[0])
        }),
    )
    .attrs(SOFTMAX_ATTRS)
    .infer(infer_softmax)
    .cost(Cost::Bytes(6.0))
    .nd(nd)
    .grad(BOTH, softmax_output)
}

// Support vector machines: one against all.

fn infer_svm(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (data, label) = (&c.ins[0], &c.ins[1]);
    require_float(data, "data")?;
    if data.shape.len() != 2 || label.size as isize != data.shape[0] {
        let text = format!("data {} must be rows, and label {} a class for each of them", data.shape, label.shape);
        return Err(Cause::Shape(text).into());
    }
    outs.push(Meta { shape: *data.shape, dtype: data.dtype });
    Ok(())
}

fn svm(r: &Rule<'_>) {
    r.grad(0, || {
        let (a, shape, dtype) = (r.attrs(), r.input(0).shape, r.input(0).dtype);
        let hot = [AttrVal::Int(shape[1] as i64), AttrVal::Float(1.0), AttrVal::Float(-1.0), AttrVal::DType(dtype)];
        let side = r.call(&ONE_HOT, &[r.reshape(r.x(1), Dims::of(&shape[..1]))], &hot);
        let short = r.sub(a.float(0), r.mul(side, r.x(0)));
        let inside = r.binary_op(&LESS, 0.0, short);
        let slope =
            if a.bool(2) { r.select(inside, side, 0.0) } else { r.select(inside, r.mul(r.mul(side, short), 2.0), 0.0) };
        r.mul(slope, -a.float(1))
    });
}

// A penalty on how often units are on.

const DATA_AVERAGE: &[Input] = &[input("data"), state("moving_avg")];
const AVERAGE_OUT: &[Output] = &[output("output"), hidden("new_moving_avg")];

fn infer_sparse(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (data, average) = (&c.ins[0], &c.ins[1]);
    require_float(data, "data")?;
    if data.shape.len() != 2 || *average.shape != Dims::of(&data.shape[1..]) {
        let text = format!("data {} must be rows, and moving_avg {} as long as one of them", data.shape, average.shape);
        return Err(Cause::Shape(text).into());
    }
    outs.push(Meta { shape: *data.shape, dtype: data.dtype });
    outs.push(Meta { shape: *average.shape, dtype: average.dtype });
    Ok(())
}

rows! {
    MAKE_LOSS = Op::new("MakeLoss", "The input itself; its gradient is `grad_scale`, whatever comes in.", DATA, Body::Kernel(|cx, a, out| convert::copy_view(cx, &a.ins[0], &out[0])))
        .attrs(&[
            SCALE,
            Attr::float("valid_thresh", 0.0, "Values above this count as valid."),
            Attr::choice("normalization", NORMALIZATIONS, 1, "What the gradient is divided by: the size of the batch, nothing, or the number of valid values."),
        ])
        .nd(&["MakeLoss"]).grad(&[x(0)], make_loss);
    MAKE_LOSS_PLAIN = Op::new("make_loss", "The input itself; its gradient is 1, whatever comes in.", DATA, Body::Kernel(|cx, a, out| convert::copy_view(cx, &a.ins[0], &out[0])))
        .nd(&["make_loss"]).grad(&[], |r| r.grad(0, || V::from(1.0)));
    LINEAR_REGRESSION = regression_row("LinearRegressionOutput", "The input itself; its gradient is that of half the squared distance from the label, divided by the values of a row.",
            Body::Kernel(|cx, a, out| convert::copy_view(cx, &a.ins[0], &out[0])), &["LinearRegressionOutput"])
        .grad(&[x(0), x(1)], |r| regression(r, r.x(0), |_, gap| gap));
    LOGISTIC_REGRESSION = regression_row("LogisticRegressionOutput", "`sigmoid(data)`; the gradient is that of the cross-entropy with the label, divided by the values of a row.",
            Body::Kernel(|cx, a, out| {
                let Body::Map(sigmoid) = &SIGMOID.body else { return Err(Cause::Failed("sigmoid is not a formula".into()).into()) };
                map::apply(cx, sigmoid, map::Class::of(out[0].view.dtype), &a.ins[..1], &out[0])
            }), &["LogisticRegressionOutput"])
        .grad(&[x(0), x(1)], |r| regression(r, r.unary_op(&SIGMOID, r.x(0)), |_, gap| gap));
    MAE_REGRESSION = regression_row("MAERegressionOutput", "The input itself; its gradient is that of the distance from the label, divided by the values of a row.",
            Body::Kernel(|cx, a, out| convert::copy_view(cx, &a.ins[0], &out[0])), &["MAERegressionOutput"])
        .grad(&[x(0), x(1)], |r| regression(r, r.x(0), |r, gap| r.unary_op(&SIGN, gap)));
    SOFTMAX_OUTPUT = softmax_row("SoftmaxOutput", "`softmax` of the classes; the gradient is that of the cross-entropy with the label. A label that is not a class stands for none.", &["SoftmaxOutput"]);
    SOFTMAX_OUTPUT_OLD = softmax_row("Softmax", "The old name of SoftmaxOutput.", &["Softmax"]);
    SVM_OUTPUT = Op::new("SVMOutput", "The input itself; its gradient is that of a hinge loss, squared or not, of each class against the others. A label that is not a class stands for none.", DATA_LABEL,
            Body::Kernel(|cx, a, out| convert::copy_view(cx, &a.ins[0], &out[0])))
        .attrs(&[
            Attr::float("margin", 1.0, "How far from 0 an output must be to cost nothing."),
            Attr::float("regularization_coefficient", 1.0, "Factor of the gradient."),
            Attr::bool("use_linear", false, "Whether the loss is not squared."),
        ])
        .infer(infer_svm).nd(&["SVMOutput"]).grad(&[x(0), x(1)], svm);
    KL_SPARSE = Op::new("IdentityAttachKLSparseReg", "The input itself; to its gradient comes that of a penalty, which pulls the running mean of each unit to `sparseness_target`.", DATA_AVERAGE,
            Body::Kernel(|cx, a, out| {
                gluonish_kernels::rowwise::norm::blend_means(cx, &a.ins[0], &a.ins[1], a.attrs.float(2), &out[1])?;
                convert::copy_view(cx, &a.ins[0], &out[0])
            }))
        .attrs(&[
            Attr::float("sparseness_target", 0.1, "The mean that units are pulled to.").within(0.0, 1.0),
            Attr::float("penalty", 0.001, "Factor of the penalty."),
            Attr::float("momentum", 0.9, "What the running mean keeps of itself in each training step."),
        ])
        .outputs(AVERAGE_OUT).infer(infer_sparse).updates(&[(1, 1)]).nd(&["IdentityAttachKLSparseReg"])
        .grad(&[y(1)], |r| r.grad(0, || {
            let (target, penalty, mean) = (r.attrs().float(0), r.attrs().float(1), r.y(1));
            let pull = r.sub(r.div(1.0 - target, r.sub(1.0, mean)), r.div(target, mean));
            r.add(r.dy(), r.cast(r.mul(pull, penalty), r.input(0).dtype))
        }));
}
