//! What is derived from filters, kept while they do not change: packed, or transformed. A small store for the process; what
//! was not used for longest goes first.
use super::geometry::{How, Planes};
use crate::gemm::{Real, Scratch, Slot};
use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The name of a storage's contents: a number and a version (`Cx::stamp`).
pub(crate) type Stamp = (NonZeroU64, u32);

/// Bytes that are kept, at most.
const LIMIT: usize = 256 << 20;
/// Entries that are kept, at most: several times those of the largest networks. Nobody says when filters have died; small
/// ones would fill the store before their bytes do.
const ENTRIES: usize = 4096;

/// Memory for elements, aligned to lines of the cache as whole vectors want it.
pub(super) struct Buffer<T> {
    lines: Vec<Line>,
    len: usize,
    of: PhantomData<T>,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

impl<T: Real> Buffer<T> {
    fn new(len: usize) -> Buffer<T> {
        let lines = vec![Line { _bytes: [0; 64] }; (len * size_of::<T>()).div_ceil(size_of::<Line>())];
        Buffer { lines, len, of: PhantomData }
    }

    fn ptr(&self) -> *const T {
        self.lines.as_ptr().cast()
    }
    fn bytes(&self) -> usize {
        self.lines.len() * size_of::<Line>()
    }
}

/// What something is derived from, and how.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Key {
    /// The algorithm and the pass, and what else the derived values depend on.
    pub made: (&'static str, How, [usize; 3]),
    pub stamp: Stamp,
    /// The view of the storage: where it begins, its shape and strides.
    pub at: usize,
    pub shape: [usize; 5],
    pub strides: [isize; 5],
}

impl Key {
    pub(super) fn new<T>(made: (&'static str, How, [usize; 3]), w: &Planes<T>, stamp: Stamp) -> Key {
        let [d, h, x] = w.size;
        Key {
            made,
            stamp,
            at: w.ptr.addr(),
            shape: [w.count, w.channels, d, h, x],
            strides: [w.by_count, w.by_channel, w.by[0], w.by[1], w.by[2]],
        }
    }

    /// The same for every version of the contents.
    fn name(&self) -> Key {
        Key { stamp: (self.stamp.0, 0), ..*self }
    }
}

struct Entry {
    version: u32,
    /// When it was used last: a number in `Store::by_use`.
    used: u64,
    bytes: usize,
    buffer: Arc<dyn Any + Send + Sync>,
}

/// One entry for each name, that of the version which was asked for last.
#[derive(Default)]
struct Store {
    entries: HashMap<Key, Entry>,
    /// Names in the order in which they were used.
    by_use: BTreeMap<u64, Key>,
    uses: u64,
    bytes: usize,
}

static STORE: LazyLock<Mutex<Store>> = LazyLock::new(Mutex::default);

impl Store {
    fn put(&mut self, name: Key, version: u32, bytes: usize, buffer: Arc<dyn Any + Send + Sync>) {
        self.take(&name);
        self.uses += 1;
        self.bytes += bytes;
        self.by_use.insert(self.uses, name);
        self.entries.insert(name, Entry { version, used: self.uses, bytes, buffer });
        while self.bytes > LIMIT || self.entries.len() > ENTRIES {
            let Some(oldest) = self.by_use.first_entry().map(|e| *e.get()) else { return };
            self.take(&oldest);
        }
    }

    fn take(&mut self, name: &Key) -> Option<Entry> {
        let entry = self.entries.remove(name)?;
        self.by_use.remove(&entry.used);
        self.bytes -= entry.bytes;
        Some(entry)
    }
}

/// What is derived from filters: kept for the next time, or not.
pub(super) enum Derived<T: Real> {
    Kept(Arc<Buffer<T>>),
    Once(Scratch<T>),
}

impl<T: Real> Derived<T> {
    /// What `make` derives in memory for `len` elements, all of which it writes. Without a key, or where there is nothing to
    /// derive, it is for this time alone, in the scratch memory of `slot`.
    pub(super) fn new(key: Option<Key>, slot: Slot, len: usize, make: impl FnOnce(*mut T)) -> Derived<T> {
        let Some(key) = key.filter(|_| len > 0) else {
            let room = Scratch::take(slot, len);
            make(room.ptr());
            return Derived::Once(room);
        };
        Derived::Kept(kept(key, len, make))
    }

