//! Elementwise operations: compiled loops of a formula, and the executor that runs them over views of any shape, stride
//! and element type.
//!
//! ```
//! use gluonish_kernels::map::{Class, Map};
//! static SILU: Map = gluonish_kernels::map!(float |i, x| i.mul(x, i.sigmoid(x)));
//! static LESS: Map = gluonish_kernels::map!(compare |i, a, b| i.lt(a, b));
//! assert!(SILU.has(Class::F32) && !SILU.has(Class::I32) && LESS.has(Class::U64));
//! ```
mod apply;
mod body;
mod class;
mod compile;
mod cuda;
pub(crate) mod layout;
mod program;
mod run;
pub(crate) mod scratch;
pub(crate) mod sweep;

pub use apply::apply;
pub use class::Class;
pub use cuda::device_space;
pub use program::{Builder, Program, Value};
pub use run::run;

use crate::formula::text::{Text, TextValue};
use gluonish_base::isa::Isa;
use sweep::{Loop, Loops};

/// Operands that one formula may have.
pub const MAX_INPUTS: usize = 4;

/// Values that one thread takes at a time: fixed, so that results never depend on the number of threads.
pub(crate) const CHUNK: usize = 1 << 16;

/// The loops of one formula for every class of element types and every instruction set: a static table.
pub struct Map {
    pub kind: MapKind,
    pub(crate) arity: u8,
    pub(crate) loops: [Option<Loops>; Class::COUNT],
    pub(crate) count: fn() -> u32,
    pub(crate) text: fn(Class, &Text, &[TextValue]) -> Option<TextValue>,
}

/// What a formula is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapKind {
    /// Any element type.
    Num,
    /// Real numbers.
    Float,
    /// Integers.
    Int,
    /// The result is a truth value: 0 or 1 in the loop, stored as bool.
    Compare,
}

impl Map {
    /// Number of operands.
    pub const fn arity(&self) -> usize {
        self.arity as usize
    }
    /// Whether the result is a truth value.
    pub const fn is_truth(&self) -> bool {
        matches!(self.kind, MapKind::Compare)
    }
    /// Whether the formula makes sense for a class.
    pub const fn has(&self, class: Class) -> bool {
        self.loops[class as usize].is_some()
    }
    #[inline(always)]
    pub(crate) fn get(&self, class: Class, isa: Isa) -> Option<Loop> {
        self.loops[class as usize].as_ref().map(|l| l[isa as usize])
    }
    /// Machine operations for one value (one float32 lane): what the formula costs beside loads and stores.
    pub fn ops(&self) -> u32 {
        (self.count)()
    }
    /// A rough cost in nanoseconds for one value of `class` in cache, on one thread: a load or store for each operand and
    /// an eighth of a cycle (AVX2, float32) for each operation at 3 GHz and two operations a cycle.
    pub fn ns_per_value(&self, class: Class) -> f64 {
        let wide = if class.size() == 8 { 2.0 } else { 1.0 };
        wide * (0.02 * (self.arity() + 1) as f64 + 0.02 * self.ops() as f64)
    }
}

/// Makes a [`Map`] from a formula: `map!(kind |i, operands...| expression)`. Kinds: `num` for every element type, `float`
/// for real numbers, `int` for integers, and `compare` (any type) or `test` (real numbers) where the result is a mask.
#[macro_export]
macro_rules! map {
    (@arity $($x:ident)+) => { 0usize $(+ { let _ = stringify!($x); 1usize })+ };
    (@make $trait:ident $bound:ident $new:ident $kind:ident |$i:ident, $($x:ident),+| $body:expr) => {{
        struct F;
        impl $crate::formula::$trait<{ $crate::map!(@arity $($x)+) }> for F {
            #[inline(always)]
            fn eval<I: $crate::formula::$bound>($i: I, [$($x),+]: [I::V; $crate::map!(@arity $($x)+)]) -> I::V {
                $body
            }
        }
        $crate::map::Map::$new::<F, { $crate::map!(@arity $($x)+) }>($crate::map::MapKind::$kind)
    }};
    (num |$i:ident, $($x:ident),+ $(,)?| $body:expr) => {
        $crate::map!(@make NumFormula Num num Num |$i, $($x),+| $body)
    };
    (float |$i:ident, $($x:ident),+ $(,)?| $body:expr) => {
        $crate::map!(@make FloatFormula Float float Float |$i, $($x),+| $body)
    };
    (int |$i:ident, $($x:ident),+ $(,)?| $body:expr) => {
        $crate::map!(@make IntFormula Int int Int |$i, $($x),+| $body)
    };
    (compare |$i:ident, $($x:ident),+ $(,)?| $body:expr) => {
        $crate::map!(@make NumFormula Num num Compare |$i, $($x),+| { let mask = $body; $i.number(mask) })
    };
    (test |$i:ident, $($x:ident),+ $(,)?| $body:expr) => {
        $crate::map!(@make FloatFormula Float float Compare |$i, $($x),+| { let mask = $body; $i.number(mask) })
    };
}
