//! Convolution of images that stay blocked between the ops of a network. Blocked images are arrays of five axes:
//! `(count, blocks, height, width, lanes)`.
use super::blocked::{Blocked, Finish, from_blocked, lanes, to_blocked};
use super::choose::{Algorithm, Pass, choose_blocked};
use super::direct::first;
use super::geometry::{How, Planes};
use super::kept::Stamp;
use super::{fast, implicit, plain, stamp};
use crate::convert::copy_view;
use crate::gemm::{Scratch, Slot};
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{Cause, DType, Result};

/// A view of five axes as blocked images of so many channels.
fn blocked(v: &View<'_>, channels: usize) -> Result<Blocked<f32>> {
    let fits = v.ndim() == 5
        && v.dtype == DType::F32
        && v.shape[1] as usize == channels.div_ceil(lanes::<f32>())
        && v.shape[4] as usize == lanes::<f32>();
    if !fits {
        let text = format!("{channels} channels do not lie in blocks of {} in {} {}", lanes::<f32>(), v.shape, v.dtype);
        return Err(Cause::Shape(text).into());
    }
    let [count, height, width] = [0, 2, 3].map(|i| v.shape[i] as usize);
    Ok(Blocked { ptr: v.as_ptr(), count, channels, height, width })
}

/// The same without gaps: a copy of a view that has some.
fn dense(cx: &Cx, v: &View<'_>, channels: usize) -> Result<(Blocked<f32>, Option<Scratch<f32>>)> {
    let images = blocked(v, channels)?;
    if v.contiguous {
        return Ok((images, None));
    }
    let (room, strides) = (Scratch::<f32>::take(Slot::Images, v.size), v.shape.contiguous_strides());
    let copy = View::contiguous(room.ptr().cast(), DType::F32, v.shape, &strides);
    copy_view(cx, v, &Out { view: copy, mode: Mode::Write })?;
    Ok((Blocked { ptr: room.ptr(), ..images }, Some(room)))
}

/// Calls `f` with where blocked results can be written, and with whether they are added to.
fn into(cx: &Cx, out: &Out<'_>, channels: usize, f: impl FnOnce(&Blocked<f32>, bool) -> Result) -> Result {
    let images = blocked(&out.view, channels)?;
    if out.view.contiguous {
        return f(&images, out.mode == Mode::Add);
    }
    let (room, strides) = (Scratch::<f32>::take(Slot::Results, out.view.size), out.view.shape.contiguous_strides());
    f(&Blocked { ptr: room.ptr(), ..images }, false)?;
    copy_view(cx, &View::contiguous(room.ptr().cast(), DType::F32, out.view.shape, &strides), out)
}

/// Plain images like blocked ones, in scratch memory.
fn plain_room(b: &Blocked<f32>, slot: Slot) -> (Planes<f32>, Scratch<f32>) {
    let (h, w) = (b.height, b.width);
    let room = Scratch::take(slot, b.count * b.channels * h * w);
    let planes = Planes {
        ptr: room.ptr(),
        count: b.count,
        channels: b.channels,
        size: [1, h, w],
        by_count: (b.channels * h * w) as isize,
        by_channel: (h * w) as isize,
        by: [0, w as isize, 1],
    };
    (planes, room)
}

/// Blocks of plain images.
pub fn to_blocked_view(cx: &Cx, x: &View<'_>, channels_last: bool, out: &Out<'_>) -> Result {
    let planes = Planes::<f32>::new(x, channels_last)?;
    into(cx, out, planes.channels, |to, add| {
        // SAFETY: views are valid for their shapes, which the row has checked; an output overlaps no input.
        unsafe {
            if !add {
                to_blocked(cx.threads, &planes, to);
                return Ok(());
            }
            let room = Scratch::<f32>::take(Slot::Images, to.len(lanes::<f32>()));
            to_blocked(cx.threads, &planes, &Blocked { ptr: room.ptr(), ..*to });
            let strides = out.view.shape.contiguous_strides();
            copy_view(cx, &View::contiguous(room.ptr().cast(), DType::F32, out.view.shape, &strides), out)
        }
    })
}

