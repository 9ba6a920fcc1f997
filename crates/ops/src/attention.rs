//! Attention without its matrix of scores. The gradient makes the scores again, block by block; higher orders go through
//! products and softmax, with the whole matrix.
use crate::attr::Attr;
use crate::cost::{Cost, fma_per_ns};
use crate::def::{Body, Call, Grad, Input, Meta, Metas, Op, Output, hidden, input, optional, output, rows, x, y};
use crate::infer::promoted;
use crate::rows::{BELOW, NOT_EQUAL, SOFTMAX, SOFTMAX_GRAD};
use crate::rule::{Rule, V, Vs};
use crate::sequence::given;
use gluonish_base::{Cause, DType, Dims, Result, Ticket};
use gluonish_kernels::attention::{self as k, Grads, How};
use gluonish_kernels::plain::computed_in;
use gluonish_kernels::{Args, AttrVal, Attrs, Cx, Out, View};
use smallvec::{SmallVec, smallvec};

const INPUTS: &[Input] = &[input("query"), input("key"), input("value"), optional("mask")];
const OUTPUTS: &[Output] = &[output("output"), hidden("log_sums"), hidden("ticket")];
const LOG_SUMS: u8 = 1;
const TICKET: u8 = 2;
const GRAD_INPUTS: &[Input] = &[
    input("query"),
    input("key"),
    input("value"),
    input("output"),
    input("dy"),
    input("log_sums"),
    input("ticket"),
    optional("mask"),
];
const GRAD_MASK: usize = 7;
const GRAD_OUTPUTS: &[Output] = &[output("query"), output("key"), output("value")];

const CAUSAL: usize = 0;
const DROPOUT: usize = 1;
const SCALE: usize = 2;
const ATTRS: &[Attr] = &[
    Attr::bool("causal", false, "Whether query i sees keys 0 to i alone."),
    Attr::float("dropout", 0.0, "Share of the weights that become 0 in training; the others grow accordingly.")
        .within(0.0, 1.0),
    Attr::opt_float("scale", "What products of queries and keys are multiplied with; `1 / sqrt(width)` when None."),
];

fn shape_error(text: String) -> gluonish_base::Error {
    Cause::Shape(text).into()
}
fn fits(a: isize, b: isize) -> bool {
    a == b || a == -1 || b == -1
}

/// Checks queries, keys, values and mask, and gives the shape of the result and its type.
fn checked(ins: &[View<'_>], mask: Option<&View<'_>>) -> Result<(Dims, DType)> {
    let (q, kk, v) = (ins[0].shape, ins[1].shape, ins[2].shape);
    if [q, kk, v].iter().any(|s| s.len() != 4) {
        let text = format!("query {q}, key {kk} and value {v} must have 4 axes: batch, heads, length, width");
        return Err(shape_error(text));
    }
    if !fits(q[0], kk[0]) || !fits(q[3], kk[3]) || (0..3).any(|d| !fits(kk[d], v[d])) {
        return Err(shape_error(format!("query {q}, key {kk} and value {v} do not fit each other")));
    }
    if kk[1] == 0 {
        return Err(shape_error(format!("key {kk} and value {v} must have at least one head")));
    }
    if q[1] > 0 && kk[1] > 0 && q[1] % kk[1] != 0 {
        let text = format!("the {} heads of query cannot be divided among the {} heads of key and value", q[1], kk[1]);
        return Err(shape_error(text));
    }
    if q[3] == 0 || v[3] == 0 {
        return Err(shape_error(format!("query {q} and value {v} must not have width 0")));
    }
    let dtype = promoted(&ins[..3]);
    if !dtype.is_float() {
        return Err(Cause::DType(format!("query of {dtype} cannot be used; cast it to a floating type")).into());
    }
    if let Some(m) = mask {
        let scores = Dims::of(&[q[0], q[1], q[2], kk[2]]);
        let known = scores.iter().chain(m.shape.iter()).all(|d| *d != -1);
        if m.scalar.is_some() || m.shape.len() > 4 || (known && m.shape.broadcast(&scores) != Some(scores)) {
            return Err(shape_error(format!("mask of shape {} does not broadcast to the scores {scores}", m.shape)));
        }
        if m.dtype != DType::Bool && !m.dtype.is_float() {
            let text = format!("mask of {} is neither bool nor floating; use astype('bool')", m.dtype);
            return Err(Cause::DType(text).into());
        }
    }
    Ok((Dims::of(&[q[0], q[1], q[2], v[3]]), dtype))
}

fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (shape, dtype) = checked(c.ins, given(c.ins, 3))?;
    outs.push(Meta { shape, dtype });
    outs.push(Meta { shape: Dims::of(&shape[..3]), dtype: computed_in(dtype) });
    outs.push(Meta { shape: Dims::of(&[3]), dtype: DType::I64 });
    Ok(())
}
fn infer_grad(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (shape, dtype) = checked(c.ins, given(c.ins, GRAD_MASK))?;
    let sums = Dims::of(&shape[..3]);
    for (i, name, wanted) in
        [(3, "output", &shape), (4, "dy", &shape), (5, "log_sums", &sums), (6, "ticket", &Dims::of(&[3]))]
    {
        let got = c.ins[i].shape;
        if got.len() != wanted.len() || !got.iter().zip(wanted.iter()).all(|(a, b)| fits(*a, *b)) {
            return Err(shape_error(format!("{name} must have shape {wanted}, got {got}")));
        }
    }
    if c.ins[5].dtype != computed_in(dtype) || c.ins[6].dtype != DType::I64 {
        let text =
            format!("log_sums of {} and ticket of {} do not fit a result of {dtype}", c.ins[5].dtype, c.ins[6].dtype);
        return Err(Cause::DType(text).into());
    }
    for i in 0..3 {
        outs.push(Meta { shape: *c.ins[i].shape, dtype });
    }
    Ok(())
}

