//! Random programs against the naive evaluator, run step by step as if each operation stood alone.
mod map_naive;
use gluonish_base::{Cause, DType};
use gluonish_kernels::map::{Builder, Class, FEW, Lane, Map, Program, Value, apply, run};
use gluonish_kernels::{Cx, Mode, Out, View, map};
use map_naive::{Arr, Op, Rng, Val, eval};

static ADD: Map = map!(num | i, a, b | i.add(a, b));
static SUB: Map = map!(num | i, a, b | i.sub(a, b));
static MUL: Map = map!(num | i, a, b | i.mul(a, b));
static MAX: Map = map!(num | i, a, b | i.max(a, b));
static NEG: Map = map!(num | i, a | i.neg(a));
static LESS: Map = map!(compare | i, a, b | i.lt(a, b));
static WHERE: Map = map!(num | i, c, a, b | i.select(i.truth(c), a, b));
static DIV: Map = map!(float | i, a, b | i.div(a, b));
static FMA: Map = map!(float | i, a, b, c | i.fma(a, b, c));

const OPS: [(Op, &Map); 9] = [
    (Op::Add, &ADD),
    (Op::Sub, &SUB),
    (Op::Mul, &MUL),
    (Op::Max, &MAX),
    (Op::Neg, &NEG),
    (Op::Less, &LESS),
    (Op::Where, &WHERE),
    (Op::Div, &DIV),
    (Op::Fma, &FMA),
];

fn cx(threads: usize) -> Cx {
    Cx { threads, ..Cx::default() }
}

/// How a value of the program comes about.
enum Made {
    Input(usize),
    Number(f64),
    Step(Op, DType, Vec<usize>),
    Cast(usize, DType),
}

fn value(made: &[Made], v: usize, x: &[Val], as_type: Option<DType>) -> Val {
    let y = match &made[v] {
        Made::Input(k) => x[*k],
        Made::Number(n) => Val::F(*n),
        Made::Step(op, compute, args) => {
            let args: Vec<Val> = args.iter().map(|&a| value(made, a, x, Some(*compute))).collect();
            let y = eval(*op, Class::of(*compute), &args);
            if matches!(op, Op::Less) { y } else { y.to(*compute) }
        }
        Made::Cast(a, d) => value(made, *a, x, Some(*d)),
    };
    as_type.map_or(y, |d| y.to(d))
}

#[test]
fn random_programs() {
    let mut rng = Rng(5);
    let mut straight = 0;
    for round in 0..400 {
        let types: &[DType] = match round % 3 {
            0 => &[DType::F32],
            1 => &[DType::F32, DType::F16, DType::I32, DType::Bool],
            _ => &DType::ALL,
        };
        let mut b: Builder = Program::builder();
        let (mut made, mut values): (Vec<Made>, Vec<Value>) = (Vec::new(), Vec::new());
        let inputs: Vec<DType> = (0..1 + rng.below(4)).map(|_| rng.pick(types)).collect();
        for (k, &d) in inputs.iter().enumerate() {
            made.push(Made::Input(k));
            values.push(b.input(d));
        }
        if rng.below(2) == 0 {
            let n = rng.pick(&[0.5, 2.0, 3.0]);
            made.push(Made::Number(n));
            values.push(b.constant(n));
        }
        for _ in 0..1 + rng.below(10) {
            let (op, m) = rng.pick(&OPS);
            let compute = rng.pick(types);
            if rng.below(8) == 0 {
                let a = rng.below(values.len());
                values.push(b.cast(values[a], compute).unwrap());
                made.push(Made::Cast(a, compute));
            } else if m.has(Class::of(compute)) {
                let args: Vec<usize> = (0..m.arity()).map(|_| rng.below(values.len())).collect();
                let v: Vec<Value> = args.iter().map(|&a| values[a]).collect();
                values.push(b.step(m, compute, &v).unwrap());
                made.push(Made::Step(op, compute, args));
            }
        }
        let results: Vec<(usize, DType)> =
            (0..1 + rng.below(3)).map(|_| (rng.below(values.len()), rng.pick(types))).collect();
        for &(v, d) in &results {
            b.output(values[v], d).unwrap();
        }
        let program = b.build().unwrap();
        assert_eq!(program.inputs(), inputs);
        straight += check_straight(&mut rng, &program, &made, &results) as u32;

        let shape: Vec<isize> = if round % 20 == 0 {
            vec![100_003]
        } else {
            (0..rng.below(4)).map(|_| rng.pick(&[1, 2, 5, 9, 30])).collect()
        };
        let ins: Vec<Arr> = inputs
            .iter()
            .map(|&d| {
                let s: Vec<isize> = shape.iter().map(|&n| if rng.below(4) == 0 { 1 } else { n }).collect();
                Arr::random(&mut rng, &s, d).fill(&mut rng)
            })
            .collect();
        let mode = if rng.below(4) == 0 { Mode::Add } else { Mode::Write };
        let mut outs: Vec<Arr> =
            results.iter().map(|&(_, d)| Arr::random(&mut rng, &shape, d).fill(&mut rng)).collect();
        let views: Vec<View> = ins.iter().map(Arr::view).collect();
        let targets: Vec<Out> = outs.iter_mut().map(|o| o.out(mode)).collect();
        run(&cx(1 + round % 2), &program, &views, &targets).unwrap();
        for (j, (&(v, d), out)) in results.iter().zip(&outs).enumerate() {
            for k in 0..out.shape.size() {
                let x: Vec<Val> = ins.iter().map(|a| a.get_broadcast(k, &out.shape)).collect();
                if mode == Mode::Add {
                    continue; // the sum is formed in the lanes of the value: see below for what that gives
                }
                let want = value(&made, v, &x, None).to(d);
                let got = out.get(k);
                assert!(got.same(want), "round {round}, output {j} {d} [{k}] of {x:?}: {got:?}, not {want:?}");
            }
        }
    }
    assert!(straight > 50, "only {straight} programs ran straight");
}

