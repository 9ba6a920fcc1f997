//! Eigenvalues of small symmetric matrices: reflections to three diagonals, whose off-diagonal elements rotations then
//! make vanish, as LAPACK's `steqr` does. The chain of angles is bound by latency: rows are rotated in its shadow.
use super::Number;
use super::small::{
    Rows, Task, add_multiple, dot, head, on_vectors, scale_of, unfold, update_and_combine, vector_of, zero_row,
};
use crate::gemm::Simd;

/// Memory for one matrix after another.
pub(super) struct SmallEigen<T> {
    a: Rows<T>,
    q: Rows<T>,
    main: Vec<f64>,
    below: Vec<f64>,
    factors: Vec<T>,
    vectors: bool,
}

impl<T: Number> SmallEigen<T> {
    pub(super) fn new(n: usize, vectors: bool) -> SmallEigen<T> {
        let (a, q) = (Rows::new(n, n), Rows::new(n, if vectors { n } else { 0 }));
        SmallEigen { a, q, main: vec![0.0; n], below: vec![0.0; n], factors: vec![T::default(); n], vectors }
    }

    /// The eigenvalues of the matrix whose lower triangle `lower` holds, column after column, into `values` and its
    /// eigenvectors, one after another, into `vectors`. False: no convergence.
    pub(super) fn run(&mut self, lower: &[T], values: &mut [T], vectors: &mut [T]) -> bool {
        let n = values.len();
        let triangle = || (0..n).flat_map(|j| lower[j * n + j..(j + 1) * n].iter().copied());
        let scale = scale_of(triangle());
        for j in 0..n {
            for i in j..n {
                let x = T::of(lower[j * n + i].to_f64() * scale);
                self.a.flat_mut(i)[j] = x;
                self.a.flat_mut(j)[i] = x;
            }
        }
        if !on_vectors(&mut *self) {
            return false;
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| self.main[i].total_cmp(&self.main[j]));
        for (j, &k) in order.iter().enumerate() {
            values[j] = T::of(self.main[k] / scale);
            if self.vectors {
                vectors[j * n..(j + 1) * n].copy_from_slice(&self.a.flat(k)[..n]);
            }
        }
        true
    }
}

/// From the matrix in `a` to eigenvalues in `main` and eigenvectors as rows of `a`. False: no convergence.
impl<T: Number> Task<T> for &mut SmallEigen<T> {
    type Out = bool;

    #[inline(always)]
    fn run<S: Simd<T = T>>(self) -> bool {
        let SmallEigen { a, q, main, below, factors, vectors } = self;
        let n = main.len();
        reduce::<S>(a, main, below, factors);
        if *vectors {
            q.clear();
            unfold::<S>(q, (n, n), a, &factors[..n - 1], 1);
            q.transpose_into(a, (n, n));
            diagonalise::<S>(main, below, a)
        } else {
            diagonalise::<S>(main, below, q)
        }
    }
}

/// Makes row k of A the k-th reflection. Each goes over the matrix once: what the one before it changes is computed
/// together with the product that the next needs.
#[inline(always)]
fn reduce<S: Simd<T: Number>>(a: &mut Rows<S::T>, main: &mut [f64], below: &mut [f64], factors: &mut [S::T]) {
    let n = main.len();
    // A - v w' - w v' is the matrix after the reflection before.
    let (mut v, mut w) = (zero_row::<S::T>(), zero_row::<S::T>());
    let negative = |x: S::T| x * S::T::MINUS_ONE;
    for k in 0..n {
        let (by_v, by_w) = (negative(v.as_flattened()[k]), negative(w.as_flattened()[k]));
        for (c, row) in a.row_mut(k).iter_mut().enumerate().skip(vector_of(k)) {
            add_multiple::<S>(row, by_v, &w[c]);
            add_multiple::<S>(row, by_w, &v[c]);
        }
        main[k] = a.flat(k)[k].to_f64();
        if k + 1 == n {
            break;
        }
        (factors[k], below[k]) = head(&mut a.flat_mut(k)[..], k + 1);
        let mut next = zero_row::<S::T>();
        next[..a.width].copy_from_slice(a.row(k));
        let mut product = zero_row::<S::T>();
        let (from, width) = (vector_of(k + 1), a.width);
        for (c, product) in product.iter_mut().enumerate().take(width).skip(from) {
            *product = update_and_combine::<S>(a, c, k + 1, (&v, &w), &next.as_flattened()[..n]);
        }
        let factor = factors[k];
        let shift = negative(factor * factor * S::T::of(0.5) * dot::<S>(&next[from..width], &product[from..width]));
        w = zero_row();
        for c in from..width {
            add_multiple::<S>(&mut w[c], factor, &product[c]);
            add_multiple::<S>(&mut w[c], shift, &next[c]);
        }
        v = next;
    }
}

