//! Eigenvalues of symmetric matrices, singular values and pseudoinverses.
use super::{A, cubic, matrices, square};
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, Meta, Metas, Op, Output, rows, x, y};
use crate::rows::{ABS, EQUAL, PUT_DIAGONAL};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::{AttrVal, linalg as k};

/// The batch axes of the first input with further ones.
fn like(c: &Call<'_>, last: &[isize]) -> Meta {
    let v = &c.ins[0];
    let mut shape = Dims::of(&v.shape[..v.shape.len() - 2]);
    last.iter().for_each(|d| shape.push(*d));
    Meta { shape, dtype: v.dtype }
}

fn infer_eigvalsh(c: &Call<'_>, outs: &mut Metas) -> Result {
    square(c, &mut Metas::new())?;
    outs.push(like(c, &[matrices(c)?.1]));
    Ok(())
}

fn infer_syevd(c: &Call<'_>, outs: &mut Metas) -> Result {
    square(c, outs)?;
    infer_eigvalsh(c, outs)
}

fn infer_svd(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (m, n) = matrices(c)?;
    let k = m.min(n);
    let (u, v) = if c.attrs.bool(0) { (m, n) } else { (k, k) };
    outs.extend([like(c, &[m, u]), like(c, &[k]), like(c, &[v, n])]);
    Ok(())
}

fn infer_svdvals(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (m, n) = matrices(c)?;
    outs.push(like(c, &[m.min(n)]));
    Ok(())
}

fn infer_pinv(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (m, n) = matrices(c)?;
    outs.push(like(c, &[n, m]));
    Ok(())
}

/// A vector of each matrix as a row, or as a column.
fn as_row(r: &Rule<'_>, v: V) -> V {
    let mut shape = r.shape(v);
    shape.insert(shape.len() - 1, 1);
    r.reshape(v, shape)
}
fn as_column(r: &Rule<'_>, v: V) -> V {
    let mut shape = r.shape(v);
    shape.push(1);
    r.reshape(v, shape)
}
fn on_diagonal(r: &Rule<'_>, v: V) -> V {
    let mut shape = r.shape(v);
    shape.push(shape[shape.len() - 1]);
    let attrs = [AttrVal::Int(0), AttrVal::Int(-2), AttrVal::Int(-1), AttrVal::Ints(shape)];
    r.call(&PUT_DIAGONAL, &[v], &attrs)
}

/// `numerator / (v_j - v_i)`. Where both are zero the quotient is zero: on the diagonal, and where equal values meet
/// vectors that nothing depends on. A quotient by zero of anything else is infinite, as the derivative is.
fn over_gaps(r: &Rule<'_>, numerator: V, v: V) -> V {
    let gaps = r.sub(as_row(r, v), as_column(r, v));
    let size = r.add(r.unary_op(&ABS, numerator), r.unary_op(&ABS, gaps));
    let both = r.binary_op(&EQUAL, size, 0.0);
    r.div(numerator, r.select(both, 1.0, gaps))
}

/// With rows of U as eigenvectors: dA = U^T (diag(dL) + skew(U dU^T) / gaps) U.
fn syevd_rule(r: &Rule<'_>) {
    r.grad(0, || {
        let (u, l) = (r.y(0), r.y(1));
        let k = r.matmul(u, r.swap_last(r.dy_of(0)));
        let skew = r.mul(r.sub(k, r.swap_last(k)), 0.5);
        let inner = r.add(on_diagonal(r, r.dy_of(1)), over_gaps(r, skew, l));
        r.matmul(r.swap_last(u), r.matmul(inner, u))
    });
}

/// Without eigenvectors equal eigenvalues do no harm: dA = U^T diag(dL) U.
fn eigvalsh_rule(r: &Rule<'_>) {
    r.grad(0, || {
        let u = r.call_all(&SYEVD, &[r.x(0)], &[])[0];
        r.matmul(r.mul(r.swap_last(u), as_row(r, r.dy())), u)
    });
}

