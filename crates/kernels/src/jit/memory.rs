//! Executable memory: written first, then made executable and never writable again.
use std::ffi::{c_int, c_void};

mod c {
    use super::{c_int, c_void};
    // SAFETY: these are the C library's functions, with C's types.
    unsafe extern "C" {
        pub(super) fn mmap(at: *mut c_void, n: usize, prot: c_int, flags: c_int, fd: c_int, from: i64) -> *mut c_void;
        pub(super) fn mprotect(at: *mut c_void, n: usize, prot: c_int) -> c_int;
        pub(super) fn munmap(at: *mut c_void, n: usize) -> c_int;
    }
}
const READ: c_int = 1;
const WRITE: c_int = 2;
const EXECUTE: c_int = 4;
/// Private and anonymous, on Linux.
const FLAGS: c_int = 0x22;
const PAGE: usize = 4096;

pub(super) struct Pages {
    at: *mut c_void,
    size: usize,
}
// SAFETY: the pages are never written again.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Pages that hold `code`; none if the system refuses executable memory.
    pub(super) fn new(code: &[u8]) -> Option<Pages> {
        let size = code.len().next_multiple_of(PAGE);
        // SAFETY: a new mapping, at a place of the system's choice.
        let at = unsafe { c::mmap(std::ptr::null_mut(), size, READ | WRITE, FLAGS, -1, 0) };
        if at as isize == -1 {
            return None;
        }
        let pages = Pages { at, size };
        // SAFETY: the mapping is writable and as large as the code; then it is made executable as a whole.
        let refused = unsafe {
            std::ptr::copy_nonoverlapping(code.as_ptr(), at.cast(), code.len());
            c::mprotect(at, size, READ | EXECUTE)
        };
        (refused == 0).then_some(pages)
    }

    pub(super) fn start(&self) -> *const c_void {
        self.at
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nobody runs the code any more.
        unsafe { c::munmap(self.at, self.size) };
    }
}
