//! Poisson and binomial numbers: by adding up probabilities where few values are likely, else by Hörmann's transformed
//! rejection (PTRS and BTRS, 1993), which takes about 1.2 attempts whatever the parameters.
use super::polar::double::ln;
use super::stream::Stream;

/// Below this mean, probabilities are added up.
const SMALL_MEAN: f64 = 10.0;

/// `ln k! - ((k + 1/2) ln(k + 1) - (k + 1) + ln(2 pi) / 2)`.
fn stirling_tail(k: f64) -> f64 {
    const FIRST: [f64; 10] = [
        0.081_061_466_795_327_8,
        0.041_340_695_955_409_3,
        0.027_677_925_684_998_34,
        0.020_790_672_103_765_1,
        0.016_644_691_189_821_19,
        0.013_876_128_823_070_75,
        0.011_896_709_945_891_77,
        0.010_411_265_261_972_09,
        0.009_255_462_182_712_73,
        0.008_330_563_433_362_87,
    ];
    match FIRST.get(k as usize) {
        Some(v) => *v,
        None => {
            let n = k + 1.0;
            let z = 1.0 / (n * n);
            (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - z / 1680.0) * z) * z) / n
        }
    }
}

/// The hat of both rejections: a number and how it is judged.
#[derive(Clone, Copy)]
pub struct Hat {
    a: f64,
    b: f64,
    centre: f64,
    /// Below this, an attempt near the middle is taken without a look at the probability.
    sure: f64,
    ln_alpha: f64,
}

impl Hat {
    /// A number from the hat for which `ln_probability` (up to the constant in `ln_alpha`) allows it.
    #[inline(always)]
    fn draw(&self, s: &mut Stream<'_>, most: f64, ln_probability: impl Fn(f64) -> f64) -> f64 {
        loop {
            let (u, v) = s.open_pair();
            let u = u - 0.5;
            let edge = 0.5 - u.abs();
            let k = ((2.0 * self.a / edge + self.b) * u + self.centre).floor();
            if edge >= 0.07 && v <= self.sure {
                return k;
            }
            if k < 0.0 || k > most || (edge < 0.013 && v > edge) {
                continue;
            }
            if ln(v) + self.ln_alpha - ln(self.a / (edge * edge) + self.b) <= ln_probability(k) {
                return k;
            }
        }
    }
}

#[derive(Clone, Copy)]
pub enum Poisson {
    /// The mean, and the probability of 0.
    Few(f64, f64),
    Many(f64, Hat),
}

impl Poisson {
    pub(super) fn new(mean: f64) -> Poisson {
        if mean < SMALL_MEAN {
            return Poisson::Few(mean, (-mean).exp());
        }
        let b = 0.931 + 2.53 * mean.sqrt();
        let hat = Hat {
            a: -0.059 + 0.02483 * b,
            b,
            centre: mean + 0.43,
            sure: 0.9277 - 3.6224 / (b - 2.0),
            ln_alpha: ln(1.1239 + 1.1328 / (b - 3.4)),
        };
        Poisson::Many(mean, hat)
    }

    #[inline(always)]
    pub(super) fn draw(&self, s: &mut Stream<'_>) -> f64 {
        match *self {
            Poisson::Few(mean, zero) => {
                let (mut k, mut p, mut u) = (0.0, zero, s.unit());
                // The probabilities of a mean below 10 are all 0 long before the bound.
                while u >= p && k < 200.0 {
                    u -= p;
                    k += 1.0;
                    p *= mean / k;
                }
                k
            }
            Poisson::Many(mean, hat) => hat.draw(s, f64::INFINITY, |k| poisson_ln(mean, k)),
        }
    }
}

/// The logarithm of the probability of `k`. Written with the relative distance of `k` to the mean, as the difference of
/// `k ln mean` and `ln k!` would lose all digits of a large mean.
fn poisson_ln(mean: f64, k: f64) -> f64 {
    if k < 10.0 {
        let factorial: f64 = (1..=k as u32).map(f64::from).product();
        return k * ln(mean) - mean - ln(factorial);
    }
    let t = (mean - k) / k;
    let z = 1.0 / (k * k);
    let tail = (1.0 / 12.0 - (1.0 / 360.0 - z / 1260.0) * z) / k;
    k * (t.ln_1p() - t) - 0.5 * ln(std::f64::consts::TAU * k) - tail
}

