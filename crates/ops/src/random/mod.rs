//! Random numbers: an op takes a ticket in program order, so the same seed gives the same bits on any number of threads.
//! Here are the rows whose parameters are numbers.
pub mod bound;
pub mod choose;
pub mod like;
pub mod pdf;
pub mod sample;

use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, Grad, Meta, Metas, Op, rows};
use gluonish_base::{Cause, DType, Result, Scalar};
use gluonish_kernels::random::{self as k, Distribution};
use gluonish_kernels::{Args, Attrs, Cx, Out};

pub use choose::*;
pub use sample::*;

/// Nanoseconds for a value that is made by itself.
const SINGLE_NS: u64 = 40;

/// The cost of values that are made one by one.
const SINGLY: Cost = Cost::Of(|_, outs| outs[0].shape.checked_size().unwrap_or(usize::MAX) as u64 * SINGLE_NS);

/// The number of parameters of a distribution.
const fn arity<D: Distribution>() -> usize {
    if D::NAMES[1].is_empty() { 1 } else { 2 }
}

/// Parameters that are the first attributes.
fn numbers<D: Distribution>(attrs: &Attrs) -> [f64; 2] {
    [attrs.float(0), if arity::<D>() == 2 { attrs.float(1) } else { 0.0 }]
}

/// The type of what a distribution makes, if it may have that type.
fn type_of<D: Distribution>(dtype: DType) -> Result<DType> {
    match dtype {
        d if d.is_float() || D::COUNTS && d != DType::Bool => Ok(d),
        d if D::COUNTS => Err(Cause::DType(format!("counts are numbers, got dtype {d}")).into()),
        d => Err(Cause::DType(format!("random numbers of this distribution are floating, got dtype {d}")).into()),
    }
}

/// Refuses numbers that are not valid parameters.
fn check<D: Distribution>(attrs: &Attrs) -> Result {
    let p = numbers::<D>(attrs);
    let Some((i, expected)) = D::wrong(p) else { return Ok(()) };
    let (name, given) = (D::ATTRS[i].into(), format!("{:?}", p[i]));
    Err(Cause::Attribute { name, given, expected: expected.into() }.into())
}

fn infer<D: Distribution>(c: &Call<'_>, outs: &mut Metas) -> Result {
    check::<D>(c.attrs)?;
    let n = arity::<D>();
    let dtype = type_of::<D>(c.attrs.dtype(n + 1).unwrap_or(DType::F32))?;
    outs.push(Meta { shape: c.attrs.ints(n).copied().unwrap_or_default(), dtype });
    Ok(())
}

/// Values made one by one.
fn kernel<D: Distribution>(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    k::repeat::<D>(cx, numbers::<D>(a.attrs), &out[0])
}

const fn row<D: Distribution>(name: &'static str, doc: &'static str, attrs: &'static [Attr]) -> Op {
    let op = Op::new(name, doc, &[], Body::Kernel(kernel::<D>)).attrs(attrs).infer(infer::<D>).cost(SINGLY);
    op.random().creates().no_grad(Grad::Zero)
}

/// A row whose values are made many at once.
const fn quick<D: Distribution>(name: &'static str, doc: &'static str, attrs: &'static [Attr], body: Body) -> Op {
    let op = Op::new(name, doc, &[], body).attrs(attrs).infer(infer::<D>).cost(Cost::Bytes(8.0));
    op.random().creates().no_grad(Grad::Zero)
}

const SHAPE: Attr = Attr::opt_ints("shape", "Shape of the result; a single number when None.");
const FLOAT: Attr = Attr::dtype("dtype", DType::F32, "Floating type of the result.");
const NUMBER: Attr = Attr::dtype("dtype", DType::F32, "Type of the result, floating or whole numbers.");

fn infer_randint(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (low, high) = (c.attrs.int(0), c.attrs.int(1));
    if low >= high {
        let expected = format!("an integer above low, which is {low}");
        return Err(Cause::Attribute { name: "high".into(), given: high.to_string(), expected }.into());
    }
    let dtype = c.attrs.dtype(3).unwrap_or(DType::I32);
    if dtype.is_float() || dtype == DType::Bool {
        return Err(Cause::DType(format!("random integers have an integer type, got dtype {dtype}")).into());
    }
    if let Some(v) = [low, high - 1].into_iter().find(|v| !Scalar::Int(*v).fits(dtype)) {
        return Err(Cause::Value(format!("the integers from {low} to below {high} do not fit in {dtype}: {v}")).into());
    }
    outs.push(Meta { shape: c.attrs.ints(2).copied().unwrap_or_default(), dtype });
    Ok(())
}

