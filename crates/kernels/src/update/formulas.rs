//! The formulas of optimizers, each for one element. Names, constants and the order of clipping and decay are MXNet's.
use super::{Formula, Value};

/// What most formulas do to a gradient first.
#[derive(Clone, Copy)]
pub struct Gradient {
    pub rescale: f64,
    /// Below 0: no bound.
    pub clip: f64,
}

impl Gradient {
    /// Rescaled, then clipped; NaN stays NaN.
    #[inline(always)]
    pub(super) fn of<T: Value>(self, g: T) -> T {
        self.clipped(g * T::of(self.rescale))
    }
    /// Rescaled, with the decay of the weight as a part of it, then clipped.
    #[inline(always)]
    fn with_decay<T: Value>(self, g: T, wd: f64, w: T) -> T {
        self.clipped(g * T::of(self.rescale) + T::of(wd) * w)
    }
    #[inline(always)]
    fn clipped<T: Value>(self, g: T) -> T {
        if self.clip >= 0.0 { within(g, self.clip) } else { g }
    }
}

#[inline(always)]
fn within<T: Value>(x: T, bound: f64) -> T {
    let bound = T::of(bound);
    let x = if x > bound { bound } else { x };
    if x < -bound { -bound } else { x }
}

#[inline(always)]
fn sign<T: Value>(x: T) -> T {
    let (zero, one) = (T::of(0.0), T::of(1.0));
    let below = if x < zero { -one } else { x };
    if x > zero { one } else { below }
}

/// `rate * old + (1 - rate) * new`
#[inline(always)]
fn blend<T: Value>(rate: f64, old: T, new: T) -> T {
    T::of(rate) * old + T::of(1.0 - rate) * new
}

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

pub struct Adam {
    pub gradient: Gradient,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
}
impl Formula for Adam {
    const STATES: usize = 2;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [mean, var, c]: [T; 3]) -> (T, [T; 3]) {
        let g = self.gradient.with_decay(g, rate.wd, w);
        let (mean, var) = (blend(self.beta1, mean, g), blend(self.beta2, var, g * g));
        (w - T::of(rate.lr) * mean / (var.sqrt() + T::of(self.epsilon)), [mean, var, c])
    }
}

/// Adam whose decay is no part of the gradient.
pub struct AdamW {
    pub gradient: Gradient,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
}
impl Formula for AdamW {
    const STATES: usize = 2;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [mean, var, c]: [T; 3]) -> (T, [T; 3]) {
        let g = self.gradient.of(g);
        let (mean, var) = (blend(self.beta1, mean, g), blend(self.beta2, var, g * g));
        let step = T::of(rate.lr) * mean / (var.sqrt() + T::of(self.epsilon)) + T::of(rate.wd) * w;
        (w - T::of(rate.eta) * step, [mean, var, c])
    }
}

pub struct Ftml {
    pub gradient: Gradient,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
}
impl Formula for Ftml {
    const STATES: usize = 3;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [d, v, z]: [T; 3]) -> (T, [T; 3]) {
        let g = self.gradient.with_decay(g, rate.wd, w);
        let v = blend(self.beta2, v, g * g);
        let now = T::of(rate.filled.0 / rate.lr) * ((v / T::of(rate.filled.1)).sqrt() + T::of(self.epsilon));
        let z = blend(self.beta1, z, g) - (now - T::of(self.beta1) * d) * w;
        (-z / now, [now, v, z])
    }
}

pub struct Ftrl {
    pub gradient: Gradient,
    pub lamda1: f64,
    pub beta: f64,
}
impl Formula for Ftrl {
    const STATES: usize = 2;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [z, n, c]: [T; 3]) -> (T, [T; 3]) {
        let g = self.gradient.of(g);
        let sum = n + g * g;
        let z = z + g - (sum.sqrt() - n.sqrt()) * w / T::of(rate.lr);
        let lamda = T::of(self.lamda1);
        let far = sign(z) * z;
        let w = (sign(z) * lamda - z) / ((T::of(self.beta) + sum.sqrt()) / T::of(rate.lr) + T::of(rate.wd));
        (if far <= lamda { T::of(0.0) } else { w }, [z, sum, c])
    }
}

pub struct RmsProp {
    pub gradient: Gradient,
    pub gamma1: f64,
    pub epsilon: f64,
    /// Bound of the weights; below 0: none.
    pub clip_weights: f64,
}
impl Formula for RmsProp {
    const STATES: usize = 1;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [n, b, c]: [T; 3]) -> (T, [T; 3]) {
        let g = self.gradient.with_decay(g, rate.wd, w);
        let n = blend(self.gamma1, n, g * g);
        let w = w - T::of(rate.lr) * g / (n + T::of(self.epsilon)).sqrt();
        (if self.clip_weights >= 0.0 { within(w, self.clip_weights) } else { w }, [n, b, c])
    }
}

/// RMSProp by Alex Graves: squares are taken around the mean.
pub struct RmsPropCentered {
    pub plain: RmsProp,
    pub gamma2: f64,
}
impl Formula for RmsPropCentered {
    const STATES: usize = 3;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [n, mean, delta]: [T; 3]) -> (T, [T; 3]) {
        let RmsProp { gradient, gamma1, epsilon, clip_weights } = self.plain;
        let g = gradient.with_decay(g, rate.wd, w);
        let (n, mean) = (blend(gamma1, n, g * g), blend(gamma1, mean, g));
        let deviation = (n - mean * mean + T::of(epsilon)).sqrt();
        let delta = T::of(self.gamma2) * delta - T::of(rate.lr) * g / deviation;
        let w = w + delta;
        (if clip_weights >= 0.0 { within(w, clip_weights) } else { w }, [n, mean, delta])
    }
}

/// The direction of LAMB, which stands in the place of the weight.
#[derive(Clone, Copy)]
pub struct Lamb {
    pub gradient: Gradient,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
}
impl Lamb {
    #[inline(always)]
    pub(super) fn moments<T: Value>(&self, g: T, mean: T, var: T) -> (T, T) {
        let g = self.gradient.of(g);
        (blend(self.beta1, mean, g), blend(self.beta2, var, g * g))
    }
    /// Where to, from the moments.
    #[inline(always)]
    pub(super) fn direction<T: Value>(&self, rate: &Rate, w: T, mean: T, var: T) -> T {
        let (mean, var) = (mean / T::of(rate.filled.0), var / T::of(rate.filled.1));
        mean / (var.sqrt() + T::of(self.epsilon)) + T::of(rate.wd) * w
    }
}
impl Formula for Lamb {
    const STATES: usize = 2;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [mean, var, c]: [T; 3]) -> (T, [T; 3]) {
        let (mean, var) = self.moments(g, mean, var);
        (self.direction(rate, w, mean, var), [mean, var, c])
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

/// What may differ from tensor to tensor.
#[derive(Clone, Copy)]
pub struct Rate {
    pub lr: f64,
    pub wd: f64,
    /// A factor of the whole step.
    pub eta: f64,
    /// How much of running means that began at 0 is there by now, of the gradient and of its square.
    pub filled: (f64, f64),
}

impl Rate {
    pub fn new(lr: f64, wd: f64) -> Rate {
        Rate { lr, wd, eta: 1.0, filled: (1.0, 1.0) }
    }
    /// For update number `t`, from 1, of means that keep these shares.
    pub fn at(self, t: f64, beta1: f64, beta2: f64) -> Rate {
        Rate { filled: (1.0 - beta1.powf(t), 1.0 - beta2.powf(t)), ..self }
    }
}
