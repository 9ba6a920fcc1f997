//! Matrix products against plain loops in `f64`: shapes, strides, modes, epilogues, instruction sets, threads.
mod machine;

use gluonish_base::pool;
use gluonish_kernels::Mode;
use gluonish_kernels::gemm::{Affine, Epilogue, Identity, Mat, MatMut, Product, Real, Scale, Scaled, gemm};
use machine::{alone, each_isa};

/// Small numbers that look random; the same for the same seed.
struct Rng(u64);
impl Rng {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 40) as f64) / f64::from(1 << 23) - 1.0
    }
    fn vec<T: Float>(&mut self, n: usize) -> Vec<T> {
        (0..n).map(|_| T::of(self.next())).collect()
    }
}

trait Float: Real {
    const EPS: f64;
    fn of(x: f64) -> Self;
    fn get(self) -> f64;
}
impl Float for f32 {
    const EPS: f64 = 2e-6;
    fn of(x: f64) -> f32 {
        x as f32
    }
    fn get(self) -> f64 {
        self.into()
    }
}
impl Float for f64 {
    const EPS: f64 = 1e-14;
    fn of(x: f64) -> f64 {
        x
    }
    fn get(self) -> f64 {
        self
    }
}

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lay {
    Rows,
    Cols,
    /// Rows with a gap behind each.
    Gap,
    /// Nothing is contiguous.
    Sparse,
    /// Rows from the last to the first, each backwards.
    Back,
    /// One row, repeated.
    Repeat,
    /// One column, repeated.
    Smear,
}
const READ: [Lay; 7] = [Lay::Rows, Lay::Cols, Lay::Gap, Lay::Sparse, Lay::Back, Lay::Repeat, Lay::Smear];
const WRITE: [Lay; 5] = [Lay::Rows, Lay::Cols, Lay::Gap, Lay::Sparse, Lay::Back];

struct Held<T> {
    data: Vec<T>,
    start: usize,
    rows: usize,
    cols: usize,
    rs: isize,
    cs: isize,
}

impl<T: Float> Held<T> {
    fn new(rng: &mut Rng, rows: usize, cols: usize, lay: Lay) -> Held<T> {
        let (r, c) = (rows as isize, cols as isize);
        let (rs, cs) = match lay {
            Lay::Rows => (c, 1),
            Lay::Cols => (1, r),
            Lay::Gap => (c + 3, 1),
            Lay::Sparse => (2 * c + 5, 2),
            Lay::Back => (-(c + 1), -1),
            Lay::Repeat => (0, 1),
            Lay::Smear => (1, 0),
        };
        let far = |s: isize, n: isize| (n - 1).max(0) * s;
        let start = (-(far(rs, r).min(0) + far(cs, c).min(0))) as usize;
        let end = start as isize + far(rs, r).max(0) + far(cs, c).max(0) + 1;
        Held { data: rng.vec(end as usize), start, rows, cols, rs, cs }
    }
    fn index(&self, i: usize, j: usize) -> usize {
        (self.start as isize + i as isize * self.rs + j as isize * self.cs) as usize
    }
    fn get(&self, i: usize, j: usize) -> f64 {
        self.data[self.index(i, j)].get()
    }
    fn mat(&self) -> Mat<T> {
        Mat::new(self.data[self.start..].as_ptr(), self.rs, self.cs)
    }
    fn mat_mut(&mut self) -> MatMut<T> {
        MatMut::new(self.data[self.start..].as_mut_ptr(), self.rs, self.cs)
    }
}

/// Sums of products and of their magnitudes.
fn naive<T: Float>(a: &Held<T>, b: &Held<T>) -> Vec<(f64, f64)> {
    let mut out = Vec::new();
    for i in 0..a.rows {
        for j in 0..b.cols {
            let terms = (0..a.cols).map(|p| a.get(i, p) * b.get(p, j));
            out.push(terms.fold((0.0, 0.0), |(s, m), t| (s + t, m + t.abs())));
        }
    }
    out
}

#[derive(Clone, Copy)]
struct Case<'a> {
    shape: (usize, usize, usize),
    lay: (Lay, Lay, Lay),
    mode: Mode,
    /// Numbers of threads to run with: the bits must be the same.
    threads: &'a [usize],
}

