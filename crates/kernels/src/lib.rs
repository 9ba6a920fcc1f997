//! CPU kernels: functions on views of memory. They know shapes, strides and element types, but no arrays, no engine and
//! no Python. A kernel is registered by its row in the op table alone.
pub mod attrs;
pub mod view;

pub use attrs::{AttrVal, Attrs};
pub use view::{Args, Cx, Kernel, Mode, Out, View};
