//! Triangular systems, in `f32` and `f64`. They are recursive: halves are solved, and what one half owes to the other is a
//! matrix product, where nearly all the work is done.
use super::{Number, square, trouble};
use crate::gemm::{
    Body, Identity, Mat, MatMut, Operand, Product, Real, Scaled, Scratch, Simd, Slot, Work, dispatch, gemm,
};
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{Cause, DType, Dims, Result, pool};

/// Matrices up to this size are not halved any more.
const BASE: usize = 32;

/// Calls `$f::<T>` for the element type of a view, which must be one of the two.
macro_rules! for_number {
    ($view:expr, $what:literal, $f:ident($($arg:expr),*)) => {
        match $view.dtype {
            DType::F32 => $f::<f32>($($arg),*),
            DType::F64 => $f::<f64>($($arg),*),
            other => Err(Cause::DType(format!("{} needs float32 or float64, not {other}", $what)).into()),
        }
    };
}

/// The inverse of `L L^T` for each lower triangular L, or of `U^T U` for each upper triangular U.
pub fn potri(cx: &Cx, a: &View<'_>, out: &Out<'_>, lower: bool) -> Result {
    for_number!(a, "the inverse from a Cholesky factor", potri_of(cx, a, out, lower))
}

/// X with `op(A) X = alpha B`, or with `X op(A) = alpha B` when `right`. A is triangular, `lower` or upper (the other
/// triangle is not read), and `op(A)` is its transpose when `transpose`. A zero on the diagonal is an error.
#[allow(clippy::too_many_arguments)]
pub fn trsm(
    cx: &Cx,
    a: &View<'_>,
    b: &View<'_>,
    transpose: bool,
    right: bool,
    lower: bool,
    alpha: f64,
    out: &Out<'_>,
) -> Result {
    for_number!(a, "a triangular system", trsm_of(cx, a, b, (transpose, right, lower), alpha, out))
}

/// The lower or the upper triangle, its diagonal times `diagonal`, and zeros.
pub fn triangle(cx: &Cx, a: &View<'_>, lower: bool, diagonal: f64, out: &Out<'_>) -> Result {
    for_number!(a, "a triangle", triangle_of(cx, a, lower, diagonal, out))
}

/// Batch axes of an output whose last two axes are a matrix of the right size.
fn batch_of(ins: &[&View<'_>], out: &View<'_>) -> Result<Dims> {
    let d = out.ndim().wrapping_sub(2);
    let fits = |v: &View<'_>| {
        v.dtype == out.dtype && v.ndim() == out.ndim() && d < out.ndim() && v.shape[..d] == out.shape[..d]
    };
    if !ins.iter().all(|v| fits(v)) {
        let list: Vec<_> = ins.iter().map(|v| format!("{} {}", v.dtype, v.shape)).collect();
        let text = format!("{} does not fit an output of {} {}", list.join(" and "), out.dtype, out.shape);
        return Err(Cause::Shape(text).into());
    }
    Ok(Dims::of(&out.shape[..d]))
}

/// Calls `f` for each matrix of a batch, in parallel when there are several; a single one keeps the threads for itself.
fn each(cx: &Cx, count: usize, f: impl Fn(usize) + Sync) {
    const GROUPS: usize = 64;
    let groups = count.min(GROUPS);
    pool::run(groups, cx.threads, |g| (count * g / groups..count * (g + 1) / groups).for_each(&f));
}

/// Refuses triangles that no equation can be solved with.
fn invertible<T: Number>(a: &Operand, batch: &Dims, n: usize) -> Result {
    for i in 0..batch.size() {
        let a = a.mat::<T>(a.offset(i, batch));
        // SAFETY: places of the view.
        if let Some(k) = (0..n).find(|&k| unsafe { *a.at(k, k) } == T::default()) {
            return Err(trouble(
                batch,
                i,
                &format!("is singular: element {k} of the diagonal of its triangle is zero"),
            ));
        }
    }
    Ok(())
}

