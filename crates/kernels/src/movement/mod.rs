//! Joining, repeating, rolling and framing arrays.
mod band;
mod join;
mod margin;
mod pad;
mod repeat;
mod roll;
mod staged;

pub use band::band;
pub use join::concat;
pub use margin::Edge;
pub use pad::{pad, pad_grad};
pub use repeat::{repeat, tile};
pub use roll::{roll, roll_flat, rolled};
pub(crate) use staged::through;
