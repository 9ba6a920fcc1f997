//! Choices: categories by their probabilities, and permutations.
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Grad, Input, Meta, Metas, Op, Output, input, rows, x, y};
use crate::infer::require_float;
use crate::rows::{PUT_ALONG, TAKE_ALONG, TAKE_OP};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, DType, Dims, Result, Scalar};
use gluonish_kernels::random as k;
use gluonish_kernels::{AttrVal, View};

const OUTPUTS: &[Output] =
    &[Output { name: "output", hidden: false }, Output { name: "log_likelihood", hidden: false }];
const PVALS: &[Input] = &[input("pvals")];
const SHAPE: usize = 0;
const GET_PROB: usize = 1;

/// The shape of the rows of probabilities, and how many categories there are.
fn rows_of(p: &View<'_>) -> Result<(Dims, isize)> {
    require_float(p, "probabilities")?;
    match p.shape.split_last() {
        Some((&0, rows)) if !rows.contains(&0) => {
            Err(Cause::Shape(format!("probabilities of shape {} have no category to choose", p.shape)).into())
        }
        Some((k, rows)) => Ok((Dims::of(rows), *k)),
        None => Err(Cause::Shape("probabilities need an axis, got a single number".into()).into()),
    }
}

fn extended(shape: &mut Dims, more: Option<&Dims>) -> Result {
    if let Some(more) = more {
        *shape = Dims::joined(&[shape, more])?;
    }
    Ok(())
}

fn infer_multinomial(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (mut shape, categories) = rows_of(&c.ins[0])?;
    extended(&mut shape, c.attrs.ints(SHAPE))?;
    let dtype = c.attrs.dtype(2).unwrap_or(DType::I32);
    if dtype == DType::Bool || !Scalar::Int(categories.max(1) as i64 - 1).fits(dtype) {
        let text = format!("categories up to {} do not fit in {dtype}; give a wider dtype", categories - 1);
        return Err(Cause::DType(text).into());
    }
    outs.push(Meta { shape, dtype });
    if c.attrs.bool(GET_PROB) {
        outs.push(Meta { shape, dtype: c.ins[0].dtype });
    }
    Ok(())
}

/// The logarithm of the probability that was chosen changes with that probability alone.
fn multinomial_rule(r: &Rule<'_>) {
    if !r.attrs().bool(GET_PROB) {
        return;
    }
    r.grad(0, || {
        // Positions along the last axis, of however many axes they were asked for.
        let whole = r.input(0).shape;
        let mut flat = Dims::of(&whole[..whole.len() - 1]);
        flat.push(r.attrs().ints(SHAPE).map_or(1, |s| s.iter().product()));
        let chosen = r.cast(r.reshape(r.y(0), flat), DType::I64);
        let p = r.call(&TAKE_ALONG, &[r.x(0), chosen], &[AttrVal::Int(-1)]);
        let slope = r.div(r.reshape(r.dy_of(1), flat), p);
        r.call(&PUT_ALONG, &[slope, chosen], &[AttrVal::Int(-1), AttrVal::Ints(whole)])
    });
}

fn infer_counts(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (rows, categories) = rows_of(&c.ins[0])?;
    if !rows.is_empty() {
        let text = format!("pvals has shape {}: the probabilities of one row are needed", c.ins[0].shape);
        return Err(Cause::Shape(text).into());
    }
    let mut shape = c.attrs.ints(1).copied().unwrap_or_default();
    extended(&mut shape, Some(&Dims::of(&[categories])))?;
    outs.push(Meta { shape, dtype: DType::I64 });
    Ok(())
}

/// One position for each element of the first axis.
fn infer_order(c: &Call<'_>, outs: &mut Metas) -> Result {
    let Some(&n) = c.ins[0].shape.first() else {
        return Err(Cause::Shape("a single number has no axis to shuffle".into()).into());
    };
    outs.push(Meta { shape: Dims::of(&[n]), dtype: DType::I64 });
    Ok(())
}

fn shuffle(r: &Rule<'_>, ins: &[V]) -> V {
    let order = r.call(&ORDER_OF, &[ins[0]], &[]);
    r.call(&TAKE_OP, &[ins[0], order], &[AttrVal::Int(0), AttrVal::Choice(0)])
}

/// Nanoseconds of a step of a permutation, which reaches all over the memory.
const ORDER: Cost = Cost::Of(|_, outs| outs[0].shape.checked_size().unwrap_or(usize::MAX) as u64 * 5);

rows! {
    SAMPLE_MULTINOMIAL = Op::new("sample_multinomial", "Categories by the probabilities of the last axis, and if asked for the logarithms of those.",
            DATA, Body::Kernel(|cx, a, out| k::categories(cx, &a.ins[0], out)))
        .attrs(&[
            Attr::opt_ints("shape", "How many for each row, as a shape; one when None."),
            Attr::bool("get_prob", false, "Also return the logarithm of each chosen probability, which has a gradient."),
            Attr::dtype("dtype", DType::I32, "Type of the categories."),
        ])
        .outputs(OUTPUTS).count(|a, _| 1 + a.bool(GET_PROB) as usize)
        .infer(infer_multinomial).random().nd(&["sample_multinomial", "random.multinomial"]).onnx("Multinomial")
        .cost(Cost::Of(|c, outs| (c.ins[0].size + outs[0].shape.checked_size().unwrap_or(usize::MAX).saturating_mul(20)) as u64))
        .grad(&[x(0), y(0)], multinomial_rule);
    MULTINOMIAL_COUNTS = Op::new("_np_multinomial", "How often each category came in n draws.", PVALS, Body::Kernel(|cx, a, out| {
            k::counts(cx, &a.ins[0], a.attrs.int(0) as f64, &out[0])
        }))
        .attrs(&[
            Attr::int_required("n", "Number of draws.").between(0, 1 << 53),
            Attr::opt_ints("shape", "How many times to draw them, as a shape; once when None."),
        ])
        .infer(infer_counts).random().internal().cost(super::SINGLY).no_grad(Grad::Zero);
    PERMUTATION = Op::new("_permutation", "The numbers below n in random order.", &[], Body::Kernel(|cx, _, out| k::permutation(cx, &out[0])))
        .attrs(&[Attr::int_required("n", "How many.").at_least(0)])
        .infer(|c, outs| {
            outs.push(Meta { shape: Dims::of(&[c.attrs.int(0) as isize]), dtype: DType::I64 });
            Ok(())
        })
        .random().creates().internal().cost(ORDER).no_grad(Grad::Zero);
    ORDER_OF = Op::new("_random_order", "The positions along the first axis in random order.", DATA, Body::Kernel(|cx, _, out| k::permutation(cx, &out[0])))
        .infer(infer_order).random().internal().cost(ORDER).no_grad(Grad::Zero);
    SHUFFLE = Op::new("shuffle", "The elements along the first axis in random order.", DATA, Body::Compose(shuffle))
        .random().nd(&["shuffle", "random.shuffle"]);
}