/// Sums of squares below this vanish beside a matrix of size 1.
const NOTHING: f64 = 1e-280;

/// Diagonalises with rotations, which turn `rows` too. False: no convergence.
#[inline(always)]
fn diagonalise<S: Simd<T: Number>>(d: &mut [f64], e: &mut [f64], rows: &mut Rows<S::T>) -> bool {
    const SWEEPS: usize = 30;
    let n = d.len();
    let tiny = (0.5 * S::T::EPSILON) * (0.5 * S::T::EPSILON);
    let mut left = SWEEPS * n;
    let mut end = n;
    // The last block that is not diagonal yet is first..=last.
    while end > 1 {
        let last = end - 1;
        let coupled = |k: usize| e[k] * e[k] > tiny * d[k].abs() * d[k + 1].abs() + NOTHING;
        let first = (0..last).rev().find(|&k| !coupled(k)).map_or(0, |k| k + 1);
        if first > 0 {
            e[first - 1] = 0.0;
        }
        if first == last {
            end -= 1;
            continue;
        }
        if left == 0 {
            return false;
        }
        left -= 1;
        // Towards the smaller end: what is graded keeps its small values.
        if d[last].abs() < d[first].abs() {
            sweep::<S>(d, e, rows, last, first);
        } else {
            sweep::<S>(d, e, rows, first, last);
        }
    }
    true
}

/// One implicit step that makes the element beside d[goal] small, from the other end of a block on.
#[inline(always)]
fn sweep<S: Simd<T: Number>>(d: &mut [f64], e: &mut [f64], rows: &mut Rows<S::T>, goal: usize, start: usize) {
    let upwards = goal < start;
    let steps = goal.abs_diff(start);
    // Position k of the block counted from the goal, and the element beside it on the far side.
    let at = |k: usize| if upwards { goal + k } else { goal - k };
    let beside = |k: usize| if upwards { goal + k } else { goal - k - 1 };
    let half = (d[at(1)] - d[goal]) / (2.0 * e[beside(0)]);
    let mut g = d[start] - d[goal] + e[beside(0)] / (half + (half * half + 1.0).sqrt().copysign(half));
    let (mut sin, mut cos, mut p) = (1.0, 1.0, 0.0);
    for k in (0..steps).rev() {
        let (i, j) = (at(k), at(k + 1));
        let (f, b) = (sin * e[beside(k)], cos * e[beside(k)]);
        let square = f * f + g * g;
        if square < NOTHING {
            d[j] -= p;
            if k + 1 < steps {
                e[beside(k + 1)] = 0.0;
            }
            return;
        }
        let length = square.sqrt();
        if k + 1 < steps {
            e[beside(k + 1)] = length;
        }
        let over = 1.0 / length;
        (sin, cos) = (f * over, g * over);
        let base = d[j] - p;
        let r = (d[i] - base) * sin + 2.0 * cos * b;
        p = sin * r;
        d[j] = base + p;
        g = cos * r - b;
        rows.rotate::<S>(j, i, (cos, sin));
    }
    d[goal] -= p;
    e[beside(0)] = g;
}
