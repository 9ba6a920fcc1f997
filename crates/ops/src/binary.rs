//! Elementwise arithmetic of two or three arrays, with broadcasting.
use crate::cost::Cost;
use crate::def::{Body, Call, Grad, Input, LHS_RHS, Meta, Metas, Op, input, rows, x, y};
use crate::infer;
use crate::rows::{EQUAL, FLOOR, GREATER_EQUAL, LESS, LESS_EQUAL, LOGICAL_AND, NOT_EQUAL};
use gluonish_base::{Cause, DType, Dims, Error, Result, Scalar};
use gluonish_kernels::map::Map;
use gluonish_kernels::{Cx, Mode, Out, View, map, reduce};

/// A row for `map`: function names, and names of its own in `np` and as methods where they differ.
pub(crate) const fn binary(names: &'static [&'static str], doc: &'static str, map: Map) -> Op {
    let infer = infer::of_map(&map);
    Op::new(names[0], doc, LHS_RHS, Body::Map(map)).infer(infer).cost(Cost::Map).nd(names).np(names).in_place()
}

const X_LO_HI: &[Input] = &[input("data"), input("a_min"), input("a_max")];
const CONDITION: &[Input] = &[input("condition"), input("x"), input("y")];

fn selected(c: &Call<'_>, outs: &mut Metas) -> Result {
    outs.push(Meta { shape: infer::broadcast_shape(c.ins)?, dtype: infer::promoted(&c.ins[1..]) });
    Ok(())
}

/// Integers stay integers, so a negative power of theirs has no value.
fn raised(c: &Call<'_>, outs: &mut Metas) -> Result {
    infer::counting(c, outs)?;
    if let (false, Some(Scalar::Int(n))) = (outs[0].dtype.is_float(), c.ins[1].scalar)
        && n < 0
    {
        return Err(negative_power(n));
    }
    Ok(())
}

#[cold]
fn negative_power(n: i64) -> Error {
    Cause::Value(format!("an integer cannot be raised to the power {n}; cast the array to a floating type first"))
        .into()
}

