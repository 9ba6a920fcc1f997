//! Random calls of single formulas against the naive evaluator: shapes, strides, broadcasting, element types, modes.
mod map_naive;
use gluonish_base::{Cause, DType, Dims, Scalar};
use gluonish_kernels::map::{Class, Map, apply};
use gluonish_kernels::{Cx, Mode, Out, View, map};
use map_naive::{Arr, Op, Rng, Val, eval};

static ADD: Map = map!(num | i, a, b | i.add(a, b));
static SUB: Map = map!(num | i, a, b | i.sub(a, b));
static MUL: Map = map!(num | i, a, b | i.mul(a, b));
static MAX: Map = map!(num | i, a, b | i.max(a, b));
static MIN: Map = map!(num | i, a, b | i.min(a, b));
static NEG: Map = map!(num | i, a | i.neg(a));
static LESS: Map = map!(compare | i, a, b | i.lt(a, b));
static EQUAL: Map = map!(compare | i, a, b | i.eq(a, b));
static WHERE: Map = map!(num | i, c, a, b | i.select(i.truth(c), a, b));
static DIV: Map = map!(float | i, a, b | i.div(a, b));
static FMA: Map = map!(float | i, a, b, c | i.fma(a, b, c));

const OPS: [(Op, &Map); 11] = [
    (Op::Add, &ADD),
    (Op::Sub, &SUB),
    (Op::Mul, &MUL),
    (Op::Max, &MAX),
    (Op::Min, &MIN),
    (Op::Neg, &NEG),
    (Op::Less, &LESS),
    (Op::Equal, &EQUAL),
    (Op::Where, &WHERE),
    (Op::Div, &DIV),
    (Op::Fma, &FMA),
];

fn cx(threads: usize) -> Cx {
    Cx { threads, ..Cx::default() }
}

/// A shape that broadcasts to another.
fn narrower(rng: &mut Rng, shape: &[isize]) -> Vec<isize> {
    let keep = shape.len() - if rng.below(4) == 0 { rng.below(shape.len() + 1) } else { 0 };
    shape[shape.len() - keep..].iter().map(|&n| if rng.below(5) == 0 { 1 } else { n }).collect()
}

#[test]
fn random_calls() {
    let mut rng = Rng(7);
    let sizes: [isize; 12] = [1, 1, 2, 3, 4, 5, 7, 8, 13, 17, 33, 70];
    for round in 0..1500 {
        let ndim = rng.below(5);
        let mut shape: Vec<isize> = (0..ndim).map(|_| rng.pick(&sizes)).collect();
        if rng.below(30) == 0 && ndim > 0 {
            shape[0] = 0;
        }
        if round % 50 == 0 {
            shape = vec![3, 70_001];
        }
        while shape.iter().product::<isize>() > 300_000 {
            shape.pop();
        }
        let (op, m) = rng.pick(&OPS);
        let compute = rng.pick(&DType::ALL);
        let class = Class::of(compute);
        if !m.has(class) {
            continue;
        }
        let same = rng.below(2) == 0;
        let ins: Vec<Arr> = (0..m.arity())
            .map(|_| {
                let dtype = if same { compute } else { rng.pick(&DType::ALL) };
                let small = narrower(&mut rng, &shape);
                Arr::random(&mut rng, &small, dtype).fill(&mut rng)
            })
            .collect();
        let target = match rng.below(3) {
            0 => rng.pick(&DType::ALL),
            _ if m.is_truth() => DType::Bool,
            _ => compute,
        };
        let mode = if rng.below(4) == 0 { Mode::Add } else { Mode::Write };
        let mut out = Arr::random(&mut rng, &shape, target).fill(&mut rng);
        let before = out.clone();
        let views: Vec<View> = ins.iter().map(Arr::view).collect();
        apply(&cx(1 + round % 2), m, class, &views, &out.out(mode)).unwrap();
        for k in 0..out.shape.size() {
            let x: Vec<Val> = ins.iter().map(|a| a.get_broadcast(k, &out.shape)).collect();
            let mut want = eval(op, class, &x).to(class.dtype());
            if mode == Mode::Add {
                want = eval(Op::Add, class, &[before.get(k).to(class.dtype()), want]);
            }
            let (got, want) = (out.get(k), want.to(target));
            let types: Vec<DType> = ins.iter().map(|a| a.dtype).collect();
            assert!(
                got.same(want),
                "{op:?} in {class:?} of {types:?} {x:?} to {target} {mode:?} {}[{k}]: {got:?}, not {want:?}",
                out.shape
            );
        }
    }
}

#[test]
fn in_place() {
    let mut rng = Rng(3);
    for dtype in [DType::F32, DType::F16, DType::I8, DType::F64] {
        for plain in [true, false] {
            let shape = [37, 53];
            let a = if plain { Arr::contiguous(&shape, dtype) } else { Arr::random(&mut rng, &shape, dtype) }
                .fill(&mut rng);
            let b = Arr::random(&mut rng, &[53], dtype).fill(&mut rng);
            let mut x = a.clone();
            let out = x.out(Mode::Write);
            apply(&cx(1), &SUB, Class::of(dtype), &[b.view(), out.view], &out).unwrap();
            for k in 0..a.shape.size() {
                let want = eval(Op::Sub, Class::of(dtype), &[b.get_broadcast(k, &a.shape), a.get(k)]).to(dtype);
                assert!(x.get(k).same(want));
            }
        }
    }
}

#[test]
fn numbers_keep_their_precision() {
    let x = Arr::contiguous(&[5], DType::F64);
    let mut y = x.clone();
    let (empty, one) = (Dims::EMPTY, 0.1f32);
    let tenth = View {
        ptr: (&raw const one) as *mut u8,
        shape: &empty,
        strides: &empty,
        dtype: DType::F32,
        contiguous: true,
        size: 1,
        scalar: Some(Scalar::Float(0.1)),
    };
    for view in [x.view(), View { contiguous: false, ..x.view() }] {
        apply(&cx(1), &ADD, Class::F64, &[view, tenth], &y.out(Mode::Write)).unwrap();
        assert!((0..5).all(|k| y.get(k).f() == 0.1));
    }
}

#[test]
fn refusals() {
    let (x, mut y) = (Arr::contiguous(&[4, 3], DType::I32), Arr::contiguous(&[3, 4], DType::I32));
    let mut call = |m: &Map, ins: &[View]| apply(&cx(1), m, Class::I32, ins, &y.out(Mode::Write)).unwrap_err();
    assert!(matches!(call(&ADD, &[x.view(), x.view()]).cause(), Cause::Broadcast { .. }));
    assert!(matches!(call(&DIV, &[x.view(), x.view()]).cause(), Cause::DType(_)));
    assert!(matches!(call(&ADD, &[x.view()]).cause(), Cause::Argument(_)));
}

#[test]
fn threads_do_not_matter() {
    let mut rng = Rng(11);
    let a = Arr::contiguous(&[300_007], DType::F32).fill(&mut rng);
    let b = Arr::random(&mut rng, &[300_007], DType::F16).fill(&mut rng);
    static TANH: Map = map!(float | i, a, b | i.tanh(i.mul(a, b)));
    let run = |threads, out: &Out| apply(&cx(threads), &TANH, Class::F32, &[a.view(), b.view()], out).unwrap();
    let (mut one, mut two) = (Arr::contiguous(&[300_007], DType::F32), Arr::contiguous(&[300_007], DType::F32));
    run(1, &one.out(Mode::Write));
    run(2, &two.out(Mode::Write));
    assert!(one.bytes == two.bytes);
}
