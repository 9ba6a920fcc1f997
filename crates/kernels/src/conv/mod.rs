//! Convolution and its two gradients, on images of one to three spatial axes, channels first or last.
#[doc(hidden)]
pub mod apart;
mod blocked;
mod choose;
mod depthwise;
mod direct;
mod fast;
mod gather;
mod geometry;
mod implicit;
mod kept;
mod operand;
mod plain;
mod stay;
mod winograd;

pub use blocked::lanes;
pub use choose::{Algorithm, Pass, Shape, choose, choose_blocked, wanted};
pub(crate) use geometry::Planes;
pub use geometry::{Extent, How};
pub use stay::{Ending, blocked_data_grad, blocked_forward, blocked_weight_grad, from_blocked_view, to_blocked_view};

use crate::convert::copy_view;
use crate::gemm::Real;
use crate::linalg::in_type;
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{DType, Result};

/// In which type values of `dtype` are multiplied and added.
fn computed_in(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

/// The planes of three operands.
fn planes<T>(views: [&View<'_>; 3], how: &How) -> Result<[Planes<T>; 3]> {
    let plane = |v| Planes::new(v, how.channels_last);
    Ok([plane(views[0])?, plane(views[1])?, plane(views[2])?])
}

/// The name of an operand's contents, where the kernel reads the operand itself and not a copy in another type.
fn stamp(cx: &Cx, given: &View<'_>) -> Option<kept::Stamp> {
    cx.stamp.filter(|_| given.dtype == DType::F32)
}

/// `out = conv(x, w) + bias`. Shapes fit each other; the types are one floating type. `wanted` is an algorithm to prefer.
pub fn forward(
    cx: &Cx,
    [x, w]: [&View<'_>; 2],
    bias: Option<&View<'_>>,
    how: &How,
    wanted: Option<Algorithm>,
    out: &Out<'_>,
) -> Result {
    let kind = computed_in(out.view.dtype);
    let ins: Vec<View<'_>> = [x, w].into_iter().chain(bias).copied().collect();
    in_type(cx, kind, &ins, &[*out], |ins, outs| {
        let (operands, mode) = ([&ins[0], &ins[1], &outs[0].view], outs[0].mode);
        // SAFETY: views are valid for their shapes, which the row has checked; an output overlaps no input.
        unsafe {
            if kind == DType::F64 {
                let bias = ins.get(2).map(even_bias::<f64>);
                let [x, w, y] = planes::<f64>(operands, how)?;
                implicit::forward(cx.threads, [&x, &w, &y], bias.as_ref().map(|b| b.as_ptr()), how, mode);
            } else {
                let bias = ins.get(2).map(even_bias::<f32>);
                let [x, o, y] = planes::<f32>(operands, how)?;
                plain::forward(cx.threads, [&x, &o, &y], bias.as_deref(), how, wanted, mode, stamp(cx, w));
            }
        }
        Ok(())
    })
}

/// The bias as a list: a view may have any stride.
fn even_bias<T: Real>(b: &View<'_>) -> Vec<T> {
    // SAFETY: the view has that many elements, so far apart.
    (0..b.size).map(|i| unsafe { *b.as_ptr::<T>().wrapping_offset(i as isize * b.strides[0]) }).collect()
}

/// The gradient of `x`, from that of the result. The output has the shape of `x`.
pub fn data_grad(cx: &Cx, [dy, w]: [&View<'_>; 2], how: &How, wanted: Option<Algorithm>, out: &Out<'_>) -> Result {
    let kind = computed_in(out.view.dtype);
    in_type(cx, kind, &[*dy, *w], &[*out], |ins, outs| {
        let (operands, mode) = ([&ins[0], &ins[1], &outs[0].view], outs[0].mode);
        // SAFETY: as in `forward`.
        unsafe {
            if kind == DType::F64 {
                let [dy, w, dx] = planes::<f64>(operands, how)?;
                implicit::data_grad(cx.threads, [&dy, &w, &dx], how, mode);
            } else {
                let [dy, o, dx] = planes::<f32>(operands, how)?;
                plain::data_grad(cx.threads, [&dy, &o, &dx], how, wanted, mode, stamp(cx, w));
            }
        }
        Ok(())
    })
}

/// The gradient of the filters. The output has their shape.
pub fn weight_grad(cx: &Cx, [x, dy]: [&View<'_>; 2], how: &How, wanted: Option<Algorithm>, out: &Out<'_>) -> Result {
    let kind = computed_in(out.view.dtype);
    in_type(cx, kind, &[*x, *dy], &[*out], |ins, outs| {
        let operands = [&ins[0], &ins[1], &outs[0].view];
        if kind == DType::F64 {
            return implicit_weight_grad::<f64>(cx, operands, how, outs[0].mode);
        }
        let [x, dy, dw] = planes::<f32>(operands, how)?;
        // SAFETY: as in `forward`.
        if unsafe { plain::weight_grad(cx.threads, [&x, &dy, &dw], how, wanted, outs[0].mode) } {
            return Ok(());
        }
        implicit_weight_grad::<f32>(cx, operands, how, outs[0].mode)
    })
}

/// The general way, for which the gradient's places must be evenly spaced: a copy of it where they are not.
fn implicit_weight_grad<T: Real>(cx: &Cx, [x, dy, dw]: [&View<'_>; 3], how: &How, mode: Mode) -> Result {
    let mut even = Vec::<T>::new();
    let strides = dy.shape.contiguous_strides();
    let mut dy = *dy;
    if Planes::<T>::new(&dy, how.channels_last)?.even().is_none() {
        even.resize(dy.size, T::default());
        let copy = View::contiguous(even.as_mut_ptr().cast(), dy.dtype, dy.shape, &strides);
        copy_view(cx, &dy, &Out { view: copy, mode: Mode::Write })?;
        dy = copy;
    }
    let [x, dy, dw] = planes::<T>([x, &dy, dw], how)?;
    // SAFETY: as in `forward`.
    unsafe { implicit::weight_grad(cx.threads, [&x, &dy, &dw], how, mode) };
    Ok(())
}
