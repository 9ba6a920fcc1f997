//! The instances that write CUDA C: one statement for each operation, with the same arithmetic as on the CPU. Intrinsics
//! with a fixed rounding keep the compiler from fusing what the formula did not fuse.
use super::{Bits, Float, Fun, Fun2, Int, Lanes, Num, derived, double_functions, single_functions};
use crate::map::Class;
use std::cell::{Cell, RefCell};
use std::fmt::{Display, Write};

/// The statements written so far.
#[derive(Default)]
pub struct Text {
    body: RefCell<String>,
    next: Cell<u32>,
}

/// A variable of the text: `v7`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextValue(u32);

impl Display for TextValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl Text {
    /// Declares a variable of type `ty` with a value, and gives it back.
    pub fn bind(&self, ty: &str, value: impl Display) -> TextValue {
        let v = TextValue(self.next.get());
        self.next.set(v.0 + 1);
        let mut body = self.body.borrow_mut();
        // Writing to a string cannot fail.
        let _ = writeln!(body, "    {ty} {v} = {value};");
        v
    }

    pub fn into_body(self) -> String {
        self.body.into_inner()
    }
}

/// float32, float64 and the integer classes.
#[derive(Clone, Copy)]
pub struct TextSingle<'a>(pub &'a Text);
#[derive(Clone, Copy)]
pub struct TextDouble<'a>(pub &'a Text);
#[derive(Clone, Copy)]
pub struct TextInt<'a>(pub &'a Text, pub Class);

/// Helpers that the text may call.
pub const PRELUDE: &str = include_str!("prelude.cuh");

/// Methods that bind one expression: `name(a, b) = "format of {a} and {b}";` to a variable of type `$ty`.
macro_rules! lines {
    ($ty:expr, $self:ident; $($name:ident($($a:ident),+) = $e:literal;)+) => {
        $(fn $name($self, $($a: TextValue),+) -> TextValue {
            $self.0.bind($ty, format_args!($e))
        })+
    };
}
/// Methods that bind a call of one function: `name(a, b) = "function";`.
macro_rules! calls {
    ($ty:expr, $self:ident; $($name:ident($first:ident $(, $a:ident)*) = $f:expr;)+) => {
        $(fn $name($self, $first: TextValue $(, $a: TextValue)*) -> TextValue {
            #[allow(unused_mut)]
            let mut call = format!("{}({}", $f, $first);
            $(call.push_str(&format!(", {}", $a));)*
            $self.0.bind($ty, format_args!("{call})"))
        })+
    };
}
macro_rules! masks {
    ($ty:expr, $self:ident) => {
        lines! { "bool", $self;
            lt(a, b) = "{a} < {b}";
            le(a, b) = "{a} <= {b}";
            eq(a, b) = "{a} == {b}";
            and(a, b) = "{a} && {b}";
            or(a, b) = "{a} || {b}";
            not(a) = "!{a}";
        }
        lines! { $ty, $self;
            select(m, a, b) = "{m} ? {a} : {b}";
        }
    };
}

macro_rules! float {
    ($name:ident, $ty:literal, $functions:ident, $constant:expr,
     $add:literal $sub:literal $mul:literal $div:literal $sqrt:literal $fma:literal) => {
        impl Num for $name<'_> {
            type V = TextValue;
            type M = TextValue;
            fn c(self, v: f64) -> TextValue {
                self.0.bind($ty, $constant(v))
            }
            calls! { $ty, self;
                add(a, b) = $add;
                sub(a, b) = $sub;
                mul(a, b) = $mul;
                abs(a) = "fabs";
            }
            lines! { $ty, self;
                neg(a) = "-{a}";
                min(a, b) = "({a} < {b} || {a} != {a}) ? {a} : {b}";
                max(a, b) = "({a} > {b} || {a} != {a}) ? {a} : {b}";
            }
            masks!($ty, self);
            derived!();
        }
        impl Lanes for $name<'_> {
            fn each(self, f: Fun, x: TextValue) -> TextValue {
                self.0.bind($ty, format_args!("({}){}((double){x})", $ty, f.cuda()))
            }
            fn each2(self, f: Fun2, a: TextValue, b: TextValue) -> TextValue {
                self.0.bind($ty, format_args!("({}){}((double){a}, (double){b})", $ty, f.cuda()))
            }
            fn patch(self, m: TextValue, y: TextValue, f: Fun, x: TextValue) -> TextValue {
                self.0.bind($ty, format_args!("{m} ? ({}){}((double){x}) : {y}", $ty, f.cuda()))
            }
            fn patch2(self, m: TextValue, y: TextValue, f: Fun2, a: TextValue, b: TextValue) -> TextValue {
                self.0.bind($ty, format_args!("{m} ? ({}){}((double){a}, (double){b}) : {y}", $ty, f.cuda()))
            }
        }
        impl Float for $name<'_> {
            calls! { $ty, self;
                div(a, b) = $div;
                sqrt(a) = $sqrt;
                floor(a) = "floor";
                ceil(a) = "ceil";
                trunc(a) = "trunc";
                round(a) = "rint";
                fma(a, b, c) = $fma;
                copysign(a, b) = "copysign";
            }
            $functions!();
        }
    };
}
float!(TextSingle, "float", single_functions, |v: f64| Single((v as f32).to_bits()),
    "__fadd_rn" "__fsub_rn" "__fmul_rn" "__fdiv_rn" "__fsqrt_rn" "__fmaf_rn");
