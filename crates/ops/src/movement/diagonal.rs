//! Diagonals and triangles.
use super::{list, misfit, target, view};
use crate::attr::{Attr, axis};
use crate::def::{Body, DATA, Grad, Layout, Meta, Op, Viewed, rows};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, DType, Dims, Result, Scalar};
use gluonish_kernels::{AttrVal, Attrs, Mode, convert, movement as k};

/// The diagonal of two axes, as the last axis. Attributes `k`, `axis1`, `axis2`.
fn diagonal(a: &Attrs, shape: &Dims, strides: &Dims) -> Result<Layout> {
    if shape.len() < 2 {
        return Err(misfit(format!("shape {shape} has no diagonal: two axes are needed")));
    }
    let (offset, i, j) = (a.int(0) as isize, axis(a.int(1), shape)?, axis(a.int(2), shape)?);
    if i == j {
        return Err(Cause::Value(format!("axis1 and axis2 are both axis {i}: a diagonal needs two axes")).into());
    }
    let (down, right) = (offset.saturating_neg().max(0), offset.max(0));
    let count = shape[i].saturating_sub(down).min(shape[j].saturating_sub(right)).max(0);
    let mut l = Layout { shape: *shape, strides: *strides, offset: 0 };
    if count > 0 {
        l.offset = down * strides[i] + right * strides[j];
    }
    for d in [i.max(j), i.min(j)] {
        l.shape.remove(d);
        l.strides.remove(d);
    }
    l.shape.push(count);
    l.strides.push(strides[i] + strides[j]);
    Ok(l)
}

fn diag(r: &Rule<'_>, x: V) -> Result<V> {
    let (shape, offset) = (r.shape(x), r.attrs().int(0));
    if shape.len() != 1 {
        return Ok(r.call(&DIAGONAL, &[x], r.attrs()));
    }
    let side = i64::try_from(offset.unsigned_abs()).ok().and_then(|k| k.checked_add(shape[0] as i64));
    let side = side.ok_or_else(|| misfit(format!("a matrix with {shape} on its diagonal {offset} is too large")))?;
    let whole = AttrVal::Ints(Dims::filled(2, side as isize));
    Ok(r.call(&PUT_DIAGONAL, &[x], &[AttrVal::Int(offset), AttrVal::Int(0), AttrVal::Int(1), whole]))
}

fn trace(r: &Rule<'_>, x: V) -> V {
    let line = r.call(&DIAGONAL, &[x], &r.attrs()[..3]);
    let axes = Dims::of(&[-1]);
    match r.attrs().dtype(3) {
        Some(dtype) => r.cast(r.sum(r.cast(line, dtype), axes, false), dtype),
        None => r.sum(line, axes, false),
    }
}

/// The values on one side of a diagonal, and zeros.
fn triangle(r: &Rule<'_>, x: V, upper: bool) -> Result<V> {
    let (shape, k) = (r.shape(x), r.attrs().int(0));
    let x = match shape.len() {
        0 => return Err(misfit("an array without axes has no triangle".into())),
        1 => r.broadcast_to(x, Dims::filled(2, shape[0])),
        _ => x,
    };
    let zero = V::Scalar(Scalar::Bool(false));
    let below = |k: i64| r.call(&BELOW, &[x], &[AttrVal::Int(k)]);
    Ok(if upper { r.select(below(k.saturating_sub(1)), zero, x) } else { r.select(below(k), x, zero) })
}

const WHICH: Attr = Attr::int("k", 0, "Which diagonal: above the main one, or below it when negative.");
const OFFSET: Attr = WHICH.np_name("offset");
const ROWS_AXIS: Attr = Attr::int("axis1", 0, "The axis of rows.");
const COLUMNS_AXIS: Attr = Attr::int("axis2", 1, "The axis of columns.");
const K: &[Attr] =
    &[Attr::int("k", 0, "The diagonal up to which values stay: above the main one, or below it when negative.")];

rows! {
    DIAGONAL = view("diagonal", "A diagonal of two axes, as the last axis.", |v, a, _| Ok(Viewed::As(diagonal(a, v.shape, v.strides)?)))
        .attrs(&[OFFSET, ROWS_AXIS, COLUMNS_AXIS]).np(&["diagonal"]).methods(&["diagonal"])
        .grad(&[], |r| r.grad(0, || {
            r.call(&PUT_DIAGONAL, &[r.dy()], &[r.attrs()[0], r.attrs()[1], r.attrs()[2], AttrVal::Ints(r.input(0).shape)])
        }));
    PUT_DIAGONAL = Op::new("_put_diagonal", "Zeros with the input on a diagonal.", DATA, Body::Kernel(|cx, a, out| {
            if out[0].mode == Mode::Write {
                convert::fill(cx, 0.0.into(), &out[0])?;
            }
            let place = diagonal(a.attrs, out[0].view.shape, out[0].view.strides)?;
            convert::copy_view(cx, &a.ins[0], &target(&out[0], &place))
        }))
        .attrs(&[OFFSET, ROWS_AXIS, COLUMNS_AXIS, Attr::ints("shape", "Shape of the whole array.")]).internal()
        .infer(|c, outs| {
            let shape = list(c.attrs, 3);
            if shape.checked_size().is_none() || diagonal(c.attrs, &shape, &shape)?.shape != *c.ins[0].shape {
                return Err(misfit(format!("{} is not the diagonal of an array of shape {shape}", c.ins[0].shape)));
            }
            outs.push(Meta { shape, dtype: c.ins[0].dtype });
            Ok(())
        })
        .grad(&[], |r| r.grad(0, || r.call(&DIAGONAL, &[r.dy()], &r.attrs()[..3])));
    DIAG = Op::new("diag", "A diagonal of two axes, as the last axis; of a vector, the matrix that has it on a diagonal.", DATA, Body::Compose(|r, x| r.ok(diag(r, x[0]))))
        .attrs(&[WHICH, ROWS_AXIS, COLUMNS_AXIS]).nd(&["diag"]).methods(&["diag"]);
    TRACE = Op::new("trace", "The sum of a diagonal of two axes.", DATA, Body::Compose(|r, x| trace(r, x[0])))
        .attrs(&[OFFSET, ROWS_AXIS, COLUMNS_AXIS, Attr::opt_dtype("dtype", "Type of the result; integers are summed as int64 when None.")]).np(&["trace"]).methods(&["trace"]);
    BELOW = Op::new("_below", "Which elements of the input's last two axes are on a diagonal or below it.", DATA, Body::Kernel(|cx, a, out| {
            k::band(cx, i64::MIN, a.attrs.int(0), &out[0])
        }))
        .attrs(K).internal().no_grad(Grad::Zero)
        .infer(|c, outs| match **c.ins[0].shape {
            [.., n, m] => {
                outs.push(Meta { shape: Dims::of(&[n, m]), dtype: DType::Bool });
                Ok(())
            }
            _ => Err(misfit(format!("shape {} has no triangle: two axes are needed", c.ins[0].shape))),
        });
    TRIL = Op::new("tril", "The values on a diagonal and below it, and zeros.", DATA, Body::Compose(|r, x| r.ok(triangle(r, x[0], false))))
        .attrs(K).np(&["tril"]).np_inputs(&["m"]);
    TRIU = Op::new("triu", "The values on a diagonal and above it, and zeros.", DATA, Body::Compose(|r, x| r.ok(triangle(r, x[0], true))))
        .attrs(K).np(&["triu"]).np_inputs(&["m"]);
}
