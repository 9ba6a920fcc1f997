//! Decompositions and triangular systems against their definitions, in every orientation.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
use gluonish_base::{Cause, DType, Dims, pool};
use gluonish_kernels::linalg::{eigh, eigvalsh, potrf, qr, singular_values, svd, triangle, trsm};
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

type Entries = Box<dyn Fn(usize, usize) -> f64>;

/// Matrices that decompositions have trouble with, of size about 1.
fn troublesome(n: usize) -> Vec<(&'static str, Entries)> {
    let m = n as f64;
    let wave = move |k: usize, i: usize| {
        (2.0 / (m + 1.0)).sqrt() * (((k + 1) * (i + 1)) as f64 * std::f64::consts::PI / (m + 1.0)).sin()
    };
    // The waves are orthonormal and symmetric.
    let with_values = move |value: fn(usize) -> f64| {
        move |r: usize, c: usize| (0..n).map(|k| wave(r, k) * value(k) * wave(k, c)).sum::<f64>()
    };
    vec![
        ("noise", Box::new(|r, c| noise(0, r, c))),
        ("zero", Box::new(|_, _| 0.0)),
        ("identity", Box::new(|r, c| if r == c { 1.0 } else { 0.0 })),
        ("rank one", Box::new(|r, c| noise(1, r, 0) * noise(2, 0, c))),
        ("rank three", Box::new(|r, c| (0..3).map(|k| noise(1, r, k) * noise(1, c, k)).sum())),
        ("equal values", Box::new(with_values(|k| if k % 2 == 0 { 1.0 } else { -0.5 }))),
        ("a cluster", Box::new(with_values(|k| 1.0 + 1e-7 * k as f64))),
        ("opposite values", Box::new(with_values(|k| if k % 2 == 0 { 1.0 } else { -1.0 }))),
        ("graded", Box::new(|r, c| noise(0, r.min(c), r.max(c)) * 0.5_f64.powi((r + c) as i32))),
        ("graded upwards", Box::new(move |r, c| noise(0, r.min(c), r.max(c)) * 0.5_f64.powi((2 * n - r - c) as i32))),
        ("powers", Box::new(|r, c| if r == c { 0.1_f64.powi(r as i32 % 30) } else { 0.0 })),
        ("beside the diagonal", Box::new(|r, c| if r.abs_diff(c) == 1 { 1.0 } else { 0.0 })),
        ("nilpotent", Box::new(|r, c| if r + 1 == c { 1.0 } else { 0.0 })),
        ("a zero among ones", Box::new(move |r, c| if (r == c && r != n / 2) || r + 1 == c { 1.0 } else { 0.0 })),
        (
            "a far corner",
            Box::new(|r, c| {
                if r == c {
                    1.0
                } else if r.max(c) < 2 {
                    1e-30
                } else {
                    0.0
                }
            }),
        ),
    ]
}

/// How far vectors, which are columns, are from orthonormal.
fn skew<T: Float>(v: &Batch<T>, i: usize) -> f64 {
    let product = |a, b| (0..v.rows()).map(|r| v.get(i, r, a) * v.get(i, r, b)).sum::<f64>();
    let off = |a, b| product(a, b) - if a == b { 1.0 } else { 0.0 };
    (0..v.cols()).flat_map(|a| (0..=a).map(move |b| (a, b))).fold(0.0, |most: f64, (a, b)| most.max(off(a, b).abs()))
}

fn largest<T: Float>(a: &Batch<T>) -> f64 {
    a.data.iter().fold(0.0, |most: f64, x| most.max(x.get().abs())).max(f64::MIN_POSITIVE)
}

fn vectors<T: Float>(n: usize) -> (Vec<T>, Dims) {
    (vec![T::of(0.0); n], Dims::of(&[n as isize]))
}

fn line<'a, T: Float>(x: &'a mut [T], shape: &'a Dims, strides: &'a Dims) -> Out<'a> {
    Out { view: View::contiguous(x.as_mut_ptr().cast(), T::DTYPE, shape, strides), mode: Mode::Write }
}

fn eigen<T: Float>(n: usize, name: &str, f: &dyn Fn(usize, usize) -> f64, scale: f64) {
    let side = n as isize;
    // The upper triangle must not be read.
    let spoilt = |_, r: usize, c: usize| if r < c { f64::NAN } else { f(r, c) * scale };
    let a = Batch::<T>::new(&[side, side], false, spoilt);
    let entry = |r: usize, c: usize| a.get(0, r.max(c), r.min(c));
    let mut v = Batch::<T>::new(&[side, side], false, |_, _, _| 0.0);
    let ((mut w, shape), (mut alone, _)) = (vectors::<T>(n), vectors::<T>(n));
    let strides = shape.contiguous_strides();
    let made = eigh(&cx(), &a.view(), &line(&mut w, &shape, &strides), &v.out(Mode::Write));
    assert!(made.is_ok(), "{name} {n} times {scale}: {made:?}");
    eigvalsh(&cx(), &a.view(), &line(&mut alone, &shape, &strides)).unwrap();
    assert!(w.windows(2).all(|w| w[0].get() <= w[1].get()), "{name} {n}");
    assert!(skew(&v, 0) < T::EPS, "{name} {n}: eigenvectors are {} from orthonormal", skew(&v, 0));
    let size = largest(&a);
    for j in 0..n {
        assert!((alone[j].get() - w[j].get()).abs() / size < T::EPS * n as f64, "{name} {n}: value {j} alone");
        for r in 0..n {
            let image: f64 = (0..n).map(|c| entry(r, c) / size * v.get(0, c, j)).sum();
            let off = (image - w[j].get() / size * v.get(0, r, j)).abs();
            assert!(off < T::EPS * n as f64 / 4.0, "{name} {n} times {scale}: vector {j} is {off} off at {r}");
        }
    }
}

