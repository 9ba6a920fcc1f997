//! What a call costs, in nanoseconds on one thread: it decides whether the call runs in the caller or is queued, and how
//! many threads it gets. A factor of two off does no harm.
use crate::def::{Body, Call, Meta, Op};
use gluonish_base::isa::{Isa, isa};
use gluonish_base::{DType, Dims};
use gluonish_kernels::map::{Class, Map};

#[derive(Clone, Copy)]
pub enum Cost {
    /// Bytes read and written at the speed of the cache, times a factor for the work done on them.
    Bytes(f32),
    /// Nothing moves.
    Free,
    /// The row's formula says.
    Map,
    Of(fn(&Call<'_>, &[Meta]) -> u64),
}

/// Bytes that one thread moves in a nanosecond, near the cache.
const BYTES_PER_NS: f32 = 16.0;
/// Elements that are never worth an estimate.
const TINY: usize = 64;
/// Multiply-adds that one thread does in a nanosecond, in a product of matrices of this type.
pub fn fma_per_ns(dtype: DType) -> u64 {
    let of_four_bytes = match isa() {
        Isa::Avx512 => 80,
        Isa::Avx2 => 40,
        Isa::Neon => 16,
        Isa::Portable => 8,
    };
    of_four_bytes * 4 / dtype.size().max(4) as u64
}

impl Op {
    #[inline]
    pub fn cost_ns(&self, call: &Call<'_>, outs: &[Meta]) -> u64 {
        match self.cost {
            Cost::Bytes(factor) => {
                let read: usize = call.ins.iter().map(|v| v.size * v.dtype.size()).sum();
                let written: usize = outs.iter().map(|m| bytes(&m.shape, m.dtype.size())).sum();
                ((read + written) as f32 * factor / BYTES_PER_NS) as u64
            }
            Cost::Free => 0,
            Cost::Map => match &self.body {
                Body::Map(map) => map_ns(map, call, &outs[0]),
                _ => 0,
            },
            Cost::Of(f) => f(call, outs),
        }
    }
}

fn bytes(shape: &Dims, item: usize) -> usize {
    shape.iter().fold(item, |n, &d| n.saturating_mul(d.max(0) as usize))
}

/// Cost of an elementwise formula: the larger of moving the bytes and doing the arithmetic.
fn map_ns(map: &Map, call: &Call<'_>, out: &Meta) -> u64 {
    let n = bytes(&out.shape, 1);
    if n <= TINY {
        return 0;
    }
    let n = n as f32;
    let item = call.ins.iter().map(|v| v.dtype.size()).sum::<usize>() + out.dtype.size();
    let class = Class::of(crate::infer::promoted(call.ins));
    (n * (item as f32 / BYTES_PER_NS).max(map.ns_per_value(class) as f32)) as u64
}