rows! {
    RANDOM_UNIFORM = quick::<k::Uniform>("random_uniform", "Uniform random numbers of [low, high).",
            &[Attr::float("low", 0.0, "Smallest value."), Attr::float("high", 1.0, "Bound that is not reached."), SHAPE, FLOAT],
            Body::Kernel(|cx, a, out| k::uniform(cx, a.attrs.float(0), a.attrs.float(1), &out[0])))
        .nd(&["random_uniform", "uniform"]).onnx("RandomUniform");
    RANDOM_NORMAL = quick::<k::Normal>("random_normal", "Normally distributed random numbers.",
            &[Attr::float("loc", 0.0, "Mean."), Attr::float("scale", 1.0, "Standard deviation."), SHAPE, FLOAT],
            Body::Kernel(|cx, a, out| k::normal(cx, a.attrs.float(0), a.attrs.float(1), &out[0])))
        .nd(&["random_normal", "normal"]).onnx("RandomNormal");
    RANDOM_EXPONENTIAL = quick::<k::Exponential>("random_exponential", "Exponentially distributed random numbers.",
            &[Attr::float("lam", 1.0, "Rate: one over the mean."), SHAPE, FLOAT],
            Body::Kernel(|cx, a, out| k::exponential(cx, 1.0 / a.attrs.float(0), &out[0])))
        .nd(&["random_exponential"]);
    RANDOM_GAMMA = row::<k::Gamma>("random_gamma", "Gamma distributed random numbers; their mean is alpha times beta.",
            &[Attr::float("alpha", 1.0, "Shape."), Attr::float("beta", 1.0, "Scale."), SHAPE, FLOAT])
        .nd(&["random_gamma"]);
    RANDOM_BETA = row::<k::Beta>("_random_beta", "Beta distributed random numbers; their mean is a / (a + b).",
            &[Attr::float("a", 1.0, "First shape."), Attr::float("b", 1.0, "Second shape."), SHAPE, FLOAT]).internal();
    RANDOM_POISSON = row::<k::Poisson>("random_poisson", "Poisson distributed random numbers.",
            &[Attr::float("lam", 1.0, "Mean."), SHAPE, NUMBER])
        .nd(&["random_poisson"]);
    RANDOM_BINOMIAL = row::<k::Binomial>("_random_binomial", "How many of n trials succeed.",
            &[Attr::float("n", 1.0, "Number of trials."), Attr::float("p", 0.5, "Probability of success."), SHAPE, NUMBER]).internal();
    RANDOM_NEGATIVE_BINOMIAL = row::<k::NegativeBinomial>("random_negative_binomial", "How many trials fail before k succeed.",
            &[Attr::float("k", 1.0, "Number of successes."), Attr::float("p", 1.0, "Probability of success."), SHAPE, NUMBER])
        .nd(&["random_negative_binomial"]);
    RANDOM_GENERALIZED_NEGATIVE_BINOMIAL = row::<k::GeneralizedNegativeBinomial>("random_generalized_negative_binomial",
            "Negative binomial random numbers by their mean and dispersion: the variance is mu + alpha mu**2.",
            &[Attr::float("mu", 1.0, "Mean."), Attr::float("alpha", 1.0, "Dispersion."), SHAPE, NUMBER])
        .nd(&["random_generalized_negative_binomial"]);
    RANDOM_RANDINT = Op::new("random_randint", "Random integers of [low, high), all equally likely.", &[],
            Body::Kernel(|cx, a, out| k::randint(cx, a.attrs.int(0), a.attrs.int(1), &out[0])))
        .attrs(&[
            Attr::int_required("low", "Smallest value."),
            Attr::int_required("high", "Bound that is not reached."),
            SHAPE,
            Attr::dtype("dtype", DType::I32, "Integer type of the result."),
        ])
        .infer(infer_randint).cost(Cost::Bytes(8.0)).random().creates().no_grad(Grad::Zero).nd(&["random_randint"]);
}