/// Runs a case with every instruction set and compares with `expect(product, row, col)`.
fn check<T: Float, E: Epilogue<T>>(case: Case<'_>, e: E, expect: impl Fn(f64, usize, usize) -> f64) {
    let Case { shape: (m, n, k), lay, mode, threads } = case;
    let mut rng = Rng((m * 10007 + n * 101 + k) as u64);
    let a = Held::<T>::new(&mut rng, m, k, lay.0);
    let b = Held::<T>::new(&mut rng, k, n, lay.1);
    let mut c = Held::<T>::new(&mut rng, m, n, lay.2);
    let before = c.data.clone();
    let sums = naive(&a, &b);
    each_isa(|isa| {
        let mut first: Option<Vec<T>> = None;
        for &threads in threads {
            c.data.copy_from_slice(&before);
            let product = Product { m, n, k, a: a.mat(), b: b.mat(), c: c.mat_mut(), mode, e };
            // SAFETY: the matrices have these shapes and strides, and C is apart from A and B.
            unsafe { gemm(threads, product) };
            let same = first.as_ref().is_none_or(|f| *f == c.data);
            assert!(same, "{isa:?} {m}x{n}x{k} {lay:?} {mode:?}: {threads} threads give other bits");
            first = Some(c.data.clone());
        }
        let mut touched = vec![false; c.data.len()];
        for i in 0..m {
            for j in 0..n {
                let at = c.index(i, j);
                touched[at] = true;
                let (sum, size) = sums[i * n + j];
                let old = if mode == Mode::Add { before[at].get() } else { 0.0 };
                let (got, want) = (c.data[at].get(), expect(sum, i, j) + old);
                let close = (got - want).abs() <= T::EPS * (2.0 + size);
                assert!(close, "{isa:?} {m}x{n}x{k} {lay:?} {mode:?} at {i}, {j}: {got} is not {want}");
            }
        }
        let kept = c.data.iter().zip(&before).zip(&touched).all(|((x, y), &t)| t || x == y);
        assert!(kept, "{isa:?} {m}x{n}x{k} {lay:?} {mode:?}: wrote beside C");
    });
}

fn plain<T: Float>(shape: (usize, usize, usize), lay: (Lay, Lay, Lay), mode: Mode) {
    check::<T, _>(Case { shape, lay, mode, threads: &[1] }, Identity, |x, _, _| x);
}

const MODES: [Mode; 2] = [Mode::Write, Mode::Add];
const TRANSPOSES: [(Lay, Lay); 4] =
    [(Lay::Rows, Lay::Rows), (Lay::Rows, Lay::Cols), (Lay::Cols, Lay::Rows), (Lay::Cols, Lay::Cols)];

#[test]
fn small_shapes() {
    let _alone = alone();
    for m in 0..20 {
        for n in 0..20 {
            for k in [0, 1, 2, 3, 5, 8, 17] {
                let (a, b) = TRANSPOSES[(m + n + k) % 4];
                let mode = MODES[(m + n) % 2];
                plain::<f32>((m, n, k), (a, b, Lay::Rows), mode);
                plain::<f64>((m, n, k), (b, a, Lay::Gap), mode);
            }
        }
    }
}

#[test]
fn odd_shapes_in_every_transpose() {
    let _alone = alone();
    for m in [1, 5, 13, 29, 61, 131] {
        for n in [1, 7, 17, 31, 67, 129] {
            for k in [1, 31, 257, 331] {
                for (a, b) in TRANSPOSES {
                    let mode = MODES[(m / 2 + n / 2 + k) % 2];
                    plain::<f32>((m, n, k), (a, b, Lay::Rows), mode);
                    plain::<f64>((m, n, k), (a, b, Lay::Rows), mode);
                }
            }
        }
    }
}

#[test]
fn any_strides() {
    let _alone = alone();
    for a in READ {
        for b in READ {
            for c in WRITE {
                for (at, mode) in MODES.into_iter().enumerate() {
                    for shape in [(23, 37, 19), (70, 11, 40), (1, 50, 33), (45, 1, 34)] {
                        plain::<f32>(shape, (a, b, c), mode);
                    }
                    plain::<f64>([(15, 18, 21), (9, 33, 340)][at], (a, b, c), mode);
                }
            }
        }
    }
}

#[test]
fn blocks_of_every_loop() {
    let _alone = alone();
    for (a, b) in TRANSPOSES {
        plain::<f32>((17, 4200, 9), (a, b, Lay::Rows), Mode::Add);
        plain::<f32>((1100, 21, 330), (a, b, Lay::Rows), Mode::Write);
        plain::<f64>((600, 140, 330), (a, b, Lay::Gap), Mode::Add);
        plain::<f32>((40, 40, 1000), (a, b, Lay::Rows), Mode::Add);
    }
}

