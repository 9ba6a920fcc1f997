//! Functions in float64: the C library lane by lane, and our own where it has none.
#![allow(clippy::unwrap_used)]
use gluonish_base::{DType, Dims};
use gluonish_kernels::map::{Class, Map, apply};
use gluonish_kernels::{Cx, Mode, Out, View, map};

fn eval(m: &Map, x: &[f64]) -> Vec<f64> {
    let (shape, strides) = (Dims::of(&[x.len() as isize]), Dims::of(&[1]));
    let view = |p: *const f64| View::contiguous(p as *mut u8, DType::F64, &shape, &strides);
    let mut y = vec![0f64; x.len()];
    let out = Out { view: view(y.as_mut_ptr()), mode: Mode::Write };
    apply(&Cx { threads: 1, ..Cx::default() }, m, Class::F64, &[view(x.as_ptr())], &out).unwrap();
    y
}

macro_rules! function {
    ($name:ident) => {{
        static M: Map = map!(float | i, x | i.$name(x));
        &M
    }};
}

#[test]
fn the_standard_ones() {
    let x: Vec<f64> = (-500..500).map(|k| k as f64 * 0.0371).chain([0.0, -0.0, f64::INFINITY, f64::NAN]).collect();
    type Exact = fn(f64) -> f64;
    let cases: [(&Map, Exact); 6] = [
        (function!(exp), f64::exp),
        (function!(log), f64::ln),
        (function!(tanh), f64::tanh),
        (function!(sin), f64::sin),
        (function!(round), f64::round_ties_even),
        (function!(sqrt), f64::sqrt),
    ];
    for (m, exact) in cases {
        for (x, y) in x.iter().zip(eval(m, &x)) {
            assert!(y.to_bits() == exact(*x).to_bits() || y.is_nan() && exact(*x).is_nan(), "{x}");
        }
    }
}

fn near(got: f64, want: f64) {
    assert!((got - want).abs() <= 4e-15 * want.abs().max(1.0) || got == want, "{got:e}, not {want:e}");
}

#[test]
fn known_answers() {
    let y = eval(function!(digamma), &[1.0, 0.5, 10.0, -0.5, 100.0, 0.0]);
    let want = [-0.577_215_664_901_532_9, -1.963_510_026_021_423_5, 2.251_752_589_066_721, 0.036_489_973_978_576_52];
    y.iter().zip(want).for_each(|(&y, w)| near(y, w));
    near(y[4], 4.600_161_852_738_087);
    assert_eq!(y[5], f64::NEG_INFINITY);
    let y = eval(function!(gammaln), &[1.0, 10.0, 0.5, -1.5, 1e10]);
    let want = [0.0, 12.801_827_480_081_469, 0.572_364_942_924_700_1, 0.860_047_015_376_481, 220_258_509_288.811_34];
    y.iter().zip(want).for_each(|(&y, w)| near(y, w));
    let y = eval(function!(gamma), &[5.0, 0.5, -0.5]);
    [24.0, 1.772_453_850_905_516, -3.544_907_701_811_032].iter().zip(y).for_each(|(&w, y)| near(y, w));
    let y = eval(function!(arccosh), &[1.0, 1e300, 0.5, -5.0]);
    assert!(y[0] == 0.0 && y[2].is_nan() && y[3].is_nan());
    near(y[1], 1e300f64.ln() + 2f64.ln());
}

#[test]
fn inverse_of_erf() {
    let x: Vec<f64> = (-29..30).map(|k| k as f64 * 0.1).chain([1e-12, -1e-5, 4.0, 5.0]).collect();
    let y = eval(function!(erf), &x);
    for (x, back) in x.iter().zip(eval(function!(erfinv), &y)) {
        // Near +-1 erf itself has lost digits: the derivative says how many.
        let room = 4e-16 * (x * x).exp() + 1e-15 * x.abs();
        assert!((back - x).abs() <= room, "{x}: {back}");
    }
    let edge = eval(function!(erfinv), &[1.0, -1.0, 1.5, f64::NAN, 0.0]);
    assert!(
        edge[0] == f64::INFINITY
            && edge[1] == f64::NEG_INFINITY
            && edge[2].is_nan()
            && edge[3].is_nan()
            && edge[4] == 0.0
    );
}
