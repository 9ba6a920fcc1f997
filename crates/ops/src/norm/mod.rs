//! Normalisation. The forward kernels keep the mean and the deviation of what they normalise, from which a gradient of
//! first order comes in one kernel; for higher orders the rows say how they decompose.
pub mod batch;
pub mod layer;
pub mod local;

use crate::attr::Attr;
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::View;

pub use batch::*;
pub use layer::*;
pub use local::*;

const TO_VARIANCE: &str = "Added to the variance, so that it is not 0.";

/// What is added under a root.
const fn stable(default: f64, doc: &'static str) -> Attr {
    Attr::float("eps", default, doc).within(0.0, f64::INFINITY)
}

/// A parameter must hold one number for each channel.
fn check_parameter(v: &View<'_>, name: &str, channels: isize, data: &Dims) -> Result {
    let wanted = Dims::of(&[channels]);
    if v.scalar.is_some() || *v.shape != wanted {
        let text = format!("{name} must have shape {wanted} for data of shape {data}, got {}", v.shape);
        return Err(Cause::Shape(text).into());
    }
    if !v.dtype.is_float() {
        return Err(Cause::DType(format!("{name} must have a floating type, got {}", v.dtype)).into());
    }
    Ok(())
}

/// A vector seen so that it broadcasts along one axis of `rank` dimensions.
fn along(r: &Rule<'_>, v: V, rank: usize, axis: usize) -> V {
    let mut shape = Dims::filled(rank, 1);
    shape[axis] = r.shape(v).size() as isize;
    r.reshape(v, shape)
}

/// The mean over axes, which stay as 1.
fn mean(r: &Rule<'_>, v: V, axes: Dims) -> V {
    let shape = r.shape(v);
    let count: isize = axes.iter().map(|a| shape[*a as usize]).product();
    r.mul(r.sum(v, axes, true), 1.0 / count.max(1) as f64)
}

/// `(x - mean) / deviation` over axes, without the mean where `center` does not ask for it.
fn normalized(r: &Rule<'_>, v: V, axes: Dims, eps: f64, center: bool) -> V {
    let away = if center { r.sub(v, mean(r, v, axes)) } else { v };
    r.div(away, r.sqrt(r.add(mean(r, r.square(away), axes), eps)))
}
