//! 128-bit registers: NEON.
use super::each::{Fun, Fun2, Lane};
use super::{Bits, Float, Lanes, Num, derived, methods};
use crate::map::sweep::Vector;
use crate::neon::{head_f32, head_f64, put_head_f32, put_head_f64};
use std::arch::aarch64::*;
use std::marker::PhantomData;
use std::mem::transmute;

/// Lanes of `T` in 128-bit registers.
#[derive(Clone, Copy)]
pub(crate) struct Neon<T>(PhantomData<T>);

impl<T> Neon<T> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Neon(PhantomData)
    }
}

/// Calls intrinsics.
macro_rules! simd {
    ($e:expr) => {
        // SAFETY: every 64-bit ARM has these instructions; operands are registers, which an array of their lanes can be
        // turned into and back: same size, no invalid values.
        unsafe { $e }
    };
}

macro_rules! float {
    ($t:ident, $v:ident, $m:ident, $bits:ident, $lanes:literal, $functions:ident,
     $set:ident $set_mask:ident $load:ident $store:ident $head:ident $put_head:ident
     $add:ident $sub:ident $mul:ident $div:ident $neg:ident $abs:ident $max:ident $sqrt:ident $fma:ident
     $floor:ident $ceil:ident $trunc:ident $round:ident
     $lt:ident $le:ident $eq:ident $and:ident $or:ident $xor:ident $or_not:ident $select:ident $any:ident
     $even:ident $odd:ident $low:ident $high:ident) => {
        impl Num for Neon<$t> {
            type V = $v;
            type M = $m;
            #[inline(always)]
            fn c(self, v: f64) -> $v {
                simd!($set(v as $t))
            }
            methods! { simd, $v, self;
                add(a, b) = $add(a, b);
                sub(a, b) = $sub(a, b);
                mul(a, b) = $mul(a, b);
                neg(a) = $neg(a);
                abs(a) = $abs(a);
                // The processor's own would order zeros by their signs, which the other instances do not.
                min(a, b) = $select($or_not($lt(a, b), $eq(a, a)), a, b);
                max(a, b) = $select($or_not($lt(b, a), $eq(a, a)), a, b);
                // Here it gives the same: +0 for both zeros.
                relu(a) = $max(a, $set(0.0));
            }
            #[inline(always)]
            fn lt(self, a: $v, b: $v) -> $m {
                simd!($lt(a, b))
            }
            #[inline(always)]
            fn le(self, a: $v, b: $v) -> $m {
                simd!($le(a, b))
            }
            #[inline(always)]
            fn eq(self, a: $v, b: $v) -> $m {
                simd!($eq(a, b))
            }
            methods! { simd, $m, self;
                and(a, b) = $and(a, b);
                or(a, b) = $or(a, b);
                not(a) = $xor(a, $set_mask($bits::MAX));
            }
            #[inline(always)]
            fn select(self, m: $m, a: $v, b: $v) -> $v {
                simd!($select(m, a, b))
            }
            derived!();
        }
        impl Lanes for Neon<$t> {
            #[inline(always)]
            fn each(self, f: Fun, x: $v) -> $v {
                let x = simd!(transmute::<$v, [$t; $lanes]>(x));
                simd!(transmute::<[$t; $lanes], $v>(x.map(|x| Lane::apply(f, x))))
            }
            #[inline(always)]
            fn each2(self, f: Fun2, a: $v, b: $v) -> $v {
                let (a, b) = simd!((transmute::<$v, [$t; $lanes]>(a), transmute::<$v, [$t; $lanes]>(b)));
                simd!(transmute::<[$t; $lanes], $v>(std::array::from_fn(|k| Lane::apply2(f, a[k], b[k]))))
            }
            #[inline(always)]
            fn patch(self, m: $m, y: $v, f: Fun, x: $v) -> $v {
                if $any(m) { self.select(m, self.each(f, x), y) } else { y }
            }
            #[inline(always)]
            fn patch2(self, m: $m, y: $v, f: Fun2, a: $v, b: $v) -> $v {
                if $any(m) { self.select(m, self.each2(f, a, b), y) } else { y }
            }
        }
        impl Float for Neon<$t> {
            methods! { simd, $v, self;
                div(a, b) = $div(a, b);
                sqrt(a) = $sqrt(a);
                floor(a) = $floor(a);
                ceil(a) = $ceil(a);
                trunc(a) = $trunc(a);
                round(a) = $round(a);
                fma(a, b, c) = $fma(c, a, b);
                copysign(a, b) = $select($set_mask(1 << ($bits::BITS - 1)), b, a);
            }
            super::$functions!();
        }
        impl Vector for Neon<$t> {
            type T = $t;
            const LANES: usize = $lanes;
            #[inline(always)]
            unsafe fn load(self, p: *const $t) -> $v {
                // SAFETY: the caller gives `LANES` readable values; alignment does not matter.
                unsafe { $load(p) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t, v: $v) {
                // SAFETY: the caller gives `LANES` writable values; alignment does not matter.
                unsafe { $store(p, v) }
            }
            #[inline(always)]
            unsafe fn load_part(self, p: *const $t, n: usize) -> $v {
                // SAFETY: the caller gives `n` readable values.
                unsafe { $head(p, n, $set(0.0)) }
            }
            #[inline(always)]
            unsafe fn load_or(self, p: *const $t, n: usize, other: $v) -> $v {
                // SAFETY: the caller gives `n` readable values.
                unsafe { $head(p, n, other) }
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut $t, v: $v, n: usize) {
                // SAFETY: the caller gives `n` writable values.
                unsafe { $put_head(p, n, v) }
            }
            #[inline(always)]
            fn unzip(self, a: $v, b: $v) -> ($v, $v) {
                simd!(($even(a, b), $odd(a, b)))
            }
            #[inline(always)]
            fn zip(self, a: $v, b: $v) -> ($v, $v) {
                simd!(($low(a, b), $high(a, b)))
            }
        }
    };
}

float!(f32, float32x4_t, uint32x4_t, u32, 4, single_functions,
    vdupq_n_f32 vdupq_n_u32 vld1q_f32 vst1q_f32 head_f32 put_head_f32
    vaddq_f32 vsubq_f32 vmulq_f32 vdivq_f32 vnegq_f32 vabsq_f32 vmaxq_f32 vsqrtq_f32 vfmaq_f32
    vrndmq_f32 vrndpq_f32 vrndq_f32 vrndnq_f32
    vcltq_f32 vcleq_f32 vceqq_f32 vandq_u32 vorrq_u32 veorq_u32 vornq_u32 vbslq_f32 any_u32
    vuzp1q_f32 vuzp2q_f32 vzip1q_f32 vzip2q_f32);
float!(f64, float64x2_t, uint64x2_t, u64, 2, double_functions,
    vdupq_n_f64 vdupq_n_u64 vld1q_f64 vst1q_f64 head_f64 put_head_f64
    vaddq_f64 vsubq_f64 vmulq_f64 vdivq_f64 vnegq_f64 vabsq_f64 vmaxq_f64 vsqrtq_f64 vfmaq_f64
    vrndmq_f64 vrndpq_f64 vrndq_f64 vrndnq_f64
    vcltq_f64 vcleq_f64 vceqq_f64 vandq_u64 vorrq_u64 veorq_u64 vornq_u64 vbslq_f64 any_u64
    vuzp1q_f64 vuzp2q_f64 vzip1q_f64 vzip2q_f64);

/// Whether a lane of a mask is set.
#[inline(always)]
fn any_u32(m: uint32x4_t) -> bool {
    simd!(vmaxvq_u32(m)) != 0
}

/// The same for float64.
#[inline(always)]
fn any_u64(m: uint64x2_t) -> bool {
    any_u32(simd!(vreinterpretq_u32_u64(m)))
}

/// An operation of integers on the bits of float32 lanes.
macro_rules! on_bits {
    ($f:ident($($a:expr),+)) => {
        vreinterpretq_f32_s32($f($(vreinterpretq_s32_f32($a)),+))
    };
}

impl Bits for Neon<f32> {
    #[inline(always)]
    fn bits(self, b: u32) -> float32x4_t {
        simd!(vdupq_n_f32(f32::from_bits(b)))
    }
    #[inline(always)]
    fn shl<const N: i32>(self, a: float32x4_t) -> float32x4_t {
        simd!(vreinterpretq_f32_s32(vshlq_n_s32::<N>(vreinterpretq_s32_f32(a))))
    }
    #[inline(always)]
    fn shr<const N: i32>(self, a: float32x4_t) -> float32x4_t {
        simd!(vreinterpretq_f32_s32(vshrq_n_s32::<N>(vreinterpretq_s32_f32(a))))
    }
    methods! { simd, float32x4_t, self;
        bit_and(a, b) = on_bits!(vandq_s32(a, b));
        bit_or(a, b) = on_bits!(vorrq_s32(a, b));
        bit_xor(a, b) = on_bits!(veorq_s32(a, b));
        add_bits(a, b) = on_bits!(vaddq_s32(a, b));
        sub_bits(a, b) = on_bits!(vsubq_s32(a, b));
        to_int(a) = vreinterpretq_f32_s32(vcvtq_s32_f32(a));
        of_int(a) = vcvtq_f32_s32(vreinterpretq_s32_f32(a));
        below(a, b) = vbslq_f32(vcltq_f32(a, b), a, b);
        above(a, b) = vbslq_f32(vcgtq_f32(a, b), a, b);
    }
}