/// dA = U (skew(U^T dU)/E S + S skew(V^T dV)/E + diag(ds)) V^T, with E the gaps of the squares of s, and for matrices
/// that are not square what dU and dV have outside of the ranges of U and V.
fn svd_rule(r: &Rule<'_>) {
    r.grad(0, || {
        let (u, s, vt) = (r.y(0), r.y(1), r.y(2));
        let (du, ds, dvt) = (r.dy_of(0), r.dy_of(1), r.dy_of(2));
        let [m, k, n] = [r.shape(u), r.shape(s), r.shape(vt)].map(|d| d[d.len() - 1]);
        let m_rows = r.shape(u)[r.shape(u).len() - 2];
        if m != k || r.shape(vt)[r.shape(vt).len() - 2] != k {
            let text = "full_matrices=True has no gradient where rows and columns differ; use full_matrices=False";
            r.0.fail(Cause::Gradient(text.into()).into());
            return du;
        }
        let squares = r.square(s);
        let skew = |v: V| over_gaps(r, r.sub(v, r.swap_last(v)), squares);
        let (ku, kv) = (r.matmul(r.swap_last(u), du), r.matmul(vt, r.swap_last(dvt)));
        let inner = r.add(r.mul(skew(ku), as_row(r, s)), r.mul(as_column(r, s), skew(kv)));
        let mut g = r.matmul(u, r.matmul(r.add(inner, on_diagonal(r, ds)), vt));
        if m_rows > k {
            let outside = r.div(r.sub(du, r.matmul(u, ku)), as_row(r, s));
            g = r.add(g, r.matmul(outside, vt));
        }
        if n > k {
            let outside = r.div(r.sub(dvt, r.matmul(r.swap_last(kv), vt)), as_column(r, s));
            g = r.add(g, r.matmul(u, outside));
        }
        g
    });
}

/// dA = U diag(ds) V^T
fn svdvals_rule(r: &Rule<'_>) {
    r.grad(0, || {
        let parts = r.call_all(&SVD, &[r.x(0)], &[AttrVal::Bool(false)]);
        r.matmul(r.mul(parts[0], as_row(r, r.dy())), parts[2])
    });
}

/// For matrices whose rank does not change nearby, with P the pseudoinverse:
/// dA = -P^T dP P^T + (I - A P) dP^T P P^T + P^T P dP^T (I - P A).
fn pinv_rule(r: &Rule<'_>) {
    r.grad(0, || {
        let (a, p, g) = (r.x(0), r.y(0), r.dy());
        let (pt, gt) = (r.swap_last(p), r.swap_last(g));
        let first = r.matmul(pt, r.matmul(g, pt));
        let left = r.matmul(gt, r.matmul(p, pt));
        let right = r.matmul(r.matmul(pt, p), gt);
        let left = r.sub(left, r.matmul(a, r.matmul(p, left)));
        let right = r.sub(right, r.matmul(r.matmul(right, p), a));
        r.sub(r.add(left, right), first)
    });
}

const UL: &[Output] = &[Output { name: "U", hidden: false }, Output { name: "L", hidden: false }];
const USV: &[Output] =
    &[Output { name: "U", hidden: false }, Output { name: "S", hidden: false }, Output { name: "Vh", hidden: false }];

rows! {
    SYEVD = Op::new("linalg_syevd", "`A = U^T diag(L) U` for each symmetric matrix: rows of U are eigenvectors, L ascends. Only the lower triangle is read.", A, Body::Kernel(|cx, a, out| {
            k::with_transposed(&out[0], |v| k::eigh(cx, &a.ins[0], &out[1], v))
        }))
        .outputs(UL).infer(infer_syevd).cost(Cost::Of(cubic::<20>)).nd(&["linalg_syevd", "linalg.syevd"])
        .grad(&[y(0), y(1)], syevd_rule);
    EIGVALSH = Op::new("_np_eigvalsh", "Eigenvalues of each symmetric matrix, ascending. Only the lower triangle is read.", A, Body::Kernel(|cx, a, out| k::eigvalsh(cx, &a.ins[0], &out[0])))
        .infer(infer_eigvalsh).cost(Cost::Of(cubic::<8>)).internal()
        .grad(&[x(0)], eigvalsh_rule);
    SVD = Op::new("_np_svd", "`A = U diag(S) Vh` for each matrix, with singular values that descend.", A, Body::Kernel(|cx, a, out| k::svd(cx, &a.ins[0], &out[0], &out[1], &out[2])))
        .attrs(&[Attr::bool("full_matrices", true, "Square U and Vh, else only the vectors that have a singular value.")])
        .outputs(USV).infer(infer_svd).cost(Cost::Of(cubic::<40>)).internal()
        .grad(&[y(0), y(1), y(2)], svd_rule);
    SVDVALS = Op::new("_np_svdvals", "Singular values of each matrix, descending.", A, Body::Kernel(|cx, a, out| k::singular_values(cx, &a.ins[0], &out[0])))
        .infer(infer_svdvals).cost(Cost::Of(cubic::<16>)).internal()
        .grad(&[x(0)], svdvals_rule);
    PINV = Op::new("_np_pinv", "The pseudoinverse of each matrix.", A, Body::Kernel(|cx, a, out| k::pinv(cx, &a.ins[0], a.attrs.opt_float(0), &out[0])))
        .attrs(&[Attr::opt_float("rcond", "Singular values up to this part of the largest count as zero; None: the larger side times the type's precision.")])
        .infer(infer_pinv).cost(Cost::Of(cubic::<42>)).internal()
        .grad(&[x(0), y(0)], pinv_rule);
}
