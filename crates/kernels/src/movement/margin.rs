//! What stands in the margin of an array.

/// Where the values of a margin come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// One value.
    Constant,
    /// The nearest value of the array.
    Nearest,
    /// The array reflected at its outermost values, which are not repeated.
    Reflect,
    /// The array reflected, outermost values included.
    Symmetric,
    /// The array again.
    Wrap,
}

impl Edge {
    /// The position in an axis of `n` values (at least one) that stands at place `at` of its extension, which the axis
    /// itself begins at 0; none for a constant.
    fn source(self, at: isize, n: isize) -> Option<isize> {
        if (0..n).contains(&at) {
            return Some(at);
        }
        let folded = |period: isize, last: isize| {
            let at = at.rem_euclid(period);
            if at < n { at } else { last - at }
        };
        match self {
            Edge::Constant => None,
            Edge::Nearest => Some(at.clamp(0, n - 1)),
            Edge::Reflect if n == 1 => Some(0),
            Edge::Reflect => Some(folded(2 * (n - 1), 2 * (n - 1))),
            Edge::Symmetric => Some(folded(2 * n, 2 * n - 1)),
            Edge::Wrap => Some(at.rem_euclid(n)),
        }
    }

    /// The source of every place of an axis with its margins.
    pub(super) fn sources(self, before: isize, n: isize, whole: isize) -> Vec<Option<isize>> {
        (0..whole).map(|at| if n == 0 { None } else { self.source(at - before, n) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Edge;

    fn all(edge: Edge, before: isize, n: isize, whole: isize) -> Vec<isize> {
        edge.sources(before, n, whole).into_iter().map(|s| s.unwrap_or(-1)).collect()
    }

    #[test]
    fn margins_wider_than_the_array() {
        assert_eq!(all(Edge::Constant, 2, 2, 5), [-1, -1, 0, 1, -1]);
        assert_eq!(all(Edge::Nearest, 2, 2, 5), [0, 0, 0, 1, 1]);
        assert_eq!(all(Edge::Reflect, 5, 3, 11), [1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1]);
        assert_eq!(all(Edge::Symmetric, 3, 2, 7), [1, 1, 0, 0, 1, 1, 0]);
        assert_eq!(all(Edge::Wrap, 3, 2, 7), [1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(all(Edge::Reflect, 1, 1, 3), [0, 0, 0]);
    }
}
