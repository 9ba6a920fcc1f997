//! Patches of images as the columns of a matrix, and the way back: what a convolution by a plain product is made of.
use crate::conv::{Extent, How, Planes};
use crate::dispatch::Elem;
use crate::linalg::in_type;
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{DType, Result, pool};
use std::ops::Add;

/// `out[n, c * taps + tap, place]` is what tap `tap` of a filter at `place` sees in channel `c` of image `n`, or 0 in the
/// padding. `x` has one to three spatial axes, the output three axes; `places` is the spatial size of the result.
pub fn im2col(cx: &Cx, x: &View<'_>, how: &How, kernel: Extent, places: Extent, out: &Out<'_>) -> Result {
    run(cx, x, out, |ins, outs| both(cx, &ins[0], &outs[0].view, how, kernel, places, outs[0].mode, true))
}

/// The gradient of `im2col`: the sum, for each value of an image, of all places of the columns that it stands in.
pub fn col2im(cx: &Cx, columns: &View<'_>, how: &How, kernel: Extent, places: Extent, out: &Out<'_>) -> Result {
    run(cx, columns, out, |ins, outs| both(cx, &outs[0].view, &ins[0], how, kernel, places, outs[0].mode, false))
}

fn run(cx: &Cx, x: &View<'_>, out: &Out<'_>, f: impl FnOnce(&[View<'_>], &[Out<'_>]) -> Result) -> Result {
    let kind = if out.view.dtype == DType::F64 { DType::F64 } else { DType::F32 };
    in_type(cx, kind, &[*x], &[*out], f)
}

#[expect(clippy::too_many_arguments)]
fn both(
    cx: &Cx,
    image: &View<'_>,
    columns: &View<'_>,
    how: &How,
    kernel: Extent,
    places: Extent,
    mode: Mode,
    gather: bool,
) -> Result {
    if image.dtype == DType::F64 {
        each::<f64>(cx, Planes::new(image, false)?, columns, how, kernel, places, mode, gather);
    } else {
        each::<f32>(cx, Planes::new(image, false)?, columns, how, kernel, places, mode, gather);
    }
    Ok(())
}

/// The matrix of columns.
struct Columns<T> {
    ptr: *mut T,
    by: [isize; 3],
}
// SAFETY: threads write disjoint planes of it.
unsafe impl<T> Sync for Columns<T> {}

#[expect(clippy::too_many_arguments)]
fn each<T: Elem + Add<Output = T>>(
    cx: &Cx,
    image: Planes<T>,
    columns: &View<'_>,
    how: &How,
    kernel: Extent,
    places: Extent,
    mode: Mode,
    gather: bool,
) {
    let to = Columns::<T> { ptr: columns.as_ptr(), by: [columns.strides[0], columns.strides[1], columns.strides[2]] };
    let taps: usize = kernel.iter().product();
    let (image, to) = (&image, &to);
    pool::run(image.count * image.channels, cx.threads, |plane| {
        let (n, c) = (plane / image.channels, plane % image.channels);
        let from = image.plane(n, c);
        if !gather && mode == Mode::Write {
            lattice(image.size, |[z, y, x]| {
                // SAFETY: a place of the plane, which belongs to this task.
                unsafe { *at(from, image.by, [z, y, x]) = T::default() };
            });
        }
        for tap in 0..taps {
            let k = [tap / (kernel[1] * kernel[2]), tap / kernel[2] % kernel[1], tap % kernel[2]];
            let row = to.ptr.wrapping_offset(n as isize * to.by[0] + (c * taps + tap) as isize * to.by[1]);
            let mut i = 0;
            lattice(places, |place| {
                let column = row.wrapping_offset(i * to.by[2]);
                i += 1;
                let inside = seen(how, k, place, image.size);
                // SAFETY: places are inside the image and the matrix; what is written belongs to this task.
                unsafe {
                    match (gather, inside) {
                        (true, Some(p)) => put(column, *at(from, image.by, p), mode),
                        (true, None) => put(column, T::default(), mode),
                        (false, Some(p)) => put(at(from, image.by, p), *column, Mode::Add),
                        (false, None) => {}
                    }
                }
            });
        }
    });
}

/// Where in an image a tap of the filter at a place falls; nowhere in the padding.
#[inline(always)]
fn seen(how: &How, tap: Extent, place: Extent, size: Extent) -> Option<Extent> {
    let mut p = [0; 3];
    for d in 0..3 {
        p[d] = (place[d] * how.stride[d] + tap[d] * how.dilate[d]).checked_sub(how.pad[d]).filter(|p| *p < size[d])?;
    }
    Some(p)
}

#[inline(always)]
fn lattice(size: Extent, mut f: impl FnMut(Extent)) {
    for z in 0..size[0] {
        for y in 0..size[1] {
            (0..size[2]).for_each(|x| f([z, y, x]));
        }
    }
}

#[inline(always)]
fn at<T>(p: *mut T, by: [isize; 3], [z, y, x]: Extent) -> *mut T {
    p.wrapping_offset(z as isize * by[0] + y as isize * by[1] + x as isize * by[2])
}

/// # Safety
/// The place belongs to the caller.
#[inline(always)]
unsafe fn put<T: Elem + Add<Output = T>>(p: *mut T, v: T, mode: Mode) {
    // SAFETY: the caller's.
    unsafe { *p = if mode == Mode::Write { v } else { *p + v } };
}
