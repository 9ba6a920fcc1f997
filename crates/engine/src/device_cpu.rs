//! The processor as a device: no streams, memory from the system, huge pages for what is large.
use crate::device::DeviceApi;
use crate::memory::machine_limit;
use gluonish_base::settings::settings;
use gluonish_base::{Cause, Result};
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::{NonNull, null_mut};

const ALIGN: usize = 64;
const HUGE: usize = 2 << 20;
/// From here on memory is mapped in huge pages: the first touch of a page is what fresh memory costs.
const MAPPED: usize = 2 * HUGE;

pub(crate) struct Cpu;

impl DeviceApi for Cpu {
    fn name(&self) -> String {
        "cpu".to_string()
    }

    fn memory_limit(&self) -> usize {
        match settings().memory_limit {
            0 => machine_limit(),
            limit => limit,
        }
    }

    fn alloc(&self, bytes: usize) -> Result<NonNull<u8>> {
        let ptr = if bytes >= MAPPED { map(bytes) } else { small(bytes) };
        ptr.ok_or_else(|| Cause::Device(format!("the system has no {bytes} bytes of memory left")).into())
    }

    unsafe fn free(&self, ptr: NonNull<u8>, bytes: usize) {
        if bytes >= MAPPED {
            // SAFETY: by contract this is a mapping of `map(bytes)` that nobody uses.
            unsafe { libc::munmap(ptr.as_ptr().cast(), bytes.next_multiple_of(HUGE)) };
        } else if let Some(layout) = layout(bytes) {
            // SAFETY: by contract it came from `small` with the same size.
            unsafe { dealloc(ptr.as_ptr(), layout) };
        }
    }

    unsafe fn discard(&self, ptr: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: by contract the range lies inside a mapping and its contents are not needed.
        unsafe { libc::madvise(ptr.as_ptr().cast(), bytes, libc::MADV_DONTNEED) == 0 }
    }

    unsafe fn copy(&self, _stream: u32, dst: *mut u8, src: *const u8, bytes: usize) -> Result {
        // SAFETY: by contract both ranges are valid and do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(src, dst, bytes) };
        Ok(())
    }
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.max(1), ALIGN).ok()
}

fn small(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: the layout is not empty.
    NonNull::new(unsafe { alloc(layout(bytes)?) })
}

/// Fresh pages, aligned to a huge page.
fn map(bytes: usize) -> Option<NonNull<u8>> {
    let len = bytes.checked_next_multiple_of(HUGE)?;
    let padded = len.checked_add(HUGE)?;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new anonymous mapping at an address that the system chooses touches nothing that exists.
    let base = unsafe { libc::mmap(null_mut(), padded, protection, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return None;
    }
    let base = base.cast::<u8>();
    let lead = base.align_offset(HUGE);
    let start = base.wrapping_add(lead);
    // SAFETY: both ends lie inside the mapping just made; what stays is the aligned middle of `len` bytes.
    unsafe {
        if lead > 0 {
            libc::munmap(base.cast(), lead);
        }
        if lead < HUGE {
            libc::munmap(start.wrapping_add(len).cast(), HUGE - lead);
        }
        // Without huge pages in the system this fails and nothing else changes.
        #[cfg(target_os = "linux")]
        libc::madvise(start.cast(), len, libc::MADV_HUGEPAGE);
    }
    NonNull::new(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_and_usable() {
        for bytes in [1, 64, 1000, 1 << 20, MAPPED - 1, MAPPED, 5 << 20] {
            let p = Cpu.alloc(bytes).unwrap();
            assert_eq!(p.as_ptr() as usize % if bytes >= MAPPED { HUGE } else { ALIGN }, 0);
            // SAFETY: the range was just allocated; it is freed once, with its size.
            unsafe {
                p.as_ptr().write_bytes(7, bytes);
                assert_eq!(*p.as_ptr().add(bytes - 1), 7);
                Cpu.free(p, bytes);
            }
        }
        assert!(Cpu.alloc(isize::MAX as usize).is_err());
    }
}
