//! Shapes as `reshape` is given them: with one unknown size, or with Gluon's codes.
use super::{list, misfit};
use gluonish_base::{Cause, Dims, Error, Result, too_many_dims};
use gluonish_kernels::{Attrs, View};

/// NumPy's rule: one -1 stands for what is left.
pub(super) fn with_unknown(mut shape: Dims, size: usize, from: &Dims) -> Result<Dims> {
    let mut unknown = (0..shape.len()).filter(|i| shape[*i] == -1);
    let rest: isize = shape.iter().filter(|d| **d != -1).product();
    match (unknown.next(), unknown.next()) {
        (None, _) => Ok(shape),
        (Some(i), None) if rest > 0 && size as isize % rest == 0 => {
            shape[i] = size as isize / rest;
            Ok(shape)
        }
        (Some(_), None) => {
            Err(Cause::Shape(format!("cannot reshape {from} ({size} values) to {shape}: -1 has no integer value"))
                .into())
        }
        _ => Err(Cause::Shape(format!("cannot reshape to {shape}: only one dimension may be -1")).into()),
    }
}

/// Gluon's codes: 0 copies a dimension, -1 is what is left, -2 copies the rest, -3 joins two, -4 splits one in two.
fn with_codes(codes: &Dims, from: &Dims, size: usize) -> Result<Dims> {
    if codes.iter().all(|d| *d > 0) {
        return Ok(*codes);
    }
    let bad = |why: &str| Error::new(Cause::Shape(format!("cannot reshape {from} by the codes {codes}: {why}")));
    let mut out = Dims::EMPTY;
    let mut put = |d: isize| {
        let fits = out.try_push(d);
        if fits { Ok(()) } else { Err(too_many_dims("the result would have more than", out.len())) }
    };
    let mut src = 0;
    let take = |src: &mut usize| {
        *src += 1;
        from.get(*src - 1).copied().ok_or_else(|| bad("the input has fewer dimensions"))
    };
    let mut i = 0;
    while i < codes.len() {
        match codes[i] {
            0 => put(take(&mut src)?)?,
            -1 => {
                put(-1)?;
                src += 1;
            }
            -2 => {
                while src < from.len() {
                    put(take(&mut src)?)?;
                }
            }
            -3 => put(take(&mut src)? * take(&mut src)?)?,
            -4 => {
                let whole = take(&mut src)?;
                let parts =
                    codes.get(i + 1).zip(codes.get(i + 2)).ok_or_else(|| bad("-4 needs two sizes behind it"))?;
                let (a, b) = match parts {
                    (-1, b) if *b > 0 => (whole / b, *b),
                    (a, -1) if *a > 0 => (*a, whole / a),
                    (a, b) => (*a, *b),
                };
                if a < 0 || b < 0 || a * b != whole {
                    return Err(bad("the two sizes behind -4 do not make up the dimension"));
                }
                put(a)?;
                put(b)?;
                i += 2;
            }
            d if d > 0 => {
                put(d)?;
                src += 1;
            }
            _ => return Err(bad("a code below -4 has no meaning")),
        }
        i += 1;
    }
    with_unknown(out, size, from)
}

/// The shape that a call of `reshape` asks for: attributes `shape`, `reverse`, `target_shape`, `keep_highest`.
pub(super) fn coded(a: &Attrs, v: &View<'_>) -> Result<Dims> {
    let Some(codes) = a.ints(0).copied() else { return old_form(a, v) };
    if !a.bool(1) {
        return with_codes(&codes, v.shape, v.size);
    }
    let bad = |why: &str| misfit(format!("cannot reshape {} by the codes {codes} with reverse=True: {why}", v.shape));
    if codes.contains(&-4) {
        return Err(bad("-4 cannot be read from the right"));
    }
    let flipped = |mut d: Dims| {
        d.reverse();
        d
    };
    let shape = with_codes(&flipped(codes), &flipped(*v.shape), v.size);
    shape.map(flipped).map_err(|_| bad("they do not fit the dimensions from the right"))
}

/// What MXNet had before the codes: `target_shape`, in which 0 is what is left.
fn old_form(a: &Attrs, v: &View<'_>) -> Result<Dims> {
    let mut shape = list(a, 2);
    if shape.is_empty() {
        return Err(Cause::Argument("the new shape is missing: give shape=".into()).into());
    }
    if a.bool(3) {
        shape[0] = v.shape.first().copied().unwrap_or(1);
    }
    shape.iter_mut().filter(|d| **d == 0).for_each(|d| *d = -1);
    with_unknown(shape, v.size, v.shape)
}
