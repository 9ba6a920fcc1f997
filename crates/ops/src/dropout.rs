//! Dropout. What was dropped is not kept for the gradient, but the ticket that says it.
use crate::attr::{Attr, axes};
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Input, Meta, Metas, Op, Output, hidden, input, output, rows, x, y};
use crate::infer::require_float;
use crate::rule::Rule;
use gluonish_base::{Cause, DType, Dims, Result, Ticket};
use gluonish_kernels::random::dropout as k;
use gluonish_kernels::{Attrs, convert};

const P: usize = 0;
const MODE: usize = 1;
const AXES: usize = 2;
const MODES: &[&str] = &["always", "training"];
const ALWAYS: u8 = 0;
const OUTPUTS: &[Output] = &[output("output"), hidden("ticket")];
const DATA_TICKET: &[Input] = &[input("data"), input("ticket")];
const SHARE: Attr = Attr::float("p", 0.5, "The share of values that are dropped.").within(0.0, 1.0);
const TOGETHER: Attr = Attr::opt_ints("axes", "Axes along which all values are dropped or kept together.");

fn together(attrs: &Attrs, at: usize, shape: &Dims) -> Result<u32> {
    attrs.ints(at).map_or(Ok(0), |list| axes(Some(list), false, shape))
}

fn infer(c: &Call<'_>, outs: &mut Metas, at: usize) -> Result {
    require_float(&c.ins[0], "data")?;
    together(c.attrs, at, c.ins[0].shape)?;
    outs.push(Meta { shape: *c.ins[0].shape, dtype: c.ins[0].dtype });
    Ok(())
}

fn is_active(attrs: &Attrs, training: bool) -> bool {
    training || attrs.choice(MODE) == ALWAYS
}

/// The same values are dropped of the gradient.
fn back(r: &Rule<'_>) {
    r.grad(0, || {
        if !is_active(r.attrs(), r.training()) {
            return r.dy();
        }
        r.call(&DROPOUT_AGAIN, &[r.dy(), r.y(1)], &[r.attrs()[P], r.attrs()[AXES]])
    });
}

rows! {
    DROPOUT = Op::new("Dropout", "In training, values become 0 with probability `p` and the others are divided by `1 - p`; otherwise nothing happens.", DATA, Body::Kernel(|cx, a, out| {
            let ticket = if is_active(a.attrs, cx.training) { cx.ticket } else { Ticket::default() };
            k::store_ticket(ticket, &out[1]);
            if !is_active(a.attrs, cx.training) {
                return convert::copy_view(cx, &a.ins[0], &out[0]);
            }
            k::dropout(cx, &a.ins[0], ticket, a.attrs.float(P), together(a.attrs, AXES, a.ins[0].shape)?, &out[0])
        }))
        .attrs(&[
            SHARE,
            Attr::choice("mode", MODES, 1, "Whether values are dropped in training only, or always."),
            TOGETHER,
            Attr::bool("cudnn_off", false, "For MXNet's GPU code: changes nothing here."),
        ])
        .outputs(OUTPUTS).random().cost(Cost::Bytes(4.0)).nd(&["Dropout"]).onnx("Dropout")
        .infer(|c, outs| {
            infer(c, outs, AXES)?;
            outs.push(Meta { shape: Dims::of(&[k::TICKET as isize]), dtype: DType::I64 });
            Ok(())
        })
        .grad(&[y(1)], back);
    DROPOUT_AGAIN = Op::new("_dropout_again", "Drops the values that a ticket says.", DATA_TICKET, Body::Kernel(|cx, a, out| {
            let axes = together(a.attrs, 1, a.ins[0].shape)?;
            k::dropout(cx, &a.ins[0], k::load_ticket(&a.ins[1]), a.attrs.float(P), axes, &out[0])
        }))
        .attrs(&[SHARE, TOGETHER]).cost(Cost::Bytes(4.0)).internal()
        .infer(|c, outs| {
            let ticket = &c.ins[1];
            if ticket.dtype != DType::I64 || *ticket.shape != Dims::of(&[k::TICKET as isize]) {
                let text = format!("ticket must be {} numbers of int64, got {} {}", k::TICKET, ticket.dtype, ticket.shape);
                return Err(Cause::Shape(text).into());
            }
            infer(c, outs, 1)
        })
        .grad(&[x(1)], |r| r.grad(0, || r.call(&DROPOUT_AGAIN, &[r.dy(), r.x(1)], r.attrs())));
}
