//! Operands in one type, and without gaps where a kernel wants that: what is otherwise goes through a copy.
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
    lifted(cx, dtype, ins, outs, |v, _| v.dtype == dtype, f)
}

/// Calls `f` with the inputs and outputs in the type `dtype` and without gaps; the outputs are to be written, not added to.
pub(crate) fn in_lines(
    cx: &Cx,
    dtype: DType,
    ins: &[View<'_>],
    outs: &[Out<'_>],
    f: impl FnOnce(&[View<'_>], &[Out<'_>]) -> Result,
) -> Result {
    lifted(cx, dtype, ins, outs, |v, mode| v.dtype == dtype && v.contiguous && mode == Mode::Write, f)
}

/// Operands that fit are passed on; the others are copied, there and back.
fn lifted(
    cx: &Cx,
    dtype: DType,
    ins: &[View<'_>],
    outs: &[Out<'_>],
    fits: impl Fn(&View<'_>, Mode) -> bool,
    f: impl FnOnce(&[View<'_>], &[Out<'_>]) -> Result,
) -> Result {
    let reads = |v: &View<'_>| v.is_absent() || fits(v, Mode::Write);
    if ins.iter().all(reads) && outs.iter().all(|o| fits(&o.view, o.mode)) {
        return f(ins, outs);
    }
    let room = |v: &View<'_>, fine: bool| (!fine).then(|| Held::room_for(v, dtype));
    let mut for_ins: Vec<Option<Held>> = ins.iter().map(|v| room(v, reads(v))).collect();
    let mut for_outs: Vec<Option<Held>> = outs.iter().map(|o| room(&o.view, fits(&o.view, o.mode))).collect();
    let mut views = Vec::with_capacity(ins.len());
    for (v, h) in ins.iter().zip(&mut for_ins) {
        let Some(h) = h else {
            views.push(*v);
            continue;
        };
        let copy = h.view(v, dtype);
        copy_view(cx, v, &Out { view: copy, mode: Mode::Write })?;
        views.push(copy);
    }
    let results: Vec<Out<'_>> = outs
        .iter()
        .zip(&mut for_outs)
        .map(|(o, h)| h.as_mut().map_or(*o, |h| Out { view: h.view(&o.view, dtype), mode: Mode::Write }))
        .collect();
    f(&views, &results)?;
    for (o, r) in outs.iter().zip(&results).filter(|(o, _)| !fits(&o.view, o.mode)) {
        copy_view(cx, &r.view, o)?;
    }
    Ok(())
}
