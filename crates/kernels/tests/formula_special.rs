//! The gamma function, its kin and the inverse of erf in float32: against float64 over dense sweeps, at the edges, and the
//! instruction sets against each other, bit for bit.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
mod precision;

use gluonish_base::isa::{available, detected, limit};
use gluonish_kernels::formula::Fun;
use gluonish_kernels::map;
use gluonish_kernels::map::Map;
use precision::{eval, ulp};

static GAMMA: Map = map!(float | i, x | i.gamma(x));
static GAMMALN: Map = map!(float | i, x | i.gammaln(x));
static DIGAMMA: Map = map!(float | i, x | i.digamma(x));
static ERFINV: Map = map!(float | i, x | i.erfinv(x));

// SAFETY: the signatures are those of the C library.
unsafe extern "C" {
    safe fn erf(x: f64) -> f64;
    safe fn erfc(x: f64) -> f64;
    safe fn tgamma(x: f64) -> f64;
}

fn gamma(x: f64) -> f64 {
    tgamma(x)
}

/// That of float64 arrays, which is the C library's.
fn gammaln(x: f64) -> f64 {
    Fun::Gammaln.eval(x)
}

/// By the recurrence up to 20 and Stirling's series; below 0 by reflection.
fn digamma(x: f64) -> f64 {
    use std::f64::consts::PI;
    if x == 0.0 || x == f64::NEG_INFINITY || x < 0.0 && x == x.floor() {
        return if x == 0.0 { -1.0 / x } else { f64::NAN };
    }
    if x < 0.0 {
        return digamma(1.0 - x) - PI / (PI * (x - x.round())).tan();
    }
    let steps = (20.0 - x).ceil().max(0.0) as usize;
    let far = x + steps as f64;
    let z = 1.0 / (far * far);
    let series = far.ln() - 0.5 / far - z * (1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z / 240.0)));
    // The smallest terms first.
    (0..steps).rev().fold(series, |y, k| y - 1.0 / (x + k as f64))
}

/// Halley's steps on erf, or on erfc where that is the more exact one.
fn erfinv(x: f64) -> f64 {
    let a = x.abs();
    if a.is_nan() || a >= 1.0 {
        return if a == 1.0 { f64::INFINITY.copysign(x) } else { f64::NAN };
    }
    let half_root_pi = 0.5 * std::f64::consts::PI.sqrt();
    let mut y = if a < 0.9 { a } else { (-(1.0 - a).ln()).sqrt() };
    for _ in 0..if a < 1e-9 { 0 } else { 8 } {
        let over = if a < 0.5 { erf(y) - a } else { (1.0 - a) - erfc(y) };
        let step = over * (y * y).exp() * half_root_pi;
        y -= step / (1.0 + y * step);
    }
    if a < 1e-9 { x * half_root_pi } else { y.copysign(x) }
}

/// A function over a range, with the error that it may have: in units of the last place of the result, or of `scale(x)`
/// where that is larger, which is the size of what cancels near a zero.
struct Case {
    name: &'static str,
    map: &'static Map,
    exact: fn(f64) -> f64,
    range: (f32, f32),
    scale: fn(f64) -> f64,
    bound: f64,
}

/// Every number of the range, or about two million of them.
fn numbers((low, high): (f32, f32)) -> Vec<f32> {
    // The bits of numbers in the order of numbers.
    let order = |x: f32| (x.to_bits() as i32 ^ ((x.to_bits() as i32 >> 31) as u32 >> 1) as i32) as i64;
    let value = |k: i64| f32::from_bits((k as i32 ^ ((k as i32 >> 31) as u32 >> 1) as i32) as u32);
    let (from, to) = (order(low), order(high));
    let step = ((to - from) / 1_000_000).max(1) as usize;
    let even = (0..1_000_000).map(|k| low + (high - low) * (k as f32 / 1e6));
    (from..=to).step_by(step).map(value).chain(even.filter(|x| x.is_finite())).collect()
}

/// The larger term of the reflection of digamma.
fn reflection(x: f64) -> f64 {
    let other = digamma(1.0 - x);
    let cotangent = (other - digamma(x)).abs();
    if cotangent.is_finite() { other.abs().max(cotangent) } else { 0.0 }
}

