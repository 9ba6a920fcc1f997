//! Cholesky factors, triangular systems and triangles.
use super::{A, AB, cubic, square, working};
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, Meta, Metas, Op, rows, x, y};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Result};
use gluonish_kernels::{Args, AttrVal, Cx, Out, View, linalg as k};

const TRANSPOSE: usize = 0;
const RIGHT: usize = 1;
const LOWER: usize = 2;
const ALPHA: usize = 3;

/// Half precision is computed in float32.
fn lifted(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>], f: impl FnOnce(&[View<'_>], &Out<'_>) -> Result) -> Result {
    k::in_type(cx, working(out[0].view.dtype), a.ins, out, |ins, outs| f(ins, &outs[0]))
}

fn infer_trsm(c: &Call<'_>, outs: &mut Metas) -> Result {
    let mut a = Metas::new();
    square(c, &mut a)?;
    let (a, b) = (&a[0].shape, c.ins[1].shape);
    let n = b.len();
    let side = if c.attrs.bool(RIGHT) { n - 1 } else { n.wrapping_sub(2) };
    if n != a.len() || a[..n - 2] != b[..n - 2] || b[side] != a[n - 1] {
        return Err(Cause::Shape(format!(
            "a triangular matrix of shape {a} does not fit a right-hand side of shape {b}"
        ))
        .into());
    }
    if c.ins[0].dtype != c.ins[1].dtype {
        return Err(Cause::DType(format!(
            "both matrices must have one type, got {} and {}",
            c.ins[0].dtype, c.ins[1].dtype
        ))
        .into());
    }
    outs.push(Meta { shape: *b, dtype: c.ins[0].dtype });
    Ok(())
}

/// With P the lower triangle of `transpose(L) dL`, its diagonal halved: dA is the symmetric part of L^-T P L^-1.
fn potrf_rule(r: &Rule<'_>) {
    r.grad(0, || {
        let lower = r.attrs().bool(0);
        // A = U^T U is A = L L^T with L = U^T.
        let (l, dl) = if lower { (r.y(0), r.dy()) } else { (r.swap_last(r.y(0)), r.swap_last(r.dy())) };
        let p = r.call(&HALF_TRIANGLE, &[r.matmul(r.swap_last(l), dl)], &[]);
        let solve = |b, right, transpose| {
            r.call(
                &TRSM,
                &[l, b],
                &[AttrVal::Bool(transpose), AttrVal::Bool(right), AttrVal::Bool(true), AttrVal::Float(1.0)],
            )
        };
        let s = solve(solve(p, false, true), true, false);
        r.mul(r.add(s, r.swap_last(s)), 0.5)
    });
}

/// X solves op(A) X = alpha B (or X op(A) = alpha B): dB = op(A)^-T dX alpha, dA = -dB' X^T, transposed with op(A).
fn trsm_rule(r: &Rule<'_>) {
    let (t, right, lower) = (r.attrs().bool(TRANSPOSE), r.attrs().bool(RIGHT), r.attrs().bool(LOWER));
    let back = [AttrVal::Bool(!t), AttrVal::Bool(right), AttrVal::Bool(lower), AttrVal::Float(1.0)];
    let g = r.call(&TRSM, &[r.x(0), r.dy()], &back);
    r.grad(1, || r.mul(g, r.attrs().float(ALPHA)));
    r.grad(0, || {
        let (xt, gt) = (r.swap_last(r.y(0)), r.swap_last(g));
        let full = match (right, t) {
            (false, false) => r.matmul(g, xt),
            (false, true) => r.matmul(r.y(0), gt),
            (true, false) => r.matmul(xt, g),
            (true, true) => r.matmul(gt, r.y(0)),
        };
        r.neg(r.call(&TRIANGLE, &[full], &[AttrVal::Bool(lower)]))
    });
}

/// Y is the inverse of `L L^T`; with K = Y dY Y, dL is the lower triangle of `-(K + K^T) L`.
fn potri_rule(r: &Rule<'_>) {
    r.grad(0, || {
        let lower = r.attrs().bool(0);
        let l = if lower { r.x(0) } else { r.swap_last(r.x(0)) };
        let l = r.call(&TRIANGLE, &[l], &[AttrVal::Bool(true)]);
        let k = r.matmul(r.y(0), r.matmul(r.dy(), r.y(0)));
        let full = r.neg(r.matmul(r.add(k, r.swap_last(k)), l));
        let g = r.call(&TRIANGLE, &[full], &[AttrVal::Bool(true)]);
        if lower { g } else { r.swap_last(g) }
    });
}

