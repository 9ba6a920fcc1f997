//! Linear algebra over leading batch axes. Triangular systems and Cholesky factors are recursive over our own products;
//! LU, QR, eigenvalues and singular values come from `faer`, but for small matrices, where reflections one by one are
//! faster. One matrix is one thread's: the matrices of a batch are shared among threads, and so are the columns of what is
//! solved for or rotated back. How they are cut depends on the shapes alone, so the bits do not depend on the number of
//! threads.
mod balance;
mod cholesky;
mod cofactor;
mod lift;
mod lu;
mod orthogonal;
mod parts;
mod small;
mod small_eigh;
mod small_qr;
mod small_svd;
mod spectral;
mod triangular;
mod work;

pub use cholesky::potrf;
pub use cofactor::cofactors;
pub(crate) use lift::in_lines;
pub use lift::in_type;
pub use lu::{determinant, inverse, log_determinant, solve};
pub use orthogonal::qr;
pub use parts::{extract_triangle, make_triangle, triangle_size};
pub use spectral::{eigh, eigvalsh, pinv, singular_values, svd};
pub use triangular::{potri, triangle, trsm};

use crate::gemm::Real;
use crate::view::{Out, View};
use gluonish_base::{Cause, DType, Dims, Error, Result};
use std::ops::{Div, Sub};

/// A real number with what decompositions need beyond products.
trait Number: Real + Sub<Output = Self> + Div<Output = Self> {
    const MINUS_ONE: Self;
    const EPSILON: f64;
    /// The smallest number with all its digits.
    const SMALLEST: f64;
    const DTYPE: DType;
    fn of(x: f64) -> Self;
    fn to_f64(self) -> f64;
    /// Zero, or so that squares, and sums of them, neither overflow nor vanish when they are made in float64.
    #[inline(always)]
    fn is_moderate(self) -> bool {
        let size = self.to_f64().abs();
        size == 0.0 || (1e-120..1e120).contains(&size)
    }
}
macro_rules! number {
    ($t:ident, $dtype:ident) => {
        impl Number for $t {
            const MINUS_ONE: $t = -1.0;
            const EPSILON: f64 = $t::EPSILON as f64;
            const SMALLEST: f64 = $t::MIN_POSITIVE as f64;
            const DTYPE: DType = DType::$dtype;
            #[inline(always)]
            fn of(x: f64) -> $t {
                x as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    };
}
number!(f32, F32);
number!(f64, F64);

/// A number that `faer` computes with.
trait Field: Number + faer::traits::RealField {
    /// Eigenvalue problems of at least this size are cut in two: where that begins to pay was measured.
    const RECURSE: usize;
}
impl Field for f32 {
    const RECURSE: usize = 32;
}
impl Field for f64 {
    const RECURSE: usize = 128;
}

/// Calls `$f::<T>` for the type that values of a view are computed in: float64 for itself, float32 for all others.
macro_rules! in_working_type {
    ($view:expr, $f:ident($($arg:expr),*)) => {
        match $view.dtype {
            gluonish_base::DType::F64 => $f::<f64>($($arg),*),
            _ => $f::<f32>($($arg),*),
        }
    };
}
use in_working_type;

/// The size of square matrices.
fn square(v: &View<'_>) -> Result<usize> {
    let n = v.ndim();
    if n < 2 || v.shape[n - 1] != v.shape[n - 2] {
        return Err(Cause::Shape(format!("a square matrix is needed, got shape {}", v.shape)).into());
    }
    Ok(v.shape[n - 1] as usize)
}

/// Calls `f` with the matrices of an output transposed.
pub fn with_transposed(out: &Out<'_>, f: impl FnOnce(&Out<'_>) -> Result) -> Result {
    let (mut shape, mut strides) = (*out.view.shape, *out.view.strides);
    let n = shape.len();
    if n >= 2 {
        shape.swap(n - 1, n - 2);
        strides.swap(n - 1, n - 2);
    }
    let contiguous = shape.is_contiguous(&strides);
    f(&Out { view: View { shape: &shape, strides: &strides, contiguous, ..out.view }, mode: out.mode })
}

/// The error of matrix `i` of a batch.
#[cold]
fn trouble(batch: &Dims, i: usize, what: &str) -> Error {
    let which = match batch.len() {
        0 => "the matrix".to_string(),
        1 => format!("matrix {i} of the batch"),
        _ => {
            let (mut at, mut rest) = (*batch, i);
            for d in (0..batch.len()).rev() {
                at[d] = (rest % batch[d].max(1) as usize) as isize;
                rest /= batch[d].max(1) as usize;
            }
            format!("matrix {at} of the batch")
        }
    };
    Cause::LinAlg(format!("{which} {what}")).into()
}
