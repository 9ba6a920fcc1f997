//! Blocks of memory: what a device gave, kept and handed out again. Fresh memory costs many times the write that
//! fills it, so freed blocks stay here until memory runs short or `release` is called.
mod arena;
mod limit;
mod small;

use crate::device::{Device, DeviceApi, entries};
use crate::fence::{Fence, Fences, Place};
use crate::sync::lock;
use arena::Arena;
use gluonish_base::{Cause, Error, Result};
pub(crate) use limit::machine_limit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Mutex, MutexGuard};

/// Host blocks below this size come in classes; from here on they are split from regions.
const LARGE: usize = 1 << 20;

/// The state of a pool, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryStats {
    /// In storages now.
    pub held: usize,
    /// The most that `held` has been since the start or since `reset_peak`.
    pub peak: usize,
    /// Kept for storages to come.
    pub pooled: usize,
    /// What `held` may be.
    pub limit: usize,
}

/// The processor's memory.
pub fn stats() -> MemoryStats {
    stats_of(Device::cpu(0))
}

/// The memory of a device.
pub fn stats_of(device: Device) -> MemoryStats {
    device.entry().pool.stats()
}

/// Lets `peak` of the processor's memory start again from what is held now.
pub fn reset_peak() {
    let pool = &Device::cpu(0).entry().pool;
    pool.peak.store(pool.held(), Relaxed);
}

/// Returns what is pooled on all devices to the system; how many bytes that were.
pub fn release() -> usize {
    entries().iter().filter(|e| !e.lost.load(Relaxed)).map(|e| e.pool.trim()).sum()
}

/// Sets how many bytes arrays may hold on a device and returns the limit before.
pub fn set_limit(device: Device, bytes: usize) -> usize {
    device.entry().pool.limit.swap(bytes, Relaxed)
}

/// A piece of memory that one storage has; it goes back to the pool it came from.
pub(crate) struct Block {
    ptr: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a block is an address range that one owner has; its use is the owner's business.
unsafe impl Send for Block {}

impl Block {
    pub(crate) fn ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }
}

/// The memory of one device.
pub(crate) struct Pool {
    api: &'static dyn DeviceApi,
    /// Blocks below 1 MiB come in classes. Host memory only: elsewhere a call to the system per block would be too slow.
    classes: bool,
    arena: Mutex<Arena>,
    held_small: AtomicUsize,
    held_large: AtomicUsize,
    peak: AtomicUsize,
    limit: AtomicUsize,
    /// What the arena keeps, readable without its lock.
    kept: AtomicUsize,
}

impl Pool {
    pub(crate) fn new(api: &'static dyn DeviceApi, host: bool) -> Pool {
        Pool {
            api,
            classes: host,
            arena: Mutex::new(Arena::new(if host { 2 << 20 } else { 512 })),
            held_small: AtomicUsize::new(0),
            held_large: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            limit: AtomicUsize::new(api.memory_limit()),
            kept: AtomicUsize::new(0),
        }
    }

    pub(crate) fn stats(&self) -> MemoryStats {
        MemoryStats {
            held: self.held(),
            peak: self.peak.load(Relaxed),
            pooled: self.pooled(),
            limit: self.limit.load(Relaxed),
        }
    }

    #[inline]
    fn held(&self) -> usize {
        self.held_small.load(Relaxed) + self.held_large.load(Relaxed)
    }

    #[inline]
    fn pooled(&self) -> usize {
        let small = if self.classes { small::total().saturating_sub(self.held_small.load(Relaxed)) } else { 0 };
        small + self.kept.load(Relaxed)
    }

    #[cold]
    fn out_of_memory(&self, asked: usize) -> Error {
        Cause::OutOfMemory { asked, held: self.held(), limit: self.limit.load(Relaxed) }.into()
    }

    /// An error when so much would not fit even if nothing else were held.
    #[inline]
    pub(crate) fn could_hold(&self, bytes: usize) -> Result {
        if bytes > self.limit.load(Relaxed) { Err(self.out_of_memory(bytes)) } else { Ok(()) }
    }

    /// A block of at least `bytes`, and the device work it has to come after. On the host nothing is left to wait for.
    #[inline]
    pub(crate) fn take(&self, bytes: usize, place: Place) -> Result<(Block, Fences)> {
        if !self.classes || bytes >= LARGE {
            return self.take_large(bytes, place);
        }
        let (class, size) = small::class(bytes);
        self.reserve(&self.held_small, bytes, size)?;
        let ptr = match small::take(class) {
            Some(ptr) => ptr,
            None => self.fresh_small(size, bytes)?,
        };
        Ok((Block { ptr, bytes: size }, Fences::new()))
    }

