//! Storages: bytes of memory together with the variable that guards them. A `Var` is a counted pointer to one.
//!
//! A freed storage goes back to its thread's free list with its lock and its empty queue intact, so making one is a pop.
//! Up to 64 bytes of host memory live inside; more comes from the pool of the device.
use crate::cold::Cold;
use crate::device::Device;
use crate::fence::{Fence, Fences, Place};
use crate::gate::{BARE, FENCED, Gate, POISON, QUEUED, WRITER};
use crate::late::{Late, free_later};
use crate::memory::Block;
use crate::sync::{Mutex, lock};
use crate::task::{Task, Write};
use gluonish_base::tls::{Listed, STORAGES, give, take};
use gluonish_base::{Error, Result, Site};
use std::cell::UnsafeCell;
use std::num::NonZeroU64;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Arc, PoisonError};

/// Bytes that live inside a storage of host memory.
pub const INLINE: usize = 64;
/// Storages that are made at once when a thread has none left.
const BATCH: usize = 16;

/// Bytes and the variable that guards them. Reached through a `Var`.
#[repr(C, align(64))]
pub struct Storage {
    inline: UnsafeCell<[u8; INLINE]>,
    ptr: AtomicPtr<u8>,
    bytes: usize,
    refs: AtomicU32,
    version: AtomicU32,
    device: Device,
    /// Loans of the memory to something outside; memory of another library has one for ever.
    shared: AtomicU32,
    /// A number that no other storage ever has; 0 until somebody asks.
    serial: AtomicU64,
    gate: Gate<Arc<Task>>,
    memory: UnsafeCell<Memory>,
    next_free: *mut Storage,
    cold: Mutex<Option<Box<Cold>>>,
    /// Marks of the tape; the engine only clears them when the storage is freed.
    pub tape: TapeMark,
}

/// Gives memory back to another library.
type Release = Box<dyn FnOnce() + Send>;

/// Whose memory it is.
enum Memory {
    /// The storage's own, or none yet.
    Own,
    Block(Block),
    /// A part of another storage, from this byte on.
    Part(Var, usize),
    Foreign(Release),
}

/// What the tape remembers with a storage, so that it can refuse a gradient that would be wrong.
#[derive(Default)]
pub struct TapeMark {
    /// Live tape nodes that saved this storage.
    pub saved: AtomicU32,
    /// Version of the last recorded write in place.
    pub recorded: AtomicU32,
    /// What `recorded` was before that write.
    pub before: AtomicU32,
    /// Which elements that write changed: a number made of the layout.
    pub layout: AtomicU64,
    /// Where it was last saved, packed.
    pub saved_site: AtomicU64,
    /// Where the last recorded write was, packed.
    pub recorded_site: AtomicU64,
    /// Where it was last written outside of recording while it was saved, packed.
    pub written_site: AtomicU64,
}

impl TapeMark {
    /// A site as one number.
    pub const fn pack(site: Site) -> u64 {
        (site.block as u64) << 32 | site.code as u64
    }

    /// The inverse of `pack`.
    pub const fn unpack(packed: u64) -> Site {
        Site { code: packed as u32, block: (packed >> 32) as u32 }
    }
}

/// A counted pointer to a storage. Dropping the last one frees the memory; queued tasks keep what they use alive.
pub struct Var(NonNull<Storage>);

// SAFETY: the shared parts of a storage are atomics and mutexes; `memory` changes only under the lock of `cold` or with
// the storage unshared; the plain fields are written before the storage is shared. The bytes are guarded by the gate.
unsafe impl Send for Storage {}
// SAFETY: as above.
unsafe impl Sync for Storage {}
// SAFETY: a counted pointer to something that is `Send` and `Sync`; the count is atomic.
unsafe impl Send for Var {}
// SAFETY: as above.
unsafe impl Sync for Var {}

impl Listed for Storage {
    const LIST: usize = STORAGES;
    const KEPT: u32 = 4096;
    #[inline(always)]
    fn next(&mut self) -> &mut *mut Storage {
        &mut self.next_free
    }
}

