//! Singular values of small matrices: reflections to two diagonals, of which rotations then make the upper one vanish, as
//! LAPACK's `bdsqr` does. The chain of angles is bound by latency: rows are rotated in its shadow.
use super::small::{Rows, Task, add_multiple, combine, dot, head, on_vectors, scale_of, unfold, vector_of, zero_row};
use super::spectral::{column, turn};
use super::{Field, Number};
use crate::gemm::{Real, Simd};
use faer::diag::DiagMut;
use faer::{MatMut, MatRef};

/// Memory for one matrix after another, of m by n with m >= n; wider ones are taken transposed.
pub(super) struct SmallSvd<T> {
    m: usize,
    n: usize,
    wide: bool,
    a: Rows<T>,
    lefts: Rows<T>,
    factors: (Vec<T>, Vec<T>),
    main: Vec<f64>,
    above: Vec<f64>,
    /// Room for products of reflections, and the singular vectors as rows.
    q: Rows<T>,
    p: Rows<T>,
    ut: Rows<T>,
    vt: Rows<T>,
    /// How many vectors are wanted on the longer side; on the shorter one all or none.
    cols: usize,
}

impl<T: Field> SmallSvd<T> {
    /// `cols` as many left and right vectors; (0, 0) for none.
    pub(super) fn new((m, n): (usize, usize), (cols_u, cols_v): (usize, usize)) -> SmallSvd<T> {
        let wide = m < n;
        let (m, n, cols) = if wide { (n, m, cols_v) } else { (m, n, cols_u) };
        let (long, short) = if cols > 0 { (m, n) } else { (0, 0) };
        SmallSvd {
            m,
            n,
            wide,
            a: Rows::new(m, n),
            lefts: Rows::new(n, m),
            factors: (vec![T::default(); n], vec![T::default(); n]),
            main: vec![0.0; n],
            above: vec![0.0; n],
            q: Rows::new(m, cols),
            p: Rows::new(n, short),
            ut: Rows::new(cols.max(n), long),
            vt: Rows::new(n, short),
            cols,
        }
    }

    /// The singular values into `s`, and vectors as columns of U and V. False: no convergence.
    pub(super) fn run(
        &mut self,
        a: MatRef<'_, T>,
        mut s: DiagMut<'_, T>,
        uv: Option<(MatMut<'_, T>, MatMut<'_, T>)>,
    ) -> bool {
        let (m, n) = (self.m, self.n);
        let columns = || (0..a.ncols()).filter_map(|j| a.col(j).try_as_col_major()).map(|col| col.as_slice());
        let scale = scale_of(columns().flatten().copied());
        for (j, column) in columns().enumerate() {
            for (i, x) in column.iter().enumerate() {
                let (i, j) = if self.wide { (j, i) } else { (i, j) };
                self.a.flat_mut(i)[j] = T::of(x.to_f64() * scale);
            }
        }
        if !on_vectors(&mut *self) {
            return false;
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| self.main[j].abs().total_cmp(&self.main[i].abs()));
        for (j, &k) in order.iter().enumerate() {
            s[j] = T::of(self.main[k].abs() / scale);
        }
        let Some((u, v)) = uv else { return true };
        let (mut u, mut v) = if self.wide { (v, u) } else { (u, v) };
        for j in 0..self.cols {
            let from = self.ut.flat(order.get(j).map_or(j, |k| *k));
            column(&mut u, j).copy_from_slice(&from[..m]);
        }
        for (j, &k) in order.iter().enumerate() {
            let to = column(&mut v, j);
            to.copy_from_slice(&self.vt.flat(k)[..n]);
            if self.main[k] < 0.0 {
                turn(to);
            }
        }
        true
    }
}

/// From the matrix in `a` to singular values, but for their signs, in `main` and vectors as rows of `ut` and `vt`. False:
/// no convergence.
impl<T: Number> Task<T> for &mut SmallSvd<T> {
    type Out = bool;

    #[inline(always)]
    fn run<S: Simd<T = T>>(self) -> bool {
        let (m, n, cols) = (self.m, self.n, self.cols);
        reduce::<S>(self);
        if cols > 0 {
            self.q.clear();
            unfold::<S>(&mut self.q, (m, cols), &self.lefts, &self.factors.0, 0);
            self.q.transpose_into(&mut self.ut, (m, cols));
            self.p.clear();
            unfold::<S>(&mut self.p, (n, n), &self.a, &self.factors.1[..n - 1], 1);
            self.p.transpose_into(&mut self.vt, (n, n));
        }
        diagonalise::<S>(self)
    }
}

