//! Shapes and strides: up to twelve numbers in place, `Copy`, no allocation.
use crate::error::{Cause, Error, Result};
use std::fmt;

/// Axes that an array can have. A list of them, with a type or a tag beside it, stays below the 128 bytes up to which a
/// copy is a few moves instead of a call; every op makes dozens of such copies.
pub const MAX_DIMS: usize = 12;

/// A shape, strides in elements, axes, or any other short list of integers.
#[derive(Clone, Copy)]
pub struct Dims {
    len: u8,
    d: [isize; MAX_DIMS],
}

impl Dims {
    pub const EMPTY: Dims = Dims { len: 0, d: [0; MAX_DIMS] };

    /// A list of at most `MAX_DIMS` values; `None` when there are more.
    pub fn new(v: &[isize]) -> Option<Dims> {
        (v.len() <= MAX_DIMS).then(|| Dims::of(v))
    }

    /// The shape of a result made of these parts, one behind the other; an error where they are too many.
    pub fn joined(parts: &[&[isize]]) -> Result<Dims> {
        let given = parts.iter().map(|p| p.len()).sum();
        if given > MAX_DIMS {
            return Err(too_many_dims("the result would have", given));
        }
        let mut d = Dims::EMPTY;
        parts.iter().flat_map(|p| p.iter()).for_each(|v| d.push(*v));
        Ok(d)
    }

    /// For values whose number is known to be small: what exceeds `MAX_DIMS` panics.
    #[inline]
    pub fn of(v: &[isize]) -> Dims {
        let mut d = Dims { len: v.len() as u8, d: [0; MAX_DIMS] };
        // A loop: for a handful of numbers it is shorter than the call that copying slices becomes.
        for (to, from) in d.d[..v.len()].iter_mut().zip(v) {
            *to = *from;
        }
        d
    }

    #[inline]
    pub fn filled(len: usize, v: isize) -> Dims {
        let mut d = Dims { len: len as u8, d: [0; MAX_DIMS] };
        d.d[..len].fill(v);
        d
    }

    /// Appends a value: false (and nothing changes) when the list is full.
    #[inline]
    #[must_use]
    pub fn try_push(&mut self, v: isize) -> bool {
        let fits = (self.len as usize) < MAX_DIMS;
        if fits {
            self.d[self.len as usize] = v;
            self.len += 1;
        }
        fits
    }

    /// Appends a value to a list that is known not to be full: to one from which values were taken, say. Shapes that grow
    /// are made by `joined`.
    #[inline]
    pub fn push(&mut self, v: isize) {
        self.d[self.len as usize] = v;
        self.len += 1;
    }

    pub fn remove(&mut self, at: usize) -> isize {
        let v = self[at];
        self.d.copy_within(at + 1..self.len as usize, at);
        self.len -= 1;
        v
    }

    pub fn insert(&mut self, at: usize, v: isize) {
        self.len += 1;
        let len = self.len as usize;
        self.d[..len].copy_within(at..len - 1, at + 1);
        self.d[at] = v;
    }

    /// Number of elements of an array of this shape. Only for shapes that `checked_size` accepted.
    #[inline]
    pub fn size(&self) -> usize {
        self.iter().product::<isize>() as usize
    }

    /// Number of elements, or `None` when a dimension is negative or the bytes (at most 8 each) overflow `isize`.
    pub fn checked_size(&self) -> Option<usize> {
        let mut n: usize = 1;
        let mut zero = false;
        for &d in self.iter() {
            let d = usize::try_from(d).ok()?;
            zero |= d == 0;
            n = n.checked_mul(d.max(1))?;
        }
        (n <= isize::MAX as usize / 8).then_some(if zero { 0 } else { n })
    }

    /// Row-major strides.
    #[inline]
    pub fn contiguous_strides(&self) -> Dims {
        let mut s = *self;
        let mut acc = 1;
        for i in (0..self.len()).rev() {
            s.d[i] = acc;
            acc *= self.d[i];
        }
        s
    }

    /// Whether `strides` walk an array of this shape in memory order without gaps.
    #[inline]
    pub fn is_contiguous(&self, strides: &Dims) -> bool {
        let mut acc = 1;
        for i in (0..self.len()).rev() {
            if self.d[i] != 1 && strides.d[i] != acc {
                return self.contains(&0);
            }
            acc *= self.d[i];
        }
        true
    }

