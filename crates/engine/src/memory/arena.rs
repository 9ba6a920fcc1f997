//! Regions of memory that are split into blocks and merged again: best fit, in steps of one size.
use crate::device::DeviceApi;
use crate::fence::{Fence, Fences, Place};
use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;

/// The least that is asked of the device at a time.
const REGION: usize = 32 << 20;
/// Free spans that are looked at for one that no device still uses.
const LOOK: usize = 16;

/// A free range of a region.
struct Span {
    len: usize,
    /// Bytes of it that were used at some time: the rest has no pages yet.
    touched: usize,
    /// Device work that may still use it.
    fences: Fences,
}

/// The regions of a device and what is free in them.
pub(super) struct Arena {
    step: usize,
    /// Start and length of what the device gave.
    regions: BTreeMap<usize, usize>,
    free: BTreeMap<usize, Span>,
    by_len: BTreeSet<(usize, usize)>,
    kept: usize,
}

impl Arena {
    pub(super) fn new(step: usize) -> Arena {
        Arena { step, regions: BTreeMap::new(), free: BTreeMap::new(), by_len: BTreeSet::new(), kept: 0 }
    }

    /// Touched bytes that are free.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    /// The size of the block for so many bytes; none when there is no such number.
    pub(super) fn round(&self, bytes: usize) -> Option<usize> {
        bytes.max(1).checked_next_multiple_of(self.step).filter(|n| *n <= isize::MAX as usize)
    }

    pub(super) fn region_for(&self, len: usize) -> usize {
        len.max(REGION)
    }

    pub(super) fn has(&self, len: usize) -> bool {
        self.by_len.range((len, 0)..).next().is_some()
    }

    pub(super) fn add_region(&mut self, ptr: NonNull<u8>, len: usize) {
        let addr = ptr.as_ptr() as usize;
        self.regions.insert(addr, len);
        self.insert(addr, Span { len, touched: 0, fences: Fences::new() });
    }

    /// The smallest free span that fits, cut to size. One that a device still uses only for work on the same stream, or
    /// if `any`; its fences come along.
    pub(super) fn take(&mut self, len: usize, place: Place, any: bool) -> Option<(NonNull<u8>, Fences)> {
        let ours = |f: &Fence| f.retired() || place == Place::Stream(f.device, f.stream);
        let mut fitting = self.by_len.range((len, 0)..).take(LOOK);
        let addr = fitting.find(|(_, addr)| any || self.free[addr].fences.iter().all(ours))?.1;
        let mut span = self.remove(addr);
        span.fences.retain(|f| !f.retired());
        let fences = span.fences.clone();
        if span.len > len {
            let touched = span.touched.saturating_sub(len);
            self.insert(addr + len, Span { len: span.len - len, touched, fences: span.fences });
        }
        Some((NonNull::new(addr as *mut u8)?, fences))
    }

    /// Takes a block back and merges it with free neighbours of its region.
    pub(super) fn give(&mut self, ptr: NonNull<u8>, len: usize, fences: Fences) {
        let mut addr = ptr.as_ptr() as usize;
        let mut span = Span { len, touched: len, fences };
        let is_start = self.regions.contains_key(&addr);
        if let Some((&before, s)) = self.free.range(..addr).next_back()
            && !is_start
            && before + s.len == addr
        {
            addr = before;
            span.absorb(self.remove(before));
        }
        let end = addr + span.len;
        if self.free.contains_key(&end) && !self.regions.contains_key(&end) {
            span.absorb(self.remove(end));
        }
        self.insert(addr, span);
    }

    /// Fences of all that is free.
    pub(super) fn fences(&self) -> Fences {
        let mut all = Fences::new();
        self.free.values().flat_map(|s| &s.fences).for_each(|f| f.join(&mut all));
        all
    }

    /// Returns regions that are free as a whole, and the pages of other free spans, to the device.
    pub(super) fn trim(&mut self, api: &dyn DeviceApi) -> usize {
        let before = self.kept;
        let idle = |s: &Span| s.fences.iter().all(|f| f.retired());
        let spans: Vec<usize> = self.free.iter().filter(|(_, s)| idle(s)).map(|(a, _)| *a).collect();
        for addr in spans {
            let Some(ptr) = NonNull::new(addr as *mut u8) else { continue };
            let mut span = self.remove(addr);
            if self.regions.get(&addr) == Some(&span.len) {
                self.regions.remove(&addr);
                // SAFETY: the region is free as a whole, and no device uses it.
                unsafe { api.free(ptr, span.len) };
                continue;
            }
            // SAFETY: the span lies inside one region and is free.
            if span.touched > 0 && unsafe { api.discard(ptr, span.len) } {
                span.touched = 0;
            }
            self.insert(addr, span);
        }
        before - self.kept
    }

    fn insert(&mut self, addr: usize, span: Span) {
        self.kept += span.touched;
        self.by_len.insert((span.len, addr));
        self.free.insert(addr, span);
    }

    /// Only for an address that is in `free`.
    fn remove(&mut self, addr: usize) -> Span {
        let span = self.free.remove(&addr).unwrap_or(Span { len: 0, touched: 0, fences: Fences::new() });
        self.by_len.remove(&(span.len, addr));
        self.kept -= span.touched;
        span
    }
}

impl Span {
    fn absorb(&mut self, other: Span) {
        self.len += other.len;
        self.touched += other.touched;
        other.fences.into_iter().filter(|f| !f.retired()).for_each(|f| f.join(&mut self.fences));
    }
}