fn singular<T: Float>((m, n): (usize, usize), full: bool, name: &str, f: &dyn Fn(usize, usize) -> f64, scale: f64) {
    let k = m.min(n);
    let (cols_u, cols_v) = if full { (m, n) } else { (k, k) };
    let a = Batch::<T>::new(&[m as isize, n as isize], false, |_, r, c| f(r, c) * scale);
    let mut u = Batch::<T>::new(&[m as isize, cols_u as isize], false, |_, _, _| 0.0);
    // Stored transposed, so that vectors are columns of what is looked at.
    let mut vt = Batch::<T>::new(&[cols_v as isize, n as isize], false, |_, _, _| 0.0);
    let ((mut s, shape), (mut alone, _)) = (vectors::<T>(k), vectors::<T>(k));
    let strides = shape.contiguous_strides();
    svd(&cx(), &a.view(), &u.out(Mode::Write), &line(&mut s, &shape, &strides), &vt.out(Mode::Write)).unwrap();
    singular_values(&cx(), &a.view(), &line(&mut alone, &shape, &strides)).unwrap();
    let what = format!("{name} {m} by {n} times {scale}");
    let v = Batch::<T>::new(&[n as isize, cols_v as isize], false, |_, r, c| vt.get(0, c, r));
    assert!(
        skew(&u, 0) < T::EPS && skew(&v, 0) < T::EPS,
        "{what}: {} and {} from orthonormal",
        skew(&u, 0),
        skew(&v, 0)
    );
    let size = largest(&a);
    for j in 0..k {
        assert!(s[j].get() >= 0.0 && (j == 0 || s[j - 1].get() >= s[j].get()), "{what}: order of value {j}");
        assert!((alone[j].get() - s[j].get()).abs() / size < T::EPS * k as f64, "{what}: value {j} alone");
    }
    for r in 0..m {
        for c in 0..n {
            let sum: f64 = (0..k).map(|j| u.get(0, r, j) * (s[j].get() / size) * vt.get(0, j, c)).sum();
            let off = (sum - a.get(0, r, c) / size).abs();
            assert!(off < T::EPS * k as f64 / 4.0, "{what}: {off} off at {r}, {c}");
        }
    }
}

fn orthogonal<T: Float>((m, n): (usize, usize), full: bool, name: &str, f: &dyn Fn(usize, usize) -> f64) {
    let rows = if full { m } else { m.min(n) };
    let a = Batch::<T>::new(&[m as isize, n as isize], false, |_, r, c| f(r, c));
    let mut q = Batch::<T>::new(&[m as isize, rows as isize], true, |_, _, _| 0.0);
    let mut r = Batch::<T>::new(&[rows as isize, n as isize], false, |_, _, _| 0.0);
    qr(&cx(), &a.view(), &q.out(Mode::Write), &r.out(Mode::Write)).unwrap();
    let what = format!("{name} {m} by {n}");
    assert!(skew(&q, 0) < T::EPS, "{what}: {} from orthonormal", skew(&q, 0));
    let size = largest(&a);
    for i in 0..m {
        for c in 0..n {
            assert!(i <= c || i >= rows || r.get(0, i, c) == 0.0, "{what}: R at {i}, {c}");
            let sum: f64 = (0..rows).map(|k| q.get(0, i, k) * r.get(0, k, c)).sum();
            let off = (sum - a.get(0, i, c)).abs() / size;
            assert!(off < T::EPS * n as f64 / 4.0, "{what}: {off} off at {i}, {c}");
        }
    }
}

/// From sizes below one vector to both sides of where matrices are no longer small.
const SIDES: [usize; 10] = [1, 2, 3, 8, 15, 16, 17, 33, 64, 140];

#[test]
fn eigenvalues() {
    for n in SIDES {
        for (name, f) in troublesome(n) {
            // Large ones are `large_graded_eigenvalues`.
            if n < 140 || !name.starts_with("graded") {
                eigen::<f32>(n, name, &f, 1.0);
            }
            eigen::<f64>(n, name, &f, 1.0);
        }
    }
    for (name, f) in troublesome(20) {
        eigen::<f32>(20, name, &f, 1e36);
        eigen::<f32>(20, name, &f, 1e-30);
        eigen::<f64>(20, name, &f, 1e-300);
        eigen::<f64>(20, name, &f, 1e300);
    }
}