#[derive(Clone, Copy)]
pub struct Binomial {
    n: f64,
    /// Successes and failures change places where success is likelier.
    swapped: bool,
    how: How,
}

#[derive(Clone, Copy)]
enum How {
    /// Odds of success, and the probability of none.
    Few {
        odds: f64,
        none: f64,
    },
    Many {
        hat: Hat,
        odds: f64,
        mode: f64,
    },
}

impl Binomial {
    pub(super) fn new(n: f64, p: f64) -> Binomial {
        let swapped = p > 0.5;
        let p = if swapped { 1.0 - p } else { p };
        let odds = p / (1.0 - p);
        if n * p < SMALL_MEAN {
            return Binomial { n, swapped, how: How::Few { odds, none: (n * (-p).ln_1p()).exp() } };
        }
        let deviation = (n * p * (1.0 - p)).sqrt();
        let b = 1.15 + 2.53 * deviation;
        let hat = Hat {
            a: -0.0873 + 0.0248 * b + 0.01 * p,
            b,
            centre: n * p + 0.5,
            sure: 0.92 - 4.2 / b,
            ln_alpha: ln((2.83 + 5.1 / b) * deviation),
        };
        Binomial { n, swapped, how: How::Many { hat, odds, mode: ((n + 1.0) * p).floor() } }
    }

    #[inline(always)]
    pub(super) fn draw(&self, s: &mut Stream<'_>) -> f64 {
        let n = self.n;
        let k = match self.how {
            How::Few { odds, none } => {
                let (mut k, mut p, mut u) = (0.0, none, s.unit());
                while u >= p && k < n.min(200.0) {
                    u -= p;
                    k += 1.0;
                    p *= odds * (n - k + 1.0) / k;
                }
                k
            }
            How::Many { hat, odds, mode } => hat.draw(s, n, |k| binomial_ln(n, odds, mode, k)),
        };
        if self.swapped { n - k } else { k }
    }
}

/// The logarithm of the probability of `k` over that of the mode.
fn binomial_ln(n: f64, odds: f64, mode: f64, k: f64) -> f64 {
    let above_mode = n - mode + 1.0;
    let above = n - k + 1.0;
    (mode + 0.5) * ln((mode + 1.0) / (odds * above_mode))
        + (n + 1.0) * ln(above_mode / above)
        + (k + 0.5) * ln(odds * above / (k + 1.0))
        + stirling_tail(mode)
        + stirling_tail(n - mode)
        - stirling_tail(k)
        - stirling_tail(n - k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails() {
        let mut ln_factorial = 0.0;
        for k in 0..40 {
            let k = k as f64;
            ln_factorial += if k > 0.0 { k.ln() } else { 0.0 };
            let main = (k + 0.5) * (k + 1.0).ln() - (k + 1.0) + 0.5 * std::f64::consts::TAU.ln();
            assert!((stirling_tail(k) - (ln_factorial - main)).abs() < 1e-11, "{k}");
            for mean in [0.5, 7.0, 30.0] {
                let want = k * f64::ln(mean) - mean - ln_factorial;
                assert!((poisson_ln(mean, k) - want).abs() < 1e-9, "{mean} {k}");
            }
        }
    }

    #[test]
    fn ratios_of_binomial_probabilities() {
        let (n, p) = (50.0, 0.3);
        let (odds, mode) = (p / (1.0 - p), (51.0f64 * p).floor());
        let mut want = 0.0;
        let mut k = mode;
        while k < 30.0 {
            assert!((binomial_ln(n, odds, mode, k) - want).abs() < 1e-8, "{k}");
            want += f64::ln(odds * (n - k) / (k + 1.0));
            k += 1.0;
        }
    }
}
