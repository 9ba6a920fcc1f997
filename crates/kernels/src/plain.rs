//! What kernels of several products work with: operands as plain memory in the type that is computed in, formulas on lines of
//! values.
use crate::convert::copy_view;
use crate::gemm::Real;
use crate::map::{Class, Map};
use crate::registers::Registers;
use crate::room::{Room, room};
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::isa::isa;
use gluonish_base::{DType, Result};

/// A type that is computed in.
pub(crate) trait Value: Real + Registers {
    const CLASS: Class;
}
impl Value for f32 {
    const CLASS: Class = Class::F32;
}
impl Value for f64 {
    const CLASS: Class = Class::F64;
}

/// `with_value!(dtype, T => call)`: for the type in which values of `dtype` are computed.
macro_rules! with_value {
    ($d:expr, $T:ident => $e:expr) => {
        match $d {
            gluonish_base::DType::F64 => $crate::by_dtype!(@ $T = f64, $e),
            _ => $crate::by_dtype!(@ $T = f32, $e),
        }
    };
}
pub(crate) use with_value;

/// The type in which values of a floating type are computed.
pub fn computed_in(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

/// An input, row-major without gaps: where it lies, or copied.
pub(crate) struct Plain<T> {
    ptr: *const T,
    held: Room<T>,
}
// SAFETY: only read, from memory that outlives the kernel.
unsafe impl<T: Sync> Sync for Plain<T> {}

impl<T: Value> Plain<T> {
    pub(crate) fn of(cx: &Cx, v: &View<'_>) -> Result<Plain<T>> {
        if v.dtype == T::DTYPE && v.contiguous {
            return Ok(Plain { ptr: v.as_ptr::<T>().cast_const(), held: Room::EMPTY });
        }
        let mut held = room::<T>(v.size)?;
        let strides = v.shape.contiguous_strides();
        let view = View::contiguous(held.as_mut_ptr().cast(), T::DTYPE, v.shape, &strides);
        copy_view(cx, v, &Out { view, mode: Mode::Write })?;
        Ok(Plain { ptr: held.as_ptr(), held })
    }
    #[inline(always)]
    pub(crate) fn ptr(&self) -> *const T {
        if self.held.is_empty() { self.ptr } else { self.held.as_ptr() }
    }
}

/// An output, row-major without gaps: in place, or copied there by `finish`.
pub(crate) struct Target<'a, T> {
    out: Out<'a>,
    held: Option<Room<T>>,
}

impl<'a, T: Value> Target<'a, T> {
    pub(crate) fn of(out: &Out<'a>) -> Result<Target<'a, T>> {
        let direct = out.view.dtype == T::DTYPE && out.view.contiguous && out.mode == Mode::Write;
        Ok(Target { out: *out, held: if direct { None } else { Some(room(out.view.size)?) } })
    }
    pub(crate) fn ptr(&mut self) -> *mut T {
        match &mut self.held {
            Some(v) => v.as_mut_ptr(),
            None => self.out.view.as_ptr(),
        }
    }
    pub(crate) fn finish(mut self, cx: &Cx) -> Result {
        let Some(held) = &mut self.held else { return Ok(()) };
        let strides = self.out.view.shape.contiguous_strides();
        let view = View::contiguous(held.as_mut_ptr().cast(), T::DTYPE, self.out.view.shape, &strides);
        copy_view(cx, &view, &self.out)
    }
}

/// `out[j] = map(operands[..][j])` for `n` values; `out` may be an operand.
///
/// # Safety
/// All pointers lead to `n` values, and nobody else writes to those of `out`.
#[inline(always)]
pub(crate) unsafe fn apply<T: Value, const N: usize>(map: &Map, n: usize, out: *mut T, operands: [*const T; N]) {
    debug_assert_eq!(map.arity(), N);
    let Some(looped) = map.get(T::CLASS, isa()) else { return };
    let ins = operands.map(|p| p.cast::<u8>());
    // SAFETY: the loop fits the machine; the pointers are the caller's, all of them arrays.
    unsafe { looped(out.cast(), ins.as_ptr(), (1 << N) - 1, n) }
}
