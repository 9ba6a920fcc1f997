//! What the executor runs on each tile: loads, steps, outputs. Places number the pointers of a tile: first the loads, then
//! the constants, then the slots.
use super::sweep::Loops;
use super::{Class, MAX_INPUTS};
use gluonish_base::DType;

/// Brings an input into lanes.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) input: u16,
    pub(crate) class: Class,
    /// The last step that reads it, or `PASSED_ON`.
    pub(crate) last_read: u16,
}
/// The load is itself an output: it is read once more after all steps, when other outputs may have been written over it.
pub(crate) const PASSED_ON: u16 = u16::MAX;

#[derive(Clone, Copy)]
pub(crate) enum Work {
    Loop(Loops),
    /// Lanes of a class as elements of a type, widened again to lanes of that type's class.
    Cast {
        from: Class,
        via: DType,
    },
}

#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) work: Work,
    pub(crate) args: [u16; MAX_INPUTS],
    pub(crate) arity: u8,
    pub(crate) dst: u16,
}

#[derive(Clone, Copy)]
pub(crate) struct OutSpec {
    pub(crate) place: u16,
    pub(crate) class: Class,
    /// The step that makes it; none for what only passes through.
    pub(crate) made: Option<u16>,
}

#[derive(Clone, Copy)]
pub(crate) struct Body<'a> {
    pub(crate) loads: &'a [Load],
    pub(crate) consts: &'a [([u8; 8], Class)],
    pub(crate) steps: &'a [Step],
    pub(crate) outs: &'a [OutSpec],
    pub(crate) slots: usize,
}

impl Body<'_> {
    pub(crate) fn places(&self) -> usize {
        self.loads.len() + self.consts.len() + self.slots
    }
    /// Place of the first slot.
    pub(crate) fn first_slot(&self) -> usize {
        self.loads.len() + self.consts.len()
    }
}
