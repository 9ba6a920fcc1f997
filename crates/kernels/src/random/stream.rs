//! Random words for values that take an unknown number of them: each value has a stream of its own, so that none depends
//! on how many its neighbours took.
use super::blocks::{Key, LANES, Words, blocks};
use super::polar::double;
use gluonish_base::philox::philox;

/// Blocks of a stream that are made for sixteen values at once; most values take no more.
pub(super) const READY: usize = 2;

/// The fourth word of the counter, which tells streams from the blocks that values share.
const OWN: u32 = 1;

/// The first blocks of the streams of sixteen values, from number `first` on, a multiple of sixteen.
pub(super) fn first_blocks(key: Key, first: u64, to: &mut [Words; READY]) {
    blocks(key, to, |block| [first as u32, (first >> 32) as u32, block as u32, OWN]);
}

/// The words of one value, block after block.
pub struct Stream<'a> {
    key: Key,
    value: u64,
    next: u32,
    ready: &'a [Words; READY],
}

impl<'a> Stream<'a> {
    /// Of value number `value`; `ready` holds the first blocks of its group.
    pub(super) fn new(key: Key, value: u64, ready: &'a [Words; READY]) -> Stream<'a> {
        Stream { key, value, next: 0, ready }
    }

    #[inline(always)]
    pub(super) fn block(&mut self) -> [u32; 4] {
        let (at, lane) = (self.next as usize, (self.value % LANES as u64) as usize);
        self.next = self.next.wrapping_add(1);
        match self.ready.get(at) {
            Some(w) => w.map(|row| row[lane]),
            None => philox([self.value as u32, (self.value >> 32) as u32, at as u32, OWN], self.key),
        }
    }

    /// A number of (0, 1), of 52 bits.
    #[inline(always)]
    pub(super) fn open(&mut self) -> f64 {
        let w = self.block();
        open(w[0], w[1])
    }

    /// Two numbers of (0, 1).
    #[inline(always)]
    pub(super) fn open_pair(&mut self) -> (f64, f64) {
        let w = self.block();
        (open(w[0], w[1]), open(w[2], w[3]))
    }

    /// A number of [0, 1), of 53 bits.
    #[inline(always)]
    pub(super) fn unit(&mut self) -> f64 {
        let w = self.block();
        (join(w[0], w[1]) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A standard normal number.
    #[inline(always)]
    pub(super) fn normal(&mut self) -> f64 {
        let w = self.block();
        normal(open(w[0], w[1]), join(w[2], w[3]))
    }

    /// A standard normal number and one of (0, 1), of one block together.
    #[inline(always)]
    pub(super) fn normal_and_open(&mut self) -> (f64, f64) {
        const UNIT: f64 = 1.0 / (1u64 << 48) as f64;
        let w = self.block();
        let radius = w[0] as u64 | ((w[2] & 0xffff) as u64) << 32;
        let other = w[1] as u64 | ((w[2] >> 16) as u64) << 32;
        (normal((radius as f64 + 0.5) * UNIT, join(0, w[3])), (other as f64 + 0.5) * UNIT)
    }
}

#[inline(always)]
fn join(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

#[inline(always)]
fn open(low: u32, high: u32) -> f64 {
    ((join(low, high) >> 12) as f64 + 0.5) / (1u64 << 52) as f64
}

/// Box and Muller: `u` of (0, 1] gives the radius, `angle` the direction.
#[inline(always)]
fn normal(u: f64, angle: u64) -> f64 {
    const ANGLE: f64 = std::f64::consts::FRAC_PI_4 / (1u64 << 52) as f64;
    double::normal_pair(u, angle >> 62, ((angle << 2) as i64 >> 11) as f64 * ANGLE).0
}
