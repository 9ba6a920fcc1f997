//! float16 and bfloat16 as bits, converted without branches so that loops over them become vector code.

/// The bits of a float16 number.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct F16(pub(super) u16);

/// The bits of a bfloat16 number.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct BF16(pub(super) u16);

/// A truth value; whatever is not 0 is true.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Bool(pub(super) u8);

impl F16 {
    #[inline(always)]
    pub(super) fn to_f32(self) -> f32 {
        let h = self.0 as u32;
        let sign = (h & 0x8000) << 16;
        // The exponent and fraction, moved to their place: 112 too low, which a multiplication mends also for denormals.
        let magnitude = (h & 0x7fff) << 13;
        let scaled = f32::from_bits(magnitude) * f32::from_bits((254 - 15) << 23);
        let special = magnitude | 0x7f80_0000;
        let bits = if magnitude >= 0x0f80_0000 { special } else { scaled.to_bits() };
        f32::from_bits(bits | sign)
    }

    #[inline(always)]
    pub(super) fn from_f32(x: f32) -> F16 {
        let bits = x.to_bits();
        let sign = (bits >> 16) & 0x8000;
        let a = bits & 0x7fff_ffff;
        // Normal results: add half of the last place kept, minus one unless that place is odd.
        let odd = (a >> 13) & 1;
        let normal = a.wrapping_add(0xc800_0fff).wrapping_add(odd) >> 13;
        // Denormal results: adding 0.5 moves the last place kept to the end of the fraction, and the addition rounds.
        let denormal = (f32::from_bits(a) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let finite = if a < 0x3880_0000 { denormal } else { normal };
        // From 65520 on infinity; NaN stays NaN.
        let special = if a > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
        let magnitude = if a >= 0x477f_f000 { special } else { finite };
        F16((sign | magnitude) as u16)
    }

    #[inline(always)]
    pub(super) fn from_f64(x: f64) -> F16 {
        F16::from_f32(to_odd(x))
    }
}

impl BF16 {
    #[inline(always)]
    pub(super) fn to_f32(self) -> f32 {
        f32::from_bits((self.0 as u32) << 16)
    }
    #[inline(always)]
    pub(super) fn from_f32(x: f32) -> BF16 {
        let bits = x.to_bits();
        let odd = (bits >> 16) & 1;
        let rounded = bits.wrapping_add(0x7fff + odd) >> 16;
        BF16(if x.is_nan() { (bits >> 16) | 0x40 } else { rounded } as u16)
    }
    #[inline(always)]
    pub(super) fn from_f64(x: f64) -> BF16 {
        BF16::from_f32(to_odd(x))
    }
}

/// The nearest float32 whose last bit is 1, unless `x` is a float32 already: rounding that once more, to at least two
/// bits less, gives the same as rounding `x` itself.
#[inline(always)]
fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    let back = near as f64;
    let bits = near.to_bits();
    let towards_zero = if back.abs() > x.abs() { bits - 1 } else { bits };
    f32::from_bits(if back == x || x.is_nan() { bits } else { towards_zero | 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_and_the_values_between() {
        for h in 0..=u16::MAX {
            let (ours, theirs) = (F16(h).to_f32(), ::half::f16::from_bits(h).to_f32());
            assert!(ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(), "{h:#x}");
            for near in [ours, ours * 1.0002, ours * 1.0005, ours * 0.9999, ours + 3e-8, ours + 2.98023e-8] {
                let (a, b) = (F16::from_f32(near).0, ::half::f16::from_f32(near).to_bits());
                assert!(a == b || near.is_nan(), "{near:e}: {a:#x} {b:#x}");
            }
            let (ours, theirs) = (BF16(h).to_f32(), ::half::bf16::from_bits(h).to_f32());
            assert!(ours.to_bits() == theirs.to_bits() || ours.is_nan());
            for near in [ours, ours * 1.001, ours * 1.004, ours * 0.998] {
                let (a, b) = (BF16::from_f32(near).0, ::half::bf16::from_f32(near).to_bits());
                assert!(a == b || near.is_nan(), "{near:e}: {a:#x} {b:#x}");
            }
        }
        assert!(F16::from_f32(f32::NAN).to_f32().is_nan() && BF16::from_f32(f32::NAN).to_f32().is_nan());
    }

    #[test]
    fn doubles_round_once() {
        // Halfway between two float16 numbers, plus what float32 cannot see.
        let tie = 1.0 + f64::from(2f32.powi(-11));
        assert_eq!(F16::from_f64(tie).0, 0x3c00);
        assert_eq!(F16::from_f64(tie + 1e-12).0, 0x3c01);
        assert_eq!(F16::from_f64(-tie - 1e-12).0, 0xbc01);
        assert_eq!(BF16::from_f64(1.0 + 2f64.powi(-8) + 1e-12).0, 0x3f81);
        assert_eq!(F16::from_f64(1e300).0, 0x7c00);
        assert_eq!(F16::from_f64(1e-300).0, 0);
    }
}
