//! Images in blocks of channels, the layout of the fast kernels.
use super::geometry::Planes;
use crate::gemm::{Body, Real, Simd, Work, dispatch};
use gluonish_base::pool;
use std::marker::PhantomData;

/// `[count][ceil(channels / B)][height][width][B]`, `B` the lanes of a vector (`S::LANES`: 16 floats with AVX-512, 8 with
/// AVX2, 4 portable). Lanes behind the last channel are zero: who writes such an image writes those zeros.
#[derive(Clone, Copy)]
pub(crate) struct Blocked<T> {
    pub ptr: *mut T,
    pub count: usize,
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}
// SAFETY: a kernel's operands may be used from any thread while it runs; outputs are written in disjoint parts.
unsafe impl<T: Sync> Sync for Blocked<T> {}

/// What becomes of a sum before it is stored: `act(sum * scale + shift + residual)`; scale and shift by channel, padded
/// with zeros to whole blocks.
#[derive(Clone, Copy)]
pub(crate) struct Finish<T> {
    pub scale: Option<*const T>,
    pub shift: Option<*const T>,
    pub residual: Option<Blocked<T>>,
    pub relu: bool,
    /// Adds to what is in the result instead of replacing it (gradients that accumulate).
    pub add: bool,
}
// SAFETY: only read, from memory that outlives the kernel.
unsafe impl<T: Sync> Sync for Finish<T> {}

impl<T> Finish<T> {
    /// The sum as it is, or added to what is there.
    pub(crate) fn plain(add: bool) -> Finish<T> {
        Finish { scale: None, shift: None, residual: None, relu: false, add }
    }
}

/// Channels in a block: the lanes of a vector of this machine's instruction set.
pub fn lanes<T: Real>() -> usize {
    struct Lanes;
    impl<T: Real> Work<T> for Lanes {
        type Out = usize;
        unsafe fn run<S: Simd<T = T>>(self) -> usize {
            S::LANES
        }
    }
    dispatch::<T, _>(Lanes)
}

impl<T: Real> Blocked<T> {
    /// Elements of an image.
    pub(crate) fn by_image(&self, lanes: usize) -> usize {
        self.channels.div_ceil(lanes) * self.by_block(lanes)
    }
    /// Elements of a block of channels.
    pub(crate) fn by_block(&self, lanes: usize) -> usize {
        self.height * self.width * lanes
    }
    /// Elements of all images.
    pub(crate) fn len(&self, lanes: usize) -> usize {
        self.count * self.by_image(lanes)
    }
}

/// Bytes that one task moves, about.
const TASK: usize = 128 << 10;

/// Lays images out in blocks.
///
/// # Safety
/// Both are valid for their shapes, which are the same (one depth), and do not overlap.
pub(crate) unsafe fn to_blocked<T: Real>(threads: usize, from: &Planes<T>, to: &Blocked<T>) {
    dispatch::<T, _>(Change { threads, plain: from, blocked: to, way: Way::In })
}

/// Lays images out plainly, or adds them to what is there.
///
/// # Safety
/// As for `to_blocked`.
pub(crate) unsafe fn from_blocked<T: Real>(threads: usize, from: &Blocked<T>, to: &Planes<T>, add: bool) {
    dispatch::<T, _>(Change { threads, plain: to, blocked: from, way: if add { Way::Add } else { Way::Out } })
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    In,
    Out,
    Add,
}

struct Change<'a, T> {
    threads: usize,
    plain: &'a Planes<T>,
    blocked: &'a Blocked<T>,
    way: Way,
}

