//! Values that are promised: whoever uses the variable waits until the value is there.
use crate::storage::Var;
use crate::task::Write;
use gluonish_base::{Cause, Error};
use std::sync::atomic::{AtomicUsize, Ordering::*};

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// The right to write a variable, apart from any task. Dropped, it leaves an error as the value.
pub struct Promise {
    var: Var,
    kept: bool,
}

impl Promise {
    /// `None`: somebody uses the variable already.
    pub fn of(var: &Var) -> Option<Promise> {
        var.try_write().then(|| {
            OPEN.fetch_add(1, SeqCst);
            Promise { var: var.clone(), kept: false }
        })
    }

    /// The value is there.
    pub fn keep(mut self) {
        self.kept = true;
    }

    /// Whether any value is promised. Work that waits for it must not keep more work from being pushed, as that may be what
    /// brings the value.
    pub(crate) fn any() -> bool {
        OPEN.load(SeqCst) > 0
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if !self.kept {
            let text = "a value that several devices make together was given up: one of them failed, did not come, or was interrupted";
            self.var.conclude(Write::Overwrite, Some(&Error::from(Cause::Device(text.into()))), None);
        }
        OPEN.fetch_sub(1, SeqCst);
        self.var.end_write();
    }
}
