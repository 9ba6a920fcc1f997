//! Formulas as a call asks for them: whatever a schedule may change between two steps is a number of the call.
use super::formulas::*;
use super::lamb::{Lans, lamb, lans};
use super::{Formula, Tensor, update};
use crate::view::Cx;
use gluonish_base::Result;

/// A step of many tensors, made of numbers.
pub trait Rule: Sized {
    /// Arrays that are kept for each weight.
    const STATES: usize;
    /// What the numbers mean, in their order.
    const NUMBERS: &'static [&'static str];
    /// There are as many numbers as names.
    fn new(gradient: Gradient, numbers: &[f64]) -> Self;
    /// What is special about a tensor at its update `t`, from 1.
    fn rate(&self, lr: f64, wd: f64, t: f64) -> Rate {
        let _ = t;
        Rate::new(lr, wd)
    }
    /// All tensors are computed in one type; each has as many states as the rule, and a rate.
    fn step(&self, cx: &Cx, tensors: &[Tensor<'_>], rates: &[Rate]) -> Result;
}

/// `rule! { Formula, [numbers] gradient => made, at (rule, lr, wd, t) => rate }` for a formula of single elements.
macro_rules! rule {
    ($name:ty, [$($number:ident),*] $gradient:ident => $made:expr $(, at ($rule:ident, $lr:ident, $wd:ident, $t:ident) => $rate:expr)?) => {
        impl Rule for $name {
            const STATES: usize = <$name as Formula>::STATES;
            const NUMBERS: &'static [&'static str] = &[$(stringify!($number)),*];
            #[allow(unused_variables, unused_mut, unused_assignments)]
            fn new($gradient: Gradient, numbers: &[f64]) -> Self {
                let mut numbers = numbers.iter().copied();
                $(let $number = numbers.next().unwrap_or(f64::NAN);)*
                $made
            }
            $(fn rate(&self, $lr: f64, $wd: f64, $t: f64) -> Rate {
                let $rule = self;
                $rate
            })?
            fn step(&self, cx: &Cx, tensors: &[Tensor<'_>], rates: &[Rate]) -> Result {
                update(cx, self, tensors, rates)
            }
        }
    };
}

rule!(Sgd, [] gradient => Sgd { gradient });
rule!(Momentum, [momentum, nesterov] gradient => Momentum { gradient, momentum, nesterov: nesterov != 0.0 });
rule!(SignSgd, [] gradient => SignSgd { gradient });
rule!(Signum, [momentum, wd_lh] gradient => Signum { gradient, momentum, wd_lh });
rule!(Lion, [beta1, beta2] gradient => Lion { gradient, beta1, beta2 });
rule!(Langevin, [] gradient => Langevin { gradient });
rule!(DelayCompensated<1>, [lamda] gradient => DelayCompensated { gradient, momentum: 0.0, lamda });
rule!(DelayCompensated<2>, [lamda, momentum] gradient => DelayCompensated { gradient, momentum, lamda });
rule!(Average, [] gradient => Average);
rule!(AdaGrad, [epsilon] gradient => AdaGrad { gradient, epsilon });
rule!(AdaDelta, [rho, epsilon] gradient => AdaDelta { gradient, rho, epsilon });
rule!(Ftrl, [lamda1, beta] gradient => Ftrl { gradient, lamda1, beta });
rule!(Ftml, [beta1, beta2, epsilon] gradient => Ftml { gradient, beta1, beta2, epsilon },
    at (f, lr, wd, t) => Rate::new(lr, wd).at(t, f.beta1, f.beta2));
rule!(RmsProp, [gamma1, epsilon, clip_weights] gradient => RmsProp { gradient, gamma1, epsilon, clip_weights });
rule!(RmsPropCentered, [gamma1, epsilon, clip_weights, gamma2] gradient => RmsPropCentered {
    plain: RmsProp { gradient, gamma1, epsilon, clip_weights },
    gamma2,
});
// MXNet's Adam divides by the root of the mean as it is, and folds what the first updates lack into the learning rate.
rule!(Adam, [beta1, beta2, epsilon] gradient => Adam { gradient, beta1, beta2, epsilon },
at (f, lr, wd, t) => {
    let rate = Rate::new(lr, wd).at(t, f.beta1, f.beta2);
    Rate { lr: lr * rate.filled.1.sqrt() / rate.filled.0, ..rate }
});
rule!(Adamax, [beta1, beta2] gradient => Adamax { gradient, beta1, beta2 },
    at (f, lr, wd, t) => Rate::new(lr / (1.0 - f.beta1.powf(t)), wd));
rule!(Nadam, [beta1, beta2, epsilon, schedule_decay] gradient => Nadam { gradient, beta1, beta2, epsilon, schedule_decay },
    at (f, lr, wd, t) => f.scheduled(lr, wd, t));

/// A rule that can leave out what makes up for the first updates.
pub struct Corrected<F> {
    formula: F,
    corrects: bool,
}

macro_rules! corrected {
    ($name:ident, |$beta1:ident, $beta2:ident, $epsilon:ident, $gradient:ident| $made:expr) => {
        impl Rule for Corrected<$name> {
            const STATES: usize = <$name as Formula>::STATES;
            const NUMBERS: &'static [&'static str] = &["beta1", "beta2", "epsilon", "bias_correction"];
            fn new($gradient: Gradient, numbers: &[f64]) -> Self {
                let [$beta1, $beta2, $epsilon, corrects] = [0, 1, 2, 3].map(|i| numbers[i]);
                Corrected { formula: $made, corrects: corrects != 0.0 }
            }
            fn rate(&self, lr: f64, wd: f64, t: f64) -> Rate {
                let rate = Rate::new(lr, wd);
                let (beta1, beta2) = self.formula.betas();
                if self.corrects { rate.at(t, beta1, beta2) } else { rate }
            }
            fn step(&self, cx: &Cx, tensors: &[Tensor<'_>], rates: &[Rate]) -> Result {
                update(cx, &self.formula, tensors, rates)
            }
        }
    };
}
corrected!(Decoupled, |beta1, beta2, epsilon, gradient| Decoupled(Lamb { gradient, beta1, beta2, epsilon }));
corrected!(AdaBelief, |beta1, beta2, epsilon, gradient| AdaBelief { gradient, beta1, beta2, epsilon });

/// LAMB with its bounds.
pub struct LambSteps {
    formula: Lamb,
    corrects: bool,
    bounds: (f64, f64),
}
impl Rule for LambSteps {
    const STATES: usize = 2;
    const NUMBERS: &'static [&'static str] =
        &["beta1", "beta2", "epsilon", "bias_correction", "lower_bound", "upper_bound"];
    fn new(gradient: Gradient, n: &[f64]) -> Self {
        let formula = Lamb { gradient, beta1: n[0], beta2: n[1], epsilon: n[2] };
        LambSteps { formula, corrects: n[3] != 0.0, bounds: (n[4], n[5]) }
    }
    fn rate(&self, lr: f64, wd: f64, t: f64) -> Rate {
        let rate = Rate::new(lr, wd);
        if self.corrects { rate.at(t, self.formula.beta1, self.formula.beta2) } else { rate }
    }
    fn step(&self, cx: &Cx, tensors: &[Tensor<'_>], rates: &[Rate]) -> Result {
        lamb(cx, &self.formula, self.bounds, tensors, rates)
    }
}

impl Rule for Lans {
    const STATES: usize = 2;
    const NUMBERS: &'static [&'static str] = &["beta1", "beta2", "epsilon", "lower_bound", "upper_bound"];
    fn new(gradient: Gradient, n: &[f64]) -> Self {
        let [beta1, beta2, epsilon] = [n[0], n[1], n[2]];
        Lans { formula: Lamb { gradient, beta1, beta2, epsilon }, bounds: (n[3], n[4]) }
    }
    fn rate(&self, lr: f64, wd: f64, t: f64) -> Rate {
        Rate::new(lr, wd).at(t, self.formula.beta1, self.formula.beta2)
    }
    fn step(&self, cx: &Cx, tensors: &[Tensor<'_>], rates: &[Rate]) -> Result {
        lans(cx, self, tensors, rates)
    }
}
