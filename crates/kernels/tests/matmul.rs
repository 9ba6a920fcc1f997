//! `matmul` on views: batches, broadcasting, element types.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
use gluonish_base::{Cause, DType, Dims, pool};
use gluonish_kernels::gemm::{matmul, matmul_scaled};
use gluonish_kernels::{Cx, Mode, Out, View};
use half::{bf16, f16};
use std::fmt::Debug;

/// An element type and its arithmetic, spelt out independently of the kernels.
trait Elem: Copy + PartialEq + Debug {
    const DTYPE: DType;
    fn of(x: i64) -> Self;
    /// The sum of products added to `old`, rounded or wrapped as the type does.
    fn dot(terms: impl Iterator<Item = (Self, Self)>, old: Option<Self>) -> Self;
}

macro_rules! int {
    ($t:ident, $d:ident) => {
        impl Elem for $t {
            const DTYPE: DType = DType::$d;
            fn of(x: i64) -> $t {
                x as $t
            }
            fn dot(terms: impl Iterator<Item = ($t, $t)>, old: Option<$t>) -> $t {
                terms.fold(old.unwrap_or(0), |s, (a, b)| s.wrapping_add(a.wrapping_mul(b)))
            }
        }
    };
}
int!(u8, U8);
int!(u16, U16);
int!(u32, U32);
int!(u64, U64);
int!(i8, I8);
int!(i16, I16);
int!(i32, I32);
int!(i64, I64);

impl Elem for bool {
    const DTYPE: DType = DType::Bool;
    fn of(x: i64) -> bool {
        x % 3 == 0
    }
    fn dot(terms: impl Iterator<Item = (bool, bool)>, old: Option<bool>) -> bool {
        terms.fold(old.unwrap_or(false), |s, (a, b)| s || (a && b))
    }
}

/// Small integers: sums are exact in every floating type, so results must be equal to the last bit.
macro_rules! float {
    ($t:ident, $d:ident, $to:expr, $from:expr) => {
        impl Elem for $t {
            const DTYPE: DType = DType::$d;
            fn of(x: i64) -> $t {
                $from((x % 5 - 2) as f64)
            }
            fn dot(terms: impl Iterator<Item = ($t, $t)>, old: Option<$t>) -> $t {
                let sum: f64 = terms.map(|(a, b)| $to(a) * $to(b)).sum();
                $from(sum + old.map_or(0.0, $to))
            }
        }
    };
}
float!(f16, F16, f16::to_f64, f16::from_f64);
float!(bf16, BF16, bf16::to_f64, bf16::from_f64);
float!(f32, F32, f64::from, |x| x as f32);
float!(f64, F64, |x| x, |x| x);

struct Array<T> {
    data: Vec<T>,
    shape: Dims,
    strides: Dims,
}

impl<T: Elem> Array<T> {
    fn new(shape: &[isize], seed: i64) -> Array<T> {
        let shape = Dims::of(shape);
        let data = (0..shape.size() as i64 + 1).map(|i| T::of((i * 7919 + seed) % 251)).collect();
        Array { data, strides: shape.contiguous_strides(), shape }
    }
    /// The last two axes swapped.
    fn t(mut self) -> Array<T> {
        let n = self.shape.len();
        self.shape.swap(n - 1, n - 2);
        self.strides.swap(n - 1, n - 2);
        self
    }
    /// Every second element of the last axis.
    fn sparse(mut self) -> Array<T> {
        let n = self.shape.len();
        self.shape[n - 1] /= 2;
        self.strides[n - 1] *= 2;
        self
    }
    fn view(&self) -> View<'_> {
        let contiguous = self.shape.is_contiguous(&self.strides);
        let size = self.shape.size();
        let ptr = self.data.as_ptr().cast::<u8>().cast_mut();
        View { ptr, shape: &self.shape, strides: &self.strides, dtype: T::DTYPE, contiguous, size, scalar: None }
    }
    /// The element at an index that may have more axes (which are broadcast) than the array.
    fn at(&self, index: &[isize]) -> usize {
        let index = &index[index.len() - self.shape.len()..];
        let place = |(d, &i): (usize, &isize)| if self.shape[d] == 1 { 0 } else { i * self.strides[d] };
        index.iter().enumerate().map(place).sum::<isize>() as usize
    }
}

