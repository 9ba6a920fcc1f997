//! Everything an op needs to know about its thread, in one thread-local without a destructor: one lookup per op.
use crate::site::Site;
use std::cell::Cell;
use std::ptr::null_mut;

pub struct Tls {
    /// `autograd.record()` is on.
    pub recording: Cell<bool>,
    /// Layers behave as in training.
    pub training: Cell<bool>,
    /// This thread runs the engine's tasks: it must never be held back by the engine's limits.
    pub worker: Cell<bool>,
    /// Interned path of the running block; 0: none.
    pub block: Cell<u32>,
    /// Device (as a number of the device registry) on which creation functions put their arrays.
    pub device: Cell<u32>,
    /// During `backward`: the site of the forward op whose gradient is computed.
    pub blame: Cell<Site>,
    /// Free lists of objects that are made and freed with every op. Each owner casts its own.
    pub free: [FreeList; 4],
}

/// A list of freed objects, linked through a field of their own.
pub struct FreeList {
    pub head: Cell<*mut u8>,
    pub len: Cell<u32>,
}

/// Whose list is which in `Tls::free`.
pub const STORAGES: usize = 0;
pub const ARRAYS: usize = 1;
pub const NODES: usize = 2;
pub const OBJECTS: usize = 3;

impl FreeList {
    const fn empty() -> FreeList {
        FreeList { head: Cell::new(null_mut()), len: Cell::new(0) }
    }
}

thread_local! {
    static TLS: Tls = const {
        Tls {
            recording: Cell::new(false),
            training: Cell::new(false),
            worker: Cell::new(false),
            block: Cell::new(0),
            device: Cell::new(0),
            blame: Cell::new(Site { code: 0, block: 0 }),
            free: [const { FreeList::empty() }; 4],
        }
    };
    static REAPER: Reaper = const { Reaper };
}

#[inline(always)]
pub fn tls() -> &'static Tls {
    // SAFETY: `Tls` is constant-initialised and has no destructor, so its memory is valid as long as the thread runs;
    // the type is not `Sync`, so the reference cannot leave the thread.
    TLS.with(|t| unsafe { &*std::ptr::from_ref(t) })
}

/// How the owner of a free list takes it back when a thread ends.
static DRAINS: [std::sync::OnceLock<fn(&FreeList)>; 4] = [const { std::sync::OnceLock::new() }; 4];

struct Reaper;
impl Drop for Reaper {
    fn drop(&mut self) {
        for (list, drain) in tls().free.iter().zip(&DRAINS) {
            if let Some(drain) = drain.get() {
                drain(list);
            }
        }
    }
}

/// Sees to it that list `which` of this thread is drained when the thread ends. For the slow path of an owner.
#[cold]
pub fn reap(which: usize, drain: fn(&FreeList)) {
    let _ = DRAINS[which].set(drain);
    // A thread that is ending already has lost its reaper: what it still frees stays on its list.
    let _ = REAPER.try_with(|_| {});
}
