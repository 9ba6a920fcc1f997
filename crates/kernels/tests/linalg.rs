//! Cholesky factors and triangular systems against their definitions, in every orientation.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
use gluonish_base::{Cause, DType, Dims, pool};
use gluonish_kernels::linalg::{potrf, triangle, trsm};
use gluonish_kernels::{Cx, Mode, Out, View};

trait Float: Copy + PartialEq {
    const DTYPE: DType;
    const EPS: f64;
    fn of(x: f64) -> Self;
    fn get(self) -> f64;
}
impl Float for f32 {
    const DTYPE: DType = DType::F32;
    const EPS: f64 = 2e-5;
    fn of(x: f64) -> f32 {
        x as f32
    }
    fn get(self) -> f64 {
        self.into()
    }
}
impl Float for f64 {
    const DTYPE: DType = DType::F64;
    const EPS: f64 = 1e-13;
    fn of(x: f64) -> f64 {
        x
    }
    fn get(self) -> f64 {
        self
    }
}

/// A batch of matrices; `flip` stores them transposed.
#[derive(Clone)]
struct Batch<T> {
    data: Vec<T>,
    shape: Dims,
    strides: Dims,
}

impl<T: Float> Batch<T> {
    fn new(shape: &[isize], flip: bool, f: impl Fn(usize, usize, usize) -> f64) -> Batch<T> {
        let shape = Dims::of(shape);
        let n = shape.len();
        let mut stored = shape;
        if flip {
            stored.swap(n - 1, n - 2);
        }
        let mut strides = stored.contiguous_strides();
        if flip {
            strides.swap(n - 1, n - 2);
        }
        let mut b = Batch { data: vec![T::of(0.0); shape.size()], shape, strides };
        for i in 0..b.count() {
            for r in 0..b.rows() {
                for c in 0..b.cols() {
                    let at = b.at(i, r, c);
                    b.data[at] = T::of(f(i, r, c));
                }
            }
        }
        b
    }
    fn count(&self) -> usize {
        self.shape[..self.shape.len() - 2].iter().product::<isize>() as usize
    }
    fn rows(&self) -> usize {
        self.shape[self.shape.len() - 2] as usize
    }
    fn cols(&self) -> usize {
        self.shape[self.shape.len() - 1] as usize
    }
    fn at(&self, i: usize, r: usize, c: usize) -> usize {
        let n = self.shape.len();
        let (rs, cs) = (self.strides[n - 2] as usize, self.strides[n - 1] as usize);
        i * self.rows() * self.cols() + r * rs + c * cs
    }
    fn get(&self, i: usize, r: usize, c: usize) -> f64 {
        self.data[self.at(i, r, c)].get()
    }
    fn view(&self) -> View<'_> {
        let ptr = self.data.as_ptr().cast::<u8>().cast_mut();
        let contiguous = self.shape.is_contiguous(&self.strides);
        let size = self.data.len();
        View { ptr, shape: &self.shape, strides: &self.strides, dtype: T::DTYPE, contiguous, size, scalar: None }
    }
    fn out(&mut self, mode: Mode) -> Out<'_> {
        let ptr = self.data.as_mut_ptr().cast::<u8>();
        Out { view: View { ptr, ..self.view() }, mode }
    }
}

fn noise(i: usize, r: usize, c: usize) -> f64 {
    let h = (i * 7919 + r * 104729 + c * 1299709 + 17).wrapping_mul(2654435761) % 65536;
    h as f64 / 32768.0 - 1.0
}

/// Symmetric with a heavy diagonal, so positive definite.
fn definite(n: usize) -> impl Fn(usize, usize, usize) -> f64 {
    move |i, r, c| noise(i, r.min(c), r.max(c)) + if r == c { n as f64 } else { 0.0 }
}

/// Triangular with a diagonal far from zero.
fn triangular(lower: bool) -> impl Fn(usize, usize, usize) -> f64 {
    move |i, r, c| match r.cmp(&c) {
        std::cmp::Ordering::Equal => 2.0 + noise(i, r, c).abs(),
        o if (o == std::cmp::Ordering::Greater) == lower => noise(i, r, c) / (1.0 + r.abs_diff(c) as f64),
        // Never read.
        _ => f64::NAN,
    }
}

fn cx() -> Cx {
    Cx { threads: 2, ..Cx::default() }
}

fn factor<T: Float>(shape: &[isize], lower: bool, flip: (bool, bool), mode: Mode) {
    let n = shape[shape.len() - 1] as usize;
    // The triangle that must not be read is spoilt.
    let spoilt = |i, r: usize, c: usize| if (r < c) == lower && r != c { f64::NAN } else { definite(n)(i, r, c) };
    let a = Batch::<T>::new(shape, flip.0, spoilt);
    let mut l = Batch::<T>::new(shape, flip.1, |_, _, _| 1.0);
    potrf(&cx(), &a.view(), &l.out(mode), lower).unwrap();
    let old = if mode == Mode::Add { 1.0 } else { 0.0 };
    for i in 0..a.count() {
        let x = |r, c| if lower { l.get(i, r, c) - old } else { l.get(i, c, r) - old };
        for r in 0..n {
            for c in 0..n {
                if c > r {
                    assert_eq!(x(r, c), 0.0);
                    continue;
                }
                let sum: f64 = (0..n).map(|p| x(r, p) * x(c, p)).sum();
                let want = definite(n)(i, r, c);
                assert!((sum - want).abs() < T::EPS * n as f64, "{shape:?} {lower} at {r}, {c}: {sum} is not {want}");
            }
        }
    }
}

