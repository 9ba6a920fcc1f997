//! The fully connected layer.
use crate::attr::Attr;
use crate::cost::{Cost, fma_per_ns};
use crate::def::{Body, Call, Input, Meta, Metas, Op, input, optional, parameter, rows, x};
use crate::infer::promoted;
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Error, Result};
use gluonish_kernels::{Attrs, View, gemm};

const LAYER: &[Input] = &[input("data"), parameter("weight"), optional("bias")];
const NUM_HIDDEN: usize = 0;
const NO_BIAS: usize = 1;
const FLATTEN: usize = 2;
const ATTRS: &[Attr] = &[
    Attr::int_required("num_hidden", "Number of outputs.").at_least(1),
    Attr::bool("no_bias", false, "Whether there is no bias."),
    Attr::bool("flatten", true, "Whether all axes but the first are one; else the layer is applied to the last."),
];

/// Data as rows: how many, and how long they are.
fn rows_of(shape: &Dims, flatten: bool) -> Result<(isize, isize)> {
    let product = |d: &[isize]| if d.contains(&-1) { -1 } else { d.iter().product() };
    match shape.split_last() {
        None => Err(Cause::Shape("data must have at least one axis".into()).into()),
        Some(_) if flatten => Ok((shape[0], product(&shape[1..]))),
        Some((last, rest)) => Ok((product(rest), *last)),
    }
}

fn layer(r: &Rule<'_>, ins: &[V]) -> V {
    let (hidden, no_bias, flatten) = {
        let a = r.attrs();
        (a.int(NUM_HIDDEN) as isize, a.bool(NO_BIAS), a.bool(FLATTEN))
    };
    let data = r.shape(ins[0]);
    let refuse = |e: Error| {
        r.0.fail(e);
        ins[0]
    };
    let fail = |cause: Cause| refuse(cause.into());
    let bias = ins.get(2).copied().unwrap_or(V::Absent);
    match (bias != V::Absent, no_bias) {
        (true, true) => return fail(Cause::Argument("bias is given, but no_bias is True".into())),
        (false, false) => return fail(Cause::Argument("bias is missing; no_bias=True goes without".into())),
        _ => {}
    }
    let (count, len) = match rows_of(&data, flatten) {
        Ok(found) => found,
        Err(e) => return refuse(e),
    };
    let (weight, wanted) = (r.shape(ins[1]), Dims::of(&[hidden, len]));
    if weight != wanted {
        return fail(Cause::Shape(format!("weight must have shape {wanted} for data of shape {data}, got {weight}")));
    }
    if bias != V::Absent && r.shape(bias) != Dims::of(&[hidden]) {
        return fail(Cause::Shape(format!("bias must have shape ({hidden},), got {}", r.shape(bias))));
    }
    let y = r.call(&DENSE, &[r.reshape(ins[0], Dims::of(&[count, len])), ins[1], bias], &[]);
    let mut shape = if flatten { Dims::of(&data[..1]) } else { Dims::of(&data[..data.len() - 1]) };
    shape.push(hidden);
    r.reshape(y, shape)
}

fn fill(shapes: &mut [Dims], attrs: &Attrs) -> Result {
    let hidden = attrs.int(NUM_HIDDEN) as isize;
    shapes[1] = Dims::of(&[hidden, rows_of(&shapes[0], attrs.bool(FLATTEN))?.1]);
    if let Some(bias) = shapes.get_mut(2) {
        *bias = Dims::of(&[hidden]);
    }
    Ok(())
}

fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (x, w) = (c.ins[0].shape, c.ins[1].shape);
    let bias = bias(c.ins);
    if x.len() != 2 || w.len() != 2 || x[1] != w[1] || bias.is_some_and(|b| *b.shape != Dims::of(&w[..1])) {
        let with = bias.map_or(String::new(), |b| format!(" and bias {}", b.shape));
        return Err(Cause::Shape(format!("rows of {x} do not fit weights {w}{with}")).into());
    }
    let dtype = promoted(&c.ins[..2 + bias.is_some() as usize]);
    if !dtype.is_float() {
        return Err(Cause::DType(format!("data of {dtype} cannot be used; cast it to a floating type")).into());
    }
    outs.push(Meta { shape: Dims::of(&[x[0], w[0]]), dtype });
    Ok(())
}

fn bias<'a>(ins: &'a [View<'a>]) -> Option<&'a View<'a>> {
    ins.get(2).filter(|v| !v.is_absent())
}

fn cost(c: &Call<'_>, outs: &[Meta]) -> u64 {
    let k = c.ins[0].shape[1].max(1) as u64;
    let n = outs[0].shape.iter().fold(1u64, |n, d| n.saturating_mul((*d).max(0) as u64));
    n.saturating_mul(k) / fma_per_ns(outs[0].dtype) + (c.ins[0].size + c.ins[1].size) as u64 / 16
}

rows! {
    FULLY_CONNECTED = Op::new("FullyConnected", "`data @ weight.T + bias`.", LAYER, Body::Compose(layer))
        .attrs(ATTRS).fill(fill).nd(&["FullyConnected"]).onnx("Gemm");
    DENSE = Op::new("_dense", "`data @ weight.T + bias` of matrices.", LAYER, Body::Kernel(|cx, a, out| {
            gemm::dense(cx, &a.ins[0], &a.ins[1], bias(a.ins), &out[0])
        })).infer(infer).cost(Cost::Of(cost)).internal()
        .grad(&[x(1).when(0), x(0).when(1)], |r| {
            r.grad(0, || r.matmul(r.dy(), r.x(1)));
            r.grad(1, || r.matmul(r.swap_last(r.dy()), r.x(0)));
            r.grad(2, || r.sum(r.dy(), Dims::of(&[0]), false));
        });
}