    pub(super) fn ptr(&self) -> *const T {
        match self {
            Derived::Kept(b) => b.ptr(),
            Derived::Once(s) => s.ptr(),
        }
    }
}

/// What `make` derives in memory for `len` elements, all of which it writes; or what it has derived before from the same
/// contents.
fn kept<T: Real>(key: Key, len: usize, make: impl FnOnce(*mut T)) -> Arc<Buffer<T>> {
    let (name, version) = (key.name(), key.stamp.1);
    let mut old = None;
    {
        let mut store = STORE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = store.take(&name) {
            let found = entry.buffer.downcast::<Buffer<T>>();
            if entry.version == version
                && let Ok(found) = found
            {
                store.put(name, version, entry.bytes, found.clone());
                return found;
            }
            // Its memory serves again, unless somebody still reads it.
            old = found.ok().and_then(|b| Arc::try_unwrap(b).ok());
        }
    }
    let mut buffer = old.filter(|b| b.len == len).unwrap_or_else(|| Buffer::new(len));
    make(buffer.lines.as_mut_ptr().cast());
    let bytes = buffer.bytes();
    let buffer = Arc::new(buffer);
    if bytes <= LIMIT {
        STORE.lock().unwrap_or_else(PoisonError::into_inner).put(name, version, bytes, buffer.clone());
    }
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOW: How = How { stride: [1; 3], dilate: [1; 3], pad: [0; 3], groups: 1, channels_last: false };

    fn key(serial: u64, version: u32) -> Key {
        let serial = NonZeroU64::new(serial).unwrap_or(NonZeroU64::MIN);
        Key { made: ("test", HOW, [0; 3]), stamp: (serial, version), at: 64, shape: [1; 5], strides: [1; 5] }
    }

    #[test]
    fn a_version_is_derived_once_and_a_new_one_again() {
        let mut made = 0;
        let mut get = |k: Key| {
            let got = kept::<f32>(k, 3, |to| {
                made += 1;
                // SAFETY: there are three elements.
                (0..3).for_each(|i| unsafe { *to.add(i) = made as f32 });
            });
            // SAFETY: as above.
            unsafe { *got.ptr().add(2) }
        };
        let (a, b) = (u64::MAX - 1, u64::MAX - 2);
        assert_eq!([get(key(a, 1)), get(key(a, 1)), get(key(b, 1)), get(key(a, 2))], [1.0, 1.0, 2.0, 3.0]);
        assert_eq!(get(Key { at: 128, ..key(a, 2) }), 4.0);
        assert_eq!(get(Key { made: ("test", HOW, [1; 3]), ..key(a, 2) }), 5.0);
        assert_eq!([get(key(a, 2)), get(key(b, 1))], [3.0, 2.0]);
    }

    #[test]
    fn the_store_is_bounded() {
        let len = LIMIT / size_of::<f32>() / 8;
        for i in 1..12 {
            // SAFETY: there is a first element, here and below.
            let got = kept::<f32>(key(u64::MAX - 100 - i, 0), len, |to| unsafe { *to = i as f32 });
            // SAFETY: as above.
            assert_eq!(unsafe { *got.ptr() }, i as f32);
        }
        let store = STORE.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(store.bytes <= LIMIT && store.entries.len() <= 16, "{} in {}", store.bytes, store.entries.len());
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let mut store = Store::default();
        let name = |i: usize| key(i as u64 + 1, 0);
        (0..ENTRIES).for_each(|i| store.put(name(i), 0, 64, Arc::new(())));
        let first = store.take(&name(0)).map(|e| e.bytes);
        assert_eq!(first, Some(64));
        store.put(name(0), 1, 128, Arc::new(()));
        // One more than there is room for: the second is the oldest now.
        store.put(name(ENTRIES), 0, 64, Arc::new(()));
        assert!(!store.entries.contains_key(&name(1)));
        assert_eq!(store.entries.get(&name(0)).map(|e| (e.version, e.bytes)), Some((1, 128)));
        assert_eq!((store.entries.len(), store.by_use.len()), (ENTRIES, ENTRIES));
        assert_eq!(store.bytes, 64 * ENTRIES + 64);
        // A large one takes the place of many.
        store.put(name(2), 0, LIMIT, Arc::new(()));
        assert_eq!((store.entries.len(), store.by_use.len(), store.bytes), (1, 1, LIMIT));
    }

    #[test]
    fn nothing_is_not_kept() {
        let empty = key(u64::MAX - 3, 0);
        assert!(matches!(Derived::<f32>::new(Some(empty), Slot::B, 0, |_| ()), Derived::Once(_)));
        assert!(matches!(Derived::<f32>::new(Some(empty), Slot::B, 1, |_| ()), Derived::Kept(_)));
    }
}
