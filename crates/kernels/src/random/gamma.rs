//! Gamma numbers of scale 1 by Marsaglia and Tsang (2000): the cube of a normal number, accepted in 19 of 20 cases.
use super::polar::double::ln;
use super::stream::Stream;

#[derive(Clone, Copy)]
pub struct Standard {
    d: f64,
    c: f64,
    /// For shapes below 1: numbers of the next shape are made smaller by a factor `u^(1 / shape)`.
    inverse: f64,
}

impl Standard {
    pub(super) fn new(shape: f64) -> Standard {
        let small = shape < 1.0;
        let d = shape + if small { 1.0 } else { 0.0 } - 1.0 / 3.0;
        Standard { d, c: 1.0 / (9.0 * d).sqrt(), inverse: if small { 1.0 / shape } else { 0.0 } }
    }

    /// A number and the logarithm of a factor that it must still be multiplied by: small shapes underflow.
    #[inline(always)]
    fn parts(&self, s: &mut Stream<'_>) -> (f64, f64) {
        let value = loop {
            let (n, u) = s.normal_and_open();
            let root = 1.0 + self.c * n;
            let v = root * root * root;
            let near = u < 1.0 - 0.0331 * (n * n) * (n * n);
            if v > 0.0 && (near || ln(u) < 0.5 * n * n + self.d * (1.0 - v + ln(v))) {
                break self.d * v;
            }
        };
        (value, if self.inverse > 0.0 { ln(s.open()) * self.inverse } else { 0.0 })
    }

    #[inline(always)]
    pub(super) fn draw(&self, s: &mut Stream<'_>) -> f64 {
        match self.parts(s) {
            (value, 0.0) => value,
            (value, factor) => value * factor.exp(),
        }
    }

    /// The logarithm of such a number.
    pub(super) fn draw_ln(&self, s: &mut Stream<'_>) -> f64 {
        let (value, factor) = self.parts(s);
        ln(value) + factor
    }
}
