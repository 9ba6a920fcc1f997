//! The rare part of a storage's state: its error, and fences of device work.
use crate::fence::{Fence, Fences};
use gluonish_base::Error;

/// What most storages never have.
#[derive(Default)]
pub(crate) struct Cold {
    pub(crate) error: Option<Error>,
    /// Work that writes the value.
    written: Fences,
    /// Work that reads it, or that used the memory for something else before.
    read: Fences,
}

impl Cold {
    /// A write comes after all there was, so it replaces all fences.
    pub(crate) fn attach(&mut self, fence: Fence, write: bool) {
        if write {
            self.read.clear();
            self.written.clear();
            self.written.push(fence);
        } else {
            fence.join(&mut self.read);
        }
    }

    /// Forgets what has retired; true when the value turned out to be an error.
    pub(crate) fn settle(&mut self) -> bool {
        self.read.retain(|f| !f.retired());
        let mut failed = None;
        self.written.retain(|f| {
            if !f.retired() {
                return true;
            }
            failed = failed.take().or_else(|| f.failure());
            false
        });
        let poisoned = failed.is_some();
        if poisoned {
            self.error = failed;
        }
        poisoned
    }

    pub(crate) fn is_clear(&self) -> bool {
        self.read.is_empty() && self.written.is_empty()
    }

    /// What a use has to come after: a read after the write, a write after everything.
    pub(crate) fn before(&self, write: bool) -> Fences {
        let mut all = self.written.clone();
        if write {
            self.read.iter().for_each(|f| f.join(&mut all));
        }
        all
    }

    /// Fences of work that has not retired.
    pub(crate) fn live(&mut self) -> Fences {
        self.settle();
        self.before(true)
    }
}
