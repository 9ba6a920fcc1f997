//! NumPy's `matmul` on views.
use super::block::Product;
use super::epilogue::{Epilogue, Identity, Scale};
use super::half::{Half, HalfMat};
use super::int::{self, Integer};
use super::operand::Operand;
use super::output::{HalfMut, Output};
use super::pack::{PackA, PackB};
use super::parallel::gemm_batch;
use super::simd::Real;
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{Cause, DType, Dims, Result};
use half::{bf16, f16};

/// `out = a @ b` (or `out += a @ b`): the last two axes are matrices, the axes before them are a batch and broadcast.
/// All three have at least two axes and one dtype; integers wrap, bool is "any of both". Any strides.
pub fn matmul(cx: &Cx, a: &View<'_>, b: &View<'_>, out: &Out<'_>) -> Result {
    matmul_scaled(cx, a, b, 1.0, out)
}

/// `out = alpha * (a @ b)` (or `+=`). Products of integers cannot be scaled: any `alpha` but 1 is an error for them.
pub fn matmul_scaled(cx: &Cx, a: &View<'_>, b: &View<'_>, alpha: f64, out: &Out<'_>) -> Result {
    let plan = Plan::new(a, b, out)?;
    let threads = cx.threads;
    match a.dtype {
        DType::F32 => plan.real(threads, alpha as f32, alpha == 1.0),
        DType::F64 => plan.real(threads, alpha, alpha == 1.0),
        DType::F16 => plan.half::<f16>(threads, alpha as f32),
        DType::BF16 => plan.half::<bf16>(threads, alpha as f32),
        dtype if alpha != 1.0 => {
            return Err(Cause::DType(format!("a product of {dtype} matrices cannot be scaled by {alpha}")).into());
        }
        DType::Bool => plan.integer::<int::Bool>(threads),
        DType::U8 | DType::I8 => plan.integer::<u8>(threads),
        DType::U16 | DType::I16 => plan.integer::<u16>(threads),
        DType::U32 | DType::I32 => plan.integer::<u32>(threads),
        DType::U64 | DType::I64 => plan.integer::<u64>(threads),
    }
    Ok(())
}

/// A checked call.
struct Plan {
    m: usize,
    n: usize,
    k: usize,
    count: usize,
    batch: Dims,
    a: Operand,
    b: Operand,
    c: Operand,
    mode: Mode,
}

impl Plan {
    fn new(a: &View<'_>, b: &View<'_>, out: &Out<'_>) -> Result<Plan> {
        let c = &out.view;
        let wrong = || Cause::Shape(format!("cannot multiply {} by {} into {}", a.shape, b.shape, c.shape));
        if a.dtype != b.dtype || a.dtype != c.dtype {
            let text = format!("a product of {} and {} cannot be stored as {}", a.dtype, b.dtype, c.dtype);
            return Err(Cause::DType(text).into());
        }
        if a.ndim() < 2 || b.ndim() < 2 || c.ndim() < a.ndim().max(b.ndim()) {
            return Err(wrong().into());
        }
        let batch = Dims::of(&c.shape[..c.ndim() - 2]);
        let last = |v: &View<'_>, i: usize| v.shape[v.ndim() - 1 - i];
        let fits = |v: &View<'_>| Dims::of(&v.shape[..v.ndim() - 2]).broadcast(&batch) == Some(batch);
        let (m, n, k) = (last(a, 1), last(b, 0), last(a, 0));
        if last(b, 1) != k || last(c, 1) != m || last(c, 0) != n || !fits(a) || !fits(b) {
            return Err(wrong().into());
        }
        let mut plan = Plan {
            m: m as usize,
            n: n as usize,
            k: k as usize,
            count: batch.size(),
            batch,
            a: Operand::new(a, &batch),
            b: Operand::new(b, &batch),
            c: Operand::new(c, &batch),
            mode: out.mode,
        };
        plan.merge();
        if plan.c.cs != 1 && plan.c.rs == 1 {
            plan.transpose();
        }
        Ok(plan)
    }

    /// C stands in columns: its transpose stands in rows.
    fn transpose(&mut self) {
        std::mem::swap(&mut self.m, &mut self.n);
        std::mem::swap(&mut self.a, &mut self.b);
        for o in [&mut self.a, &mut self.b, &mut self.c] {
            o.transpose();
        }
    }

    /// Innermost batch axes that B does not vary over and that follow on A's and C's rows become rows.
    fn merge(&mut self) {
        while let Some(&size) = self.batch.last() {
            let d = self.batch.len() - 1;
            let [a, b, c] = [&self.a, &self.b, &self.c].map(|o| o.batch[d]);
            if size != 1 {
                let follow = a == self.a.rs * self.m as isize && c == self.c.rs * self.m as isize;
                // The stride of a single row says nothing.
                if b != 0 || !(follow || self.m == 1) {
                    return;
                }
                if self.m == 1 {
                    (self.a.rs, self.c.rs) = (a, c);
                }
                self.m *= size as usize;
            }
            for dims in [&mut self.batch, &mut self.a.batch, &mut self.b.batch, &mut self.c.batch] {
                dims.remove(d);
            }
            self.count = self.batch.size();
        }
    }

    /// How far the i-th matrices of A, B and C are from the first.
    fn offsets(&self, i: usize) -> (isize, isize, isize) {
        let at = |o: &Operand| o.offset(i, &self.batch);
        (at(&self.a), at(&self.b), at(&self.c))
    }

    fn run<T, A, B, C, E>(&self, threads: usize, e: E, operands: impl Fn(isize, isize, isize) -> (A, B, C) + Sync)
    where
        T: Real,
        A: PackA<T>,
        B: PackB<T>,
        C: Output<T>,
        E: Epilogue<T>,
    {
        let &Plan { m, n, k, mode, .. } = self;
        let product = |i| {
            let (a, b, c) = self.offsets(i);
            let (a, b, c) = operands(a, b, c);
            Product { m, n, k, a, b, c, mode, e }
        };
        // SAFETY: shapes are checked; views are valid for their shapes, and an output overlaps no input.
        unsafe { gemm_batch::<T, _, _, _, _>(threads, self.count, (m, n, k), product) }
    }

    fn real<T: Real>(&self, threads: usize, alpha: T, plain: bool) {
        let operands = |a, b, c| (self.a.mat::<T>(a), self.b.mat::<T>(b), self.c.mat_mut::<T>(c));
        if plain { self.run(threads, Identity, operands) } else { self.run(threads, Scale(alpha), operands) }
    }

    fn half<H: Half>(&self, threads: usize, alpha: f32) {
        self.run::<f32, _, _, _, _>(threads, Scale(alpha), |a, b, c| {
            (HalfMat::<H>(self.a.mat(a)), HalfMat::<H>(self.b.mat(b)), HalfMut::<H>(self.c.mat_mut(c)))
        })
    }

    fn integer<T: Integer>(&self, threads: usize) {
        let shape = (self.m, self.n, self.k);
        int::matmul::<T>(threads, self.count, shape, self.mode, |i| {
            let (a, b, c) = self.offsets(i);
            (self.a.mat(a), self.b.mat(b), self.c.mat_mut(c))
        })
    }
}
