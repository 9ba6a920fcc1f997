//! The formulas of optimizers, each for one element. Where MXNet has one, names, constants and the order of clipping and
//! decay are its.
mod adam;
mod adaptive;
mod plain;

pub use adam::*;
pub use adaptive::*;
pub use plain::*;

use super::Value;

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
    pub(in crate::update) fn of<T: Value>(self, g: T) -> T {
        self.clipped(g * T::of(self.rescale))
    }
    /// Rescaled, with the decay of the weight as a part of it, then clipped.
    #[inline(always)]
    pub(super) fn with_decay<T: Value>(self, g: T, wd: f64, w: T) -> T {
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

/// What may differ from tensor to tensor.
#[derive(Clone, Copy)]
pub struct Rate {
    pub lr: f64,
    pub wd: f64,
    /// A factor of the whole step.
    pub eta: f64,
    /// How much of running means that began at 0 is there by now, of the gradient and of its square.
    pub filled: (f64, f64),
    /// How much of the gradient and of its mean a step is of, where a formula takes both.
    pub mix: (f64, f64),
}

impl Rate {
    pub fn new(lr: f64, wd: f64) -> Rate {
        Rate { lr, wd, eta: 1.0, filled: (1.0, 1.0), mix: (0.0, 1.0) }
    }
    /// What makes means whole that `filled` says are not.
    #[inline(always)]
    pub(super) fn whole(&self) -> (f64, f64) {
        (1.0 / self.filled.0, 1.0 / self.filled.1)
    }
    /// For update number `t`, from 1, of means that keep these shares.
    pub fn at(self, t: f64, beta1: f64, beta2: f64) -> Rate {
        Rate { filled: (1.0 - beta1.powf(t), 1.0 - beta2.powf(t)), ..self }
    }
}
