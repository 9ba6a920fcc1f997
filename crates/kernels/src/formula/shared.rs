//! Methods that several instances have in common, as text to put into their `impl` blocks.

/// Methods whose operands and result are all of one type: `name(a, b) = expression;`.
macro_rules! methods {
    ($wrap:ident, $v:ty, $self:ident; $($name:ident($($a:ident),+) = $e:expr;)+) => {
        $(#[inline(always)]
        fn $name($self, $($a: $v),+) -> $v {
            $wrap!($e)
        })+
    };
}

/// What floating types derive from their other operations.
macro_rules! derived {
    () => {
        #[inline(always)]
        fn sign(self, a: Self::V) -> Self::V {
            $crate::formula::real::sign(self, a)
        }
        #[inline(always)]
        fn floor_div(self, a: Self::V, b: Self::V) -> Self::V {
            $crate::formula::real::floor_div(self, a, b)
        }
        #[inline(always)]
        fn modulo(self, a: Self::V, b: Self::V) -> Self::V {
            $crate::formula::real::modulo(self, a, b)
        }
        #[inline(always)]
        fn fmod(self, a: Self::V, b: Self::V) -> Self::V {
            $crate::formula::real::fmod(self, a, b)
        }
    };
}

macro_rules! call {
    ($module:ident: $($name:ident)+) => {
        $(#[inline(always)]
        fn $name(self, x: Self::V) -> Self::V {
            $crate::formula::$module::$name(self, x)
        })+
    };
}
macro_rules! each {
    ($($name:ident $fun:ident)+) => {
        $(#[inline(always)]
        fn $name(self, x: Self::V) -> Self::V {
            self.each($crate::formula::Fun::$fun, x)
        })+
    };
}
macro_rules! each2 {
    ($($name:ident $fun:ident)+) => {
        $(#[inline(always)]
        fn $name(self, a: Self::V, b: Self::V) -> Self::V {
            self.each2($crate::formula::Fun2::$fun, a, b)
        })+
    };
}

/// float32: polynomials, and the C library for what is rare.
macro_rules! single_functions {
    () => {
        $crate::formula::call! { exponential: exp exp2 expm1 sigmoid tanh sinh cosh }
        $crate::formula::call! { logarithm: log log2 log10 log1p arcsinh arccosh arctanh }
        $crate::formula::call! { circular: sin cos tan arcsin arccos arctan }
        $crate::formula::call! { error: erf erfinv normal_cdf gelu gelu_slope }
        $crate::formula::call! { gamma: gamma gammaln digamma }
        $crate::formula::each! { erfc Erfc }
        $crate::formula::call! { root: cbrt }
        $crate::formula::each2! { polygamma Polygamma }
        #[inline(always)]
        fn hypot(self, a: Self::V, b: Self::V) -> Self::V {
            $crate::formula::root::hypot(self, a, b)
        }
        #[inline(always)]
        fn arctan2(self, y: Self::V, x: Self::V) -> Self::V {
            $crate::formula::circular::arctan2(self, y, x)
        }
        #[inline(always)]
        fn pow(self, a: Self::V, b: Self::V) -> Self::V {
            $crate::formula::power::pow(self, a, b)
        }
    };
}

/// float64: the C library.
macro_rules! double_functions {
    () => {
        $crate::formula::each! {
            exp Exp exp2 Exp2 expm1 Expm1 log Log log2 Log2 log10 Log10 log1p Log1p tanh Tanh sigmoid Sigmoid erf Erf
            sin Sin cos Cos tan Tan arcsin Arcsin arccos Arccos arctan Arctan sinh Sinh cosh Cosh arcsinh Arcsinh
            arccosh Arccosh arctanh Arctanh cbrt Cbrt erfc Erfc erfinv Erfinv gamma Gamma gammaln Gammaln
            digamma Digamma
        }
        $crate::formula::each2! { pow Pow arctan2 Arctan2 hypot Hypot polygamma Polygamma }
    };
}
pub(crate) use {call, derived, double_functions, each, each2, methods, single_functions};
