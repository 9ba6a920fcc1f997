//! Sums over devices. Each device brings an array and gets the sum of all; the value is promised to those who come first,
//! so nobody's thread waits.
use crate::array::NDArray;
use crate::invoke::In;
use crate::launch::submit;
use gluonish_base::{Cause, Result, Site};
use gluonish_engine::{Device, Promise, Write, engine};
use gluonish_kernels::convert::copy_view;
use gluonish_kernels::{Cx, Mode, Out};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What was brought so far, and where the sum goes.
#[derive(Default)]
struct Meeting {
    parties: usize,
    brought: BTreeMap<u32, NDArray>,
    promised: Vec<(NDArray, Promise)>,
}

/// Meetings of one name that are not complete. The n-th array of a device belongs to the n-th meeting.
#[derive(Default)]
struct Series {
    /// How often each device has come, and in which step of training last.
    calls: HashMap<Device, (u64, u64)>,
    open: BTreeMap<u64, Meeting>,
}

impl Series {
    /// Whether the device has come in an earlier step to a meeting that still waits: others have failed to come.
    fn is_stale(&self, device: Device, step: u64) -> bool {
        let waits = self.open.values().any(|m| m.brought.contains_key(&device.index()));
        waits && self.calls.get(&device).is_some_and(|(_, last)| *last != step)
    }
}

static SERIES: Mutex<BTreeMap<String, Series>> = Mutex::new(BTreeMap::new());

fn series() -> MutexGuard<'static, BTreeMap<String, Series>> {
    SERIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sum of the arrays that `parties` devices bring to the meeting called `key`, each its own; every one gets it. The
/// order of the sum is that of the devices, not that of the calls. The array must not be written to afterwards. `step` is the
/// same for all calls of a device in one step of training: what an earlier step left unfinished is given up.
pub fn sum_over_devices(key: &str, parties: usize, step: u64, x: &NDArray) -> Result<NDArray> {
    let device = x.device();
    if !device.is_cpu() {
        return Err(Cause::Unsupported(format!("sums over devices of arrays on {device}")).into());
    }
    if engine().is_naive() && parties > 1 {
        let text = "what several devices make together needs the threaded engine: the serial one would wait for ever";
        return Err(Cause::Unsupported(text.into()).into());
    }
    let y = NDArray::empty(device, x.dtype(), x.shape())?;
    // Dropped after the lock is let go: broken promises wake tasks.
    let stale;
    let mut all = series();
    stale = if all.get(key).is_some_and(|mine| mine.is_stale(device, step)) { all.remove(key) } else { None };
    let mine = all.entry(key.into()).or_default();
    let round = mine.calls.get(&device).map_or(0, |(count, _)| *count);
    let meeting = mine.open.entry(round).or_insert_with(|| Meeting { parties, ..Meeting::default() });
    if meeting.parties != parties {
        let text = format!("{key:?}: {device} counts {parties} devices, another has counted {}", meeting.parties);
        return Err(Cause::Argument(text).into());
    }
    if let Some(other) = meeting.brought.values().find(|o| o.shape() != x.shape() || o.dtype() != x.dtype()) {
        let text = format!(
            "{key:?}: {device} brings {} {}, {} has brought {} {}",
            x.dtype(),
            x.shape(),
            other.device(),
            other.dtype(),
            other.shape()
        );
        return Err(Cause::Shape(text).into());
    }
    meeting.brought.insert(device.index(), x.clone());
    mine.calls.insert(device, (round + 1, step));
    if meeting.brought.len() < parties {
        // A new array is nobody's: the promise can always be had.
        meeting.promised.extend(Promise::of(y.storage()).map(|p| (y.clone(), p)));
        return Ok(y);
    }
    let meeting = mine.open.remove(&round).unwrap_or_default();
    if mine.open.is_empty() {
        all.remove(key);
    }
    drop(all);
    drop(stale);
    meeting.conclude(&y)?;
    Ok(y)
}

/// Gives up whatever waits for devices that have not come: the sums become errors, and meetings begin anew.
pub(crate) fn give_up() {
    let open = std::mem::take(&mut *series());
    drop(open);
}

impl Meeting {
    /// Queues the sum, to all who are promised it and to `last`.
    fn conclude(self, last: &NDArray) -> Result {
        let Meeting { brought, promised, .. } = self;
        let parts: Vec<NDArray> = brought.into_values().collect();
        let ins: Vec<In<'_>> = parts.iter().map(In::Array).collect();
        let (own, to) = (parts.clone(), last.clone());
        let work = move || {
            let cx = Cx::default();
            for (i, part) in own.iter().enumerate() {
                let mode = if i == 0 { Mode::Write } else { Mode::Add };
                copy_view(&cx, &part.view(), &Out { view: to.view(), mode })?;
            }
            for (y, promise) in promised {
                copy_view(&cx, &to.view(), &Out { view: y.view(), mode: Mode::Write })?;
                promise.keep();
            }
            Ok(())
        };
        let writes = [(last.storage(), Write::Overwrite)];
        submit("sum_over_devices", &ins, &writes, last.device(), Some(0), Site::here(), work)
    }
}