/// Makes the k-th reflections, from the left those of `lefts` and from the right the rows of A.
#[inline(always)]
fn reduce<S: Simd<T: Number>>(s: &mut SmallSvd<S::T>) {
    let SmallSvd { m, n, a, lefts, factors, main, above, .. } = s;
    let (m, n, width) = (*m, *n, a.width);
    for k in 0..n {
        let left = lefts.flat_mut(k);
        (k..m).for_each(|i| left[i] = a.flat(i)[k]);
        (factors.0[k], main[k]) = head(left, k);
        above[k] = 0.0;
        if k + 1 == n {
            break;
        }
        let left = &left[..m];
        let from = vector_of(k + 1);
        let mut product = zero_row::<S::T>();
        for (c, product) in product.iter_mut().enumerate().take(width).skip(from) {
            add_multiple::<S>(product, S::T::MINUS_ONE * factors.0[k], &combine::<S>(a, c, k, left));
        }
        let row = a.row_mut(k);
        for (x, product) in row.iter_mut().zip(&product).skip(from) {
            add_multiple::<S>(x, S::T::ONE, product);
        }
        (factors.1[k], above[k]) = head(row.as_flattened_mut(), k + 1);
        let mut right = zero_row::<S::T>();
        right[..width].copy_from_slice(row);
        let (product, right) = (&product[from..width], &right[from..width]);
        let back = S::T::MINUS_ONE * factors.1[k];
        for (i, &left) in left.iter().enumerate().skip(k + 1) {
            let row = &mut a.row_mut(i)[from..];
            for (x, product) in row.iter_mut().zip(product) {
                add_multiple::<S>(x, left, product);
            }
            let along = back * dot::<S>(row, right);
            for (x, right) in row.iter_mut().zip(right) {
                add_multiple::<S>(x, along, right);
            }
        }
    }
}

/// The rotation that maps (f, g) to (length, 0): cosine, sine, length.
#[inline(always)]
fn rotation(f: f64, g: f64) -> (f64, f64, f64) {
    let square = f * f + g * g;
    if square < 1e-280 {
        return far_down(f, g);
    }
    let length = square.sqrt();
    let over = 1.0 / length;
    (f * over, g * over, length)
}

/// The same for numbers whose squares would vanish.
#[cold]
fn far_down(f: f64, g: f64) -> (f64, f64, f64) {
    if g == 0.0 {
        return (1.0, 0.0, f);
    }
    let length = f.hypot(g);
    if length < f64::MIN_POSITIVE {
        return (1.0, 0.0, 0.0);
    }
    (f / length, g / length, length)
}

/// Two diagonals as one end or the other sees them: seen from below they are those of the transposed matrix, with left
/// and right exchanged.
struct Block<'a, T> {
    d: &'a mut [f64],
    e: &'a mut [f64],
    left: &'a mut Rows<T>,
    right: &'a mut Rows<T>,
    start: usize,
    steps: usize,
    downwards: bool,
}