#[test]
fn cholesky() {
    pool::set_threads(2);
    for n in [0, 1, 2, 3, 17, 32, 33, 70, 150] {
        for lower in [true, false] {
            for flip in [(false, false), (true, false), (false, true)] {
                factor::<f64>(&[n, n], lower, flip, Mode::Write);
                factor::<f32>(&[2, n, n], lower, flip, Mode::Write);
                factor::<f64>(&[2, 2, n, n], lower, flip, Mode::Add);
            }
        }
    }
    factor::<f32>(&[0, 3, 3], true, (false, false), Mode::Write);
    factor::<f64>(&[300, 300], true, (false, false), Mode::Write);
}

#[test]
fn cholesky_says_what_is_wrong() {
    let bad = |shape: &[isize], at: (usize, usize), value: f64| {
        let f = |i, r, c| if r == c { if (i, r) == at { value } else { 1.0 } } else { 0.0 };
        let a = Batch::<f64>::new(shape, false, f);
        let mut l = a.clone();
        potrf(&cx(), &a.view(), &l.out(Mode::Write), true).unwrap_err()
    };
    let text = |e: gluonish_base::Error| match e.cause() {
        Cause::LinAlg(s) => s.clone(),
        other => panic!("{other:?}"),
    };
    assert!(
        text(bad(&[5, 4, 4], (3, 1), -1.0)).starts_with(
            "matrix 3 of the batch is not positive definite: the leading minor of order 2 is not positive"
        )
    );
    assert!(
        text(bad(&[4, 4], (0, 3), 0.0))
            .starts_with("the matrix is not positive definite: the leading minor of order 4")
    );
    assert!(text(bad(&[100, 100], (0, 77), f64::NAN)).contains("NaN"));
    let a = Batch::<f64>::new(&[2, 3], false, noise);
    assert!(potrf(&cx(), &a.view(), &a.clone().out(Mode::Write), true).is_err());
}

fn solve<T: Float>(
    batch: isize,
    n: isize,
    m: isize,
    (transpose, right, lower): (bool, bool, bool),
    flip: bool,
    mode: Mode,
) {
    let (rows, cols) = if right { (m, n) } else { (n, m) };
    let a = Batch::<T>::new(&[batch, n, n], flip, triangular(lower));
    let b = Batch::<T>::new(&[batch, rows, cols], flip, noise);
    let mut x = Batch::<T>::new(&[batch, rows, cols], !flip, |_, _, _| 1.0);
    trsm(&cx(), &a.view(), &b.view(), transpose, right, lower, 0.5, &x.out(mode)).unwrap();
    let old = if mode == Mode::Add { 1.0 } else { 0.0 };
    let entry = |i, r: usize, c: usize| {
        let (r, c) = if transpose { (c, r) } else { (r, c) };
        if (r >= c) == lower || r == c { a.get(i, r, c) } else { 0.0 }
    };
    for i in 0..batch as usize {
        for r in 0..rows as usize {
            for c in 0..cols as usize {
                let term = |p: usize| {
                    if right {
                        (x.get(i, r, p) - old) * entry(i, p, c)
                    } else {
                        entry(i, r, p) * (x.get(i, p, c) - old)
                    }
                };
                let got: f64 = (0..n as usize).map(term).sum();
                let want = 0.5 * b.get(i, r, c);
                let close = (got - want).abs() < T::EPS * 4.0;
                assert!(close, "{n} {m} {transpose} {right} {lower} at {i}, {r}, {c}: {got} is not {want}");
            }
        }
    }
}

#[test]
fn triangular_systems() {
    for (n, m) in [(0, 2), (1, 1), (2, 3), (5, 1), (32, 7), (33, 40), (100, 21)] {
        for bits in 0..8 {
            let form = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
            for flip in [false, true] {
                solve::<f64>(2, n, m, form, flip, Mode::Write);
                solve::<f32>(1, n, m, form, flip, Mode::Add);
            }
        }
    }
    let a = Batch::<f64>::new(&[3, 3], false, noise);
    let b = Batch::<f64>::new(&[2, 3], false, noise);
    assert!(trsm(&cx(), &a.view(), &b.view(), false, false, true, 1.0, &b.clone().out(Mode::Write)).is_err());
}

#[test]
fn triangles() {
    for lower in [true, false] {
        let a = Batch::<f32>::new(&[2, 4, 4], false, |i, r, c| (i * 16 + r * 4 + c + 1) as f64);
        let mut t = a.clone();
        triangle(&cx(), &a.view(), lower, 0.5, &t.out(Mode::Write)).unwrap();
        for i in 0..2 {
            for r in 0..4 {
                for c in 0..4 {
                    let x = a.get(i, r, c);
                    let want = if r == c {
                        0.5 * x
                    } else if (r > c) == lower {
                        x
                    } else {
                        0.0
                    };
                    assert_eq!(t.get(i, r, c), want);
                }
            }
        }
    }
}
