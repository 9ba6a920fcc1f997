//! Sixteen Philox blocks at once. The vector code keeps a word in each 64-bit lane: a product then needs no unpacking, and
//! what it leaves in the upper half the next product does not read.
#[cfg(target_arch = "x86_64")]
use gluonish_base::isa::{Isa, isa};
use gluonish_base::philox::philox;

/// Blocks in a group: as many as the widest registers have lanes.
pub(super) const LANES: usize = 16;

pub(super) type Key = [u32; 2];

/// The words of a group, the first ones of all blocks first.
pub(super) type Words = [[u32; LANES]; 4];

/// Where the counters of groups begin: `at(group)` is the counter of the group's first block, whose first word is a
/// multiple of sixteen; the others' first words follow it.
pub(super) fn blocks(key: Key, to: &mut [Words], at: impl Fn(usize) -> [u32; 4]) {
    let groups = to.iter_mut().enumerate();
    #[cfg(target_arch = "x86_64")]
    match isa() {
        // SAFETY: `isa()` has found these instructions on this machine.
        Isa::Avx512 => return groups.for_each(|(g, to)| unsafe { x86::avx512(key, at(g), to) }),
        // SAFETY: as above.
        Isa::Avx2 => return groups.for_each(|(g, to)| unsafe { x86::avx2(key, at(g), to) }),
        _ => {}
    }
    groups.for_each(|(g, to)| portable(key, at(g), to));
}

fn portable(key: Key, [first, c1, c2, c3]: [u32; 4], to: &mut Words) {
    for lane in 0..LANES {
        let w = philox([first + lane as u32, c1, c2, c3], key);
        for (row, w) in to.iter_mut().zip(w) {
            row[lane] = w;
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Key, Words};
    use gluonish_base::philox::{MULTIPLIERS, ROUNDS, STEPS};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f")]
    pub(super) fn avx512([mut k0, mut k1]: Key, first: [u32; 4], to: &mut Words) {
        let all = |v: u32| _mm512_set1_epi64(v as i64);
        let [m0, m1] = MULTIPLIERS.map(all);
        let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
        let [c0, c1, c2, c3] = first.map(all);
        let low = _mm512_add_epi64(c0, lanes);
        let mut halves = [[low, c1, c2, c3], [_mm512_add_epi64(low, all(8)), c1, c2, c3]];
        for _ in 0..ROUNDS {
            let (a, b) = (all(k0), all(k1));
            for c in &mut halves {
                let (p0, p1) = (_mm512_mul_epu32(m0, c[0]), _mm512_mul_epu32(m1, c[2]));
                // 0x96: the exclusive or of all three.
                let x = _mm512_ternarylogic_epi64::<0x96>(_mm512_srli_epi64::<32>(p1), c[1], a);
                let y = _mm512_ternarylogic_epi64::<0x96>(_mm512_srli_epi64::<32>(p0), c[3], b);
                *c = [x, p1, y, p0];
            }
            (k0, k1) = (k0.wrapping_add(STEPS[0]), k1.wrapping_add(STEPS[1]));
        }
        // The lower halves of all lanes. One store of them all: a load of two that were stored apart waits for both.
        let lower = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        for (word, to) in to.iter_mut().enumerate() {
            let words = _mm512_permutex2var_epi32(halves[0][word], lower, halves[1][word]);
            // SAFETY: sixteen words are stored where there is room for sixteen.
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), words) };
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn avx2(key: Key, [first, c1, c2, c3]: [u32; 4], to: &mut Words) {
        let all = |v: u32| _mm256_set1_epi64x(v as i64);
        let [m0, m1] = MULTIPLIERS.map(all);
        let [c1, c2, c3] = [c1, c2, c3].map(all);
        for half in 0..2 {
            let low = _mm256_add_epi64(all(first + 8 * half), _mm256_setr_epi64x(0, 1, 2, 3));
            let mut quarters = [[low, c1, c2, c3], [_mm256_add_epi64(low, all(4)), c1, c2, c3]];
            let [mut k0, mut k1] = key;
            for _ in 0..ROUNDS {
                let (a, b) = (all(k0), all(k1));
                for c in &mut quarters {
                    let (p0, p1) = (_mm256_mul_epu32(m0, c[0]), _mm256_mul_epu32(m1, c[2]));
                    let x = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64::<32>(p1), c[1]), a);
                    let y = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64::<32>(p0), c[3]), b);
                    *c = [x, p1, y, p0];
                }
                (k0, k1) = (k0.wrapping_add(STEPS[0]), k1.wrapping_add(STEPS[1]));
            }
            for (word, to) in to.iter_mut().enumerate() {
                let [a, b] = quarters.map(|c| _mm256_castsi256_ps(c[word]));
                // The lower halves of all lanes, which come by pairs, in order.
                let pairs = _mm256_castps_pd(_mm256_shuffle_ps::<0b10_00_10_00>(a, b));
                let sorted = _mm256_permute4x64_pd::<0b11_01_10_00>(pairs);
                let to = &mut to[8 * half as usize..][..8];
                // SAFETY: eight words are stored where there is room for eight.
                unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm256_castpd_si256(sorted)) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gluonish_base::isa::{available, limit};

    #[test]
    fn every_instruction_set_makes_the_same_words() {
        let mut want = [Words::default(); 3];
        let key = [0x1234_5678, 0x9abc_def0];
        let at = |g: usize| [u32::MAX - 15 - 16 * g as u32, 7, g as u32, u32::MAX];
        want.iter_mut().enumerate().for_each(|(g, to)| portable(key, at(g), to));
        for level in available() {
            limit(level);
            let mut got = [Words::default(); 3];
            blocks(key, &mut got, at);
            assert_eq!(got, want, "{level:?}");
        }
    }
}
