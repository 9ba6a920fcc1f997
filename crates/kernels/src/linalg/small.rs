//! Reflections and rotations of matrices that fit in the nearest caches, on whole vectors of contiguous rows: blocks of
//! reflections, which large matrices need, cost more here than they save. Lengths and angles are float64 always.
use super::Number;
use crate::gemm::{Body, Real, Simd, Work, dispatch};
use std::marker::PhantomData;
use std::ops::Range;

/// Sides up to this are small.
pub(super) const SMALL: usize = 128;
const LANES: usize = 16;
const MOST: usize = SMALL / LANES;
pub(super) type Lanes<T> = [T; LANES];
/// A vector as long as the longest row.
pub(super) type Row<T> = [Lanes<T>; MOST];

/// A matrix row after row, each of whole vectors: what is behind its last element is zero or of no interest.
pub(super) struct Rows<T> {
    data: Vec<Lanes<T>>,
    /// Vectors of a row.
    pub(super) width: usize,
    /// Vectors from row to row: odd, for rows at a power of two apart would compete for the same lines of the cache.
    stride: usize,
}

impl<T: Number> Rows<T> {
    pub(super) fn new(rows: usize, cols: usize) -> Rows<T> {
        let width = cols.div_ceil(LANES);
        let stride = width | 1;
        Rows { data: vec![[T::default(); LANES]; rows * stride], width, stride }
    }

    #[inline(always)]
    pub(super) fn row(&self, i: usize) -> &[Lanes<T>] {
        &self.data[i * self.stride..][..self.width]
    }

    #[inline(always)]
    pub(super) fn row_mut(&mut self, i: usize) -> &mut [Lanes<T>] {
        &mut self.data[i * self.stride..][..self.width]
    }

    #[inline(always)]
    pub(super) fn flat(&self, i: usize) -> &[T] {
        self.row(i).as_flattened()
    }

    #[inline(always)]
    pub(super) fn flat_mut(&mut self, i: usize) -> &mut [T] {
        self.row_mut(i).as_flattened_mut()
    }

    #[inline(always)]
    pub(super) fn column_mut(&mut self, c: usize, rows: Range<usize>) -> impl Iterator<Item = &mut Lanes<T>> {
        self.data[rows.start * self.stride + c..].iter_mut().step_by(self.stride).take(rows.len())
    }

    pub(super) fn clear(&mut self) {
        self.data.fill([T::default(); LANES]);
    }

    /// The rows (of `cols` elements) become the columns of another matrix.
    #[inline(always)]
    pub(super) fn transpose_into(&self, to: &mut Rows<T>, (rows, cols): (usize, usize)) {
        for i in 0..rows {
            for (j, &x) in self.flat(i)[..cols].iter().enumerate() {
                to.data.as_flattened_mut()[j * to.stride * LANES + i] = x;
            }
        }
    }

    /// Turns rows i and j in their plane.
    #[inline(always)]
    pub(super) fn rotate<S: Simd<T = T>>(&mut self, i: usize, j: usize, (cos, sin): (f64, f64)) {
        let sin = T::of(if i < j { sin } else { -sin });
        let (low, high) = self.data.split_at_mut(i.max(j) * self.stride);
        let (low, high) = (&mut low[i.min(j) * self.stride..][..self.width], &mut high[..self.width]);
        // SAFETY: who has an `S` runs inside of `on_vectors`, and vectors are whole.
        unsafe {
            let (cos, sin, back) = (S::splat(T::of(cos)), S::splat(sin), S::splat(sin * T::MINUS_ONE));
            for (x, y) in low.iter_mut().zip(high) {
                for l in (0..LANES).step_by(S::LANES) {
                    let (p, q) = (S::load(&x[l]), S::load(&y[l]));
                    S::store(&mut x[l], S::fma(sin, q, S::mul(cos, p)));
                    S::store(&mut y[l], S::fma(back, p, S::mul(cos, q)));
                }
            }
        }
    }
}

/// Work on whole vectors, compiled for each instruction set.
pub(super) trait Task<T: Number> {
    type Out;
    fn run<S: Simd<T = T>>(self) -> Self::Out;
}

