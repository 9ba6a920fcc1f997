//! Functions that are computed one value at a time, in float64: all of them for float64 arrays, the rare ones for float32.
mod special;

/// A function of one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fun {
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Tanh,
    Sigmoid,
    Erf,
    Erfc,
    Erfinv,
    Sin,
    Cos,
    Tan,
    Arcsin,
    Arccos,
    Arctan,
    Sinh,
    Cosh,
    Arcsinh,
    Arccosh,
    Arctanh,
    Cbrt,
    Gamma,
    Gammaln,
    Digamma,
}

/// A function of two values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fun2 {
    Pow,
    Arctan2,
    Hypot,
    Fmod,
    /// The order, then the value.
    Polygamma,
}

impl Fun {
    #[inline(always)]
    pub fn eval(self, x: f64) -> f64 {
        match self {
            Fun::Exp => x.exp(),
            Fun::Exp2 => x.exp2(),
            Fun::Expm1 => x.exp_m1(),
            Fun::Log => x.ln(),
            Fun::Log2 => x.log2(),
            Fun::Log10 => x.log10(),
            Fun::Log1p => x.ln_1p(),
            Fun::Tanh => x.tanh(),
            Fun::Sigmoid => special::sigmoid(x),
            Fun::Erf => special::erf(x),
            Fun::Erfc => special::erfc(x),
            Fun::Erfinv => special::erfinv(x),
            Fun::Sin => x.sin(),
            Fun::Cos => x.cos(),
            Fun::Tan => x.tan(),
            Fun::Arcsin => x.asin(),
            Fun::Arccos => x.acos(),
            Fun::Arctan => x.atan(),
            Fun::Sinh => x.sinh(),
            Fun::Cosh => x.cosh(),
            Fun::Arcsinh => special::arcsinh(x),
            Fun::Arccosh => special::arccosh(x),
            Fun::Arctanh => x.atanh(),
            Fun::Cbrt => x.cbrt(),
            Fun::Gamma => special::gamma(x),
            Fun::Gammaln => special::gammaln(x),
            Fun::Digamma => special::digamma(x),
        }
    }

    /// The name in CUDA C, for float64 operands.
    pub fn cuda(self) -> &'static str {
        match self {
            Fun::Exp => "exp",
            Fun::Exp2 => "exp2",
            Fun::Expm1 => "expm1",
            Fun::Log => "log",
            Fun::Log2 => "log2",
            Fun::Log10 => "log10",
            Fun::Log1p => "log1p",
            Fun::Tanh => "tanh",
            Fun::Sigmoid => "gl_sigmoid",
            Fun::Erf => "erf",
            Fun::Erfc => "erfc",
            Fun::Erfinv => "erfinv",
            Fun::Sin => "sin",
            Fun::Cos => "cos",
            Fun::Tan => "tan",
            Fun::Arcsin => "asin",
            Fun::Arccos => "acos",
            Fun::Arctan => "atan",
            Fun::Sinh => "sinh",
            Fun::Cosh => "cosh",
            Fun::Arcsinh => "asinh",
            Fun::Arccosh => "acosh",
            Fun::Arctanh => "atanh",
            Fun::Cbrt => "cbrt",
            Fun::Gamma => "tgamma",
            Fun::Gammaln => "lgamma",
            Fun::Digamma => "gl_digamma",
        }
    }
}

impl Fun2 {
    #[inline(always)]
    pub fn eval(self, a: f64, b: f64) -> f64 {
        match self {
            Fun2::Pow => a.powf(b),
            Fun2::Arctan2 => a.atan2(b),
            Fun2::Hypot => a.hypot(b),
            Fun2::Fmod => a % b,
            Fun2::Polygamma => special::polygamma(a, b),
        }
    }

    pub fn cuda(self) -> &'static str {
        match self {
            Fun2::Pow => "pow",
            Fun2::Arctan2 => "atan2",
            Fun2::Hypot => "hypot",
            Fun2::Fmod => "fmod",
            Fun2::Polygamma => "gl_polygamma",
        }
    }
}

/// Element types of the lanes that the functions are applied to: float32 goes through float64, so that it is rounded once
/// (`fmod` is exact in both).
pub(crate) trait Lane: Copy {
    fn apply(f: Fun, x: Self) -> Self;
    fn apply2(f: Fun2, a: Self, b: Self) -> Self;
}
impl Lane for f32 {
    #[inline(always)]
    fn apply(f: Fun, x: f32) -> f32 {
        f.eval(x as f64) as f32
    }
    #[inline(always)]
    fn apply2(f: Fun2, a: f32, b: f32) -> f32 {
        f.eval(a as f64, b as f64) as f32
    }
}
impl Lane for f64 {
    #[inline(always)]
    fn apply(f: Fun, x: f64) -> f64 {
        f.eval(x)
    }
    #[inline(always)]
    fn apply2(f: Fun2, a: f64, b: f64) -> f64 {
        f.eval(a, b)
    }
}
