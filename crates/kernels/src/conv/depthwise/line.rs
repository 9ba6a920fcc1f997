//! A line of results of one block of channels: every result is the sum over some rows of an image and some taps in each.
use crate::gemm::Simd;

/// Repeats a statement for `$i` below `$n`, as straight-line code: sums would live in memory otherwise.
macro_rules! unrolled {
    ($n:expr, $i:ident, $do:block, $($k:literal)*) => {
        {
            $(if $k < $n {
                let $i = $k;
                $do
            })*
        }
    };
}
pub(super) use unrolled;

/// What a line is computed from. Distances are in elements.
#[derive(Clone, Copy)]
pub(super) struct Line<T> {
    /// Column 0 of the first row.
    pub x: *const T,
    pub by_row: isize,
    pub rows: usize,
    /// Columns of the image; what lies outside counts as zero.
    pub width: usize,
    /// The column under the first tap of the first result; the next result's is `stride` further.
    pub column: isize,
    pub stride: usize,
    /// `[rows][taps][lanes]`, rows `w_row` apart.
    pub w: *const T,
    pub w_row: usize,
    pub taps: usize,
    pub y: *mut T,
    /// From one result to the next.
    pub y_step: usize,
    pub count: usize,
}

/// Where sums begin, and what becomes of them, with the values of this block of channels.
#[derive(Clone, Copy)]
pub(super) struct End<S: Simd> {
    /// What sums are multiplied by before `shift` is added; without it they begin there.
    pub scale: Option<S::V>,
    pub shift: S::V,
    /// From a place of the result to that of the residual.
    pub residual: Option<isize>,
    pub relu: bool,
    pub add: bool,
}

impl<S: Simd> End<S> {
    #[inline(always)]
    fn begin(&self) -> S::V {
        match self.scale {
            // SAFETY: whoever made an `End` is where the instructions of `S` are switched on.
            Some(_) => unsafe { S::splat(S::T::default()) },
            None => self.shift,
        }
    }

    #[inline(always)]
    unsafe fn store(&self, y: *mut S::T, sum: S::V) {
        // SAFETY: the caller's.
        unsafe {
            let mut v = match self.scale {
                Some(scale) => S::fma(sum, scale, self.shift),
                None => sum,
            };
            if let Some(by) = self.residual {
                v = S::add(v, S::load(y.wrapping_offset(by)));
            }
            if self.relu {
                v = S::max(S::splat(S::T::default()), v);
            }
            if self.add {
                v = S::add(v, S::load(y));
            }
            S::store(y, v);
        }
    }
}

/// `STRIDED` says that places of the image are in steps of 1 or 2 under filters of 3 or 5; else they are in steps of 1 under
/// parts of such filters. Other lines are computed too, slowly.
///
/// # Safety
/// The processor has the instructions of `S`; the line's memory is valid as it says.
#[inline(always)]
pub(super) unsafe fn line<S: Simd, const STRIDED: bool>(l: &Line<S::T>, end: &End<S>) {
    // SAFETY: the caller's.
    unsafe {
        match (l.stride, l.taps) {
            (1, 3) => runs::<S, 3, 1>(l, end),
            (1, 5) => runs::<S, 5, 1>(l, end),
            (2, 3) if STRIDED => runs::<S, 3, 2>(l, end),
            (2, 5) if STRIDED => runs::<S, 5, 2>(l, end),
            (1, 1) if !STRIDED => runs::<S, 1, 1>(l, end),
            (1, 2) if !STRIDED => runs::<S, 2, 1>(l, end),
            _ => any::<S>(l, end),
        }
    }
}

/// In runs of some results: enough to hide how long an addition takes, and each value that is loaded serves several.
#[inline(always)]
unsafe fn runs<S: Simd, const K: usize, const STRIDE: usize>(l: &Line<S::T>, end: &End<S>) {
    let mut from = 0;
    while from < l.count {
        let length = run_length(l.count, l.count - from);
        let first = l.column + (from * STRIDE) as isize;
        let inside = first >= 0 && first as usize + (length - 1) * STRIDE + K <= l.width;
        macro_rules! of {
            ($($u:literal)*) => {
                // SAFETY: the caller's.
                unsafe {
                    match (length, inside) {
                        $(($u, true) => run::<S, $u, K, STRIDE, true>(l, from, end),
                          ($u, false) => run::<S, $u, K, STRIDE, false>(l, from, end),)*
                        _ => debug_assert!(false, "a run of {length} results"),
                    }
                }
            };
        }
        of!(1 4 7 8);
        from += length;
    }
}

/// The length of the next run of a line of `count` places with `left` to go: one of 1, 4, 7 and 8.
#[inline(always)]
pub(super) fn run_length(count: usize, left: usize) -> usize {
    match left {
        _ if count.is_multiple_of(7) => 7,
        8.. => 8,
        4..8 => 4,
        _ => 1,
    }
}

/// `U` results. `INSIDE` says that no tap leaves the image at its left or right.
#[inline(always)]
unsafe fn run<S: Simd, const U: usize, const K: usize, const STRIDE: usize, const INSIDE: bool>(
    l: &Line<S::T>,
    from: usize,
    end: &End<S>,
) {
    // SAFETY: the caller's; columns outside of the image are not read.
    unsafe {
        let l = *l;
        let first = l.column + (from * STRIDE) as isize;
        let mut x = l.x.wrapping_offset(first * S::LANES as isize);
        let mut w = l.w;
        let mut sum = [end.begin(); U];
        for _ in 0..l.rows {
            let mut tap = [S::splat(S::T::default()); K];
            for j in 0..K {
                tap[j] = S::load(w.add(j * S::LANES));
            }
            unrolled!((U - 1) * STRIDE + K, q, {
                if INSIDE || ((first + q as isize) as usize) < l.width {
                    let v = S::load(x.wrapping_add(q * S::LANES));
                    for j in 0..K {
                        if q >= j && (q - j) % STRIDE == 0 && (q - j) / STRIDE < U {
                            let u = (q - j) / STRIDE;
                            sum[u] = S::fma(v, tap[j], sum[u]);
                        }
                    }
                }
            }, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18);
            x = x.wrapping_offset(l.by_row);
            w = w.wrapping_add(l.w_row);
        }
        for u in 0..U {
            end.store(l.y.wrapping_add((from + u) * l.y_step), sum[u]);
        }
    }
}

/// Filters of any size and distance, one result at a time.
#[inline(always)]
unsafe fn any<S: Simd>(l: &Line<S::T>, end: &End<S>) {
    for i in 0..l.count {
        let first = l.column + (i * l.stride) as isize;
        let from = (-first).clamp(0, l.taps as isize) as usize;
        let to = (l.width as isize - first).clamp(from as isize, l.taps as isize) as usize;
        // SAFETY: the caller's; the taps in this range lie in the image.
        unsafe {
            let mut sum = end.begin();
            for r in 0..l.rows {
                let x = l.x.wrapping_offset(r as isize * l.by_row + first * S::LANES as isize);
                let w = l.w.wrapping_add(r * l.w_row);
                for j in from..to {
                    let v = S::load(x.wrapping_add(j * S::LANES));
                    sum = S::fma(v, S::load(w.wrapping_add(j * S::LANES)), sum);
                }
            }
            end.store(l.y.wrapping_add(i * l.y_step), sum);
        }
    }
}