fn scale(a: &Attrs, width: isize) -> f64 {
    a.opt_float(SCALE).unwrap_or(1.0 / (width.max(1) as f64).sqrt())
}
fn how(a: &Attrs, query: &Dims, dropout: f64, ticket: Ticket) -> How {
    How { scale: scale(a, query[3]), causal: a.bool(CAUSAL), dropout, ticket }
}

fn forward(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    let dropout = if cx.training { a.attrs.float(DROPOUT) } else { 0.0 };
    let how = how(a.attrs, a.ins[0].shape, dropout, cx.ticket);
    k::write_ticket(cx, cx.ticket, &out[TICKET as usize])?;
    let mask = given(a.ins, 3);
    k::forward(cx, [&a.ins[0], &a.ins[1], &a.ins[2]], mask, how, &out[0], &out[LOG_SUMS as usize])
}
fn backward(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    let how = how(a.attrs, a.ins[0].shape, a.attrs.float(DROPOUT), k::read_ticket(&a.ins[6])?);
    let grads = Grads { q: out[0], k: out[1], v: out[2] };
    let operands = [&a.ins[0], &a.ins[1], &a.ins[2], &a.ins[3], &a.ins[4], &a.ins[5]];
    k::backward(cx, operands, given(a.ins, GRAD_MASK), how, &grads)
}

/// The attributes with the dropout that the forward had.
fn as_run(r: &Rule<'_>) -> Attrs {
    let mut attrs = r.attrs().clone();
    if !r.training() {
        attrs.0[DROPOUT] = AttrVal::Float(0.0);
    }
    attrs
}

fn rule(r: &Rule<'_>) {
    let attrs = as_run(r);
    let mask = if r.inputs() > 3 { r.x(3) } else { V::Absent };
    if (0..3).any(|i| r.wants(i)) {
        let ins = [r.x(0), r.x(1), r.x(2), r.y(0), r.dy(), r.y(LOG_SUMS), r.y(TICKET), mask];
        let grads = r.call_all(&ATTENTION_GRAD, &ins, &attrs);
        (0..3).for_each(|i| r.grad(i, || grads[i]));
    }
    // The gradient of a mask is as large as the scores, so it needs no saving kernel.
    r.grad(3, || {
        let ins = [r.x(0), r.x(1), r.x(2), mask];
        let weights = weights(r, &attrs, &ins);
        let dy = by_group(r, r.dy(), r.input(1).shape[1]);
        let values = r.swap_last(one_group(r, ins[2]));
        let d = r.reshape(r.matmul(dy, values), r.shape(weights));
        let d = dropped(r, &attrs, d);
        r.call(&SOFTMAX_GRAD, &[weights, d], &[AttrVal::Int(-1), AttrVal::None])
    });
}

/// Heads of queries as (batch, groups, heads of a group, length, width).
fn by_group(r: &Rule<'_>, v: V, groups: isize) -> V {
    let s = r.shape(v);
    r.reshape(v, Dims::of(&[s[0], groups, s[1] / groups, s[2], s[3]]))
}
/// Keys or values as (batch, groups, 1, length, width).
fn one_group(r: &Rule<'_>, v: V) -> V {
    let s = r.shape(v);
    r.reshape(v, Dims::of(&[s[0], s[1], 1, s[2], s[3]]))
}

