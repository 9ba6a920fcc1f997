//! Activations: the formulas that Gluon knows beside those of `unary`, and the two ops that choose among all of them.
use crate::attr::Attr;
use crate::binary::binary;
use crate::def::{Body, DATA, Input, Op, input, optional, rows, x};
use crate::random::like::UNIFORM_LIKE;
use crate::rows::{EXPM1, GELU, GREATER, LOG_SIGMOID, RELU, SIGMOID, SOFTSIGN, TANH};
use crate::rule::{Rule, V};
use crate::unary::unary;
use gluonish_base::{Cause, Dims};
use gluonish_kernels::{AttrVal, map};

const TYPES: &[&str] = &["relu", "sigmoid", "log_sigmoid", "mish", "silu", "softrelu", "softsign", "tanh"];
const LEAKY_TYPES: &[&str] = &["elu", "gelu", "gelu_tanh", "leaky", "prelu", "rrelu", "selu"];
const LEAKY_INPUTS: &[Input] = &[input("data"), optional("gamma")];
const DATA_SLOPE: &[Input] = &[input("data"), input("slope")];
const ACT_TYPE: usize = 0;
const SLOPE: usize = 1;
const LOWER: usize = 2;
const UPPER: usize = 3;

/// Of SELU (Klambauer et al., 2017): the fixed point of mean 0 and variance 1.
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
/// Of the approximation of GELU by a hyperbolic tangent: the root of 2 over pi, and the factor of the cube.
const ROOT_TWO_OVER_PI: f64 = 0.797_884_560_802_865_4;
const CUBE: f64 = 0.044_715;

fn activation(r: &Rule<'_>, ins: &[V]) -> V {
    let op = match r.attrs().choice(ACT_TYPE) {
        0 => &RELU,
        1 => &SIGMOID,
        2 => &LOG_SIGMOID,
        3 => &MISH,
        4 => &SILU,
        5 => &SOFTRELU,
        6 => &SOFTSIGN,
        _ => &TANH,
    };
    r.unary_op(op, ins[0])
}

fn leaky(r: &Rule<'_>, ins: &[V]) -> V {
    let (kind, slope, gamma) = (r.attrs().choice(ACT_TYPE), r.attrs().float(SLOPE), ins.get(1).copied());
    let name = LEAKY_TYPES[(kind as usize).min(LEAKY_TYPES.len() - 1)];
    let gamma = gamma.filter(|g| *g != V::Absent);
    if gamma.is_some() != (name == "prelu") {
        let text = match gamma {
            Some(_) => format!("gamma is given, but act_type='{name}' does not learn a slope; 'prelu' does"),
            None => "act_type='prelu' needs the input gamma, the slopes".into(),
        };
        r.0.fail(Cause::Argument(text).into());
        return ins[0];
    }
    match name {
        "elu" => r.binary_op(&ELU, ins[0], slope),
        "selu" => r.mul(r.binary_op(&ELU, ins[0], SELU_ALPHA), SELU_SCALE),
        "gelu" => r.unary_op(&GELU, ins[0]),
        "gelu_tanh" => r.unary_op(&GELU_TANH, ins[0]),
        "leaky" => r.binary_op(&LEAKY, ins[0], slope),
        "rrelu" => {
            let (low, high) = (r.attrs().float(LOWER), r.attrs().float(UPPER));
            if low > high {
                let text = format!("lower_bound={low} is above upper_bound={high}");
                r.0.fail(Cause::Value(text).into());
            }
            if r.training() {
                let slopes = r.call(&UNIFORM_LIKE, &[ins[0]], &[AttrVal::Float(low), AttrVal::Float(high)]);
                return r.binary_op(&LEAKY, ins[0], slopes);
            }
            r.binary_op(&LEAKY, ins[0], (low + high) / 2.0)
        }
        _ => {
            let gamma = gamma.unwrap_or(V::Absent);
            r.binary_op(&LEAKY, ins[0], per_channel(r, gamma, &r.shape(ins[0])))
        }
    }
}

/// One slope, or one for each channel (axis 1, or the only axis), seen so that it broadcasts over `data`.
fn per_channel(r: &Rule<'_>, gamma: V, data: &Dims) -> V {
    let shape = r.shape(gamma);
    let axis = if data.len() < 2 { 0 } else { 1 };
    let channels = data.get(axis).copied().unwrap_or(1);
    let count = shape.size() as isize;
    if shape.len() > 1 && (shape.len() != data.len() || count != channels) || count != 1 && count != channels {
        let text = format!("gamma of shape {shape} must hold one slope, or {channels}: one for each channel of {data}");
        r.0.fail(Cause::Shape(text).into());
        return gamma;
    }
    let mut spread = Dims::filled(data.len(), 1);
    if count != 1 {
        spread[axis] = channels;
    }
    r.reshape(gamma, spread)
}

