//! How threads share a convolution: bands of places, and parts of the output channels.

/// Pieces of images by groups of blocks of channels, which are cut into tasks.
pub(super) struct Shared {
    pub threads: usize,
    pub images: usize,
    /// Of one image: what bands are made of.
    pub pieces: usize,
    pub blocks: usize,
    /// Blocks in a group: those of a tile.
    pub vectors: usize,
}

/// The time of all over that of an even share, where it is even enough.
const EVEN: f64 = 1.03;

impl Shared {
    fn groups(&self) -> usize {
        self.blocks.div_ceil(self.vectors)
    }

    /// The time of all over that of an even share, if every task were as large as the largest.
    fn unevenness(&self, bands: usize, parts: usize) -> f64 {
        let groups = self.groups();
        // A part that is not of whole groups has a block alone, which takes as long as two.
        let blocks = match groups.is_multiple_of(parts) {
            true => groups / parts * self.vectors,
            false => self.blocks.div_ceil(parts) + 1,
        };
        let tasks = (self.images * bands * parts).div_ceil(self.threads);
        let whole = self.images * self.pieces * groups * self.vectors;
        (tasks * self.pieces.div_ceil(bands) * blocks * self.threads) as f64 / whole as f64
    }

    /// Bands of each image, `least` or more, and parts: the fewest tasks that are even enough, else the most even ones of up
    /// to `most`. Where filters are larger than images, they are what is not to be read by every thread.
    pub(super) fn cut(&self, least: usize, most: usize, filters_large: bool) -> (usize, usize) {
        if self.threads < 2 {
            return (least, 1);
        }
        let cost = |bands: usize, parts: usize| (self.unevenness(bands, parts).max(EVEN), bands * parts);
        let (mut best, mut cut) = (cost(least, 1), (least, 1));
        for parts in 1..=self.groups().min(most / (self.images * least)) {
            for bands in least..=self.pieces.min(most / (self.images * parts)) {
                let cost = cost(bands, parts);
                if cost < best || (filters_large && cost == best) {
                    (best, cut) = (cost, (bands, parts));
                }
            }
        }
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_few_and_even() {
        let one = |pieces, blocks| Shared { threads: 2, images: 1, pieces, blocks, vectors: 2 };
        // Two threads take a half each, of the places or of the channels.
        assert_eq!(one(20, 4).cut(1, 32, false), (2, 1));
        assert_eq!(one(20, 4).cut(1, 32, true), (1, 2));
        // Three bands of seven pieces are even with two parts, four bands are not.
        assert_eq!(one(21, 8).cut(3, 32, false), (3, 2));
        // Nothing is cut for one thread, for work that is too little, or where batches are even already.
        assert_eq!(Shared { threads: 1, ..one(21, 8) }.cut(3, 32, false), (3, 1));
        assert_eq!(one(20, 4).cut(1, 1, false), (1, 1));
        assert_eq!(Shared { images: 8, ..one(20, 4) }.cut(1, 32, false), (1, 1));
    }

    #[test]
    fn a_cut_keeps_its_bounds_and_is_never_less_even() {
        for (threads, images, pieces, blocks) in
            (1..9).flat_map(|t| (1..5).flat_map(move |i| (1..20).flat_map(move |p| (1..9).map(move |b| (t, i, p, b)))))
        {
            let shared = Shared { threads, images, pieces, blocks, vectors: 2.min(blocks) };
            for (least, most) in [(1, 1), (1, 16 * threads), (pieces.min(3), 8)] {
                let (bands, parts) = shared.cut(least, most, blocks > pieces);
                let tasks = images * bands * parts;
                assert!((least..=pieces).contains(&bands) && (1..=shared.groups()).contains(&parts));
                assert!(tasks <= most.max(images * least), "{threads} {images} {pieces} {blocks}: {tasks} of {most}");
                assert!(shared.unevenness(bands, parts) <= shared.unevenness(least, 1).max(EVEN));
            }
        }
    }
}
