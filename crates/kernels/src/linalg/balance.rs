//! Rows and columns of a matrix brought to about 1, by powers of two: nothing is rounded, and what is smaller than numbers
//! with all their digits becomes such a number.
use super::Field;
use faer::{MatMut, MatRef};
use std::ops::Range;

/// By which power of two each row and each column was multiplied.
pub(super) struct Balance {
    rows: Vec<i32>,
    cols: Vec<i32>,
}

impl Balance {
    /// Multiplies the rows of a matrix so that the largest element of each is from 1 to 2, then its columns likewise.
    pub(super) fn bring<T: Field>(mut a: MatMut<'_, T>) -> Balance {
        let (m, n) = (a.nrows(), a.ncols());
        let largest = |a: MatRef<'_, T>, at: &mut dyn Iterator<Item = (usize, usize)>| {
            at.map(|place| a[place].to_f64().abs()).fold(0.0, f64::max)
        };
        let rows: Vec<i32> = (0..m).map(|i| -exponent(largest(a.as_ref(), &mut (0..n).map(|j| (i, j))))).collect();
        for j in 0..n {
            (0..m).for_each(|i| a[(i, j)] = times_power(a[(i, j)], rows[i]));
        }
        let cols: Vec<i32> = (0..n).map(|j| -exponent(largest(a.as_ref(), &mut (0..m).map(|i| (i, j))))).collect();
        for j in 0..n {
            (0..m).for_each(|i| a[(i, j)] = times_power(a[(i, j)], cols[j]));
        }
        Balance { rows, cols }
    }

    /// The determinant was multiplied by this power of two.
    pub(super) fn total(&self) -> i32 {
        self.rows.iter().chain(&self.cols).sum()
    }

    /// The right-hand side of the matrix's equations, so that it fits them.
    pub(super) fn on_rows<T: Field>(&self, mut b: MatMut<'_, T>) {
        for j in 0..b.ncols() {
            (0..b.nrows()).for_each(|i| b[(i, j)] = times_power(b[(i, j)], self.rows[i]));
        }
    }

    /// From the solution of the equations to that of the ones before; `inverse` says which columns of the identity were
    /// on the right-hand side as they are.
    pub(super) fn undo<T: Field>(&self, mut x: MatMut<'_, T>, inverse: Option<Range<usize>>) {
        for j in 0..x.ncols() {
            let more = inverse.as_ref().map_or(0, |range| self.rows[range.start + j]);
            (0..x.nrows()).for_each(|i| x[(i, j)] = times_power(x[(i, j)], self.cols[i] + more));
        }
    }
}

/// The power of two that is next below a positive number; 0 for what has none.
fn exponent(x: f64) -> i32 {
    const HIDDEN: i32 = 52;
    let bits = |x: f64| (x.to_bits() >> HIDDEN & 0x7ff) as i32 - 1023;
    match x {
        x if !x.is_finite() || x == 0.0 => 0,
        x if x < f64::MIN_POSITIVE => bits(x * 2f64.powi(HIDDEN)) - HIDDEN,
        x => bits(x),
    }
}

/// A number times a power of two that may itself be no number.
fn times_power<T: Field>(x: T, power: i32) -> T {
    let mut x = x.to_f64();
    let mut rest = power;
    while rest != 0 && x != 0.0 && x.is_finite() {
        let step = rest.clamp(-1000, 1000);
        x *= 2f64.powi(step);
        rest -= step;
    }
    T::of(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents() {
        assert_eq!([1.0, 1.5, 2.0, 0.75, 5e-324, 1e-310, f64::MAX].map(exponent), [0, 0, 1, -1, -1074, -1030, 1023]);
        assert_eq!([0.0, f64::NAN, f64::INFINITY].map(exponent), [0, 0, 0]);
        assert_eq!(times_power(5e-324, 1074), 1.0);
        assert_eq!(times_power(1.5, -1074), 1e-323);
        assert_eq!(times_power(times_power(3e-310, 2000), -2000), 3e-310);
    }
}
