//! Elementwise functions that NumPy has and MXNet has not, and what tells numbers apart.
use crate::attr::Attr;
use crate::binary::binary;
use crate::cost::Cost;
use crate::def::{Body, Call, Grad, Input, LHS_RHS, Metas, Op, input, rows, x, y};
use crate::infer;
use crate::rows::{EQUAL, GREATER_EQUAL, LOGICAL_AND, LOGICAL_OR, ZEROS_LIKE};
use crate::rule::{Rule, V};
use crate::unary::unary;
use gluonish_base::{Cause, DType, Result};
use gluonish_kernels::map;
use std::f64::consts::LN_2;

const REPLACED: &[Input] = &[input("data"), input("nan"), input("posinf"), input("neginf")];
const CLOSE: &[Input] = &[input("a"), input("b"), input("rtol"), input("atol")];
pub(crate) const TOLERANCES: &[Attr] = &[
    Attr::float("rtol", 1e-5, "Difference allowed, as a share of the second value."),
    Attr::float("atol", 1e-8, "Difference allowed beside that."),
    Attr::bool("equal_nan", false, "Whether NaN is close to NaN."),
];

fn integers(c: &Call<'_>, outs: &mut Metas) -> Result {
    if let Some(v) = c.ins.iter().find(|v| v.dtype.is_float()) {
        return Err(Cause::DType(format!("the operands must be integers, got {}; use astype()", v.dtype)).into());
    }
    infer::counting(c, outs)
}

/// Whether values are near each other, by the attributes `TOLERANCES`. Integers are compared in float64.
pub(crate) fn is_close(r: &Rule<'_>, v: &[V]) -> V {
    let real = |v: V| match v {
        V::Node(_) if !r.dtype(v).is_float() => r.cast(v, DType::F64),
        _ => v,
    };
    let (a, b) = (real(v[0]), real(v[1]));
    let (rtol, atol, equal_nan) = (r.attrs().float(0), r.attrs().float(1), r.attrs().bool(2));
    let near = r.call(&WITHIN, &[a, b, rtol.into(), atol.into()], &[]);
    if !equal_nan {
        return near;
    }
    let both = r.binary_op(&LOGICAL_AND, r.unary_op(&ISNAN, a), r.unary_op(&ISNAN, b));
    r.binary_op(&LOGICAL_OR, near, both)
}

/// A gradient that is 0 everywhere, like the incoming one.
fn none(r: &Rule<'_>) -> V {
    r.call(&ZEROS_LIKE, &[r.dy()], &[])
}

/// Where a test of the first input holds, the gradient; elsewhere 0.
fn only(r: &Rule<'_>, test: V) -> V {
    r.select(test, r.dy(), 0.0)
}

