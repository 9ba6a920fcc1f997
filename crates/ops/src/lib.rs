//! THE op table: one row per op. Python functions, methods, signatures, stubs, docs, gradients, fusion and tests derive
//! from the rows. Rows see metadata and views, never arrays.
pub mod attr;
pub mod cost;
pub mod def;
pub mod infer;
pub mod registry;
pub mod rule;

mod attention;
mod binary;
mod bitwise;
mod compare;
mod contrib;
mod conv;
mod create;
mod ctc;
mod dense;
mod elemwise;
mod fft;
mod index;
mod interleaved;
mod linalg;
mod matmul;
mod movement;
mod numpy;
mod pooling;
mod random;
mod reduce;
mod resample;
mod rnn;
mod sequence;
mod softmax;
mod sort;
mod special;
pub mod testing;
mod unary;

pub use attr::{Attr, Kind};
pub use def::{Body, Call, Flags, Grad, Input, InputKind, Layout, Meta, Metas, Op, Output, Save, Viewed};
pub use registry::{find, table};
pub use rule::{Emit, Rule, V, Vs};

/// Rows that other crates call by name in Rust.
pub mod rows {
    pub use crate::attention::*;
    pub use crate::binary::*;
    pub use crate::bitwise::*;
    pub use crate::compare::*;
    pub use crate::contrib::*;
    pub use crate::conv::*;
    pub use crate::create::*;
    pub use crate::ctc::*;
    pub use crate::dense::*;
    pub use crate::elemwise::*;
    pub use crate::fft::*;
    pub use crate::index::*;
    pub use crate::interleaved::*;
    pub use crate::linalg::*;
    pub use crate::matmul::*;
    pub use crate::movement::*;
    pub use crate::numpy::*;
    pub use crate::pooling::*;
    pub use crate::random::*;
    pub use crate::reduce::*;
    pub use crate::resample::*;
    pub use crate::rnn::*;
    pub use crate::sequence::*;
    pub use crate::softmax::*;
    pub use crate::sort::*;
    pub use crate::special::*;
    pub use crate::unary::*;
}
