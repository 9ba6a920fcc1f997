//! Convolution and its two gradients, on images of one to three spatial axes, channels first or last.
#[doc(hidden)]
pub mod apart;
mod blocked;
mod depthwise;
mod gather;
mod geometry;
mod implicit;
mod operand;
mod winograd;

pub(crate) use geometry::Planes;
pub use geometry::{Extent, How};

use crate::convert::copy_view;
use crate::gemm::Real;
use crate::linalg::in_type;
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{DType, Result};

/// In which type values of `dtype` are multiplied and added.
fn computed_in(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

/// `with_real!(dtype, T => call)`: for the two types that are computed with.
macro_rules! with_real {
    ($d:expr, $T:ident => $e:expr) => {
        match $d {
            DType::F64 => crate::by_dtype!(@ $T = f64, $e),
            _ => crate::by_dtype!(@ $T = f32, $e),
        }
    };
}

/// `out = conv(x, w) + bias`. Shapes fit each other; the types are one floating type.
pub fn forward(cx: &Cx, x: &View<'_>, w: &View<'_>, bias: Option<&View<'_>>, how: &How, out: &Out<'_>) -> Result {
    let kind = computed_in(out.view.dtype);
    let ins: Vec<View<'_>> = [x, w].into_iter().chain(bias).copied().collect();
    in_type(cx, kind, &ins, &[*out], |ins, outs| {
        with_real!(kind, T => {
            let bias = ins.get(2).map(even_bias::<T>);
            // SAFETY: views are valid for their shapes, which the row has checked; an output overlaps no input.
            unsafe {
                let planes = [&plane::<T>(&ins[0], how)?, &plane(&ins[1], how)?, &plane(&outs[0].view, how)?];
                implicit::forward(cx.threads, planes, bias.as_ref().map(|b| b.as_ptr()), how, outs[0].mode);
            }
        });
        Ok(())
    })
}

fn plane<T>(v: &View<'_>, how: &How) -> Result<Planes<T>> {
    Planes::new(v, how.channels_last)
}

/// The bias as a list: a view may have any stride.
fn even_bias<T: Real>(b: &View<'_>) -> Vec<T> {
    // SAFETY: the view has that many elements, so far apart.
    (0..b.size).map(|i| unsafe { *b.as_ptr::<T>().wrapping_offset(i as isize * b.strides[0]) }).collect()
}

/// The gradient of `x`, from that of the result. The output has the shape of `x`.
pub fn data_grad(cx: &Cx, dy: &View<'_>, w: &View<'_>, how: &How, out: &Out<'_>) -> Result {
    let kind = computed_in(out.view.dtype);
    in_type(cx, kind, &[*dy, *w], &[*out], |ins, outs| {
        // SAFETY: as in `forward`.
        with_real!(kind, T => unsafe {
            let planes = [&plane::<T>(&ins[0], how)?, &plane(&ins[1], how)?, &plane(&outs[0].view, how)?];
            implicit::data_grad(cx.threads, planes, how, outs[0].mode);
        });
        Ok(())
    })
}

/// The gradient of the filters. The output has their shape.
pub fn weight_grad(cx: &Cx, x: &View<'_>, dy: &View<'_>, how: &How, out: &Out<'_>) -> Result {
    let kind = computed_in(out.view.dtype);
    in_type(cx, kind, &[*x, *dy], &[*out], |ins, outs| {
        with_real!(kind, T => {
            let mut even = Vec::<T>::new();
            let strides = ins[1].shape.contiguous_strides();
            let mut dy = ins[1];
            if plane::<T>(&dy, how)?.even().is_none() {
                even.resize(dy.size, T::default());
                let copy = View::contiguous(even.as_mut_ptr().cast(), kind, dy.shape, &strides);
                copy_view(cx, &dy, &Out { view: copy, mode: Mode::Write })?;
                dy = copy;
            }
            // SAFETY: as in `forward`.
            unsafe {
                let planes = [&plane::<T>(&ins[0], how)?, &plane(&dy, how)?, &plane(&outs[0].view, how)?];
                implicit::weight_grad(cx.threads, planes, how, outs[0].mode);
            }
        });
        Ok(())
    })
}
