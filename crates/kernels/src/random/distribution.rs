//! Distributions with one or two parameters, for values that are made one by one in double precision.
use super::below;
use super::count;
use super::gamma::Standard;
use super::polar::double::ln;
use super::stream::Stream;
use gluonish_base::DType;

/// A distribution: which parameters it takes, and how a value is made.
pub trait Distribution {
    /// The parameters' names; an empty one is not there.
    const NAMES: [&'static str; 2];
    /// Their names where they are numbers.
    const ATTRS: [&'static str; 2] = Self::NAMES;
    /// Values are whole numbers.
    const COUNTS: bool = false;
    /// What the parameters give for all values made with them.
    type State: Copy + Send + Sync;

    /// Which parameter is not valid, and what it should be.
    fn wrong(p: [f64; 2]) -> Option<(usize, &'static str)>;
    /// For parameters that are valid, and results of a type.
    fn prepare(p: [f64; 2], dtype: DType) -> Self::State;
    /// A value, or what `finish` makes one of.
    fn draw(state: &Self::State, s: &mut Stream<'_>) -> f64;
    #[inline(always)]
    fn finish(_: &Self::State, drawn: f64) -> f64 {
        drawn
    }
}

const FINITE: &str = "a finite number";
const NOT_NEGATIVE: &str = "a finite number of at least 0";
const POSITIVE: &str = "a finite number above 0";
const PROBABILITY: &str = "a number from 0 to 1";

fn finite(v: f64) -> bool {
    v.is_finite()
}
fn not_negative(v: f64) -> bool {
    v >= 0.0 && finite(v)
}
fn positive(v: f64) -> bool {
    v > 0.0 && finite(v)
}

/// The first parameter that fails its test.
fn first_wrong(tests: &[(bool, &'static str)]) -> Option<(usize, &'static str)> {
    tests.iter().enumerate().find(|(_, (ok, _))| !ok).map(|(i, (_, expected))| (i, *expected))
}

/// On `[low, high)`.
pub struct Uniform;
impl Distribution for Uniform {
    const NAMES: [&'static str; 2] = ["low", "high"];
    type State = [f64; 3];

    fn wrong([low, high]: [f64; 2]) -> Option<(usize, &'static str)> {
        let ordered = high >= low && finite(high - low);
        first_wrong(&[(finite(low), FINITE), (finite(high) && ordered, "a finite number of at least low")])
    }
    fn prepare([low, high]: [f64; 2], dtype: DType) -> [f64; 3] {
        [low, high - low, below(high, dtype).max(low)]
    }
    #[inline(always)]
    fn draw(_: &[f64; 3], s: &mut Stream<'_>) -> f64 {
        s.unit()
    }
    #[inline(always)]
    fn finish([low, span, top]: &[f64; 3], drawn: f64) -> f64 {
        let v = low + drawn * span;
        if v > *top { *top } else { v }
    }
}

/// With mean `mu` and standard deviation `sigma`.
pub struct Normal;
impl Distribution for Normal {
    const NAMES: [&'static str; 2] = ["mu", "sigma"];
    const ATTRS: [&'static str; 2] = ["loc", "scale"];
    type State = [f64; 2];

    fn wrong([mu, sigma]: [f64; 2]) -> Option<(usize, &'static str)> {
        first_wrong(&[(finite(mu), FINITE), (not_negative(sigma), NOT_NEGATIVE)])
    }
    fn prepare(p: [f64; 2], _: DType) -> [f64; 2] {
        p
    }
    #[inline(always)]
    fn draw(_: &[f64; 2], s: &mut Stream<'_>) -> f64 {
        s.normal()
    }
    #[inline(always)]
    fn finish([mu, sigma]: &[f64; 2], drawn: f64) -> f64 {
        mu + sigma * drawn
    }
}

/// With rate `lam`.
pub struct Exponential;
impl Distribution for Exponential {
    const NAMES: [&'static str; 2] = ["lam", ""];
    type State = f64;

    fn wrong([lam, _]: [f64; 2]) -> Option<(usize, &'static str)> {
        first_wrong(&[(positive(lam), POSITIVE)])
    }
    fn prepare([lam, _]: [f64; 2], _: DType) -> f64 {
        lam
    }
    #[inline(always)]
    fn draw(_: &f64, s: &mut Stream<'_>) -> f64 {
        -ln(s.open())
    }
    #[inline(always)]
    fn finish(lam: &f64, drawn: f64) -> f64 {
        drawn / lam
    }
}

/// With shape `alpha` and scale `beta`.
pub struct Gamma;
impl Distribution for Gamma {
    const NAMES: [&'static str; 2] = ["alpha", "beta"];
    type State = (Standard, f64);

    fn wrong([alpha, beta]: [f64; 2]) -> Option<(usize, &'static str)> {
        first_wrong(&[(positive(alpha), POSITIVE), (positive(beta), POSITIVE)])
    }
    fn prepare([alpha, beta]: [f64; 2], _: DType) -> (Standard, f64) {
        (Standard::new(alpha), beta)
    }
    #[inline(always)]
    fn draw(state: &(Standard, f64), s: &mut Stream<'_>) -> f64 {
        state.0.draw(s)
    }
    #[inline(always)]
    fn finish(state: &(Standard, f64), drawn: f64) -> f64 {
        drawn * state.1
    }
}

/// The share of the first of two gamma numbers in their sum.
pub struct Beta;
impl Distribution for Beta {
    const NAMES: [&'static str; 2] = ["a", "b"];
    type State = (Standard, Standard);

    fn wrong([a, b]: [f64; 2]) -> Option<(usize, &'static str)> {
        first_wrong(&[(positive(a), POSITIVE), (positive(b), POSITIVE)])
    }
    fn prepare([a, b]: [f64; 2], _: DType) -> (Standard, Standard) {
        (Standard::new(a), Standard::new(b))
    }
    fn draw(state: &(Standard, Standard), s: &mut Stream<'_>) -> f64 {
        let (a, b) = (state.0.draw_ln(s), state.1.draw_ln(s));
        1.0 / (1.0 + (b - a).exp())
    }
}

/// With mean `lam`.
pub struct Poisson;
impl Distribution for Poisson {
    const NAMES: [&'static str; 2] = ["lam", ""];
    const COUNTS: bool = true;
    type State = count::Poisson;

    fn wrong([lam, _]: [f64; 2]) -> Option<(usize, &'static str)> {
        first_wrong(&[(not_negative(lam), NOT_NEGATIVE)])
    }
    fn prepare([lam, _]: [f64; 2], _: DType) -> count::Poisson {
        count::Poisson::new(lam)
    }
    #[inline(always)]
    fn draw(state: &count::Poisson, s: &mut Stream<'_>) -> f64 {
        state.draw(s)
    }
}

/// Successes among `n` trials of probability `p`.
pub struct Binomial;
impl Distribution for Binomial {
    const NAMES: [&'static str; 2] = ["n", "p"];
    const COUNTS: bool = true;
    type State = count::Binomial;

    fn wrong([n, p]: [f64; 2]) -> Option<(usize, &'static str)> {
        let whole = n.floor() == n && (0.0..=9_007_199_254_740_992.0).contains(&n);
        first_wrong(&[(whole, "a whole number from 0 to 2**53"), ((0.0..=1.0).contains(&p), PROBABILITY)])
    }
    fn prepare([n, p]: [f64; 2], _: DType) -> count::Binomial {
        count::Binomial::new(n, p)
    }
    #[inline(always)]
    fn draw(state: &count::Binomial, s: &mut Stream<'_>) -> f64 {
        state.draw(s)
    }
}

/// A Poisson number whose mean is a gamma number; none where there is no spread.
#[derive(Clone, Copy)]
pub struct Mixture {
    spread: Option<(Standard, f64)>,
    mean: f64,
}
impl Mixture {
    fn draw(&self, s: &mut Stream<'_>) -> f64 {
        let mean = self.spread.map_or(self.mean, |(gamma, scale)| gamma.draw(s) * scale);
        count::Poisson::new(mean.min(f64::MAX)).draw(s)
    }
}

/// Failures before `k` successes of probability `p`.
pub struct NegativeBinomial;
impl Distribution for NegativeBinomial {
    const NAMES: [&'static str; 2] = ["k", "p"];
    const COUNTS: bool = true;
    type State = Mixture;

    fn wrong([k, p]: [f64; 2]) -> Option<(usize, &'static str)> {
        first_wrong(&[(not_negative(k), NOT_NEGATIVE), (p > 0.0 && p <= 1.0, "a number above 0, up to 1")])
    }
    fn prepare([k, p]: [f64; 2], _: DType) -> Mixture {
        Mixture { spread: (k > 0.0 && p < 1.0).then(|| (Standard::new(k), (1.0 - p) / p)), mean: 0.0 }
    }
    fn draw(state: &Mixture, s: &mut Stream<'_>) -> f64 {
        state.draw(s)
    }
}

/// With mean `mu` and dispersion `alpha`: the variance is `mu + alpha mu^2`.
pub struct GeneralizedNegativeBinomial;
impl Distribution for GeneralizedNegativeBinomial {
    const NAMES: [&'static str; 2] = ["mu", "alpha"];
    const COUNTS: bool = true;
    type State = Mixture;

    fn wrong([mu, alpha]: [f64; 2]) -> Option<(usize, &'static str)> {
        first_wrong(&[(not_negative(mu), NOT_NEGATIVE), (not_negative(alpha), NOT_NEGATIVE)])
    }
    fn prepare([mu, alpha]: [f64; 2], _: DType) -> Mixture {
        let shape = 1.0 / alpha;
        Mixture { spread: (mu > 0.0 && finite(shape)).then(|| (Standard::new(shape), mu * alpha)), mean: mu }
    }
    fn draw(state: &Mixture, s: &mut Stream<'_>) -> f64 {
        state.draw(s)
    }
}