/// Stores `f(i, j)` in a matrix.
unsafe fn store<T: Number>(to: MatMut<T>, (m, n): (usize, usize), mode: Mode, f: impl Fn(usize, usize) -> T) {
    for i in 0..m {
        for j in 0..n {
            let p = to.at(i, j);
            // SAFETY: the caller vouches for the shape.
            unsafe { *p = if mode == Mode::Add { *p + f(i, j) } else { f(i, j) } }
        }
    }
}

/// Where a matrix is cut in two.
fn half(n: usize) -> usize {
    (n / 2).next_multiple_of(BASE).min(n - 1)
}

fn sub<T>(a: MatMut<T>, i: usize, j: usize) -> MatMut<T> {
    MatMut { p: a.at(i, j), ..a }
}

fn read<T>(a: MatMut<T>) -> Mat<T> {
    Mat::new(a.p, a.rs, a.cs)
}

/// `C -= A B`
unsafe fn subtract<T: Number>(threads: usize, (m, n, k): (usize, usize, usize), a: Mat<T>, b: Mat<T>, c: MatMut<T>) {
    // SAFETY: the caller's.
    unsafe {
        let a = Scaled { mat: a, by: T::MINUS_ONE };
        gemm(threads, Product { m, n, k, a, b, c, mode: Mode::Add, e: Identity })
    }
}

/// X (n by m, rows contiguous) becomes `L^-1 X` for a lower triangular L of any strides.
unsafe fn solve<T: Number>(threads: usize, l: Mat<T>, x: MatMut<T>, n: usize, m: usize) {
    // SAFETY: parts of the matrices, which the caller vouches for.
    unsafe {
        if n <= BASE {
            return dispatch::<T, _>(Rows { run: SolveBase { l, x, n, m } });
        }
        let k = half(n);
        solve(threads, l, x, k, m);
        subtract(threads, (n - k, m, k), Mat { p: l.at(k, 0), ..l }, read(x), sub(x, k, 0));
        solve(threads, Mat { p: l.at(k, k), ..l }, sub(x, k, 0), n - k, m);
    }
}

/// Loops over contiguous rows, of which the compiler makes vectors for each instruction set.
struct Rows<B> {
    run: B,
}

impl<T: Real, B: Body> Work<T> for Rows<B> {
    type Out = B::Out;
    unsafe fn run<S: Simd<T = T>>(self) -> B::Out {
        // SAFETY: the caller's.
        unsafe { S::enter(self.run) }
    }
}

/// `y[..n] -= f * x[..n]`
#[inline(always)]
unsafe fn subtract_row<T: Number>(y: *mut T, f: T, x: *const T, n: usize) {
    // SAFETY: the caller vouches for n elements, in two rows that are apart.
    let (y, x) = unsafe { (std::slice::from_raw_parts_mut(y, n), std::slice::from_raw_parts(x, n)) };
    for (y, &x) in y.iter_mut().zip(x) {
        *y = *y - f * x;
    }
}

/// `y[..n] /= f`
#[inline(always)]
unsafe fn divide_row<T: Number>(y: *mut T, f: T, n: usize) {
    // SAFETY: the caller vouches for n elements.
    for y in unsafe { std::slice::from_raw_parts_mut(y, n) } {
        *y = *y / f;
    }
}

struct SolveBase<T> {
    l: Mat<T>,
    x: MatMut<T>,
    n: usize,
    m: usize,
}

impl<T: Number> Body for SolveBase<T> {
    type Out = ();

    #[inline(always)]
    unsafe fn run(self) {
        let SolveBase { l, x, n, m } = self;
        for i in 0..n {
            // SAFETY: within the matrices; rows of X are contiguous, and rows i and j differ.
            unsafe {
                for j in 0..i {
                    subtract_row(x.at(i, 0), *l.at(i, j), x.at(j, 0), m);
                }
                divide_row(x.at(i, 0), *l.at(i, i), m);
            }
        }
    }
}

