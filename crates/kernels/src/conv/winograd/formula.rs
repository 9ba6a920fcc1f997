//! The five transforms of F(2x2, 3x3) and F(4x4, 3x3) along one axis. `F` is the side of a tile of outputs, `F + 2` that of
//! the inputs under it; arrays are as long as F(4x4) needs, F(2x2) leaves the rest alone.
//!
//! The points are 0, 1, -1, (2, -2,) infinity. Filters carry the fractions, so that images are only multiplied by small
//! whole numbers.
use crate::gemm::{Real, Simd};

/// `k * a + b`
#[inline(always)]
unsafe fn madd<S: Simd>(k: f64, a: S::V, b: S::V) -> S::V {
    // SAFETY: the processor has the instructions.
    unsafe { S::fma(S::splat(S::T::constant(k)), a, b) }
}

#[inline(always)]
unsafe fn times<S: Simd>(k: f64, a: S::V) -> S::V {
    // SAFETY: the processor has the instructions.
    unsafe { S::mul(S::splat(S::T::constant(k)), a) }
}

/// An image.
#[inline(always)]
pub(super) unsafe fn image<S: Simd, const F: usize>(d: [S::V; 6]) -> [S::V; 6] {
    // SAFETY: the processor has the instructions.
    unsafe {
        if F == 2 {
            return [S::sub(d[0], d[2]), S::add(d[1], d[2]), S::sub(d[2], d[1]), S::sub(d[1], d[3]), d[0], d[0]];
        }
        let (a, b) = (madd::<S>(-4.0, d[2], d[4]), madd::<S>(-4.0, d[1], d[3]));
        let (c, e) = (S::sub(d[4], d[2]), S::sub(d[3], d[1]));
        [
            madd::<S>(4.0, d[0], madd::<S>(-5.0, d[2], d[4])),
            S::add(a, b),
            S::sub(a, b),
            madd::<S>(2.0, e, c),
            madd::<S>(-2.0, e, c),
            madd::<S>(4.0, d[1], madd::<S>(-5.0, d[3], d[5])),
        ]
    }
}

/// Products to results.
#[inline(always)]
pub(super) unsafe fn result<S: Simd, const F: usize>(m: [S::V; 6]) -> [S::V; 4] {
    // SAFETY: the processor has the instructions.
    unsafe {
        let (a, b) = (S::add(m[1], m[2]), S::sub(m[1], m[2]));
        if F == 2 {
            return [S::add(m[0], a), S::sub(b, m[3]), m[0], m[0]];
        }
        let (c, d) = (S::add(m[3], m[4]), S::sub(m[3], m[4]));
        [S::add(m[0], S::add(a, c)), madd::<S>(2.0, d, b), madd::<S>(4.0, c, a), S::add(m[5], madd::<S>(8.0, d, b))]
    }
}

/// The adjoint of `result`: gradients of results to the domain of products.
#[inline(always)]
pub(super) unsafe fn result_back<S: Simd, const F: usize>(y: [S::V; 4]) -> [S::V; 6] {
    // SAFETY: the processor has the instructions.
    unsafe {
        if F == 2 {
            let minus = S::sub(S::splat(S::T::default()), y[1]);
            return [y[0], S::add(y[0], y[1]), S::sub(y[0], y[1]), minus, y[0], y[0]];
        }
        let (a, b) = (S::add(y[0], y[2]), S::add(y[1], y[3]));
        let (c, d) = (madd::<S>(4.0, y[2], y[0]), madd::<S>(4.0, y[3], y[1]));
        [y[0], S::add(a, b), S::sub(a, b), madd::<S>(2.0, d, c), madd::<S>(-2.0, d, c), y[3]]
    }
}

/// A filter.
#[inline(always)]
pub(super) unsafe fn filter<S: Simd, const F: usize>(w: [S::V; 3]) -> [S::V; 6] {
    // SAFETY: the processor has the instructions.
    unsafe {
        let ends = S::add(w[0], w[2]);
        if F == 2 {
            let (a, b) = (times::<S>(0.5, ends), times::<S>(0.5, w[1]));
            return [w[0], S::add(a, b), S::sub(a, b), w[2], w[0], w[0]];
        }
        let (a, b) = (times::<S>(-1.0 / 6.0, ends), times::<S>(1.0 / 6.0, w[1]));
        let c = madd::<S>(1.0 / 6.0, w[2], times::<S>(1.0 / 24.0, w[0]));
        let d = times::<S>(1.0 / 12.0, w[1]);
        [times::<S>(0.25, w[0]), S::sub(a, b), S::add(a, b), S::add(c, d), S::sub(c, d), w[2]]
    }
}

/// The adjoint of `filter`: sums of products to the gradient of a filter.
#[inline(always)]
pub(super) unsafe fn filter_back<S: Simd, const F: usize>(u: [S::V; 6]) -> [S::V; 3] {
    // SAFETY: the processor has the instructions.
    unsafe {
        let (a, b) = (S::add(u[1], u[2]), S::sub(u[1], u[2]));
        if F == 2 {
            return [madd::<S>(0.5, a, u[0]), times::<S>(0.5, b), madd::<S>(0.5, a, u[3])];
        }
        let (c, d) = (S::add(u[3], u[4]), S::sub(u[3], u[4]));
        [
            madd::<S>(0.25, u[0], madd::<S>(1.0 / 24.0, c, times::<S>(-1.0 / 6.0, a))),
            madd::<S>(1.0 / 12.0, d, times::<S>(-1.0 / 6.0, b)),
            madd::<S>(1.0 / 6.0, S::sub(c, a), u[5]),
        ]
    }
}
