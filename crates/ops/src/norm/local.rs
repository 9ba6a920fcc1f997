//! Values divided by a norm of themselves and their neighbours, as compositions.
use super::stable;
use crate::attr::Attr;
use crate::def::{Body, DATA, Op, rows};
use crate::pooling::POOL_SUM;
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims};
use gluonish_kernels::AttrVal;

const MODES: &[&str] = &["channel", "instance", "spatial"];

fn l2(r: &Rule<'_>, v: &[V]) -> V {
    let (eps, mode, shape) = (r.attrs().float(0), r.attrs().choice(1), r.shape(v[0]));
    let (from, to, least) = match MODES[mode as usize % MODES.len()] {
        "channel" => (1, 2, 2),
        "instance" => (1, shape.len(), 1),
        _ => (2, shape.len(), 3),
    };
    if shape.len() < least {
        let text = format!("data of shape {shape} needs at least {least} axes for mode='{}'", MODES[mode as usize]);
        r.0.fail(Cause::Shape(text).into());
        return v[0];
    }
    let mut axes = Dims::EMPTY;
    (from..to).for_each(|d| axes.push(d as isize));
    r.gathered(v[0], |x| r.div(x, r.sqrt(r.add(r.sum(r.square(x), axes, true), eps))))
}

fn lrn(r: &Rule<'_>, v: &[V]) -> V {
    let a = r.attrs();
    let (alpha, beta, knorm, n, shape) = (a.float(0), a.float(1), a.float(2), a.int(3) as isize, r.shape(v[0]));
    let refuse = |cause: Cause| {
        r.0.fail(cause.into());
        v[0]
    };
    if shape.len() != 4 {
        return refuse(Cause::Shape(format!("data of shape {shape} must have 4 axes: batch, channels, height, width")));
    }
    if n % 2 == 0 {
        return refuse(Cause::Value(format!("nsize={n} must be odd: a window has a channel in its middle")));
    }
    // A sum of squares over neighbouring channels is a pooling over an image of one channel.
    let flat = Dims::of(&[shape[0], 1, shape[1], shape[2] * shape[3]]);
    // No window has more than all channels.
    let size = n.min(2 * shape[1] + 1);
    let ints = |a: isize, b: isize| AttrVal::Ints(Dims::of(&[a, b]));
    let no = AttrVal::Bool(false);
    let window = [ints(size, 1), ints(1, 1), ints(size / 2, 0), ints(flat[2], flat[3]), no, no, no];
    r.gathered(v[0], |x| {
        let sums = r.reshape(r.call(&POOL_SUM, &[r.reshape(r.square(x), flat)], &window), shape);
        r.mul(x, r.pow(r.add(r.mul(sums, alpha / n as f64), knorm), -beta))
    })
}

rows! {
    L2_NORMALIZATION = Op::new("L2Normalization", "Values divided by the root of a sum of squares, plus eps.", DATA, Body::Compose(l2))
        .attrs(&[
            stable(1e-10, "Added to the sum, so that it is not 0."),
            Attr::choice("mode", MODES, 1, "Over which axes the sum goes: all but the first ('instance'), axis 1 ('channel'), or those after it ('spatial')."),
        ])
        .nd(&["L2Normalization"]);
    LRN = Op::new("LRN", "Values divided by `(knorm + alpha / nsize * sum(x ** 2)) ** beta`, the sum going over neighbouring channels.", DATA, Body::Compose(lrn))
        .attrs(&[
            Attr::float("alpha", 1e-4, "Factor of the mean square."),
            Attr::float("beta", 0.75, "The power."),
            Attr::float("knorm", 2.0, "Added to it."),
            Attr::int_required("nsize", "Channels of a window, an odd number.").at_least(1),
        ])
        .nd(&["LRN"]).onnx("LRN");
}
