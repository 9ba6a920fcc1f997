//! Whole groups of random values: the words of sixteen Philox blocks at once, and what they become.
use super::blocks::{Key, LANES, Words, blocks};
use super::polar::{double, single};
use crate::per_isa;

/// Words in a group.
const WORDS: usize = 4 * LANES;

/// Values of type `T` in a group.
pub(super) const fn group<T>() -> usize {
    WORDS * 4 / size_of::<T>()
}

/// The words of groups from number `first` on.
pub(super) fn words(key: Key, first: u64, to: &mut [Words]) {
    blocks(key, to, |group| {
        let block = first.wrapping_add(group as u64).wrapping_mul(LANES as u64);
        [block as u32, (block >> 32) as u32, 0, 0]
    });
}

/// Groups of 32-bit values: `f` makes one from its word.
#[inline(always)]
fn singles(words: &[Words], to: &mut [f32], f: impl Fn(u32) -> f32) {
    for (v, w) in to.iter_mut().zip(words.as_flattened().as_flattened()) {
        *v = f(*w);
    }
}

/// Groups of 64-bit values: `f` makes one from two words.
#[inline(always)]
fn doubles<T>(words: &[Words], to: &mut [T], f: impl Fn(u64) -> T) {
    for (w, to) in words.as_flattened().as_chunks::<2>().0.iter().zip(to.as_chunks_mut::<LANES>().0) {
        for lane in 0..LANES {
            to[lane] = f(w[0][lane] as u64 | (w[1][lane] as u64) << 32);
        }
    }
}

per_isa! {
    /// Groups of 64-bit words as they are.
    pub(super) fn longs(words: &[Words], to: &mut [u64]) {
        doubles(words, to, |w| w);
    }
}

per_isa! {
    pub(super) fn uniform_32(words: &[Words], low: f32, span: f32, top: f32, to: &mut [f32]) {
        const UNIT: f32 = 1.0 / (1u32 << 24) as f32;
        singles(words, to, |w| {
            let v = low + (w >> 8) as i32 as f32 * UNIT * span;
            if v > top { top } else { v }
        });
    }
}

per_isa! {
    pub(super) fn uniform_64(words: &[Words], low: f64, span: f64, top: f64, to: &mut [f64]) {
        const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
        doubles(words, to, |w| {
            let v = low + (w >> 11) as i64 as f64 * UNIT * span;
            if v > top { top } else { v }
        });
    }
}

per_isa! {
    pub(super) fn bernoulli_32(words: &[Words], threshold: u32, to: &mut [f32]) {
        singles(words, to, |w| if w < threshold { 1.0 } else { 0.0 });
    }
}

per_isa! {
    pub(super) fn randint_64(words: &[Words], low: i64, width: u64, to: &mut [i64]) {
        if width <= 1 << 32 {
            doubles(words, to, |w| {
                let scaled = (w >> 32) * width + (((w & 0xffff_ffff) * width) >> 32);
                low.wrapping_add((scaled >> 32) as i64)
            });
        } else {
            doubles(words, to, |w| low.wrapping_add(((w as u128 * width as u128) >> 64) as i64));
        }
    }
}

per_isa! {
    /// Exponential numbers of mean `scale`, from all 32 bits of a word at both ends.
    pub(super) fn exponential_32(words: &[Words], scale: f32, to: &mut [f32]) {
        const UNIT: f32 = 1.0 / 4_294_967_296.0;
        singles(words, to, |w| {
            let unit = |w: u32| ((w >> 1) as i32 as f32 * 2.0 + (0.5 + (w & 1) as i32 as f32)) * UNIT;
            scale * single::minus_ln(unit(w), unit(!w))
        });
    }
}

per_isa! {
    pub(super) fn exponential_64(words: &[Words], scale: f64, to: &mut [f64]) {
        const UNIT: f64 = 1.0 / (1u64 << 52) as f64;
        doubles(words, to, |w| {
            let unit = |w: u64| ((w >> 12) as i64 as f64 + 0.5) * UNIT;
            scale * double::minus_ln(unit(w), unit(!w))
        });
    }
}

per_isa! {
    pub(super) fn normal_32(words: &[Words], loc: f32, scale: f32, to: &mut [f32]) {
        const UNIT: f32 = 1.0 / (1u32 << 31) as f32;
        const ANGLE: f32 = std::f32::consts::FRAC_PI_4 * UNIT;
        for (w, to) in words.as_flattened().as_chunks::<2>().0.iter().zip(to.as_chunks_mut::<{ 2 * LANES }>().0) {
            let (x, y) = to.split_at_mut(LANES);
            for lane in 0..LANES {
                let (r, a) = (w[0][lane], w[1][lane]);
                let u = ((r >> 1) as i32 as f32 + 0.5) * UNIT;
                let pair = single::normal_pair(u, a >> 30, (a << 2) as i32 as f32 * ANGLE);
                x[lane] = pair.0 * scale + loc;
                y[lane] = pair.1 * scale + loc;
            }
        }
    }
}

per_isa! {
    pub(super) fn normal_64(words: &[Words], loc: f64, scale: f64, to: &mut [f64]) {
        const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
        const ANGLE: f64 = std::f64::consts::FRAC_PI_4 / (1u64 << 52) as f64;
        for (w, to) in words.iter().zip(to.as_chunks_mut::<{ 2 * LANES }>().0) {
            let (x, y) = to.split_at_mut(LANES);
            for lane in 0..LANES {
                let join = |k: usize| w[k][lane] as u64 | (w[k + 1][lane] as u64) << 32;
                let (r, a) = (join(0), join(2));
                let u = ((r >> 11) as i64 as f64 + 0.5) * UNIT;
                let pair = double::normal_pair(u, a >> 62, ((a << 2) as i64 >> 11) as f64 * ANGLE);
                x[lane] = pair.0 * scale + loc;
                y[lane] = pair.1 * scale + loc;
            }
        }
    }
}
