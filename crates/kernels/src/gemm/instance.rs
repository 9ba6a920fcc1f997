//! What the instances over a processor's registers have in common.
use super::simd::Simd;

/// An instance that can turn a square of registers over.
pub(super) trait Columns<const N: usize>: Simd {
    /// The columns of a square block given by its rows.
    ///
    /// # Safety
    /// The processor has the instructions; `N` elements, as many as a register has, are readable at each pointer.
    unsafe fn columns(row: impl Fn(usize) -> *const Self::T) -> [Self::V; N];
}

/// `Simd::transpose` of such an instance.
///
/// # Safety
/// As there.
#[inline(always)]
pub(super) unsafe fn transpose<S: Columns<N>, const N: usize>(
    src: *const S::T,
    rs: isize,
    rows: usize,
    cols: usize,
    dst: *mut S::T,
    ds: usize,
) {
    const { assert!(N == S::LANES) };
    let row = |i: usize| src.wrapping_offset(i as isize * rs);
    // SAFETY: the rows have `cols` elements; short ones are copied to where a whole vector can be read.
    unsafe {
        if cols == N {
            // Rows that do not exist repeat the last one: what is behind it counts for nothing.
            let t = if rows == N { S::columns(row) } else { S::columns(|i| row(i.min(rows - 1))) };
            for (u, &x) in t.iter().enumerate() {
                S::store(dst.add(u * ds), x);
            }
            return;
        }
        let mut copy = [[S::T::default(); N]; N];
        for (i, to) in copy.iter_mut().enumerate().take(rows) {
            S::store(to.as_mut_ptr(), S::load_part(row(i), cols));
        }
        let t = S::columns(|i| copy[i].as_ptr());
        for (u, &x) in t.iter().enumerate().take(cols) {
            S::store(dst.add(u * ds), x);
        }
    }
}

/// The methods of `Simd` that are one instruction each.
macro_rules! instructions {
    ($t:ident, $v:ident, $features:literal, $set1:ident, $load:ident, $store:ident, $add:ident, $sub:ident, $mul:ident,
     $max:ident, $fma:ident) => {
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn enter<B: Body>(body: B) -> B::Out {
            // SAFETY: the caller's.
            unsafe { body.run() }
        }
        #[inline(always)]
        unsafe fn splat(x: $t) -> $v {
            // SAFETY: the processor has the instruction.
            unsafe { $set1(x) }
        }
        #[inline(always)]
        unsafe fn load(p: *const $t) -> $v {
            // SAFETY: a vector is readable at `p`.
            unsafe { $load(p) }
        }
        #[inline(always)]
        unsafe fn store(p: *mut $t, x: $v) {
            // SAFETY: a vector is writable at `p`.
            unsafe { $store(p, x) }
        }
        #[inline(always)]
        unsafe fn add(a: $v, b: $v) -> $v {
            // SAFETY: the processor has the instruction.
            unsafe { $add(a, b) }
        }
        #[inline(always)]
        unsafe fn sub(a: $v, b: $v) -> $v {
            // SAFETY: the processor has the instruction.
            unsafe { $sub(a, b) }
        }
        #[inline(always)]
        unsafe fn mul(a: $v, b: $v) -> $v {
            // SAFETY: the processor has the instruction.
            unsafe { $mul(a, b) }
        }
        #[inline(always)]
        unsafe fn max(a: $v, b: $v) -> $v {
            // SAFETY: the processor has the instruction.
            unsafe { $max(a, b) }
        }
        #[inline(always)]
        unsafe fn fma(a: $v, b: $v, c: $v) -> $v {
            // SAFETY: the processor has the instruction.
            unsafe { $fma(a, b, c) }
        }
        #[inline(always)]
        unsafe fn transpose(src: *const $t, rs: isize, rows: usize, cols: usize, dst: *mut $t, ds: usize) {
            // SAFETY: the caller's.
            unsafe { $crate::gemm::instance::transpose::<Self, { Self::LANES }>(src, rs, rows, cols, dst, ds) }
        }
    };
}
pub(super) use instructions;
