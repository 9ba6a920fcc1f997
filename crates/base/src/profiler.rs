//! A bounded ring of finished operations, and its Chrome-trace form. Off, it costs one relaxed load per op.
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// One operation that ran.
#[derive(Clone, Debug)]
pub struct Event {
    pub op: &'static str,
    pub device: u32,
    pub thread: u32,
    /// Nanoseconds since the process started profiling; `queued` equals `start` for work that ran in the caller.
    pub queued: u64,
    pub start: u64,
    pub end: u64,
    /// Bytes read and written.
    pub bytes: u64,
}

/// What is kept before the oldest events are dropped.
const CAPACITY: usize = 1 << 20;
static ON: AtomicBool = AtomicBool::new(false);

#[derive(Default)]
struct Ring {
    events: VecDeque<Event>,
    dropped: u64,
}

fn ring() -> MutexGuard<'static, Ring> {
    static RING: OnceLock<Mutex<Ring>> = OnceLock::new();
    RING.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

#[inline(always)]
pub fn enabled() -> bool {
    ON.load(Relaxed)
}

pub fn enable(on: bool) -> bool {
    now();
    ON.swap(on, Relaxed)
}

/// Nanoseconds on the profiler's clock.
pub fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// A small number for the calling thread.
pub fn thread_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    thread_local!(static MINE: u32 = NEXT.fetch_add(1, Relaxed));
    MINE.with(|m| *m)
}

pub fn record(e: Event) {
    let mut r = ring();
    if r.events.len() == CAPACITY {
        r.events.pop_front();
        r.dropped += 1;
    }
    r.events.push_back(e);
}

/// Events so far, oldest first, and how many had to be dropped. `clear` forgets them.
pub fn take(clear: bool) -> (Vec<Event>, u64) {
    let mut r = ring();
    let out = (r.events.iter().cloned().collect(), r.dropped);
    if clear {
        *r = Ring::default();
    }
    out
}

/// Chrome's trace format: complete events, one process per device, one row per thread, times in microseconds.
pub fn chrome_trace(events: &[Event], device_name: impl Fn(u32) -> String) -> String {
    let mut out = String::from("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
    let mut devices: Vec<u32> = events.iter().map(|e| e.device).collect();
    devices.sort_unstable();
    devices.dedup();
    for d in devices {
        let name = device_name(d);
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": {d}, \"args\": {{\"name\": \"{name}\"}}}},"
        );
    }
    for (i, e) in events.iter().enumerate() {
        let us = |ns: u64| ns as f64 / 1e3;
        let comma = if i + 1 < events.len() { "," } else { "" };
        let _ = writeln!(
            out,
            "{{\"ph\": \"X\", \"name\": \"{}\", \"cat\": \"operator\", \"pid\": {}, \"tid\": {}, \"ts\": {:.3}, \"dur\": {:.3}, \
             \"args\": {{\"queue_us\": {:.3}, \"bytes\": {}}}}}{comma}",
            e.op,
            e.device,
            e.thread,
            us(e.start),
            us(e.end - e.start),
            us(e.start - e.queued),
            e.bytes
        );
    }
    let trimmed = out.trim_end().trim_end_matches(',').len();
    out.truncate(trimmed);
    out.push_str("\n]}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_is_json() {
        let e = Event { op: "add", device: 0, thread: 1, queued: 0, start: 1500, end: 2500, bytes: 12 };
        let text = chrome_trace(&[e.clone(), e], |d| format!("cpu({d})"));
        assert!(text.contains("\"ts\": 1.500, \"dur\": 1.000"));
        assert_eq!(text.matches('{').count(), text.matches('}').count());
        assert!(chrome_trace(&[], |_| String::new()).contains("\"traceEvents\": [\n]"));
    }
}
