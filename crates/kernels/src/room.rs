//! Work space of kernels, and the memory that a thread keeps for it.
use crate::plain::Value;
use gluonish_base::{Cause, Result};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Bytes of a cache line, to which work space is aligned: vectors that lie across two take as long as two.
const LINE: usize = 64;

/// Work space: values.
pub(crate) struct Room<T> {
    ptr: NonNull<T>,
    len: usize,
    /// Of the memory, which may be more.
    layout: Layout,
}
// SAFETY: it owns its memory, as a vector does.
unsafe impl<T: Send> Send for Room<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Room<T> {}

impl<T> Room<T> {
    pub(crate) const EMPTY: Room<T> = Room { ptr: NonNull::dangling(), len: 0, layout: Layout::new::<()>() };
}

/// Memory that nobody uses. All its bytes were written once.
struct Piece {
    ptr: NonNull<u8>,
    layout: Layout,
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: allocated in `take` with this layout.
        unsafe { dealloc(self.ptr.as_ptr(), self.layout) };
    }
}

/// Bytes of a piece that is worth keeping, and what a thread keeps in all: fresh memory takes longer to come than to fill.
const WORTH: usize = 16 << 10;
const KEPT: usize = 32 << 20;

thread_local! {
    /// What the thread's calls gave back, the oldest first.
    static FREE: Cell<Vec<Piece>> = const { Cell::new(Vec::new()) };
}

/// Calls `f` with the pieces that this thread keeps; `None` in a thread that is ending.
fn with_free<R>(f: impl FnOnce(&mut Vec<Piece>) -> R) -> Option<R> {
    let with = |kept: &Cell<Vec<Piece>>| {
        let mut list = kept.take();
        let made = f(&mut list);
        kept.set(list);
        made
    };
    FREE.try_with(with).ok()
}

/// Zeros, or an error where there is no memory for them.
pub(crate) fn room<T: Value>(n: usize) -> Result<Room<T>> {
    let (mut made, is_fresh) = take::<T>(n)?;
    if !is_fresh {
        made.fill(T::default());
    }
    Ok(made)
}

/// Any values, for whoever writes all that it reads; or an error where there is no memory for them.
pub(crate) fn stale<T: Value>(n: usize) -> Result<Room<T>> {
    Ok(take(n)?.0)
}

/// Takes the smallest piece of so many bytes out of the list, if one is not more than twice as large.
fn smallest(list: &mut Vec<Piece>, bytes: usize) -> Option<Piece> {
    let fits = |p: &(usize, &Piece)| (bytes..=2 * bytes).contains(&p.1.layout.size());
    let (at, _) = list.iter().enumerate().filter(fits).min_by_key(|(_, p)| p.layout.size())?;
    Some(list.remove(at))
}

/// Values, and whether they are all zeros.
fn take<T: Value>(n: usize) -> Result<(Room<T>, bool)> {
    if n == 0 {
        return Ok((Room::EMPTY, true));
    }
    let bytes = n.saturating_mul(size_of::<T>());
    let none = || Cause::Failed(format!("no memory for {} of work space", gluonish_base::error::bytes(bytes)));
    let layout = Layout::array::<T>(n).and_then(|layout| layout.align_to(LINE)).map_err(|_| none())?;
    if let Some(piece) = with_free(|list| smallest(list, bytes)).flatten() {
        let piece = ManuallyDrop::new(piece);
        return Ok((Room { ptr: piece.ptr.cast(), len: n, layout: piece.layout }, false));
    }
    // SAFETY: the layout is not empty.
    let ptr = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(none)?;
    Ok((Room { ptr: ptr.cast(), len: n, layout }, true))
}

impl<T> Drop for Room<T> {
    fn drop(&mut self) {
        if self.layout.size() == 0 {
            return;
        }
        let piece = Piece { ptr: self.ptr.cast(), layout: self.layout };
        if !(WORTH..=KEPT).contains(&self.layout.size()) {
            return;
        }
        with_free(|list| {
            list.push(piece);
            while list.iter().map(|p| p.layout.size()).sum::<usize>() > KEPT {
                list.remove(0);
            }
        });
    }
}

impl<T> Deref for Room<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: all values are there, and all bits are numbers.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Room<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_back_is_taken_again_and_zeros_are_zeros() {
        let n = WORTH;
        let mut first = stale::<f32>(n).unwrap();
        first.fill(3.0);
        let at = first.as_ptr();
        drop(first);
        let again = stale::<f32>(n).unwrap();
        assert_eq!((again.as_ptr(), again[n - 1]), (at, 3.0));
        let other = stale::<f32>(n).unwrap();
        assert!(other.as_ptr() != at, "it is in use");
        drop(again);
        let less = stale::<f32>(n - n / 4).unwrap();
        assert_eq!((less.as_ptr(), less.len()), (at, n - n / 4), "a little more than is needed");
        drop(less);
        assert!(stale::<f32>(n / 3).unwrap().as_ptr() != at, "much more than is needed");
        let zeros = room::<f32>(n).unwrap();
        assert_eq!(zeros.as_ptr(), at);
        assert!(zeros.iter().all(|v| *v == 0.0));
        drop(other);
    }

    #[test]
    fn no_more_is_kept_than_the_bound() {
        let large = KEPT / size_of::<f64>() / 2;
        for n in [large, large - 1, large - 2, 2 * large + 1] {
            drop(stale::<f64>(n).unwrap());
        }
        let kept = with_free(|list| list.iter().map(|p| p.layout.size()).sum::<usize>());
        assert!(kept.is_some_and(|bytes| bytes > 0 && bytes <= KEPT));
        assert!(stale::<f64>(usize::MAX / 4).is_err());
    }
}
