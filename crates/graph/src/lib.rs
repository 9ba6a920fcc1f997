//! Arrays, the one entry for every op, and gradients. `invoke(op, inputs, attrs)` is the way an op runs, from Python,
//! from a gradient rule or from Rust.
mod array;
mod array_bytes;
mod backward;
mod beside;
mod deposit;
mod emit;
mod fused;
mod host;
mod index;
mod invoke;
mod launch;
mod meeting;
mod plan;
mod random;
mod tape;
mod update;
mod write;

pub use array::{NDArray, RawArray};
pub use backward::{Backward, backward, gradients};
pub use host::{Host, Poll, Waiting, block, install, shutdown, wait};
pub use index::{Index, Part, assign_at, parse_index, select_at};
pub use invoke::{
    In, Outs, current_device, full, invoke, invoke_binary, invoke_number, invoke_on, invoke_reflected, invoke_unary,
    select, transpose,
};
pub use launch::{INLINE_NS, call_back, set_inline};
pub use meeting::sum_over_devices;
pub use random::{seed, ticket};
pub use tape::{
    Custom, GradReq, Hook, add_hook, attach_grad, detach, drop_graph, forget_held, grad_of, is_leaf, kept_bytes,
    mark_variable, record_custom, remove_hook, visit_held,
};
pub use write::{assign, commit_into, copy_into, invoke_into, invoke_into_all};
