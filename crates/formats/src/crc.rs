//! The checksum of zip files (CRC-32), sixteen bytes at a time, in two places at once.

/// `TABLES[k][b]`: what the byte `b` contributes when `k` bytes follow it.
static TABLES: [[u32; 256]; 16] = tables();

/// Bytes of one lane. The second begins with nothing behind it; the first is then moved on by as many bytes.
const LANE: usize = 4096;

/// `AHEAD[k][b]`: the state with the byte `b` in place `k`, after `LANE` bytes of zero.
static AHEAD: [[u32; 256]; 4] = ahead();

const fn tables() -> [[u32; 256]; 16] {
    let mut t = [[0; 256]; 16];
    let mut i = 0;
    while i < 256 {
        let (mut c, mut bit) = (i as u32, 0);
        while bit < 8 {
            c = if c & 1 == 1 { (c >> 1) ^ 0xEDB8_8320 } else { c >> 1 };
            bit += 1;
        }
        t[0][i] = c;
        i += 1;
    }
    let mut k = 1;
    while k < 16 {
        let mut i = 0;
        while i < 256 {
            let c = t[k - 1][i];
            t[k][i] = (c >> 8) ^ t[0][(c & 255) as usize];
            i += 1;
        }
        k += 1;
    }
    t
}

/// A linear map applied to a state: `map[i]` is the image of bit `i`.
const fn apply(map: &[u32; 32], state: u32) -> u32 {
    let (mut out, mut i) = (0, 0);
    while i < 32 {
        if state >> i & 1 == 1 {
            out ^= map[i];
        }
        i += 1;
    }
    out
}

const fn ahead() -> [[u32; 256]; 4] {
    // One byte of zero as a map, then that map after itself until it stands for a lane.
    let t = tables();
    let mut map = [0; 32];
    let mut i = 0;
    while i < 32 {
        let c = 1u32 << i;
        map[i] = (c >> 8) ^ t[0][(c & 255) as usize];
        i += 1;
    }
    let mut bytes = 1;
    while bytes < LANE {
        let (before, mut i) = (map, 0);
        while i < 32 {
            map[i] = apply(&before, before[i]);
            i += 1;
        }
        bytes *= 2;
    }
    let mut out = [[0; 256]; 4];
    let mut k = 0;
    while k < 4 {
        let mut b = 0;
        while b < 256 {
            out[k][b] = apply(&map, (b as u32) << (8 * k));
            b += 1;
        }
        k += 1;
    }
    out
}

/// The state after sixteen more bytes. Written out: each look-up waits for none of the others.
#[inline(always)]
fn step(c: u32, block: &[u8; 16]) -> u32 {
    let words = u128::from_le_bytes(*block);
    let (a, b) = (words as u64 ^ c as u64, (words >> 64) as u64);
    let t = |k: usize, word: u64, byte: usize| TABLES[k][(word >> (8 * byte)) as usize & 255];
    let first = t(15, a, 0) ^ t(14, a, 1) ^ t(13, a, 2) ^ t(12, a, 3);
    let second = t(11, a, 4) ^ t(10, a, 5) ^ t(9, a, 6) ^ t(8, a, 7);
    let third = t(7, b, 0) ^ t(6, b, 1) ^ t(5, b, 2) ^ t(4, b, 3);
    let fourth = t(3, b, 4) ^ t(2, b, 5) ^ t(1, b, 6) ^ t(0, b, 7);
    (first ^ second) ^ (third ^ fourth)
}

pub(crate) struct Crc(u32);

impl Crc {
    pub(crate) fn new() -> Crc {
        Crc(!0)
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let mut c = self.0;
        let mut pairs = bytes.chunks_exact(2 * LANE);
        for pair in &mut pairs {
            let (first, second) = pair.split_at(LANE);
            let mut behind = 0;
            for (a, b) in first.as_chunks().0.iter().zip(second.as_chunks().0) {
                (c, behind) = (step(c, a), step(behind, b));
            }
            let [c0, c1, c2, c3] = c.to_le_bytes().map(usize::from);
            c = AHEAD[0][c0] ^ AHEAD[1][c1] ^ AHEAD[2][c2] ^ AHEAD[3][c3] ^ behind;
        }
        let (blocks, rest) = pairs.remainder().as_chunks();
        for b in blocks {
            c = step(c, b);
        }
        for &b in rest {
            c = (c >> 8) ^ TABLES[0][((c ^ b as u32) & 255) as usize];
        }
        self.0 = c;
    }

    pub(crate) fn value(&self) -> u32 {
        !self.0
    }

    pub(crate) fn of(parts: &[&[u8]]) -> u32 {
        let mut crc = Crc::new();
        parts.iter().for_each(|p| crc.add(p));
        crc.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit by bit, as the definition has it.
    fn slow(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0, |c, b| {
            (0..8).fold(c ^ *b as u32, |c, _| if c & 1 == 1 { (c >> 1) ^ 0xEDB8_8320 } else { c >> 1 })
        })
    }

    #[test]
    fn known_value_and_any_split() {
        assert_eq!(Crc::of(&[b"123456789"]), 0xCBF4_3926);
        let bytes: Vec<u8> = (0..50_000u32).map(|i| ((i * i) >> 3) as u8).collect();
        for length in [0, 1, 15, 16, 17, 8191, 8192, 8193, 20_000, 50_000] {
            assert_eq!(Crc::of(&[&bytes[..length]]), slow(&bytes[..length]), "{length}");
        }
        let whole = slow(&bytes);
        for split in [1, 7, 16, 500, 8192, 30_001] {
            assert_eq!(Crc::of(&[&bytes[..split], &bytes[split..]]), whole);
        }
    }
}
