//! Steps whose length depends on the norms of a whole tensor.
use super::tensor::{Pieces, with_pieces};
use super::{Gradient, Lamb, Rate, Tensor, Value};
use crate::per_isa;
use crate::view::Cx;
use gluonish_base::{DType, Result, pool};
use std::slice::from_raw_parts_mut;

/// How far a step goes for one of its direction's length, from the norms of weight and direction.
pub fn trust(weight: f64, direction: f64, bounds: (f64, f64)) -> f64 {
    let (low, high) = bounds;
    let weight = if low >= 0.0 { weight.max(low) } else { weight };
    let weight = if high >= 0.0 { weight.min(high) } else { weight };
    if weight == 0.0 || direction == 0.0 { 1.0 } else { weight / direction }
}

/// LAMB over all tensors: the norms first, then moments and steps. The moments are made twice instead of being stored in
/// between: in narrow types they would be others. States are mean and variance; negative bounds are none.
pub fn lamb(cx: &Cx, formula: &Lamb, bounds: (f64, f64), tensors: &[Tensor<'_>], rates: &[Rate]) -> Result {
    with_pieces(cx, tensors, |pieces| {
        if tensors.iter().any(|t| t.computed_in() == DType::F64) {
            run::<f64>(cx, formula, bounds, pieces, rates);
        } else {
            run::<f32>(cx, formula, bounds, pieces, rates);
        }
        Ok(())
    })
}

fn run<T: Value>(cx: &Cx, formula: &Lamb, bounds: (f64, f64), pieces: &Pieces<'_>, rates: &[Rate]) {
    let squares = sums::<T, 2>(cx, pieces, |k, w, g, [mean, var, _]| measure(formula, &rates[k], w, g, mean, var));
    let step = |(rate, [w, u]): (&Rate, &[f64; 2])| Rate { lr: rate.lr * trust(w.sqrt(), u.sqrt(), bounds), ..*rate };
    let steps: Vec<Rate> = rates.iter().zip(&squares).map(step).collect();
    each::<T>(cx, pieces, |k, w, g, [mean, var, _]| walk(formula, &steps[k], w, g, mean, var));
}

/// LAMB of gradients of length 1, which goes along the gradient too, for the share that the mean does not keep.
pub struct Lans {
    pub formula: Lamb,
    pub bounds: (f64, f64),
}

/// LANS over all tensors, in the manner of `lamb`: the norms of the gradients first, then those of both directions, then
/// moments and steps. A gradient of length 0 stays 0.
pub fn lans(cx: &Cx, rule: &Lans, tensors: &[Tensor<'_>], rates: &[Rate]) -> Result {
    with_pieces(cx, tensors, |pieces| {
        if tensors.iter().any(|t| t.computed_in() == DType::F64) {
            run_lans::<f64>(cx, rule, pieces, rates);
        } else {
            run_lans::<f32>(cx, rule, pieces, rates);
        }
        Ok(())
    })
}

fn run_lans<T: Value>(cx: &Cx, rule: &Lans, pieces: &Pieces<'_>, rates: &[Rate]) {
    let Lans { formula, bounds } = rule;
    let lengths = sums::<T, 1>(cx, pieces, |_, _, g, _| [squares(formula.gradient.rescale, g)]);
    let unit = |length: f64| if length == 0.0 { 0.0 } else { formula.gradient.rescale / length };
    let formulas: Vec<Lamb> = lengths
        .iter()
        .map(|[g]| Lamb { gradient: Gradient { rescale: unit(g.sqrt()), ..formula.gradient }, ..*formula })
        .collect();
    let norms =
        sums::<T, 3>(cx, pieces, |k, w, g, [mean, var, _]| measure_both(&formulas[k], &rates[k], w, g, mean, var));
    let steps: Vec<[f64; 2]> = rates
        .iter()
        .zip(&norms)
        .map(|(rate, [w, mean, grad])| {
            let along = |norm: &f64, share: f64| rate.lr * share * trust(w.sqrt(), norm.sqrt(), *bounds);
            [along(mean, formula.beta1), along(grad, 1.0 - formula.beta1)]
        })
        .collect();
    each::<T>(cx, pieces, |k, w, g, [mean, var, _]| {
        walk_both(&formulas[k], &rates[k], steps[k], w, g, mean, var);
    });
}

/// Calls `f` with each piece: the number of its tensor, weights, gradient, states.
fn each<T: Value>(cx: &Cx, pieces: &Pieces<'_>, f: impl Fn(usize, &mut [T], &[T], [&mut [T]; 3]) + Sync) {
    pool::run(pieces.count(), cx.threads, |i| {
        let (tensor, range) = pieces.get(i);
        // SAFETY: pieces do not overlap, and each is taken once.
        unsafe { pieces.with::<T>(tensor, range, |w, g, states| f(tensor, w, g, states)) };
    });
}

/// What `f` gives for the pieces, summed for each tensor in their order.
fn sums<T: Value, const N: usize>(
    cx: &Cx,
    pieces: &Pieces<'_>,
    f: impl Fn(usize, &mut [T], &[T], [&mut [T]; 3]) -> [f64; N] + Sync,
) -> Vec<[f64; N]> {
    let mut parts = vec![[0.0; N]; pieces.count()];
    let to = Shared(parts.as_mut_ptr(), parts.len());
    pool::run(pieces.count(), cx.threads, |i| {
        let (tensor, range) = pieces.get(i);
        // SAFETY: pieces do not overlap, and each is taken once; so is the place for its sums.
        unsafe {
            let part = &mut to.all()[i];
            pieces.with::<T>(tensor, range, |w, g, states| *part = f(tensor, w, g, states));
        }
    });
    let total = |k| parts[pieces.of(k)].iter().fold([0.0; N], |sum, part| std::array::from_fn(|j| sum[j] + part[j]));
    (0..pieces.tensors()).map(total).collect()
}

/// Memory that several threads write, each its own places.
struct Shared<const N: usize>(*mut [f64; N], usize);
// SAFETY: as said above; whoever takes the slice promises it.
unsafe impl<const N: usize> Sync for Shared<N> {}
impl<const N: usize> Shared<N> {
    /// # Safety
    /// Each element is used by one thread.
    #[allow(clippy::mut_from_ref)]
    unsafe fn all(&self) -> &mut [[f64; N]] {
        // SAFETY: the memory has that many elements; the rest is the caller's.
        unsafe { from_raw_parts_mut(self.0, self.1) }
    }
}

/// Lanes in which squares are summed.
const LANES: usize = 16;

/// Calls `f` with each element and the lane that it is of: whole rows of lanes, which the compiler turns into vector
/// instructions, then what is left.
#[inline(always)]
fn in_lanes<T: Value>(n: usize, w: &[T], g: &[T], mean: &[T], var: &[T], mut f: impl FnMut(usize, T, T, T, T)) {
    for start in (0..n).step_by(LANES) {
        let row = start..n.min(start + LANES);
        let (w, g, mean, var) = (&w[row.clone()], &g[row.clone()], &mean[row.clone()], &var[row]);
        if let (Ok(w), Ok(g)) = (<&[T; LANES]>::try_from(w), <&[T; LANES]>::try_from(g))
            && let (Ok(mean), Ok(var)) = (<&[T; LANES]>::try_from(mean), <&[T; LANES]>::try_from(var))
        {
            for lane in 0..LANES {
                f(lane, w[lane], g[lane], mean[lane], var[lane]);
            }
        } else {
            for lane in 0..w.len() {
                f(lane, w[lane], g[lane], mean[lane], var[lane]);
            }
        }
    }
}

per_isa! {
    /// The sums of the squares of weights and directions.
    fn measure[T: Value](f: &Lamb, rate: &Rate, w: &[T], g: &[T], mean: &[T], var: &[T]) -> [f64; 2] {
        let n = w.len();
        let (g, mean, var) = (&g[..n], &mean[..n], &var[..n]);
        let (rate, mut sums) = (*rate, [[T::default(); LANES]; 2]);
        in_lanes(n, w, g, mean, var, #[inline(always)] |lane, w, g, mean, var| {
            let (mean, var) = f.moments(g, mean, var);
            let to = f.direction(&rate, w, mean, var);
            sums[0][lane] = sums[0][lane] + w * w;
            sums[1][lane] = sums[1][lane] + to * to;
        });
        sums.map(|lanes| lanes.iter().map(|x| x.to_f64()).sum())
    }
}

per_isa! {
    /// The new moments, and a step along the direction.
    fn walk[T: Value](f: &Lamb, rate: &Rate, w: &mut [T], g: &[T], mean: &mut [T], var: &mut [T]) {
        let n = w.len();
        let (g, mean, var) = (&g[..n], &mut mean[..n], &mut var[..n]);
        for i in 0..n {
            (mean[i], var[i]) = f.moments(g[i], mean[i], var[i]);
            w[i] = w[i] - T::of(rate.lr) * f.direction(rate, w[i], mean[i], var[i]);
        }
    }
}

per_isa! {
    /// The sum of the squares of the rescaled gradient.
    fn squares[T: Value](rescale: f64, g: &[T]) -> f64 {
        let mut sums = [T::default(); LANES];
        let rows = g.chunks_exact(LANES);
        let rest = rows.remainder();
        for row in rows.chain([rest]) {
            for (sum, g) in sums.iter_mut().zip(row) {
                let g = *g * T::of(rescale);
                *sum = *sum + g * g;
            }
        }
        sums.iter().map(|x| x.to_f64()).sum()
    }
}

per_isa! {
    /// The sums of the squares of weights and of both directions.
    fn measure_both[T: Value](f: &Lamb, rate: &Rate, w: &[T], g: &[T], mean: &[T], var: &[T]) -> [f64; 3] {
        let n = w.len();
        let (g, mean, var) = (&g[..n], &mean[..n], &var[..n]);
        let (rate, mut sums) = (*rate, [[T::default(); LANES]; 3]);
        in_lanes(n, w, g, mean, var, #[inline(always)] |lane, w, g, mean, var| {
            let (mean, var) = f.moments(g, mean, var);
            let [to, aside] = f.directions(&rate, w, g, mean, var);
            for (sum, x) in sums.iter_mut().zip([w, to, aside]) {
                sum[lane] = sum[lane] + x * x;
            }
        });
        sums.map(|lanes| lanes.iter().map(|x| x.to_f64()).sum())
    }
}

per_isa! {
    /// The new moments, and a step along both directions.
    fn walk_both[T: Value](f: &Lamb, rate: &Rate, by: [f64; 2], w: &mut [T], g: &[T], mean: &mut [T], var: &mut [T]) {
        let n = w.len();
        let (g, mean, var) = (&g[..n], &mut mean[..n], &mut var[..n]);
        for i in 0..n {
            (mean[i], var[i]) = f.moments(g[i], mean[i], var[i]);
            let [to, aside] = f.directions(rate, w[i], g[i], mean[i], var[i]);
            w[i] = w[i] - T::of(by[0]) * to - T::of(by[1]) * aside;
        }
    }
}

/// LARS: the learning rate of a layer, from the sums of the squares of its weights and gradients.
pub fn multi_lars(lr: f64, weights: f64, grads: f64, wd: f64, eta: f64, eps: f64, rescale: f64) -> f64 {
    let (weights, grads) = (weights.sqrt(), grads.sqrt() * rescale);
    if weights > 0.0 && grads > 0.0 { lr * eta * weights / (grads + wd * weights + eps) } else { lr }
}
