//! Devices: small numbers that name a place for memory and work, and the interface behind them.
use crate::device_cpu::Cpu;
use crate::fence::Streams;
use crate::memory::Pool;
use gluonish_base::{Cause, Result};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A place where arrays live and work runs: a number of the registry. 0 is `cpu(0)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Device(u32);

const KIND: u32 = 1 << 16;
const PINNED: u32 = KIND;
const REGISTERED: u32 = 2 * KIND;

/// A mark in the order of a stream's work; what it means is the device's own business.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Event(pub u64);

/// Work that was recorded from a stream and can be issued again as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Capture(pub u64);

/// What the engine asks of a device. The processor is one implementation: it has no streams, so its work is done when
/// the function that does it returns. A device with streams completes work twice: issued, then retired.
pub trait DeviceApi: Send + Sync {
    /// As users write it: `gpu(0)`.
    fn name(&self) -> String;
    /// Bytes that arrays may hold here.
    fn memory_limit(&self) -> usize;
    /// Memory aligned to at least 64 bytes.
    fn alloc(&self, bytes: usize) -> Result<NonNull<u8>>;
    /// # Safety
    /// `ptr` comes from `alloc(bytes)` of this device, is freed once, and no work uses it any more.
    unsafe fn free(&self, ptr: NonNull<u8>, bytes: usize);
    /// Returns the pages of a range inside an allocation to the system while the addresses stay: false when it cannot.
    /// # Safety
    /// The range lies inside one allocation and its contents are not needed any more.
    unsafe fn discard(&self, _ptr: NonNull<u8>, _bytes: usize) -> bool {
        false
    }
    /// Copies between this device's memory, or host memory, in the order of `stream`.
    /// # Safety
    /// Both ranges are valid, do not overlap, and stay until the copy has retired.
    unsafe fn copy(&self, stream: u32, dst: *mut u8, src: *const u8, bytes: usize) -> Result;

    /// How many streams there are. 0: work is done when its function returns.
    fn streams(&self) -> u32 {
        0
    }
    /// Marks the end of what was issued to a stream so far.
    fn record(&self, _stream: u32) -> Result<Event> {
        Err(unsupported("streams"))
    }
    /// Whether everything before the mark has retired; an error of that work is returned.
    fn query(&self, _event: Event) -> Result<bool> {
        Ok(true)
    }
    /// What is issued to `stream` from now on runs after the mark, which another stream or device may have made.
    fn stream_wait(&self, _stream: u32, _event: Event) -> Result {
        Ok(())
    }
    /// Returns when everything before the mark has retired; an error of that work is returned.
    fn host_wait(&self, _event: Event) -> Result {
        Ok(())
    }
    /// The engine does not need the mark any more.
    fn forget(&self, _event: Event) {}
    /// Whether `stream_wait` understands marks of that other device.
    fn understands(&self, _other: Device) -> bool {
        false
    }
    /// From now on, what is issued to the stream is recorded instead of run.
    fn begin_capture(&self, _stream: u32) -> Result {
        Err(unsupported("captures"))
    }
    /// Ends a recording.
    fn end_capture(&self, _stream: u32) -> Result<Capture> {
        Err(unsupported("captures"))
    }
    /// Issues what was recorded.
    fn replay(&self, _stream: u32, _capture: Capture) -> Result {
        Err(unsupported("captures"))
    }
    /// The engine does not need the recording any more.
    fn forget_capture(&self, _capture: Capture) {}
    /// Returns when everything issued so far has retired.
    fn synchronise(&self) -> Result {
        Ok(())
    }
}

#[cold]
fn unsupported(what: &str) -> gluonish_base::Error {
    Cause::Unsupported(format!("this device has no {what}")).into()
}

/// What the engine keeps for a device.
pub(crate) struct Entry {
    pub(crate) api: &'static dyn DeviceApi,
    pub(crate) pool: Pool,
    pub(crate) streams: Streams,
    /// The process was forked after the device was registered: it cannot be used here.
    pub(crate) lost: AtomicBool,
}

impl Entry {
    fn leak(api: &'static dyn DeviceApi, device: Device) -> &'static Entry {
        Box::leak(Box::new(Entry {
            api,
            pool: Pool::new(api, device.is_cpu()),
            streams: Streams::new(device, api.streams()),
            lost: AtomicBool::new(false),
        }))
    }
}

static REGISTRY: RwLock<Vec<&'static Entry>> = RwLock::new(Vec::new());

fn registry() -> RwLockReadGuard<'static, Vec<&'static Entry>> {
    REGISTRY.read().unwrap_or_else(PoisonError::into_inner)
}

/// All processors of a machine share one memory.
fn host() -> &'static Entry {
    static HOST: OnceLock<&'static Entry> = OnceLock::new();
    HOST.get_or_init(|| Entry::leak(&Cpu, Device::cpu(0)))
}

/// Adds a device for the rest of the process's life.
pub fn register(api: Box<dyn DeviceApi>) -> Device {
    let mut list = freeze();
    let device = Device(REGISTERED + list.len() as u32);
    list.push(Entry::leak(Box::leak(api), device));
    device
}

/// Keeps devices from being added while the process is copied, and everybody out of the list.
pub(crate) fn freeze() -> RwLockWriteGuard<'static, Vec<&'static Entry>> {
    REGISTRY.write().unwrap_or_else(PoisonError::into_inner)
}

/// Every device whose state exists.
pub(crate) fn entries() -> Vec<&'static Entry> {
    std::iter::once(host()).chain(registry().iter().copied()).collect()
}

impl Device {
    /// The `i`-th processor context; all of them share the memory and the thread pool, each has its own queue.
    pub const fn cpu(i: u16) -> Device {
        Device(i as u32)
    }

    /// Host memory that devices can copy from and to without a detour; plain host memory where there is no such device.
    pub const fn cpu_pinned(i: u16) -> Device {
        Device(PINNED + i as u32)
    }

    /// The inverse of `index`; `None` when there is no such device.
    pub fn from_index(index: u32) -> Option<Device> {
        let known = index < REGISTERED || ((index - REGISTERED) as usize) < registry().len();
        known.then_some(Device(index))
    }

    /// The number of this device in the registry.
    #[inline(always)]
    pub const fn index(self) -> u32 {
        self.0
    }

    /// Whether the memory is the processor's and kernels of the processor run on it.
    #[inline(always)]
    pub const fn is_cpu(self) -> bool {
        self.0 < REGISTERED
    }

    /// As users write it: `cpu(0)`, `cpu_pinned(1)`, or what the device calls itself.
    pub fn name(self) -> String {
        match self.0 / KIND {
            0 => format!("cpu({})", self.0),
            1 => format!("cpu_pinned({})", self.0 - PINNED),
            _ => self.entry().api.name(),
        }
    }

    /// The interface of the device.
    pub fn api(self) -> &'static dyn DeviceApi {
        self.entry().api
    }

    pub(crate) fn entry(self) -> &'static Entry {
        if self.is_cpu() { host() } else { registry()[(self.0 - REGISTERED) as usize] }
    }

    /// An error when the device does not work in this process.
    pub(crate) fn usable(self) -> Result {
        if self.entry().lost.load(Relaxed) {
            let text = format!("{} cannot be used in a process that was forked after it was started", self.name());
            return Err(Cause::Device(text).into());
        }
        Ok(())
    }
}

impl Default for Device {
    fn default() -> Device {
        Device::cpu(0)
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(Device::cpu(0).index(), 0);
        assert_eq!(Device::cpu(3).name(), "cpu(3)");
        assert_eq!(Device::cpu_pinned(1).to_string(), "cpu_pinned(1)");
        assert!(Device::cpu_pinned(1).is_cpu());
        for d in [Device::cpu(7), Device::cpu_pinned(2)] {
            assert_eq!(Device::from_index(d.index()), Some(d));
        }
        assert_eq!(Device::from_index(u32::MAX), None);
        assert_eq!(Device::default(), Device::cpu(0));
    }
}
