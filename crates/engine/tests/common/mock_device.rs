//! A device with two streams whose work really is done later, by threads of its own, after delays of random length.
use super::Rng;
use gluonish_base::{Cause, Result};
use gluonish_engine::device::Event;
use gluonish_engine::{Device, DeviceApi};
use std::alloc::{Layout, alloc, dealloc};
use std::collections::{BTreeMap, VecDeque};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

type Action = Box<dyn FnOnce() -> Result + Send>;

enum Item {
    Run(Action),
    Mark(u64),
    WaitFor(u64),
}

#[derive(Default)]
struct State {
    queues: [VecDeque<Item>; 2],
    next_event: u64,
    /// Events: not reached, or reached and how.
    events: BTreeMap<u64, Option<Result>>,
    /// The error of the work since the last mark of a stream.
    failed: [Option<Result>; 2],
    delay: u64,
}

/// The device's insides, shared with its streams.
#[derive(Default)]
pub(crate) struct Inner {
    state: Mutex<State>,
    changed: Condvar,
    pub(crate) allocated: AtomicUsize,
    pub(crate) waits: AtomicUsize,
    limit: usize,
}

pub(crate) struct Mock(Arc<Inner>);

/// A new device, and a handle with which tests issue work to it.
pub(crate) fn mock(limit: usize, max_delay_us: u64) -> (Device, Arc<Inner>) {
    let inner = Arc::new(Inner { limit, ..Inner::default() });
    inner.lock().delay = max_delay_us;
    for stream in 0..2 {
        let inner = inner.clone();
        std::thread::spawn(move || inner.serve(stream));
    }
    (gluonish_engine::register(Box::new(Mock(inner.clone()))), inner)
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, guard: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Issues work to a stream: it runs later, in the order of the stream.
    pub(crate) fn launch(&self, stream: u32, action: impl FnOnce() -> Result + Send + 'static) {
        self.lock().queues[stream as usize].push_back(Item::Run(Box::new(action)));
        self.changed.notify_all();
    }

    /// One stream of the device.
    fn serve(&self, stream: usize) {
        let mut rng = Rng::new(stream as u64 + 17);
        loop {
            let mut state = self.lock();
            let item = loop {
                match state.queues[stream].pop_front() {
                    Some(item) => break item,
                    None => state = self.wait(state),
                }
            };
            let delay = state.delay;
            match item {
                Item::Run(action) => {
                    drop(state);
                    if delay > 0 {
                        std::thread::sleep(Duration::from_micros(rng.below(delay)));
                    }
                    if let Err(e) = action() {
                        self.lock().failed[stream] = Some(Err(e));
                    }
                }
                Item::Mark(id) => {
                    let how = state.failed[stream].take().unwrap_or(Ok(()));
                    state.events.insert(id, Some(how));
                    self.changed.notify_all();
                }
                Item::WaitFor(id) => {
                    // A mark that was forgotten had been reached.
                    while matches!(state.events.get(&id), Some(None)) {
                        state = self.wait(state);
                    }
                }
            }
        }
    }
}

impl DeviceApi for Mock {
    fn name(&self) -> String {
        "mock".to_string()
    }
    fn memory_limit(&self) -> usize {
        self.0.limit
    }
    fn alloc(&self, bytes: usize) -> Result<NonNull<u8>> {
        let total = self.0.allocated.fetch_add(bytes, SeqCst) + bytes;
        if total > self.0.limit {
            self.0.allocated.fetch_sub(bytes, SeqCst);
            return Err(Cause::Device("the device is full".into()).into());
        }
        // SAFETY: the layout is not empty.
        let ptr = unsafe { alloc(Layout::from_size_align(bytes, 512).unwrap()) };
        Ok(NonNull::new(ptr).unwrap())
    }
    unsafe fn free(&self, ptr: NonNull<u8>, bytes: usize) {
        self.0.allocated.fetch_sub(bytes, SeqCst);
        // SAFETY: by contract it came from `alloc(bytes)`.
        unsafe { dealloc(ptr.as_ptr(), Layout::from_size_align(bytes, 512).unwrap()) }
    }
    unsafe fn copy(&self, stream: u32, dst: *mut u8, src: *const u8, bytes: usize) -> Result {
        let (dst, src) = (dst as usize, src as usize);
        self.0.launch(stream, move || {
            // SAFETY: by contract both ranges stay valid until the copy has retired, and do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(src as *const u8, dst as *mut u8, bytes) };
            Ok(())
        });
        Ok(())
    }
    fn streams(&self) -> u32 {
        2
    }
    fn record(&self, stream: u32) -> Result<Event> {
        let mut state = self.0.lock();
        let id = state.next_event;
        state.next_event += 1;
        state.events.insert(id, None);
        state.queues[stream as usize].push_back(Item::Mark(id));
        self.0.changed.notify_all();
        Ok(Event(id))
    }
    fn query(&self, event: Event) -> Result<bool> {
        Ok(!matches!(self.0.lock().events.get(&event.0), Some(None)))
    }
    fn stream_wait(&self, stream: u32, event: Event) -> Result {
        self.0.waits.fetch_add(1, SeqCst);
        self.0.lock().queues[stream as usize].push_back(Item::WaitFor(event.0));
        self.0.changed.notify_all();
        Ok(())
    }
    fn host_wait(&self, event: Event) -> Result {
        let mut state = self.0.lock();
        loop {
            match state.events.get(&event.0) {
                Some(None) => state = self.0.wait(state),
                Some(Some(how)) => return how.clone(),
                None => return Ok(()),
            }
        }
    }
    fn forget(&self, event: Event) {
        self.0.lock().events.remove(&event.0);
    }
}
