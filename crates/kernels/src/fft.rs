//! Fourier transforms of the last axis in MXNet's layout: a complex number is two neighbours, its real and its imaginary
//! part. Neither direction is scaled. Transforms come from `rustfft`; rows are shared among threads.
use crate::linalg::in_type;
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{Cause, DType, Dims, Result, pool};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftNum, FftPlanner};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The transform of each row of n real numbers: 2 n numbers.
pub fn forward(cx: &Cx, x: &View<'_>, rows_at_once: usize, out: &Out<'_>) -> Result {
    run(cx, x, rows_at_once, out, true)
}

/// The real part of the back transform of each row of n complex numbers (2 n numbers): n numbers, n times as large as
/// what `forward` was given.
pub fn backward(cx: &Cx, x: &View<'_>, rows_at_once: usize, out: &Out<'_>) -> Result {
    run(cx, x, rows_at_once, out, false)
}

fn run(cx: &Cx, x: &View<'_>, rows_at_once: usize, out: &Out<'_>, forward: bool) -> Result {
    let dtype = if out.view.dtype == DType::F64 { DType::F64 } else { DType::F32 };
    in_type(cx, dtype, &[*x], &[*out], |ins, outs| match dtype {
        DType::F64 => rows::<f64>(cx, &ins[0], rows_at_once, &outs[0], forward),
        _ => rows::<f32>(cx, &ins[0], rows_at_once, &outs[0], forward),
    })
}

/// A number that has transforms, and the plans made so far.
trait Number: FftNum + Default {
    fn planner() -> &'static Mutex<FftPlanner<Self>>;
}
macro_rules! number {
    ($t:ident) => {
        impl Number for $t {
            fn planner() -> &'static Mutex<FftPlanner<$t>> {
                static PLANNER: OnceLock<Mutex<FftPlanner<$t>>> = OnceLock::new();
                PLANNER.get_or_init(|| Mutex::new(FftPlanner::new()))
            }
        }
    };
}
number!(f32);
number!(f64);

fn plan<T: Number>(n: usize, forward: bool) -> Arc<dyn Fft<T>> {
    let mut planner = T::planner().lock().unwrap_or_else(PoisonError::into_inner);
    if forward { planner.plan_fft_forward(n) } else { planner.plan_fft_inverse(n) }
}

/// A view as rows along its last axis.
struct Rows<T> {
    ptr: *mut T,
    shape: Dims,
    strides: Dims,
    step: isize,
}

// SAFETY: a kernel's operands may be used from any thread while it runs; threads write different rows.
unsafe impl<T> Sync for Rows<T> {}

impl<T> Rows<T> {
    fn of(v: &View<'_>) -> Rows<T> {
        let last = v.ndim() - 1;
        let (shape, strides) = (Dims::of(&v.shape[..last]), Dims::of(&v.strides[..last]));
        Rows { ptr: v.as_ptr(), shape, strides, step: v.strides[last] }
    }
    fn row(&self, mut i: usize) -> *mut T {
        let mut offset = 0;
        for (&size, &stride) in self.shape.iter().zip(self.strides.iter()).rev() {
            offset += (i % size as usize) as isize * stride;
            i /= size as usize;
        }
        self.ptr.wrapping_offset(offset)
    }
    fn at(&self, row: *mut T, k: usize) -> *mut T {
        row.wrapping_offset(k as isize * self.step)
    }
}

fn rows<T: Number>(cx: &Cx, x: &View<'_>, at_once: usize, out: &Out<'_>, forward: bool) -> Result {
    let (from, to) = (x.shape.last().copied().unwrap_or(0), out.view.shape.last().copied().unwrap_or(0));
    let n = if forward { from } else { to } as usize;
    if (if forward { (from, to) } else { (to, from) }) != (n as isize, 2 * n as isize) {
        return Err(Cause::Shape(format!("{} cannot be transformed into {}", x.shape, out.view.shape)).into());
    }
    if out.view.size == 0 {
        return Ok(());
    }
    let fft = plan::<T>(n, forward);
    let (xs, ys, count) = (Rows::<T>::of(x), Rows::<T>::of(&out.view), out.view.size / to as usize);
    let add = out.mode == Mode::Add;
    let group = at_once.clamp(1, count.max(1));
    pool::run(count.div_ceil(group), cx.threads, |g| {
        let mut line = vec![Complex::<T>::default(); n];
        let mut scratch = vec![Complex::<T>::default(); fft.get_inplace_scratch_len()];
        for i in g * group..count.min((g + 1) * group) {
            let (px, py) = (xs.row(i), ys.row(i));
            for (k, z) in line.iter_mut().enumerate() {
                // SAFETY: k is within the row of n real or n complex numbers.
                *z = unsafe {
                    if forward {
                        Complex::new(*xs.at(px, k), T::default())
                    } else {
                        Complex::new(*xs.at(px, 2 * k), *xs.at(px, 2 * k + 1))
                    }
                };
            }
            fft.process_with_scratch(&mut line, &mut scratch);
            let put = |k: usize, value: T| {
                let p = ys.at(py, k);
                // SAFETY: k is within the row, which is this call's alone.
                unsafe { *p = if add { *p + value } else { value } }
            };
            for (k, z) in line.iter().enumerate() {
                if forward {
                    put(2 * k, z.re);
                    put(2 * k + 1, z.im);
                } else {
                    put(k, z.re);
                }
            }
        }
    });
    Ok(())
}