impl std::ops::Deref for Var {
    type Target = Storage;
    #[inline(always)]
    fn deref(&self) -> &Storage {
        // SAFETY: a `Var` holds a count, so the storage is alive and not on a free list.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for Var {
    #[inline]
    fn clone(&self) -> Var {
        self.refs.fetch_add(1, Relaxed);
        Var(self.0)
    }
}

impl Drop for Var {
    #[inline]
    fn drop(&mut self) {
        // A sole owner needs no read-modify-write: nobody else can clone it.
        if self.refs.load(Acquire) == 1 || self.refs.fetch_sub(1, AcqRel) == 1 {
            // SAFETY: this was the last pointer.
            unsafe { Storage::recycle(self.0) }
        }
    }
}

impl Var {
    /// A storage with memory: up to 64 bytes on the host inside the storage, else a block of the device's pool. The
    /// contents are whatever was there.
    #[inline]
    pub fn new(device: Device, bytes: usize) -> Result<Var> {
        let var = Storage::take(device, bytes);
        if var.ptr().is_null() {
            if !device.is_cpu() {
                device.usable()?;
            }
            let (block, _) = device.entry().pool.take(bytes, Place::Host)?;
            var.ptr.store(block.ptr(), Relaxed);
            // SAFETY: nobody else knows the new storage.
            unsafe { *var.memory.get() = Memory::Block(block) };
        }
        Ok(var)
    }

    /// A storage whose memory is taken when the first task that uses it starts. What could never fit fails at once.
    #[inline]
    pub fn deferred(device: Device, bytes: usize) -> Result<Var> {
        let var = Storage::take(device, bytes);
        if var.ptr().is_null() {
            device.entry().pool.could_hold(bytes)?;
            var.gate.reset(BARE);
        }
        Ok(var)
    }

    /// A storage with a state of its own inside the memory of another, which it keeps alive.
    ///
    /// # Panics
    /// When the range is not inside the parent.
    pub fn carve(parent: &Var, offset: usize, bytes: usize) -> Var {
        assert!(offset <= parent.bytes && bytes <= parent.bytes - offset, "carved range leaves the parent");
        let var = Storage::take(parent.device, bytes);
        let (root, offset) = parent.root(offset);
        var.shared.store(root.shared() as u32, Relaxed);
        match root.ptr() {
            p if p.is_null() => var.gate.reset(BARE),
            p => var.ptr.store(p.wrapping_add(offset), Relaxed),
        }
        // SAFETY: nobody else knows the new storage.
        unsafe { *var.memory.get() = Memory::Part(root, offset) };
        var
    }

    /// A storage over memory of another library; `release` is called when the last user is gone, on whatever thread that
    /// happens. It is `shared()`: others may look at it at any time, so callers finish their work on it before returning.
    ///
    /// # Safety
    /// `ptr` is valid for `bytes` bytes, for reads and for the writes the caller will make, until `release` is called.
    pub unsafe fn foreign(device: Device, ptr: *mut u8, bytes: usize, release: Box<dyn FnOnce() + Send>) -> Var {
        let var = Storage::take(device, bytes);
        var.ptr.store(ptr, Relaxed);
        var.shared.store(1, Relaxed);
        // SAFETY: nobody else knows the new storage.
        unsafe { *var.memory.get() = Memory::Foreign(release) };
        var
    }

    /// The storage that this one is a part of, or itself, and the offset there.
    pub(crate) fn root(&self, offset: usize) -> (Var, usize) {
        let _still = lock(&self.cold);
        // SAFETY: while others know the storage, its memory changes only under the lock.
        match unsafe { &*self.memory.get() } {
            Memory::Part(root, base) => (root.clone(), base + offset),
            _ => (self.clone(), offset),
        }
    }

    /// Whether both are the same storage.
    #[inline(always)]
    pub fn same(&self, other: &Var) -> bool {
        self.0 == other.0
    }

