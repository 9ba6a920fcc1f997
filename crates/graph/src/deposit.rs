//! Gradients that go straight into the buffers of their variables, with no array and no copy in between.
use crate::array::NDArray;
use crate::tape::node::{GradReq, Node};
use gluonish_kernels::Mode;
use gluonish_ops::Meta;
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

/// Fewer values are copied in less time than it takes to ask.
pub(crate) const MIN_SIZE: usize = 4096;

/// A variable's buffer, offered to the rule that makes the variable's whole gradient.
pub(crate) struct Deposit {
    /// Which input of the forward op the variable is.
    pub(crate) input: usize,
    pub(crate) buffer: NDArray,
    pub(crate) mode: Mode,
    /// Whether the rule took it.
    pub(crate) filled: Cell<bool>,
}
pub(crate) type Deposits = SmallVec<[Deposit; 2]>;

impl Deposit {
    /// The buffer of `leaf`, if a rule that reads `dys` may fill it: no hook is to see the gradient before, and neither the
    /// rule nor any that is still to run reads what is in the buffer now.
    pub(crate) fn of(leaf: &Node, input: usize, meta: &Meta, dys: &[Option<NDArray>]) -> Option<Deposit> {
        let inner = leaf.lock();
        let (buffer, req) = inner.grad.as_ref()?;
        let mode = match req {
            GradReq::Write => Mode::Write,
            GradReq::Add => Mode::Add,
            GradReq::Null => return None,
        };
        let storage = buffer.storage();
        let fits = *buffer.shape() == meta.shape && buffer.dtype() == meta.dtype && buffer.is_contiguous();
        let apart = dys.iter().flatten().all(|dy| dy.device() == buffer.device() && !dy.storage().same(storage));
        let unread = storage.tape.saved.load(Relaxed) == 0;
        let free = fits && apart && unread && inner.hooks.is_empty();
        free.then(|| Deposit { input, buffer: buffer.clone(), mode, filled: Cell::new(false) })
    }
}