/// Plain images from their blocks.
pub fn from_blocked_view(cx: &Cx, x: &View<'_>, channels_last: bool, out: &Out<'_>) -> Result {
    let planes = Planes::<f32>::new(&out.view, channels_last)?;
    let (images, _room) = dense(cx, x, planes.channels)?;
    // SAFETY: as in `to_blocked_view`.
    unsafe { from_blocked(cx.threads, &images, &planes, out.mode == Mode::Add) };
    Ok(())
}

/// What becomes of the sums: `act(sum * scale + shift + residual)`, each part optional.
#[derive(Clone, Copy, Default)]
pub struct Ending<'a> {
    pub scale: Option<&'a View<'a>>,
    pub shift: Option<&'a View<'a>>,
    /// Blocked as the result is.
    pub residual: Option<&'a View<'a>>,
    pub relu: bool,
}

/// A number for each channel, with zeros to whole blocks.
fn padded(list: Option<&View<'_>>) -> Option<Vec<f32>> {
    let mut all = super::even_bias::<f32>(list?);
    all.resize(all.len().next_multiple_of(lanes::<f32>()), 0.0);
    Some(all)
}

/// Convolves blocked images, or plain ones with few channels, to blocked results. Filters are plain, outputs first.
pub fn blocked_forward(
    cx: &Cx,
    [x, w]: [&View<'_>; 2],
    ending: &Ending<'_>,
    how: &How,
    wanted: Option<Algorithm>,
    out: &Out<'_>,
) -> Result {
    let (filters, kept) = (Planes::<f32>::new(w, false)?, stamp(cx, w));
    let (scale, shift) = (padded(ending.scale), padded(ending.shift));
    let residual = ending.residual.map(|r| dense(cx, r, filters.count)).transpose()?;
    into(cx, out, filters.count, |y, add| {
        let finish = Finish {
            scale: scale.as_ref().map(|l| l.as_ptr()),
            shift: shift.as_ref().map(|l| l.as_ptr()),
            residual: residual.as_ref().map(|r| r.0),
            relu: ending.relu,
            add,
        };
        if x.ndim() == 4 {
            let planes = Planes::<f32>::new(x, false)?;
            let few = Algorithm::First.suits(&plain::shape(&planes, &filters, how), Pass::Result);
            // SAFETY: as in `to_blocked_view`.
            unsafe {
                match few {
                    true => first::forward(cx.threads, &planes, &filters, y, how, &finish),
                    false => general(cx.threads, &planes, &filters, y, how, &finish),
                }
            }
            return Ok(());
        }
        let (images, _room) = dense(cx, x, filters.channels * how.groups)?;
        let shape = plain::shape(&view_of(&images), &filters, how);
        let by = choose_blocked(&shape, Pass::Result, wanted);
        // SAFETY: as in `to_blocked_view`.
        unsafe {
            if by != Algorithm::Implicit {
                fast::forward(by, cx.threads, [&images, y], &filters, how, &finish, kept);
                return Ok(());
            }
            let (planes, _room) = plain_room(&images, Slot::Images);
            from_blocked(cx.threads, &images, &planes, false);
            general(cx.threads, &planes, &filters, y, how, &finish);
        }
        Ok(())
    })
}

/// The general way from plain images to blocked results.
///
/// # Safety
/// As `implicit::forward`; `finish` is for `y`.
unsafe fn general(threads: usize, x: &Planes<f32>, w: &Planes<f32>, y: &Blocked<f32>, how: &How, finish: &Finish<f32>) {
    let (plain, _room) = plain_room(y, Slot::Results);
    let room = Scratch::<f32>::take(Slot::Other, y.len(lanes::<f32>()));
    let sums = Blocked { ptr: room.ptr(), ..*y };
    // SAFETY: the caller's; there is room for the results in both layouts.
    unsafe {
        implicit::forward(threads, [x, w, &plain], None, how, Mode::Write);
        to_blocked(threads, &plain, &sums);
        end(&sums, y, finish);
    }
}

/// The shape of blocked images as that of plain ones; nothing is read through it.
fn view_of(b: &Blocked<f32>) -> Planes<f32> {
    let size = [1, b.height, b.width];
    Planes { ptr: b.ptr, count: b.count, channels: b.channels, size, by_count: 0, by_channel: 0, by: [0; 3] }
}

/// Finishes sums that no fast kernel has computed.
///
/// # Safety
/// Both are valid; `finish` is for `y`.
unsafe fn end(sums: &Blocked<f32>, y: &Blocked<f32>, finish: &Finish<f32>) {
    let lanes = lanes::<f32>();
    let (block, blocks) = (y.by_block(lanes), y.channels.div_ceil(lanes));
    for i in 0..y.len(lanes) {
        let channel = i / block.max(1) % blocks.max(1) * lanes + i % lanes;
        // SAFETY: the elements exist, and so does the channel.
        unsafe {
            let mut value = *sums.ptr.add(i);
            value = finish.scale.map_or(value, |s| value * *s.add(channel));
            value = finish.shift.map_or(value, |s| value + *s.add(channel));
            value = finish.residual.map_or(value, |r| value + *r.ptr.add(i));
            if finish.relu && value < 0.0 {
                value = 0.0;
            }
            *y.ptr.add(i) = if finish.add { *y.ptr.add(i) + value } else { value };
        }
    }
}

/// The gradient of blocked images.
pub fn blocked_data_grad(
    cx: &Cx,
    [dy, w]: [&View<'_>; 2],
    how: &How,
    wanted: Option<Algorithm>,
    out: &Out<'_>,
) -> Result {
    let (filters, kept): (_, Option<Stamp>) = (Planes::<f32>::new(w, false)?, stamp(cx, w));
    let (grads, _room) = dense(cx, dy, filters.count)?;
    into(cx, out, filters.channels * how.groups, |dx, add| {
        let shape = plain::shape(&view_of(dx), &filters, how);
        let by = choose_blocked(&shape, Pass::Images, wanted);
        // SAFETY: as in `to_blocked_view`.
        unsafe {
            if by != Algorithm::Implicit {
                fast::data_grad(by, cx.threads, [&grads, dx], &filters, how, add, kept);
                return Ok(());
            }
            let ((py, _a), (px, _b)) = (plain_room(&grads, Slot::Images), plain_room(dx, Slot::Results));
            from_blocked(cx.threads, &grads, &py, false);
            implicit::data_grad(cx.threads, [&py, &filters, &px], how, Mode::Write);
            let room = Scratch::<f32>::take(Slot::Other, dx.len(lanes::<f32>()));
            to_blocked(cx.threads, &px, &Blocked { ptr: room.ptr(), ..*dx });
            end(&Blocked { ptr: room.ptr(), ..*dx }, dx, &Finish::plain(add));
        }
        Ok(())
    })
}

/// The gradient of filters, from blocked images or plain ones with few channels, and blocked gradients. The output is plain.
pub fn blocked_weight_grad(
    cx: &Cx,
    [x, dy]: [&View<'_>; 2],
    how: &How,
    wanted: Option<Algorithm>,
    out: &Out<'_>,
) -> Result {
    let (filters, add) = (Planes::<f32>::new(&out.view, false)?, out.mode == Mode::Add);
    let (grads, _room) = dense(cx, dy, filters.count)?;
    if x.ndim() == 4 {
        let planes = Planes::<f32>::new(x, false)?;
        let few = Algorithm::First.suits(&plain::shape(&planes, &filters, how), Pass::Filters);
        // SAFETY: as in `to_blocked_view`.
        unsafe {
            if few {
                first::weight_grad(cx.threads, &planes, &grads, &filters, how, add);
            } else {
                let (dy, _room) = plain_room(&grads, Slot::Results);
                from_blocked(cx.threads, &grads, &dy, false);
                implicit::weight_grad(cx.threads, [&planes, &dy, &filters], how, out.mode);
            }
        }
        return Ok(());
    }
    let (images, _other) = dense(cx, x, filters.channels * how.groups)?;
    let shape = plain::shape(&view_of(&images), &filters, how);
    let by = choose_blocked(&shape, Pass::Filters, wanted);
    // SAFETY: as in `to_blocked_view`.
    unsafe {
        if by != Algorithm::Implicit {
            fast::weight_grad(by, cx.threads, [&images, &grads], &filters, how, add);
            return Ok(());
        }
        let ((px, _a), (py, _b)) = (plain_room(&images, Slot::Images), plain_room(&grads, Slot::Results));
        from_blocked(cx.threads, &images, &px, false);
        from_blocked(cx.threads, &grads, &py, false);
        implicit::weight_grad(cx.threads, [&px, &py, &filters], how, out.mode);
    }
    Ok(())
}
