//! Registers in plain Rust: a few values side by side, which the compiler turns into whatever vectors the target has.
//! The only instance of integers, and the one of real numbers where no other fits.
use super::each::{Fun, Fun2, Lane};
use super::{Bits, Float, Int, Lanes, Num, derived};
use crate::map::sweep::Vector;
use std::array::from_fn;
use std::marker::PhantomData;

/// Lanes in one pack: a cache line of 4-byte values.
pub(crate) const LANES: usize = 16;

#[derive(Clone, Copy)]
pub(crate) struct Pack<T>(PhantomData<T>);

impl<T> Pack<T> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Pack(PhantomData)
    }
}

/// Methods that work lane by lane: `name(a, b) = expression of one lane's a and b;`.
macro_rules! lanewise {
    ($t:ty => $r:ty, $self:ident; $($name:ident($($a:ident),+) = $e:expr;)+) => {
        $(#[inline(always)]
        fn $name($self, $($a: [$t; LANES]),+) -> [$r; LANES] {
            from_fn(|k| {
                $(let $a = $a[k];)+
                $e
            })
        })+
    };
}

/// Mask logic and selection; a mask is as wide as its value, so that both fit the same registers.
macro_rules! masks {
    ($t:ty, $m:ty) => {
        lanewise! { $t => $m, self;
            lt(a, b) = -((a < b) as $m);
            le(a, b) = -((a <= b) as $m);
            eq(a, b) = -((a == b) as $m);
        }
        lanewise! { $m => $m, self;
            and(a, b) = a & b;
            or(a, b) = a | b;
            not(a) = !a;
        }
        #[inline(always)]
        fn select(self, m: [$m; LANES], a: [$t; LANES], b: [$t; LANES]) -> [$t; LANES] {
            from_fn(|k| if m[k] != 0 { a[k] } else { b[k] })
        }
    };
}

