//! Host blocks below 1 MiB, in size classes. Each thread keeps a few blocks of the smaller classes for itself, so most are
//! taken and given without a lock; behind them are shared lists of bounded length.
use super::Block;
use crate::device::DeviceApi;
use crate::device_cpu::Cpu;
use crate::fence::Fences;
use crate::sync::lock;
use gluonish_base::Result;
use std::cell::RefCell;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Mutex, MutexGuard};

/// Steps of 64 bytes up to this size, then four steps per doubling.
const FINE: usize = 1024;
const FINE_CLASSES: usize = FINE / 64;
const CLASSES: usize = FINE_CLASSES + 4 * 10;
/// Bytes that a shared list keeps, but at least a few blocks.
const KEPT_BYTES: usize = 1 << 20;
const KEPT_BLOCKS: usize = 8;
/// Classes up to 32 KiB, of which a thread keeps this many blocks each.
const OWN_CLASSES: usize = FINE_CLASSES + 4 * 5;
const OWN_BLOCKS: usize = 8;

/// The class of a size, and the size of its blocks.
#[inline]
pub(super) fn class(bytes: usize) -> (usize, usize) {
    if bytes <= FINE {
        let class = bytes.div_ceil(64).max(1) - 1;
        return (class, (class + 1) * 64);
    }
    let log = (bytes - 1).ilog2() as usize;
    let step = log - 2;
    let quarter = (bytes - 1) >> step;
    (FINE_CLASSES + (log - 10) * 4 + (quarter & 3), (quarter + 1) << step)
}

fn size_of_class(i: usize) -> usize {
    match i.checked_sub(FINE_CLASSES) {
        None => (i + 1) * 64,
        Some(i) => (i % 4 + 5) << (i / 4 + 8),
    }
}

struct Class(Vec<NonNull<u8>>);
// SAFETY: free blocks belong to whoever holds the lock.
unsafe impl Send for Class {}

/// Free blocks that any thread may take.
static SHARED: [Mutex<Class>; CLASSES] = [const { Mutex::new(Class(Vec::new())) }; CLASSES];
/// Blocks that a device may still use.
static FENCED: Mutex<Vec<(Block, Fences)>> = Mutex::new(Vec::new());
/// Bytes of all blocks, taken or free.
static TOTAL: AtomicUsize = AtomicUsize::new(0);

/// Free blocks of one thread.
struct Own {
    blocks: [[*mut u8; OWN_BLOCKS]; OWN_CLASSES],
    len: [u8; OWN_CLASSES],
}

thread_local! {
    static OWN: RefCell<Own> =
        const { RefCell::new(Own { blocks: [[null_mut(); OWN_BLOCKS]; OWN_CLASSES], len: [0; OWN_CLASSES] }) };
}

impl Own {
    #[inline]
    fn pop(&mut self, class: usize) -> Option<NonNull<u8>> {
        let n = self.len[class].checked_sub(1)?;
        self.len[class] = n;
        NonNull::new(self.blocks[class][n as usize])
    }

    /// False when there are enough of the class.
    #[inline]
    fn push(&mut self, class: usize, ptr: NonNull<u8>) -> bool {
        let n = self.len[class] as usize;
        if n == OWN_BLOCKS {
            return false;
        }
        self.blocks[class][n] = ptr.as_ptr();
        self.len[class] += 1;
        true
    }

    /// Moves blocks of a class to the shared list until `left` remain.
    fn spill(&mut self, class: usize, left: u8) {
        while self.len[class] > left
            && let Some(ptr) = self.pop(class)
        {
            give_shared(class, ptr);
        }
    }

    fn spill_all(&mut self) {
        (0..OWN_CLASSES).for_each(|class| self.spill(class, 0));
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.spill_all();
    }
}

/// Bytes of all blocks, taken or free.
pub(super) fn total() -> usize {
    TOTAL.load(Relaxed)
}

/// A free block of a class.
#[inline]
pub(super) fn take(class: usize) -> Option<NonNull<u8>> {
    // A thread that is ending has no blocks of its own any more.
    let own = if class < OWN_CLASSES { OWN.try_with(|o| o.borrow_mut().pop(class)).ok().flatten() } else { None };
    own.or_else(|| take_shared(class))
}

