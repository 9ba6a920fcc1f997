//! Code over whole registers, written once and compiled for each instruction set.
pub(crate) mod sweeps;

use crate::dispatch::Elem;
#[cfg(target_arch = "x86_64")]
use crate::formula::{Avx2, Avx512};
use crate::formula::{Float, Pack};
use crate::map::sweep::Vector;
#[cfg(target_arch = "x86_64")]
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
                        Isa::Portable => {}
                    }
                }
                body.run(Pack::<$t>::new())
            }
        }
    )*};
}
registers! { f32 f64 }

/// The most lanes that a register has.
pub(crate) const WIDEST: usize = 16;