rows! {
    SOFTRELU = unary(&["_softrelu"], "`log(1 + exp(x))`.", map!(float |i, x| i.softplus(x)))
        .internal().nd(&[]).np(&[]).methods(&[]).onnx("Softplus")
        .grad(&[x(0)], |r| r.grad(0, || r.mul(r.dy(), r.unary_op(&SIGMOID, r.x(0)))));
    SILU = unary(&["silu"], "`x * sigmoid(x)`, also called swish.", map!(float |i, x| i.mul(x, i.sigmoid(x))))
        .np(&[]).methods(&[])
        .grad(&[x(0)], |r| r.grad(0, || {
            let s = r.unary_op(&SIGMOID, r.x(0));
            r.mul(r.dy(), r.mul(s, r.add(r.mul(r.x(0), r.sub(1.0, s)), 1.0)))
        }));
    MISH = unary(&["mish"], "`x * tanh(log(1 + exp(x)))`.", map!(float |i, x| i.mul(x, i.tanh(i.softplus(x)))))
        .np(&[]).methods(&[]).onnx("Mish")
        .grad(&[x(0)], |r| r.grad(0, || {
            let (x, t) = (r.x(0), r.unary_op(&TANH, r.unary_op(&SOFTRELU, r.x(0))));
            let rise = r.mul(r.mul(x, r.unary_op(&SIGMOID, x)), r.sub(1.0, r.square(t)));
            r.mul(r.dy(), r.add(t, rise))
        }));
    GELU_TANH = unary(&["_gelu_tanh"], "`gelu` as its inventors approximate it by a hyperbolic tangent.", map!(float |i, x| {
            let inner = i.mul(i.c(ROOT_TWO_OVER_PI), i.mul(x, i.fma(i.mul(x, x), i.c(CUBE), i.c(1.0))));
            i.mul(i.mul(i.c(0.5), x), i.add(i.c(1.0), i.tanh(inner)))
        }))
        .internal().nd(&[]).np(&[]).methods(&[])
        .grad(&[x(0)], |r| r.grad(0, || {
            let (x, xx) = (r.x(0), r.square(r.x(0)));
            let t = r.unary_op(&TANH, r.mul(r.mul(x, r.add(r.mul(xx, CUBE), 1.0)), ROOT_TWO_OVER_PI));
            let slope = r.mul(r.add(r.mul(xx, 3.0 * CUBE), 1.0), ROOT_TWO_OVER_PI);
            let rise = r.mul(r.mul(x, r.sub(1.0, r.square(t))), slope);
            r.mul(r.dy(), r.mul(r.add(r.add(t, 1.0), rise), 0.5))
        }));
    LEAKY = binary(&["_leaky"], "`x` above 0, else `slope * x`.", map!(float |i, x, slope| i.select(i.gt(x, i.c(0.0)), x, i.mul(slope, x))))
        .inputs(DATA_SLOPE).internal().nd(&[]).np(&[])
        .grad(&[x(0), x(1).when(0)], |r| {
            let above = r.binary_op(&GREATER, r.x(0), 0.0);
            r.grad(0, || r.select(above, r.dy(), r.mul(r.dy(), r.x(1))));
            r.grad(1, || r.select(above, 0.0, r.mul(r.dy(), r.x(0))));
        });
    ELU = binary(&["_elu"], "`x` above 0, else `slope * (exp(x) - 1)`.", map!(float |i, x, slope| i.select(i.gt(x, i.c(0.0)), x, i.mul(slope, i.expm1(x)))))
        .inputs(DATA_SLOPE).internal().nd(&[]).np(&[])
        .grad(&[x(0), x(1).when(0)], |r| {
            let above = r.binary_op(&GREATER, r.x(0), 0.0);
            r.grad(0, || r.select(above, r.dy(), r.mul(r.dy(), r.mul(r.x(1), r.exp(r.x(0))))));
            r.grad(1, || r.select(above, 0.0, r.mul(r.dy(), r.unary_op(&EXPM1, r.x(0)))));
        });
    ACTIVATION = Op::new("Activation", "An elementwise activation, by its name.", DATA, Body::Compose(activation))
        .attrs(&[Attr::choice_required("act_type", TYPES, "Which one; 'softrelu' is `log(1 + exp(x))`. 'gelu', 'elu' and others are of `LeakyReLU`.")])
        .nd(&["Activation"]);
    LEAKY_RELU = Op::new("LeakyReLU", "An activation that does not end below 0, by its name.", LEAKY_INPUTS, Body::Compose(leaky))
        .attrs(&[
            Attr::choice("act_type", LEAKY_TYPES, 3,
                "'leaky' and 'elu' have a `slope` below 0, 'prelu' the slopes `gamma` (one, or one for each channel), 'rrelu' random ones while training."),
            Attr::float("slope", 0.25, "Slope below 0 of 'leaky'; of 'elu' the distance from 0 to where it ends."),
            Attr::float("lower_bound", 0.125, "Smallest slope of 'rrelu'; outside of training the slope is the middle of both bounds."),
            Attr::float("upper_bound", 0.334, "Bound of the slopes of 'rrelu'."),
        ])
        .nd(&["LeakyReLU"]);
    SMOOTH_L1 = Op::new("smooth_l1", "`|x| - 0.5 / scalar ** 2`, but near 0 a parabola: `0.5 * (scalar * x) ** 2` where `|x| < 1 / scalar ** 2`.", DATA,
            Body::Compose(|r, v| r.binary_op(&SMOOTH, v[0], r.attrs().float(0))))
        .attrs(&[Attr::float("scalar", 1.0, "How steep the parabola is; its slope is 1 where the lines begin.")]).nd(&["smooth_l1"]);
    SMOOTH = binary(&["_smooth_l1"], "The absolute value with a parabola near 0, whose steepness is `slope`.", map!(float |i, x, s| {
            let (ss, a) = (i.mul(s, s), i.abs(x));
            let line = i.sub(a, i.div(i.c(0.5), ss));
            i.select(i.lt(i.mul(a, ss), i.c(1.0)), i.mul(i.mul(i.c(0.5), ss), i.mul(x, x)), line)
        }))
        .inputs(DATA_SLOPE).internal().nd(&[]).np(&[])
        .grad(&[x(0), x(1)], |r| {
            let steep = r.square(r.x(1));
            r.grad(0, || r.mul(r.dy(), r.call(&crate::rows::CLIP, &[r.mul(r.x(0), steep), V::from(-1.0), V::from(1.0)], &[])));
            if r.wants(1) {
                r.missing("the steepness of the parabola is a number");
            }
        });
}
