//! A slow evaluator to compare with: one element at a time, by index, in exact wide types.
#![allow(dead_code, clippy::unwrap_used)]
use gluonish_base::{DType, Dims};
use gluonish_kernels::map::Class;
use gluonish_kernels::{Mode, Out, View};

/// An element's value: every element type fits one of the two.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Val {
    I(i128),
    F(f64),
}
use Val::{F, I};

impl Val {
    pub(crate) fn f(self) -> f64 {
        match self {
            I(v) => v as f64,
            F(v) => v,
        }
    }
    pub(crate) fn truth(self) -> bool {
        self.f() != 0.0
    }
    pub(crate) fn same(self, other: Val) -> bool {
        match (self, other) {
            (I(a), I(b)) => a == b,
            (F(a), F(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            _ => false,
        }
    }
    /// As an element of a type.
    pub(crate) fn to(self, d: DType) -> Val {
        let int = |v: Val, lo: i128, hi: i128| match v {
            I(v) => {
                let n = hi - lo + 1;
                (v - lo).rem_euclid(n) + lo
            }
            F(v) if v.is_nan() => 0,
            F(v) => (v as i128).clamp(lo, hi),
        };
        match (d, d.int_range()) {
            (DType::Bool, _) => I(self.truth() as i128),
            (DType::F64, _) => F(self.f()),
            (DType::F32, _) => F(match self {
                I(v) => v as f32 as f64,
                F(v) => v as f32 as f64,
            }),
            (DType::F16, _) => F(nearest(self.f(), 0x7c00, 65536.0, |b| half::f16::from_bits(b).to_f64())),
            (DType::BF16, _) => F(nearest(self.f(), 0x7f80, 2f64.powi(128), |b| half::bf16::from_bits(b).to_f64())),
            (_, Some((lo, hi))) => I(int(self, lo, hi)),
            _ => unreachable!(),
        }
    }
}

/// The 16-bit float nearest to `v`, the even one of two, found by bisection over all of them; `beyond` stands in for
/// infinity, which has the bits `top`.
fn nearest(v: f64, top: u16, beyond: f64, decode: impl Fn(u16) -> f64) -> f64 {
    if v.is_nan() || v.is_infinite() {
        return v;
    }
    let value = |b: u16| if decode(b).is_infinite() { beyond } else { decode(b) };
    let (mut lo, mut hi) = (0u16, top);
    let a = v.abs();
    while hi - lo > 1 {
        let mid = lo + (hi - lo) / 2;
        if value(mid) <= a { lo = mid } else { hi = mid }
    }
    let (below, above) = (a - value(lo), value(hi) - a);
    let best = if below < above || below == above && lo % 2 == 0 { lo } else { hi };
    decode(best).copysign(v)
}

/// Deterministic random numbers.
pub(crate) struct Rng(pub(crate) u64);
impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E3779B97F4A7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D049BB133111EB);
        z ^ (z >> 31)
    }
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// Memory with any strides.
#[derive(Clone)]
pub(crate) struct Arr {
    pub(crate) bytes: Vec<u8>,
    pub(crate) offset: usize,
    pub(crate) shape: Dims,
    pub(crate) strides: Dims,
    pub(crate) dtype: DType,
}

impl Arr {
    pub(crate) fn contiguous(shape: &[isize], dtype: DType) -> Arr {
        let shape = Dims::of(shape);
        let bytes = vec![0; shape.size() * dtype.size()];
        Arr { bytes, offset: 0, shape, strides: shape.contiguous_strides(), dtype }
    }

