//! Memory for tiles: one buffer per thread, kept between calls.
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;

const ALIGN: usize = 64;

/// An aligned buffer; what is in it is not initialised.
struct Buffer {
    ptr: *mut u8,
    size: usize,
}

impl Buffer {
    const EMPTY: Buffer = Buffer { ptr: std::ptr::null_mut(), size: 0 };

    fn layout(size: usize) -> Layout {
        // Never fails: sizes are a few tiles, the alignment is a power of two.
        Layout::from_size_align(size, ALIGN).unwrap_or(Layout::new::<u64>())
    }

    fn new(size: usize) -> Buffer {
        let layout = Buffer::layout(size);
        // SAFETY: the size is not zero.
        let ptr = unsafe { alloc(layout) };
        if ptr.is_null() {
            handle_alloc_error(layout);
        }
        Buffer { ptr, size }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.size > 0 {
            // SAFETY: allocated by `new` with the same layout.
            unsafe { dealloc(self.ptr, Buffer::layout(self.size)) }
        }
    }
}

thread_local! {
    static KEPT: Cell<Buffer> = const { Cell::new(Buffer::EMPTY) };
}

/// Calls `f` with at least `size` bytes, aligned to a cache line and not initialised.
pub(crate) fn with<R>(size: usize, f: impl FnOnce(*mut u8) -> R) -> R {
    // Taken out, so that a nested call gets a buffer of its own.
    let mut buffer = KEPT.try_with(|k| k.replace(Buffer::EMPTY)).unwrap_or(Buffer::EMPTY);
    if buffer.size < size {
        buffer = Buffer::new(size.max(1 << 16));
    }
    let r = f(buffer.ptr);
    let _ = KEPT.try_with(|k| k.set(buffer));
    r
}
