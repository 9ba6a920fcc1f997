//! Tickets of random numbers: one generator per device, numbered in program order.
use gluonish_base::Ticket;
use gluonish_engine::Device;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

#[derive(Default)]
struct Generators {
    seed: u64,
    counters: HashMap<u32, (u64, u64)>,
}

fn generators() -> MutexGuard<'static, Generators> {
    static ALL: OnceLock<Mutex<Generators>> = OnceLock::new();
    ALL.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts all generators anew, or only that of one device.
pub fn seed(seed: u64, device: Option<Device>) {
    let mut g = generators();
    match device {
        Some(d) => {
            g.counters.insert(d.index(), (seed, 0));
        }
        None => *g = Generators { seed, counters: HashMap::new() },
    }
}

/// The next ticket of a device's generator.
pub fn ticket(device: Device) -> Ticket {
    let mut g = generators();
    let first = g.seed;
    let (seed, counter) = g.counters.entry(device.index()).or_insert((first, 0));
    *counter += 1;
    Ticket { seed: *seed, stream: device.index(), counter: *counter - 1 }
}
