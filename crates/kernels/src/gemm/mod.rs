//! Matrix products. One blocked algorithm stands under everything: panels of both operands are packed by compile-time
//! hooks ([`PackA`], [`PackB`]), a register tile multiplies them, and a compile-time [`Epilogue`] finishes each tile while
//! it is in the nearest cache. Every value of C is one chain of operations over k in an order that depends on
//! the shape alone, so its bits do not depend on how C is cut among threads (nor on the number of them); they may differ
//! between instruction sets.
mod block;
mod dense;
mod epilogue;
mod gemv;
mod half;
mod instance;
mod int;
mod matmul;
#[cfg(target_arch = "aarch64")]
mod neon;
mod operand;
mod output;
mod pack;
mod parallel;
mod portable;
mod scratch;
mod simd;
mod tile;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use block::Product;
pub use dense::dense;
pub use epilogue::{Affine, Epilogue, Identity, Scale};
pub use half::HalfMat;
pub use matmul::{matmul, matmul_scaled};
pub(crate) use operand::Operand;
pub use output::{HalfMut, MatMut, Output};
pub use pack::{Mat, PackA, PackB, Scaled};
pub use parallel::{gemm, gemm_batch};
pub use scratch::{Scratch, Slot};
pub use simd::{Body, Real, Simd, Work, dispatch};
pub use tile::Tile;
