//! Code over whole registers, written once and compiled for each instruction set.
pub(crate) mod sweeps;

use crate::dispatch::Elem;
#[cfg(target_arch = "aarch64")]
use crate::formula::Neon;
#[cfg(target_arch = "x86_64")]
use crate::formula::{Avx2, Avx512};
use crate::formula::{Float, Pack};
use crate::map::sweep::Vector;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use gluonish_base::isa::{Isa, isa};

/// A piece of code over registers of `T`. `run` and all that it calls must be `inline(always)`: they melt into a function
/// that has the instructions switched on.
pub(crate) trait Body<T> {
    type Out;
    fn run<I: Float + Vector<T = T>>(self, i: I) -> Self::Out;
}

/// A type that registers hold.
pub(crate) trait Registers: Elem {
    /// Runs the best instance of `body` for this machine.
    fn enter<B: Body<Self>>(body: B) -> B::Out;
}

macro_rules! registers {
    ($($t:ident)*) => {$(
        impl Registers for $t {
            #[inline]
            fn enter<B: Body<$t>>(body: B) -> B::Out {
                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx2,fma")]
                    fn avx2<B: Body<$t>>(body: B) -> B::Out {
                        // SAFETY: the function is compiled for, and called on, machines with these instructions.
                        body.run(unsafe { Avx2::<$t>::new() })
                    }
                    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
                    fn avx512<B: Body<$t>>(body: B) -> B::Out {
                        // SAFETY: as above.
                        body.run(unsafe { Avx512::<$t>::new() })
                    }
                    match isa() {
                        // SAFETY: `isa()` has found these features on this machine.
                        Isa::Avx512 => return unsafe { avx512(body) },
                        // SAFETY: as above.
                        Isa::Avx2 => return unsafe { avx2(body) },
                        _ => {}
                    }
                }
                #[cfg(target_arch = "aarch64")]
                if isa() == Isa::Neon {
                    return body.run(Neon::<$t>::new());
                }
                body.run(Pack::<$t>::new())
            }
        }
    )*};
}
registers! { f32 f64 }

/// The most lanes that a register has.
pub(crate) const WIDEST: usize = 16;

/// Asks for the memory of `n` values from `p` on, to be there when it is needed; any address will do.
#[inline(always)]
pub(crate) fn prefetch<T>(p: *const T, n: usize) {
    const LINE: usize = 64;
    #[cfg(target_arch = "x86_64")]
    for at in (0..n * size_of::<T>()).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which reads nothing; every x86-64 has the instruction.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(p.cast::<i8>().wrapping_add(at)) };
    }
    #[cfg(target_arch = "aarch64")]
    for at in (0..n * size_of::<T>()).step_by(LINE) {
        crate::neon::prefetch(p.cast::<i8>().wrapping_add(at));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = (p, n, LINE);
}

#[cfg(test)]
mod tests {
    use super::*;
    use gluonish_base::isa::{available, limit};

    /// Lanes that are read where there are more.
    const PART: usize = 3;

    /// Two registers of numbers, taken apart and put together, and a part of one over another.
    struct Moves;
    impl<T: Registers> Body<T> for Moves {
        type Out = (usize, Vec<f64>);
        #[inline(always)]
        fn run<I: Float + Vector<T = T>>(self, i: I) -> (usize, Vec<f64>) {
            let from: Vec<T> = (0..2 * I::LANES).map(|k| T::from_f64(k as f64)).collect();
            let mut to = vec![T::default(); 5 * I::LANES];
            // SAFETY: there are two registers of numbers, and room for five.
            unsafe {
                let (a, b) = (i.load(from.as_ptr()), i.load(from.as_ptr().add(I::LANES)));
                let (even, odd) = i.unzip(a, b);
                let (first, second) = i.zip(a, b);
                let part = i.load_or(from.as_ptr(), PART.min(I::LANES), b);
                for (k, v) in [even, odd, first, second, part].into_iter().enumerate() {
                    i.store_up_to(to.as_mut_ptr().add(k * I::LANES), v, I::LANES);
                }
            }
            (I::LANES, to.into_iter().map(T::to_f64).collect())
        }
    }

    fn check<T: Registers>() {
        let (n, got) = T::enter(Moves);
        let even = (0..n).map(|k| 2 * k);
        let odd = (0..n).map(|k| 2 * k + 1);
        let by_turns = (0..2 * n).map(|k| if k.is_multiple_of(2) { k / 2 } else { n + k / 2 });
        let part = (0..n).map(|k| if k < PART { k } else { n + k });
        let want: Vec<f64> = even.chain(odd).chain(by_turns).chain(part).map(|k| k as f64).collect();
        assert_eq!(got, want, "{n} lanes");
    }

    #[test]
    fn lanes_go_where_they_should() {
        for level in available() {
            limit(level);
            check::<f32>();
            check::<f64>();
        }
    }
}
