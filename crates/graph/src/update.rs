//! Ops that change some of their inputs in place: the steps of optimizers. The kernel writes where the arrays are, without
//! a copy on the way.
use crate::array::NDArray;
use crate::beside::Beside;
use crate::invoke::{In, Outs, call_kernel, context, device_of, explain, out_views};
use crate::launch::{Launch, Operands, Written, guarded, in_caller, threads_here};
use crate::tape;
use crate::write::{all_inferred, check_fit, check_write, copy_into, whole_or_part};
use gluonish_base::tls::tls;
use gluonish_base::{Cause, Error, Result, Site};
use gluonish_engine::{Var, Write};
use gluonish_kernels::{Attrs, Mode};
use gluonish_ops::{Call, Op};
use smallvec::SmallVec;

/// Runs an op with overlays. What it makes beside them goes to `dsts`, or to fresh arrays where there are none. Nothing is
/// written if something does not fit.
pub(crate) fn update(op: &'static Op, ins: &[In<'_>], attrs: &Attrs, dsts: &[&NDArray]) -> Result<Outs> {
    let refuse = |cause: Cause| Err(Error::new(cause).in_op(op.name));
    if tls().recording.get() && tape::leads_to_variable(ins) {
        let text = "it changes arrays, which cannot be recorded; call it outside record(), or in autograd.pause()";
        return refuse(Cause::Gradient(text.into()));
    }
    let device = device_of(op, ins)?;
    if let Some(dst) = dsts.iter().find(|dst| dst.device() != device) {
        let text = format!("the inputs are on {} and the output is on {}", device.name(), dst.device().name());
        return refuse(Cause::Device(text));
    }
    let metas = all_inferred(op, ins, attrs)?;
    let visible = op.visible_outputs(attrs, ins.len());
    if !dsts.is_empty() {
        check_fit(op, &metas[..visible], dsts)?;
    }
    let over = |output| op.overlays.and_then(|f| f(attrs, ins.len(), output));
    let read = Beside::of(ins.iter().filter_map(In::array));
    let mut outs = SmallVec::<[NDArray; 4]>::new();
    // Results that go to their place in the end, as that is read or of another type.
    let mut later = SmallVec::<[usize; 1]>::new();
    for (k, meta) in metas.iter().enumerate() {
        let fresh = || NDArray::empty(device, meta.dtype, &meta.shape).map_err(|e| explain(e, op, ins));
        let clash = |dst: &NDArray| {
            let others = read.in_storage_of(dst).iter().any(|a| a.overlaps(dst) && !a.same_layout(dst));
            others || dst.dtype() != meta.dtype
        };
        outs.push(match (over(k), dsts.get(k)) {
            (Some(i), dst) => {
                let Some(In::Array(a)) = ins.get(i) else {
                    let text = "what is changed in place must be an array, not a number";
                    return refuse(Cause::Argument(text.into()));
                };
                later.extend(dst.filter(|dst| !dst.same_layout(a)).map(|_| k));
                (*a).clone()
            }
            (None, Some(dst)) if clash(dst) => {
                later.push(k);
                fresh()?
            }
            (None, Some(dst)) => (*dst).clone(),
            (None, None) => fresh()?,
        });
    }
    let targets = later.iter().map(|&k| dsts[k]);
    if let Some(shared) = Beside::of(outs.iter().chain(targets)).sharing() {
        let text = format!("two of the arrays that it changes share memory (the last has shape {})", shared.shape());
        return refuse(Cause::Argument(text));
    }
    for dst in outs.iter().chain(dsts.iter().copied()) {
        check_write(op, dst)?;
    }
    run(op, ins, attrs, &outs, &read)?;
    for k in later {
        copy_into(dsts[k], In::Array(&outs[k]))?;
    }
    Ok(outs.into_iter().take(visible).collect())
}

fn run(op: &'static Op, ins: &[In<'_>], attrs: &Attrs, outs: &[NDArray], read: &Beside<'_>) -> Result {
    let Some(device) = outs.first().map(|o| o.device()) else { return Ok(()) };
    let views: SmallVec<[_; 4]> =
        ins.iter().map(|i| crate::invoke::view_of(i, std::ptr::null(), outs[0].dtype())).collect();
    let cost = op.cost_ns(&Call { ins: &views, attrs, training: false }, &[]);
    let mut cx = context(op, ins, device);
    if let Some(threads) = threads_here(cost)
        && let Some(held) = Written::take(outs)
    {
        cx.threads = threads;
        // What lies in a storage that is written is covered by holding it as the writer.
        let others: SmallVec<[In<'_>; 3]> =
            ins.iter().copied().filter(|i| i.array().is_some_and(|a| !held.covers(a))).collect();
        if let Some(_read) = Operands::take(&others) {
            let mut to = out_views(outs, Mode::Write);
            return in_caller(op, ins, outs, || guarded(op, ins, || call_kernel(op, &cx, ins, &mut to, attrs)));
        }
    }
    let written = Beside::of(outs.iter());
    let kind = |all: &[&NDArray]| match (read.in_storage_of(all[0]), all) {
        ([], [out]) => whole_or_part(out, Mode::Write),
        ([], _) => Write::Update,
        // What is stepped stays as it was where the gradient is an error.
        _ => Write::Keep,
    };
    let writes: SmallVec<[(&Var, Write); 4]> = written.storages().map(|all| (all[0].storage(), kind(all))).collect();
    Launch { op, cx, cost, device, site: Site::here() }.push(ins, outs, attrs, Mode::Write, &writes)
}
