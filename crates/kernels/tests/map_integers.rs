//! Integers: every pair of 8-bit values, and the corners of the wide types.
#![allow(clippy::unwrap_used)]
mod map_naive;
use gluonish_base::DType;
use gluonish_kernels::map::{Class, Map, apply};
use gluonish_kernels::{Cx, Mode, map};
use map_naive::{Arr, Val};

static ADD: Map = map!(num | i, a, b | i.add(a, b));
static SUB: Map = map!(num | i, a, b | i.sub(a, b));
static MUL: Map = map!(num | i, a, b | i.mul(a, b));
static FLOOR_DIV: Map = map!(num | i, a, b | i.floor_div(a, b));
static MODULO: Map = map!(num | i, a, b | i.modulo(a, b));
static FMOD: Map = map!(num | i, a, b | i.fmod(a, b));
static MAX: Map = map!(num | i, a, b | i.max(a, b));
static LE: Map = map!(compare | i, a, b | i.le(a, b));
static NE: Map = map!(compare | i, a, b | i.ne(a, b));
static BOTH: Map = map!(compare | i, a, b | i.and(i.truth(a), i.truth(b)));
static SIGN: Map = map!(num | i, a, b | i.add(i.sign(a), i.mul(i.abs(b), i.c(3.0))));
static AND: Map = map!(int | i, a, b | i.bit_and(a, b));
static XOR: Map = map!(int | i, a, b | i.bit_xor(a, i.bit_not(b)));
static SHL: Map = map!(int | i, a, b | i.shl(a, b));
static SHR: Map = map!(int | i, a, b | i.shr(a, b));
static POW: Map = map!(int | i, a, b | i.ipow(a, b));
static GCD: Map = map!(int | i, a, b | i.gcd(a, b));
static LCM: Map = map!(int | i, a, b | i.lcm(a, b));

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}
fn floor_div(a: i128, b: i128) -> i128 {
    if b == 0 { 0 } else { (a / b) - ((a % b != 0 && (a < 0) != (b < 0)) as i128) }
}
fn power(a: i128, n: i128) -> i128 {
    if n < 0 {
        return if a == 1 || a == -1 { power(a, -n % 2) } else { 0 };
    }
    (0..n).fold(1i128, |y, _| {
        y.wrapping_mul(a) & ((1 << 70) - 1) | if y.wrapping_mul(a) < 0 { !((1 << 70) - 1) } else { 0 }
    })
}
fn shifted(a: i128, n: i128, left: bool) -> i128 {
    match (left, (0..100).contains(&n)) {
        (true, true) => {
            if n < 64 {
                a << n
            } else {
                0
            }
        }
        (true, false) => 0,
        (false, true) => a >> n.min(100),
        (false, false) => a >> 100,
    }
}

fn check(dtype: DType, values: &[i128]) {
    let n = values.len();
    let mut a = Arr::contiguous(&[n as isize, 1], dtype);
    let mut b = Arr::contiguous(&[n as isize], dtype);
    for (k, &v) in values.iter().enumerate() {
        a.set(k, Val::I(v));
        b.set(k, Val::I(v));
    }
    type Exact = fn(i128, i128) -> i128;
    let cases: [(&str, &Map, Exact); 18] = [
        ("add", &ADD, |a, b| a + b),
        ("sub", &SUB, |a, b| a - b),
        ("mul", &MUL, |a, b| a.wrapping_mul(b)),
        ("floor_div", &FLOOR_DIV, floor_div),
        ("modulo", &MODULO, |a, b| if b == 0 { 0 } else { a - floor_div(a, b) * b }),
        ("fmod", &FMOD, |a, b| if b == 0 { 0 } else { a % b }),
        ("max", &MAX, i128::max),
        ("le", &LE, |a, b| (a <= b) as i128),
        ("ne", &NE, |a, b| (a != b) as i128),
        ("both", &BOTH, |a, b| (a != 0 && b != 0) as i128),
        ("sign", &SIGN, |a, b| a.signum() + 3 * b.abs()),
        ("and", &AND, |a, b| a & b),
        ("xor", &XOR, |a, b| a ^ !b),
        ("shl", &SHL, |a, b| shifted(a, b, true)),
        ("shr", &SHR, |a, b| shifted(a, b, false)),
        ("pow", &POW, power),
        ("gcd", &GCD, gcd),
        ("lcm", &LCM, |a, b| if a == 0 || b == 0 { 0 } else { (a / gcd(a, b)).abs().wrapping_mul(b.abs()) }),
    ];
    for (name, m, exact) in cases {
        if name == "pow" && dtype.size() == 8 {
            continue; // the naive one would take for ever
        }
        let target = if m.is_truth() { DType::Bool } else { dtype };
        let mut y = Arr::contiguous(&[n as isize, n as isize], target);
        apply(&Cx { threads: 1, ..Cx::default() }, m, Class::of(dtype), &[a.view(), b.view()], &y.out(Mode::Write))
            .unwrap();
        for (j, &p) in values.iter().enumerate() {
            for (k, &q) in values.iter().enumerate() {
                let (got, want) = (y.get(j * n + k), Val::I(exact(p, q)).to(target));
                // The wide types are their own lanes: what wraps there wraps once, as in NumPy.
                assert!(got.same(want), "{name} {dtype} {p} {q}: {got:?}, not {want:?}");
            }
        }
    }
}

#[test]
fn bytes() {
    check(DType::I8, &(-128..128).collect::<Vec<_>>());
    check(DType::U8, &(0..256).collect::<Vec<_>>());
    check(DType::Bool, &[0, 1]);
}

#[test]
fn corners() {
    let around = |v: &[i128]| v.iter().flat_map(|&v| [v - 1, v, v + 1]).collect::<Vec<_>>();
    for d in [DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64] {
        let (lo, hi) = d.int_range().unwrap();
        let mut v: Vec<i128> = around(&[0, 7, hi / 2, lo / 2]).into_iter().filter(|v| (lo..=hi).contains(v)).collect();
        v.extend([lo, lo + 1, hi - 1, hi]);
        if d.size() >= 4 {
            // Powers of huge exponents are beyond the naive evaluator.
            v.retain(|v| v.abs() < 1 << 20 || d.size() == 8);
        }
        check(d, &v);
    }
}