/// All indices of a shape.
fn indices(shape: &Dims) -> impl Iterator<Item = Dims> {
    let shape = *shape;
    (0..shape.size()).map(move |mut i| {
        let mut index = shape;
        for d in (0..shape.len()).rev() {
            index[d] = (i % shape[d] as usize) as isize;
            i /= shape[d] as usize;
        }
        index
    })
}

fn run<T: Elem>(a: &Array<T>, b: &Array<T>, mut c: Array<T>, mode: Mode, threads: usize) -> Vec<T> {
    let before = c.data.clone();
    let (ptr, view) = (c.data.as_mut_ptr().cast::<u8>(), c.view());
    let out = Out { view: View { ptr, ..view }, mode };
    let cx = Cx { threads, ..Cx::default() };
    matmul(&cx, &a.view(), &b.view(), &out).unwrap();
    let n = c.shape.len();
    let k = a.shape[a.shape.len() - 1];
    for index in indices(&c.shape) {
        let (mut left, mut right) = (index, index);
        let terms = (0..k).map(|p| {
            left[n - 1] = p;
            right[n - 2] = p;
            (a.data[a.at(&left)], b.data[b.at(&right)])
        });
        let at = c.at(&index);
        let want = T::dot(terms, (mode == Mode::Add).then_some(before[at]));
        assert_eq!(c.data[at], want, "{} {} {mode:?} at {index}", a.shape, b.shape);
    }
    c.data
}

fn both_modes<T: Elem>(a: &[isize], b: &[isize], c: &[isize]) {
    for mode in [Mode::Write, Mode::Add] {
        run::<T>(&Array::new(a, 1), &Array::new(b, 2), Array::new(c, 3), mode, 1);
    }
}

#[test]
fn batches_broadcast() {
    let shapes: [[&[isize]; 3]; 12] = [
        [&[5, 7], &[7, 4], &[5, 4]],
        [&[3, 5, 7], &[7, 4], &[3, 5, 4]],
        [&[5, 7], &[3, 7, 4], &[3, 5, 4]],
        [&[2, 3, 5, 7], &[2, 3, 7, 4], &[2, 3, 5, 4]],
        [&[2, 1, 5, 7], &[3, 7, 4], &[2, 3, 5, 4]],
        [&[1, 3, 5, 7], &[2, 1, 7, 4], &[2, 3, 5, 4]],
        [&[4, 1, 7], &[7, 3], &[4, 1, 3]],
        [&[4, 1, 7], &[4, 7, 1], &[4, 1, 1]],
        [&[3, 5, 0], &[0, 4], &[3, 5, 4]],
        [&[0, 5, 7], &[7, 4], &[0, 5, 4]],
        [&[3, 0, 7], &[7, 4], &[3, 0, 4]],
        [&[2, 33, 40], &[2, 40, 35], &[2, 33, 35]],
    ];
    for [a, b, c] in shapes {
        both_modes::<f32>(a, b, c);
        both_modes::<f64>(a, b, c);
        both_modes::<f16>(a, b, c);
        both_modes::<i32>(a, b, c);
    }
}

#[test]
fn every_type() {
    fn try_type<T: Elem>() {
        both_modes::<T>(&[2, 37, 19], &[2, 19, 23], &[2, 37, 23]);
        let (a, b) = (Array::<T>::new(&[19, 40], 1).t(), Array::new(&[23, 19], 2).t());
        run(&a, &b, Array::new(&[40, 46], 3).sparse(), Mode::Add, 1);
        run(&a, &b, Array::new(&[23, 40], 3).t(), Mode::Write, 1);
        let (a, b) = (Array::<T>::new(&[6, 600], 1).sparse(), Array::new(&[300, 1100], 2).sparse());
        run(&a, &b, Array::new(&[6, 550], 3), Mode::Write, 1);
    }
    try_type::<bool>();
    try_type::<u8>();
    try_type::<i8>();
    try_type::<u16>();
    try_type::<i16>();
    try_type::<u32>();
    try_type::<i32>();
    try_type::<u64>();
    try_type::<i64>();
    try_type::<f16>();
    try_type::<bf16>();
    try_type::<f32>();
    try_type::<f64>();
}

