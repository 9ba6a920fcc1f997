//! Memory for packed panels: one buffer per thread and purpose, kept and grown. The sizes asked for are bounded by the
//! block sizes, so what a thread keeps is bounded too.
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::null_mut;

/// What a buffer is for. A slot that is in use (a product inside a packing hook, say) costs an allocation, nothing else.
#[derive(Clone, Copy)]
pub enum Slot {
    A,
    B,
    /// One panel of B.
    Panel,
    /// A part of C that is not stored as it is computed.
    C,
    /// Panels in another element type.
    Convert,
    /// For code that uses this module.
    Other,
    /// Images on their way to and from the layout of a kernel, which uses the other slots.
    Images,
    Results,
}
const SLOTS: usize = 8;
const ALIGN: usize = 64;
/// A buffer above this size is given back at once.
const KEEP: usize = 64 << 20;

struct Buffer {
    ptr: *mut u8,
    bytes: usize,
}

impl Buffer {
    const EMPTY: Buffer = Buffer { ptr: null_mut(), bytes: 0 };

    fn new(bytes: usize) -> Buffer {
        let Some(layout) = layout(bytes) else { handle_alloc_error(Layout::new::<u8>()) };
        // SAFETY: the size is not zero (see `take`).
        let ptr = unsafe { alloc(layout) };
        if ptr.is_null() {
            handle_alloc_error(layout)
        }
        Buffer { ptr, bytes }
    }
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes, ALIGN).ok()
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(layout) = layout(self.bytes)
            && !self.ptr.is_null()
        {
            // SAFETY: allocated in `new` with this layout, and nobody else has it.
            unsafe { dealloc(self.ptr, layout) };
        }
    }
}

thread_local! {
    static KEPT: [Cell<Buffer>; SLOTS] = const { [const { Cell::new(Buffer::EMPTY) }; SLOTS] };
}

/// Uninitialised memory for elements of type `T`, aligned to 64 bytes; goes back to its slot when dropped.
pub struct Scratch<T> {
    buffer: Buffer,
    slot: Slot,
    of: PhantomData<*mut T>,
}

impl<T: Copy> Scratch<T> {
    /// Room for `len` elements and one vector more, which stores may spill over.
    pub fn take(slot: Slot, len: usize) -> Scratch<T> {
        let bytes = (len * size_of::<T>() + ALIGN).next_multiple_of(4096);
        let kept = KEPT.try_with(|k| k[slot as usize].replace(Buffer::EMPTY)).unwrap_or(Buffer::EMPTY);
        let buffer = if kept.bytes >= bytes {
            kept
        } else {
            drop(kept);
            Buffer::new(bytes)
        };
        Scratch { buffer, slot, of: PhantomData }
    }

    #[inline(always)]
    pub fn ptr(&self) -> *mut T {
        self.buffer.ptr.cast()
    }
}

impl<T> Drop for Scratch<T> {
    fn drop(&mut self) {
        let buffer = std::mem::replace(&mut self.buffer, Buffer::EMPTY);
        if buffer.bytes <= KEEP {
            // A thread that is ending has no slots any more: the buffer is freed instead.
            let _ = KEPT.try_with(|k| drop(k[self.slot as usize].replace(buffer)));
        }
    }
}
