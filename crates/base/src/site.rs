//! Where an op came from. A site is two small numbers, taken with every queued or recorded op and turned into
//! a file and a line only when an error is shown.
use crate::tls::tls;
use std::sync::OnceLock;

/// An interned place in the calling program, and the interned path of the block that was running. 0: not known.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    pub code: u32,
    pub block: u32,
}

/// What a language binding installs: how to find the running line, and how to describe a site.
#[derive(Clone, Copy)]
pub struct Hooks {
    pub here: fn() -> Site,
    pub describe: fn(Site) -> String,
}

static HOOKS: OnceLock<Hooks> = OnceLock::new();

pub fn install(hooks: Hooks) {
    // A second binding in the same process would describe sites it did not make: the first one stays.
    let _ = HOOKS.set(hooks);
}

impl Site {
    /// The place that runs now; during `backward`, the place of the forward op.
    #[inline]
    pub fn here() -> Site {
        let blame = tls().blame.get();
        if blame != Site::default() {
            return blame;
        }
        HOOKS.get().map_or(Site::default(), |h| (h.here)())
    }

    pub fn is_known(self) -> bool {
        self != Site::default()
    }

    /// `file.py:12` or `file.py:12, in block net.features.0`; empty when not known.
    pub fn describe(self) -> String {
        match HOOKS.get() {
            Some(h) if self.is_known() => (h.describe)(self),
            _ => String::new(),
        }
    }
}
