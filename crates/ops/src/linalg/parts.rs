//! Diagonals and triangles, taken out of matrices and put back.
use super::A;
use crate::attr::Attr;
use crate::def::{Body, Call, Meta, Metas, Op, rows};
use crate::rows::{DIAGONAL, PUT_DIAGONAL};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::{AttrVal, linalg as k};

const OFFSET: Attr = Attr::int("offset", 0, "The diagonal: above the main one when positive, below it when negative.");
const LOWER: Attr =
    Attr::bool("lower", true, "The lower triangle, else the upper one; a sign of the offset decides before this does.");

/// The shape of square matrices of order `n + |offset|`, for vectors of another shape.
fn squares(from: &Dims, n: isize, offset: i64) -> Result<Dims> {
    let side = (n as i64).checked_add(offset.checked_abs().unwrap_or(i64::MAX));
    let side = side.unwrap_or(i64::MAX) as isize;
    let shape = Dims::joined(&[&from[..from.len() - 1], &[side, side]])?;
    if shape.checked_size().is_some() {
        return Ok(shape);
    }
    Err(Cause::Shape(format!("matrices with offset {offset} for vectors of shape {from} are too large")).into())
}

fn vectors(c: &Call<'_>) -> Result<isize> {
    let v = &c.ins[0];
    v.shape.last().copied().ok_or_else(|| Cause::Shape(format!("vectors are needed, got shape {}", v.shape)).into())
}

/// The attributes of a diagonal of matrices.
fn diagonal(r: &Rule<'_>) -> [AttrVal; 3] {
    [r.attrs()[0], AttrVal::Int(-2), AttrVal::Int(-1)]
}

fn makediag(r: &Rule<'_>, ins: &[V]) -> V {
    let shape = r.shape(ins[0]);
    let whole = shape.last().map_or_else(
        || Err(Cause::Shape(format!("vectors are needed, got shape {shape}")).into()),
        |n| squares(&shape, *n, r.attrs().int(0)),
    );
    match whole {
        Ok(whole) => {
            let [offset, rows, columns] = diagonal(r);
            r.call(&PUT_DIAGONAL, &[ins[0]], &[offset, rows, columns, AttrVal::Ints(whole)])
        }
        Err(e) => {
            r.0.fail(e);
            ins[0]
        }
    }
}

fn infer_extracttrian(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (v, offset) = (&c.ins[0], c.attrs.int(0));
    let n = v.shape.len();
    if n < 2 || v.shape[n - 1] != v.shape[n - 2] {
        return Err(Cause::Shape(format!("a square matrix is needed, got shape {}", v.shape)).into());
    }
    let order = v.shape[n - 1];
    if offset.unsigned_abs() > order.max(0) as u64 {
        return Err(Cause::Value(format!("offset={offset} is outside of matrices of shape {}", v.shape)).into());
    }
    let mut shape = Dims::of(&v.shape[..n - 2]);
    shape.push(k::triangle_size(order as usize, offset) as isize);
    outs.push(Meta { shape, dtype: v.dtype });
    Ok(())
}

fn infer_maketrian(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (v, size) = (&c.ins[0], vectors(c)?);
    // The largest order whose triangle is not larger.
    let order = ((((8.0 * size as f64 + 1.0).sqrt() - 1.0) / 2.0).round()) as isize;
    if k::triangle_size(order as usize, 0) as isize != size {
        return Err(Cause::Shape(format!("{size} elements do not fill a triangle, in shape {}", v.shape)).into());
    }
    let shape = squares(v.shape, order, c.attrs.int(0))?;
    outs.push(Meta { shape, dtype: v.dtype });
    Ok(())
}

fn sumlogdiag(r: &Rule<'_>, ins: &[V]) -> V {
    let diagonal = r.call(&DIAGONAL, &[ins[0]], &[AttrVal::Int(0), AttrVal::Int(-2), AttrVal::Int(-1)]);
    r.sum(r.log(diagonal), Dims::of(&[-1]), false)
}

rows! {
    EXTRACTDIAG = Op::new("linalg_extractdiag", "A diagonal of each matrix, as a view.", A, Body::Compose(|r, ins| r.call(&DIAGONAL, &[ins[0]], &diagonal(r))))
        .attrs(&[OFFSET]).nd(&["linalg_extractdiag", "linalg.extractdiag"]);
    MAKEDIAG = Op::new("linalg_makediag", "Square matrices with vectors on a diagonal.", A, Body::Compose(makediag))
        .attrs(&[OFFSET]).nd(&["linalg_makediag", "linalg.makediag"]);
    EXTRACTTRIAN = Op::new("linalg_extracttrian", "A triangle of each matrix as a vector: the lower one by rows, the upper one by columns.", A, Body::Kernel(|cx, a, out| k::extract_triangle(cx, &a.ins[0], a.attrs.int(0), a.attrs.bool(1), &out[0])))
        .attrs(&[OFFSET, LOWER]).infer(infer_extracttrian).nd(&["linalg_extracttrian", "linalg.extracttrian"])
        .grad(&[], |r| r.grad(0, || r.call(&MAKETRIAN, &[r.dy()], &r.attrs()[..2])));
    MAKETRIAN = Op::new("linalg_maketrian", "Square matrices with vectors in a triangle: the lower one by rows, the upper one by columns.", A, Body::Kernel(|cx, a, out| k::make_triangle(cx, &a.ins[0], a.attrs.int(0), a.attrs.bool(1), &out[0])))
        .attrs(&[OFFSET, LOWER]).infer(infer_maketrian).nd(&["linalg_maketrian", "linalg.maketrian"])
        .grad(&[], |r| r.grad(0, || r.call(&EXTRACTTRIAN, &[r.dy()], &r.attrs()[..2])));
    SUMLOGDIAG = Op::new("linalg_sumlogdiag", "The sum of the logarithms of each matrix's diagonal.", A, Body::Compose(sumlogdiag))
        .nd(&["linalg_sumlogdiag", "linalg.sumlogdiag"]);
}
