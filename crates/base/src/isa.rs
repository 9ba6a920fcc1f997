//! Which vector instructions this machine has. Decided once; tests can lower it, never raise it.
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Isa {
    Portable = 0,
    Avx2 = 1,
    Avx512 = 2,
}

const UNKNOWN: u8 = u8::MAX;
static LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);

/// What the processor offers.
pub fn detected() -> Isa {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
        if avx2
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
        {
            return Isa::Avx512;
        }
        if avx2 {
            return Isa::Avx2;
        }
    }
    Isa::Portable
}

/// The instruction set that kernels use.
#[inline(always)]
pub fn isa() -> Isa {
    match LEVEL.load(Relaxed) {
        0 => Isa::Portable,
        1 => Isa::Avx2,
        2 => Isa::Avx512,
        _ => decide(),
    }
}

#[cold]
fn decide() -> Isa {
    let level = detected();
    LEVEL.store(level as u8, Relaxed);
    level
}

/// Lowers the level, for tests and comparisons; what the machine lacks stays off. Returns what is used from now on.
pub fn limit(to: Isa) -> Isa {
    let level = detected().min(to);
    LEVEL.store(level as u8, Relaxed);
    level
}
