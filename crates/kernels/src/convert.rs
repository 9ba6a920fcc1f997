//! Values of one element type as another, and copies of views: contiguous, strided, broadcast, transposed.
//!
//! Casts follow NumPy: a float becomes an integer by truncation (saturating where it does not fit, NaN becomes 0), an
//! integer wraps into a narrower one, anything but zero is true, and float16 and bfloat16 are rounded to nearest even.
mod cast;
mod copy;
mod cross;
mod half;
mod same;
mod transpose;

pub(crate) use cast::{Cast, cast_fn};
pub(crate) use copy::{Side, copy_tile, packed};
pub use copy::{copy_view, fill};
