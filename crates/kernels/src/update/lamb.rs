//! Steps whose length depends on the norms of a whole tensor.
use super::tensor::{Pieces, with_pieces};
use super::{Lamb, Rate, Tensor, Value};
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

/// LAMB over all tensors: the moments and the norms first, then the steps, whose directions are made once more from the
/// moments instead of being stored. States are mean and variance; negative bounds are none.
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
    let mut squares = vec![[0.0; 2]; pieces.count()];
    let to = Shared(squares.as_mut_ptr(), squares.len());
    pool::run(pieces.count(), cx.threads, |i| {
        let (tensor, range) = pieces.get(i);
        // SAFETY: pieces do not overlap, and each is taken once; so is the place for its squares.
        unsafe {
            let squares = &mut to.all()[i];
            pieces.with::<T>(tensor, range, |w, g, [mean, var, _]| {
                *squares = measure(formula, &rates[tensor], w, g, mean, var);
            });
        }
    });
    let steps: Vec<Rate> = rates
        .iter()
        .enumerate()
        .map(|(k, rate)| {
            let [w, u] = squares[pieces.of(k)].iter().fold([0.0; 2], |[w, u], [a, b]| [w + a, u + b]);
            Rate { lr: rate.lr * trust(f64::sqrt(w), f64::sqrt(u), bounds), ..*rate }
        })
        .collect();
    pool::run(pieces.count(), cx.threads, |i| {
        let (tensor, range) = pieces.get(i);
        // SAFETY: as above.
        unsafe { pieces.with::<T>(tensor, range, |w, _, [mean, var, _]| walk(formula, &steps[tensor], w, mean, var)) };
    });
}

/// Memory that several threads write, each its own places.
struct Shared(*mut [f64; 2], usize);
// SAFETY: as said above; whoever takes the slice promises it.
unsafe impl Sync for Shared {}
impl Shared {
    /// # Safety
    /// Each element is used by one thread.
    #[allow(clippy::mut_from_ref)]
    unsafe fn all(&self) -> &mut [[f64; 2]] {
        // SAFETY: the memory has that many elements; the rest is the caller's.
        unsafe { from_raw_parts_mut(self.0, self.1) }
    }
}

/// Lanes in which squares are summed.
const LANES: usize = 16;

per_isa! {
    /// The new moments; the sums of the squares of weights and directions.
    fn measure[T: Value](f: &Lamb, rate: &Rate, w: &[T], g: &[T], mean: &mut [T], var: &mut [T]) -> [f64; 2] {
        let n = w.len();
        let (g, mean, var) = (&g[..n], &mut mean[..n], &mut var[..n]);
        let mut sums = [[T::default(); LANES]; 2];
        for start in (0..n).step_by(LANES) {
            for (lane, i) in (start..n.min(start + LANES)).enumerate() {
                (mean[i], var[i]) = f.moments(g[i], mean[i], var[i]);
                let to = f.direction(rate, w[i], mean[i], var[i]);
                sums[0][lane] = sums[0][lane] + w[i] * w[i];
                sums[1][lane] = sums[1][lane] + to * to;
            }
        }
        sums.map(|lanes| lanes.iter().map(|x| x.to_f64()).sum())
    }
}

per_isa! {
    /// A step along the direction.
    fn walk[T: Value](f: &Lamb, rate: &Rate, w: &mut [T], mean: &[T], var: &[T]) {
        let n = w.len();
        let (mean, var) = (&mean[..n], &var[..n]);
        for i in 0..n {
            w[i] = w[i] - T::of(rate.lr) * f.direction(rate, w[i], mean[i], var[i]);
        }
    }
}

/// LARS: the learning rate of a layer, from the sums of the squares of its weights and gradients.
pub fn multi_lars(lr: f64, weights: f64, grads: f64, wd: f64, eta: f64, eps: f64, rescale: f64) -> f64 {
    let (weights, grads) = (weights.sqrt(), grads.sqrt() * rescale);
    if weights > 0.0 && grads > 0.0 { lr * eta * weights / (grads + wd * weights + eps) } else { lr }
}
