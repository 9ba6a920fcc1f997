//! Vectors as arrays, which the compiler maps to whatever the target has. Also what the other instances are tested against.
use super::simd::{Body, Real, Simd};
use super::tile::{Tile, tile_rows};
use std::marker::PhantomData;

const N: usize = 4;

#[derive(Clone, Copy)]
pub struct Portable<T>(PhantomData<T>);

#[inline(always)]
fn zip<T: Real>(a: [T; N], b: [T; N], f: impl Fn(T, T) -> T) -> [T; N] {
    std::array::from_fn(|i| f(a[i], b[i]))
}

impl<T: Real + Send + Sync> Simd for Portable<T> {
    type T = T;
    type V = [T; N];
    const LANES: usize = N;
    const MR: usize = 4;
    const MR_APART: usize = 4;
    const KC: usize = 256;
    const A_BLOCK: usize = 128 << 10;

    #[inline]
    unsafe fn enter<B: Body>(body: B) -> B::Out {
        // SAFETY: the caller's.
        unsafe { body.run() }
    }
    unsafe fn tile(tile: &Tile<T>) {
        tile_rows!(tile, [1 2 3 4], [1 2 3 4])
    }
    #[inline(always)]
    unsafe fn splat(x: T) -> [T; N] {
        [x; N]
    }
    #[inline(always)]
    unsafe fn load(p: *const T) -> [T; N] {
        // SAFETY: N elements are readable.
        unsafe { p.cast::<[T; N]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn load_part(p: *const T, lanes: usize) -> [T; N] {
        // SAFETY: `lanes` elements are readable.
        std::array::from_fn(|i| if i < lanes { unsafe { *p.add(i) } } else { T::default() })
    }
    #[inline(always)]
    unsafe fn store(p: *mut T, x: [T; N]) {
        // SAFETY: N elements are writable.
        unsafe { p.cast::<[T; N]>().write_unaligned(x) }
    }
    #[inline(always)]
    unsafe fn store_part(p: *mut T, lanes: usize, x: [T; N]) {
        for (i, &v) in x.iter().enumerate().take(lanes) {
            // SAFETY: `lanes` elements are writable.
            unsafe { *p.add(i) = v }
        }
    }
    #[inline(always)]
    unsafe fn add(a: [T; N], b: [T; N]) -> [T; N] {
        zip(a, b, |x, y| x + y)
    }
    #[inline(always)]
    unsafe fn sub(a: [T; N], b: [T; N]) -> [T; N] {
        zip(a, b, |x, y| x - y)
    }
    #[inline(always)]
    unsafe fn mul(a: [T; N], b: [T; N]) -> [T; N] {
        zip(a, b, |x, y| x * y)
    }
    #[inline(always)]
    unsafe fn max(a: [T; N], b: [T; N]) -> [T; N] {
        zip(a, b, |x, y| if x > y { x } else { y })
    }
    #[inline(always)]
    unsafe fn fma(a: [T; N], b: [T; N], c: [T; N]) -> [T; N] {
        std::array::from_fn(|i| a[i].fma(b[i], c[i]))
    }
    #[inline(always)]
    unsafe fn sum(a: [T; N]) -> T {
        (a[0] + a[1]) + (a[2] + a[3])
    }
    #[inline(always)]
    unsafe fn prefetch(_: *const T) {}
    #[inline(always)]
    unsafe fn transpose(src: *const T, rs: isize, rows: usize, cols: usize, dst: *mut T, ds: usize) {
        for u in 0..cols {
            for i in 0..N {
                // SAFETY: rows and columns are as the caller says; whole vectors are writable.
                unsafe {
                    let x = if i < rows { *src.offset(i as isize * rs).add(u) } else { T::default() };
                    *dst.add(u * ds + i) = x;
                }
            }
        }
    }
}
