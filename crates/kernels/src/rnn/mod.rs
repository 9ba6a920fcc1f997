//! Recurrent networks: all layers and both directions in one kernel.
//!
//! The products of a layer's whole input with its weights are one product of matrices. The recurrent weights are packed
//! once; each step adds the product of the state with them and applies the gates to what each thread has just computed.
//! Threads take sequences through all steps where the weights fit each one's cache, else hidden units step by step
//! (`split.rs`). Each value is one chain of operations, so the bits do not depend on how many there are. What the gradient
//! reads (gates, states, outputs of layers) is the forward's second result: the reserve.
mod backward;
mod cell;
mod dropout;
mod forward;
mod net;
mod split;

pub use backward::{Grads, backward};
pub use dropout::mask;
pub use forward::{Results, forward};
pub use net::{Cell, Clip, Net};