#[test]
fn vectors() {
    let _alone = alone();
    for (a, b) in TRANSPOSES {
        for mode in MODES {
            for len in [1, 2, 3, 15, 16, 17, 100, 2049, 5000] {
                plain::<f32>((1, 5, len), (a, b, Lay::Rows), mode);
                plain::<f32>((5, 1, len), (a, b, Lay::Gap), mode);
                plain::<f64>((1, len, 9), (a, b, Lay::Rows), mode);
                plain::<f64>((len, 1, 9), (a, b, Lay::Sparse), mode);
            }
        }
    }
}

#[test]
fn epilogues() {
    let _alone = alone();
    for shape @ (m, n, _) in [(20, 33, 10), (7, 70, 600), (1, 19, 30), (30, 1, 5000), (8, 8, 0)] {
        let mut rng = Rng(7);
        let by_row = rng.vec::<f32>(m);
        let by_col = rng.vec::<f32>(n);
        let other = rng.vec::<f32>(m * n);
        for mode in MODES {
            for c in [Lay::Rows, Lay::Sparse] {
                let case = Case { shape, lay: (Lay::Rows, Lay::Cols, c), mode, threads: &[1, 2] };
                check(case, Scale(-0.5f32), |x, _, _| -0.5 * x);
                let bias = Affine::<f32, false, false, true, false, true>::bias(by_col.as_ptr());
                check(case, bias, |x, _, j| (x + f64::from(by_col[j])).max(0.0));
                let whole = Affine::<f32, true, true, true, true, false> {
                    scale: by_row.as_ptr(),
                    bias: by_row.as_ptr(),
                    add: other.as_ptr(),
                    add_ld: n as isize,
                };
                check(case, whole, |x, i, j| (x + 1.0) * f64::from(by_row[i]) + f64::from(other[i * n + j]));
            }
        }
    }
}

#[test]
fn relu_keeps_nan() {
    let _alone = alone();
    each_isa(|_| {
        let (a, b) = ([f32::NAN, 1.0], [1.0f32]);
        let bias = [-2.0f32];
        let mut c = [0.0f32; 2];
        let e = Affine::<f32, false, false, true, false, true>::bias(bias.as_ptr());
        let (a, b) = (Mat::new(a.as_ptr(), 1, 1), Mat::new(b.as_ptr(), 1, 1));
        let to = MatMut::new(c.as_mut_ptr(), 1, 1);
        // SAFETY: two by one times one by one.
        unsafe { gemm(1, Product { m: 2, n: 1, k: 1, a, b, c: to, mode: Mode::Write, e }) };
        assert!(c[0].is_nan() && c[1] == 0.0);
    });
}

#[test]
fn scaled_operands() {
    let _alone = alone();
    let (m, n, k) = (37, 41, 350);
    let mut rng = Rng(5);
    let a = Held::<f64>::new(&mut rng, m, k, Lay::Rows);
    let b = Held::<f64>::new(&mut rng, k, n, Lay::Rows);
    let sums = naive(&a, &b);
    each_isa(|_| {
        let mut c = vec![1.0; m * n];
        let to = MatMut::new(c.as_mut_ptr(), n as isize, 1);
        let scaled = Scaled { mat: a.mat(), by: -2.0 };
        // SAFETY: the matrices have these shapes.
        unsafe { gemm(1, Product { m, n, k, a: scaled, b: b.mat(), c: to, mode: Mode::Add, e: Identity }) };
        assert!(c.iter().zip(&sums).all(|(x, (sum, size))| (x - (1.0 - 2.0 * sum)).abs() <= 1e-13 * (1.0 + size)));
    });
}

#[test]
fn bits_do_not_depend_on_threads() {
    let _alone = alone();
    pool::set_threads(4);
    for shape in [(257, 129, 300), (64, 800, 200), (1, 3000, 400), (3000, 1, 400), (37, 500, 513), (500, 37, 64)] {
        for (a, b) in TRANSPOSES {
            for (c, mode) in [(Lay::Rows, Mode::Write), (Lay::Cols, Mode::Add), (Lay::Rows, Mode::Add)] {
                let case = Case { shape, lay: (a, b, c), mode, threads: &[1, 2, 3, 4] };
                check::<f64, _>(case, Identity, |x, _, _| x);
                check(case, Scale(0.3f32), |x, _, _| f64::from(0.3f32) * x);
            }
        }
    }
    // Large enough for threads to pack for each other.
    let case =
        Case { shape: (300, 700, 600), lay: (Lay::Rows, Lay::Cols, Lay::Gap), mode: Mode::Add, threads: &[1, 2, 4] };
    check::<f32, _>(case, Identity, |x, _, _| x);
    check::<f32, _>(
        Case { lay: (Lay::Cols, Lay::Rows, Lay::Rows), mode: Mode::Write, ..case },
        Scale(2.0),
        |x, _, _| 2.0 * x,
    );
}