/// Runs a program over a few values in lines, one operand perhaps a number. False: it is not such a program.
fn check_straight(rng: &mut Rng, program: &Program, made: &[Made], results: &[(usize, DType)]) -> bool {
    if !program.is_straight() {
        return false;
    }
    let n = 1 + rng.below(FEW);
    let ins: Vec<Arr> = program.inputs().iter().map(|&d| Arr::contiguous(&[n as isize], d).fill(rng)).collect();
    let number = rng.below(2 * ins.len());
    let lanes: Vec<Lane> = (0..ins.len())
        .map(|k| if k == number { Lane::Number(0.75.into()) } else { Lane::Line(ins[k].view().ptr) })
        .collect();
    let mut outs: Vec<Arr> = results.iter().map(|&(_, d)| Arr::contiguous(&[n as isize], d).fill(rng)).collect();
    let targets: Vec<*mut u8> = outs.iter_mut().map(|o| o.out(Mode::Write).view.ptr).collect();
    // SAFETY: all lines have `n` values of the program's types, and the outputs are apart from them.
    assert!(unsafe { program.straight(&targets, &lanes, n) });
    for (j, &(v, d)) in results.iter().enumerate().filter(|(j, _)| program.passed_on(*j).is_none()) {
        for k in 0..n {
            let x: Vec<Val> =
                ins.iter().enumerate().map(|(i, a)| if i == number { Val::F(0.75) } else { a.get(k) }).collect();
            let (got, want) = (outs[j].get(k), value(made, v, &x, None).to(d));
            assert!(got.same(want), "output {j} {d} [{k}] of {x:?}: {got:?}, not {want:?}");
        }
    }
    true
}

#[test]
fn adds_to_outputs() {
    let mut b = Program::builder();
    let x = b.input(DType::F32);
    let two = b.constant(2.0);
    let y = b.step(&MUL, DType::F32, &[x, two]).unwrap();
    b.output(y, DType::F32).unwrap();
    b.output(y, DType::F16).unwrap();
    let p = b.build().unwrap();
    let mut rng = Rng(2);
    let x = Arr::random(&mut rng, &[40, 50], DType::F32).fill(&mut rng);
    let mut outs =
        [Arr::contiguous(&[40, 50], DType::F32).fill(&mut rng), Arr::contiguous(&[40, 50], DType::F16).fill(&mut rng)];
    let before = outs.clone();
    let [a, c] = &mut outs;
    run(&cx(1), &p, &[x.view()], &[a.out(Mode::Add), c.out(Mode::Add)]).unwrap();
    for k in 0..2000 {
        for (o, b) in outs.iter().zip(&before) {
            let twice = eval(Op::Mul, Class::F32, &[x.get(k), Val::F(2.0)]);
            let want = eval(Op::Add, Class::F32, &[b.get(k), twice]).to(o.dtype);
            assert!(o.get(k).same(want));
        }
    }
}

