//! The list of all rows, and lookup by name.
use crate::def::Op;
use std::collections::HashMap;
use std::sync::OnceLock;

static FAMILIES: &[&[&Op]] = &[
    crate::unary::ROWS,
    crate::binary::ROWS,
    crate::activation::ROWS,
    crate::special::ROWS,
    crate::elemwise::ROWS,
    crate::numpy::ROWS,
    crate::contrib::ROWS,
    crate::compare::ROWS,
    crate::bitwise::ROWS,
    crate::reduce::ROWS,
    crate::reduce::arg::ROWS,
    crate::reduce::nan::ROWS,
    crate::reduce::variance::ROWS,
    crate::reduce::size::ROWS,
    crate::reduce::scan::ROWS,
    crate::reduce::bins::ROWS,
    crate::matmul::ROWS,
    crate::conv::ROWS,
    crate::conv_blocked::ROWS,
    crate::dense::ROWS,
    crate::pooling::ROWS,
    crate::optimizer::single::ROWS,
    crate::optimizer::multi::ROWS,
    crate::optimizer::fused::ROWS,
    crate::norm::batch::ROWS,
    crate::norm::layer::ROWS,
    crate::norm::local::ROWS,
    crate::movement::shape::ROWS,
    crate::movement::axes::ROWS,
    crate::movement::broadcast::ROWS,
    crate::movement::slice::ROWS,
    crate::movement::join::ROWS,
    crate::movement::repeat::ROWS,
    crate::movement::pad::ROWS,
    crate::movement::diagonal::ROWS,
    crate::movement::cast::ROWS,
    crate::index::take::ROWS,
    crate::index::pick::ROWS,
    crate::index::one_hot::ROWS,
    crate::index::places::ROWS,
    crate::index::mask::ROWS,
    crate::index::coordinates::ROWS,
    crate::sort::ROWS,
    crate::softmax::ROWS,
    crate::cross_entropy::ROWS,
    crate::outputs::ROWS,
    crate::dropout::ROWS,
    crate::embedding::ROWS,
    crate::amp::ROWS,
    crate::sequence::ROWS,
    crate::resample::ROWS,
    crate::interleaved::ROWS,
    crate::rnn::ROWS,
    crate::attention::ROWS,
    crate::ctc::ROWS,
    crate::random::ROWS,
    crate::random::like::ROWS,
    crate::random::sample::ROWS,
    crate::random::bound::ROWS,
    crate::random::choose::ROWS,
    crate::random::pdf::ROWS,
    crate::create::ROWS,
    crate::linalg::triangular::ROWS,
    crate::linalg::blas::ROWS,
    crate::linalg::equations::ROWS,
    crate::linalg::orthogonal::ROWS,
    crate::linalg::spectral::ROWS,
    crate::linalg::parts::ROWS,
    crate::fft::ROWS,
    crate::testing::ROWS,
];

/// All rows, family by family.
pub fn table() -> impl Iterator<Item = &'static Op> {
    FAMILIES.iter().flat_map(|f| f.iter().copied())
}

/// The row of this name (its own, not one of a face).
pub fn find(name: &str) -> Option<&'static Op> {
    static BY_NAME: OnceLock<HashMap<&'static str, &'static Op>> = OnceLock::new();
    BY_NAME.get_or_init(|| table().map(|op| (op.name, op)).collect()).get(name).copied()
}
