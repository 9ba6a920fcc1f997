//! QR and LQ factors.
use super::{A, cubic, matrices};
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, Meta, Metas, Op, Output, rows, y};
use crate::linalg::{HALF_TRIANGLE, TRSM};
use crate::rows::{CONCAT, SLICE, Slice};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::{AttrVal, View, linalg as k};

fn infer_qr(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (m, n) = matrices(c)?;
    let inner = if c.attrs.bool(0) { m } else { m.min(n) };
    push_factors(c, outs, (m, inner), (inner, n));
    Ok(())
}

fn infer_gelqf(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (m, n) = matrices(c)?;
    if m > n {
        let text = format!("matrices must not have more rows than columns, got shape {}", c.ins[0].shape);
        return Err(Cause::Shape(text).into());
    }
    push_factors(c, outs, (m, n), (m, m));
    Ok(())
}

fn push_factors(c: &Call<'_>, outs: &mut Metas, first: (isize, isize), second: (isize, isize)) {
    let v = &c.ins[0];
    for (rows, cols) in [first, second] {
        let mut shape = Dims::of(&v.shape[..v.shape.len() - 2]);
        shape.push(rows);
        shape.push(cols);
        outs.push(Meta { shape, dtype: v.dtype });
    }
}

/// Columns of matrices.
fn columns(r: &Rule<'_>, v: V, begin: isize, count: isize) -> V {
    let shape = r.shape(v);
    let n = shape.len();
    let mut slice = Slice { begin: Dims::filled(n, 0), step: Dims::filled(n, 1), size: shape, axes: shape };
    (0..n).for_each(|d| slice.axes[d] = d as isize);
    slice.begin[n - 1] = begin;
    slice.size[n - 1] = count;
    r.call(&SLICE, &[v], &slice.attrs())
}

/// The gradient of `A = Q R` for a square R: with M = R dR^T - dQ^T Q and its lower triangle mirrored,
/// dA = (dQ + Q M) R^-T.
fn of_square(r: &Rule<'_>, q: V, rr: V, dq: V, dr: V) -> V {
    let m = r.sub(r.matmul(rr, r.swap_last(dr)), r.matmul(r.swap_last(dq), q));
    let half = r.call(&HALF_TRIANGLE, &[m], &[]);
    let b = r.add(dq, r.matmul(q, r.add(half, r.swap_last(half))));
    r.call(&TRSM, &[rr, b], &[AttrVal::Bool(true), AttrVal::Bool(true), AttrVal::Bool(false), AttrVal::Float(1.0)])
}

/// Where R has further columns, A = [X Y] and R = [U V]: Y = Q V adds to what Q owes X.
fn qr_gradient(r: &Rule<'_>, q: V, rr: V, dq: V, dr: V) -> V {
    let shape = r.shape(rr);
    let (m, n) = (shape[shape.len() - 2], shape[shape.len() - 1]);
    if m == n {
        return of_square(r, q, rr, dq, dr);
    }
    let (u, v) = (columns(r, rr, 0, m), columns(r, rr, m, n - m));
    let (du, dv) = (columns(r, dr, 0, m), columns(r, dr, m, n - m));
    let dq = r.add(dq, r.matmul(r.matmul(q, v), r.swap_last(dv)));
    r.call(&CONCAT, &[of_square(r, q, u, dq, du), r.matmul(q, dv)], &[AttrVal::Int(-1)])
}

fn qr_rule(r: &Rule<'_>) {
    r.grad(0, || {
        let shape = r.output(1).shape;
        if shape[shape.len() - 2] > shape[shape.len() - 1] {
            let text = "mode='complete' has no gradient where there are more rows than columns; use mode='reduced'";
            r.0.fail(Cause::Gradient(text.into()).into());
            return r.dy();
        }
        qr_gradient(r, r.y(0), r.y(1), r.dy_of(0), r.dy_of(1))
    });
}

/// `A = L Q` is `A^T = Q^T L^T`.
fn gelqf_rule(r: &Rule<'_>) {
    r.grad(0, || {
        let [q, l, dq, dl] = [r.y(0), r.y(1), r.dy_of(0), r.dy_of(1)].map(|v| r.swap_last(v));
        r.swap_last(qr_gradient(r, q, l, dq, dl))
    });
}

fn transposed<T>(v: &View<'_>, f: impl FnOnce(&View<'_>) -> Result<T>) -> Result<T> {
    let (mut shape, mut strides) = (*v.shape, *v.strides);
    let n = shape.len();
    shape.swap(n - 1, n - 2);
    strides.swap(n - 1, n - 2);
    f(&View { shape: &shape, strides: &strides, contiguous: shape.is_contiguous(&strides), ..*v })
}

const QR_OUT: &[Output] = &[Output { name: "Q", hidden: false }, Output { name: "R", hidden: false }];
const LQ_OUT: &[Output] = &[Output { name: "Q", hidden: false }, Output { name: "L", hidden: false }];

rows! {
    QR = Op::new("_np_qr", "`A = Q R` for each matrix: orthonormal columns and an upper triangle.", A, Body::Kernel(|cx, a, out| k::qr(cx, &a.ins[0], &out[0], &out[1])))
        .attrs(&[Attr::bool("complete", false, "A square Q, else as many columns as the smaller side of A has.")])
        .outputs(QR_OUT).infer(infer_qr).cost(Cost::Of(cubic::<6>)).internal()
        .grad(&[y(0), y(1)], qr_rule);
    GELQF = Op::new("linalg_gelqf", "`A = L Q` for each matrix: a lower triangle and orthonormal rows. Gives Q and L.", A, Body::Kernel(|cx, a, out| {
            transposed(&a.ins[0], |v| k::with_transposed(&out[0], |q| k::with_transposed(&out[1], |l| k::qr(cx, v, q, l))))
        }))
        .outputs(LQ_OUT).infer(infer_gelqf).cost(Cost::Of(cubic::<6>)).nd(&["linalg_gelqf", "linalg.gelqf"])
        .grad(&[y(0), y(1)], gelqf_rule);
}
