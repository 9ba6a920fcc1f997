//! What kernels of several products work with: operands as plain memory in the type that is computed in, right operands
//! packed once, formulas on lines of values.
use crate::convert::copy_view;
use crate::dispatch::Elem;
use crate::gemm::{Mat, PackB, Real, Simd, Tile};
use crate::map::{Class, Map};
use crate::view::{Cx, Mode, Out, View};
use crate::walk::Shared;
use gluonish_base::isa::isa;
use gluonish_base::{Cause, DType, Result, pool};

/// A type that is computed in.
pub(crate) trait Value: Real + Elem {
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

/// Zeros, or an error where there is no memory for them.
pub(crate) fn room<T: Value>(n: usize) -> Result<Vec<T>> {
    let mut v = Vec::new();
    let bytes = n.saturating_mul(size_of::<T>());
    v.try_reserve_exact(n)
        .map_err(|_| Cause::Failed(format!("no memory for {} of work space", gluonish_base::error::bytes(bytes))))?;
    v.resize(n, T::default());
    Ok(v)
}

/// An input, row-major without gaps: where it lies, or copied.
pub(crate) struct Plain<T> {
    ptr: *const T,
    held: Vec<T>,
}
// SAFETY: only read, from memory that outlives the kernel.
unsafe impl<T: Sync> Sync for Plain<T> {}

impl<T: Value> Plain<T> {
    pub(crate) fn of(cx: &Cx, v: &View<'_>) -> Result<Plain<T>> {
        if v.dtype == T::DTYPE && v.contiguous {
            return Ok(Plain { ptr: v.as_ptr::<T>().cast_const(), held: Vec::new() });
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
    held: Option<Vec<T>>,
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

/// A number in nearly equal parts of at most `most`: calls `f` with start and length of each.
#[inline(always)]
pub(crate) fn parts(total: usize, most: usize, mut f: impl FnMut(usize, usize)) {
    let count = total.div_ceil(most);
    for i in 0..count {
        let start = i * total / count;
        f(start, (i + 1) * total / count - start);
    }
}

/// A right operand (`k` by `n`), packed once for many products: panels of `S::NR` columns, each `k` steps long.
pub(crate) struct Panels<T> {
    data: Vec<T>,
    pub(crate) k: usize,
    pub(crate) n: usize,
}

impl<T: Value> Panels<T> {
    /// # Safety
    /// The processor has the instructions of `S`; `b` is readable for `k` by `n` elements.
    pub(crate) unsafe fn pack<S: Simd<T = T>>(threads: usize, b: Mat<T>, k: usize, n: usize) -> Result<Panels<T>> {
        let count = n.div_ceil(S::NR);
        let mut data = room::<T>(count * k * S::NR + S::NR)?;
        let to = Shared(data.as_mut_ptr());
        pool::run(count, threads, |p| {
            let j = p * S::NR;
            // SAFETY: the caller's; each panel has a place of its own.
            unsafe { PackB::pack::<S>(&b, 0, k, j, S::NR.min(n - j), to.at((p * k * S::NR) as isize)) }
        });
        Ok(Panels { data, k, n })
    }

    pub(crate) fn count<S: Simd<T = T>>(&self) -> usize {
        self.n.div_ceil(S::NR)
    }

    /// `c = a @ b` (or `+=`) for the columns of one panel and `m` rows; `c` is where column 0 of C stands.
    ///
    /// # Safety
    /// The processor has the instructions of `S`; `a` (contiguous rows) and `c` are valid for the shape.
    #[inline(always)]
    pub(crate) unsafe fn multiply<S: Simd<T = T>>(
        &self,
        panel: usize,
        m: usize,
        a: Mat<T>,
        c: *mut T,
        ldc: usize,
        add: bool,
    ) {
        let col = panel * S::NR;
        // SAFETY: the caller's; the panel lies in the data.
        unsafe {
            let b = self.data.as_ptr().add(panel * self.k * S::NR);
            product::<S>(
                [m, S::NR.min(self.n - col), self.k],
                a,
                Mat::new(b, S::NR as isize, 1),
                c.wrapping_add(col),
                ldc,
                add,
            )
        }
    }
}

/// `c = a @ b` (or `+=`) of `m` rows, `lanes` columns (at most `S::NR`) and `k` steps. Rows of `a` are contiguous or
/// adjacent; rows of `b` have whole vectors.
///
/// # Safety
/// The processor has the instructions of `S`; all operands are valid for the shape.
#[inline(always)]
pub(crate) unsafe fn product<S: Simd>(
    [m, lanes, k]: [usize; 3],
    a: Mat<S::T>,
    b: Mat<S::T>,
    c: *mut S::T,
    ldc: usize,
    add: bool,
) {
    let most = if a.rs == 1 { S::MR } else { S::MR_APART };
    let mut first = true;
    parts(k, S::KC, |k0, kc| {
        parts(m, most, |row, rows| {
            let tile = Tile {
                m: rows,
                k: kc,
                a: Mat { p: a.at(row, k0), ..a },
                b: b.at(k0, 0),
                b_stride: b.rs,
                c: c.wrapping_add(row * ldc),
                ldc: ldc as isize,
                lanes,
                add: add || !first,
            };
            // SAFETY: the caller's.
            unsafe { S::tile(&tile) }
        });
        first = false;
    });
}
