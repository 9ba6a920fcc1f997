//! Random numbers: an op takes a ticket in program order, so the same seed gives the same bits on any number of threads.
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, Grad, Meta, Metas, Op, rows};
use gluonish_base::{Cause, DType, Result};
use gluonish_kernels::random as k;

const SHAPE: usize = 2;
const DTYPE: usize = 3;

const fn row(name: &'static str, doc: &'static str, attrs: &'static [Attr], body: Body) -> Op {
    Op::new(name, doc, &[], body).attrs(attrs).infer(infer).random().cost(Cost::Bytes(16.0)).no_grad(Grad::Zero)
}

fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    let dtype = c.attrs.dtype(DTYPE).unwrap_or(DType::F32);
    if !dtype.is_float() {
        return Err(Cause::DType(format!("random numbers of this distribution are floating, got dtype {dtype}")).into());
    }
    outs.push(Meta { shape: c.attrs.ints(SHAPE).copied().unwrap_or_default(), dtype });
    Ok(())
}

rows! {
    RANDOM_UNIFORM = row("random_uniform", "Uniform random numbers of [low, high).", &[
            Attr::float("low", 0.0, "Smallest value."),
            Attr::float("high", 1.0, "Bound that is not reached."),
            Attr::opt_ints("shape", "Shape of the result; a single number when None."),
            Attr::dtype("dtype", DType::F32, "Floating type of the result."),
        ], Body::Kernel(|cx, a, out| k::uniform(cx, a.attrs.float(0), a.attrs.float(1), &out[0])))
        .nd(&["random_uniform", "uniform"]).onnx("RandomUniform");
    RANDOM_NORMAL = row("random_normal", "Normally distributed random numbers.", &[
            Attr::float("loc", 0.0, "Mean."),
            Attr::float("scale", 1.0, "Standard deviation.").within(0.0, f64::INFINITY),
            Attr::opt_ints("shape", "Shape of the result; a single number when None."),
            Attr::dtype("dtype", DType::F32, "Floating type of the result."),
        ], Body::Kernel(|cx, a, out| k::normal(cx, a.attrs.float(0), a.attrs.float(1), &out[0])))
        .nd(&["random_normal", "normal"]).onnx("RandomNormal");
}