    /// Takes a block back, with the device work that may still use it.
    #[inline]
    pub(crate) fn give(&self, block: Block, fences: Fences) {
        if self.classes && block.bytes <= LARGE {
            self.held_small.fetch_sub(block.bytes, Relaxed);
            return small::give(block, fences);
        }
        self.held_large.fetch_sub(block.bytes, Relaxed);
        let mut arena = lock(&self.arena);
        arena.give(block.ptr, block.bytes, fences);
        self.kept.store(arena.kept(), Relaxed);
    }

    /// Counts `size` bytes as held; what is pooled goes first when both together would exceed the limit.
    #[inline]
    fn reserve(&self, account: &AtomicUsize, asked: usize, size: usize) -> Result {
        account.fetch_add(size, Relaxed);
        let (held, limit) = (self.held(), self.limit.load(Relaxed));
        // Rounding up alone is no reason to refuse.
        if held.saturating_sub(size).saturating_add(asked) > limit {
            account.fetch_sub(size, Relaxed);
            return Err(self.out_of_memory(asked));
        }
        if held > self.peak.load(Relaxed) {
            self.peak.fetch_max(held, Relaxed);
        }
        if held + self.pooled() > limit {
            self.make_room(size);
        }
        Ok(())
    }

    /// Trims unless the pool has a block that fits: then using it makes the room.
    #[cold]
    fn make_room(&self, size: usize) {
        let fits = if self.classes && size <= LARGE { small::has(size) } else { lock(&self.arena).has(size) };
        if !fits {
            self.trim();
        }
    }

    #[cold]
    fn fresh_small(&self, size: usize, asked: usize) -> Result<NonNull<u8>> {
        let again = |_| {
            self.trim();
            small::fresh(size)
        };
        small::fresh(size).or_else(again).map_err(|_| {
            self.held_small.fetch_sub(size, Relaxed);
            self.out_of_memory(asked)
        })
    }

    #[cold]
    fn take_large(&self, bytes: usize, place: Place) -> Result<(Block, Fences)> {
        self.could_hold(bytes)?;
        let size = lock(&self.arena).round(bytes).ok_or_else(|| self.out_of_memory(bytes))?;
        self.reserve(&self.held_large, bytes, size)?;
        let taken = self.take_or_map(size, place).or_else(|| self.take_under_pressure(size, place));
        let Some((ptr, fences)) = taken else {
            self.held_large.fetch_sub(size, Relaxed);
            return Err(self.out_of_memory(bytes));
        };
        let fences = if place == Place::Host { wait_for(fences) } else { fences };
        Ok((Block { ptr, bytes: size }, fences))
    }

    /// What fits and is not in use, else more from the device, else what fits.
    fn take_or_map(&self, size: usize, place: Place) -> Option<(NonNull<u8>, Fences)> {
        let mut arena = lock(&self.arena);
        let mut taken = arena.take(size, place, false);
        if taken.is_none() {
            let region = arena.region_for(size);
            let more = self.api.alloc(region).map(|p| (p, region)).or_else(|_| self.api.alloc(size).map(|p| (p, size)));
            let full = more.is_err();
            if let Ok((ptr, len)) = more {
                arena.add_region(ptr, len);
            }
            taken = arena.take(size, place, full);
        }
        self.kept.store(arena.kept(), Relaxed);
        taken
    }

    /// Nothing fits and the device has no more: wait for work on freed blocks, trim, and try once more.
    #[cold]
    fn take_under_pressure(&self, size: usize, place: Place) -> Option<(NonNull<u8>, Fences)> {
        let fences = lock(&self.arena).fences();
        wait_for(fences);
        self.trim();
        let ptr = self.api.alloc(size).ok()?;
        let mut arena = lock(&self.arena);
        arena.add_region(ptr, size);
        arena.take(size, place, true)
    }

    /// Returns to the system what is pooled and not in use by a device.
    pub(crate) fn trim(&self) -> usize {
        let small = if self.classes { small::trim() } else { 0 };
        let mut arena = lock(&self.arena);
        let large = arena.trim(self.api);
        self.kept.store(arena.kept(), Relaxed);
        small + large
    }

    /// Keeps everybody out while the process is copied.
    pub(crate) fn freeze(&'static self) -> Frozen {
        Frozen { _small: self.classes.then(small::freeze), _arena: lock(&self.arena) }
    }
}

/// A pool that nobody can use.
pub(crate) struct Frozen {
    _small: Option<small::Frozen>,
    _arena: MutexGuard<'static, Arena>,
}

/// Waits for device work on the host.
fn wait_for(fences: Fences) -> Fences {
    fences.into_iter().for_each(Fence::wait);
    Fences::new()
}
