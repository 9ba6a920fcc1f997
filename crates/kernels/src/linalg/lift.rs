//! Operands in one type: what is of another goes through a copy.
use crate::convert::copy_view;
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{DType, Dims, Result};

/// A contiguous copy of a view's elements, in another type.
struct Held {
    data: Vec<u64>,
    strides: Dims,
}

impl Held {
    fn room_for(v: &View<'_>, dtype: DType) -> Held {
        Held { data: vec![0; (v.size * dtype.size()).div_ceil(8)], strides: v.shape.contiguous_strides() }
    }
    fn view<'a>(&'a mut self, like: &View<'a>, dtype: DType) -> View<'a> {
        View::contiguous(self.data.as_mut_ptr().cast(), dtype, like.shape, &self.strides)
    }
}

/// Calls `f` with the inputs and outputs in the type `dtype`.
pub fn in_type(
    cx: &Cx,
    dtype: DType,
    ins: &[View<'_>],
    outs: &[Out<'_>],
    f: impl FnOnce(&[View<'_>], &[Out<'_>]) -> Result,
) -> Result {
    if ins.iter().chain(outs.iter().map(|o| &o.view)).all(|v| v.dtype == dtype) {
        return f(ins, outs);
    }
    let mut held: Vec<Held> =
        ins.iter().chain(outs.iter().map(|o| &o.view)).map(|v| Held::room_for(v, dtype)).collect();
    let (for_ins, for_outs) = held.split_at_mut(ins.len());
    let mut views = Vec::with_capacity(ins.len());
    for (v, h) in ins.iter().zip(for_ins) {
        if v.dtype == dtype {
            views.push(*v);
        } else {
            let copy = h.view(v, dtype);
            copy_view(cx, v, &Out { view: copy, mode: Mode::Write })?;
            views.push(copy);
        }
    }
    let results: Vec<Out<'_>> = outs
        .iter()
        .zip(for_outs)
        .map(|(o, h)| if o.view.dtype == dtype { *o } else { Out { view: h.view(&o.view, dtype), mode: Mode::Write } })
        .collect();
    f(&views, &results)?;
    for (o, r) in outs.iter().zip(&results).filter(|(o, _)| o.view.dtype != dtype) {
        copy_view(cx, &r.view, o)?;
    }
    Ok(())
}
