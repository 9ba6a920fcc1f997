//! Which vector instructions this machine has. Decided once; tests can lower it, never raise it.
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Instruction sets. Of those of one kind of processor, a later one has all that an earlier one has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Isa {
    Portable = 0,
    /// Of all 64-bit ARM processors. Below those of x86, so that `isa() >= Isa::Avx2` asks for them alone.
    Neon = 1,
    Avx2 = 2,
    Avx512 = 3,
}

impl Isa {
    /// How many there are: the length of a table by instruction set.
    pub const COUNT: usize = 4;
}

/// Those of this kind of processor, the plainest first.
const OF_THIS_KIND: &[Isa] = if cfg!(target_arch = "x86_64") {
    &[Isa::Portable, Isa::Avx2, Isa::Avx512]
} else if cfg!(target_arch = "aarch64") {
    &[Isa::Portable, Isa::Neon]
} else {
    &[Isa::Portable]
};

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
    if cfg!(target_arch = "aarch64") { Isa::Neon } else { Isa::Portable }
}

/// All that this machine has, the plainest first.
pub fn available() -> impl Iterator<Item = Isa> {
    let best = detected();
    OF_THIS_KIND.iter().copied().filter(move |i| *i <= best)
}

/// The instruction set that kernels use.
#[inline(always)]
pub fn isa() -> Isa {
    match LEVEL.load(Relaxed) {
        0 => Isa::Portable,
        1 => Isa::Neon,
        2 => Isa::Avx2,
        3 => Isa::Avx512,
        _ => decide(),
    }
}

#[cold]
fn decide() -> Isa {
    let level = detected();
    LEVEL.store(level as u8, Relaxed);
    level
}

/// Lowers the level, for tests and comparisons: to the best that the machine has and that is not above `to`. What it lacks
/// stays off. Returns what is used from now on.
pub fn limit(to: Isa) -> Isa {
    let level = available().filter(|i| *i <= to).last().unwrap_or(Isa::Portable);
    LEVEL.store(level as u8, Relaxed);
    level
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_machine_has_is_used() {
        let all = [Isa::Portable, Isa::Neon, Isa::Avx2, Isa::Avx512];
        assert_eq!(all.len(), Isa::COUNT);
        let have: Vec<Isa> = available().collect();
        assert_eq!((have[0], have.last()), (Isa::Portable, Some(&detected())));
        assert_eq!(have.contains(&Isa::Neon), cfg!(target_arch = "aarch64"));
        for to in all {
            let level = limit(to);
            assert!(have.contains(&level) && level <= to && (level == to) == have.contains(&to), "{to:?}: {level:?}");
            assert_eq!(isa(), level);
        }
        assert_eq!(limit(detected()), detected());
    }
}
