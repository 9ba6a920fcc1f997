//! Densities and probabilities of distributions. Parameters have the leading axes of the sample; what a sample cannot be
//! has density 0. Everything is composed of other rows, so gradients of every order flow to sample and parameters.
use crate::attr::Attr;
use crate::def::{Body, Input, Op, input, rows};
use crate::rows::{GAMMALN, GREATER, LESS, LOG1P};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Error};

const IS_LOG: &[Attr] = &[Attr::bool("is_log", false, "Return the logarithm of the density.")];
const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;

const fn row(name: &'static str, doc: &'static str, inputs: &'static [Input], body: fn(&Rule<'_>, &[V]) -> V) -> Op {
    Op::new(name, doc, inputs, Body::Compose(body)).attrs(IS_LOG)
}

/// The density from its logarithm, if that is asked for.
fn density(r: &Rule<'_>, ln: V) -> V {
    if r.attrs().bool(0) { ln } else { r.exp(ln) }
}

/// A parameter of shape `lead + tail`, for a sample of shape `lead + more + tail`: with axes of size 1 for `more`.
fn fitted(r: &Rule<'_>, sample: V, parameter: V, tail: usize) -> V {
    let (whole, part) = (r.shape(sample), r.shape(parameter));
    if matches!(parameter, V::Scalar(_)) || whole == part {
        return parameter;
    }
    let fits = part.len() >= tail && part.len() <= whole.len() && {
        let lead = part.len() - tail;
        part[..lead] == whole[..lead] && part[lead..] == whole[whole.len() - tail..]
    };
    if !fits {
        r.0.fail(Error::new(Cause::Shape(format!(
            "parameters of shape {part} do not fit a sample of shape {whole}: its shape must begin with theirs"
        ))));
        return parameter;
    }
    let mut shape = Dims::of(&part[..part.len() - tail]);
    (part.len()..whole.len()).for_each(|_| shape.push(1));
    part[part.len() - tail..].iter().for_each(|d| shape.push(*d));
    r.reshape(parameter, shape)
}

/// Sample and parameters in shapes that broadcast.
fn operands(r: &Rule<'_>, ins: &[V]) -> [V; 3] {
    let [sample, first, rest @ ..] = ins else { return [V::from(0.0); 3] };
    let second = rest.first().map_or(V::from(0.0), |p| fitted(r, *sample, *p, 0));
    [*sample, fitted(r, *sample, *first, 0), second]
}

/// `ln(x)` of a density that is 0 below 0.
fn from_zero(r: &Rule<'_>, x: V, ln: impl FnOnce(V) -> V) -> V {
    let outside = r.binary_op(&LESS, x, 0.0);
    r.select(outside, f64::NEG_INFINITY, ln(r.select(outside, 1.0, x)))
}

fn ln_factorial(r: &Rule<'_>, x: V) -> V {
    r.unary_op(&GAMMALN, r.add(x, 1.0))
}

fn uniform(r: &Rule<'_>, ins: &[V]) -> V {
    let [x, low, high] = operands(r, ins);
    let inside = r.neg(r.log(r.sub(high, low)));
    let not_above = r.select(r.binary_op(&GREATER, x, high), f64::NEG_INFINITY, inside);
    density(r, r.select(r.binary_op(&LESS, x, low), f64::NEG_INFINITY, not_above))
}

fn normal(r: &Rule<'_>, ins: &[V]) -> V {
    let [x, mu, sigma] = operands(r, ins);
    let z = r.div(r.sub(x, mu), sigma);
    density(r, r.sub(r.mul(-0.5, r.square(z)), r.add(r.log(sigma), HALF_LN_TAU)))
}

fn exponential(r: &Rule<'_>, ins: &[V]) -> V {
    let [x, lam, _] = operands(r, ins);
    density(r, from_zero(r, x, |x| r.sub(r.log(lam), r.mul(lam, x))))
}

fn gamma(r: &Rule<'_>, ins: &[V]) -> V {
    let [x, alpha, beta] = operands(r, ins);
    density(
        r,
        from_zero(r, x, |x| {
            let of_x = r.sub(r.mul(r.sub(alpha, 1.0), r.log(x)), r.mul(beta, x));
            r.add(of_x, r.sub(r.mul(alpha, r.log(beta)), r.unary_op(&GAMMALN, alpha)))
        }),
    )
}

fn poisson(r: &Rule<'_>, ins: &[V]) -> V {
    let [x, lam, _] = operands(r, ins);
    density(r, from_zero(r, x, |x| r.sub(r.sub(r.mul(x, r.log(lam)), lam), ln_factorial(r, x))))
}

