//! Every function in float32 against float64, over dense sweeps, on every instruction set that the machine has; and the
//! instruction sets against each other, bit for bit.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
mod precision;

use gluonish_base::isa::{available, detected, limit};
use gluonish_kernels::map;
use gluonish_kernels::map::Map;
use precision::{eval, ulp};

/// Every 997th bit pattern, and the special values.
fn everything() -> Vec<f32> {
    let special =
        [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, f32::MAX, f32::MIN];
    let tiny = [f32::from_bits(1), -f32::from_bits(1), f32::from_bits(0x7fffff)];
    (0..=u32::MAX).step_by(997).map(f32::from_bits).chain(special).chain(tiny).collect()
}
fn range(lo: f32, hi: f32, n: usize) -> impl Iterator<Item = f32> {
    (0..n).map(move |k| lo + (hi - lo) * (k as f32 / n as f32))
}

struct Case {
    name: &'static str,
    map: &'static Map,
    exact: fn(f64) -> f64,
    dense: (f32, f32),
    bound: f64,
}

macro_rules! cases {
    ($($name:ident: $exact:expr, $dense:expr, $bound:expr;)+) => {
        [$({
            static M: Map = map!(float |i, x| i.$name(x));
            Case { name: stringify!($name), map: &M, exact: $exact, dense: $dense, bound: $bound }
        }),+]
    };
}

// SAFETY: the signatures are those of the C library.
unsafe extern "C" {
    safe fn erf(x: f64) -> f64;
    safe fn erfc(x: f64) -> f64;
    safe fn tgamma(x: f64) -> f64;
}