    /// A number that is this storage's alone while it lives.
    #[inline(always)]
    pub fn id(&self) -> usize {
        self.0.as_ptr() as usize
    }
}

impl Storage {
    /// A storage from the free list, idle, with inline memory.
    #[inline(always)]
    fn take(device: Device, bytes: usize) -> Var {
        let mut p = take::<Storage>();
        if p.is_null() {
            p = Storage::batch();
        }
        // SAFETY: taken from the list, it is the caller's alone.
        let s = unsafe { &mut *p };
        s.bytes = bytes;
        s.device = device;
        // Host memory of up to 64 bytes, and the address of nothing: other callers replace it.
        s.ptr = AtomicPtr::new(if bytes <= INLINE && (device.is_cpu() || bytes == 0) { p.cast() } else { null_mut() });
        s.refs = AtomicU32::new(1);
        s.version = AtomicU32::new(0);
        Var(NonNull::from(s))
    }

    /// A new one, and some more for the free list.
    #[cold]
    fn batch() -> *mut Storage {
        let fresh = || {
            Box::into_raw(Box::new(Storage {
                inline: UnsafeCell::new([0; INLINE]),
                ptr: AtomicPtr::default(),
                bytes: 0,
                refs: AtomicU32::new(0),
                version: AtomicU32::new(0),
                device: Device::default(),
                shared: AtomicU32::new(0),
                serial: AtomicU64::new(0),
                gate: Gate::new(),
                memory: UnsafeCell::new(Memory::Own),
                next_free: null_mut(),
                cold: Mutex::new(None),
                tape: TapeMark::default(),
            }))
        };
        for _ in 1..BATCH {
            // SAFETY: just boxed, and nobody else knows it.
            unsafe { give(fresh()) };
        }
        fresh()
    }

    /// # Safety
    /// No pointer to the storage is left.
    #[inline]
    unsafe fn recycle(p: NonNull<Storage>) {
        // SAFETY: by contract nobody else can reach the storage.
        let s = unsafe { &mut *p.as_ptr() };
        if (s.gate.state() != 0 || !matches!(s.memory.get_mut(), Memory::Own))
            && let Some((fences, release)) = s.give_back()
        {
            // SAFETY: storages are boxed, and this one belongs to us alone.
            return free_later(Late { storage: unsafe { Box::from_raw(p.as_ptr()) }, fences, release });
        }
        *s.shared.get_mut() = 0;
        *s.serial.get_mut() = 0;
        *s.tape.saved.get_mut() = 0;
        *s.tape.recorded.get_mut() = 0;
        *s.tape.before.get_mut() = 0;
        *s.tape.written_site.get_mut() = 0;
        // SAFETY: storages are boxed, and this one belongs to us alone.
        unsafe { give(p.as_ptr()) }
    }

    /// Returns the memory, with the fences of devices that may still use it, and forgets errors. What cannot be returned
    /// before its fences have retired comes back with them.
    fn give_back(&mut self) -> Option<(Fences, Option<Release>)> {
        debug_assert_eq!(self.gate.state() & (WRITER | QUEUED), 0, "a storage was freed while in use");
        let cold = self.cold.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let fences = cold.map_or_else(Fences::new, |mut c| c.live());
        match std::mem::replace(self.memory.get_mut(), Memory::Own) {
            Memory::Own if !fences.is_empty() => return Some((fences, None)),
            Memory::Own => {}
            Memory::Block(block) => self.device.entry().pool.give(block, fences),
            Memory::Part(root, _) => fences.into_iter().for_each(|f| root.attach(f, false)),
            Memory::Foreign(release) if !fences.is_empty() => return Some((fences, Some(release))),
            Memory::Foreign(release) => release(),
        }
        self.gate.reset(0);
        None
    }

    /// Where the bytes are; null until a deferred storage got its memory.
    #[inline(always)]
    pub fn ptr(&self) -> *mut u8 {
        self.ptr.load(Relaxed)
    }