impl<T: Copy + Default> Vector for Pack<T>
where
    Pack<T>: Num<V = [T; LANES]>,
{
    type T = T;
    const LANES: usize = LANES;
    #[inline(always)]
    unsafe fn load(self, p: *const T) -> [T; LANES] {
        // SAFETY: the caller gives `LANES` readable values.
        unsafe { p.cast::<[T; LANES]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut T, v: [T; LANES]) {
        // SAFETY: the caller gives `LANES` writable values.
        unsafe { p.cast::<[T; LANES]>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn load_part(self, p: *const T, n: usize) -> [T; LANES] {
        let mut v = [T::default(); LANES];
        // SAFETY: the caller gives `n` readable values, less than `LANES`.
        unsafe { std::ptr::copy_nonoverlapping(p, v.as_mut_ptr(), n) };
        v
    }
    #[inline(always)]
    unsafe fn load_or(self, p: *const T, n: usize, other: [T; LANES]) -> [T; LANES] {
        let mut v = other;
        // SAFETY: the caller gives `n` readable values, at most `LANES`.
        unsafe { std::ptr::copy_nonoverlapping(p, v.as_mut_ptr(), n) };
        v
    }
    #[inline(always)]
    fn unzip(self, a: [T; LANES], b: [T; LANES]) -> ([T; LANES], [T; LANES]) {
        let lane = |k: usize| if k < LANES { a[k] } else { b[k - LANES] };
        (from_fn(|k| lane(2 * k)), from_fn(|k| lane(2 * k + 1)))
    }
    #[inline(always)]
    fn zip(self, a: [T; LANES], b: [T; LANES]) -> ([T; LANES], [T; LANES]) {
        let lane = |k: usize| if k.is_multiple_of(2) { a[k / 2] } else { b[k / 2] };
        (from_fn(lane), from_fn(|k| lane(k + LANES)))
    }
    #[inline(always)]
    unsafe fn store_part(self, p: *mut T, v: [T; LANES], n: usize) {
        // SAFETY: the caller gives `n` writable values, less than `LANES`.
        unsafe { std::ptr::copy_nonoverlapping(v.as_ptr(), p, n) }
    }
}

macro_rules! float {
    ($t:ident, $m:ident, $functions:ident) => {
        impl Num for Pack<$t> {
            type V = [$t; LANES];
            type M = [$m; LANES];
            #[inline(always)]
            fn c(self, v: f64) -> Self::V {
                [v as $t; LANES]
            }
            lanewise! { $t => $t, self;
                add(a, b) = a + b;
                sub(a, b) = a - b;
                mul(a, b) = a * b;
                neg(a) = -a;
                abs(a) = a.abs();
                min(a, b) = if a < b || a.is_nan() { a } else { b };
                max(a, b) = if a > b || a.is_nan() { a } else { b };
            }
            masks!($t, $m);
            derived!();
        }
        impl Lanes for Pack<$t> {
            #[inline(always)]
            fn each(self, f: Fun, x: Self::V) -> Self::V {
                x.map(|x| Lane::apply(f, x))
            }
            #[inline(always)]
            fn each2(self, f: Fun2, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|k| Lane::apply2(f, a[k], b[k]))
            }
            #[inline(always)]
            fn patch(self, m: Self::M, y: Self::V, f: Fun, x: Self::V) -> Self::V {
                from_fn(|k| if m[k] != 0 { Lane::apply(f, x[k]) } else { y[k] })
            }
            #[inline(always)]
            fn patch2(self, m: Self::M, y: Self::V, f: Fun2, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|k| if m[k] != 0 { Lane::apply2(f, a[k], b[k]) } else { y[k] })
            }
        }
        impl Float for Pack<$t> {
            lanewise! { $t => $t, self;
                div(a, b) = a / b;
                sqrt(a) = a.sqrt();
                floor(a) = a.floor();
                ceil(a) = a.ceil();
                trunc(a) = a.trunc();
                round(a) = a.round_ties_even();
                fma(a, b, c) = a.mul_add(b, c);
                copysign(a, b) = a.copysign(b);
            }
            super::$functions!();
        }
    };
}
float!(f32, i32, single_functions);
float!(f64, i64, double_functions);

impl Bits for Pack<f32> {
    #[inline(always)]
    fn bits(self, b: u32) -> Self::V {
        [f32::from_bits(b); LANES]
    }
    lanewise! { f32 => f32, self;
        bit_and(a, b) = f32::from_bits(a.to_bits() & b.to_bits());
        bit_or(a, b) = f32::from_bits(a.to_bits() | b.to_bits());
        bit_xor(a, b) = f32::from_bits(a.to_bits() ^ b.to_bits());
        add_bits(a, b) = f32::from_bits(a.to_bits().wrapping_add(b.to_bits()));
        sub_bits(a, b) = f32::from_bits(a.to_bits().wrapping_sub(b.to_bits()));
        to_int(a) = f32::from_bits(a as i32 as u32);
        of_int(a) = (a.to_bits() as i32) as f32;
        below(a, b) = if a < b { a } else { b };
        above(a, b) = if a > b { a } else { b };
    }
    #[inline(always)]
    fn shl<const N: i32>(self, a: Self::V) -> Self::V {
        a.map(|a| f32::from_bits(a.to_bits() << N))
    }
    #[inline(always)]
    fn shr<const N: i32>(self, a: Self::V) -> Self::V {
        a.map(|a| f32::from_bits((a.to_bits() as i32 >> N) as u32))
    }
}

// One body serves signed and unsigned types: for the latter, what asks for a negative value is never true.
macro_rules! int {
    ($t:ident, $m:ident) => {
        #[allow(unused_comparisons)]
        impl Num for Pack<$t> {
            type V = [$t; LANES];
            type M = [$m; LANES];
            #[inline(always)]
            fn c(self, v: f64) -> Self::V {
                [v as $t; LANES]
            }
            lanewise! { $t => $t, self;
                add(a, b) = a.wrapping_add(b);
                sub(a, b) = a.wrapping_sub(b);
                mul(a, b) = a.wrapping_mul(b);
                neg(a) = a.wrapping_neg();
                abs(a) = if a < 0 { a.wrapping_neg() } else { a };
                min(a, b) = a.min(b);
                max(a, b) = a.max(b);
                sign(a) = ((a > 0) as $t).wrapping_sub((a < 0) as $t);
                floor_div(a, b) = {
                    let d = if b == 0 { 1 } else { b };
                    let down = a.wrapping_rem(d) != 0 && (a < 0) != (b < 0);
                    if b == 0 { 0 } else { a.wrapping_div(d).wrapping_sub(down as $t) }
                };
                modulo(a, b) = {
                    let r = a.wrapping_rem(if b == 0 { 1 } else { b });
                    if r != 0 && (r < 0) != (b < 0) { r.wrapping_add(b) } else { r }
                };
                fmod(a, b) = a.wrapping_rem(if b == 0 { 1 } else { b });
            }
            masks!($t, $m);
        }
        #[allow(unused_comparisons)]
        impl Int for Pack<$t> {
            lanewise! { $t => $t, self;
                bit_and(a, b) = a & b;
                bit_or(a, b) = a | b;
                bit_xor(a, b) = a ^ b;
                bit_not(a) = !a;
                shl(a, n) = if (n as u64) < $t::BITS as u64 { a << n } else { 0 };
                shr(a, n) = if (n as u64) < $t::BITS as u64 { a >> n } else { a >> ($t::BITS / 2) >> ($t::BITS / 2) };
                ipow(a, n) = {
                    let (mut base, mut left, mut y): ($t, $t, $t) = (a, n, 1);
                    if n < 0 {
                        // 1 / a^-n: only 1 and -1 have an inverse.
                        base = if a == 1 || a.wrapping_add(1) == 0 { a } else { 0 };
                        left = n.wrapping_neg() & 1;
                        y = (base != 0) as $t;
                    }
                    while left > 0 {
                        y = if left & 1 == 1 { y.wrapping_mul(base) } else { y };
                        base = base.wrapping_mul(base);
                        left >>= 1;
                    }
                    y
                };
                gcd(a, b) = {
                    let (mut x, mut y) = (a, b);
                    while y != 0 {
                        (x, y) = (y, x.wrapping_rem(y));
                    }
                    if x < 0 { x.wrapping_neg() } else { x }
                };
            }
            #[inline(always)]
            fn lcm(self, a: Self::V, b: Self::V) -> Self::V {
                let g = self.gcd(a, b);
                self.mul(self.floor_div(self.abs(a), g), self.abs(b))
            }
        }
    };
}
int!(i32, i32);
int!(i64, i64);
int!(u64, i64);
