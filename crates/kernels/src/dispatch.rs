//! From an element type known at run time to one known to the compiler, and from the machine's instruction set to code
//! compiled for it.
use gluonish_base::DType;
use half::{bf16, f16};

/// An element of a bool array. Any byte may be found there (other libraries share memory with us), so it is not Rust's
/// `bool`: what is not zero is true.
#[derive(Clone, Copy, Default, Debug)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    #[inline(always)]
    pub const fn new(v: bool) -> Bool {
        Bool(v as u8)
    }
    #[inline(always)]
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

/// The Rust type of an array's elements, and its conversions: integers wrap, floats truncate and saturate on their way
/// to integers. For single values: whole strips go through `convert`, which has vector code for the half types.
pub trait Elem: Copy + Default + Send + Sync + 'static {
    const DTYPE: DType;
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
    fn to_i64(self) -> i64;
    fn from_f32(v: f32) -> Self;
    fn from_f64(v: f64) -> Self;
    fn from_i64(v: i64) -> Self;
}

macro_rules! elem {
    ($($t:ty => $d:ident)*) => {$(
        impl Elem for $t {
            const DTYPE: DType = DType::$d;
            #[inline(always)]
            fn to_f32(self) -> f32 { self as f32 }
            #[inline(always)]
            fn to_f64(self) -> f64 { self as f64 }
            #[inline(always)]
            fn to_i64(self) -> i64 { self as i64 }
            #[inline(always)]
            fn from_f32(v: f32) -> Self { v as $t }
            #[inline(always)]
            fn from_f64(v: f64) -> Self { v as $t }
            #[inline(always)]
            fn from_i64(v: i64) -> Self { v as $t }
        }
    )*};
}
elem! { u8 => U8  u16 => U16  u32 => U32  u64 => U64  i8 => I8  i16 => I16  i32 => I32  i64 => I64  f32 => F32  f64 => F64 }

macro_rules! half_elem {
    ($($t:ident => $d:ident)*) => {$(
        impl Elem for $t {
            const DTYPE: DType = DType::$d;
            #[inline(always)]
            fn to_f32(self) -> f32 { self.to_f32() }
            #[inline(always)]
            fn to_f64(self) -> f64 { self.to_f64() }
            #[inline(always)]
            fn to_i64(self) -> i64 { self.to_f32() as i64 }
            #[inline(always)]
            fn from_f32(v: f32) -> Self { $t::from_f32(v) }
            #[inline(always)]
            fn from_f64(v: f64) -> Self { $t::from_f64(v) }
            #[inline(always)]
            fn from_i64(v: i64) -> Self { $t::from_f64(v as f64) }
        }
    )*};
}
half_elem! { f16 => F16  bf16 => BF16 }

impl Elem for Bool {
    const DTYPE: DType = DType::Bool;
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self.get() as u8 as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.get() as u8 as f64
    }
    #[inline(always)]
    fn to_i64(self) -> i64 {
        self.get() as i64
    }
    #[inline(always)]
    fn from_f32(v: f32) -> Self {
        Bool::new(v != 0.0)
    }
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        Bool::new(v != 0.0)
    }
    #[inline(always)]
    fn from_i64(v: i64) -> Self {
        Bool::new(v != 0)
    }
}

/// `by_dtype!(dtype, T => expression)`: evaluates the expression with `T` standing for the element type.
///
/// `by_dtype!(bits dtype, T => ...)` only tells sizes apart (`T` is an unsigned integer), for kernels that move elements
/// without looking at them.
#[macro_export]
macro_rules! by_dtype {
    (bits $d:expr, $T:ident => $e:expr) => {
        match $d.size() {
            1 => $crate::by_dtype!(@ $T = u8, $e),
            2 => $crate::by_dtype!(@ $T = u16, $e),
            4 => $crate::by_dtype!(@ $T = u32, $e),
            _ => $crate::by_dtype!(@ $T = u64, $e),
        }
    };
    (@ $T:ident = $t:ty, $e:expr) => {{
        type $T = $t;
        $e
    }};
    ($d:expr, $T:ident => $e:expr) => {
        match $d {
            gluonish_base::DType::Bool => $crate::by_dtype!(@ $T = $crate::dispatch::Bool, $e),
            gluonish_base::DType::U8 => $crate::by_dtype!(@ $T = u8, $e),
            gluonish_base::DType::U16 => $crate::by_dtype!(@ $T = u16, $e),
            gluonish_base::DType::U32 => $crate::by_dtype!(@ $T = u32, $e),
            gluonish_base::DType::U64 => $crate::by_dtype!(@ $T = u64, $e),
            gluonish_base::DType::I8 => $crate::by_dtype!(@ $T = i8, $e),
            gluonish_base::DType::I16 => $crate::by_dtype!(@ $T = i16, $e),
            gluonish_base::DType::I32 => $crate::by_dtype!(@ $T = i32, $e),
            gluonish_base::DType::I64 => $crate::by_dtype!(@ $T = i64, $e),
            gluonish_base::DType::F16 => $crate::by_dtype!(@ $T = half::f16, $e),
            gluonish_base::DType::BF16 => $crate::by_dtype!(@ $T = half::bf16, $e),
            gluonish_base::DType::F32 => $crate::by_dtype!(@ $T = f32, $e),
            gluonish_base::DType::F64 => $crate::by_dtype!(@ $T = f64, $e),
        }
    };
}

/// Compiles one function for every instruction set and calls the one that fits the machine. The body is ordinary code
/// over fixed-size arrays that the compiler turns into vector instructions, so all versions give the same bits. Where a
/// target has one set of vector instructions, as NEON, plain code is compiled to them.
///
/// ```ignore
/// per_isa! { fn dot[T: Float](a: &[T], b: &[T]) -> T { ... } }
/// ```
#[macro_export]
macro_rules! per_isa {
    ($(#[$doc:meta])* $vis:vis fn $name:ident $([$($g:ident: $b:path),*])? ($($a:ident: $t:ty),* $(,)?) $(-> $r:ty)? $body:block) => {
        $(#[$doc])*
        $vis fn $name<$($($g: $b),*)?>($($a: $t),*) $(-> $r)? {
            #[inline(always)]
            fn body<$($($g: $b),*)?>($($a: $t),*) $(-> $r)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,f16c")]
                fn avx2<$($($g: $b),*)?>($($a: $t),*) $(-> $r)? { body$(::<$($g),*>)?($($a),*) }
                #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512vl,avx512bw,avx512dq")]
                fn avx512<$($($g: $b),*)?>($($a: $t),*) $(-> $r)? { body$(::<$($g),*>)?($($a),*) }
                match gluonish_base::isa::isa() {
                    // SAFETY: `isa()` has found these features on this machine.
                    gluonish_base::isa::Isa::Avx512 => return unsafe { avx512$(::<$($g),*>)?($($a),*) },
                    // SAFETY: as above.
                    gluonish_base::isa::Isa::Avx2 => return unsafe { avx2$(::<$($g),*>)?($($a),*) },
                    _ => {}
                }
            }
            body$(::<$($g),*>)?($($a),*)
        }
    };
}