    #[inline(always)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline(always)]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Whether something outside may look at the memory at any time.
    #[inline(always)]
    pub fn shared(&self) -> bool {
        self.shared.load(Relaxed) > 0
    }

    /// Something outside may look at the memory from now on; see `Loan`.
    pub(crate) fn share(&self) {
        self.shared.fetch_add(1, Relaxed);
    }
    pub(crate) fn unshare(&self) {
        // Whoever had the memory may have written to it: its contents need another name.
        let _still = lock(&self.cold);
        self.serial.store(0, Relaxed);
        self.shared.fetch_sub(1, Relaxed);
    }

    /// Writes so far, in program order: it moves when a write is pushed, not when it is done, so a tape can compare it.
    #[inline(always)]
    pub fn version(&self) -> u32 {
        self.version.load(Relaxed)
    }

    /// Names the contents as they are in program order: what is derived from them may be kept under this name. None where
    /// they can change without a new version: memory of another library, or a part of another storage.
    pub fn stamp(&self) -> Option<(NonZeroU64, u32)> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let _still = lock(&self.cold);
        // SAFETY: while others know the storage, its memory changes only under the lock.
        let part = matches!(unsafe { &*self.memory.get() }, Memory::Part(..));
        if part || self.shared() {
            return None;
        }
        if self.serial.load(Relaxed) == 0 {
            self.serial.store(NEXT.fetch_add(1, Relaxed), Relaxed);
        }
        NonZeroU64::new(self.serial.load(Relaxed)).map(|serial| (serial, self.version()))
    }

    /// Moves the version; `push` does it for what it queues, work that runs in the caller does it itself.
    #[inline(always)]
    pub fn bump(&self) {
        self.version.fetch_add(1, Relaxed);
    }

    /// Becomes a reader if that needs no waiting, and there are memory and a value to read. Never waits. Work in the
    /// caller takes all it needs or gives back what it got.
    #[inline(always)]
    pub fn try_read(&self) -> bool {
        self.gate.try_read() || self.retry(Gate::try_read)
    }

    #[inline(always)]
    pub fn end_read(&self) {
        if self.gate.end_read() {
            self.grant();
        }
    }

    /// Becomes the writer if nobody else uses the storage, it has memory, and its value is not an error. Never waits.
    #[inline(always)]
    pub fn try_write(&self) -> bool {
        self.gate.try_write() || self.retry(Gate::try_write)
    }

    #[inline(always)]
    pub fn end_write(&self) {
        if self.gate.end_write() {
            self.grant();
        }
    }

    /// Device work that retired in the meantime no longer keeps anyone out.
    #[cold]
    fn retry(&self, attempt: fn(&Gate<Arc<Task>>) -> bool) -> bool {
        self.gate.state() & FENCED != 0 && self.settle() && attempt(&self.gate)
    }

    /// Nobody uses the storage, waits for it, or has device work on it.
    #[inline]
    pub fn is_idle(&self) -> bool {
        let s = self.gate.state() & !(POISON | BARE);
        s == 0 || (s == FENCED && self.settle())
    }

    /// Whether there is one pointer to the storage only, nobody uses it, and it has memory and a value of its own. It stays
    /// so while the owner of that pointer lets nobody else reach it.
    #[inline(always)]
    pub fn is_alone(&self) -> bool {
        self.refs.load(Acquire) == 1 && self.gate.state() == 0 && !self.shared()
    }

    /// No write is pending: a reader would see what was pushed last.
    #[inline]
    pub fn is_ready(&self) -> bool {
        let s = self.gate.state() & (WRITER | QUEUED | FENCED);
        s == 0 || (s == FENCED && self.settle())
    }

    /// The error that stands in place of a value.
    #[inline]
    pub fn error(&self) -> Option<Error> {
        if self.gate.state() & (POISON | FENCED) == 0 { None } else { self.error_slow() }
    }

    #[cold]
    fn error_slow(&self) -> Option<Error> {
        self.settle();
        lock(&self.cold).as_ref()?.error.clone()
    }

