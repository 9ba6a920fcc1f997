//! Walking several strided operands of one shape together.
use gluonish_base::{Dims, MAX_DIMS};

/// A pointer that threads may share: each writes its own part.
#[derive(Clone, Copy)]
pub struct Shared<T>(pub *mut T);
// SAFETY: only a number; whoever dereferences it answers for who else does (the chunks of one kernel are disjoint).
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The pointer moved by `n` elements. A method, so that closures capture the whole and not the bare pointer.
    #[inline(always)]
    pub fn at(self, n: isize) -> *mut T {
        self.0.wrapping_offset(n)
    }
}

/// A shape and, for each of `N` operands, the strides (in elements) in which it is walked.
#[derive(Clone, Copy, Debug)]
pub struct Walk<const N: usize> {
    pub shape: Dims,
    pub strides: [Dims; N],
}

impl<const N: usize> Default for Walk<N> {
    fn default() -> Self {
        Walk { shape: Dims::EMPTY, strides: [Dims::EMPTY; N] }
    }
}

impl<const N: usize> Walk<N> {
    /// The dimensions as given. Strides shorter than the shape must not be passed.
    pub fn new(shape: &Dims, strides: [&Dims; N]) -> Walk<N> {
        Walk { shape: *shape, strides: strides.map(|s| *s) }
    }

    /// Appends a dimension as the new innermost.
    #[inline]
    pub fn push(&mut self, n: isize, strides: [isize; N]) {
        self.shape.push(n);
        for (s, v) in self.strides.iter_mut().zip(strides) {
            s.push(v);
        }
    }

    /// The strides of dimension `d`.
    #[inline(always)]
    pub fn stride(&self, d: usize) -> [isize; N] {
        std::array::from_fn(|i| self.strides[i][d])
    }

    /// Drops dimensions of size 1 and merges neighbours that every operand walks as one. The order of elements stays.
    pub fn coalesced(&self) -> Walk<N> {
        let mut out = Walk::<N>::default();
        for d in 0..self.shape.len() {
            let n = self.shape[d];
            if n == 1 {
                continue;
            }
            let stride = self.stride(d);
            match out.shape.len().checked_sub(1) {
                Some(last) if (0..N).all(|i| out.strides[i][last] == stride[i] * n) => {
                    out.shape[last] *= n;
                    for (s, v) in out.strides.iter_mut().zip(stride) {
                        s[last] = v;
                    }
                }
                _ => out.push(n, stride),
            }
        }
        out
    }

    /// Removes the innermost dimension and returns its size and strides; size 1 with strides 0 if there is none.
    pub fn pop(&mut self) -> (usize, [isize; N]) {
        match self.shape.len().checked_sub(1) {
            None => (1, [0; N]),
            Some(last) => {
                let n = self.shape.remove(last);
                (n as usize, std::array::from_fn(|i| self.strides[i].remove(last)))
            }
        }
    }

    /// Number of elements.
    #[inline]
    pub fn size(&self) -> usize {
        self.shape.size()
    }

    /// How far from the first element each operand has element number `index`, in row-major order.
    #[inline]
    pub fn offset(&self, mut index: usize) -> [isize; N] {
        let mut off = [0; N];
        for d in (0..self.shape.len()).rev() {
            let n = self.shape[d] as usize;
            let at = (index % n) as isize;
            index /= n;
            for (o, s) in off.iter_mut().zip(&self.strides) {
                *o += at * s[d];
            }
        }
        off
    }

    /// Calls `f` with the offsets of elements `from..to`, in order.
    #[inline]
    pub fn for_each(&self, from: usize, to: usize, mut f: impl FnMut([isize; N])) {
        if from >= to {
            return;
        }
        let mut cursor = Cursor::new(self, from);
        f(cursor.offset);
        for _ in from + 1..to {
            cursor.step();
            f(cursor.offset);
        }
    }
}

