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

/// The bands of each image, the parts of its channels, and the order of their tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cut {
    pub bands: usize,
    pub parts: usize,
    /// All bands of a part follow each other, not all parts of a band.
    pub by_part: bool,
}

/// What had better be read by one thread alone, or stay in its cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Large {
    Images,
    Filters,
    /// Tasks may come in any order.
    Neither,
}

/// The time of all over that of an even share, where it is even enough.
const EVEN: f64 = 1.03;

impl Shared {
    fn groups(&self) -> usize {
        self.blocks.div_ceil(self.vectors)
    }

    /// The time of all over that of an even share, if one thread has the largest of all shares of as many tasks.
    fn unevenness(&self, Cut { bands, parts, by_part }: Cut) -> f64 {
        let groups = self.groups();
        // A part that is not of whole groups has a block alone, which takes as long as two.
        let blocks = match groups.is_multiple_of(parts) {
            true => groups / parts * self.vectors,
            false => self.blocks.div_ceil(parts) + 1,
        };
        let tasks = (self.images * bands * parts).div_ceil(self.threads);
        // Larger bands and smaller ones alternate.
        let pieces = |bands_of_it: usize| (self.pieces * bands_of_it).div_ceil(bands);
        let share = match by_part {
            true => pieces(tasks) * blocks,
            false => pieces(tasks / parts) * parts * blocks + tasks % parts * pieces(1) * blocks,
        };
        let whole = self.images * self.pieces * groups * self.vectors;
        (share * self.threads) as f64 / whole as f64
    }

    /// Bands of each image, `least` or more, and parts: the fewest tasks that are even enough, else the most even ones of up
    /// to `most`. Where filters are larger than images, `filters_larger`, they are what is not to be read by every thread.
    pub(super) fn cut(&self, least: usize, most: usize, large: Large, filters_larger: bool) -> Cut {
        let orders: &[bool] = match large {
            Large::Images => &[false],
            Large::Filters => &[true],
            Large::Neither => &[false, true],
        };
        let mut cut = Cut { bands: least, parts: 1, by_part: orders[0] };
        if self.threads < 2 {
            return cut;
        }
        let cost = |c: Cut| (self.unevenness(c).max(EVEN), c.bands * c.parts);
        let mut best = cost(cut);
        for parts in 1..=self.groups().min(most / (self.images * least)) {
            for bands in least..=self.pieces.min(most / (self.images * parts)) {
                if best.0 <= EVEN && bands * parts > best.1 {
                    break; // more tasks are no better
                }
                for by_part in orders {
                    let other = Cut { bands, parts, by_part: *by_part };
                    let cost = cost(other);
                    if cost < best || (filters_larger && cost == best && parts > cut.parts) {
                        (best, cut) = (cost, other);
                    }
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
        let cut = |bands, parts, by_part| Cut { bands, parts, by_part };
        // Two threads take a half each, of the places or of the channels.
        assert_eq!(one(20, 4).cut(1, 32, Large::Images, false), cut(2, 1, false));
        assert_eq!(one(20, 4).cut(1, 32, Large::Filters, true), cut(1, 2, true));
        // Three bands of seven pieces are even with two parts, four bands are not.
        assert_eq!(one(21, 8).cut(3, 32, Large::Images, false), cut(3, 2, false));
        // Bands of eight and nine pieces alternate, in five parts, of which a thread has two and a half.
        assert_eq!(one(17, 10).cut(2, 32, Large::Filters, true), cut(2, 5, true));
        assert_eq!(one(17, 6).cut(2, 32, Large::Neither, false), cut(2, 3, true));
        // Nothing is cut for one thread, for work that is too little, or where batches are even already.
        assert_eq!(Shared { threads: 1, ..one(21, 8) }.cut(3, 32, Large::Images, false), cut(3, 1, false));
        assert_eq!(one(20, 4).cut(1, 1, Large::Neither, false), cut(1, 1, false));
        assert_eq!(Shared { images: 8, ..one(20, 4) }.cut(1, 32, Large::Neither, false), cut(1, 1, false));
    }

    /// The largest share of a thread over an even one, counted task by task, for parts of whole groups.
    fn counted(s: &Shared, c: Cut) -> f64 {
        let (bands, tasks) = (s.images * c.bands, s.images * c.bands * c.parts);
        let cost = |i: usize| {
            let band = if c.by_part { i % bands } else { i / c.parts } % c.bands;
            (s.pieces * (band + 1) / c.bands - s.pieces * band / c.bands) * s.groups() / c.parts
        };
        let share = |t: usize| (tasks * t / s.threads..tasks * (t + 1) / s.threads).map(cost).sum::<usize>();
        let largest = (0..s.threads).map(share).max().unwrap_or(0);
        (largest * s.threads) as f64 / (s.images * s.pieces * s.groups()) as f64
    }

    #[test]
    fn a_cut_keeps_its_bounds_and_is_never_less_even() {
        for (threads, images, pieces, blocks) in
            (1..9).flat_map(|t| (1..5).flat_map(move |i| (1..20).flat_map(move |p| (1..9).map(move |b| (t, i, p, b)))))
        {
            let shared = Shared { threads, images, pieces, blocks, vectors: 2.min(blocks) };
            for (least, most) in [(1, 1), (1, 16 * threads), (pieces.min(3), 8)] {
                for large in [Large::Images, Large::Filters, Large::Neither] {
                    let c = shared.cut(least, most, large, blocks > pieces);
                    let tasks = images * c.bands * c.parts;
                    assert!((least..=pieces).contains(&c.bands) && (1..=shared.groups()).contains(&c.parts));
                    assert!(
                        tasks <= most.max(images * least),
                        "{threads} {images} {pieces} {blocks}: {tasks} of {most}"
                    );
                    let uncut = Cut { bands: least, parts: 1, by_part: large == Large::Filters };
                    assert!(shared.unevenness(c) <= shared.unevenness(uncut).max(EVEN));
                    if shared.groups().is_multiple_of(c.parts) {
                        assert!(
                            counted(&shared, c) <= shared.unevenness(c) + 1e-9,
                            "{threads} {images} {pieces} {blocks}: {c:?}"
                        );
                    }
                }
            }
        }
    }
}
