//! Linear algebra over leading batch axes.
pub mod blas;
pub mod equations;
pub mod orthogonal;
pub mod parts;
pub mod spectral;
pub mod triangular;

pub use blas::*;
pub use equations::*;
pub use orthogonal::*;
pub use parts::*;
pub use spectral::*;
pub use triangular::*;

use crate::cost::fma_per_ns;
use crate::def::{Call, Input, Meta, Metas, input};
use crate::infer::require_float;
use gluonish_base::{Cause, DType, Result};

const A: &[Input] = &[input("A")];
const AB: &[Input] = &[input("A"), input("B")];

/// The first input holds matrices of real numbers: how many rows and columns they have.
fn matrices(c: &Call<'_>) -> Result<(isize, isize)> {
    let v = &c.ins[0];
    require_float(v, "the matrix")?;
    match v.shape[..] {
        [.., m, n] => Ok((m, n)),
        _ => Err(Cause::Shape(format!("a matrix is needed, got shape {}", v.shape)).into()),
    }
}

/// Square matrices; the output is like them.
fn square(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (m, n) = matrices(c)?;
    let v = &c.ins[0];
    if m != n && m != -1 && n != -1 {
        return Err(Cause::Shape(format!("a square matrix is needed, got shape {}", v.shape)).into());
    }
    outs.push(Meta { shape: *v.shape, dtype: v.dtype });
    Ok(())
}

/// The type in which values of this type are computed.
fn working(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

/// A product of matrices as large as the first input and the output, times a factor.
fn cubic<const TIMES: u64>(c: &Call<'_>, outs: &[Meta]) -> u64 {
    let v = &c.ins[0];
    let n = v.shape.iter().rev().take(2).copied().min().unwrap_or(1).max(1) as u64;
    let steps = (v.size.max(outs[0].shape.size()) as u64).saturating_mul(n);
    steps.saturating_mul(TIMES).div_ceil(fma_per_ns(outs[0].dtype) / 4)
}
