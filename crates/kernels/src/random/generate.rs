//! Whole groups of random values: sixteen Philox blocks at once.
use super::polar::{double, single};
use crate::per_isa;
use gluonish_base::philox::philox;

/// Blocks in a group: as many as the widest registers have lanes.
const LANES: usize = 16;
/// Words in a group.
const WORDS: usize = 4 * LANES;

/// Values of type `T` in a group.
pub(super) const fn group<T>() -> usize {
    WORDS * 4 / size_of::<T>()
}

type Key = [u32; 2];

/// The words of a group, the first ones of all blocks first.
type Words = [[u32; LANES]; 4];

#[inline(always)]
fn words(key: Key, group: u64) -> Words {
    let first = group.wrapping_mul(LANES as u64);
    let mut out = [[0; LANES]; 4];
    for lane in 0..LANES {
        let w = philox([first as u32 + lane as u32, (first >> 32) as u32, 0, 0], key);
        for (row, w) in out.iter_mut().zip(w) {
            row[lane] = w;
        }
    }
    out
}

/// Groups whose words are made before they are used: two plain loops become better code than one of both.
const BATCH: usize = 16;

/// Calls `f` with the words of each group and room for its values.
#[inline(always)]
fn each_group<T, const N: usize>(key: Key, group: u64, to: &mut [T], f: impl Fn(&Words, &mut [T; N])) {
    let mut batch = [[[0; LANES]; 4]; BATCH];
    for (b, to) in to.as_chunks_mut::<N>().0.chunks_mut(BATCH).enumerate() {
        let first = group + (b * BATCH) as u64;
        for (g, w) in (first..).zip(&mut batch[..to.len()]) {
            *w = words(key, g);
        }
        for (w, to) in batch.iter().zip(to) {
            f(w, to);
        }
    }
}

/// Groups of 32-bit values: `f` makes one from its word.
#[inline(always)]
fn singles(key: Key, group: u64, to: &mut [f32], f: impl Fn(u32) -> f32) {
    each_group::<f32, WORDS>(key, group, to, |w, to| {
        for (v, w) in to.iter_mut().zip(w.as_flattened()) {
            *v = f(*w);
        }
    });
}

/// Groups of 64-bit values: `f` makes one from two words.
#[inline(always)]
fn doubles<T>(key: Key, group: u64, to: &mut [T], f: impl Fn(u64) -> T) {
    each_group::<T, { WORDS / 2 }>(key, group, to, |w, to| {
        for (half, to) in to.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            for lane in 0..LANES {
                to[lane] = f(w[2 * half][lane] as u64 | (w[2 * half + 1][lane] as u64) << 32);
            }
        }
    });
}

per_isa! {
    pub(super) fn uniform_32(key: Key, group: u64, low: f32, span: f32, top: f32, to: &mut [f32]) {
        const UNIT: f32 = 1.0 / (1u32 << 24) as f32;
        singles(key, group, to, |w| {
            let v = low + (w >> 8) as i32 as f32 * UNIT * span;
            if v > top { top } else { v }
        });
    }
}

per_isa! {
    pub(super) fn uniform_64(key: Key, group: u64, low: f64, span: f64, top: f64, to: &mut [f64]) {
        const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
        doubles(key, group, to, |w| {
            let v = low + (w >> 11) as i64 as f64 * UNIT * span;
            if v > top { top } else { v }
        });
    }
}

per_isa! {
    pub(super) fn bernoulli_32(key: Key, group: u64, threshold: u32, to: &mut [f32]) {
        singles(key, group, to, |w| if w < threshold { 1.0 } else { 0.0 });
    }
}

per_isa! {
    pub(super) fn randint_64(key: Key, group: u64, low: i64, width: u64, to: &mut [i64]) {
        if width <= 1 << 32 {
            doubles(key, group, to, |w| {
                let scaled = (w >> 32) * width + (((w & 0xffff_ffff) * width) >> 32);
                low.wrapping_add((scaled >> 32) as i64)
            });
        } else {
            doubles(key, group, to, |w| low.wrapping_add(((w as u128 * width as u128) >> 64) as i64));
        }
    }
}

per_isa! {
    pub(super) fn normal_32(key: Key, group: u64, loc: f32, scale: f32, to: &mut [f32]) {
        const UNIT: f32 = 1.0 / (1u32 << 31) as f32;
        const ANGLE: f32 = std::f32::consts::FRAC_PI_4 * UNIT;
        each_group::<f32, WORDS>(key, group, to, |w, to| {
            let (first, second) = to.split_at_mut(WORDS / 2);
            for (half, to) in [first, second].into_iter().enumerate() {
                let (x, y) = to.split_at_mut(LANES);
                for lane in 0..LANES {
                    let (r, a) = (w[2 * half][lane], w[2 * half + 1][lane]);
                    let u = ((r >> 1) as i32 as f32 + 0.5) * UNIT;
                    let pair = single::normal_pair(u, a >> 30, (a << 2) as i32 as f32 * ANGLE);
                    x[lane] = pair.0 * scale + loc;
                    y[lane] = pair.1 * scale + loc;
                }
            }
        });
    }
}

per_isa! {
    pub(super) fn normal_64(key: Key, group: u64, loc: f64, scale: f64, to: &mut [f64]) {
        const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
        const ANGLE: f64 = std::f64::consts::FRAC_PI_4 / (1u64 << 52) as f64;
        each_group::<f64, { WORDS / 2 }>(key, group, to, |w, to| {
            let (x, y) = to.split_at_mut(LANES);
            for lane in 0..LANES {
                let join = |k: usize| w[k][lane] as u64 | (w[k + 1][lane] as u64) << 32;
                let (r, a) = (join(0), join(2));
                let u = ((r >> 11) as i64 as f64 + 0.5) * UNIT;
                let pair = double::normal_pair(u, a >> 62, ((a << 2) as i64 >> 11) as f64 * ANGLE);
                x[lane] = pair.0 * scale + loc;
                y[lane] = pair.1 * scale + loc;
            }
        });
    }
}
