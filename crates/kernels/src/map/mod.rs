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
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod encoded;
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
#[path = "not_encoded.rs"]
mod encoded;
mod fuse;
pub(crate) mod layout;
mod program;
mod run;
pub(crate) mod scratch;
mod straight;
pub(crate) mod sweep;

pub use apply::apply;
pub use class::Class;
pub use cuda::device_space;
pub use program::{Builder, Program, Value};
pub use run::run;
pub use straight::{FEW, Lane};

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
    pub(crate) count: fn(Class) -> u32,
    pub(crate) text: fn(Class, &Text, &[TextValue]) -> Option<TextValue>,
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    pub(crate) record: Record,
}

/// Writes down the operations of a formula over float32; none if it has no such instance.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) type Record = fn(crate::jit::Recorder<'_>, &[crate::jit::Reg]) -> Option<crate::jit::Reg>;

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
    /// Operations for one value of float32, in additions of one lane: what the formula costs beside loads and stores.
    pub fn ops(&self) -> u32 {
        self.ops_in(if self.has(Class::F32) { Class::F32 } else { Class::I32 })
    }
    /// The same for a class; float64's functions are calls.
    pub fn ops_in(&self, class: Class) -> u32 {
        (self.count)(class)
    }
    /// A rough cost in nanoseconds for one value of `class` in cache, on one thread: 0.02 for each operand and each
    /// operation (eight lanes, two operations a cycle, 3 GHz), twice that for lanes of eight bytes.
    pub fn ns_per_value(&self, class: Class) -> f64 {
        let wide = if class.size() == 8 { 2.0 } else { 1.0 };
        wide * 0.02 * (self.arity() as u32 + 1 + self.ops_in(class)) as f64
    }
}

/// Makes a [`Map`] from a formula: `map!(kind |i, operands...| expression)`. Kinds: `num` for every element type, `float`
/// for real numbers, `int` for integers, and `compare` (any type) or `test` (real numbers) where the result is a mask.
/// `float` and `test` may be followed by another formula for integers.
#[macro_export]
macro_rules! map {
    (@arity $($x:ident)+) => { 0usize $(+ { let _ = stringify!($x); 1usize })+ };
    (@formula $name:ident $trait:ident $bound:ident |$i:ident, $($x:ident),+| $body:expr) => {
        struct $name;
        impl $crate::formula::$trait<{ $crate::map!(@arity $($x)+) }> for $name {
            #[inline(always)]
            fn eval<I: $crate::formula::$bound>($i: I, [$($x),+]: [I::V; $crate::map!(@arity $($x)+)]) -> I::V {
                $body
            }
        }
    };
    (@make $trait:ident $bound:ident $new:ident $kind:ident |$i:ident, $($x:ident),+| $body:expr) => {{
        $crate::map!(@formula F $trait $bound |$i, $($x),+| $body);
        $crate::map::Map::$new::<F, { $crate::map!(@arity $($x)+) }>($crate::map::MapKind::$kind)
    }};
    (num |$i:ident, $($x:ident),+ $(,)?| $body:expr) => {
        $crate::map!(@make NumFormula Num num Num |$i, $($x),+| $body)
    };
    (float |$i:ident, $($x:ident),+| $body:expr, int |$j:ident, $($y:ident),+| $other:expr) => {{
        $crate::map!(@formula F FloatFormula Float |$i, $($x),+| $body);
        $crate::map!(@formula G IntFormula Int |$j, $($y),+| $other);
        $crate::map::Map::float_or_int::<F, G, { $crate::map!(@arity $($x)+) }>($crate::map::MapKind::Num)
    }};
    (float |$i:ident, $($x:ident),+ $(,)?| $body:expr) => {
        $crate::map!(@make FloatFormula Float float Float |$i, $($x),+| $body)
    };
    (int |$i:ident, $($x:ident),+ $(,)?| $body:expr) => {
        $crate::map!(@make IntFormula Int int Int |$i, $($x),+| $body)
    };
    (compare |$i:ident, $($x:ident),+ $(,)?| $body:expr) => {
        $crate::map!(@make NumFormula Num num Compare |$i, $($x),+| { let mask = $body; $i.number(mask) })
    };
    (test |$i:ident, $($x:ident),+| $body:expr, int |$j:ident, $($y:ident),+| $other:expr) => {{
        $crate::map!(@formula F FloatFormula Float |$i, $($x),+| { let mask = $body; $i.number(mask) });
        $crate::map!(@formula G IntFormula Int |$j, $($y),+| { let mask = $other; $j.number(mask) });
        $crate::map::Map::float_or_int::<F, G, { $crate::map!(@arity $($x)+) }>($crate::map::MapKind::Compare)
    }};
    (test |$i:ident, $($x:ident),+ $(,)?| $body:expr) => {
        $crate::map!(@make FloatFormula Float float Compare |$i, $($x),+| { let mask = $body; $i.number(mask) })
    };
}
