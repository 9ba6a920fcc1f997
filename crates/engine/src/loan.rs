//! Memory that something outside may look at, and write to, for a while.
use crate::storage::Var;

/// While it lasts, its storage and the one that this is a part of are `shared()`: work on them is done before a call
/// returns. It keeps the memory alive.
pub struct Loan {
    var: Var,
    root: Var,
}

impl Loan {
    pub fn new(var: &Var) -> Loan {
        let (root, _) = var.root(0);
        var.share();
        root.share();
        Loan { var: var.clone(), root }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.var.unshare();
        self.root.unshare();
    }
}
