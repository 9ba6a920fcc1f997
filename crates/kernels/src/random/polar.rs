//! The functions that Box and Muller need, on restricted arguments, in plain multiplications and additions: no branches,
//! so that loops become vector code, and no fused operations, so that every machine gives the same bits.

/// `a + x (b + x (c + ...))`. Written out here: an iterator may not become part of code for an instruction set.
macro_rules! series {
    ($x:ident, $a:expr) => { $a };
    ($x:ident, $a:expr, $($rest:expr),+) => { $a + $x * series!($x, $($rest),+) };
}

/// Coefficients of series, by the type they are in.
macro_rules! polar {
    ($name:ident, $t:ident, $bits:ident, $int:ident, $mantissa:literal, $sqrt_half:literal, ln: [$($ln:expr),*], sin: [$($sin:expr),*], cos: [$($cos:expr),*]) => {
        pub(super) mod $name {
            /// Natural logarithm of a normal number: `ln m = 2 (s + s^3/3 + s^5/5 + ...)` with `s = (m - 1) / (m + 1)`
            /// for the mantissa `m` between the roots of 1/2 and 2.
            #[inline(always)]
            pub(in crate::random) fn ln(u: $t) -> $t {
                let (exponent, m) = parts(u);
                sum(exponent, m - 1.0, m)
            }

            /// `-ln u` for a number of (0, 1) that is near 1 only by what it lacks: `rest` is `1 - u`.
            #[inline(always)]
            pub(in crate::random) fn minus_ln(u: $t, rest: $t) -> $t {
                let (exponent, m) = parts(u);
                -sum(exponent, if exponent == 0 { -rest } else { m - 1.0 }, m)
            }

            #[inline(always)]
            fn parts(u: $t) -> ($int, $t) {
                let shifted = u.to_bits().wrapping_sub($sqrt_half) as $int;
                let exponent = shifted >> $mantissa;
                (exponent, $t::from_bits(u.to_bits().wrapping_sub((exponent << $mantissa) as $bits)))
            }

            #[inline(always)]
            fn sum(exponent: $int, less: $t, m: $t) -> $t {
                let s = less / (m + 1.0);
                let z = s * s;
                exponent as $t * std::$t::consts::LN_2 + (2.0 * s + s * (z * series!(z, $($ln),*)))
            }

            /// Sine and cosine for arguments of at most a quarter of pi, by Taylor.
            #[inline(always)]
            pub(in crate::random) fn sin_cos(x: $t) -> ($t, $t) {
                let z = x * x;
                (x + x * (z * series!(z, $($sin),*)), 1.0 + z * series!(z, $($cos),*))
            }

            /// Two independent normal numbers from a number in (0, 1] and an angle: `quarter` turns (two bits) and `rest`.
            #[inline(always)]
            pub(in crate::random) fn normal_pair(u: $t, quarter: $bits, rest: $t) -> ($t, $t) {
                const SIGN: u32 = $bits::BITS - 1;
                let radius = (-2.0 * ln(u)).sqrt();
                let (s, c) = sin_cos(rest);
                let odd = quarter & 1 == 1;
                let (x, y) = if odd { (s, c) } else { (c, s) };
                let flip = |v: $t, negative: $bits| $t::from_bits(v.to_bits() ^ (negative << SIGN));
                (radius * flip(x, (quarter ^ quarter >> 1) & 1), radius * flip(y, quarter >> 1 & 1))
            }
        }
    };
}

polar!(single, f32, u32, i32, 23, 0x3f35_04f3,
    ln: [2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0, 2.0 / 11.0],
    sin: [-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362_880.0],
    cos: [-0.5, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40_320.0, -1.0 / 3_628_800.0]);
polar!(double, f64, u64, i64, 52, 0x3fe6_a09e_667f_3bcd,
    ln: [2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0, 2.0 / 11.0, 2.0 / 13.0, 2.0 / 15.0, 2.0 / 17.0, 2.0 / 19.0, 2.0 / 21.0],
    sin: [-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362_880.0, -1.0 / 39_916_800.0, 1.0 / 6_227_020_800.0,
        -1.0 / 1_307_674_368_000.0, 1.0 / 355_687_428_096_000.0],
    cos: [-0.5, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40_320.0, -1.0 / 3_628_800.0, 1.0 / 479_001_600.0,
        -1.0 / 87_178_291_200.0, 1.0 / 20_922_789_888_000.0]);

#[cfg(test)]
mod tests {
    use super::{double, single};
    use std::f64::consts::FRAC_PI_4;

    #[test]
    fn accuracy() {
        for i in 1..=20_000 {
            let t = i as f64 / 20_000.0;
            for u in [t, t * 1e-4, t * 2f64.powi(-32)] {
                let (a, b) = (single::ln(u as f32) as f64, (u as f32 as f64).ln());
                assert!((a - b).abs() <= 3e-7 * b.abs(), "ln {u}: {a} {b}");
                let (a, b) = (double::ln(u), u.ln());
                assert!((a - b).abs() <= 8e-16 * b.abs(), "ln {u}: {a} {b}");
                let (a, b) = (single::minus_ln((1.0 - u) as f32, u as f32) as f64, -(-(u as f32 as f64)).ln_1p());
                assert!(u > 0.9 || (a - b).abs() <= 4e-7 * b.abs(), "ln(1 - {u}): {a} {b}");
            }
            for x in [t * FRAC_PI_4, -t * FRAC_PI_4] {
                let ((s, c), (ds, dc)) = (single::sin_cos(x as f32), double::sin_cos(x));
                assert!((s as f64 - x.sin()).abs() < 1.2e-7 && (c as f64 - x.cos()).abs() < 1.2e-7);
                assert!((ds - x.sin()).abs() < 3e-16 && (dc - x.cos()).abs() < 3e-16);
            }
        }
    }

    #[test]
    fn all_quarters() {
        let u = (-0.5f64).exp(); // radius 1
        for q in 0..4 {
            let angle = q as f64 * 2.0 * FRAC_PI_4 + 0.3;
            let (x, y) = double::normal_pair(u, q, 0.3);
            assert!((x - angle.cos()).abs() < 1e-15 && (y - angle.sin()).abs() < 1e-15, "{q}");
        }
    }
}
