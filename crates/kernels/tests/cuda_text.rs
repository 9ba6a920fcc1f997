//! The CUDA C text of formulas: well formed as far as a look at it can tell. A compiler looks at it elsewhere.
#![allow(clippy::unwrap_used)]
use gluonish_base::{DType, Dims, MAX_DIMS};
use gluonish_kernels::map::{Class, Map, Program, device_space};
use gluonish_kernels::{Mode, Out, View, map};

fn check(name: &str, text: &str) {
    assert!(text.contains(&format!("extern \"C\" __global__ void {name}(")), "{text}");
    for (open, close) in [('(', ')'), ('{', '}'), ('[', ']')] {
        let count = |c| text.chars().filter(|&x| x == c).count();
        assert_eq!(count(open), count(close), "{name}: {open}{close}\n{text}");
    }
    // Every variable is declared once, before it is used.
    let body = &text[text.find("long long rest").unwrap()..];
    let mut declared = std::collections::BTreeSet::new();
    for line in body.lines() {
        let words: Vec<&str> =
            line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
        let is_variable = |w: &str| w.starts_with('v') && w[1..].parse::<u32>().is_ok();
        let names: Vec<&str> = words.into_iter().filter(|w| is_variable(w)).collect();
        let declares = line.contains('=')
            && !line.trim_start().starts_with('y')
            && line.split('=').next().is_some_and(|l| names.first().is_some_and(|n| l.contains(n)));
        let uses = if declares { &names[1..] } else { &names[..] };
        for u in uses {
            assert!(declared.contains(*u), "{name}: {u} in {line}");
        }
        if declares {
            assert!(declared.insert(names[0]), "{name}: {line}");
        }
    }
}

macro_rules! float_functions {
    ($($name:ident)+) => { [$({
        static M: Map = map!(float |i, x| i.$name(x));
        (stringify!($name), &M)
    }),+] };
}

#[test]
fn functions() {
    let all: [(&str, &Map); 36] = float_functions!(
        exp exp2 expm1 log log2 log10 log1p tanh sigmoid erf normal_cdf gelu gelu_slope sin cos tan arcsin arccos arctan sinh cosh arcsinh arccosh
        arctanh cbrt erfc erfinv gamma gammaln digamma reciprocal rsqrt softplus floor sqrt round
    );
    for (name, m) in all {
        for (class, d) in [(Class::F32, DType::F32), (Class::F32, DType::F16), (Class::F64, DType::F64)] {
            check(name, &m.cuda(name, class, &[d], d).unwrap());
        }
        assert!(m.cuda(name, Class::I32, &[DType::I32], DType::I32).is_err());
    }
    assert!(all[0].1.cuda("f", Class::F32, &[DType::F32], DType::F32).unwrap().contains("__fmaf_rn"));
}

#[test]
fn operators() {
    static ADD: Map = map!(num | i, a, b | i.add(a, b));
    static POW: Map = map!(float | i, a, b | i.pow(a, b));
    static LESS: Map = map!(compare | i, a, b | i.and(i.lt(a, b), i.ne(a, i.c(1.5))));
    static CLIP: Map = map!(num | i, x, lo, hi | i.clamp(x, lo, hi));
    static REST: Map = map!(num | i, a, b | i.add(i.modulo(a, b), i.floor_div(i.sign(a), i.fmod(a, b))));
    static BITS: Map = map!(int | i, a, b | i.bit_xor(i.shl(a, b), i.lcm(i.ipow(a, b), i.shr(a, b))));
    for m in [&ADD, &POW, &LESS, &CLIP, &REST, &BITS] {
        for d in DType::ALL {
            let class = Class::of(d);
            if m.has(class) {
                let out = if m.is_truth() { DType::Bool } else { d };
                check("op", &m.cuda("op", class, &vec![d; m.arity()], out).unwrap());
                // Any input type, any output type.
                for other in DType::ALL {
                    check("op", &m.cuda("op", class, &vec![other; m.arity()], other).unwrap());
                }
            }
        }
    }
    assert!(ADD.cuda("add", Class::F32, &[DType::F32; 2], DType::F32).unwrap().contains("__fadd_rn(v0, v1)"));
}

#[test]
fn programs() {
    static MUL: Map = map!(num | i, a, b | i.mul(a, b));
    static TANH: Map = map!(float | i, a | i.tanh(a));
    let mut b = Program::builder();
    let (x, y, k) = (b.input(DType::F16), b.input(DType::I32), b.constant(0.5));
    let p = b.step(&MUL, DType::F16, &[x, k]).unwrap();
    let q = b.step(&TANH, DType::F32, &[p]).unwrap();
    let r = b.step(&MUL, DType::F32, &[q, y]).unwrap();
    b.output(r, DType::F32).unwrap();
    b.output(p, DType::F16).unwrap();
    check("chain", &b.build().unwrap().cuda("chain").unwrap());
}

#[test]
fn spaces() {
    let (shape, strides) = (Dims::of(&[3, 4]), Dims::of(&[4, 1]));
    let (row, one) = (Dims::of(&[4]), Dims::of(&[1]));
    let view = |s, t| View::contiguous(std::ptr::null_mut(), DType::F32, s, t);
    let out = Out { view: view(&shape, &strides), mode: Mode::Add };
    let words = device_space(&[view(&shape, &strides), view(&row, &one)], &[out]).unwrap();
    assert_eq!(words[..5], [12, 2, 1, 3, 4]);
    let strides_of = |k: usize| &words[3 + MAX_DIMS * (k + 1)..][..2];
    assert_eq!([strides_of(0), strides_of(1), strides_of(2)], [[4, 1], [4, 1], [0, 1]]);
    let words = device_space(&[view(&shape, &strides)], &[out]).unwrap();
    assert_eq!(words[..4], [12, 1, 1, 12]);
}
