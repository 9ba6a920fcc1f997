//! The functions that networks live on, float32 against float64, over a dense part of all float32 numbers: every 64th, or
//! every `ULP_STEP`th where that is set (1: all of them, minutes for each function). `ULP_ONLY` names one function.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
mod precision;

use gluonish_base::isa::{available, detected, limit};
use gluonish_kernels::map;
use gluonish_kernels::map::Map;
use precision::{eval, ulp};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers that a thread takes at a time.
const PIECE: u64 = 1 << 18;
const BOUND: f64 = 2.5;

struct Case {
    name: &'static str,
    map: &'static Map,
    exact: fn(f64) -> f64,
}

macro_rules! cases {
    ($($name:ident: $exact:expr;)+) => {
        [$({
            static M: Map = map!(float |i, x| i.$name(x));
            Case { name: stringify!($name), map: &M, exact: $exact }
        }),+]
    };
}

// SAFETY: the signature is that of the C library.
unsafe extern "C" {
    safe fn erf(x: f64) -> f64;
}

/// The largest error over every `step`th number and where it is; on every instruction set, which must all agree.
fn worst(case: &Case, step: u64) -> (f64, f32) {
    let next = AtomicU64::new(0);
    let found = Mutex::new((0.0, 0.0));
    let numbers = (1u64 << 32) / step;
    let work = |values: &Mutex<(f64, f32)>| {
        loop {
            let from = next.fetch_add(PIECE, Ordering::Relaxed);
            if from >= numbers {
                return;
            }
            let x: Vec<f32> = (from..numbers.min(from + PIECE)).map(|k| f32::from_bits((k * step) as u32)).collect();
            let y = eval(case.map, &[&x]);
            let here = x.iter().zip(&y).map(|(x, y)| (ulp(*y, (case.exact)(*x as f64)), *x));
            let (u, at) = here.max_by(|p, q| p.0.total_cmp(&q.0)).unwrap();
            let mut best = values.lock().unwrap();
            if u > best.0 {
                *best = (u, at);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|s| (0..threads).for_each(|_| drop(s.spawn(|| work(&found)))));
    found.into_inner().unwrap()
}

#[test]
fn common_functions() {
    let step = std::env::var("ULP_STEP").ok().and_then(|s| s.parse().ok()).unwrap_or(64).max(1);
    let only = std::env::var("ULP_ONLY").ok();
    let cases = cases! {
        exp: f64::exp;
        log: f64::ln;
        tanh: f64::tanh;
        sigmoid: |x| 1.0 / (1.0 + (-x).exp());
        erf: |x| erf(x);
        sin: f64::sin;
        cos: f64::cos;
    };
    let mut bad = Vec::new();
    for case in cases.iter().filter(|c| only.as_deref().is_none_or(|o| o == c.name)) {
        for isa in available() {
            limit(isa);
            let (u, at) = worst(case, step);
            println!("{:8} {isa:?}: {u:.3} ulp at {at:e}", case.name);
            if u > BOUND {
                bad.push(format!("{} on {isa:?}: {u} ulp at {at:e}", case.name));
            }
        }
    }
    limit(detected());
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