/// An output that overwrites an input which later steps still read.
#[test]
fn output_over_an_input() {
    let mut b = Program::builder();
    let (x, y) = (b.input(DType::F32), b.input(DType::F32));
    let s = b.step(&ADD, DType::F32, &[x, y]).unwrap();
    let d = b.step(&SUB, DType::F32, &[x, s]).unwrap();
    b.output(s, DType::F32).unwrap();
    b.output(d, DType::F32).unwrap();
    b.output(x, DType::F32).unwrap();
    let p = b.build().unwrap();
    let mut rng = Rng(9);
    let n = 5000;
    let mut x = Arr::contiguous(&[n], DType::F32).fill(&mut rng);
    let y = Arr::contiguous(&[n], DType::F32).fill(&mut rng);
    let (old, mut d, mut copy) = (x.clone(), y.clone(), y.clone());
    let out = x.out(Mode::Write);
    run(&cx(1), &p, &[out.view, y.view()], &[out, d.out(Mode::Write), copy.out(Mode::Write)]).unwrap();
    for k in 0..n as usize {
        let s = eval(Op::Add, Class::F32, &[old.get(k), y.get(k)]);
        assert!(x.get(k).same(s));
        assert!(d.get(k).same(eval(Op::Sub, Class::F32, &[old.get(k), s])));
        assert!(copy.get(k).same(old.get(k)));
    }
}

/// A chain gives the same bits as its operations one by one, also in float16, where every result is rounded.
#[test]
fn chain_equals_single_steps() {
    static GELU: Map = map!(
        float | i,
        x | {
            let half = i.mul(x, i.c(0.5));
            i.add(half, i.mul(half, i.erf(i.mul(x, i.c(std::f64::consts::FRAC_1_SQRT_2)))))
        }
    );
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64] {
        let mut b = Program::builder();
        let (x, y) = (b.input(dtype), b.input(dtype));
        let p = b.step(&MUL, dtype, &[x, y]).unwrap();
        let q = b.step(&ADD, dtype, &[p, y]).unwrap();
        let r = b.step(&GELU, dtype, &[q]).unwrap();
        b.output(r, dtype).unwrap();
        let program = b.build().unwrap();
        let mut rng = Rng(4);
        let shape = [70_000];
        let (x, y) = (Arr::contiguous(&shape, dtype).fill(&mut rng), Arr::contiguous(&shape, dtype).fill(&mut rng));
        let (mut fused, mut t, mut u) =
            (Arr::contiguous(&shape, dtype), Arr::contiguous(&shape, dtype), Arr::contiguous(&shape, dtype));
        run(&cx(2), &program, &[x.view(), y.view()], &[fused.out(Mode::Write)]).unwrap();
        let class = Class::of(dtype);
        apply(&cx(1), &MUL, class, &[x.view(), y.view()], &t.out(Mode::Write)).unwrap();
        apply(&cx(1), &ADD, class, &[t.view(), y.view()], &u.out(Mode::Write)).unwrap();
        apply(&cx(1), &GELU, class, &[u.view()], &t.out(Mode::Write)).unwrap();
        let differs = (0..70_000).find(|&k| !fused.get(k).same(t.get(k)));
        assert_eq!(differs, None, "{dtype}");
    }
}

#[test]
fn refusals() {
    let mut b = Program::builder();
    let x = b.input(DType::I32);
    assert!(matches!(b.step(&DIV, DType::I32, &[x, x]).unwrap_err().cause(), Cause::DType(_)));
    assert!(matches!(b.step(&ADD, DType::I32, &[x]).unwrap_err().cause(), Cause::Argument(_)));
    assert!(Program::builder().build().is_err());
    let y = b.step(&NEG, DType::I32, &[x]).unwrap();
    b.output(y, DType::I32).unwrap();
    let p = b.build().unwrap();
    let mut a = Arr::contiguous(&[3], DType::F32);
    let i = Arr::contiguous(&[3], DType::I32);
    assert!(matches!(run(&cx(1), &p, &[i.view()], &[a.out(Mode::Write)]).unwrap_err().cause(), Cause::DType(_)));
    assert!(matches!(run(&cx(1), &p, &[], &[]).unwrap_err().cause(), Cause::Argument(_)));
}

/// Pairs of cheap steps become one, with the same bits; truth values, several readers and integers do not.
#[test]
fn cheap_steps_are_paired() {
    let count = |dtype: DType, twice: bool| {
        let mut b = Program::builder();
        let (x, y) = (b.input(dtype), b.input(dtype));
        let p = b.step(&MUL, dtype, &[x, y]).unwrap();
        let q = b.step(&SUB, dtype, &[y, p]).unwrap();
        let r = b.step(&ADD, dtype, &[q, if twice { p } else { x }]).unwrap();
        b.output(r, dtype).unwrap();
        b.build().unwrap().len()
    };
    assert_eq!(count(DType::F32, false), 2);
    assert_eq!(count(DType::F64, true), 2);
    assert_eq!(count(DType::I32, false), 3);
}