#[test]
fn halves_are_rounded_once() {
    // 1 + 2048 * 2^-11: in half precision the small terms would vanish one by one.
    let (k, tiny) = (2049, f16::from_f64(2f64.powi(-11)));
    let mut a = Array::<f16>::new(&[1, k], 0);
    let mut b = Array::<f16>::new(&[k, 1], 0);
    a.data.fill(tiny);
    a.data[0] = f16::ONE;
    b.data.fill(f16::ONE);
    let c = run(&a, &b, Array::new(&[1, 1], 0), Mode::Write, 1);
    assert_eq!(c[0], f16::from_f64(2.0));
}

#[test]
fn threads_do_not_change_results() {
    pool::set_threads(3);
    for [a, b, c] in [
        [&[17, 40, 30], &[17, 30, 50], &[17, 40, 50]],
        [&[2, 150, 60], &[2, 60, 130], &[2, 150, 130]],
        [&[3, 150, 60], &[1, 60, 130], &[3, 150, 130]],
    ] as [[&[isize]; 3]; 3]
    {
        let (x, y) = (Array::<f32>::new(a, 1), Array::new(b, 2));
        let one = run(&x, &y, Array::new(c, 3), Mode::Add, 1);
        assert_eq!(one, run(&x, &y, Array::new(c, 3), Mode::Add, 3));
        run(&Array::<i16>::new(a, 1), &Array::new(b, 2), Array::new(c, 3), Mode::Write, 3);
        run(&Array::<bf16>::new(a, 1), &Array::new(b, 2), Array::new(c, 3), Mode::Write, 3);
    }
}

#[test]
fn scaled() {
    let (a, b) = (Array::<f32>::new(&[2, 6, 5], 1), Array::<f32>::new(&[5, 3], 2));
    let plain = run(&a, &b, Array::new(&[2, 6, 3], 3), Mode::Write, 1);
    let mut c = Array::<f32>::new(&[2, 6, 3], 3);
    c.data.fill(1.0);
    let ptr = c.data.as_mut_ptr().cast::<u8>();
    for (mode, old) in [(Mode::Write, 0.0), (Mode::Add, 0.5)] {
        c.data.fill(old);
        let out = Out { view: View { ptr, ..c.view() }, mode };
        matmul_scaled(&Cx::default(), &a.view(), &b.view(), 0.25, &out).unwrap();
        assert!(c.data[..36].iter().zip(&plain).all(|(&x, &y)| x == 0.25 * y + old));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let refuse = |a: &Array<f32>, b: &Array<f32>, c: &Array<f32>| {
        let out = Out { view: c.view(), mode: Mode::Write };
        matmul(&Cx::default(), &a.view(), &b.view(), &out).unwrap_err()
    };
    let array = |shape: &[isize]| Array::<f32>::new(shape, 1);
    let e = refuse(&array(&[2, 3]), &array(&[4, 5]), &array(&[2, 5]));
    assert_eq!(e.cause(), &Cause::Shape("cannot multiply (2, 3) by (4, 5) into (2, 5)".into()));
    refuse(&array(&[3]), &array(&[3, 5]), &array(&[1, 5]));
    refuse(&array(&[2, 2, 3]), &array(&[3, 5]), &array(&[3, 2, 5]));
    let ints = Array::<i32>::new(&[2, 2], 1);
    let out = Out { view: ints.view(), mode: Mode::Write };
    assert!(matmul_scaled(&Cx::default(), &ints.view(), &ints.view(), 0.5, &out).is_err());
    assert!(matmul(&Cx::default(), &array(&[2, 2]).view(), &ints.view(), &out).is_err());
}
