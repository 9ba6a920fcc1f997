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
    locked: Cell<bool>,
    /// Interned path of the running block; 0: none.
    pub block: Cell<u32>,
    /// Device (as a number of the device registry) on which creation functions put their arrays.
    pub device: Cell<u32>,
    /// During `backward`: the site of the forward op whose gradient is computed.
    pub blame: Cell<Site>,
    /// The op that users know while those run that it, or its gradient, is made of; empty: each is one they called.
    pub part_of: Cell<&'static str>,
    /// Free lists of objects that are made and freed with every op. Each owner casts its own.
    pub free: [FreeList; 4],
}

impl Tls {
    /// Whether this thread holds a lock without which no other thread begins to use an array that has one handle only:
    /// the interpreter's, whose objects have those handles.
    #[inline(always)]
    pub fn locked(&self) -> bool {
        self.locked.get()
    }

    /// Says whether the lock is held; returns what was said before.
    ///
    /// # Safety
    /// It is: while true is set, every other thread that uses a handle which it has not counted waits for the lock.
    pub unsafe fn set_locked(&self, locked: bool) -> bool {
        self.locked.replace(locked)
    }
}

/// A list of freed objects, linked through a field of their own.
pub struct FreeList {
    pub head: Cell<*mut u8>,
    pub len: Cell<u32>,
    /// It will be drained when the thread ends.
    reaped: Cell<bool>,
}

/// Whose list is which in `Tls::free`.
pub const STORAGES: usize = 0;
pub const ARRAYS: usize = 1;
pub const NODES: usize = 2;
pub const OBJECTS: usize = 3;

impl FreeList {
    const fn empty() -> FreeList {
        FreeList { head: Cell::new(null_mut()), len: Cell::new(0), reaped: Cell::new(false) }
    }
}

thread_local! {
    static TLS: Tls = const {
        Tls {
            recording: Cell::new(false),
            training: Cell::new(false),
            worker: Cell::new(false),
            locked: Cell::new(false),
            block: Cell::new(0),
            device: Cell::new(0),
            blame: Cell::new(Site { code: 0, block: 0 }),
            part_of: Cell::new(""),
            free: [const { FreeList::empty() }; 4],
        }
    };
    static REAPER: Reaper = const { Reaper };
}

/// What is known about this thread.
#[inline(always)]
pub fn tls() -> &'static Tls {
    main_thread::tls().unwrap_or_else(of_this_thread)
}

fn of_this_thread() -> &'static Tls {
    // SAFETY: `Tls` is constant-initialised and has no destructor, so its memory is valid as long as the thread runs;
    // the type is not `Sync`, so the reference cannot leave the thread.
    TLS.with(|t| unsafe { &*std::ptr::from_ref(t) })
}

/// To be called when the library is loaded: if that is on the process's main thread, `tls` is short there.
pub fn adopt_main_thread() {
    main_thread::adopt();
}

/// In a library that is loaded late, as Python's modules are, every use of a thread-local is a call, and an op needs a
/// dozen. Most programs call from their main thread: it is told by the register that points to its block of thread-locals,
/// a block that is never given to another thread.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod main_thread {
    use super::{Tls, of_this_thread};
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

    static BASE: AtomicUsize = AtomicUsize::new(0);
    static OWN: AtomicPtr<Tls> = AtomicPtr::new(null_mut());

    #[inline(always)]
    fn base() -> usize {
        let base;
        // SAFETY: by the platform's rules the word that `fs` points to is its own address, the same for all of a thread.
        unsafe {
            std::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) base, options(pure, nomem, nostack, preserves_flags));
        }
        base
    }

    /// If this is the main thread, and was adopted.
    #[inline(always)]
    pub(super) fn tls() -> Option<&'static Tls> {
        // SAFETY: the thread stored its own first, and sees what it stored.
        (base() == BASE.load(Relaxed)).then(|| unsafe { &*OWN.load(Relaxed) })
    }

    pub(super) fn adopt() {
        // SAFETY: two calls without conditions.
        if unsafe { libc::gettid() == libc::getpid() } {
            OWN.store(std::ptr::from_ref(of_this_thread()).cast_mut(), Relaxed);
            BASE.store(base(), Relaxed);
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod main_thread {
    use super::Tls;

    pub(super) fn tls() -> Option<&'static Tls> {
        None
    }
    pub(super) fn adopt() {}
}

/// Something that threads keep when it is freed, to have it again without asking the allocator.
pub trait Listed: Sized + 'static {
    /// Which of `Tls::free` is its list.
    const LIST: usize;
    /// How many a thread keeps.
    const KEPT: u32;
    /// The field that links it to the next one on its list.
    fn next(&mut self) -> &mut *mut Self;
}

/// One of this thread's free list, which is the caller's now; null when there is none.
#[inline(always)]
pub fn take<T: Listed>() -> *mut T {
    let list = &tls().free[T::LIST];
    let p = list.head.get().cast::<T>();
    if !p.is_null() {
        // SAFETY: what is on this thread's free list belongs to this thread alone.
        list.head.set(unsafe { *(*p).next() }.cast());
        list.len.set(list.len.get() - 1);
    }
    p
}

/// Puts one on this thread's free list, or back to the allocator when there are enough.
///
/// # Safety
/// `p` comes from a box, and nobody else can reach it.
#[inline(always)]
pub unsafe fn give<T: Listed>(p: *mut T) {
    let list = &tls().free[T::LIST];
    if list.len.get() >= T::KEPT || !list.reaped.get() {
        // SAFETY: as above.
        return unsafe { give_at_edge(p, list) };
    }
    // SAFETY: as above.
    unsafe { *(*p).next() = list.head.get().cast() };
    list.head.set(p.cast());
    list.len.set(list.len.get() + 1);
}

/// The list is full, or nobody would drain it yet when the thread ends.
#[cold]
unsafe fn give_at_edge<T: Listed>(p: *mut T, list: &FreeList) {
    if list.len.get() >= T::KEPT {
        // SAFETY: by the caller's promise.
        return drop(unsafe { Box::from_raw(p) });
    }
    let _ = DRAINS[T::LIST].set(drain::<T>);
    list.reaped.set(true);
    // A thread that is ending already has lost its reaper: what it still frees stays on its list.
    let _ = REAPER.try_with(|_| {});
    // SAFETY: by the caller's promise.
    unsafe { give(p) }
}

/// The thread ends: what it keeps goes back to the allocator.
fn drain<T: Listed>() {
    loop {
        let p = take::<T>();
        if p.is_null() {
            return;
        }
        // SAFETY: what `give` takes comes from boxes.
        drop(unsafe { Box::from_raw(p) });
    }
}

static DRAINS: [std::sync::OnceLock<fn()>; 4] = [const { std::sync::OnceLock::new() }; 4];

struct Reaper;
impl Drop for Reaper {
    fn drop(&mut self) {
        DRAINS.iter().filter_map(|d| d.get()).for_each(|drain| drain());
    }
}
