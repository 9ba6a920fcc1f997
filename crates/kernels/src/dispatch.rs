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
/// to integers.
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
    ($($t:ident => $d:ident, $widen:ident, $narrow:ident)*) => {$(
        impl Elem for $t {
            const DTYPE: DType = DType::$d;
            #[inline(always)]
            fn to_f32(self) -> f32 { $widen(self.to_bits()) }
            #[inline(always)]
            fn to_f64(self) -> f64 { $widen(self.to_bits()) as f64 }
            #[inline(always)]
            fn to_i64(self) -> i64 { $widen(self.to_bits()) as i64 }
            #[inline(always)]
            fn from_f32(v: f32) -> Self { $t::from_bits($narrow(v)) }
            #[inline(always)]
            fn from_f64(v: f64) -> Self { $t::from_f64(v) }
            #[inline(always)]
            fn from_i64(v: i64) -> Self { $t::from_f64(v as f64) }
        }
    )*};
}
half_elem! { f16 => F16, widen_f16, narrow_f16  bf16 => BF16, widen_bf16, narrow_bf16 }

// The conversions of the half types choose between results instead of branching, so that loops of them become vector
// instructions; the crate `half` asks for the processor's features in every call.

/// 2^-14, the smallest normal float16, as float32.
const F16_NORMAL: u32 = 113 << 23;
/// The difference of the exponents' offsets.
const F16_BIAS: u32 = 112 << 23;

#[inline(always)]
fn widen_f16(h: u16) -> f32 {
    let sign = (h as u32 & 0x8000) << 16;
    let m = (h as u32 & 0x7fff) << 13;
    let tiny = (f32::from_bits(m | F16_NORMAL) - f32::from_bits(F16_NORMAL)).to_bits();
    let normal = m.wrapping_add(F16_BIAS);
    let v = if m < 0x400 << 13 { tiny } else { normal };
    f32::from_bits(sign | if m >= 0x7c00 << 13 { m | 0x7f80_0000 } else { v })
}

#[inline(always)]
fn narrow_f16(v: f32) -> u16 {
    let sign = (v.to_bits() >> 16) & 0x8000;
    let a = v.to_bits() & 0x7fff_ffff;
    // Adding 0.5 leaves the last place at 2^-24, float16's smallest step: the addition rounds.
    let tiny = (f32::from_bits(a) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let normal = a.wrapping_sub(F16_BIAS).wrapping_add(0xfff + ((a >> 13) & 1)) >> 13;
    let m = if a < F16_NORMAL { tiny } else { normal };
    let m = if a >= 0x477f_f000 { 0x7c00 } else { m };
    let m = if a > 0x7f80_0000 { 0x7e00 | ((a >> 13) & 0x3ff) } else { m };
    (sign | m) as u16
}

#[inline(always)]
fn widen_bf16(h: u16) -> f32 {
    f32::from_bits((h as u32) << 16)
}

#[inline(always)]
fn narrow_bf16(v: f32) -> u16 {
    let b = v.to_bits();
    let rounded = b.wrapping_add(0x7fff + ((b >> 16) & 1)) >> 16;
    (if b & 0x7fff_ffff > 0x7f80_0000 { b >> 16 | 0x40 } else { rounded }) as u16
}

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
/// over fixed-size arrays that the compiler turns into vector instructions, so all versions give the same bits.
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
                    gluonish_base::isa::Isa::Portable => {}
                }
            }
            body$(::<$($g),*>)?($($a),*)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_conversions_agree_with_the_crate() {
        for h in 0..=u16::MAX {
            let (a, b) = (f16::from_bits(h), bf16::from_bits(h));
            assert_eq!(widen_f16(h).to_bits(), a.to_f32_const().to_bits(), "{h:#x}");
            assert!(widen_bf16(h).to_bits() == b.to_f32_const().to_bits() || b.is_nan(), "{h:#x}");
        }
        for i in 0..=u32::MAX / 4099 {
            let v = f32::from_bits(i * 4099);
            assert_eq!(narrow_f16(v), f16::from_f32_const(v).to_bits(), "{v}");
            assert_eq!(narrow_bf16(v), bf16::from_f32_const(v).to_bits(), "{v}");
        }
    }
}