/// Runs the best instance of a task for this machine: `S` exists nowhere else.
pub(super) fn on_vectors<T: Number, K: Task<T>>(task: K) -> K::Out {
    dispatch::<T, _>(Chosen(task))
}

struct Chosen<K>(K);

impl<T: Number, K: Task<T>> Work<T> for Chosen<K> {
    type Out = K::Out;

    unsafe fn run<S: Simd<T = T>>(self) -> K::Out {
        // SAFETY: the caller's.
        unsafe { S::enter(Inside::<S, K>(self.0, PhantomData)) }
    }
}

struct Inside<S, K>(K, PhantomData<S>);

impl<S: Simd<T: Number>, K: Task<S::T>> Body for Inside<S, K> {
    type Out = K::Out;

    #[inline(always)]
    unsafe fn run(self) -> K::Out {
        self.0.run::<S>()
    }
}

/// `to += factor * x`
#[inline(always)]
pub(super) fn add_multiple<S: Simd<T: Number>>(to: &mut Lanes<S::T>, factor: S::T, x: &Lanes<S::T>) {
    // SAFETY: who has an `S` runs inside of `on_vectors`, and vectors are whole.
    unsafe {
        let factor = S::splat(factor);
        for l in (0..LANES).step_by(S::LANES) {
            S::store(&mut to[l], S::fma(factor, S::load(&x[l]), S::load(&to[l])));
        }
    }
}

/// The sum of products, in an order that is always the same.
#[inline(always)]
pub(super) fn dot<S: Simd<T: Number>>(a: &[Lanes<S::T>], b: &[Lanes<S::T>]) -> S::T {
    // SAFETY: who has an `S` runs inside of `on_vectors`, and vectors are whole.
    unsafe {
        let mut sum = S::splat(S::T::default());
        for (a, b) in a.iter().zip(b) {
            for l in (0..LANES).step_by(S::LANES) {
                sum = S::fma(S::load(&a[l]), S::load(&b[l]), sum);
            }
        }
        S::sum(sum)
    }
}

/// Elements below this, in a matrix whose largest is about 1, count as zero where their squares decide.
const NOTHING: f64 = 1e-280;

/// Makes of the vector `x[at..]` the reflection that maps it to a multiple of its first unit vector, as `x` with 1 at
/// `at` and zeros before. The factor of the reflection (zero for the identity), and the multiple.
#[inline(always)]
pub(super) fn head<T: Number>(x: &mut [T], at: usize) -> (T, f64) {
    x[..at].fill(T::default());
    let first = x[at].to_f64();
    x[at] = T::default();
    let mut sums = [0.0; LANES];
    for x in x.as_chunks::<LANES>().0 {
        for l in 0..LANES {
            sums[l] += x[l].to_f64() * x[l].to_f64();
        }
    }
    let rest: f64 = sums.iter().sum();
    if rest < NOTHING {
        x[at..].fill(T::default());
        x[at] = T::ONE;
        return (T::default(), first);
    }
    let length = -(first * first + rest).sqrt().copysign(first);
    let scale = 1.0 / (first - length);
    x.iter_mut().for_each(|x| *x = T::of(x.to_f64() * scale));
    x[at] = T::ONE;
    (T::of((length - first) / length), length)
}

/// One vector of `sum of v[i] * row i`. Sums are kept in registers, several at once: each waits for the one before it.
#[inline(always)]
pub(super) fn combine<S: Simd<T: Number>>(a: &Rows<S::T>, c: usize, from: usize, v: &[S::T]) -> Lanes<S::T> {
    const CHAINS: usize = 4;
    let mut made = [S::T::default(); LANES];
    for l in (0..LANES).step_by(S::LANES) {
        // SAFETY: who has an `S` runs inside of `on_vectors`, and vectors are whole.
        unsafe {
            let mut sums = [S::splat(S::T::default()); CHAINS];
            let mut i = from;
            // Loops, as closures are compiled without the instructions.
            while i + CHAINS <= v.len() {
                for (u, sum) in sums.iter_mut().enumerate() {
                    *sum = S::fma(S::splat(v[i + u]), S::load(&a.data[(i + u) * a.stride + c][l]), *sum);
                }
                i += CHAINS;
            }
            for (i, &v) in v.iter().enumerate().skip(i) {
                sums[0] = S::fma(S::splat(v), S::load(&a.data[i * a.stride + c][l]), sums[0]);
            }
            S::store(&mut made[l], S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3])));
        }
    }
    made
}

