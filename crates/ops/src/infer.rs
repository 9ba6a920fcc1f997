//! Shape and type rules that several rows share.
use crate::def::{Call, Meta, Metas};
use gluonish_base::{Cause, DType, Dims, Result, Scalar};
use gluonish_kernels::View;
use gluonish_kernels::map::{Class, Map};

/// A shape and type rule.
pub type Infer = fn(&Call<'_>, &mut Metas) -> Result;

/// The rule that fits what a formula computes.
pub const fn of_map(map: &Map) -> Infer {
    if map.is_truth() {
        truth
    } else if map.has(Class::I32) {
        arithmetic
    } else {
        floating
    }
}

/// The output is like the first input.
pub fn same(c: &Call<'_>, outs: &mut Metas) -> Result {
    outs.push(Meta { shape: *c.ins[0].shape, dtype: c.ins[0].dtype });
    Ok(())
}

/// The type in which operands meet: arrays promote, Python numbers yield.
#[inline]
pub fn promoted(ins: &[View<'_>]) -> DType {
    let mut arrays: Option<DType> = None;
    let mut scalars = false;
    for v in ins {
        if v.scalar.is_some() {
            scalars = true;
        } else {
            arrays = Some(arrays.map_or(v.dtype, |d| d.promote(v.dtype)));
        }
    }
    if ins.len() > 2 && arrays == Some(DType::F64) {
        arrays = Some(widest(ins));
    }
    if !scalars {
        return arrays.unwrap_or(DType::F32);
    }
    let numbers = ins.iter().filter_map(|v| v.scalar);
    numbers.fold(arrays, |d, s| Some(d.map_or(s.dtype(), |d| d.with_scalar(s)))).unwrap_or(DType::F32)
}

/// The type of several arrays that met as float64: integers of which no type holds all count for nothing beside floats.
#[cold]
fn widest(ins: &[View<'_>]) -> DType {
    let arrays = ins.iter().filter(|v| v.scalar.is_none() && v.dtype.is_float());
    arrays.map(|v| v.dtype).reduce(DType::promote).unwrap_or(DType::F64)
}

/// The shape that all operands broadcast to.
#[inline]
pub fn broadcast_shape(ins: &[View<'_>]) -> Result<Dims> {
    let mut shape = *ins[0].shape;
    for v in &ins[1..] {
        if v.shape.is_empty() || *v.shape == shape {
            continue;
        }
        shape = shape.broadcast(v.shape).ok_or(Cause::Broadcast { lhs: shape, rhs: *v.shape })?;
    }
    Ok(shape)
}

/// A Python integer that the result cannot hold is an error, not a wrapped value.
#[inline]
fn check_scalars(ins: &[View<'_>], dtype: DType) -> Result {
    for v in ins {
        if let Some(s @ Scalar::Int(_)) = v.scalar
            && !s.fits(dtype)
        {
            return Err(Cause::Overflow(format!(
                "the number {s} does not fit in {dtype}; cast the array to a wider type first"
            ))
            .into());
        }
    }
    Ok(())
}

/// Elementwise on numbers of any type.
#[inline]
pub fn arithmetic(c: &Call<'_>, outs: &mut Metas) -> Result {
    let dtype = promoted(c.ins);
    check_scalars(c.ins, dtype)?;
    outs.push(Meta { shape: broadcast_shape(c.ins)?, dtype });
    Ok(())
}

/// As `arithmetic`, but bool with bool counts: the result is an integer.
#[inline]
pub fn counting(c: &Call<'_>, outs: &mut Metas) -> Result {
    arithmetic(c, outs)?;
    if outs[0].dtype == DType::Bool {
        outs[0].dtype = DType::I64;
    }
    Ok(())
}

/// Elementwise on real numbers: integers become float32.
#[inline]
pub fn floating(c: &Call<'_>, outs: &mut Metas) -> Result {
    outs.push(Meta { shape: broadcast_shape(c.ins)?, dtype: promoted(c.ins).to_float() });
    Ok(())
}

/// Elementwise truth.
#[inline]
pub fn truth(c: &Call<'_>, outs: &mut Metas) -> Result {
    outs.push(Meta { shape: broadcast_shape(c.ins)?, dtype: DType::Bool });
    Ok(())
}

/// The type in which a comparison is made; a Python integer beyond the arrays' type widens it.
#[inline]
pub fn comparison_type(ins: &[View<'_>]) -> DType {
    let dtype = promoted(ins);
    let fits = ins.iter().all(|v| v.scalar.is_none_or(|s| s.fits(dtype)));
    if fits { dtype } else { dtype.promote(DType::I64) }
}

/// Refuses what has no order or no arithmetic here.
pub fn require_float(v: &View<'_>, what: &str) -> Result {
    if v.dtype.is_float() {
        return Ok(());
    }
    Err(Cause::DType(format!("{what} must have a floating type, got {}; use astype()", v.dtype)).into())
}

/// The input's shape without (or with 1 in place of) the axes in `set`.
pub fn reduced(shape: &Dims, set: u32, keepdims: bool) -> Dims {
    let mut out = Dims::EMPTY;
    for (i, &d) in shape.iter().enumerate() {
        if set >> i & 1 == 0 {
            out.push(d);
        } else if keepdims {
            out.push(1);
        }
    }
    out
}
