//! Functions that the standard library lacks.
use std::f64::consts::{LN_2, PI};

mod c {
    // SAFETY: these are the C library's functions with C's types, free of preconditions; std links that library.
    unsafe extern "C" {
        pub(super) safe fn erf(x: f64) -> f64;
        pub(super) safe fn erfc(x: f64) -> f64;
        pub(super) safe fn tgamma(x: f64) -> f64;
        #[cfg(not(unix))]
        pub(super) safe fn lgamma(x: f64) -> f64;
        #[cfg(unix)]
        pub(super) safe fn lgamma_r(x: f64, sign: &mut i32) -> f64;
    }
}

#[inline]
pub(super) fn erf(x: f64) -> f64 {
    c::erf(x)
}
#[inline]
pub(super) fn erfc(x: f64) -> f64 {
    c::erfc(x)
}

#[inline]
pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `log(x + sqrt(x * x + 1))` without loss near 0 and without overflow.
pub(super) fn arcsinh(x: f64) -> f64 {
    let a = x.abs();
    let y = if a > 1e9 { a.ln() + LN_2 } else { (a + a * a / (1.0 + (a * a + 1.0).sqrt())).ln_1p() };
    y.copysign(x)
}

/// `log(x + sqrt(x * x - 1))` without loss near 1 and without overflow.
pub(super) fn arccosh(x: f64) -> f64 {
    if x > 1e9 {
        return x.ln() + LN_2;
    }
    if x < 1.0 {
        return f64::NAN;
    }
    let t = x - 1.0;
    (t + (2.0 * t + t * t).sqrt()).ln_1p()
}

/// The gamma function: NaN at the negative integers, infinite at 0.
#[inline]
pub(super) fn gamma(x: f64) -> f64 {
    c::tgamma(x)
}

/// The logarithm of the magnitude of gamma. Unix's plain `lgamma` writes a global variable: threads must not share it.
#[cfg(unix)]
pub(super) fn gammaln(x: f64) -> f64 {
    c::lgamma_r(x, &mut 0)
}
#[cfg(not(unix))]
pub(super) fn gammaln(x: f64) -> f64 {
    c::lgamma(x)
}

/// The derivative of `gammaln`: recurrence up to 10, then the asymptotic series; reflection for negative values.
pub(super) fn digamma(x: f64) -> f64 {
    if x <= 0.0 {
        if x == x.floor() {
            return if x == 0.0 { (-f64::INFINITY).copysign(-1.0 / x) } else { f64::NAN };
        }
        return digamma(1.0 - x) - PI / (PI * (x - x.round())).tan();
    }
    let (mut x, mut y) = (x, 0.0);
    while x < 10.0 {
        y -= 1.0 / x;
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    let series = [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0];
    y + x.ln() - 0.5 / x - z * series.iter().rev().fold(0.0, |s, c| s * z + c)
}

/// The derivative of order `n` of `digamma`: a sum of inverse powers, by factorial and sign. NaN at the negative integers
/// and for other orders than 0, 1, ... 170, the last whose factorial is finite.
pub(super) fn polygamma(n: f64, x: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    if !(1.0..=170.0).contains(&n) || n != n.floor() || x.is_nan() || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    let odd = n % 2.0 == 1.0;
    let sum = if x > 0.0 {
        inverse_powers(n + 1.0, x)
    } else if x == x.floor() {
        if x == 0.0 { (1.0 / x).powf(n + 1.0) } else { f64::NAN }
    } else {
        // The terms on either side of 0, each as a difference of sums that start above it.
        let f = x - x.floor();
        let below = inverse_powers(n + 1.0, 1.0 - f) - inverse_powers(n + 1.0, 1.0 - x);
        inverse_powers(n + 1.0, f) + if odd { below } else { -below }
    };
    let sized = c::tgamma(n + 1.0) * sum;
    if odd { sized } else { -sized }
}

/// `1 / x^s + 1 / (x + 1)^s + ...` for `x` > 0 and `s` >= 2: the first terms one by one, the rest by Euler and Maclaurin.
fn inverse_powers(s: f64, x: f64) -> f64 {
    /// The even Bernoulli numbers, divided by the factorial of their place.
    const BERNOULLI: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30_240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
        1.0 / 74_724_249_600.0,
        -3_617.0 / 10_670_622_842_880_000.0,
    ];
    let (mut x, mut sum) = (x, 0.0);
    while x < s + 12.0 {
        sum += x.powf(-s);
        x += 1.0;
    }
    let last = x.powf(-s);
    let mut factor = last * s / x;
    let mut tail = last * (x / (s - 1.0) + 0.5);
    for (k, b) in BERNOULLI.iter().enumerate() {
        tail += b * factor;
        let at = s + 2.0 * k as f64;
        factor *= (at + 1.0) * (at + 2.0) / (x * x);
    }
    sum + if x.is_finite() { tail } else { 0.0 }
}

/// The inverse of erf: a start from the tail's asymptotic form, then Newton's steps on erf (or erfc near +-1), each of
/// which squares the error.
pub(super) fn erfinv(x: f64) -> f64 {
    let a = x.abs();
    if a.is_nan() || a >= 1.0 {
        return if a == 1.0 { f64::INFINITY.copysign(x) } else { f64::NAN };
    }
    if a < 1e-9 {
        return x * (0.5 * PI.sqrt());
    }
    // Winitzki's closed form, good to 2e-3.
    let l = (1.0 - a) * (1.0 + a);
    let l = l.ln();
    let (k, h) = (0.147, 0.5 * l + 2.0 / (PI * 0.147));
    let mut y = ((h * h - l / k).sqrt() - h).sqrt();
    let rest = 1.0 - a; // exact for a >= 0.5
    for _ in 0..3 {
        let err = if a < 0.5 { c::erf(y) - a } else { rest - c::erfc(y) };
        let step = err * (y * y).exp() * (0.5 * PI.sqrt());
        y -= step / (1.0 + y * step); // Halley: one more order
    }
    y.copysign(x)
}
