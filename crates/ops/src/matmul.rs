//! Products of matrices.
use crate::attr::Attr;
use crate::cost::{Cost, fma_per_ns};
use crate::def::{Body, Call, LHS_RHS, Meta, Metas, Op, rows, x};
use crate::infer::promoted;
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::linalg::in_type;
use gluonish_kernels::{Args, Cx, Out, View, gemm};

/// The shapes of a product as matrices: a vector on the left is a row, one on the right is a column.
struct Matrices {
    lhs: Dims,
    rhs: Dims,
    /// The result, with the rows and columns of vectors still there.
    full: Dims,
    row: bool,
    column: bool,
}

fn matrices(a: &Dims, b: &Dims) -> Result<Matrices> {
    if a.is_empty() || b.is_empty() {
        return Err(Cause::Shape(format!(
            "matrices or vectors are needed, got shapes {a} and {b}; multiply by a number with *"
        ))
        .into());
    }
    let (row, column) = (a.len() == 1, b.len() == 1);
    let (mut lhs, mut rhs) = (*a, *b);
    if row {
        lhs.insert(0, 1);
    }
    if column {
        rhs.push(1);
    }
    let (m, n) = (lhs.len(), rhs.len());
    let (ka, kb) = (lhs[m - 1], rhs[n - 2]);
    if ka != kb && ka != -1 && kb != -1 {
        return Err(Cause::Shape(format!("cannot multiply {a} by {b}: the inner sizes {ka} and {kb} differ")).into());
    }
    let (la, lb) = (Dims::of(&lhs[..m - 2]), Dims::of(&rhs[..n - 2]));
    let mut full = la.broadcast(&lb).ok_or(Cause::Broadcast { lhs: la, rhs: lb })?;
    full.push(lhs[m - 2]);
    full.push(rhs[n - 1]);
    Ok(Matrices { lhs, rhs, full, row, column })
}

fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    let m = matrices(c.ins[0].shape, c.ins[1].shape)?;
    let mut shape = m.full;
    if m.column {
        shape.remove(shape.len() - 1);
    }
    if m.row {
        shape.remove(shape.len() - 1 - (!m.column) as usize);
    }
    outs.push(Meta { shape, dtype: promoted(c.ins) });
    Ok(())
}

fn cost(c: &Call<'_>, outs: &[Meta]) -> u64 {
    let k = c.ins[0].shape.last().copied().unwrap_or(1).max(1) as u64;
    let n = outs[0].shape.iter().fold(1u64, |n, d| n.saturating_mul((*d).max(0) as u64));
    // Below this size the work around the product counts more than the product.
    (n.saturating_mul(k) / fma_per_ns(outs[0].dtype)).max((c.ins[0].size + c.ins[1].size) as u64 / 16)
}

/// A vector seen as a matrix: a unit axis more.
fn lifted(strides: &Dims, at: Option<usize>) -> Dims {
    let mut s = *strides;
    if let Some(at) = at {
        s.insert(at, 0);
    }
    s
}

fn kernel(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    let (x, y, o) = (&a.ins[0], &a.ins[1], &out[0]);
    let m = matrices(x.shape, y.shape)?;
    let sx = lifted(x.strides, m.row.then_some(0));
    let sy = lifted(y.strides, m.column.then_some(1));
    let mut so = *o.view.strides;
    if m.row {
        so.insert(so.len() - (!m.column) as usize, 0);
    }
    if m.column {
        so.push(0);
    }
    let lhs = View { shape: &m.lhs, strides: &sx, ..*x };
    let rhs = View { shape: &m.rhs, strides: &sy, ..*y };
    let view = View { shape: &m.full, strides: &so, ..o.view };
    let out = Out { view, mode: o.mode };
    if lhs.dtype == view.dtype && rhs.dtype == view.dtype {
        return gemm::matmul(cx, &lhs, &rhs, &out);
    }
    in_type(cx, view.dtype, &[lhs, rhs], &[out], |ins, outs| gemm::matmul(cx, &ins[0], &ins[1], &outs[0]))
}

fn rule(r: &Rule<'_>) {
    let (a, b) = (r.input(0).shape, r.input(1).shape);
    let Ok(m) = matrices(&a, &b) else { return };
    let dy = r.reshape(r.dy(), m.full);
    // Batch axes that were broadcast are summed by the caller; a vector's unit axis goes with the reshape, after the sum.
    let undo = |g: V, matrix: &Dims, shape: Dims| {
        if *matrix == shape {
            g
        } else {
            r.reshape(r.call(&crate::rows::SUM_TO, &[g], &[gluonish_kernels::AttrVal::Ints(*matrix)]), shape)
        }
    };
    r.grad(0, || undo(r.matmul(dy, r.swap_last(r.reshape(r.x(1), m.rhs))), &m.lhs, a));
    r.grad(1, || undo(r.matmul(r.swap_last(r.reshape(r.x(0), m.lhs)), dy), &m.rhs, b));
}

/// Gluon's `dot`: the last axis of the left array with the first of the right, after the transposes asked for.
fn dot(r: &Rule<'_>, ins: &[V]) -> V {
    let flip = |v: V, yes: bool| {
        let n = r.shape(v).len();
        if !yes || n < 2 {
            return v;
        }
        // All axes but the contracted one keep their order: (a, b, c) becomes (b, c, a) or (c, a, b).
        let mut p = Dims::filled(n, 0);
        (0..n).for_each(|i| p[i] = ((i + 1) % n) as isize);
        r.transpose(v, p)
    };
    let rotate_back = |v: V, yes: bool| {
        let n = r.shape(v).len();
        if !yes || n < 2 {
            return v;
        }
        let mut p = Dims::filled(n, 0);
        (0..n).for_each(|i| p[i] = ((i + n - 1) % n) as isize);
        r.transpose(v, p)
    };
    let a = flip(ins[0], r.attrs().bool(0));
    let b = rotate_back(ins[1], r.attrs().bool(1));
    let (sa, sb) = (r.shape(a), r.shape(b));
    if sa.len() <= 2 && sb.len() <= 2 || sa.is_empty() || sb.is_empty() {
        return r.matmul(a, b);
    }
    let Ok(shape) = Dims::joined(&[&sa[..sa.len() - 1], &sb[1..]]).map_err(|e| r.0.fail(e)) else { return a };
    let (k, first) = (sa[sa.len() - 1], sb[0]);
    let rows: isize = sa[..sa.len() - 1].iter().product();
    let columns: isize = sb[1..].iter().product();
    let product = r.matmul(r.reshape(a, Dims::of(&[rows, k])), r.reshape(b, Dims::of(&[first, columns])));
    r.reshape(product, shape)
}

rows! {
    MATMUL = Op::new("matmul", "The matrix product, over leading axes that broadcast.", LHS_RHS, Body::Kernel(kernel))
        .infer(infer).cost(Cost::Of(cost)).np(&["matmul"]).operator("matmul").onnx("MatMul")
        .grad(&[x(1).when(0), x(0).when(1)], rule);
    DOT = Op::new("dot", "The product over the last axis of the left and the first of the right array.", LHS_RHS, Body::Compose(dot))
        .attrs(&[Attr::bool("transpose_a", false, "Take the left one transposed.").only_nd(), Attr::bool("transpose_b", false, "Take the right one transposed.").only_nd()])
        .nd(&["dot"]).methods(&["dot"]);
}