float!(TextDouble, "double", double_functions, |v: f64| Double(v.to_bits()),
    "__dadd_rn" "__dsub_rn" "__dmul_rn" "__ddiv_rn" "__dsqrt_rn" "__fma_rn");

/// Constants by their bits: no digits to round, and NaN and the infinities need no names.
struct Single(u32);
impl Display for Single {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "__int_as_float({:#x})", self.0)
    }
}
struct Double(u64);
impl Display for Double {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "__longlong_as_double({:#x}ll)", self.0)
    }
}

impl Bits for TextSingle<'_> {
    fn bits(self, b: u32) -> TextValue {
        self.0.bind("float", Single(b))
    }
    lines! { "float", self;
        bit_and(a, b) = "__int_as_float(__float_as_int({a}) & __float_as_int({b}))";
        bit_or(a, b) = "__int_as_float(__float_as_int({a}) | __float_as_int({b}))";
        bit_xor(a, b) = "__int_as_float(__float_as_int({a}) ^ __float_as_int({b}))";
        add_bits(a, b) = "__uint_as_float(__float_as_uint({a}) + __float_as_uint({b}))";
        sub_bits(a, b) = "__uint_as_float(__float_as_uint({a}) - __float_as_uint({b}))";
        to_int(a) = "__int_as_float(__float2int_rn({a}))";
        of_int(a) = "__int2float_rn(__float_as_int({a}))";
        below(a, b) = "{a} < {b} ? {a} : {b}";
        above(a, b) = "{a} > {b} ? {a} : {b}";
    }
    fn shl<const N: i32>(self, a: TextValue) -> TextValue {
        self.0.bind("float", format_args!("__uint_as_float(__float_as_uint({a}) << {N})"))
    }
    fn shr<const N: i32>(self, a: TextValue) -> TextValue {
        self.0.bind("float", format_args!("__int_as_float(__float_as_int({a}) >> {N})"))
    }
}

impl TextInt<'_> {
    fn ty(self) -> &'static str {
        match self.1 {
            Class::I32 => "int",
            Class::U64 => "unsigned long long",
            _ => "long long",
        }
    }
}

impl Num for TextInt<'_> {
    type V = TextValue;
    type M = TextValue;
    fn c(self, v: f64) -> TextValue {
        match self.1 {
            Class::U64 => self.0.bind(self.ty(), format_args!("{}ull", v as u64)),
            Class::I32 => self.0.bind(self.ty(), format_args!("(int){}ll", v as i32)),
            _ => self.0.bind(self.ty(), format_args!("(long long){}ull", v as i64 as u64)),
        }
    }
    lines! { self.ty(), self;
        add(a, b) = "gl_add({a}, {b})";
        sub(a, b) = "gl_sub({a}, {b})";
        mul(a, b) = "gl_mul({a}, {b})";
        neg(a) = "gl_sub(({a} ^ {a}), {a})";
        abs(a) = "{a} < 0 ? gl_sub(({a} ^ {a}), {a}) : {a}";
        min(a, b) = "{a} < {b} ? {a} : {b}";
        max(a, b) = "{a} > {b} ? {a} : {b}";
        sign(a) = "({a} > 0) - ({a} < 0)";
        floor_div(a, b) = "gl_floor_div({a}, {b})";
        modulo(a, b) = "gl_modulo({a}, {b})";
        fmod(a, b) = "gl_rem({a}, {b})";
    }
    masks!(self.ty(), self);
}

impl Int for TextInt<'_> {
    lines! { self.ty(), self;
        bit_and(a, b) = "{a} & {b}";
        bit_or(a, b) = "{a} | {b}";
        bit_xor(a, b) = "{a} ^ {b}";
        bit_not(a) = "~{a}";
        shl(a, n) = "gl_shl({a}, {n})";
        shr(a, n) = "gl_shr({a}, {n})";
        ipow(a, n) = "gl_ipow({a}, {n})";
        gcd(a, b) = "gl_gcd({a}, {b})";
        lcm(a, b) = "gl_lcm({a}, {b})";
    }
}
