//! The checksum of zip files (CRC-32), sixteen bytes at a time.

/// `TABLES[k][b]`: what the byte `b` contributes when `k` bytes follow it.
static TABLES: [[u32; 256]; 16] = tables();

const fn tables() -> [[u32; 256]; 16] {
    let mut t = [[0; 256]; 16];
    let mut i = 0;
    while i < 256 {
        let (mut c, mut bit) = (i as u32, 0);
        while bit < 8 {
            c = if c & 1 == 1 { c >> 1 ^ 0xEDB8_8320 } else { c >> 1 };
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
            t[k][i] = c >> 8 ^ t[0][(c & 255) as usize];
            i += 1;
        }
        k += 1;
    }
    t
}

pub(crate) struct Crc(u32);

impl Crc {
    pub(crate) fn new() -> Crc {
        Crc(!0)
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let (blocks, rest) = bytes.as_chunks::<16>();
        let mut c = self.0;
        for b in blocks {
            let start = c ^ u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            let mut sum = 0;
            for (k, byte) in start.to_le_bytes().into_iter().chain(b[4..].iter().copied()).enumerate() {
                sum ^= TABLES[15 - k][byte as usize];
            }
            c = sum;
        }
        for &b in rest {
            c = c >> 8 ^ TABLES[0][((c ^ b as u32) & 255) as usize];
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

    #[test]
    fn known_value_and_any_split() {
        assert_eq!(Crc::of(&[b"123456789"]), 0xCBF4_3926);
        let bytes: Vec<u8> = (0..1000u32).map(|i| ((i * i) >> 3) as u8).collect();
        let whole = Crc::of(&[&bytes]);
        for split in [1, 7, 15, 16, 17, 500] {
            assert_eq!(Crc::of(&[&bytes[..split], &bytes[split..]]), whole);
        }
    }
}