/// Calls `f` with the offsets of all elements, in row-major order. It plans nothing, which suits a few elements.
#[inline(always)]
pub fn each<const N: usize>(shape: &[isize], strides: [&[isize]; N], mut f: impl FnMut([isize; N])) {
    let Some((&n, outer)) = shape.split_last() else { return f([0; N]) };
    if shape.contains(&0) {
        return;
    }
    let step: [isize; N] = std::array::from_fn(|k| strides[k][outer.len()]);
    let mut index = [0; MAX_DIMS];
    let mut row = [0; N];
    loop {
        let mut at = row;
        for _ in 0..n {
            f(at);
            at = std::array::from_fn(|k| at[k] + step[k]);
        }
        let mut d = outer.len();
        loop {
            if d == 0 {
                return;
            }
            d -= 1;
            index[d] += 1;
            if index[d] < outer[d] {
                row = std::array::from_fn(|k| row[k] + strides[k][d]);
                break;
            }
            index[d] = 0;
            row = std::array::from_fn(|k| row[k] - strides[k][d] * (outer[d] - 1));
        }
    }
}

/// A place in a walk that moves on element by element without divisions.
#[derive(Clone, Copy)]
pub struct Cursor<'a, const N: usize> {
    walk: &'a Walk<N>,
    index: Dims,
    pub offset: [isize; N],
}

impl<'a, const N: usize> Cursor<'a, N> {
    /// At element number `at`.
    pub fn new(walk: &'a Walk<N>, mut at: usize) -> Cursor<'a, N> {
        let mut index = walk.shape;
        let offset = walk.offset(at);
        for d in (0..index.len()).rev() {
            let n = walk.shape[d] as usize;
            index[d] = (at % n) as isize;
            at /= n;
        }
        Cursor { walk, index, offset }
    }

    /// On to the next element; past the last one it starts again.
    #[inline]
    pub fn step(&mut self) {
        for d in (0..self.index.len()).rev() {
            self.index[d] += 1;
            let wrapped = self.index[d] == self.walk.shape[d];
            for (o, s) in self.offset.iter_mut().zip(&self.walk.strides) {
                *o += if wrapped { s[d] * (1 - self.walk.shape[d]) } else { s[d] };
            }
            if !wrapped {
                return;
            }
            self.index[d] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all<const N: usize>(w: &Walk<N>) -> Vec<[isize; N]> {
        let mut v = Vec::new();
        w.for_each(0, w.size(), |o| v.push(o));
        v
    }

    #[test]
    fn coalescing_keeps_the_order() {
        let d = Dims::of;
        for (shape, a, b, dims) in [
            (d(&[2, 3, 4]), d(&[12, 4, 1]), d(&[12, 4, 1]), 1),
            (d(&[2, 3, 4]), d(&[12, 4, 1]), d(&[0, 4, 1]), 2),
            (d(&[2, 1, 4]), d(&[4, 99, 1]), d(&[1, 7, 2]), 2),
            (d(&[2, 3]), d(&[-3, -1]), d(&[-3, -1]), 1),
            (d(&[1, 1]), d(&[5, 5]), d(&[1, 1]), 0),
            (d(&[]), d(&[]), d(&[]), 0),
        ] {
            let walk = Walk::new(&shape, [&a, &b]);
            let merged = walk.coalesced();
            assert_eq!(merged.shape.len(), dims, "{shape}");
            let offsets = all(&walk);
            assert_eq!(offsets, all(&merged));
            assert!(offsets.iter().enumerate().all(|(i, o)| *o == walk.offset(i) && *o == merged.offset(i)));
            let mut tail = Vec::new();
            merged.for_each(1, walk.size(), |o| tail.push(o));
            assert_eq!(tail, offsets[1..]);
            let mut each_one = Vec::new();
            each(&shape, [&a, &b], |o| each_one.push(o));
            assert_eq!(each_one, offsets);
        }
    }

    #[test]
    fn the_innermost_dimension_comes_off() {
        let mut w = Walk::new(&Dims::of(&[2, 3]), [&Dims::of(&[3, 1])]);
        assert_eq!(w.pop(), (3, [1]));
        assert_eq!(w.pop(), (2, [3]));
        assert_eq!(w.pop(), (1, [0]));
    }
}
