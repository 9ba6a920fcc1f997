//! The dependency engine: storages that are also variables, blocks of memory, devices, and two schedulers of one contract.
//!
//! Work is pushed with the storages it reads and writes (`Engine::push`) and runs when those before it on the same
//! storages are done: on the leader thread of its device, or before `push` returns in the serial engine. Small work whose
//! storages are ready runs in the caller instead, between `try_read` and `end_read`. Errors become the value of what the
//! work would have written. The engine knows no shapes, no ops and no Python.
//!
//! From the bottom up: `gate` (who may use a variable), `storage`, `memory` (pools of blocks), `device` and `fence`
//! (work that is issued now and done later), `task`, `promise` (values that somebody brings), `scheduler`, `fork` and
//! `shutdown`.
mod cold;
pub mod device;
mod device_cpu;
mod fence;
mod fork;
mod gate;
mod late;
mod loan;
pub mod memory;
mod promise;
mod scheduler;
mod shutdown;
pub mod storage;
mod sync;
mod task;

pub use device::{Device, DeviceApi, register};
pub use loan::Loan;
pub use promise::Promise;
pub use scheduler::{Engine, Stats, engine};
pub use shutdown::shutdown;
pub use storage::{Storage, TapeMark, Var};
pub use task::{Lane, Push, Running, Write};
