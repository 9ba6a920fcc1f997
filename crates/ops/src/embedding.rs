//! Rows of a table of vectors.
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, Input, Meta, Metas, Op, input, parameter, rows, x};
use crate::index::{check_indices, moved};
use crate::rows::TAKE_GRAD;
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::{AttrVal, index as k};

const INPUTS: &[Input] = &[input("data"), parameter("weight")];
const INPUT_DIM: usize = 0;
const OUTPUT_DIM: usize = 1;
/// What `_take_grad` does with positions that are none.
const RAISE: u8 = 2;

fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (data, weight) = (&c.ins[0], &c.ins[1]);
    check_indices(data)?;
    let (rows, width) = (c.attrs.int(INPUT_DIM) as isize, c.attrs.int(OUTPUT_DIM) as isize);
    let wanted = Dims::of(&[rows, width]);
    if *weight.shape != wanted {
        let text = format!("weight must have shape {wanted}, (input_dim, output_dim), got {}", weight.shape);
        return Err(Cause::Shape(text).into());
    }
    outs.push(Meta { shape: Dims::joined(&[data.shape, &[width]])?, dtype: weight.dtype });
    Ok(())
}

fn cost(c: &Call<'_>, outs: &[Meta]) -> u64 {
    moved(outs[0].shape.checked_size().unwrap_or(0) * outs[0].dtype.size(), c.ins[0].size)
}

rows! {
    EMBEDDING = Op::new("Embedding", "Row `data[...]` of `weight` for each index; one that is not from 0 to `input_dim - 1` is an error.", INPUTS, Body::Kernel(|cx, a, out| {
            k::embedding(cx, &a.ins[0], &a.ins[1], &out[0])
        }))
        .attrs(&[
            Attr::int_required("input_dim", "Number of rows.").at_least(0),
            Attr::int_required("output_dim", "Length of a row.").at_least(0),
            Attr::dtype("dtype", DType::F32, "Type of a weight that is made for the op; one that is given keeps its own."),
            Attr::bool("sparse_grad", false, "For MXNet's sparse arrays: the gradient here is dense, summed row by row without a product."),
        ])
        .infer(infer).cost(Cost::Of(cost)).nd(&["Embedding"])
        .fill(|shapes, attrs| {
            shapes[1] = Dims::of(&[attrs.int(INPUT_DIM) as isize, attrs.int(OUTPUT_DIM) as isize]);
            Ok(())
        })
        .grad(&[x(0)], |r| r.grad(1, || {
            // Where nobody looks at the result, its error is not known here: no row may take the place of another.
            let attrs = [AttrVal::Int(0), AttrVal::Choice(RAISE), AttrVal::Ints(r.input(1).shape)];
            r.call(&TAKE_GRAD, &[r.dy(), r.x(0)], &attrs)
        }));
}