/// For one column of vectors, from row `from` on: `row i -= v[i] * w + w[i] * v`, and the sum of `by[i] * row i` as it then
/// is.
#[inline(always)]
pub(super) fn update_and_combine<S: Simd<T: Number>>(
    a: &mut Rows<S::T>,
    c: usize,
    from: usize,
    (v, w): (&Row<S::T>, &Row<S::T>),
    by: &[S::T],
) -> Lanes<S::T> {
    let mut made = [S::T::default(); LANES];
    for l in (0..LANES).step_by(S::LANES) {
        // SAFETY: who has an `S` runs inside of `on_vectors`, and vectors are whole.
        unsafe {
            let minus = S::splat(S::T::MINUS_ONE);
            let (v_here, w_here) = (S::mul(minus, S::load(&v[c][l])), S::mul(minus, S::load(&w[c][l])));
            let mut sum = S::splat(S::T::default());
            let (v, w) = (v.as_flattened(), w.as_flattened());
            for i in from..by.len() {
                let place = &mut a.data[i * a.stride + c][l];
                let x = S::fma(S::splat(v[i]), w_here, S::load(place));
                let x = S::fma(S::splat(w[i]), v_here, x);
                S::store(place, x);
                sum = S::fma(S::splat(by[i]), x, sum);
            }
            S::store(&mut made[l], sum);
        }
    }
    made
}

/// `Q -= factor * v * (v' Q)` for one column of vectors, from row `from` on.
#[inline(always)]
pub(super) fn reflect<S: Simd<T: Number>>(q: &mut Rows<S::T>, c: usize, from: usize, v: &[S::T], factor: S::T) {
    let mut along = [S::T::default(); LANES];
    add_multiple::<S>(&mut along, S::T::MINUS_ONE * factor, &combine::<S>(q, c, from, v));
    for (row, &v) in q.column_mut(c, from..v.len()).zip(&v[from..]) {
        add_multiple::<S>(row, v, &along);
    }
}

/// Q, which is zero, becomes the product of reflections: the k-th is row k of `by` and begins at `k + shift`.
#[inline(always)]
pub(super) fn unfold<S: Simd<T: Number>>(
    q: &mut Rows<S::T>,
    (m, n): (usize, usize),
    by: &Rows<S::T>,
    factors: &[S::T],
    shift: usize,
) {
    for k in 0..n.min(m) {
        q.flat_mut(k)[k] = S::T::ONE;
    }
    for (k, &factor) in factors.iter().enumerate().rev().filter(|(_, f)| **f != S::T::default()) {
        let (from, v) = (k + shift, &by.flat(k)[..m]);
        for c in from / LANES..q.width {
            reflect::<S>(q, c, from, v, factor);
        }
    }
}

/// The vector that holds element `i` of a row.
#[inline(always)]
pub(super) fn vector_of(i: usize) -> usize {
    i / LANES
}

pub(super) fn zero_row<T: Number>() -> Row<T> {
    [[T::default(); LANES]; MOST]
}

/// The power of two that brings the largest size of numbers to about 1, so that squares neither overflow nor vanish. It
/// may be out of float32's range.
pub(super) fn scale_of<T: Number>(numbers: impl Iterator<Item = T>) -> f64 {
    let largest = numbers.fold(0.0, |most: f64, x| most.max(x.to_f64().abs()));
    if largest == 0.0 { 1.0 } else { 2.0_f64.powi(-(largest.log2().floor().clamp(-1000.0, 1000.0) as i32)) }
}

/// Copies numbers times a power of two.
pub(super) fn scaled<T: Number>(to: &mut [T], from: &[T], scale: f64) {
    to.iter_mut().zip(from).for_each(|(to, x)| *to = T::of(x.to_f64() * scale));
}