    /// A random layout of a shape: permuted, with gaps, sometimes backwards.
    pub(crate) fn random(rng: &mut Rng, shape: &[isize], dtype: DType) -> Arr {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        let plain = rng.below(3) == 0;
        if !plain {
            for k in (1..order.len()).rev() {
                order.swap(k, rng.below(k + 1));
            }
        }
        let (mut strides, mut run, mut offset) = (vec![0isize; shape.len()], 1isize, 0isize);
        for &d in order.iter().rev() {
            run *= if plain { 1 } else { rng.pick(&[1, 1, 1, 2, 3]) };
            strides[d] = run;
            let n = shape[d].max(1);
            if !plain && rng.below(5) == 0 {
                offset += run * (n - 1);
                strides[d] = -run;
            }
            run *= n;
        }
        let (shape, strides) = (Dims::of(shape), Dims::of(&strides));
        Arr { bytes: vec![0; run as usize * dtype.size()], offset: offset as usize, shape, strides, dtype }
    }

    pub(crate) fn fill(mut self, rng: &mut Rng) -> Arr {
        for k in 0..self.shape.size() {
            let small = rng.below(40) as i128 - 20;
            let v = match rng.below(8) {
                0 if self.dtype.is_float() => F(rng.pick(&[f64::NAN, f64::INFINITY, -0.0, 1e-42, -1e30])),
                1 if !self.dtype.is_float() => I(rng.next() as i128),
                _ if self.dtype.is_float() => F(small as f64 / 8.0 + rng.below(1000) as f64 * 1e-5),
                _ => I(small),
            };
            self.set(k, v);
        }
        self
    }

    pub(crate) fn view(&self) -> View<'_> {
        View {
            // The test writes through a view only of arrays that it borrows mutably elsewhere.
            ptr: self.bytes.as_ptr().wrapping_add(self.offset * self.dtype.size()) as *mut u8,
            shape: &self.shape,
            strides: &self.strides,
            dtype: self.dtype,
            contiguous: self.shape.is_contiguous(&self.strides),
            size: self.shape.size(),
            scalar: None,
        }
    }
    pub(crate) fn out(&mut self, mode: Mode) -> Out<'_> {
        let ptr = self.bytes.as_mut_ptr().wrapping_add(self.offset * self.dtype.size());
        Out { view: View { ptr, ..self.view() }, mode }
    }

    /// Byte position of the k-th element in row-major order.
    fn position(&self, k: usize) -> usize {
        let (mut rest, mut at) = (k as isize, self.offset as isize);
        for d in (0..self.shape.len()).rev() {
            at += rest % self.shape[d] * self.strides[d];
            rest /= self.shape[d];
        }
        at as usize * self.dtype.size()
    }

    pub(crate) fn get(&self, k: usize) -> Val {
        let at = self.position(k);
        let b = &self.bytes[at..at + self.dtype.size()];
        macro_rules! read {
            ($t:ty) => {
                <$t>::from_ne_bytes(b.try_into().unwrap())
            };
        }
        match self.dtype {
            DType::Bool => I((b[0] != 0) as i128),
            DType::U8 => I(b[0] as i128),
            DType::U16 => I(read!(u16) as i128),
            DType::U32 => I(read!(u32) as i128),
            DType::U64 => I(read!(u64) as i128),
            DType::I8 => I(read!(i8) as i128),
            DType::I16 => I(read!(i16) as i128),
            DType::I32 => I(read!(i32) as i128),
            DType::I64 => I(read!(i64) as i128),
            DType::F16 => F(half::f16::from_bits(read!(u16)).to_f64()),
            DType::BF16 => F(half::bf16::from_bits(read!(u16)).to_f64()),
            DType::F32 => F(read!(f32) as f64),
            DType::F64 => F(read!(f64)),
        }
    }

    pub(crate) fn set(&mut self, k: usize, v: Val) {
        let at = self.position(k);
        let size = self.dtype.size();
        let bytes: Vec<u8> = match v.to(self.dtype) {
            I(v) => v.to_le_bytes()[..size].to_vec(),
            F(v) => match self.dtype {
                DType::F16 => half::f16::from_f64(v).to_ne_bytes().to_vec(),
                DType::BF16 => half::bf16::from_f64(v).to_ne_bytes().to_vec(),
                DType::F32 => (v as f32).to_ne_bytes().to_vec(),
                _ => v.to_ne_bytes().to_vec(),
            },
        };
        self.bytes[at..at + size].copy_from_slice(&bytes);
    }

    /// The element that index `k` of a larger shape meets by broadcasting.
    pub(crate) fn get_broadcast(&self, k: usize, shape: &Dims) -> Val {
        let (mut rest, mut at, mut run) = (k as isize, 0, 1);
        let lead = shape.len() - self.shape.len();
        for d in (0..shape.len()).rev() {
            let i = rest % shape[d];
            rest /= shape[d];
            if d >= lead {
                let n = self.shape[d - lead];
                at += if n == 1 { 0 } else { i * run };
                run *= n;
            }
        }
        self.get(at as usize)
    }
}