impl<T: Number> Block<'_, T> {
    #[inline(always)]
    fn at(&self, k: usize) -> usize {
        if self.downwards { self.start + k } else { self.start - k }
    }
    /// Where the element between positions k and k + 1 stands.
    #[inline(always)]
    fn between(&self, k: usize) -> usize {
        if self.downwards { self.start + k } else { self.start - k - 1 }
    }

    /// Lets go of elements that are small beside the singular values; whether there were any. Else a lower bound, about,
    /// of the singular values.
    #[inline(always)]
    fn split(&mut self, tolerance: f64) -> Option<f64> {
        let goal = self.between(self.steps - 1);
        if self.e[goal].abs() <= tolerance * self.d[self.at(self.steps)].abs() {
            self.e[goal] = 0.0;
            return None;
        }
        let mut bound = self.d[self.start].abs();
        let mut least = bound;
        for k in 0..self.steps {
            let i = self.between(k);
            let beside = self.e[i].abs();
            if beside <= tolerance * bound {
                self.e[i] = 0.0;
                return None;
            }
            bound = self.d[self.at(k + 1)].abs() * (bound / (bound + beside));
            least = least.min(bound);
        }
        Some(least)
    }

    /// The smaller singular value of the two positions at the goal.
    #[inline(always)]
    fn shift(&self) -> f64 {
        let (f, g) = (self.d[self.at(self.steps - 1)].abs(), self.e[self.between(self.steps - 1)].abs());
        let h = self.d[self.at(self.steps)].abs();
        let (small, large) = (f.min(h), f.max(h));
        if small == 0.0 {
            return 0.0;
        }
        let (a, b) = (1.0 + small / large, (large - small) / large);
        let g = g / large;
        2.0 * small / ((a * a + g * g).sqrt() + (b * b + g * g).sqrt())
    }

    /// A step with a shift, which is not zero.
    #[inline(always)]
    fn sweep<S: Simd<T = T>>(&mut self, shift: f64) {
        let first = self.d[self.start];
        let mut f = (first.abs() - shift) * (1.0_f64.copysign(first) + shift / first);
        let mut g = self.e[self.between(0)];
        for k in 0..self.steps {
            let (i, j, b) = (self.at(k), self.at(k + 1), self.between(k));
            let (cos, sin, length) = rotation(f, g);
            if k > 0 {
                self.e[self.between(k - 1)] = length;
            }
            f = cos * self.d[i] + sin * self.e[b];
            let beside = cos * self.e[b] - sin * self.d[i];
            g = sin * self.d[j];
            let next = cos * self.d[j];
            self.right.rotate::<S>(i, j, (cos, sin));
            let (cos, sin, length) = rotation(f, g);
            self.d[i] = length;
            f = cos * beside + sin * next;
            self.d[j] = cos * next - sin * beside;
            if k + 1 < self.steps {
                let b = self.between(k + 1);
                g = sin * self.e[b];
                self.e[b] *= cos;
            }
            self.left.rotate::<S>(i, j, (cos, sin));
        }
        let goal = self.between(self.steps - 1);
        self.e[goal] = f;
    }

    /// A step with the shift zero, which keeps what is tiny accurate and finds what is zero.
    #[inline(always)]
    fn sweep_unshifted<S: Simd<T = T>>(&mut self) {
        let (mut cos, mut old_cos, mut old_sin) = (1.0, 1.0, 0.0);
        for k in 0..self.steps {
            let (i, j) = (self.at(k), self.at(k + 1));
            let (c, sin, length) = rotation(self.d[i] * cos, self.e[self.between(k)]);
            cos = c;
            if k > 0 {
                self.e[self.between(k - 1)] = old_sin * length;
            }
            self.right.rotate::<S>(i, j, (cos, sin));
            (old_cos, old_sin, self.d[i]) = rotation(old_cos * length, self.d[j] * sin);
            self.left.rotate::<S>(i, j, (old_cos, old_sin));
        }
        let (last, goal) = (self.at(self.steps), self.between(self.steps - 1));
        let rest = self.d[last] * cos;
        self.d[last] = rest * old_cos;
        self.e[goal] = rest * old_sin;
    }
}

/// False: no convergence.
#[inline(always)]
fn diagonalise<S: Simd<T: Number>>(s: &mut SmallSvd<S::T>) -> bool {
    let SmallSvd { n, main: d, above: e, ut, vt, .. } = s;
    let n = *n;
    let eps = 0.5 * S::T::EPSILON;
    let tolerance = 10.0 * eps;
    // What is below this is far less than the tolerance times the smallest singular value, if there is none that is zero.
    let least = (1..n).scan(d[0].abs(), |bound, i| {
        *bound = d[i].abs() * (*bound / (*bound + e[i - 1].abs()));
        (*bound > 0.0).then_some(*bound)
    });
    let threshold = tolerance * least.fold(d[0].abs(), f64::min) / (n as f64).sqrt();
    let threshold = threshold.max(f64::MIN_POSITIVE * 1e6);
    let mut left = 6 * n * n;
    let mut end = n;
    while end > 1 {
        let last = end - 1;
        let first = (0..last).rev().find(|&k| e[k].abs() <= threshold).map_or(0, |k| k + 1);
        if first > 0 {
            e[first - 1] = 0.0;
        }
        if first == last {
            end -= 1;
            continue;
        }
        let largest = d[first..=last].iter().chain(&e[first..last]).fold(0.0, |most: f64, x| most.max(x.abs()));
        let steps = last - first;
        let downwards = d[first].abs() >= d[last].abs();
        let (left_rows, right_rows) = if downwards { (&mut *ut, &mut *vt) } else { (&mut *vt, &mut *ut) };
        let start = if downwards { first } else { last };
        let mut block = Block { d, e, left: left_rows, right: right_rows, start, steps, downwards };
        let Some(least) = block.split(tolerance) else { continue };
        if left == 0 {
            return false;
        }
        left -= 1;
        let shift = block.shift();
        let ratio = shift / block.d[start].abs();
        if least <= eps * largest || ratio * ratio < eps {
            block.sweep_unshifted::<S>();
        } else {
            block.sweep::<S>(shift);
        }
    }
    true
}
