//! Decompositions and triangular systems, over leading batch axes.
use crate::attr::Attr;
use crate::cost::{Cost, fma_per_ns};
use crate::def::{Body, Call, Input, Meta, Metas, Op, input, rows, x, y};
use crate::infer::require_float;
use crate::rule::Rule;
use gluonish_base::{Cause, Result};
use gluonish_kernels::{AttrVal, linalg as k};

const A: &[Input] = &[input("A")];
const AB: &[Input] = &[input("A"), input("B")];

const TRANSPOSE: usize = 0;
const RIGHT: usize = 1;
const LOWER: usize = 2;
const ALPHA: usize = 3;

fn square(c: &Call<'_>, outs: &mut Metas) -> Result {
    let v = &c.ins[0];
    require_float(v, "the matrix")?;
    let n = v.shape.len();
    if n < 2 || v.shape[n - 1] != v.shape[n - 2] {
        return Err(Cause::Shape(format!("a square matrix is needed, got shape {}", v.shape)).into());
    }
    outs.push(Meta { shape: *v.shape, dtype: v.dtype });
    Ok(())
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

fn cubic(c: &Call<'_>, outs: &[Meta]) -> u64 {
    let n = c.ins[0].shape.last().copied().unwrap_or(1).max(1) as u64;
    let steps = (c.ins[0].size.max(outs[0].shape.size()) as u64).saturating_mul(n);
    steps.div_ceil(fma_per_ns(outs[0].dtype) / 4)
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

rows! {
    POTRF = Op::new("linalg_potrf", "The Cholesky factor of symmetric positive definite matrices.", A, Body::Kernel(|cx, a, out| k::potrf(cx, &a.ins[0], &out[0], a.attrs.bool(0))))
        .attrs(&[Attr::bool("lower", true, "The lower factor L with A = L L^T, else the upper one U with A = U^T U.")])
        .infer(square).cost(Cost::Of(cubic)).nd(&["linalg_potrf", "linalg.potrf"])
        .grad(&[y(0)], potrf_rule);
    TRSM = Op::new("linalg_trsm", "Solves a triangular system of equations.", AB, Body::Kernel(|cx, a, out| {
            k::trsm(cx, &a.ins[0], &a.ins[1], a.attrs.bool(TRANSPOSE), a.attrs.bool(RIGHT), a.attrs.bool(LOWER), a.attrs.float(ALPHA), &out[0])
        }))
        .attrs(&[
            Attr::bool("transpose", false, "Take A transposed."),
            Attr::bool("rightside", false, "Solve X A = alpha B instead of A X = alpha B."),
            Attr::bool("lower", true, "A is lower triangular, else upper."),
            Attr::float("alpha", 1.0, "Factor of B."),
        ])
        .infer(infer_trsm).cost(Cost::Of(cubic)).nd(&["linalg_trsm", "linalg.trsm"])
        .grad(&[x(0), y(0).when(0)], trsm_rule);
    HALF_TRIANGLE = Op::new("_half_triangle", "The lower triangle, its diagonal halved.", A, Body::Kernel(|cx, a, out| k::triangle(cx, &a.ins[0], true, 0.5, &out[0])))
        .infer(square).internal()
        .grad(&[], |r| r.grad(0, || r.call(&HALF_TRIANGLE, &[r.dy()], &[])));
    TRIANGLE = Op::new("_triangle", "The lower or the upper triangle.", A, Body::Kernel(|cx, a, out| k::triangle(cx, &a.ins[0], a.attrs.bool(0), 1.0, &out[0])))
        .attrs(&[Attr::bool("lower", true, "The lower one.")])
        .infer(square).internal()
        .grad(&[], |r| r.grad(0, || r.call(&TRIANGLE, &[r.dy()], r.attrs())));
}
