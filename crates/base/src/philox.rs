//! Philox4x32-10 (Salmon et al., 2011): a counter goes in, 128 random bits come out. No state, so any thread can make
//! any part of a random array, and the backward pass can make dropout's mask again.

/// What a random op takes in program order: enough to make all of its numbers, on any device and any number of threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ticket {
    pub seed: u64,
    /// Which generator (one per device).
    pub stream: u32,
    /// Which op of that generator.
    pub counter: u64,
}

/// What the first and the third word are multiplied by in each round.
pub const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
/// What the key grows by from round to round.
pub const STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
pub const ROUNDS: usize = 10;

/// The bijection itself.
#[inline]
pub fn philox(mut c: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut k0, mut k1] = key;
    for _ in 0..ROUNDS {
        let p0 = MULTIPLIERS[0] as u64 * c[0] as u64;
        let p1 = MULTIPLIERS[1] as u64 * c[2] as u64;
        c = [(p1 >> 32) as u32 ^ c[1] ^ k0, p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ k1, p0 as u32];
        k0 = k0.wrapping_add(STEPS[0]);
        k1 = k1.wrapping_add(STEPS[1]);
    }
    c
}

impl Ticket {
    /// The key of this ticket's numbers: the seed mixed with stream and op, so that block numbers have 64 bits of their own.
    #[inline]
    pub fn key(self) -> [u32; 2] {
        let c = [self.counter as u32, (self.counter >> 32) as u32, self.stream, 0x676c_756f];
        let k = philox(c, [self.seed as u32, (self.seed >> 32) as u32]);
        [k[0], k[1]]
    }

    /// Four random words: number `block` of this ticket.
    #[inline]
    pub fn block(self, block: u64) -> [u32; 4] {
        philox([block as u32, (block >> 32) as u32, 0, 0], self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that the authors of Random123 publish.
    #[test]
    fn known_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
        let c = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
        assert_eq!(philox(c, [0xa4093822, 0x299f31d0]), [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]);
    }

    #[test]
    fn tickets_differ() {
        let t = Ticket { seed: 1, stream: 0, counter: 0 };
        assert_ne!(t.block(0), t.block(1));
        assert_ne!(t.block(0), Ticket { counter: 1, ..t }.block(0));
        assert_ne!(t.block(0), Ticket { stream: 1, ..t }.block(0));
    }
}
