//! Random numbers whose parameters are arrays: `shape` of them for each place of the parameters' common shape.
use super::{SINGLY, type_of};
use crate::attr::Attr;
use crate::def::{Body, Call, Grad, Input, Meta, Metas, Op, Output, input, rows, x, y};
use crate::infer::{broadcast_shape, promoted};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::random::{self as k, Distribution};
use gluonish_kernels::{Args, Attrs, Cx, Out};

/// A value, and what was drawn before the parameters were applied: the gradient reads that.
const WITH_NOISE: &[Output] = &[Output { name: "output", hidden: false }, Output { name: "noise", hidden: true }];

const ATTRS: &[Attr] = &[
    Attr::opt_ints("shape", "How many numbers for each place of the parameters, as a shape; one when None."),
    Attr::opt_dtype("dtype", "Type of the result; the parameters' type, or float32 for integers, when None."),
];

/// The axes that the attribute `shape` adds.
fn added(attrs: &Attrs) -> usize {
    attrs.ints(0).map_or(0, |s| s.len())
}

fn infer<D: Distribution>(c: &Call<'_>, outs: &mut Metas) -> Result {
    let mut shape = broadcast_shape(c.ins)?;
    let more = c.attrs.ints(0).copied().unwrap_or_default();
    if !more.iter().all(|d| shape.try_push(*d)) {
        return Err(Cause::Shape(format!("parameters of shape {shape} have no room for {more} more axes")).into());
    }
    let dtype = type_of::<D>(c.attrs.dtype(1).unwrap_or_else(|| promoted(c.ins).to_float()))?;
    outs.push(Meta { shape, dtype });
    Ok(())
}

fn infer_with_noise<D: Distribution>(c: &Call<'_>, outs: &mut Metas) -> Result {
    infer::<D>(c, outs)?;
    outs.push(outs[0]);
    Ok(())
}

fn kernel<D: Distribution>(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    let whole = out[0].view.shape;
    k::sample::<D>(cx, a.ins, &Dims::of(&whole[..whole.len() - added(a.attrs)]), out)
}

const fn row<D: Distribution>(name: &'static str, doc: &'static str, inputs: &'static [Input]) -> Op {
    let op = Op::new(name, doc, inputs, Body::Kernel(kernel::<D>)).attrs(ATTRS).infer(infer::<D>).cost(SINGLY);
    op.random().no_grad(Grad::Zero)
}

/// A gradient of all values summed for each place of the parameters.
fn gathered(r: &Rule<'_>, grads: V) -> V {
    let (n, more) = (r.output(0).shape.len(), added(r.attrs()));
    if more == 0 {
        return grads;
    }
    let mut axes = Dims::filled(more, 0);
    (0..more).for_each(|i| axes[i] = (n - more + i) as isize);
    r.sum(grads, axes, false)
}

/// A parameter with axes of size 1 for those that `shape` adds.
fn lifted(r: &Rule<'_>, i: u8) -> V {
    let mut shape = r.input(i as usize).shape;
    (0..added(r.attrs())).for_each(|_| shape.push(1));
    r.reshape(r.x(i), shape)
}

const LOW_HIGH: &[Input] = &[input("low"), input("high")];
const MU_SIGMA: &[Input] = &[input("mu"), input("sigma")];
const LAM: &[Input] = &[input("lam")];
const ALPHA_BETA: &[Input] = &[input("alpha"), input("beta")];
const A_B: &[Input] = &[input("a"), input("b")];
const N_P: &[Input] = &[input("n"), input("p")];
const K_P: &[Input] = &[input("k"), input("p")];
const MU_ALPHA: &[Input] = &[input("mu"), input("alpha")];

rows! {
    SAMPLE_UNIFORM = row::<k::Uniform>("sample_uniform", "Uniform random numbers of [low, high) for bounds that are arrays.", LOW_HIGH)
        .outputs(WITH_NOISE).infer(infer_with_noise::<k::Uniform>).nd(&["sample_uniform"])
        .grad(&[y(1)], |r| {
            r.grad(0, || gathered(r, r.mul(r.dy(), r.sub(1.0, r.y(1)))));
            r.grad(1, || gathered(r, r.mul(r.dy(), r.y(1))));
        });
    SAMPLE_NORMAL = row::<k::Normal>("sample_normal", "Normally distributed random numbers for means and deviations that are arrays.", MU_SIGMA)
        .outputs(WITH_NOISE).infer(infer_with_noise::<k::Normal>).nd(&["sample_normal"])
        .grad(&[y(1).when(1)], |r| {
            r.grad(0, || gathered(r, r.dy()));
            r.grad(1, || gathered(r, r.mul(r.dy(), r.y(1))));
        });
    SAMPLE_EXPONENTIAL = row::<k::Exponential>("sample_exponential", "Exponentially distributed random numbers for rates that are arrays.", LAM)
        .nd(&["sample_exponential"])
        .grad(&[x(0), y(0)], |r| r.grad(0, || gathered(r, r.neg(r.div(r.mul(r.dy(), r.y(0)), lifted(r, 0))))));
    SAMPLE_GAMMA = row::<k::Gamma>("sample_gamma", "Gamma distributed random numbers for shapes and scales that are arrays.", ALPHA_BETA)
        .nd(&["sample_gamma"])
        .grad(&[x(1).when(1), y(0).when(1)], |r| {
            if r.wants(0) {
                r.missing("the shape 'alpha' of a gamma distribution has no gradient; give alpha.detach()");
            }
            r.grad(1, || gathered(r, r.div(r.mul(r.dy(), r.y(0)), lifted(r, 1))));
        });
    SAMPLE_BETA = row::<k::Beta>("_sample_beta", "Beta distributed random numbers for shapes that are arrays.", A_B).internal()
        .no_grad(Grad::Missing("the shapes of a beta distribution have no gradient; give them with detach()"));
    SAMPLE_POISSON = row::<k::Poisson>("sample_poisson", "Poisson distributed random numbers for means that are arrays.", LAM)
        .nd(&["sample_poisson"]);
    SAMPLE_BINOMIAL = row::<k::Binomial>("_sample_binomial", "How many of n trials succeed, for arrays of both parameters.", N_P).internal();
    SAMPLE_NEGATIVE_BINOMIAL = row::<k::NegativeBinomial>("sample_negative_binomial", "How many trials fail before k succeed, for arrays of both parameters.", K_P)
        .nd(&["sample_negative_binomial"]);
    SAMPLE_GENERALIZED_NEGATIVE_BINOMIAL = row::<k::GeneralizedNegativeBinomial>("sample_generalized_negative_binomial",
            "Negative binomial random numbers by means and dispersions that are arrays.", MU_ALPHA)
        .nd(&["sample_generalized_negative_binomial"]);
}
