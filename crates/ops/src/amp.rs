//! Casts that mixed precision puts between ops: among floating types only.
use crate::attr::Attr;
use crate::def::{Body, Call, DATA, Input, InputKind, Meta, Metas, Op, rows};
use gluonish_base::{Cause, DType, Result};
use gluonish_kernels::{View, convert};

const MANY: &[Input] = &[Input { name: "data", kind: InputKind::Variadic }];

/// Types that mixed precision changes: float64 and integers stay what they are.
fn is_mixed(d: DType) -> bool {
    matches!(d, DType::F16 | DType::BF16 | DType::F32)
}

fn infer_cast(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (data, to) = (&c.ins[0], c.attrs.dtype(0).unwrap_or(DType::F32));
    if !is_mixed(to) {
        let expected = "float16, bfloat16 or float32".into();
        return Err(Cause::Attribute { name: "dtype".into(), given: format!("'{to}'"), expected }.into());
    }
    outs.push(Meta { shape: *data.shape, dtype: if is_mixed(data.dtype) { to } else { data.dtype } });
    Ok(())
}

/// The type that all inputs of mixed precision get.
fn common(ins: &[View<'_>], narrow: bool) -> Option<DType> {
    let floats = ins.iter().map(|v| v.dtype).filter(|d| is_mixed(*d));
    if narrow {
        return floats.min_by_key(|d| d.size());
    }
    floats.reduce(DType::promote)
}

fn infer_many(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (count, to) = (c.attrs.int(0), common(c.ins, c.attrs.bool(1)));
    if count != c.ins.len() as i64 {
        let text = format!("num_outputs={count} must be the number of inputs, which is {}", c.ins.len());
        return Err(Cause::Argument(text).into());
    }
    let dtype = |d: DType| if is_mixed(d) { to.unwrap_or(d) } else { d };
    outs.extend(c.ins.iter().map(|v| Meta { shape: *v.shape, dtype: dtype(v.dtype) }));
    Ok(())
}

rows! {
    AMP_CAST = Op::new("amp_cast", "The values in another floating type; integers and float64 stay as they are.", DATA, Body::Kernel(|cx, a, out| {
            convert::copy_view(cx, &a.ins[0], &out[0])
        }))
        .attrs(&[Attr::dtype_required("dtype", "The type to reach: float16, bfloat16 or float32.")])
        .infer(infer_cast).nd(&["amp_cast"])
        .grad(&[], |r| r.grad(0, || r.cast(r.dy(), r.input(0).dtype)));
    AMP_MULTICAST = Op::new("amp_multicast", "Several arrays in the widest of their floating types; integers and float64 stay as they are.", MANY, Body::Kernel(|cx, a, out| {
            a.ins.iter().zip(out).try_for_each(|(v, out)| convert::copy_view(cx, v, out))
        }))
        .attrs(&[
            Attr::int_required("num_outputs", "Number of arrays.").at_least(0),
            Attr::bool("cast_narrow", false, "Whether it is the narrowest type instead; of two as narrow, that of the first."),
        ])
        .count(|_, inputs| inputs).infer(infer_many).nd(&["amp_multicast"])
        .grad(&[], |r| (0..r.inputs()).for_each(|i| r.grad(i, || r.cast(r.dy_of(i), r.input(i).dtype))));
}
