//! THE op table: one row per op. Python functions, methods, signatures, stubs, docs, gradients, fusion and tests derive
//! from the rows. Rows see metadata and views, never arrays.
pub mod attr;
pub mod cost;
pub mod def;
pub mod infer;
pub mod registry;
pub mod rule;

mod activation;
mod amp;
mod binary;
mod bitwise;
mod compare;
mod contrib;
mod conv;
mod conv_blocked;
mod create;
mod cross_entropy;
mod dense;
mod dropout;
mod elemwise;
mod embedding;
mod fft;
mod index;
mod linalg;
mod matmul;
mod movement;
mod norm;
mod numpy;
mod optimizer;
mod outputs;
mod pooling;
mod random;
mod reduce;
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
    pub use crate::activation::*;
    pub use crate::amp::*;
    pub use crate::binary::*;
    pub use crate::bitwise::*;
    pub use crate::compare::*;
    pub use crate::contrib::*;
    pub use crate::conv::*;
    pub use crate::conv_blocked::*;
    pub use crate::create::*;
    pub use crate::cross_entropy::*;
    pub use crate::dense::*;
    pub use crate::dropout::*;
    pub use crate::elemwise::*;
    pub use crate::embedding::*;
    pub use crate::fft::*;
    pub use crate::index::*;
    pub use crate::linalg::*;
    pub use crate::matmul::*;
    pub use crate::movement::*;
    pub use crate::norm::*;
    pub use crate::numpy::*;
    pub use crate::optimizer::multi::*;
    pub use crate::optimizer::single::*;
    pub use crate::outputs::*;
    pub use crate::pooling::*;
    pub use crate::random::*;
    pub use crate::reduce::*;
    pub use crate::softmax::*;
    pub use crate::sort::*;
    pub use crate::special::*;
    pub use crate::unary::*;
}
