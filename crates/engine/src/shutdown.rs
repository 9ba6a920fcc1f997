//! The end of the process: callbacks are dropped, other work is finished, threads are joined, all within a time.
use crate::scheduler::{engine, is_started};
use std::time::{Duration, Instant};

/// Ends the engine's threads. Callbacks that have not started are not run; all else is finished. From now on work runs in
/// its caller. False: something was still running after `patience`, and goes on.
pub fn shutdown(patience: Duration) -> bool {
    !is_started() || engine().close(Instant::now() + patience)
}
