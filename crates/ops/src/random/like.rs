//! Random numbers with the shape, type and device of an array.
use super::{SINGLY, check, kernel};
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Grad, Meta, Metas, Op, rows};
use gluonish_base::Result;
use gluonish_kernels::random::{self as k, Distribution};

/// Counts have the array's type, other numbers too if it is a floating one.
fn infer<D: Distribution>(c: &Call<'_>, outs: &mut Metas) -> Result {
    check::<D>(c.attrs)?;
    let data = &c.ins[0];
    let dtype = super::type_of::<D>(if D::COUNTS { data.dtype } else { data.dtype.to_float() })?;
    outs.push(Meta { shape: *data.shape, dtype });
    Ok(())
}

const fn row<D: Distribution>(name: &'static str, doc: &'static str, attrs: &'static [Attr]) -> Op {
    let op = Op::new(name, doc, DATA, Body::Kernel(kernel::<D>)).attrs(attrs).infer(infer::<D>).cost(SINGLY);
    op.random().no_grad(Grad::Zero)
}

const fn quick<D: Distribution>(name: &'static str, doc: &'static str, attrs: &'static [Attr], body: Body) -> Op {
    let op = Op::new(name, doc, DATA, body).attrs(attrs).infer(infer::<D>).cost(Cost::Bytes(8.0));
    op.random().no_grad(Grad::Zero)
}

rows! {
    UNIFORM_LIKE = quick::<k::Uniform>("_random_uniform_like", "Uniform random numbers of [low, high), in the array's shape.",
            &[Attr::float("low", 0.0, "Smallest value."), Attr::float("high", 1.0, "Bound that is not reached.")],
            Body::Kernel(|cx, a, out| k::uniform(cx, a.attrs.float(0), a.attrs.float(1), &out[0])))
        .nd(&["random.uniform_like"]).onnx("RandomUniformLike");
    NORMAL_LIKE = quick::<k::Normal>("_random_normal_like", "Normally distributed random numbers, in the array's shape.",
            &[Attr::float("loc", 0.0, "Mean."), Attr::float("scale", 1.0, "Standard deviation.")],
            Body::Kernel(|cx, a, out| k::normal(cx, a.attrs.float(0), a.attrs.float(1), &out[0])))
        .nd(&["random.normal_like"]).onnx("RandomNormalLike");
    EXPONENTIAL_LIKE = quick::<k::Exponential>("_random_exponential_like", "Exponentially distributed random numbers, in the array's shape.",
            &[Attr::float("lam", 1.0, "Rate: one over the mean.")],
            Body::Kernel(|cx, a, out| k::exponential(cx, 1.0 / a.attrs.float(0), &out[0])))
        .nd(&["random.exponential_like"]);
    GAMMA_LIKE = row::<k::Gamma>("_random_gamma_like", "Gamma distributed random numbers, in the array's shape.",
            &[Attr::float("alpha", 1.0, "Shape."), Attr::float("beta", 1.0, "Scale.")])
        .nd(&["random.gamma_like"]);
    POISSON_LIKE = row::<k::Poisson>("_random_poisson_like", "Poisson distributed random numbers, in the array's shape and type.",
            &[Attr::float("lam", 1.0, "Mean.")])
        .nd(&["random.poisson_like"]);
    NEGATIVE_BINOMIAL_LIKE = row::<k::NegativeBinomial>("_random_negative_binomial_like",
            "How many trials fail before k succeed, in the array's shape and type.",
            &[Attr::float("k", 1.0, "Number of successes."), Attr::float("p", 1.0, "Probability of success.")])
        .nd(&["random.negative_binomial_like"]);
    GENERALIZED_NEGATIVE_BINOMIAL_LIKE = row::<k::GeneralizedNegativeBinomial>("_random_generalized_negative_binomial_like",
            "Negative binomial random numbers by their mean and dispersion, in the array's shape and type.",
            &[Attr::float("mu", 1.0, "Mean."), Attr::float("alpha", 1.0, "Dispersion.")])
        .nd(&["random.generalized_negative_binomial_like"]);
}
