//! Products with MXNet's names: compositions of the one product and of views, so nothing is copied to transpose it.
use super::{A, AB};
use crate::attr::{Attr, axis};
use crate::def::{Body, Input, InputKind, LHS_RHS, Op, input, rows};
use crate::rows::{EXPAND_DIMS, SWAPAXES};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims};
use gluonish_kernels::AttrVal;

const ABC: &[Input] = &[input("A"), input("B"), input("C")];
const MATRICES: &[Input] = &[Input { name: "args", kind: InputKind::Variadic }];

const TRANSPOSE_A: Attr = Attr::bool("transpose_a", false, "Take the left matrices transposed.");
const TRANSPOSE_B: Attr = Attr::bool("transpose_b", false, "Take the right matrices transposed.");
const ALPHA: Attr = Attr::float("alpha", 1.0, "Factor of the product.");
const AXIS: Attr = Attr::int("axis", -2, "The axis of the matrices' rows; the last one is that of their columns.");

/// `by * v`
pub(super) fn scaled(r: &Rule<'_>, v: V, by: f64) -> V {
    if by == 1.0 { v } else { r.mul(v, by) }
}

fn turned(r: &Rule<'_>, v: V, yes: bool) -> V {
    if yes { r.swap_last(v) } else { v }
}

/// The axis of rows becomes the last but one; the same again undoes it.
fn with_rows(r: &Rule<'_>, v: V, rows: i64) -> V {
    if rows == -2 { v } else { r.call(&SWAPAXES, &[v], &[AttrVal::Int(rows), AttrVal::Int(-2)]) }
}

/// `alpha op(A) op(B) + beta C`, where there is a C.
fn gemm(r: &Rule<'_>, ins: &[V], beta: Option<f64>, rows: i64) -> V {
    for v in ins {
        let shape = r.shape(*v);
        if shape.len() < 2 {
            r.0.fail(Cause::Shape(format!("matrices are needed, got shape {shape}")).into());
            return ins[0];
        }
        if let Err(e) = axis(rows, &shape) {
            r.0.fail(e);
            return ins[0];
        }
    }
    let (a, b) = (with_rows(r, ins[0], rows), with_rows(r, ins[1], rows));
    let product = r.matmul(turned(r, a, r.attrs().bool(0)), turned(r, b, r.attrs().bool(1)));
    let product = scaled(r, product, r.attrs().float(2));
    let sum = match beta {
        Some(beta) => r.add(product, scaled(r, with_rows(r, ins[2], rows), beta)),
        None => product,
    };
    with_rows(r, sum, rows)
}

fn syrk(r: &Rule<'_>, ins: &[V]) -> V {
    let (a, t) = (ins[0], r.swap_last(ins[0]));
    let product = if r.attrs().bool(0) { r.matmul(t, a) } else { r.matmul(a, t) };
    scaled(r, product, r.attrs().float(1))
}

fn batch_dot(r: &Rule<'_>, ins: &[V]) -> V {
    for v in ins {
        let shape = r.shape(*v);
        if shape.len() < 3 {
            let text =
                format!("batches of matrices (three axes or more) are needed, got shape {shape}; use dot for matrices");
            r.0.fail(Cause::Shape(text).into());
            return ins[0];
        }
    }
    r.matmul(turned(r, ins[0], r.attrs().bool(0)), turned(r, ins[1], r.attrs().bool(1)))
}

/// Columns of the result are the Kronecker products of the columns of the matrices.
fn khatri_rao(r: &Rule<'_>, ins: &[V]) -> V {
    let Some(&first) = ins.first() else {
        r.0.fail(Cause::Argument("at least one matrix is needed".into()).into());
        return V::from(0.0);
    };
    let mut made = first;
    for &next in &ins[1..] {
        let (a, b) = (r.shape(made), r.shape(next));
        if b.len() != 2 || a.len() != 2 || a[1] != b[1] {
            r.0.fail(Cause::Shape(format!("matrices with equally many columns are needed, got {a} and {b}")).into());
            return first;
        }
        let rows = r.call(&EXPAND_DIMS, &[made], &[AttrVal::Int(1)]);
        let product = r.mul(rows, r.call(&EXPAND_DIMS, &[next], &[AttrVal::Int(0)]));
        made = r.reshape(product, Dims::of(&[a[0] * b[0], a[1]]));
    }
    made
}

rows! {
    GEMM = Op::new("linalg_gemm", "`alpha op(A) op(B) + beta C` for each matrix of a batch.", ABC, Body::Compose(|r, ins| {
            gemm(r, ins, Some(r.attrs().float(3)), r.attrs().int(4))
        }))
        .attrs(&[TRANSPOSE_A, TRANSPOSE_B, ALPHA, Attr::float("beta", 1.0, "Factor of C."), AXIS])
        .nd(&["linalg_gemm", "linalg.gemm"]);
    GEMM2 = Op::new("linalg_gemm2", "`alpha op(A) op(B)` for each matrix of a batch.", AB, Body::Compose(|r, ins| {
            gemm(r, ins, None, r.attrs().int(3))
        }))
        .attrs(&[TRANSPOSE_A, TRANSPOSE_B, ALPHA, AXIS])
        .nd(&["linalg_gemm2", "linalg.gemm2"]);
    SYRK = Op::new("linalg_syrk", "`alpha A A^T` for each matrix of a batch.", A, Body::Compose(syrk))
        .attrs(&[Attr::bool("transpose", false, "`alpha A^T A` instead."), Attr::float("alpha", 1.0, "Factor of the product.")])
        .nd(&["linalg_syrk", "linalg.syrk"]);
    BATCH_DOT = Op::new("batch_dot", "The products of the matrices of two batches.", LHS_RHS, Body::Compose(batch_dot))
        .attrs(&[TRANSPOSE_A, TRANSPOSE_B]).nd(&["batch_dot"]).methods(&["batch_dot"]);
    KHATRI_RAO = Op::new("khatri_rao", "The Kronecker products of the columns of matrices.", MATRICES, Body::Compose(khatri_rao))
        .nd(&["khatri_rao"]);
}
