//! The table of casts: every element type to every other.
use super::half::{BF16, Bool, F16};
use super::same::move_fn;
use gluonish_base::DType;
#[cfg(target_arch = "x86_64")]
use gluonish_base::isa::{Isa, isa};

/// Converts `n` elements, read every `from` and written every `to` elements. The two sides may be the same memory when
/// the types are equally wide and the strides the same.
///
/// # Safety
/// Both sides are valid for what the strides reach, as the types the function was looked up for.
pub(crate) type Cast = unsafe fn(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize);

/// The conversion of one value.
trait To<D> {
    fn to(self) -> D;
}

macro_rules! numbers {
    ($($s:ident)+) => { $(numbers!(@from $s: u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);)+ };
    (@from $s:ident: $($d:ident)+) => {
        $(impl To<$d> for $s {
            #[inline(always)]
            #[allow(clippy::unnecessary_cast)]
            fn to(self) -> $d {
                self as $d
            }
        })+
        impl To<Bool> for $s {
            #[inline(always)]
            fn to(self) -> Bool {
                Bool((self != 0 as $s) as u8)
            }
        }
        impl To<$s> for Bool {
            #[inline(always)]
            fn to(self) -> $s {
                (self.0 != 0) as u8 as $s
            }
        }
        impl To<$s> for F16 {
            #[inline(always)]
            fn to(self) -> $s {
                self.to_f32() as $s
            }
        }
        impl To<$s> for BF16 {
            #[inline(always)]
            fn to(self) -> $s {
                self.to_f32() as $s
            }
        }
    };
}
numbers!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

macro_rules! halves {
    ($($s:ident)+) => {
        $(impl To<F16> for $s {
            #[inline(always)]
            fn to(self) -> F16 {
                F16::from_f64(self as f64)
            }
        }
        impl To<BF16> for $s {
            #[inline(always)]
            fn to(self) -> BF16 {
                BF16::from_f64(self as f64)
            }
        })+
    };
}
halves!(u8 u16 u32 u64 i8 i16 i32 i64 f64);

/// Pairs that are none of the above, by the expression that converts `x`.
macro_rules! pairs {
    ($($s:ident => $d:ident: |$x:ident| $e:expr;)+) => {
        $(impl To<$d> for $s {
            #[inline(always)]
            fn to(self) -> $d {
                let $x = self;
                $e
            }
        })+
    };
}
pairs! {
    f32 => F16: |x| F16::from_f32(x);
    f32 => BF16: |x| BF16::from_f32(x);
    F16 => F16: |x| x;
    BF16 => BF16: |x| x;
    F16 => BF16: |x| BF16::from_f32(x.to_f32());
    BF16 => F16: |x| F16::from_f32(x.to_f32());
    F16 => Bool: |x| Bool((x.0 & 0x7fff != 0) as u8);
    BF16 => Bool: |x| Bool((x.0 & 0x7fff != 0) as u8);
    Bool => F16: |x| F16(if x.0 != 0 { 0x3c00 } else { 0 });
    Bool => BF16: |x| BF16(if x.0 != 0 { 0x3f80 } else { 0 });
    Bool => Bool: |x| Bool((x.0 != 0) as u8);
}

/// # Safety
/// As for [`Cast`].
#[inline(always)]
unsafe fn body<S: To<D> + Copy, D: Copy>(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize) {
    let (dst, src) = (dst.cast::<D>(), src.cast::<S>());
    // SAFETY: the caller says that both sides are valid as far as the strides reach.
    unsafe {
        match (to, from) {
            (1, 1) => {
                for k in 0..n {
                    dst.add(k).write_unaligned(src.add(k).read_unaligned().to());
                }
            }
            (1, 0) => {
                let v: D = src.read_unaligned().to();
                for k in 0..n {
                    dst.add(k).write_unaligned(v);
                }
            }
            _ => {
                for k in 0..n as isize {
                    dst.offset(k * to).write_unaligned(src.offset(k * from).read_unaligned().to());
                }
            }
        }
    }
}

/// # Safety
/// As for [`Cast`].
unsafe fn plain<S: To<D> + Copy, D: Copy>(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize) {
    // SAFETY: passed on.
    unsafe { body::<S, D>(dst, to, src, from, n) }
}

/// # Safety
/// As for [`Cast`], and the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2<S: To<D> + Copy, D: Copy>(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize) {
    // SAFETY: passed on.
    unsafe { body::<S, D>(dst, to, src, from, n) }
}