#[test]
fn functions() {
    let cases = cases! {
        exp: f64::exp, (-104.0, 89.0), 1.0;
        exp2: f64::exp2, (-150.0, 128.0), 1.5;
        expm1: f64::exp_m1, (-20.0, 89.0), 1.5;
        log: f64::ln, (0.2, 5.0), 1.0;
        log2: f64::log2, (0.2, 5.0), 2.0;
        log10: f64::log10, (0.2, 5.0), 2.0;
        log1p: f64::ln_1p, (-0.9999, 5.0), 2.0;
        tanh: f64::tanh, (-10.0, 10.0), 2.5;
        sigmoid: |x| 1.0 / (1.0 + (-x).exp()), (-104.0, 30.0), 2.5;
        erf: |x| erf(x), (-4.5, 4.5), 2.5;
        erfc: |x| erfc(x), (-4.5, 10.0), 0.51;
        normal_cdf: |x| 0.5 * erfc(x * -std::f64::consts::FRAC_1_SQRT_2), (-14.0, 6.0), 6.0;
        gelu: |x| if x < -20.0 { 0.0 } else { 0.5 * x * erfc(x * -std::f64::consts::FRAC_1_SQRT_2) }, (-13.0, 6.0), 8.0;
        sin: f64::sin, (-100.0, 100.0), 1.6;
        cos: f64::cos, (-100.0, 100.0), 1.6;
        tan: f64::tan, (-10.0, 10.0), 2.5;
        arcsin: f64::asin, (-1.0, 1.0), 2.0;
        arccos: f64::acos, (-1.0, 1.0), 2.0;
        arctan: f64::atan, (-10.0, 10.0), 2.1;
        sinh: f64::sinh, (-89.5, 89.5), 2.5;
        cosh: f64::cosh, (-89.5, 89.5), 2.5;
        arcsinh: f64::asinh, (-10.0, 10.0), 2.5;
        arccosh: |x| if x < 1.0 { f64::NAN } else { x.acosh() }, (1.0, 10.0), 2.5;
        arctanh: f64::atanh, (-1.0, 1.0), 2.5;
        cbrt: f64::cbrt, (-10.0, 10.0), 1.0;
        gamma: |x| tgamma(x), (-5.0, 35.0), 6.0;
        rsqrt: |x| 1.0 / x.sqrt(), (0.0, 10.0), 1.5;
        reciprocal: |x| 1.0 / x, (-2.0, 2.0), 0.51;
        floor: f64::floor, (-10.0, 10.0), 0.0;
        ceil: f64::ceil, (-10.0, 10.0), 0.0;
        trunc: f64::trunc, (-10.0, 10.0), 0.0;
        round: f64::round_ties_even, (-10.0, 10.0), 0.0;
        sqrt: f64::sqrt, (0.0, 10.0), 0.51;
    };
    let wide = everything();
    let mut bad = Vec::new();
    for c in &cases {
        let mut x = wide.clone();
        x.extend(range(c.dense.0, c.dense.1, 1_000_000));
        let mut first: Option<Vec<f32>> = None;
        for isa in available() {
            limit(isa);
            let y = eval(c.map, &[&x]);
            if let Some(f) = &first {
                let differ =
                    f.iter().zip(&y).position(|(a, b)| a.to_bits() != b.to_bits() && !(a.is_nan() && b.is_nan()));
                if let Some(k) = differ {
                    bad.push(format!("{} on {isa:?}: {:e} gives {:e}, portable {:e}", c.name, x[k], y[k], f[k]));
                }
                continue;
            }
            let (mut worst, mut at) = (0.0, 0);
            for k in 0..x.len() {
                let u = ulp(y[k], (c.exact)(x[k] as f64));
                if u > worst {
                    (worst, at) = (u, k);
                }
            }
            println!("{:12} {worst:8.3} ulp at {:e} ({} ops)", c.name, x[at], c.map.ops());
            if worst > c.bound {
                let want = (c.exact)(x[at] as f64);
                bad.push(format!("{}: {worst} ulp at {:e}: {:e}, exact {want:e}", c.name, x[at], y[at]));
            }
            first = Some(y);
        }
    }
    pairs(&mut bad);
    limit(detected());
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Functions of two operands, over pairs of special values and random ones.
fn pairs(bad: &mut Vec<String>) {
    static POW: Map = map!(float | i, a, b | i.pow(a, b));
    static ARCTAN2: Map = map!(float | i, a, b | i.arctan2(a, b));
    static HYPOT: Map = map!(float | i, a, b | i.hypot(a, b));
    static MODULO: Map = map!(float | i, a, b | i.modulo(a, b));
    static FLOOR_DIV: Map = map!(float | i, a, b | i.floor_div(a, b));
    static FMOD: Map = map!(float | i, a, b | i.fmod(a, b));
    let floor_div = |a: f64, b: f64| {
        // Exact quotients of float32 numbers are far from any integer they are not, in float64.
        if b == 0.0 { a / b } else { ((a - modulo(a, b)) / b).round() }
    };
    type Pair<'a> = (&'a str, &'a Map, fn(f64, f64) -> f64, f64);
    let cases: [Pair; 5] = [
        ("pow", &POW, f64::powf, 2.0),
        ("arctan2", &ARCTAN2, f64::atan2, 2.5),
        ("hypot", &HYPOT, f64::hypot, 1.2),
        ("modulo", &MODULO, modulo, 0.51),
        ("fmod", &FMOD, |a, b| a % b, 0.0),
    ];
    let inf = f32::INFINITY;
    let special = [
        0.0,
        -0.0,
        0.5,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        -3.0,
        2.5,
        -0.3,
        inf,
        -inf,
        f32::NAN,
        1e-40,
        -1e-40,
        3e38,
        -3e38,
        16777216.0,
    ];
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for x in special {
        for y in special {
            a.push(x);
            b.push(y);
        }
    }
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as f32 / (1u64 << 31) as f32
    };
    for k in 0..1_000_000 {
        // Bases of all sizes; exponents such that most results are finite.
        let x = ((random() - 0.5) * if k % 2 == 0 { 160.0 } else { 2.0 }).exp();
        let y = (random() - 0.5) * 200.0 / x.ln().abs().max(0.001);
        a.push(if k % 5 == 0 { -x } else { x });
        b.push(if k % 5 == 0 { y.round() } else { y });
    }
    for (name, m, exact, bound) in cases {
        let mut first: Option<Vec<f32>> = None;
        for isa in available() {
            limit(isa);
            let y = eval(m, &[&a, &b]);
            let f = first.get_or_insert_with(|| y.clone());
            if let Some(k) =
                (0..y.len()).find(|&k| y[k].to_bits() != f[k].to_bits() && !(y[k].is_nan() && f[k].is_nan()))
            {
                bad.push(format!("{name} on {isa:?}: ({:e}, {:e}) gives {:e}, portable {:e}", a[k], b[k], y[k], f[k]));
            }
        }
        let y = first.unwrap_or_default();
        let worst =
            (0..y.len()).map(|k| (ulp(y[k], exact(a[k] as f64, b[k] as f64)), k)).max_by(|p, q| p.0.total_cmp(&q.0));
        let (u, k) = worst.unwrap();
        println!("{name:12} {u:8.3} ulp at {:e}, {:e} ({} ops)", a[k], b[k], m.ops());
        if u > bound {
            let want = exact(a[k] as f64, b[k] as f64);
            bad.push(format!("{name}: {u} ulp at ({:e}, {:e}): {:e}, exact {want:e}", a[k], b[k], y[k]));
        }
    }
    limit(detected());
    let y = eval(&FLOOR_DIV, &[&a, &b]);
    for k in 0..y.len() {
        let want = floor_div(a[k] as f64, b[k] as f64) as f32;
        let far = (a[k] / b[k]).abs() > 1e5;
        if !far && y[k] != want && !(y[k].is_nan() && (want.is_nan() || a[k].is_infinite())) && b[k].is_finite() {
            bad.push(format!("floor_div ({:e}, {:e}): {:e}, exact {want:e}", a[k], b[k], y[k]));
        }
    }
}

/// Python's remainder.
fn modulo(a: f64, b: f64) -> f64 {
    let r = a % b;
    if r != 0.0 && (r < 0.0) != (b < 0.0) {
        r + b
    } else if r == 0.0 {
        r.copysign(b)
    } else {
        r
    }
}
