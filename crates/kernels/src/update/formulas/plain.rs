//! Steps along the gradient, its sign, or a running mean of it.
use super::{Gradient, Rate, blend, sign};
use crate::update::{Formula, Value};

pub struct Sgd {
    pub gradient: Gradient,
}
impl Formula for Sgd {
    const STATES: usize = 0;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, s: [T; 3]) -> (T, [T; 3]) {
        (w - T::of(rate.lr) * (self.gradient.of(g) + T::of(rate.wd) * w), s)
    }
}

pub struct Momentum {
    pub gradient: Gradient,
    pub momentum: f64,
    pub nesterov: bool,
}
impl Formula for Momentum {
    const STATES: usize = 1;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [mom, ..]: [T; 3]) -> (T, [T; 3]) {
        let step = T::of(rate.lr) * (self.gradient.of(g) + T::of(rate.wd) * w);
        let momentum = T::of(self.momentum);
        let mom = momentum * mom - step;
        let w = if self.nesterov { w + momentum * mom - step } else { w + mom };
        (w, [mom, T::of(0.0), T::of(0.0)])
    }
}

pub struct SignSgd {
    pub gradient: Gradient,
}
impl Formula for SignSgd {
    const STATES: usize = 0;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, s: [T; 3]) -> (T, [T; 3]) {
        (T::of(1.0 - rate.lr * rate.wd) * w - T::of(rate.lr) * sign(self.gradient.of(g)), s)
    }
}

pub struct Signum {
    pub gradient: Gradient,
    pub momentum: f64,
    /// Decay of the weight beside the gradient.
    pub wd_lh: f64,
}
impl Formula for Signum {
    const STATES: usize = 1;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [mom, b, c]: [T; 3]) -> (T, [T; 3]) {
        let g = self.gradient.of(g) + T::of(rate.wd) * w;
        let mom = T::of(self.momentum) * mom - T::of(1.0 - self.momentum) * g;
        (T::of(1.0 - rate.lr * self.wd_lh) * w + T::of(rate.lr) * sign(mom), [mom, b, c])
    }
}

/// Momentum whose sign is the direction, from two shares: one of what is stepped along, one of what is kept.
pub struct Lion {
    pub gradient: Gradient,
    pub beta1: f64,
    pub beta2: f64,
}
impl Formula for Lion {
    const STATES: usize = 1;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [mom, b, c]: [T; 3]) -> (T, [T; 3]) {
        let g = self.gradient.of(g);
        let to = sign(blend(self.beta1, mom, g)) + T::of(rate.wd) * w;
        (w - T::of(rate.lr) * to, [blend(self.beta2, mom, g), b, c])
    }
}

/// Langevin dynamics: half a step, and noise of the variance `lr`. The state is normal noise, which stays as it is.
pub struct Langevin {
    pub gradient: Gradient,
}
impl Formula for Langevin {
    const STATES: usize = 1;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, s: [T; 3]) -> (T, [T; 3]) {
        let step = T::of(rate.lr / 2.0) * (self.gradient.of(g) + T::of(rate.wd) * w);
        (w - step + T::of(rate.lr.sqrt()) * s[0], s)
    }
}

/// Momentum for gradients that come late: they are corrected by how far the weight went since. States are the last weight
/// and, where there are two, the momentum.
pub struct DelayCompensated<const STATES: usize> {
    pub gradient: Gradient,
    pub momentum: f64,
    pub lamda: f64,
}
impl<const N: usize> Formula for DelayCompensated<N> {
    const STATES: usize = N;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [last, mom, c]: [T; 3]) -> (T, [T; 3]) {
        let g = self.gradient.of(g);
        let g = g + T::of(rate.wd) * w + T::of(self.lamda) * g * g * (w - last);
        let mom = T::of(self.momentum) * mom - T::of(rate.lr) * g;
        (w + mom, [w, mom, c])
    }
}

/// A running mean of what stands in the place of the gradient; `lr` is the share of the new value.
pub struct Average;
impl Formula for Average {
    const STATES: usize = 0;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, s: [T; 3]) -> (T, [T; 3]) {
        (w + T::of(rate.lr) * (g - w), s)
    }
}

/// A step along a direction, which stands in the place of the gradient.
pub struct Along;
impl Formula for Along {
    const STATES: usize = 0;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, s: [T; 3]) -> (T, [T; 3]) {
        (w - T::of(rate.lr) * g, s)
    }
}