#[test]
fn values_of_singular_matrices() {
    for n in SIDES {
        for (name, f) in troublesome(n) {
            for shape in [(n, n), (n, n.div_ceil(3)), (n.div_ceil(2), n)] {
                // Large ones are `large_graded_singular_values`.
                if n < 140 || !name.starts_with("graded") {
                    singular::<f32>(shape, true, name, &f, 1.0);
                }
                singular::<f64>(shape, false, name, &f, 1.0);
            }
        }
    }
    for (name, f) in troublesome(20) {
        singular::<f32>((20, 11), false, name, &f, 1e36);
        singular::<f32>((11, 20), false, name, &f, 1e-30);
        singular::<f64>((20, 20), false, name, &f, 1e-300);
        singular::<f64>((11, 20), true, name, &f, 1e300);
    }
}

#[test]
fn large_graded_singular_values() {
    for (name, f) in troublesome(140).iter().filter(|(name, _)| name.starts_with("graded")) {
        singular::<f32>((140, 140), true, name, f, 1.0);
    }
}

#[test]
fn small_singular_values_are_accurate() {
    // Two diagonals with values from 1 to 1e-60: each is known to its last digits.
    let n = 21;
    let entry = |_, r: usize, c: usize| match (r == c, r + 1 == c) {
        (true, _) => 10.0_f64.powi(-3 * r as i32),
        (_, true) => 10.0_f64.powi(-3 * r as i32) * 1e-2,
        _ => 0.0,
    };
    let (a, upside_down) = (
        Batch::<f64>::new(&[n, n], false, entry),
        Batch::<f64>::new(&[n, n], false, |i, r, c| entry(i, n as usize - 1 - c, n as usize - 1 - r)),
    );
    let ((mut s, shape), (mut t, _)) = (vectors::<f64>(n as usize), vectors::<f64>(n as usize));
    let strides = shape.contiguous_strides();
    singular_values(&cx(), &a.view(), &line(&mut s, &shape, &strides)).unwrap();
    singular_values(&cx(), &upside_down.view(), &line(&mut t, &shape, &strides)).unwrap();
    // The determinant is the product of the diagonal, the first value about its own.
    let logs: f64 = s.iter().map(|x| x.log10()).sum();
    assert!((logs + 3.0 * 210.0).abs() < 1e-11, "{logs}");
    assert!(s.iter().zip(&t).all(|(s, t)| (s / t - 1.0).abs() < 1e-12), "{s:?} {t:?}");
}

#[test]
fn large_graded_eigenvalues() {
    for (name, f) in troublesome(140).iter().filter(|(name, _)| name.starts_with("graded")) {
        eigen::<f32>(140, name, f, 1.0);
    }
}

#[test]
fn orthogonal_factors() {
    for n in SIDES {
        for (name, f) in troublesome(n) {
            for shape in [(n, n), (n, n.div_ceil(3)), (n.div_ceil(2), n)] {
                orthogonal::<f32>(shape, true, name, &f);
                orthogonal::<f64>(shape, false, name, &f);
            }
        }
    }
}

#[test]
fn what_is_not_finite_is_refused() {
    for n in [3, 64, 140] {
        for bad in [f64::NAN, f64::INFINITY] {
            let side = n as isize;
            let a = Batch::<f32>::new(&[side, side], false, |_, r, c| if (r, c) == (n - 1, 1) { bad } else { 1.0 });
            let (mut w, shape) = vectors::<f32>(n);
            let strides = shape.contiguous_strides();
            let text = |e: gluonish_base::Error| format!("{:?}", e.cause());
            let refused = eigvalsh(&cx(), &a.view(), &line(&mut w, &shape, &strides)).unwrap_err();
            assert!(text(refused).contains("NaN or infinity"));
            let refused = singular_values(&cx(), &a.view(), &line(&mut w, &shape, &strides)).unwrap_err();
            assert!(text(refused).contains("NaN or infinity"));
        }
    }
}

#[test]
fn threads_do_not_change_the_bits() {
    for n in [8, 64, 140] {
        let a = Batch::<f64>::new(&[3, n, n], false, noise);
        let run = |threads| {
            let cx = Cx { threads, ..Cx::default() };
            let (mut u, mut v) = (a.clone(), a.clone());
            let mut w = vec![0.0; 3 * n as usize];
            let shape = Dims::of(&[3, n]);
            let strides = shape.contiguous_strides();
            svd(&cx, &a.view(), &u.out(Mode::Write), &line(&mut w, &shape, &strides), &v.out(Mode::Write)).unwrap();
            let mut q = a.clone();
            eigh(&cx, &a.view(), &line(&mut w, &shape, &strides), &q.out(Mode::Write)).unwrap();
            (u.data, v.data, q.data, w)
        };
        pool::set_threads(2);
        assert_eq!(run(1), run(2));
    }
}
