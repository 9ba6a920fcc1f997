//! Operands in 16-bit floats: their panels are converted to `f32` when they are packed.
use super::pack::{Mat, PackA, PackB};
use super::scratch::{Scratch, Slot};
use super::simd::Simd;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// A 16-bit float.
pub trait Half: Copy + Default + Send + Sync + 'static {
    fn widen(self) -> f32;
    fn narrow(x: f32) -> Self;
    fn widen_all(from: &[Self], to: &mut [f32]);
}

macro_rules! half {
    ($t:ident) => {
        impl Half for $t {
            #[inline(always)]
            fn widen(self) -> f32 {
                self.to_f32()
            }
            #[inline(always)]
            fn narrow(x: f32) -> $t {
                $t::from_f32(x)
            }
            #[inline(always)]
            fn widen_all(from: &[$t], to: &mut [f32]) {
                from.convert_to_f32_slice(to)
            }
        }
    };
}
half!(f16);
half!(bf16);

/// A matrix of 16-bit floats as an operand of a product in `f32`.
#[derive(Clone, Copy)]
pub struct HalfMat<H>(pub Mat<H>);

impl<H: Half> HalfMat<H> {
    /// A rectangle in `f32`, laid out as the source is; to be read while the scratch memory lives.
    unsafe fn widen(&self, i0: usize, rows: usize, j0: usize, cols: usize) -> (Scratch<f32>, Mat<f32>) {
        let Mat { rs, cs, .. } = self.0;
        let buf = Scratch::<f32>::take(Slot::Convert, rows * cols);
        let (lines, len, across, along) = if cs == 1 { (rows, cols, rs, cs) } else { (cols, rows, cs, rs) };
        for line in 0..lines {
            let from = self.0.at(i0, j0).wrapping_offset(line as isize * across);
            // SAFETY: the caller vouches for the rectangle; the buffer has room for it.
            unsafe {
                let to = buf.ptr().add(line * len);
                if along == 1 {
                    to.write_bytes(0, len);
                    H::widen_all(std::slice::from_raw_parts(from, len), std::slice::from_raw_parts_mut(to, len));
                } else {
                    for u in 0..len {
                        to.add(u).write((*from.offset(u as isize * along)).widen());
                    }
                }
            }
        }
        let (rs, cs) = if cs == 1 { (len as isize, 1) } else { (1, len as isize) };
        let mat = Mat::new(buf.ptr().cast_const(), rs, cs);
        (buf, mat)
    }
}

impl<H: Half> PackA<f32> for HalfMat<H> {
    unsafe fn pack<S: Simd<T = f32>>(&self, i0: usize, mr: usize, k0: usize, kc: usize, dst: *mut f32) {
        // SAFETY: the caller's.
        unsafe {
            let (_buf, mat) = self.widen(i0, mr, k0, kc);
            PackA::pack::<S>(&mat, 0, mr, 0, kc, dst);
        }
    }
}

impl<H: Half> PackB<f32> for HalfMat<H> {
    unsafe fn pack<S: Simd<T = f32>>(&self, k0: usize, kc: usize, j0: usize, n: usize, dst: *mut f32) {
        // SAFETY: the caller's.
        unsafe {
            let (_buf, mat) = self.widen(k0, kc, j0, n);
            PackB::pack::<S>(&mat, 0, kc, 0, n, dst);
        }
    }
}
