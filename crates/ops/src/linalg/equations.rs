//! Inverses, determinants and systems of equations.
use super::{A, AB, cubic, matrices, square};
use crate::cost::Cost;
use crate::def::{Body, Call, Meta, Metas, Op, Output, rows, x, y};
use crate::infer::{promoted, require_float};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::linalg as k;

/// One number for each matrix.
fn scalars(c: &Call<'_>, outs: &mut Metas) -> Result {
    square(c, outs)?;
    let m = &mut outs[0];
    m.shape = Dims::of(&m.shape[..m.shape.len() - 2]);
    Ok(())
}

fn two_scalars(c: &Call<'_>, outs: &mut Metas) -> Result {
    scalars(c, outs)?;
    let m = outs[0];
    outs.push(m);
    Ok(())
}

fn infer_solve(c: &Call<'_>, outs: &mut Metas) -> Result {
    square(c, &mut Metas::new())?;
    let (a, b) = (c.ins[0].shape, c.ins[1].shape);
    require_float(&c.ins[1], "the right-hand side")?;
    let n = matrices(c)?.0;
    let (m, d) = (a.len(), b.len());
    if d < 2 || (b[d - 2] != n && b[d - 2] != -1 && n != -1) {
        return Err(Cause::Shape(format!("equations of shape {a} do not fit a right-hand side of shape {b}")).into());
    }
    let (la, lb) = (Dims::of(&a[..m - 2]), Dims::of(&b[..d - 2]));
    let mut shape = la.broadcast(&lb).ok_or(Cause::Broadcast { lhs: la, rhs: lb })?;
    shape.push(n);
    shape.push(b[d - 1]);
    outs.push(Meta { shape, dtype: promoted(c.ins) });
    Ok(())
}

/// A number for each matrix, seen as matrices of one element.
fn spread(r: &Rule<'_>, v: V) -> V {
    let mut shape = r.shape(v);
    shape.push(1);
    shape.push(1);
    r.reshape(v, shape)
}

fn inverse_transposed(r: &Rule<'_>) -> V {
    r.swap_last(r.call(&INVERSE, &[r.x(0)], &[]))
}

const SIGN_LOG: &[Output] = &[Output { name: "sign", hidden: false }, Output { name: "logabsdet", hidden: false }];

rows! {
    INVERSE = Op::new("linalg_inverse", "The inverse of each matrix; a singular one is an error.", A, Body::Kernel(|cx, a, out| k::inverse(cx, &a.ins[0], &out[0])))
        .infer(square).cost(Cost::Of(cubic::<3>)).nd(&["linalg_inverse", "linalg.inverse"])
        .grad(&[y(0)], |r| r.grad(0, || {
            let t = r.swap_last(r.y(0));
            r.neg(r.matmul(t, r.matmul(r.dy(), t)))
        }));
    DET = Op::new("linalg_det", "The determinant of each matrix.", A, Body::Kernel(|cx, a, out| k::determinant(cx, &a.ins[0], &out[0])))
        .infer(scalars).cost(Cost::Of(cubic::<1>)).nd(&["linalg_det", "linalg.det"])
        .grad(&[x(0)], |r| r.grad(0, || r.mul(spread(r, r.dy()), r.call(&COFACTORS, &[r.x(0)], &[]))));
    COFACTORS = Op::new("_linalg_cofactors", "The matrix of cofactors of each matrix: the gradient of its determinant, which singular ones have too.", A, Body::Kernel(|cx, a, out| k::cofactors(cx, &a.ins[0], &out[0])))
        .infer(square).cost(Cost::Of(cubic::<3>)).internal()
        .grad(&[x(0), y(0)], |r| r.grad(0, || {
            // With C = det(A) B and B = A^-T: <G, dC> = <G, C> <B, dA> - <C G^T B, dA>.
            let (b, c, g) = (inverse_transposed(r), r.y(0), r.dy());
            let share = r.sum(r.mul(g, c), Dims::of(&[-2, -1]), true);
            r.sub(r.mul(share, b), r.matmul(r.matmul(c, r.swap_last(g)), b))
        }));
    SLOGDET = Op::new("linalg_slogdet", "The sign of each determinant and the logarithm of its absolute value.", A, Body::Kernel(|cx, a, out| k::log_determinant(cx, &a.ins[0], &out[0], &out[1])))
        .outputs(SIGN_LOG).infer(two_scalars).cost(Cost::Of(cubic::<1>)).nd(&["linalg_slogdet", "linalg.slogdet"])
        .grad(&[x(0)], |r| r.grad(0, || r.mul(spread(r, r.dy_of(1)), inverse_transposed(r))));
    SOLVE = Op::new("_np_solve", "X with `A X = B` for each pair of matrices; a singular A is an error.", AB, Body::Kernel(|cx, a, out| k::solve(cx, &a.ins[0], &a.ins[1], &out[0])))
        .infer(infer_solve).cost(Cost::Of(cubic::<2>)).internal()
        .grad(&[x(0), y(0).when(0)], |r| {
            let g = r.call(&SOLVE, &[r.swap_last(r.x(0)), r.dy()], &[]);
            r.grad(1, || g);
            r.grad(0, || r.neg(r.matmul(g, r.swap_last(r.y(0)))));
        });
}