fn cases() -> Vec<Case> {
    let own = |_: f64| 0.0;
    let all = (f32::from_bits(1), f32::MAX);
    let case = |name, map, exact, range, scale, bound| Case { name, map, exact, range, scale, bound };
    vec![
        case("erfinv", &ERFINV, erfinv, (-1.0, 1.0), own, 4.0),
        case("erfinv at the end", &ERFINV, erfinv, (0.99, 1.0), own, 4.0),
        case("gamma", &GAMMA, gamma, all, own, 4.0),
        case("gamma, middle", &GAMMA, gamma, (0.1, 36.0), own, 4.0),
        case("gamma, negative", &GAMMA, gamma, (-45.0, 0.0), own, 6.0),
        case("gammaln", &GAMMALN, gammaln, all, own, 4.0),
        case("gammaln, middle", &GAMMALN, gammaln, (0.1, 10.0), own, 4.0),
        case("gammaln at 1", &GAMMALN, gammaln, (0.999, 1.001), own, 4.0),
        case("gammaln at 2", &GAMMALN, gammaln, (1.999, 2.001), own, 4.0),
        case("gammaln, negative", &GAMMALN, gammaln, (-30.0, 0.0), |x| gammaln(-x).abs().max(1.0), 4.0),
        case("gammaln, far below", &GAMMALN, gammaln, (-1e7, -30.0), own, 4.0),
        case("digamma", &DIGAMMA, digamma, all, own, 4.0),
        case("digamma, middle", &DIGAMMA, digamma, (0.1, 10.0), own, 4.0),
        case("digamma at its zero", &DIGAMMA, digamma, (1.461, 1.462), own, 4.0),
        case("digamma, negative", &DIGAMMA, digamma, (-1e4, 0.0), reflection, 4.0),
        case("digamma just below 0", &DIGAMMA, digamma, (-3.0, 0.0), reflection, 4.0),
    ]
}

fn accuracy() {
    let mut bad = Vec::new();
    for c in cases() {
        let x = numbers(c.range);
        let mut first: Option<Vec<f32>> = None;
        for isa in available() {
            limit(isa);
            let y = eval(c.map, &[&x]);
            let f = first.get_or_insert_with(|| y.clone());
            let same = |k: &usize| y[*k].to_bits() == f[*k].to_bits() || y[*k].is_nan() && f[*k].is_nan();
            if let Some(k) = (0..y.len()).find(|k| !same(k)) {
                bad.push(format!("{} on {isa:?}: {:e} gives {:e}, portable {:e}", c.name, x[k], y[k], f[k]));
            }
        }
        limit(detected());
        let y = first.unwrap();
        let error = |k: usize| {
            let (want, scale) = ((c.exact)(x[k] as f64), (c.scale)(x[k] as f64));
            let unit = 2f64.powi((scale.log2().floor() as i32).saturating_sub(23));
            if want.abs() < scale { (y[k] as f64 - want).abs() / unit } else { ulp(y[k], want) }
        };
        let (worst, at) = (0..x.len()).map(|k| (error(k), k)).max_by(|p, q| p.0.total_cmp(&q.0)).unwrap();
        println!("{:22} {worst:8.3} ulp at {:e} ({} ops)", c.name, x[at], c.map.ops());
        if worst > c.bound {
            let want = (c.exact)(x[at] as f64);
            bad.push(format!("{}: {worst} ulp at {:e}: {:e}, exact {want:e}", c.name, x[at], y[at]));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

fn edges() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let check = |map: &Map, pairs: &[(f32, f32)]| {
        let x: Vec<f32> = pairs.iter().map(|p| p.0).collect();
        for (y, (x, want)) in eval(map, &[&x]).into_iter().zip(pairs) {
            assert!(y.to_bits() == want.to_bits() || y.is_nan() && want.is_nan(), "{x:e} gives {y:e}, not {want:e}");
        }
    };
    for isa in available() {
        limit(isa);
        check(&ERFINV, &[(1.0, inf), (-1.0, -inf), (0.0, 0.0), (-0.0, -0.0)]);
        check(&ERFINV, &[(1.000_000_1, nan), (-2.0, nan), (inf, nan), (-inf, nan), (nan, nan)]);
        check(&GAMMA, &[(0.0, inf), (-0.0, -inf), (-1.0, nan), (-35.0, nan), (-1e9, nan), (-inf, nan), (nan, nan)]);
        check(&GAMMA, &[(inf, inf), (36.0, inf), (1e30, inf), (1.0, 1.0), (2.0, 1.0), (-60.5, -0.0), (-61.5, 0.0)]);
        check(&GAMMALN, &[(0.0, inf), (-0.0, inf), (-1.0, inf), (-1e9, inf), (-inf, inf), (inf, inf), (nan, nan)]);
        check(&GAMMALN, &[(1.0, 0.0), (2.0, 0.0), (4.2e36, inf), (f32::MAX, inf)]);
        check(&DIGAMMA, &[(0.0, -inf), (-0.0, inf), (-1.0, nan), (-1e9, nan), (-inf, nan), (inf, inf), (nan, nan)]);
        check(&DIGAMMA, &[(1e-40, -inf), (-1e-40, inf)]);
    }
    limit(detected());
}

/// One test, since the limit of the instruction set holds for the whole process.
#[test]
fn special_functions() {
    edges();
    accuracy();
}