/// The weights (batch, heads, rows, columns) before any dropout; 0 where a query sees no key.
fn weights(r: &Rule<'_>, a: &Attrs, ins: &[V]) -> V {
    let (q, key) = (r.shape(ins[0]), r.shape(ins[1]));
    let queries = by_group(r, r.mul(ins[0], scale(a, q[3])), key[1]);
    let scores = r.matmul(queries, r.swap_last(one_group(r, ins[1])));
    let mut scores = r.reshape(scores, Dims::of(&[q[0], q[1], q[2], key[2]]));
    let dtype = r.dtype(scores);
    let mut hidden: SmallVec<[V; 2]> = smallvec![];
    if let Some(mask) = ins.get(3).copied().filter(|m| *m != V::Absent) {
        if r.dtype(mask) == DType::Bool {
            hidden.push(mask);
        } else {
            let finite = r.binary_op(&NOT_EQUAL, mask, f64::NEG_INFINITY);
            scores = r.add(scores, r.cast(r.select(finite, mask, 0.0), dtype));
            hidden.push(finite);
        }
    }
    if a.bool(CAUSAL) {
        hidden.push(r.call(&BELOW, &[scores], &[AttrVal::Int(0)]));
    }
    // A number that vanishes beside any score, but leaves rows of nothing else without NaN.
    let least = if dtype == DType::F16 { -6e4 } else { -1e30 };
    scores = hidden.iter().fold(scores, |s, seen| r.select(*seen, s, least));
    let softmax = r.call(&SOFTMAX, &[scores], &[AttrVal::Int(-1), AttrVal::None, AttrVal::None, AttrVal::Bool(false)]);
    hidden.iter().fold(softmax, |w, seen| r.select(*seen, w, 0.0))
}
/// Weights times what dropout leaves of them.
fn dropped(r: &Rule<'_>, a: &Attrs, weights: V) -> V {
    if a.float(DROPOUT) == 0.0 {
        return weights;
    }
    let shape = AttrVal::Ints(r.shape(weights));
    let kept = r.call(&ATTENTION_MASK, &[r.y(TICKET)], &[a[DROPOUT], shape, AttrVal::DType(r.dtype(weights))]);
    r.mul(weights, kept)
}

fn decompose(r: &Rule<'_>, ins: &[V]) -> Vs {
    let attrs = as_run(r);
    let weights = dropped(r, &attrs, weights(r, &attrs, ins));
    let mixed = r.matmul(by_group(r, weights, r.shape(ins[1])[1]), one_group(r, ins[2]));
    let (q, v) = (r.shape(ins[0]), r.shape(ins[2]));
    smallvec![r.reshape(mixed, Dims::of(&[q[0], q[1], q[2], v[3]]))]
}

fn products(c: &Call<'_>, count: u64) -> u64 {
    let (q, v) = (c.ins[0].shape, c.ins[2].shape);
    let size = |d: &[isize]| d.iter().fold(count, |n, d| n.saturating_mul((*d).max(0) as u64));
    size(&[q[0], q[1], q[2], v[2], q[3].max(v[3])]) / fma_per_ns(c.ins[0].dtype)
}

rows! {
    ATTENTION = Op::new("scaled_dot_product_attention", "`softmax(query @ key.T * scale + mask) @ value` of (batch, heads, length, width), in memory linear in the length. Key and value may have fewer heads, which groups of query's heads share. Mask is bool (True: seen) or added to the scores, and broadcasts (`nd.array` makes float32 of Python's and NumPy's booleans: `astype('bool')`); a query that sees no key gives zeros.", INPUTS, Body::Kernel(forward))
        .attrs(ATTRS).outputs(OUTPUTS).infer(infer).cost(Cost::Of(|c, _| products(c, 3))).random()
        .nd(&["contrib.scaled_dot_product_attention"]).onnx("Attention")
        .grad(&[x(0), x(1), x(2), x(3), y(0), y(LOG_SUMS), y(TICKET)], rule).decompose(decompose);
    ATTENTION_GRAD = Op::new("_attention_grad", "The gradients of attention's queries, keys and values.", GRAD_INPUTS, Body::Kernel(backward))
        .attrs(ATTRS).outputs(GRAD_OUTPUTS).infer(infer_grad).cost(Cost::Of(|c, _| products(c, 7))).internal()
        .no_grad(Grad::Missing("higher orders go through products and softmax"));
    ATTENTION_MASK = Op::new("_attention_mask", "What dropout multiplied the weights of attention with.", &[input("ticket")], Body::Kernel(|cx, a, out| {
            let how = How { scale: 1.0, causal: false, dropout: a.attrs.float(0), ticket: k::read_ticket(&a.ins[0])? };
            k::kept(cx, &how, &out[0])
        }))
        .attrs(&[
            Attr::float("p", 0.0, "Share of zeros.").within(0.0, 1.0),
            Attr::ints("shape", "Shape of the weights."),
            Attr::dtype("dtype", DType::F32, "Type of the result."),
        ])
        .infer(|c, outs| {
            let shape = c.attrs.ints(1).copied().unwrap_or(Dims::EMPTY);
            let dtype = c.attrs.dtype(2).unwrap_or(DType::F32);
            if c.ins[0].shape[..] != [3] || c.ins[0].dtype != DType::I64 || !dtype.is_float() || shape.iter().any(|d| *d < 0) {
                let text = format!("a ticket of {} {} has no mask of {dtype} {shape}", c.ins[0].dtype, c.ins[0].shape);
                return Err(shape_error(text));
            }
            outs.push(Meta { shape, dtype });
            Ok(())
        })
        .cost(Cost::Bytes(8.0)).internal().no_grad(Grad::Zero);
}