    /// Forgets the error. For whoever knows that the value is good again; queued `Overwrite`s do it themselves.
    pub fn heal(&self) {
        self.conclude(Write::Overwrite, None, None);
    }

    /// Work that its writer did without the engine failed, perhaps half-way: the value is an error, as after a queued `write`.
    pub fn fail(&self, write: Write, error: &Error) {
        self.conclude(write, Some(error), None);
    }

    /// The outcome of a write, by its holder: an error, or a value that is there or will be when `issued` has retired.
    pub(crate) fn conclude(&self, write: Write, error: Option<&Error>, issued: Option<Fence>) {
        let plain = error.is_none() && issued.is_none();
        if plain && (write.reads() || self.gate.state() & POISON == 0) {
            return;
        }
        // In one step: others may look for errors of retired work at any time.
        let mut guard = lock(&self.cold);
        let cold = guard.get_or_insert_default();
        if let Some(fence) = issued {
            cold.attach(fence, true);
            self.gate.set(FENCED);
        }
        match error {
            Some(_) if write == Write::Commit => {}
            // What is an error already keeps its own.
            Some(e) if write == Write::Overwrite || cold.error.is_none() => {
                cold.error = Some(e.clone());
                self.gate.set(POISON);
            }
            None if !write.reads() => {
                cold.error = None;
                self.gate.clear(POISON);
            }
            _ => {}
        }
    }

    /// Forgets fences of retired work, takes over its errors, and says whether no fence is left.
    pub(crate) fn settle(&self) -> bool {
        let mut guard = lock(&self.cold);
        let Some(cold) = guard.as_mut() else { return self.gate.state() & FENCED == 0 };
        if cold.settle() {
            self.gate.set(POISON);
        }
        let clear = cold.is_clear();
        if clear {
            self.gate.clear(FENCED);
        }
        clear
    }

    /// Device work was issued that reads or writes the storage.
    pub(crate) fn attach(&self, fence: Fence, write: bool) {
        let mut guard = lock(&self.cold);
        guard.get_or_insert_default().attach(fence, write);
        self.gate.set(FENCED);
    }

    /// Device work that a use of the storage has to come after.
    pub(crate) fn fences(&self, write: bool) -> Fences {
        if self.gate.state() & FENCED == 0 || self.settle() {
            return Fences::new();
        }
        lock(&self.cold).as_ref().map_or_else(Fences::new, |c| c.before(write))
    }

    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        self.gate.state() & BARE != 0
    }

    /// Takes the memory that is still missing, for work at `place`.
    #[cold]
    pub(crate) fn provide(&self, place: Place) -> Result {
        let mut cold = lock(&self.cold);
        if !self.is_bare() {
            return Ok(());
        }
        // SAFETY: a bare storage's memory changes only here, under the lock.
        let memory = unsafe { &mut *self.memory.get() };
        let ptr = match memory {
            Memory::Part(root, offset) => {
                root.provide(place)?;
                root.ptr().wrapping_add(*offset)
            }
            _ => {
                let (block, fences) = self.device.entry().pool.take(self.bytes, place)?;
                let ptr = block.ptr();
                *memory = Memory::Block(block);
                if !fences.is_empty() {
                    // Whoever used the block before may still be at it; its errors are not ours.
                    let cold = cold.get_or_insert_default();
                    fences.into_iter().for_each(|f| cold.attach(f, false));
                    self.gate.set(FENCED);
                }
                ptr
            }
        };
        self.ptr.store(ptr, Release);
        self.gate.clear(BARE);
        Ok(())
    }

    /// Takes a place in the order of uses: true when it is this task's turn at once.
    pub(crate) fn append(&self, task: &Arc<Task>, write: bool) -> bool {
        self.gate.append(|| task.clone(), write)
    }

    #[cold]
    fn grant(&self) {
        crate::scheduler::admit(|granted| self.gate.grant(|task| granted.push(task)));
    }
}