rows! {
    ISNAN = unary(&["isnan"], "Whether `x` is not a number.", map!(compare |i, x| i.is_nan(x)))
        .no_grad(Grad::Zero).nd(&["isnan", "contrib.isnan"]).methods(&[]).onnx("IsNaN");
    ISINF = unary(&["isinf"], "Whether `x` is infinite.", map!(test |i, x| i.is_inf(x), int |j, y| j.lt(y, y)))
        .no_grad(Grad::Zero).nd(&["contrib.isinf"]).methods(&[]).onnx("IsInf");
    ISFINITE = unary(&["isfinite"], "Whether `x` is neither infinite nor NaN.", map!(test |i, x| i.is_finite(x), int |j, y| j.eq(y, y)))
        .no_grad(Grad::Zero).nd(&["contrib.isfinite"]).methods(&[]);
    ISPOSINF = unary(&["isposinf"], "Whether `x` is positive infinity.",
            map!(test |i, x| i.eq(x, i.c(f64::INFINITY)), int |j, y| j.lt(y, y))).no_grad(Grad::Zero).nd(&[]).methods(&[]);
    ISNEGINF = unary(&["isneginf"], "Whether `x` is negative infinity.",
            map!(test |i, x| i.eq(x, i.c(f64::NEG_INFINITY)), int |j, y| j.lt(y, y))).no_grad(Grad::Zero).nd(&[]).methods(&[]);
    SIGNBIT = unary(&["signbit"], "Whether the sign of `x` is minus, also that of a zero.",
            map!(test |i, x| i.sign_bit(x), int |j, y| j.lt(y, j.c(0.0)))).no_grad(Grad::Zero).nd(&[]).methods(&[]);
    EXP2 = unary(&["exp2"], "`2 ** x`.", map!(float |i, x| i.exp2(x)))
        .grad(&[y(0)], |r| r.grad(0, || r.mul(r.mul(r.dy(), LN_2), r.y(0)))).nd(&[]).methods(&[]);
    FMAX = binary(&["fmax"], "The larger of two; the other where one is NaN.", map!(num |i, a, b| i.fmax(a, b))).nd(&[])
        .grad(&[x(0), x(1)], |r| {
            let first = r.binary_op(&LOGICAL_OR, r.binary_op(&GREATER_EQUAL, r.x(0), r.x(1)), r.unary_op(&ISNAN, r.x(1)));
            r.grad(0, || only(r, first));
            r.grad(1, || r.select(first, 0.0, r.dy()));
        });
    FMIN = binary(&["fmin"], "The smaller of two; the other where one is NaN.", map!(num |i, a, b| i.fmin(a, b))).nd(&[])
        .grad(&[x(0), x(1)], |r| {
            let first = r.binary_op(&LOGICAL_OR, r.binary_op(&GREATER_EQUAL, r.x(1), r.x(0)), r.unary_op(&ISNAN, r.x(1)));
            r.grad(0, || only(r, first));
            r.grad(1, || r.select(first, 0.0, r.dy()));
        });
    FMOD = binary(&["fmod"], "The remainder, with the sign of the first.", map!(num |i, a, b| i.fmod(a, b))).nd(&[])
        .grad(&[x(0).when(1), x(1).when(1)], |r| {
            r.grad(0, || r.dy());
            r.grad(1, || r.neg(r.mul(r.dy(), r.unary_op(&crate::rows::TRUNC, r.div(r.x(0), r.x(1))))));
        });
    COPYSIGN = binary(&["copysign"], "The magnitude of the first with the sign of the second.", map!(float |i, a, b| i.copysign(a, b))).nd(&[])
        .grad(&[x(0).when(0), x(1).when(0)], |r| {
            let sign = |v: V| r.binary_op(&COPYSIGN, 1.0, v);
            r.grad(0, || r.mul(r.dy(), r.mul(sign(r.x(0)), sign(r.x(1)))));
            r.grad(1, || none(r));
        });
    HEAVISIDE = binary(&["heaviside"], "0 below 0, 1 above, and the second at 0.", map!(float |i, a, b| {
            let step = i.select(i.lt(a, i.c(0.0)), i.c(0.0), i.select(i.is_zero(a), b, i.c(1.0)));
            i.select(i.is_nan(a), a, step)
        })).nd(&[])
        .grad(&[x(0).when(1)], |r| {
            r.grad(0, || none(r));
            r.grad(1, || only(r, r.binary_op(&EQUAL, r.x(0), 0.0)));
        });
    LOGADDEXP = binary(&["logaddexp"], "`log(exp(x1) + exp(x2))`, without overflow.", map!(float |i, a, b| i.logaddexp(a, b))).nd(&[])
        .grad(&[x(0).when(0), x(1).when(1), y(0)], |r| {
            r.grad(0, || r.mul(r.dy(), r.exp(r.sub(r.x(0), r.y(0)))));
            r.grad(1, || r.mul(r.dy(), r.exp(r.sub(r.x(1), r.y(0)))));
        });
    LDEXP = binary(&["ldexp"], "`x1 * 2 ** x2`.", map!(float |i, a, n| {
            // In two steps: each power of two is finite where the result is.
            let m = i.clamp(n, i.c(-1e4), i.c(1e4));
            let half = i.trunc(i.mul(m, i.c(0.5)));
            let y = i.mul(i.mul(a, i.exp2(half)), i.exp2(i.sub(m, half)));
            let stays = i.and(i.or(i.is_zero(a), i.is_inf(a)), i.eq(n, n));
            i.select(stays, a, y)
        })).nd(&[])
        .grad(&[x(1).when(0), y(0).when(1)], |r| {
            r.grad(0, || r.binary_op(&LDEXP, r.dy(), r.x(1)));
            r.grad(1, || r.mul(r.dy(), r.mul(r.y(0), LN_2)));
        });
    GCD = binary(&["gcd"], "The greatest common divisor of integers.", map!(int |i, a, b| i.gcd(a, b)))
        .infer(integers).nd(&[]).no_grad(Grad::Zero);
    LCM = binary(&["lcm"], "The least common multiple of integers.", map!(int |i, a, b| i.lcm(a, b)))
        .infer(integers).nd(&[]).no_grad(Grad::Zero);
    NAN_TO_NUM = Op::new("_nan_to_num", "Numbers in the place of NaN and the infinities.", REPLACED, Body::Map(map!(float |i, x, nan, pos, neg| {
            let inf = f64::INFINITY;
            let x_or = i.select(i.eq(x, i.c(inf)), pos, i.select(i.eq(x, i.c(-inf)), neg, x));
            i.select(i.is_nan(x), nan, x_or)
        })))
        .infer(infer::floating).cost(Cost::Map).in_place().internal()
        .grad(&[x(0)], |r| {
            r.grad(0, || only(r, r.unary_op(&ISFINITE, r.x(0))));
            r.grad(1, || only(r, r.unary_op(&ISNAN, r.x(0))));
            r.grad(2, || only(r, r.unary_op(&ISPOSINF, r.x(0))));
            r.grad(3, || only(r, r.unary_op(&ISNEGINF, r.x(0))));
        });
    WITHIN = Op::new("_within", "Whether `a` is `b`, or differs from it by at most `atol + rtol * abs(b)`.", CLOSE, Body::Map(map!(test |i, a, b, rtol, atol| {
            let near = i.le(i.abs(i.sub(a, b)), i.add(atol, i.mul(rtol, i.abs(b))));
            i.or(i.eq(a, b), i.and(near, i.is_finite(b)))
        })))
        .infer(infer::truth).cost(Cost::Map).internal().no_grad(Grad::Zero);
    ISCLOSE = Op::new("isclose", "Whether two values are near each other.", LHS_RHS, Body::Compose(is_close))
        .attrs(TOLERANCES).np(&["isclose"]).np_inputs(&["a", "b"]).no_grad(Grad::Zero);
}
