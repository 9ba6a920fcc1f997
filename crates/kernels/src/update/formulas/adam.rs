//! Adam and what came of it: running means of the gradient and of its square.
use super::{Gradient, Rate, blend};
use crate::update::{Formula, Value};

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

/// Adam by the largest gradient instead of the squares. A weight that never had a gradient stays as it is.
pub struct Adamax {
    pub gradient: Gradient,
    pub beta1: f64,
    pub beta2: f64,
}
impl Formula for Adamax {
    const STATES: usize = 2;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [mean, most, c]: [T; 3]) -> (T, [T; 3]) {
        let g = self.gradient.with_decay(g, rate.wd, w);
        let mean = blend(self.beta1, mean, g);
        let (before, size) = (T::of(self.beta2) * most, if g < T::of(0.0) { -g } else { g });
        let most = if before > size { before } else { size };
        let step = if most == T::of(0.0) { T::of(0.0) } else { T::of(rate.lr) * mean / most };
        (w - step, [mean, most, c])
    }
}

/// Adam with Nesterov's momentum, which a schedule raises.
pub struct Nadam {
    pub gradient: Gradient,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    pub schedule_decay: f64,
}
impl Nadam {
    fn momentum(&self, t: f64) -> f64 {
        self.beta1 * (1.0 - 0.5 * 0.96_f64.powf(t * self.schedule_decay))
    }
    /// The rate at update `t`, from 1: what the momenta of all updates so far leave.
    pub fn scheduled(&self, lr: f64, wd: f64, t: f64) -> Rate {
        let (mut product, mut i) = (1.0, 1.0);
        // What is too small to change a sum with 1 need not be known.
        while i <= t && product > 1e-20 {
            product *= self.momentum(i);
            i += 1.0;
        }
        let (now, next) = (self.momentum(t), self.momentum(t + 1.0));
        let mix = ((1.0 - now) / (1.0 - product), next / (1.0 - product * next));
        Rate { mix, ..Rate::new(lr, wd).at(t, self.beta1, self.beta2) }
    }
}
impl Formula for Nadam {
    const STATES: usize = 2;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [mean, var, c]: [T; 3]) -> (T, [T; 3]) {
        let g = self.gradient.with_decay(g, rate.wd, w);
        let (mean, var) = (blend(self.beta1, mean, g), blend(self.beta2, var, g * g));
        let to = T::of(rate.mix.0) * g + T::of(rate.mix.1) * mean;
        let deviation = (var * T::of(rate.whole().1)).sqrt() + T::of(self.epsilon);
        (w - T::of(rate.lr) * to / deviation, [mean, var, c])
    }
}

/// Adam by the squares of the gradient's distance from its mean.
pub struct AdaBelief {
    pub gradient: Gradient,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
}
impl AdaBelief {
    pub(in crate::update) fn betas(&self) -> (f64, f64) {
        (self.beta1, self.beta2)
    }
}
impl Formula for AdaBelief {
    const STATES: usize = 2;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [mean, var, c]: [T; 3]) -> (T, [T; 3]) {
        let g = self.gradient.with_decay(g, rate.wd, w);
        let mean = blend(self.beta1, mean, g);
        let epsilon = T::of(self.epsilon);
        let var = blend(self.beta2, var, (g - mean) * (g - mean)) + epsilon;
        let deviation = (var * T::of(rate.whole().1)).sqrt() + epsilon;
        (w - T::of(rate.lr * rate.whole().0) * mean / deviation, [mean, var, c])
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
    pub(in crate::update) fn moments<T: Value>(&self, g: T, mean: T, var: T) -> (T, T) {
        let g = self.gradient.of(g);
        (blend(self.beta1, mean, g), blend(self.beta2, var, g * g))
    }
    /// Where to, from the moments.
    #[inline(always)]
    pub(in crate::update) fn direction<T: Value>(&self, rate: &Rate, w: T, mean: T, var: T) -> T {
        let (mean, var) = (mean * T::of(rate.whole().0), var * T::of(rate.whole().1));
        mean / (var.sqrt() + T::of(self.epsilon)) + T::of(rate.wd) * w
    }
    /// Where to by the mean, as `direction` says, and by the gradient itself.
    #[inline(always)]
    pub(in crate::update) fn directions<T: Value>(&self, rate: &Rate, w: T, g: T, mean: T, var: T) -> [T; 2] {
        let by = T::of(1.0) / ((var * T::of(rate.whole().1)).sqrt() + T::of(self.epsilon));
        let decay = T::of(rate.wd) * w;
        [mean * T::of(rate.whole().0) * by + decay, self.gradient.of(g) * by + decay]
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

/// A whole step in the direction of `Lamb`: AdamW with means that are made up for what the first updates lack.
pub struct Decoupled(pub Lamb);
impl Decoupled {
    pub(in crate::update) fn betas(&self) -> (f64, f64) {
        (self.0.beta1, self.0.beta2)
    }
}
impl Formula for Decoupled {
    const STATES: usize = 2;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [mean, var, c]: [T; 3]) -> (T, [T; 3]) {
        let (mean, var) = self.0.moments(g, mean, var);
        (w - T::of(rate.lr) * self.0.direction(rate, w, mean, var), [mean, var, c])
    }
}