fn take_shared(class: usize) -> Option<NonNull<u8>> {
    let pop = || lock(&SHARED[class]).0.pop();
    pop().or_else(|| sweep().then(pop)?)
}

/// A block from the system.
#[cold]
pub(super) fn fresh(size: usize) -> Result<NonNull<u8>> {
    let ptr = Cpu.alloc(size)?;
    TOTAL.fetch_add(size, Relaxed);
    Ok(ptr)
}

/// Keeps a block for later.
#[inline]
pub(super) fn give(block: Block, fences: Fences) {
    if !fences.is_empty() {
        return lock(&FENCED).push((block, fences));
    }
    let class = class(block.bytes).0;
    let kept = class < OWN_CLASSES && OWN.try_with(|o| o.borrow_mut().push(class, block.ptr)).unwrap_or(false);
    if !kept {
        give_slow(class, block.ptr);
    }
}

#[cold]
fn give_slow(class: usize, ptr: NonNull<u8>) {
    if class < OWN_CLASSES {
        let _ = OWN.try_with(|o| o.borrow_mut().spill(class, OWN_BLOCKS as u8 / 2));
    }
    give_shared(class, ptr);
}

/// Puts a block into the shared list, or returns it to the system when that is long enough.
fn give_shared(class: usize, ptr: NonNull<u8>) {
    let size = size_of_class(class);
    let mut list = lock(&SHARED[class]);
    if list.0.len() < (KEPT_BYTES / size).max(KEPT_BLOCKS) {
        return list.0.push(ptr);
    }
    drop(list);
    release(ptr, size);
}

/// Returns a free block to the system.
fn release(ptr: NonNull<u8>, size: usize) {
    TOTAL.fetch_sub(size, Relaxed);
    // SAFETY: free blocks came from `fresh` with the size of their class, and nobody has this one.
    unsafe { Cpu.free(ptr, size) };
}

pub(super) fn has(size: usize) -> bool {
    let class = class(size).0;
    let own = class < OWN_CLASSES && OWN.try_with(|o| o.borrow().len[class] > 0).unwrap_or(false);
    own || !lock(&SHARED[class]).0.is_empty()
}

/// Puts blocks that devices are done with where they can be taken; whether there were any.
fn sweep() -> bool {
    let mut fenced = lock(&FENCED);
    let before = fenced.len();
    for (block, _) in fenced.extract_if(.., |(_, f)| f.iter().all(|f| f.retired())) {
        lock(&SHARED[class(block.bytes).0]).0.push(block.ptr);
    }
    fenced.len() < before
}

/// Frees what is kept here and by this thread; other threads keep their few.
pub(super) fn trim() -> usize {
    sweep();
    let _ = OWN.try_with(|o| o.borrow_mut().spill_all());
    let mut freed = 0;
    for (i, list) in SHARED.iter().enumerate() {
        let blocks = std::mem::take(&mut lock(list).0);
        freed += blocks.len() * size_of_class(i);
        blocks.into_iter().for_each(|ptr| release(ptr, size_of_class(i)));
    }
    freed
}

/// Free lists that nobody can use.
pub(super) struct Frozen {
    _fenced: MutexGuard<'static, Vec<(Block, Fences)>>,
    _shared: Vec<MutexGuard<'static, Class>>,
}

/// Keeps everybody out while the process is copied. `sweep` holds the list of fenced blocks first, so this does too.
pub(super) fn freeze() -> Frozen {
    Frozen { _fenced: lock(&FENCED), _shared: SHARED.iter().map(lock).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_tight_and_consistent() {
        let mut last = (0, 64);
        for bytes in (0..=4096).chain((4096..=1 << 20).step_by(61)).chain([1 << 20]) {
            let (c, size) = class(bytes);
            assert!(size >= bytes && size % 64 == 0 && c < CLASSES, "{bytes}");
            assert_eq!(size_of_class(c), size, "{bytes}");
            assert!(size <= 64 + bytes + bytes / 4, "{bytes} in {size}");
            assert!(c >= last.0 && size >= last.1);
            assert_eq!(class(size), (c, size));
            last = (c, size);
        }
        assert_eq!(class(1 << 20).0, CLASSES - 1);
        assert_eq!(size_of_class(OWN_CLASSES - 1), 32 << 10);
    }
}