/// From the number of successes, and logarithms of the probabilities of success (times that number) and failure.
fn failures(r: &Rule<'_>, x: V, k: V, successes: V, failure: V) -> V {
    let ways = r.sub(r.sub(r.unary_op(&GAMMALN, r.add(x, k)), r.unary_op(&GAMMALN, k)), ln_factorial(r, x));
    r.add(ways, r.add(successes, r.mul(x, failure)))
}

fn negative_binomial(r: &Rule<'_>, ins: &[V]) -> V {
    let [x, k, p] = operands(r, ins);
    density(r, from_zero(r, x, |x| failures(r, x, k, r.mul(k, r.log(p)), r.unary_op(&LOG1P, r.neg(p)))))
}

fn generalized_negative_binomial(r: &Rule<'_>, ins: &[V]) -> V {
    let [x, mu, alpha] = operands(r, ins);
    density(
        r,
        from_zero(r, x, |x| {
            let odds = r.mul(mu, alpha);
            let ln_odds = r.unary_op(&LOG1P, odds);
            failures(r, x, r.div(1.0, alpha), r.neg(r.div(ln_odds, alpha)), r.sub(r.log(odds), ln_odds))
        }),
    )
}

fn dirichlet(r: &Rule<'_>, ins: &[V]) -> V {
    let [sample, given] = ins else { return V::from(0.0) };
    let alpha = fitted(r, *sample, *given, 1);
    let last = |v: V| r.sum(v, Dims::of(&[r.shape(v).len() as isize - 1]), false);
    if r.shape(alpha).is_empty() || r.shape(*sample).is_empty() {
        r.0.fail(Error::new(Cause::Shape(format!(
            "sample and alpha need an axis of shares, got shapes {} and {}",
            r.shape(*sample),
            r.shape(*given)
        ))));
        return *sample;
    }
    let of_sample = last(r.mul(r.sub(alpha, 1.0), r.log(*sample)));
    let of_alpha = r.sub(r.unary_op(&GAMMALN, last(alpha)), last(r.unary_op(&GAMMALN, alpha)));
    density(r, r.add(of_sample, of_alpha))
}

const UNIFORM: &[Input] = &[input("sample"), input("low"), input("high")];
const NORMAL: &[Input] = &[input("sample"), input("mu"), input("sigma")];
const RATE: &[Input] = &[input("sample"), input("lam")];
const GAMMA: &[Input] = &[input("sample"), input("alpha"), input("beta")];
const FAILURES: &[Input] = &[input("sample"), input("k"), input("p")];
const DISPERSED: &[Input] = &[input("sample"), input("mu"), input("alpha")];
const SHARES: &[Input] = &[input("sample"), input("alpha")];

rows! {
    PDF_UNIFORM = row("random_pdf_uniform", "Density of the uniform distribution from low to high.", UNIFORM, uniform).nd(&["random_pdf_uniform"]);
    PDF_NORMAL = row("random_pdf_normal", "Density of the normal distribution with mean mu and standard deviation sigma.", NORMAL, normal)
        .nd(&["random_pdf_normal"]);
    PDF_EXPONENTIAL = row("random_pdf_exponential", "Density of the exponential distribution with rate lam.", RATE, exponential)
        .nd(&["random_pdf_exponential"]);
    PDF_GAMMA = row("random_pdf_gamma", "Density of the gamma distribution with shape alpha and rate beta.", GAMMA, gamma)
        .nd(&["random_pdf_gamma"]);
    PDF_POISSON = row("random_pdf_poisson", "Probability of counts of the Poisson distribution with mean lam.", RATE, poisson)
        .nd(&["random_pdf_poisson"]);
    PDF_NEGATIVE_BINOMIAL = row("random_pdf_negative_binomial", "Probability of so many failures before k successes of probability p.",
            FAILURES, negative_binomial).nd(&["random_pdf_negative_binomial"]);
    PDF_GENERALIZED_NEGATIVE_BINOMIAL = row("random_pdf_generalized_negative_binomial",
            "Probability of counts of the negative binomial distribution with mean mu and dispersion alpha.", DISPERSED, generalized_negative_binomial)
        .nd(&["random_pdf_generalized_negative_binomial"]);
    PDF_DIRICHLET = row("random_pdf_dirichlet", "Density of the Dirichlet distribution over the last axis.", SHARES, dirichlet)
        .nd(&["random_pdf_dirichlet"]);
}