/// The same where the powers are an array, whose values show it.
fn no_negative_powers(cx: &Cx, ins: &[View<'_>], out: &Out<'_>) -> Result {
    let powers = &ins[1];
    if out.view.dtype.is_float() || out.view.size == 0 || powers.scalar.is_some() || !powers.dtype.is_signed() {
        return Ok(());
    }
    let mut least = 0i64;
    let view = View::contiguous((&raw mut least).cast(), DType::I64, &Dims::EMPTY, &Dims::EMPTY);
    let all = ((1u64 << powers.ndim()) - 1) as u32;
    reduce::min(cx, powers, all, &Out { view, mode: Mode::Write })?;
    if least < 0 { Err(negative_power(least)) } else { Ok(()) }
}

rows! {
    ADD = binary(&["broadcast_add", "add", "broadcast_plus"], "`lhs + rhs`.", map!(num |i, a, b| i.add(a, b)))
        .infer(infer::counting).np(&["add"]).operator("add").onnx("Add")
        .grad(&[], |r| { r.grad(0, || r.dy()); r.grad(1, || r.dy()); });
    SUBTRACT = binary(&["broadcast_sub", "subtract", "broadcast_minus"], "`lhs - rhs`.", map!(num |i, a, b| i.sub(a, b)))
        .infer(infer::counting).np(&["subtract"]).operator("sub").onnx("Sub")
        .grad(&[], |r| { r.grad(0, || r.dy()); r.grad(1, || r.neg(r.dy())); });
    MULTIPLY = binary(&["broadcast_mul", "multiply"], "`lhs * rhs`.", map!(num |i, a, b| i.mul(a, b)))
        .np(&["multiply"]).operator("mul").onnx("Mul")
        .grad(&[x(1).when(0), x(0).when(1)], |r| { r.grad(0, || r.mul(r.dy(), r.x(1))); r.grad(1, || r.mul(r.dy(), r.x(0))); });
    DIVIDE = binary(&["broadcast_div", "divide", "true_divide"], "`lhs / rhs`, as real numbers.", map!(float |i, a, b| i.div(a, b)))
        .np(&["divide", "true_divide"]).operator("truediv").onnx("Div")
        .grad(&[x(1), y(0).when(1)], |r| {
            r.grad(0, || r.div(r.dy(), r.x(1)));
            r.grad(1, || r.neg(r.div(r.mul(r.dy(), r.y(0)), r.x(1))));
        });
    MODULO = binary(&["broadcast_mod", "modulo"], "The remainder, with the sign of `rhs`.", map!(num |i, a, b| i.modulo(a, b)))
        .np(&["mod", "remainder"]).operator("mod")
        .grad(&[x(0).when(1), x(1).when(1)], |r| {
            r.grad(0, || r.dy());
            r.grad(1, || r.neg(r.mul(r.dy(), r.unary_op(&FLOOR, r.div(r.x(0), r.x(1))))));
        });
    FLOOR_DIVIDE = binary(&["floor_divide"], "The largest integer not above `lhs / rhs`.", map!(num |i, a, b| i.floor_div(a, b)))
        .nd(&[]).operator("floordiv").no_grad(Grad::Zero);
    POWER = binary(&["broadcast_power", "power"], "`lhs ** rhs`; of integers an integer.", map!(float |i, a, b| i.pow(a, b), int |i, a, b| i.ipow(a, b)))
        .infer(raised).check(no_negative_powers).np(&["power"]).operator("pow").onnx("Pow")
        .grad(&[x(0), x(1), y(0).when(1)], |r| {
            // x ** 0 is 1 everywhere: its slope is 0, also at 0, where 0 * 0 ** -1 would be NaN.
            let slope = || r.mul(r.x(1), r.pow(r.x(0), r.sub(r.x(1), 1.0)));
            r.grad(0, || r.mul(r.dy(), r.select(r.binary_op(&EQUAL, r.x(1), 0.0), 0.0, slope())));
            r.grad(1, || {
                // 0 ** b is 0 for every b > 0: its slope there is 0, not 0 * log(0). Below 0 there is none: NaN.
                let flat = r.binary_op(&EQUAL, r.x(0), 0.0);
                let base = r.cast(r.x(0), r.output(0).dtype);
                let smooth = r.mul(r.y(0), r.log(r.select(flat, 1.0, base)));
                r.mul(r.dy(), r.select(flat, 0.0, smooth))
            });
        });
    MAXIMUM = binary(&["broadcast_maximum", "maximum"], "The larger of two; NaN if either is.", map!(num |i, a, b| i.max(a, b)))
        .np(&["maximum"]).onnx("Max")
        .grad(&[x(0), x(1)], |r| {
            r.grad(0, || r.select(r.binary_op(&GREATER_EQUAL, r.x(0), r.x(1)), r.dy(), 0.0));
            r.grad(1, || r.select(r.binary_op(&LESS, r.x(0), r.x(1)), r.dy(), 0.0));
        });
    MINIMUM = binary(&["broadcast_minimum", "minimum"], "The smaller of two; NaN if either is.", map!(num |i, a, b| i.min(a, b)))
        .np(&["minimum"]).onnx("Min")
        .grad(&[x(0), x(1)], |r| {
            r.grad(0, || r.select(r.binary_op(&LESS_EQUAL, r.x(0), r.x(1)), r.dy(), 0.0));
            r.grad(1, || r.select(r.binary_op(&crate::rows::GREATER, r.x(0), r.x(1)), r.dy(), 0.0));
        });
    HYPOT = binary(&["broadcast_hypot"], "`sqrt(lhs ** 2 + rhs ** 2)`, without overflow.", map!(float |i, a, b| i.hypot(a, b)))
        .np(&["hypot"])
        .grad(&[x(0).when(0), x(1).when(1), y(0)], |r| {
            r.grad(0, || r.div(r.mul(r.dy(), r.x(0)), r.y(0)));
            r.grad(1, || r.div(r.mul(r.dy(), r.x(1)), r.y(0)));
        });
    ARCTAN2 = binary(&["arctan2"], "The angle of the point (rhs, lhs), in radians.", map!(float |i, a, b| i.arctan2(a, b)))
        .nd(&[])
        .grad(&[x(0), x(1)], |r| {
            let norm = r.add(r.square(r.x(0)), r.square(r.x(1)));
            r.grad(0, || r.div(r.mul(r.dy(), r.x(1)), norm));
            r.grad(1, || r.neg(r.div(r.mul(r.dy(), r.x(0)), norm)));
        });
    CLIP = Op::new("clip", "`x` held between two bounds.", X_LO_HI, Body::Map(map!(num |i, x, lo, hi| i.clamp(x, lo, hi))))
        .infer(infer::arithmetic).cost(Cost::Map).in_place().nd(&["clip"]).np(&["clip"]).methods(&["clip"]).onnx("Clip")
        .grad(&[x(0), x(1), x(2)], |r| {
            let above = r.binary_op(&GREATER_EQUAL, r.x(0), r.x(1));
            let inside = r.binary_op(&LOGICAL_AND, above, r.binary_op(&LESS_EQUAL, r.x(0), r.x(2)));
            r.grad(0, || r.select(inside, r.dy(), 0.0));
            r.grad(1, || r.select(r.binary_op(&LESS, r.x(0), r.x(1)), r.dy(), 0.0));
            r.grad(2, || r.select(r.binary_op(&crate::rows::GREATER, r.x(0), r.x(2)), r.dy(), 0.0));
        });
    WHERE = Op::new("_where", "`x` where the truth value holds, else `y`.", CONDITION, Body::Map(map!(num |i, c, a, b| i.select(i.truth(c), a, b))))
        .infer(selected).cost(Cost::Map).internal()
        .grad(&[x(0)], |r| {
            r.grad(1, || r.select(r.x(0), r.dy(), 0.0));
            r.grad(2, || r.select(r.x(0), 0.0, r.dy()));
        });
    WHERE_NOT_ZERO = Op::new("_np_where", "`x` where the condition is not 0, else `y`.", CONDITION, Body::Compose(|r, ins| {
            // In the type of the branches a fraction could become 0: the truth is taken before.
            let truth = if r.dtype(ins[0]) == DType::Bool { ins[0] } else { r.binary_op(&NOT_EQUAL, ins[0], 0.0) };
            r.select(truth, ins[1], ins[2])
        }))
        .np(&["where"]).onnx("Where");
    WHERE_ROWS = Op::new("where", "`x` where the condition is not 0, else `y`; a condition with one value for each row chooses rows.", CONDITION, Body::Compose(|r, ins| {
            let (c, a) = (r.shape(ins[0]), r.shape(ins[1]));
            let by_row = c.len() == 1 && a.len() > 1 && c[0] == a[0] && a == r.shape(ins[2]);
            if !by_row {
                return r.call(&WHERE_NOT_ZERO, ins, &[]);
            }
            let mut column = Dims::filled(a.len(), 1);
            column[0] = c[0];
            r.call(&WHERE_NOT_ZERO, &[r.reshape(ins[0], column), ins[1], ins[2]], &[])
        }))
        .nd(&["where"]);
}
