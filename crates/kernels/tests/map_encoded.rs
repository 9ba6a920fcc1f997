//! Machine code against the interpreter: random chains, bit for bit. One test, since the instruction set is the process's.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod map_naive;
use gluonish_base::DType;
use gluonish_base::isa::{Isa, detected, limit};
use gluonish_kernels::map::{Map, Program, Value, run};
use gluonish_kernels::{Cx, Mode, Out, View, map};
use map_naive::{Arr, Rng};

macro_rules! maps {
    ($($kind:ident |$i:ident, $($x:ident),+| $e:expr;)+) => { [$({
        static M: Map = map!($kind |$i, $($x),+| $e);
        &M
    }),+] };
}

#[test]
fn random_chains() {
    if detected() < Isa::Avx2 {
        return;
    }
    let all: [&'static Map; 24] = maps! {
        num |i, a, b| i.add(a, b);
        num |i, a, b| i.sub(a, b);
        num |i, a, b| i.mul(a, b);
        num |i, a, b| i.max(a, b);
        num |i, a, b| i.min(a, b);
        num |i, a| i.neg(a);
        num |i, a| i.abs(a);
        num |i, a| i.sign(a);
        num |i, a| i.relu(a);
        float |i, a, b| i.div(a, b);
        float |i, a, b, c| i.fma(a, b, c);
        float |i, a| i.fma(a, a, a);
        float |i, a| i.exp(a);
        float |i, a| i.log(a);
        float |i, a| i.tanh(a);
        float |i, a| i.sigmoid(a);
        float |i, a| i.erf(a);
        float |i, a, b| i.arctan2(a, b);
        float |i, a| i.sqrt(i.floor(a));
        float |i, a| i.round(i.mul(a, i.c(3.7)));
        float |i, a, b| i.pow(a, b);
        compare |i, a, b| i.lt(a, b);
        compare |i, a, b| i.xor(i.le(a, b), i.not(i.eq(a, b)));
        num |i, c, a, b| i.select(i.truth(c), a, b);
    };
    let mut rng = Rng(21);
    let mut encoded = 0;
    for round in 0..120 {
        let inputs = 1 + rng.below(6);
        let mut b = Program::builder();
        let mut values: Vec<Value> = (0..inputs).map(|_| b.input(DType::F32)).collect();
        values.push(b.constant(0.75));
        // Long chains with many values alive at once make registers run out.
        let steps = if round % 4 == 0 { 60 } else { 2 + rng.below(8) };
        for _ in 0..steps {
            let m = rng.pick(&all);
            let args: Vec<Value> = (0..m.arity()).map(|_| rng.pick(&values)).collect();
            values.push(b.step(m, DType::F32, &args).unwrap());
        }
        let mut sums = *values.last().unwrap();
        for &v in &values[inputs + 1..] {
            sums = b.step(all[0], DType::F32, &[sums, v]).unwrap();
        }
        b.output(sums, DType::F32).unwrap();
        b.output(*values.last().unwrap(), DType::F32).unwrap();
        b.output(*values.last().unwrap(), DType::F32).unwrap();
        let program = b.build().unwrap();
        let n = 16_384 + rng.below(20) as isize;
        let ins: Vec<Arr> = (0..inputs)
            .map(|_| {
                let a = match rng.below(4) {
                    0 => Arr::contiguous(&[1], DType::F32),
                    1 => Arr::random(&mut rng, &[n], DType::F32),
                    _ => Arr::contiguous(&[n], DType::F32),
                };
                a.fill(&mut rng)
            })
            .collect();
        let compute = |isa| {
            limit(isa);
            let mut outs: Vec<Arr> = (0..3).map(|_| Arr::contiguous(&[n], DType::F32)).collect();
            let views: Vec<View> = ins.iter().map(Arr::view).collect();
            let targets: Vec<Out> = outs.iter_mut().map(|o| o.out(Mode::Write)).collect();
            run(&Cx { threads: 2, ..Cx::default() }, &program, &views, &targets).unwrap();
            outs
        };
        let (fast, slow) = (compute(Isa::Avx2), compute(Isa::Portable));
        encoded += program.is_encoded() as usize;
        for (a, b) in fast.iter().zip(&slow) {
            let differs = (0..n as usize).find(|&k| !a.get(k).same(b.get(k)));
            assert_eq!(differs, None, "round {round}: {:?}", differs.map(|k| (a.get(k), b.get(k))));
        }
    }
    limit(detected());
    assert!(encoded > 100 || std::env::var("GLUONISH_JIT").is_ok(), "only {encoded} chains became code");
}

/// A chain that calls the C library stays with the interpreter; outputs may lie over inputs.
#[test]
fn refused_and_in_place() {
    static SIN: Map = map!(float | i, a | i.sin(a));
    static ADD: Map = map!(num | i, a, b | i.add(a, b));
    static MUL: Map = map!(num | i, a, b | i.mul(a, b));
    let mut rng = Rng(1);
    let n = 20_003isize;
    for with_sin in [true, false] {
        let mut b = Program::builder();
        let (x, y) = (b.input(DType::F32), b.input(DType::F32));
        let s = b.step(&ADD, DType::F32, &[x, y]).unwrap();
        let p = b.step(&MUL, DType::F32, &[x, s]).unwrap();
        let q = if with_sin { b.step(&SIN, DType::F32, &[p]).unwrap() } else { p };
        b.output(s, DType::F32).unwrap();
        b.output(q, DType::F32).unwrap();
        let program = b.build().unwrap();
        let mut a = Arr::contiguous(&[n], DType::F32).fill(&mut rng);
        let mut c = Arr::contiguous(&[n], DType::F32).fill(&mut rng);
        let (a0, c0) = (a.clone(), c.clone());
        let (oa, oc) = (a.out(Mode::Write), c.out(Mode::Write));
        run(&Cx { threads: 1, ..Cx::default() }, &program, &[oa.view, oc.view], &[oa, oc]).unwrap();
        assert!(!(with_sin && program.is_encoded()));
        for k in 0..n as usize {
            let (x, y) = (a0.get(k).f() as f32, c0.get(k).f() as f32);
            assert!(a.get(k).f() as f32 == x + y || (x + y).is_nan());
            if !with_sin {
                assert!(c.get(k).f() as f32 == x * (x + y) || (x * (x + y)).is_nan());
            }
        }
    }
}