/// Operations that the naive evaluator knows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    Max,
    Min,
    Neg,
    Less,
    Equal,
    Where,
    Div,
    Fma,
    FloorDiv,
}

/// One operation in the lanes of a class; the operands are converted to them.
pub(crate) fn eval(op: Op, class: Class, x: &[Val]) -> Val {
    let d = class.dtype();
    let x: Vec<Val> = x.iter().map(|v| v.to(d)).collect();
    let y = match (op, x[0]) {
        (Op::Less, _) => return I(less(x[0], x[1]) as i128),
        (Op::Equal, _) => return I(equal(x[0], x[1]) as i128),
        (Op::Where, _) => return if x[0].truth() { x[1] } else { x[2] },
        (Op::Max, F(a)) => return if a.is_nan() || less(x[1], x[0]) { x[0] } else { x[1] },
        (Op::Min, F(a)) => return if a.is_nan() || less(x[0], x[1]) { x[0] } else { x[1] },
        (Op::Max, _) => return if less(x[0], x[1]) { x[1] } else { x[0] },
        (Op::Min, _) => return if less(x[0], x[1]) { x[0] } else { x[1] },
        (Op::Fma, _) => {
            let (a, b, c) = (x[0].f(), x[1].f(), x[2].f());
            // The product of two float32 numbers is exact in float64; the sum is rounded by mul_add in either width.
            F(if class == Class::F32 { (a as f32).mul_add(b as f32, c as f32) as f64 } else { a.mul_add(b, c) })
        }
        (_, F(a)) => {
            let b = x.get(1).map_or(0.0, |v| v.f());
            let (s, t) = (a as f32, b as f32);
            let single = class == Class::F32;
            F(match op {
                Op::Add => {
                    if single {
                        (s + t) as f64
                    } else {
                        a + b
                    }
                }
                Op::Sub => {
                    if single {
                        (s - t) as f64
                    } else {
                        a - b
                    }
                }
                Op::Mul => {
                    if single {
                        (s * t) as f64
                    } else {
                        a * b
                    }
                }
                Op::Div => {
                    if single {
                        (s / t) as f64
                    } else {
                        a / b
                    }
                }
                _ => -a,
            })
        }
        (_, I(a)) => {
            let b = if let Some(I(b)) = x.get(1) { *b } else { 0 };
            I(match op {
                Op::Add => a + b,
                Op::Sub => a - b,
                Op::Mul => a.wrapping_mul(b),
                Op::FloorDiv => {
                    if b == 0 {
                        0
                    } else {
                        a.div_euclid(b) + if b < 0 && a.rem_euclid(b) != 0 { -1 } else { 0 }
                    }
                }
                _ => -a,
            })
        }
    };
    y.to(d)
}

fn less(a: Val, b: Val) -> bool {
    match (a, b) {
        (I(a), I(b)) => a < b,
        _ => a.f() < b.f(),
    }
}
fn equal(a: Val, b: Val) -> bool {
    match (a, b) {
        (I(a), I(b)) => a == b,
        _ => a.f() == b.f(),
    }
}
