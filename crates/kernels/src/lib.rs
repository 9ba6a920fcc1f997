//! CPU kernels: functions on views of memory. They know shapes, strides and element types, but no arrays, no engine and
//! no Python. A kernel is registered by its row in the op table alone.
pub mod add_n;
pub mod along;
pub mod attention;
pub mod attrs;
pub mod bins;
pub mod columns;
pub mod conv;
pub mod convert;
pub mod ctc;
pub mod dispatch;
pub mod fft;
pub mod formula;
pub mod gemm;
pub mod index;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod jit;
pub mod linalg;
pub mod map;
pub mod movement;
#[cfg(target_arch = "aarch64")]
mod neon;
pub mod plain;
pub mod pooling;
mod products;
pub mod ramp;
pub mod random;
pub mod reduce;
mod registers;
pub mod resize;
pub mod rnn;
mod room;
pub mod rotary;
pub mod rowwise;
pub mod scan;
pub mod sequence;
pub mod softmax;
pub mod sort;
pub mod update;
pub mod view;
pub mod walk;

pub use attrs::{AttrVal, Attrs};
pub use view::{Args, Cx, Kernel, Mode, Out, View};
