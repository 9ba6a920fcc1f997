//! Arrays of any type and memory layout for the kernels' tests, read and written one element at a time.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]
use gluonish_base::{DType, Dims};
use gluonish_kernels::by_dtype;
use gluonish_kernels::dispatch::Elem;
use gluonish_kernels::{Cx, Mode, Out, View};

/// How the elements lie in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Layout {
    Contiguous,
    /// The last dimension is the outermost in memory.
    Transposed,
    /// Gaps of one element after every element, and more between rows.
    Gapped,
    /// Negative strides.
    Reversed,
}
pub const LAYOUTS: [Layout; 4] = [Layout::Contiguous, Layout::Transposed, Layout::Gapped, Layout::Reversed];

#[derive(Clone)]
pub struct Array {
    memory: Vec<u64>,
    first: isize,
    pub dtype: DType,
    pub shape: Dims,
    pub strides: Dims,
}

impl Array {
    pub fn new(dtype: DType, shape: &[isize], f: impl Fn(usize) -> f64) -> Array {
        Array::laid_out(Layout::Contiguous, dtype, shape, f)
    }

    pub fn laid_out(layout: Layout, dtype: DType, shape: &[isize], f: impl Fn(usize) -> f64) -> Array {
        let shape = Dims::of(shape);
        let mut strides = shape.contiguous_strides();
        match layout {
            Layout::Contiguous => {}
            Layout::Transposed => {
                let mut acc = 1;
                for (s, n) in strides.iter_mut().zip(shape.iter()) {
                    (*s, acc) = (acc, acc * n);
                }
            }
            Layout::Gapped => strides.iter_mut().for_each(|s| *s *= 2),
            Layout::Reversed => strides.iter_mut().for_each(|s| *s = -*s),
        }
        let first = shape.iter().zip(strides.iter()).map(|(n, s)| if *s < 0 { -s * (n - 1).max(0) } else { 0 }).sum();
        let mut a = Array { memory: vec![0; shape.size() * 2 + 1], first, dtype, shape, strides };
        for i in 0..a.len() {
            a.set(i, f(i));
        }
        a
    }

    pub fn len(&self) -> usize {
        self.shape.size()
    }

    fn at(&self, i: usize) -> *mut u8 {
        let (mut i, mut off) = (i as isize, self.first);
        for d in (0..self.shape.len()).rev() {
            off += i % self.shape[d] * self.strides[d];
            i /= self.shape[d];
        }
        self.memory.as_ptr().cast::<u8>().cast_mut().wrapping_offset(off * self.dtype.size() as isize)
    }

    pub fn get(&self, i: usize) -> f64 {
        assert!(i < self.len());
        // SAFETY: inside the memory, which holds 8 bytes for every element and gap, of this type.
        by_dtype!(self.dtype, T => unsafe { *self.at(i).cast::<T>() }.to_f64())
    }

    pub fn int(&self, i: usize) -> i64 {
        assert!(i < self.len());
        // SAFETY: as in `get`.
        by_dtype!(self.dtype, T => unsafe { *self.at(i).cast::<T>() }.to_i64())
    }

    pub fn set(&mut self, i: usize, v: f64) {
        assert!(i < self.len());
        // SAFETY: as in `get`, and the array is borrowed for writing.
        by_dtype!(self.dtype, T => unsafe { *self.at(i).cast::<T>() = T::from_f64(v) })
    }

    pub fn values(&self) -> Vec<f64> {
        (0..self.len()).map(|i| self.get(i)).collect()
    }

    pub fn bits(&self) -> &[u64] {
        &self.memory
    }

    pub fn view(&self) -> View<'_> {
        View {
            ptr: self.memory.as_ptr().cast::<u8>().cast_mut().wrapping_offset(self.first * self.dtype.size() as isize),
            shape: &self.shape,
            strides: &self.strides,
            dtype: self.dtype,
            contiguous: self.shape.is_contiguous(&self.strides),
            size: self.len(),
            scalar: None,
        }
    }

    pub fn out(&mut self, mode: Mode) -> Out<'_> {
        let ptr = self.memory.as_mut_ptr().cast::<u8>().wrapping_offset(self.first * self.dtype.size() as isize);
        Out { view: View { ptr, ..self.view() }, mode }
    }
}

/// A context with that many threads.
pub fn cx(threads: usize) -> Cx {
    gluonish_base::pool::set_threads(2);
    Cx { threads, ..Cx::default() }
}

/// A repeatable value in -1..1 for each index.
pub fn noise(i: usize) -> f64 {
    let h = (i as u64 ^ 0x5bd1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let h = (h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (h >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Row-major coordinates of element `i`.
pub fn coords(shape: &[isize], i: usize) -> Vec<usize> {
    let mut i = i;
    let mut c: Vec<_> = shape.iter().rev().map(|&n| (i % n as usize, i /= n as usize).0).collect();
    c.reverse();
    c
}

/// The number of the element at these coordinates.
pub fn number(shape: &[isize], c: &[usize]) -> usize {
    shape.iter().zip(c).fold(0, |i, (&n, &c)| i * n as usize + c)
}

pub const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

/// The distance between 1 and the next value of a floating type; 0 for the others.
pub fn epsilon(d: DType) -> f64 {
    match d {
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        DType::F32 => 2f64.powi(-23),
        DType::F64 => 2f64.powi(-52),
        _ => 0.0,
    }
}

/// Equal, both NaN, or within `tolerance` of each other, relative to the larger of 1 and the expected value.
#[track_caller]
pub fn assert_close(got: f64, want: f64, tolerance: f64, what: &dyn std::fmt::Debug) {
    let ok = got == want || (got.is_nan() && want.is_nan()) || (got - want).abs() <= tolerance * want.abs().max(1.0);
    assert!(ok, "{what:?}: got {got}, expected {want}");
}