/// `alpha op(A) B`, or `alpha B op(A)`.
fn trmm(r: &Rule<'_>, ins: &[V]) -> V {
    let mut a = r.call(&TRIANGLE, &[ins[0]], &[r.attrs()[LOWER]]);
    if r.attrs().bool(TRANSPOSE) {
        a = r.swap_last(a);
    }
    let product = if r.attrs().bool(RIGHT) { r.matmul(ins[1], a) } else { r.matmul(a, ins[1]) };
    super::blas::scaled(r, product, r.attrs().float(ALPHA))
}

const SIDES: [Attr; 3] = [
    Attr::bool("transpose", false, "Take A transposed."),
    Attr::bool("rightside", false, "A stands on the right."),
    Attr::bool("lower", true, "A is lower triangular, else upper; the other triangle is not read."),
];
const SIDES_ALPHA: &[Attr] = &{
    let [a, b, c] = SIDES;
    [a, b, c, Attr::float("alpha", 1.0, "Factor of the result.")]
};

rows! {
    POTRF = Op::new("linalg_potrf", "The Cholesky factor of symmetric positive definite matrices.", A, Body::Kernel(|cx, a, out| k::potrf(cx, &a.ins[0], &out[0], a.attrs.bool(0))))
        .attrs(&[Attr::bool("lower", true, "The lower factor L with A = L L^T, else the upper one U with A = U^T U.")])
        .infer(square).cost(Cost::Of(cubic::<1>)).nd(&["linalg_potrf", "linalg.potrf"])
        .grad(&[y(0)], potrf_rule);
    POTRI = Op::new("linalg_potri", "The inverse of symmetric positive definite matrices from their Cholesky factors.", A, Body::Kernel(|cx, a, out| {
            lifted(cx, a, out, |ins, out| k::potri(cx, &ins[0], out, a.attrs.bool(0)))
        }))
        .attrs(&[Attr::bool("lower", true, "The factor is lower triangular, else upper; the other triangle is not read.")])
        .infer(square).cost(Cost::Of(cubic::<2>)).nd(&["linalg_potri", "linalg.potri"])
        .grad(&[x(0), y(0)], potri_rule);
    TRMM = Op::new("linalg_trmm", "The product of a triangular matrix and a matrix.", AB, Body::Compose(trmm))
        .attrs(SIDES_ALPHA).nd(&["linalg_trmm", "linalg.trmm"]);
    TRSM = Op::new("linalg_trsm", "Solves a triangular system of equations.", AB, Body::Kernel(|cx, a, out| {
            lifted(cx, a, out, |ins, out| {
                k::trsm(cx, &ins[0], &ins[1], a.attrs.bool(TRANSPOSE), a.attrs.bool(RIGHT), a.attrs.bool(LOWER), a.attrs.float(ALPHA), out)
            })
        }))
        .attrs(SIDES_ALPHA)
        .infer(infer_trsm).cost(Cost::Of(cubic::<1>)).nd(&["linalg_trsm", "linalg.trsm"])
        .grad(&[x(0), y(0).when(0)], trsm_rule);
    HALF_TRIANGLE = Op::new("_half_triangle", "The lower triangle, its diagonal halved.", A, Body::Kernel(|cx, a, out| {
            lifted(cx, a, out, |ins, out| k::triangle(cx, &ins[0], true, 0.5, out))
        }))
        .infer(square).internal()
        .grad(&[], |r| r.grad(0, || r.call(&HALF_TRIANGLE, &[r.dy()], &[])));
    TRIANGLE = Op::new("_triangle", "The lower or the upper triangle.", A, Body::Kernel(|cx, a, out| {
            lifted(cx, a, out, |ins, out| k::triangle(cx, &ins[0], a.attrs.bool(0), 1.0, out))
        }))
        .attrs(&[Attr::bool("lower", true, "The lower one.")])
        .infer(square).internal()
        .grad(&[], |r| r.grad(0, || r.call(&TRIANGLE, &[r.dy()], r.attrs())));
}
