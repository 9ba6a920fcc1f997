//! Learning rates of each weight's own, by the squares of its gradients.
use super::{Gradient, Rate, blend, sign, within};
use crate::update::{Formula, Value};

pub struct AdaGrad {
    pub gradient: Gradient,
    pub epsilon: f64,
}
impl Formula for AdaGrad {
    const STATES: usize = 1;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [sum, b, c]: [T; 3]) -> (T, [T; 3]) {
        let g = self.gradient.of(g);
        let sum = sum + g * g;
        let to = g / (sum + T::of(self.epsilon)).sqrt() + T::of(rate.wd) * w;
        (w - T::of(rate.lr) * to, [sum, b, c])
    }
}

/// States are the running means of the squares of gradients and of steps.
pub struct AdaDelta {
    pub gradient: Gradient,
    pub rho: f64,
    pub epsilon: f64,
}
impl Formula for AdaDelta {
    const STATES: usize = 2;
    #[inline(always)]
    fn one<T: Value>(&self, rate: &Rate, w: T, g: T, [squares, steps, c]: [T; 3]) -> (T, [T; 3]) {
        let (g, epsilon) = (self.gradient.of(g), T::of(self.epsilon));
        let squares = blend(self.rho, squares, g * g);
        let step = (steps + epsilon).sqrt() / (squares + epsilon).sqrt() * g;
        let steps = blend(self.rho, steps, step * step);
        (w - T::of(rate.lr) * (step + T::of(rate.wd) * w), [squares, steps, c])
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
        // Its limit for short steps.
        if rate.lr == 0.0 {
            return (w, [d, v, z]);
        }
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
        if rate.lr == 0.0 {
            return (w, [z, n, c]);
        }
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