fn trsm_of<T: Number>(
    cx: &Cx,
    a: &View<'_>,
    b: &View<'_>,
    (transpose, right, lower): (bool, bool, bool),
    alpha: f64,
    out: &Out<'_>,
) -> Result {
    let n = square(a)?;
    let batch = batch_of(&[a, b], &out.view)?;
    let d = batch.len();
    let (rows, cols) = (b.shape[d] as usize, b.shape[d + 1] as usize);
    let (side, m) = if right { (cols, rows) } else { (rows, cols) };
    if side != n || b.shape != out.view.shape {
        let text = format!("a triangular {} does not fit {} into {}", a.shape, b.shape, out.view.shape);
        return Err(Cause::Shape(text).into());
    }
    let (alpha, mode) = (T::of(alpha), out.mode);
    let [l, b, c] = [a, b, &out.view].map(|v| Operand::new(v, &batch));
    if m > 0 {
        invertible::<T>(&l, &batch, n)?;
    }
    each(cx, batch.size(), |i| {
        let mut l = l.mat::<T>(l.offset(i, &batch));
        let (mut b, mut c) = (b.mat::<T>(b.offset(i, &batch)), c.mat_mut::<T>(c.offset(i, &batch)));
        // X A = B is A^T X^T = B^T.
        if right {
            (b, c) = (b.t(), c.t());
        }
        if transpose != right {
            l = l.t();
        }
        // Upper triangles are lower ones when rows and columns are counted from the last.
        if lower == (transpose != right) {
            let last = n.wrapping_sub(1);
            l = Mat::new(l.at(last, last), -l.rs, -l.cs);
            b = Mat::new(b.at(last, 0), -b.rs, b.cs);
            c = MatMut::new(c.at(last, 0), -c.rs, c.cs);
        }
        let buf = Scratch::<T>::take(Slot::Other, n * m);
        let x = MatMut::new(buf.ptr(), m as isize, 1);
        // SAFETY: views are valid for their shapes, the buffer holds n by m.
        unsafe {
            store(x, (n, m), Mode::Write, |i, j| alpha * *b.at(i, j));
            solve(cx.threads, l, x, n, m);
            store(c, (n, m), mode, |i, j| *x.at(i, j));
        }
    });
    Ok(())
}

fn potri_of<T: Number>(cx: &Cx, a: &View<'_>, out: &Out<'_>, lower: bool) -> Result {
    let n = square(a)?;
    let batch = batch_of(&[a], &out.view)?;
    square(&out.view)?;
    let (from, to) = (Operand::new(a, &batch), Operand::new(&out.view, &batch));
    invertible::<T>(&from, &batch, n)?;
    let mode = out.mode;
    each(cx, batch.size(), |i| {
        let (a, c) = (from.mat::<T>(from.offset(i, &batch)), to.mat_mut::<T>(to.offset(i, &batch)));
        let l = if lower { a } else { a.t() };
        let buf = Scratch::<T>::take(Slot::Other, n * n);
        let x = MatMut::new(buf.ptr(), n as isize, 1);
        // SAFETY: views are valid for their shapes, the buffer holds n by n.
        unsafe {
            store(x, (n, n), Mode::Write, |i, j| if i == j { T::ONE } else { T::default() });
            solve(cx.threads, l, x, n, n);
            gemm(cx.threads, Product { m: n, n, k: n, a: read(x).t(), b: read(x), c, mode, e: Identity });
        }
    });
    Ok(())
}

fn triangle_of<T: Number>(cx: &Cx, a: &View<'_>, lower: bool, diagonal: f64, out: &Out<'_>) -> Result {
    let n = square(a)?;
    let batch = batch_of(&[a], &out.view)?;
    square(&out.view)?;
    let (diagonal, mode) = (T::of(diagonal), out.mode);
    let (from, to) = (Operand::new(a, &batch), Operand::new(&out.view, &batch));
    each(cx, batch.size(), |i| {
        let (a, c) = (from.mat::<T>(from.offset(i, &batch)), to.mat_mut::<T>(to.offset(i, &batch)));
        let value = |i: usize, j: usize| {
            // SAFETY: the place is within the view.
            let x = unsafe { *a.at(i, j) };
            match i.cmp(&j) {
                std::cmp::Ordering::Equal => x * diagonal,
                std::cmp::Ordering::Greater if lower => x,
                std::cmp::Ordering::Less if !lower => x,
                _ => T::default(),
            }
        };
        // SAFETY: the view is valid for its shape.
        unsafe { store(c, (n, n), mode, value) };
    });
    Ok(())
}