impl<T: Real> Work<T> for Change<'_, T> {
    type Out = ();

    unsafe fn run<S: Simd<T = T>>(self) {
        let Change { threads, plain, blocked: b, way } = self;
        let (blocks, area) = (b.channels.div_ceil(S::LANES), b.height * b.width);
        // Places are counted through an image where its rows follow each other, else through a row.
        let even = plain.even().map(|by| (1, area, by));
        let (rows, long, by) = even.unwrap_or((b.height, b.width, plain.by[2]));
        let strips = (area * S::LANES * size_of::<T>()).div_ceil(TASK).clamp(1, rows.max(area / S::LANES).max(1));
        let (by_row, by_part) = if rows > 1 { (strips.min(rows), 1) } else { (1, strips) };
        pool::run(b.count * blocks * by_row * by_part, threads, |i| {
            let (part, i) = (i % by_part, i / by_part);
            let (band, i) = (i % by_row, i / by_row);
            let (block, image) = (i % blocks, i / blocks);
            let cut = |n: usize, k: usize, of: usize| (n * k / of, n * (k + 1) / of);
            let (from, to) = cut(long.div_ceil(S::LANES), part, by_part);
            let (from, to) = (from * S::LANES, (to * S::LANES).min(long));
            let (top, bottom) = cut(rows, band, by_row);
            let lanes = S::LANES.min(b.channels - block * S::LANES);
            for row in top..bottom {
                let p = plain
                    .plane(image, block * S::LANES)
                    .wrapping_offset(row as isize * plain.by[1] + from as isize * by);
                let q = b.ptr.wrapping_add(
                    image * b.by_image(S::LANES) + block * b.by_block(S::LANES) + (row * long + from) * S::LANES,
                );
                let strip = Strip::<S> {
                    p,
                    by,
                    by_channel: plain.by_channel,
                    q,
                    places: to - from,
                    lanes,
                    way,
                    of: PhantomData,
                };
                // SAFETY: the caller's; strips are disjoint.
                unsafe { S::enter(strip) };
            }
        });
    }
}

/// Neighbouring places of one block of channels.
struct Strip<S: Simd> {
    p: *mut S::T,
    by: isize,
    by_channel: isize,
    q: *mut S::T,
    places: usize,
    lanes: usize,
    way: Way,
    of: PhantomData<S>,
}

impl<S: Simd> Body for Strip<S> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let Strip { p, by, by_channel, q, places, lanes, way, .. } = self;
        // SAFETY: the strip's places and lanes exist on both sides.
        unsafe {
            if by_channel == 1 {
                return match way {
                    Way::In => (0..places).for_each(|i| {
                        let p = p.wrapping_offset(i as isize * by);
                        let x = if lanes == S::LANES { S::load(p) } else { S::load_part(p, lanes) };
                        S::store(q.add(i * S::LANES), x);
                    }),
                    _ => (0..places).for_each(|i| {
                        let (p, mut x) = (p.wrapping_offset(i as isize * by), S::load(q.add(i * S::LANES)));
                        if way == Way::Add {
                            x = S::add(x, S::load_part(p, lanes));
                        }
                        if lanes == S::LANES {
                            S::store(p, x)
                        } else {
                            S::store_part(p, lanes, x)
                        };
                    }),
                };
            }
            let square = if by == 1 { places / S::LANES * S::LANES } else { 0 };
            for i in (0..square).step_by(S::LANES) {
                let (p, q) = (p.add(i), q.add(i * S::LANES));
                if way == Way::In {
                    S::transpose(p, by_channel, lanes, S::LANES, q, S::LANES);
                    if lanes < S::LANES {
                        (0..S::LANES).for_each(|u| {
                            let q = q.add(u * S::LANES);
                            S::store(q, S::load_part(q, lanes));
                        });
                    }
                } else if way == Way::Out && by_channel > 0 {
                    S::transpose(q, S::LANES as isize, S::LANES, lanes, p, by_channel as usize);
                } else {
                    single::<S>(p, by, by_channel, q, S::LANES, lanes, way);
                }
            }
            let p = p.wrapping_offset(square as isize * by);
            single::<S>(p, by, by_channel, q.add(square * S::LANES), places - square, lanes, way);
        }
    }
}

/// The same element by element.
///
/// # Safety
/// The places and lanes exist on both sides.
#[inline(always)]
unsafe fn single<S: Simd>(
    p: *mut S::T,
    by: isize,
    by_channel: isize,
    q: *mut S::T,
    places: usize,
    lanes: usize,
    way: Way,
) {
    for i in 0..places {
        for c in 0..S::LANES {
            let p = p.wrapping_offset(i as isize * by + c as isize * by_channel);
            // SAFETY: the caller's; a lane behind the last channel is only written, and in the blocked image.
            unsafe {
                let q = q.add(i * S::LANES + c);
                match way {
                    Way::In => *q = if c < lanes { *p } else { S::T::default() },
                    _ if c >= lanes => {}
                    Way::Out => *p = *q,
                    Way::Add => *p = *p + *q,
                }
            }
        }
    }
}
