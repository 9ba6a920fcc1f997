//! Rows for the tests of the mechanisms: state that is updated, and work that is slow or fails.
use crate::attr::Attr;
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Input, Meta, Metas, Op, Output, hidden, input, output, rows, state};
use gluonish_base::{Cause, Result};
use gluonish_kernels::map::Class;
use gluonish_kernels::{convert, map};
use std::time::Duration;

const DATA_TOTAL: &[Input] = &[input("data"), state("total")];
const OUTPUTS: &[Output] = &[output("output"), hidden("new_total")];

fn infer_accumulate(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (v, t) = (&c.ins[0], &c.ins[1]);
    if v.shape != t.shape || v.dtype != t.dtype {
        return Err(Cause::Shape(format!("data {} and total {} must be alike", v.shape, t.shape)).into());
    }
    outs.push(Meta { shape: *v.shape, dtype: v.dtype });
    outs.push(Meta { shape: *v.shape, dtype: v.dtype });
    Ok(())
}

fn fill_total(shapes: &mut [gluonish_base::Dims], _: &gluonish_kernels::Attrs) -> Result {
    shapes[1] = shapes[0];
    Ok(())
}

rows! {
    ACCUMULATE = Op::new("_test_accumulate", "Adds a running total to the data, and the data to the total.", DATA_TOTAL, Body::Kernel(|cx, a, out| {
            let Body::Map(add) = &crate::rows::ADD.body else { return Err(Cause::Failed("addition is not a formula".into()).into()) };
            let class = Class::of(a.ins[0].dtype);
            map::apply(cx, add, class, a.ins, &out[0])?;
            map::apply(cx, add, class, a.ins, &out[1])
        }))
        .outputs(OUTPUTS).infer(infer_accumulate).fill(fill_total).updates(&[(1, 1)]).internal()
        .grad(&[], |r| r.grad(0, || r.dy()));
    FAIL = Op::new("_test_fail", "Copies the data after a while, or fails.", DATA, Body::Kernel(|cx, a, out| {
            std::thread::sleep(Duration::from_micros(a.attrs.int(0).max(0) as u64));
            match a.attrs.choice(1) {
                0 => convert::copy_view(cx, &a.ins[0], &out[0]),
                1 => Err(Cause::Failed("it was asked to fail".into()).into()),
                _ => std::panic::panic_any("it was asked to panic".to_string()),
            }
        }))
        .attrs(&[Attr::int("delay_us", 0, "Microseconds to sleep."), Attr::choice("how", &["copy", "error", "panic"], 0, "What happens then.")])
        .cost(Cost::Of(|c, _| match c.attrs.int(0) { 1.. => (c.attrs.int(0) as u64 * 1000).max(1_000_000), _ => 0 })).internal()
        .grad(&[], |r| r.grad(0, || r.dy()));
}