    /// The shape that both broadcast to, by NumPy's rule; a dimension of -1 is not known yet.
    pub fn broadcast(&self, other: &Dims) -> Option<Dims> {
        let (mut out, short) = if self.len >= other.len { (*self, other) } else { (*other, self) };
        let lead = out.len() - short.len();
        for (o, &s) in out[lead..].iter_mut().zip(short.iter()) {
            *o = match (*o, s) {
                (x, y) if x == y => x,
                (x, 1) => x,
                (1, y) => y,
                (-1, y) => y,
                (x, -1) => x,
                _ => return None,
            };
        }
        Some(out)
    }

    /// Strides that repeat an array of `self`'s shape over `to`; `self` must broadcast to it.
    #[inline]
    pub fn broadcast_strides(&self, strides: &Dims, to: &Dims) -> Dims {
        let mut out = *to;
        let lead = to.len() - self.len();
        for i in 0..to.len() {
            out.d[i] = if i < lead || (self.d[i - lead] == 1 && to.d[i] != 1) { 0 } else { strides.d[i - lead] };
        }
        out
    }

    /// An axis counted from the front or, when negative, from the back.
    #[inline]
    pub fn axis(&self, axis: isize) -> Option<usize> {
        let n = self.len() as isize;
        let a = if axis < 0 { axis + n } else { axis };
        (0..n).contains(&a).then_some(a as usize)
    }
}

/// The error for more dimensions than an array can have; `what` has them: "the result would have".
#[cold]
pub fn too_many_dims(what: &str, given: usize) -> Error {
    Cause::Shape(format!("{what} {given} dimensions: at most {MAX_DIMS} are supported")).into()
}

impl std::ops::Deref for Dims {
    type Target = [isize];
    #[inline(always)]
    fn deref(&self) -> &[isize] {
        &self.d[..self.len as usize]
    }
}
impl std::ops::DerefMut for Dims {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [isize] {
        &mut self.d[..self.len as usize]
    }
}
impl PartialEq for Dims {
    #[inline(always)]
    fn eq(&self, other: &Dims) -> bool {
        // A loop: for a handful of numbers it is shorter than the call that comparing slices becomes.
        self.len == other.len && self.iter().zip(other.iter()).all(|(a, b)| a == b)
    }
}
impl Eq for Dims {}
impl std::hash::Hash for Dims {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}
impl Default for Dims {
    fn default() -> Dims {
        Dims::EMPTY
    }
}

/// As Python writes a tuple: `(2, 3)`, `(4,)`, `()`.
impl fmt::Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (i, d) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{d}")?;
        }
        f.write_str(if self.len() == 1 { ",)" } else { ")" })
    }
}
impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting() {
        let d = Dims::of;
        assert_eq!(d(&[2, 3]).broadcast(&d(&[3])), Some(d(&[2, 3])));
        assert_eq!(d(&[2, 1]).broadcast(&d(&[4])), Some(d(&[2, 4])));
        assert_eq!(d(&[2, 3]).broadcast(&d(&[4])), None);
        assert_eq!(d(&[0, 3]).broadcast(&d(&[1, 3])), Some(d(&[0, 3])));
        assert_eq!(d(&[-1, 3]).broadcast(&d(&[3])), Some(d(&[-1, 3])));
        assert_eq!(d(&[3]).broadcast_strides(&d(&[1]), &d(&[2, 3])), d(&[0, 1]));
    }

    #[test]
    fn contiguity() {
        let d = Dims::of;
        assert!(d(&[2, 3]).is_contiguous(&d(&[3, 1])));
        assert!(d(&[2, 1]).is_contiguous(&d(&[1, 99])));
        assert!(!d(&[2, 3]).is_contiguous(&d(&[1, 2])));
        assert!(d(&[2, 0]).is_contiguous(&d(&[7, 7])));
        assert!(Dims::EMPTY.is_contiguous(&Dims::EMPTY));
    }

    #[test]
    fn sizes() {
        assert_eq!(Dims::of(&[isize::MAX, 2]).checked_size(), None);
        assert_eq!(Dims::of(&[0, 5]).checked_size(), Some(0));
        assert_eq!(Dims::of(&[-1]).checked_size(), None);
        assert_eq!(Dims::EMPTY.checked_size(), Some(1));
        assert_eq!(Dims::of(&[4]).to_string(), "(4,)");
    }

    #[test]
    fn joining() {
        assert_eq!(Dims::joined(&[&[2, 3], &[], &[4]]).ok(), Some(Dims::of(&[2, 3, 4])));
        let error = Dims::joined(&[&[1; 7], &[1; 6]]).unwrap_err();
        assert!(error.to_string().contains("13 dimensions: at most 12 are supported"), "{error}");
    }
}
