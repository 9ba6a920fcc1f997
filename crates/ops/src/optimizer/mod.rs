//! Rows that change weights. What is kept beside a weight is an input that the row writes over; the new weight is the
//! result, which `out=` usually puts where the old one was.
pub(crate) mod fused;
pub(crate) mod multi;
pub(crate) mod single;

use crate::attr::Attr;
use crate::def::{Call, Grad, Meta, Metas, Op};
use crate::infer::require_float;
use gluonish_base::{Cause, DType, Result};
use gluonish_kernels::update::{Gradient, Tensor};
use gluonish_kernels::{AttrVal, Attrs, Out, View};

const LR: Attr = Attr::float("lr", 0.0, "Learning rate.").defaulting(AttrVal::None);
const WD: Attr = Attr::float("wd", 0.0, "Decay of the weight, as a part of the gradient.");
const RESCALE: Attr = Attr::float("rescale_grad", 1.0, "Factor of the gradient.");
const CLIP: Attr = Attr::float("clip_gradient", -1.0, "Bound of the rescaled gradient's size; below 0: none.");
const MOMENTUM: Attr = Attr::float("momentum", 0.0, "How much of the last step is kept.");
const LAZY: Attr = Attr::bool("lazy_update", true, "For sparse gradients: changes nothing for others.");
const BETA1: Attr = Attr::float("beta1", 0.9, "How much of the mean of gradients is kept.");
const BETA2: Attr = Attr::float("beta2", 0.999, "How much of the mean of their squares is kept.");
const WEIGHTS: Attr = Attr::int("num_weights", 1, "Number of weights.").between(0, 1 << 20);

const NO_GRADIENT: Grad = Grad::Missing("it is a step of an optimizer, which is not differentiated");

fn gradient(attrs: &Attrs, rescale: usize, clip: usize) -> Gradient {
    Gradient { rescale: attrs.float(rescale), clip: attrs.float(clip) }
}

/// All but the weight stand behind weight and gradient, in the same order as the outputs behind the new weight.
fn behind(_: &Attrs, _: usize, output: usize) -> Option<usize> {
    (output > 0).then_some(output + 1)
}

const fn step(op: Op) -> Op {
    op.overlays(behind).in_place().no_grad(NO_GRADIENT)
}

/// An array that must have the shape of another, and a type.
fn require(v: &View<'_>, name: &str, like: &View<'_>, dtype: DType) -> Result {
    if v.shape != like.shape {
        return Err(
            Cause::Shape(format!("{name} of shape {} must have that of the weight, {}", v.shape, like.shape)).into()
        );
    }
    if v.dtype != dtype {
        let text = format!("{name} is {} and must be {dtype}, for a weight of {}", v.dtype, like.dtype);
        return Err(Cause::DType(text).into());
    }
    Ok(())
}

/// One weight among the inputs: itself, its gradient, its states and, where it is narrow, its copy in float32. Messages
/// say `which` it is.
fn check_one(ins: &[View<'_>], names: &[&str], wide: bool, which: impl Fn() -> String) -> Result {
    let weight = &ins[0];
    require_float(weight, "weights")?;
    if wide && weight.dtype == DType::F64 {
        return Err(Cause::DType("a weight of float64 has no use for a copy in float32".into()).into());
    }
    let dtype = if wide { DType::F32 } else { weight.dtype };
    ins.iter().zip(names).enumerate().skip(1).try_for_each(|(i, (v, name))| {
        let dtype = if i == 1 { weight.dtype } else { dtype };
        if v.shape == weight.shape && v.dtype == dtype {
            return Ok(());
        }
        require(v, &format!("{name}{}", which()), weight, dtype)
    })
}

/// The tensor of one weight, from its inputs and where its outputs are: the weight's, then those of all behind the gradient.
fn tensor<'a>(ins: &[View<'a>], to: View<'a>, over: &[Out<'a>], wide: bool) -> Tensor<'a> {
    let (master, kept) = match over.split_last().filter(|_| wide) {
        Some((master, kept)) => (Some(master.view), kept),
        None => (None, over),
    };
    let states = std::array::from_fn(|k| kept.get(k).map(|o| o.view));
    Tensor {
        weight: master.unwrap_or(ins[0]),
        out: master.unwrap_or(to),
        grad: ins[1],
        states,
        copy: master.map(|_| to),
    }
}

fn meta(v: &View<'_>) -> Meta {
    Meta { shape: *v.shape, dtype: v.dtype }
}

fn infer(c: &Call<'_>, outs: &mut Metas, names: &[&str], wide: bool) -> Result {
    check_one(c.ins, names, wide, String::new)?;
    outs.push(meta(&c.ins[0]));
    outs.extend(c.ins[2..].iter().map(meta));
    Ok(())
}