/// Rows of the table in the order of `DType`.
macro_rules! table {
    ($f:ident: $($s:ident)+) => { [$(table!(@row $f $s: Bool u8 u16 u32 u64 i8 i16 i32 i64 F16 BF16 f32 f64)),+] };
    (@row $f:ident $s:ident: $($d:ident)+) => { [$($f::<$s, $d> as Cast),+] };
}
type Table = [[Cast; 13]; 13];
static PLAIN: Table = table!(plain: Bool u8 u16 u32 u64 i8 i16 i32 i64 F16 BF16 f32 f64);
#[cfg(target_arch = "x86_64")]
static AVX2: Table = table!(avx2: Bool u8 u16 u32 u64 i8 i16 i32 i64 F16 BF16 f32 f64);

/// The conversion from one element type to another.
#[inline]
pub(crate) fn cast_fn(from: DType, to: DType) -> Cast {
    // Bools are cast to themselves: what is not 0 becomes 1.
    if from == to && from != DType::Bool {
        return move_fn(from.size());
    }
    #[cfg(target_arch = "x86_64")]
    if isa() >= Isa::Avx2 {
        return match (from, to) {
            (DType::F16, DType::F32) => f16c::load,
            (DType::F32, DType::F16) if isa() == Isa::Avx512 => f16c::store_16,
            (DType::F32, DType::F16) => f16c::store,
            (DType::F32, DType::Bool) => truth::store,
            _ => AVX2[from as usize][to as usize],
        };
    }
    PLAIN[from as usize][to as usize]
}

/// float16 by the processor's own instructions.
#[cfg(target_arch = "x86_64")]
mod f16c {
    use super::{F16, body};
    use std::arch::x86_64::*;

    /// # Safety
    /// As for [`super::Cast`], and the processor has F16C.
    #[target_feature(enable = "avx2,f16c")]
    pub(super) unsafe fn load(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize) {
        let whole = if (to, from) == (1, 1) { n & !7 } else { 0 };
        // SAFETY: whole groups of eight lie within both sides; the rest is passed on.
        unsafe {
            for k in (0..whole).step_by(8) {
                let h = src.add(2 * k).cast::<__m128i>().read_unaligned();
                dst.add(4 * k).cast::<__m256>().write_unaligned(_mm256_cvtph_ps(h));
            }
            body::<F16, f32>(dst.add(4 * whole), to, src.add(2 * whole), from, n - whole);
        }
    }

    /// # Safety
    /// As for [`super::Cast`], and the processor has F16C.
    #[target_feature(enable = "avx2,f16c")]
    pub(super) unsafe fn store(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize) {
        let whole = if (to, from) == (1, 1) { n & !7 } else { 0 };
        // SAFETY: whole groups of eight lie within both sides; the rest is passed on.
        unsafe {
            for k in (0..whole).step_by(8) {
                let h = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(src.add(4 * k).cast::<__m256>().read_unaligned());
                dst.add(2 * k).cast::<__m128i>().write_unaligned(h);
            }
            body::<f32, F16>(dst.add(2 * whole), to, src.add(4 * whole), from, n - whole);
        }
    }

    /// # Safety
    /// As for [`super::Cast`], and the processor has F16C and AVX-512.
    #[target_feature(enable = "avx2,f16c,avx512f")]
    pub(super) unsafe fn store_16(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize) {
        let whole = if (to, from) == (1, 1) { n & !15 } else { 0 };
        // SAFETY: whole groups of sixteen lie within both sides; the rest is passed on.
        unsafe {
            for k in (0..whole).step_by(16) {
                let x = src.add(4 * k).cast::<__m512>().read_unaligned();
                let h = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x);
                dst.add(2 * k).cast::<__m256i>().write_unaligned(h);
            }
            store(dst.add(2 * whole), to, src.add(4 * whole), from, n - whole);
        }
    }
}

/// The truth of float32 values: what every comparison of arrays ends with.
#[cfg(target_arch = "x86_64")]
mod truth {
    use super::super::half::Bool;
    use super::body;
    use std::arch::x86_64::*;

    /// # Safety
    /// As for [`super::Cast`], and the processor has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn store(dst: *mut u8, to: isize, src: *const u8, from: isize, n: usize) {
        let whole = if (to, from) == (1, 1) { n & !31 } else { 0 };
        let zero = _mm256_setzero_ps();
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        // SAFETY: whole groups of 32 lie within both sides; the rest is passed on.
        unsafe {
            for k in (0..whole).step_by(32) {
                let mask = |part: usize| {
                    let x = src.add(4 * (k + 8 * part)).cast::<__m256>().read_unaligned();
                    _mm256_castps_si256(_mm256_cmp_ps::<_CMP_NEQ_UQ>(x, zero))
                };
                // Packing works within halves of a register, so the groups of four come out of order.
                let low = _mm256_packs_epi32(mask(0), mask(1));
                let high = _mm256_packs_epi32(mask(2), mask(3));
                let bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
                dst.add(k).cast::<__m256i>().write_unaligned(_mm256_and_si256(bytes, _mm256_set1_epi8(1)));
            }
            body::<f32, Bool>(dst.add(whole), to, src.add(4 * whole), from, n - whole);
        }
    }
}
