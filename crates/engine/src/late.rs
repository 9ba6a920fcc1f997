//! Storages that were dropped while a device still works on memory that cannot go to a pool: their own bytes, or those of
//! another library. A thread of their own waits: whoever drops the last pointer may be the very thread that retires work.
use crate::fence::{Fence, Fences};
use crate::storage::Storage;
use crate::sync::{Mutex, lock};
use std::sync::mpsc::{Sender, channel};

pub(crate) struct Late {
    pub(crate) storage: Box<Storage>,
    pub(crate) fences: Fences,
    /// Of another library's memory.
    pub(crate) release: Option<Box<dyn FnOnce() + Send>>,
}

impl Late {
    fn finish(self) {
        self.fences.into_iter().for_each(Fence::wait);
        if let Some(release) = self.release {
            release();
        }
        drop(self.storage);
    }
}

static QUEUE: Mutex<Option<Sender<Late>>> = Mutex::new(None);

/// Frees the storage when its fences have retired. Where no thread can be had it is never freed, which harms nobody.
#[cold]
pub(crate) fn free_later(late: Late) {
    let mut queue = lock(&QUEUE);
    if queue.is_none() {
        let (send, receive) = channel::<Late>();
        let thread = std::thread::Builder::new().name("gluonish-late".into());
        if thread.spawn(move || receive.into_iter().for_each(Late::finish)).is_err() {
            return std::mem::forget(late);
        }
        *queue = Some(send);
    }
    if let Some(Err(unsent)) = queue.as_ref().map(|q| q.send(late)) {
        std::mem::forget(unsent.0);
    }
}
