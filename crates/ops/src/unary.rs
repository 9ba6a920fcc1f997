//! Elementwise functions of one array: a formula, a gradient, nothing else.
use crate::attr::Attr;
use crate::binary::binary;
use crate::cost::Cost;
use crate::def::{Body, DATA, Flags, Grad, Op, rows, x, y};
use crate::infer;
use crate::rows::{CLIP, GREATER};
use crate::rule::V;
use gluonish_kernels::formula::ONE_OVER_SQRT_TWO_PI;
use gluonish_kernels::map;
use gluonish_kernels::map::Map;
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10, PI};

/// A row for `map`, known to Python under `names` as functions and methods.
pub(crate) const fn unary(names: &'static [&'static str], doc: &'static str, map: Map) -> Op {
    let infer = infer::of_map(&map);
    let mut op =
        Op::new(names[0], doc, DATA, Body::Map(map)).infer(infer).cost(Cost::Map).nd(names).np(names).methods(names);
    op.flags = Flags { in_place: true, ..op.flags };
    op
}

rows! {
    NEGATIVE = unary(&["negative"], "`-x`.", map!(num |i, x| i.neg(x)))
        .grad(&[], |r| r.grad(0, || r.neg(r.dy())))
        .infer(infer::counting).operator("neg").onnx("Neg");
    ABS = unary(&["abs"], "Absolute value.", map!(num |i, x| i.abs(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.mul(r.dy(), r.unary_op(&SIGN, r.x(0)))))
        .np(&["abs", "absolute", "fabs"]).operator("abs").onnx("Abs");
    SIGN = unary(&["sign"], "-1, 0 or 1 by the sign of `x`.", map!(num |i, x| i.sign(x)))
        .no_grad(Grad::Zero).onnx("Sign");
    SQUARE = unary(&["square"], "`x * x`.", map!(num |i, x| i.mul(x, x)))
        .grad(&[x(0)], |r| r.grad(0, || r.mul(r.dy(), r.mul(r.x(0), 2.0))));
    SQRT = unary(&["sqrt"], "Square root; NaN below 0.", map!(float |i, x| i.sqrt(x)))
        .grad(&[y(0)], |r| r.grad(0, || r.div(r.mul(r.dy(), 0.5), r.y(0)))).onnx("Sqrt");
    RSQRT = unary(&["rsqrt"], "`1 / sqrt(x)`.", map!(float |i, x| i.rsqrt(x)))
        .grad(&[y(0)], |r| r.grad(0, || r.mul(r.dy(), r.mul(r.mul(r.square(r.y(0)), r.y(0)), -0.5)))).np(&[]);
    CBRT = unary(&["cbrt"], "Cube root.", map!(float |i, x| i.cbrt(x)))
        .grad(&[y(0)], |r| r.grad(0, || r.div(r.dy(), r.mul(r.square(r.y(0)), 3.0))));
    RECIPROCAL = unary(&["reciprocal"], "`1 / x`.", map!(float |i, x| i.reciprocal(x)))
        .grad(&[y(0)], |r| r.grad(0, || r.neg(r.mul(r.dy(), r.square(r.y(0)))))).onnx("Reciprocal");
    EXP = unary(&["exp"], "`e ** x`.", map!(float |i, x| i.exp(x)))
        .grad(&[y(0)], |r| r.grad(0, || r.mul(r.dy(), r.y(0)))).onnx("Exp");
    EXPM1 = unary(&["expm1"], "`exp(x) - 1`, accurate near 0.", map!(float |i, x| i.expm1(x)))
        .grad(&[y(0)], |r| r.grad(0, || r.mul(r.dy(), r.add(r.y(0), 1.0))));
    LOG = unary(&["log"], "Natural logarithm; -inf at 0, NaN below.", map!(float |i, x| i.log(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.div(r.dy(), r.x(0)))).onnx("Log");
    LOG2 = unary(&["log2"], "Logarithm to base 2.", map!(float |i, x| i.log2(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.div(r.mul(r.dy(), 1.0 / LN_2), r.x(0))));
    LOG10 = unary(&["log10"], "Logarithm to base 10.", map!(float |i, x| i.log10(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.div(r.mul(r.dy(), 1.0 / LN_10), r.x(0))));
    LOG1P = unary(&["log1p"], "`log(1 + x)`, accurate near 0.", map!(float |i, x| i.log1p(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.div(r.dy(), r.add(r.x(0), 1.0))));
    SIN = unary(&["sin"], "Sine of an angle in radians.", map!(float |i, x| i.sin(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.mul(r.dy(), r.unary_op(&COS, r.x(0))))).onnx("Sin");
    COS = unary(&["cos"], "Cosine of an angle in radians.", map!(float |i, x| i.cos(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.neg(r.mul(r.dy(), r.unary_op(&SIN, r.x(0)))))).onnx("Cos");
    TAN = unary(&["tan"], "Tangent of an angle in radians.", map!(float |i, x| i.tan(x)))
        .grad(&[y(0)], |r| r.grad(0, || r.mul(r.dy(), r.add(r.square(r.y(0)), 1.0)))).onnx("Tan");
    ARCSIN = unary(&["arcsin"], "Inverse sine, in radians.", map!(float |i, x| i.arcsin(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.div(r.dy(), r.sqrt(r.sub(1.0, r.square(r.x(0))))))).onnx("Asin");
    ARCCOS = unary(&["arccos"], "Inverse cosine, in radians.", map!(float |i, x| i.arccos(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.neg(r.div(r.dy(), r.sqrt(r.sub(1.0, r.square(r.x(0)))))))).onnx("Acos");
    ARCTAN = unary(&["arctan"], "Inverse tangent, in radians.", map!(float |i, x| i.arctan(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.div(r.dy(), r.add(r.square(r.x(0)), 1.0)))).onnx("Atan");
    SINH = unary(&["sinh"], "Hyperbolic sine.", map!(float |i, x| i.sinh(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.mul(r.dy(), r.unary_op(&COSH, r.x(0))))).onnx("Sinh");
    COSH = unary(&["cosh"], "Hyperbolic cosine.", map!(float |i, x| i.cosh(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.mul(r.dy(), r.unary_op(&SINH, r.x(0))))).onnx("Cosh");
    TANH = unary(&["tanh"], "Hyperbolic tangent.", map!(float |i, x| i.tanh(x)))
        .grad(&[y(0)], |r| r.grad(0, || r.mul(r.dy(), r.sub(1.0, r.square(r.y(0)))))).onnx("Tanh");
    ARCSINH = unary(&["arcsinh"], "Inverse hyperbolic sine.", map!(float |i, x| i.arcsinh(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.div(r.dy(), r.sqrt(r.add(r.square(r.x(0)), 1.0))))).onnx("Asinh");
    ARCCOSH = unary(&["arccosh"], "Inverse hyperbolic cosine.", map!(float |i, x| i.arccosh(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.div(r.dy(), r.sqrt(r.sub(r.square(r.x(0)), 1.0))))).onnx("Acosh");
    ARCTANH = unary(&["arctanh"], "Inverse hyperbolic tangent.", map!(float |i, x| i.arctanh(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.div(r.dy(), r.sub(1.0, r.square(r.x(0)))))).onnx("Atanh");
    FLOOR = unary(&["floor"], "The largest integer not above `x`.", map!(float |i, x| i.floor(x), int |_i, x| x)).no_grad(Grad::Zero).onnx("Floor");
    CEIL = unary(&["ceil"], "The smallest integer not below `x`.", map!(float |i, x| i.ceil(x), int |_i, x| x)).no_grad(Grad::Zero).onnx("Ceil");
    TRUNC = unary(&["trunc", "fix"], "The integer part of `x`.", map!(float |i, x| i.trunc(x), int |_i, x| x)).no_grad(Grad::Zero);
    RINT = unary(&["rint"], "The nearest integer, halves to even.", map!(float |i, x| i.round(x))).no_grad(Grad::Zero).onnx("Round");
    ROUND = unary(&["round"], "The nearest integer, halves away from 0.", map!(float |i, x| i.round_away(x), int |_i, x| x))
        .no_grad(Grad::Zero).np(&[]);
    RCBRT = unary(&["rcbrt"], "`1 / cbrt(x)`.", map!(float |i, x| i.reciprocal(i.cbrt(x))))
        .grad(&[y(0)], |r| r.grad(0, || r.mul(r.dy(), r.mul(r.square(r.square(r.y(0))), -1.0 / 3.0)))).np(&[]);
    HARD_SIGMOID = Op::new("hard_sigmoid", "`alpha * x + beta`, held between 0 and 1.", DATA, Body::Compose(|r, v| {
            let (alpha, beta) = (r.attrs().float(0), r.attrs().float(1));
            let zero_one = [V::from(0.0), V::from(1.0)];
            r.call(&CLIP, &[r.add(r.mul(v[0], alpha), beta), zero_one[0], zero_one[1]], &[])
        }))
        .attrs(&[Attr::float("alpha", 0.2, "The slope."), Attr::float("beta", 0.5, "The value at 0.")])
        .nd(&["hard_sigmoid"]).onnx("HardSigmoid");
    RELU = unary(&["relu"], "`max(x, 0)`.", map!(num |i, x| i.relu(x)))
        .grad(&[y(0)], |r| r.grad(0, || r.select(r.binary_op(&GREATER, r.y(0), 0.0), r.dy(), 0.0))).np(&[]).onnx("Relu");
    SIGMOID = unary(&["sigmoid"], "`1 / (1 + exp(-x))`.", map!(float |i, x| i.sigmoid(x)))
        .grad(&[y(0)], |r| r.grad(0, || r.mul(r.dy(), r.mul(r.y(0), r.sub(1.0, r.y(0)))))).np(&[]).onnx("Sigmoid");
    LOG_SIGMOID = unary(&["log_sigmoid"], "`log(sigmoid(x))`, without underflow.", map!(float |i, x| i.neg(i.softplus(i.neg(x)))))
        .grad(&[x(0)], |r| r.grad(0, || r.mul(r.dy(), r.unary_op(&SIGMOID, r.neg(r.x(0)))))).np(&[]);
    SOFTSIGN = unary(&["softsign"], "`x / (1 + abs(x))`.", map!(float |i, x| i.div(x, i.add(i.c(1.0), i.abs(x)))))
        .grad(&[x(0)], |r| r.grad(0, || r.div(r.dy(), r.square(r.add(r.unary_op(&ABS, r.x(0)), 1.0))))).np(&[]).onnx("Softsign");
    ERF = unary(&["erf"], "The error function.", map!(float |i, x| i.erf(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.mul(r.mul(r.dy(), FRAC_2_SQRT_PI), r.exp(r.neg(r.square(r.x(0))))))).np(&[]).onnx("Erf");
    GELU = unary(&["gelu"], "`x` times the normal distribution function of `x`.", map!(float |i, x| i.gelu(x)))
        .grad(&[x(0)], |r| r.grad(0, || r.binary_op(&GELU_GRAD, r.x(0), r.dy()))).np(&[]).onnx("Gelu");
    GELU_GRAD = binary(&["_gelu_grad"], "`dy` times the slope of `gelu` at `x`.", map!(float |i, x, dy| i.mul(dy, i.gelu_slope(x))))
        .internal().nd(&[]).np(&[])
        .grad(&[x(0), x(1)], |r| {
            let (x, dy) = (r.x(0), r.x(1));
            r.grad(0, || {
                let density = r.mul(r.exp(r.mul(r.square(x), -0.5)), ONE_OVER_SQRT_TWO_PI);
                r.mul(r.mul(r.dy(), dy), r.mul(r.sub(2.0, r.square(x)), density))
            });
            r.grad(1, || r.binary_op(&GELU_GRAD, x, r.dy()));
        });
    DEGREES = unary(&["degrees"], "Radians to degrees.", map!(float |i, x| i.mul(x, i.c(180.0 / PI))))
        .grad(&[], |r| r.grad(0, || r.mul(r.dy(), 180.0 / PI))).np(&["degrees", "rad2deg"]);
    RADIANS = unary(&["radians"], "Degrees to radians.", map!(float |i, x| i.mul(x, i.c(PI / 180.0))))
        .grad(&[], |r| r.grad(0, || r.mul(r.dy(), PI / 180.0))).np(&["radians", "deg2rad"]);
    LOGICAL_NOT = unary(&["logical_not"], "Whether `x` is 0.", map!(compare |i, x| i.is_zero(x)))
        .no_grad(Grad::Zero).methods(&[]).onnx("Not");
}
