//! A layer's product: rows of data with rows of weights, and a bias in the same pass.
use super::block::Product;
use super::epilogue::Affine;
use super::matmul::matmul;
use super::output::MatMut;
use super::pack::Mat;
use super::parallel::gemm;
use super::simd::Real;
use crate::linalg::in_type;
use crate::view::{Cx, Out, View};
use gluonish_base::{DType, Dims, Result};

/// `out = x @ w.T + bias`, for matrices that fit each other.
pub fn dense(cx: &Cx, x: &View<'_>, w: &View<'_>, bias: Option<&View<'_>>, out: &Out<'_>) -> Result {
    let kind = if out.view.dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let ins: Vec<View<'_>> = [x, w].into_iter().chain(bias).copied().collect();
    in_type(cx, kind, &ins, &[*out], |ins, outs| {
        let Some(bias) = ins.get(2) else {
            let (shape, strides) = (transposed(ins[1].shape), transposed(ins[1].strides));
            let w = View { shape: &shape, strides: &strides, contiguous: shape.is_contiguous(&strides), ..ins[1] };
            return matmul(cx, &ins[0], &w, &outs[0]);
        };
        match kind {
            DType::F64 => with_bias::<f64>(cx, &ins[0], &ins[1], bias, &outs[0]),
            _ => with_bias::<f32>(cx, &ins[0], &ins[1], bias, &outs[0]),
        }
        Ok(())
    })
}

fn transposed(d: &Dims) -> Dims {
    Dims::of(&[d[1], d[0]])
}

fn with_bias<T: Real>(cx: &Cx, x: &View<'_>, w: &View<'_>, bias: &View<'_>, out: &Out<'_>) {
    // A view may have any stride; the epilogue reads neighbours.
    // SAFETY: the view has that many elements, so far apart.
    let at = |i: usize| unsafe { *bias.as_ptr::<T>().wrapping_offset(i as isize * bias.strides[0]) };
    let bias: Vec<T> = (0..bias.size).map(at).collect();
    let [m, k, n] = [x.shape[0], x.shape[1], w.shape[0]].map(|d| d as usize);
    let product = Product {
        m,
        n,
        k,
        a: Mat::new(x.as_ptr::<T>().cast_const(), x.strides[0], x.strides[1]),
        b: Mat::new(w.as_ptr::<T>().cast_const(), w.strides[1], w.strides[0]),
        c: MatMut::new(out.view.as_ptr::<T>(), out.view.strides[0], out.view.strides[1]),
        mode: out.mode,
        e: Affine::<T, false, false, true, false, false>::bias(bias.as_ptr()),
    };
    // SAFETY: the shapes are checked by the row; views are valid for their shapes, and an output overlaps no input.
    unsafe { gemm::<T, _, _, _, _>(cx.threads, product) }
}
