//! Writing into arrays that exist: `out=`, in-place operators, slice assignment, updates of state.
use crate::array::NDArray;
use crate::beside::Beside;
use crate::invoke::{In, call_kernel, context, contiguous_copy, device_of, explain, invoke};
use crate::launch::{Launch, Operands, guarded, in_caller, threads_here, write_inline};
use crate::tape;
use crate::update::update;
use gluonish_base::tls::tls;
use gluonish_base::{Cause, DType, Dims, Error, Result, Site};
use gluonish_engine::{TapeMark, Var, Write};
use gluonish_kernels::{AttrVal, Attrs, Mode};
use gluonish_ops::rows::Slice;
use gluonish_ops::{Body, Call, Meta, Metas, Op, rows};
use smallvec::SmallVec;
use std::sync::atomic::Ordering::Relaxed;

/// `dst[...] = op(...)`: the result must have the shape of `dst` and a type that it can hold.
pub fn invoke_into(op: &'static Op, ins: &[In<'_>], attrs: &Attrs, dst: &NDArray) -> Result {
    if op.overlays.is_some() {
        return update(op, ins, attrs, &[dst]).map(drop);
    }
    let device = device_of(op, ins)?;
    if ins.iter().any(|i| i.array().is_some()) && device != dst.device() {
        let text = format!("the inputs are on {} and the output is on {}", device.name(), dst.device().name());
        return Err(Error::new(Cause::Device(text)).in_op(op.name));
    }
    if matches!(op.body, Body::View(_) | Body::Compose(_) | Body::Dynamic { .. })
        || op.count_outputs(attrs, ins.len()) != 1
    {
        return invoke_into_all(op, ins, attrs, &[dst]);
    }
    let meta = inferred(op, ins, attrs)?;
    if meta.shape != *dst.shape() {
        let text = format!("the result of shape {} does not fit the output of shape {}", meta.shape, dst.shape());
        return Err(Error::new(Cause::Shape(text)).in_op(op.name));
    }
    check_cast(op, meta.dtype, dst.dtype())?;
    let clash = |a: &NDArray| a.overlaps(dst) && !(op.flags.in_place && a.same_layout(dst));
    if meta.dtype != dst.dtype() || ins.iter().filter_map(In::array).any(clash) {
        return invoke_into_all(op, ins, attrs, &[dst]);
    }
    write(op, ins, attrs, dst)
}

pub(crate) fn inferred(op: &'static Op, ins: &[In<'_>], attrs: &Attrs) -> Result<Meta> {
    all_inferred(op, ins, attrs).map(|metas| metas[0])
}

/// Shapes and types of all outputs.
pub(crate) fn all_inferred(op: &'static Op, ins: &[In<'_>], attrs: &Attrs) -> Result<Metas> {
    let views: SmallVec<[_; 4]> = ins
        .iter()
        .map(|i| {
            crate::invoke::view_of(i, std::ptr::null(), if let In::Scalar(s) = i { s.dtype() } else { DType::F32 })
        })
        .collect();
    let mut metas = Metas::new();
    (op.infer)(&Call { ins: &views, attrs, training: tls().training.get() }, &mut metas)
        .map_err(|e| explain(e, op, ins))?;
    Ok(metas)
}

/// NumPy's rule for results in place: a type may become narrower, but a float no integer and a signed integer not unsigned.
fn check_cast(op: &'static Op, from: DType, to: DType) -> Result {
    let loss = if from.is_int() && to.is_int() && from.is_signed() && !to.is_signed() {
        "negative numbers"
    } else if from.family() <= to.family() {
        return Ok(());
    } else if from.is_float() {
        "its fraction"
    } else {
        "all but whether it is 0"
    };
    let text =
        format!("the result is {from} and the output is {to}: it would lose {loss}; use astype() for a new array");
    Err(Error::new(Cause::DType(text)).in_op(op.name))
}

/// Runs an op that has several outputs into as many arrays. Nothing is written if one of them does not fit.
pub fn invoke_into_all(op: &'static Op, ins: &[In<'_>], attrs: &Attrs, dsts: &[&NDArray]) -> Result {
    if op.overlays.is_some() {
        return update(op, ins, attrs, dsts).map(drop);
    }
    let mut outs = invoke(op, ins, attrs)?;
    let made: Metas = outs.iter().map(|o| Meta { shape: *o.shape(), dtype: o.dtype() }).collect();
    check_fit(op, &made, dsts)?;
    for o in &mut outs {
        // A view of what is written before it is read.
        if dsts.len() > 1 && dsts.iter().any(|dst| o.overlaps(dst)) {
            *o = contiguous_copy(o)?;
        }
    }
    outs.iter().zip(dsts).try_for_each(|(o, dst)| copy_into(dst, In::Array(o)))
}

/// Whether what an op makes fits the arrays that it is to go to.
pub(crate) fn check_fit(op: &'static Op, made: &[Meta], dsts: &[&NDArray]) -> Result {
    if made.len() != dsts.len() {
        let text = format!("{} outputs are made, and 'out' has {} arrays", made.len(), dsts.len());
        return Err(Error::new(Cause::Argument(text)).in_op(op.name));
    }
    if Beside::of(dsts.iter().copied()).sharing().is_some() {
        let text = "two arrays of 'out' share memory: each output needs its own";
        return Err(Error::new(Cause::Argument(text.into())).in_op(op.name));
    }
    for (meta, dst) in made.iter().zip(dsts) {
        if meta.shape != *dst.shape() {
            let text = format!("the result of shape {} does not fit the output of shape {}", meta.shape, dst.shape());
            return Err(Error::new(Cause::Shape(text)).in_op(op.name));
        }
        check_cast(op, meta.dtype, dst.dtype())?;
    }
    Ok(())
}

/// Copies values, repeated and cast as needed, over all of `dst`.
pub fn copy_into(dst: &NDArray, value: In<'_>) -> Result {
    if let In::Array(a) = value {
        if a.shape().broadcast(dst.shape()) != Some(*dst.shape()) {
            return Err(Error::new(Cause::Broadcast { lhs: *a.shape(), rhs: *dst.shape() }).in_op("assignment"));
        }
        if a.device() != dst.device() && !(a.device().is_cpu() && dst.device().is_cpu()) {
            let text = format!("cannot copy from {} to {} here", a.device().name(), dst.device().name());
            return Err(Error::new(Cause::Device(text)).in_op("assignment"));
        }
        if a.overlaps(dst) && !a.same_layout(dst) {
            return write(&rows::COPY, &[In::Array(&contiguous_copy(a)?)], &Attrs::new(), dst);
        }
    }
    write(&rows::COPY, &[value], &Attrs::new(), dst)
}

/// `a[slice] = value`. While recording this makes a new version of `a` with the right gradient for both.
pub fn assign(a: &NDArray, slice: &Slice, value: In<'_>) -> Result {
    // Also where the part itself repeats nothing: as in NumPy, what is seen elsewhere is not meant.
    check_apart(a).map_err(|e| e.in_op("assignment"))?;
    let layout = slice.layout(a.strides());
    let part = a.view_as(&layout.shape, &layout.strides, layout.offset);
    let recorded = tls().recording.get() && (a.is_tracked() || value.array().is_some_and(|v| v.is_tracked()));
    if !recorded {
        return match value {
            In::Array(v) if v.shape().len() > part.shape().len() => {
                copy_into(&part, In::Array(&without_leading(v, part.shape().len())?))
            }
            value => copy_into(&part, value),
        };
    }
    let attrs = Attrs::of(&slice.attrs());
    if let In::Array(v) = value
        && v.same_layout(&part)
        && v.stamp() == a.storage().version()
        && a.storage().tape.before.load(Relaxed) <= a.stamp()
        && a.storage().tape.layout.load(Relaxed) == part.layout_hash()
    {
        // `a[s] += ...`: the values are there already, by the one recorded write since `a` was made, through this very
        // view; `a` takes over its history.
        let old = a.detached();
        if let Some((node, output)) = a.node.get() {
            old.node.set(Some(node), output);
        }
        tape::record_over(&rows::SLICE_ASSIGN, &[In::Array(&old), value], &attrs, a);
        a.restamp();
        return Ok(());
    }
    let fitted;
    let value = match value {
        In::Array(v) if v.shape() != part.shape() || v.dtype() != a.dtype() || v.overlaps(a) => {
            fitted = fit(v, part.shape(), a)?;
            In::Array(&fitted)
        }
        v => v,
    };
    write(&rows::SLICE_ASSIGN, &[In::Array(a), value], &attrs, a)
}

/// A value without the leading axes of size 1 that its target does not have.
fn without_leading(v: &NDArray, axes: usize) -> Result<NDArray> {
    let extra = v.shape().len().saturating_sub(axes);
    if extra == 0 || v.shape()[..extra].iter().any(|d| *d != 1) {
        return Ok(v.clone());
    }
    let shape = AttrVal::Ints(Dims::of(&v.shape()[extra..]));
    Ok(invoke(&rows::RESHAPE_AS, &[In::Array(v)], &Attrs::of(&[shape]))?.remove(0))
}

/// The value of an assignment in the shape and type of its target and in memory of its own, recorded.
pub(crate) fn fit(v: &NDArray, shape: &Dims, target: &NDArray) -> Result<NDArray> {
    let run = |op, v: &NDArray, attrs: &[AttrVal]| {
        invoke(op, &[In::Array(v)], &Attrs::of(attrs)).map(|mut outs| outs.remove(0))
    };
    let mut v = without_leading(v, shape.len())?;
    if v.shape() != shape {
        if v.shape().broadcast(shape) != Some(*shape) {
            return Err(Error::new(Cause::Broadcast { lhs: *v.shape(), rhs: *shape }).in_op("assignment"));
        }
        v = run(&rows::BROADCAST_TO, &v, &[AttrVal::Ints(*shape)])?;
    }
    if v.dtype() != target.dtype() {
        v = run(&rows::CAST, &v, &[AttrVal::DType(target.dtype())])?;
    }
    if v.overlaps(target) { run(&rows::COPY, &v, &[]) } else { Ok(v) }
}

/// Refuses a target that has one element in several places.
pub(crate) fn check_apart(dst: &NDArray) -> Result {
    if dst.is_injective() {
        return Ok(());
    }
    Err(Cause::Value("the array repeats its elements (it is a broadcast view); copy it first".into()).into())
}

/// Refuses a write that would make a recorded gradient wrong, before anything changes.
pub(crate) fn check_write(op: &'static Op, dst: &NDArray) -> Result {
    check_apart(dst).map_err(|e| e.in_op(op.name))?;
    if !tls().recording.get() {
        // The gradient may never be asked for; if it is, the error names this line.
        let tape = &dst.storage().tape;
        if tape.saved.load(Relaxed) > 0 {
            tape.written_site.store(TapeMark::pack(Site::here()), Relaxed);
        }
        return Ok(());
    }
    let wrong = |text: &str| Error::new(Cause::Gradient(text.into())).in_op(op.name).at(Site::here());
    if tape::looks_at_variable(dst) {
        return Err(wrong(
            "a variable (attach_grad) cannot be written in place while recording; use autograd.pause() for updates",
        ));
    }
    let tape = &dst.storage().tape;
    if tape.saved.load(Relaxed) > 0 {
        let text = "this array was saved for a gradient, which a write in place would make wrong; write to a new array, or copy() it first";
        return Err(wrong(text).and_at("saved", TapeMark::unpack(tape.saved_site.load(Relaxed))));
    }
    tape::check_fresh(dst).map_err(|e| e.in_op(op.name))
}

/// Runs a kernel over `dst`, which may be one of the inputs, element for element.
pub(crate) fn write(op: &'static Op, ins: &[In<'_>], attrs: &Attrs, dst: &NDArray) -> Result {
    check_write(op, dst)?;
    if tls().recording.get() {
        for a in ins.iter().filter_map(In::array).filter(|a| !a.same_layout(dst)) {
            tape::check_fresh(a).map_err(|e| e.in_op(op.name))?;
        }
    }
    let recorded = tls().recording.get() && (dst.is_tracked() || tape::leads_to_variable(ins));
    let before = if recorded { Some(history(op, ins, dst)?) } else { None };
    let kind = if reads(ins, dst) { Write::Update } else { whole_or_part(dst, Mode::Write) };
    run_over(op, ins, attrs, dst, Mode::Write, kind)?;
    if let Some(before) = before {
        let ins: SmallVec<[In<'_>; 3]> =
            before.iter().zip(ins).map(|(b, i)| b.as_ref().map_or(*i, In::Array)).collect();
        let tape = &dst.storage().tape;
        tape.before.store(tape.recorded.load(Relaxed), Relaxed);
        tape.layout.store(dst.layout_hash(), Relaxed);
        tape.recorded.store(dst.storage().version(), Relaxed);
        tape.recorded_site.store(TapeMark::pack(Site::here()), Relaxed);
        dst.restamp();
        tape::record_over(op, &ins, attrs, dst);
    }
    Ok(())
}

/// Whether an operand lies in the storage that is written.
fn reads(ins: &[In<'_>], dst: &NDArray) -> bool {
    ins.iter().any(|i| i.array().is_some_and(|a| a.storage().same(dst.storage())))
}

/// What a kernel that does not read `dst` does to its storage.
pub(crate) fn whole_or_part(dst: &NDArray, mode: Mode) -> Write {
    let whole = mode == Mode::Write && dst.is_contiguous() && dst.nbytes() == dst.storage().bytes();
    if whole { Write::Overwrite } else { Write::Update }
}

/// Writes or adds the result of an op to `dst`, outside the graph of gradients. False, with nothing done: the result is not
/// of that shape and type, or not computed by a kernel, or made of `dst`.
pub(crate) fn deposit(op: &'static Op, ins: &[In<'_>], attrs: &Attrs, dst: &NDArray, mode: Mode) -> Result<bool> {
    let kernel = matches!(op.body, Body::Map(_) | Body::Kernel(_)) && op.count_outputs(attrs, ins.len()) == 1;
    if !kernel || reads(ins, dst) || inferred(op, ins, attrs)? != (Meta { shape: *dst.shape(), dtype: dst.dtype() }) {
        return Ok(false);
    }
    run_over(op, ins, attrs, dst, mode, whole_or_part(dst, mode)).map(|()| true)
}

/// As `deposit` for an op of several outputs: those that have a buffer in `to` go there, the others become new arrays. None,
/// with nothing done, also where the op is so small that a copy costs less than handing it over.
pub(crate) fn deposit_some(
    op: &'static Op,
    ins: &[In<'_>],
    attrs: &Attrs,
    to: &[Option<NDArray>],
) -> Result<Option<SmallVec<[NDArray; 4]>>> {
    let device = device_of(op, ins)?;
    let metas = all_inferred(op, ins, attrs)?;
    let plain = matches!(op.body, Body::Kernel(_)) && op.overlays.is_none() && op.updates.is_empty();
    let suits = |(dst, meta): (&Option<NDArray>, &Meta)| {
        let Some(dst) = dst else { return true };
        !reads(ins, dst) && *meta == (Meta { shape: *dst.shape(), dtype: dst.dtype() })
    };
    let twice =
        |i: usize| to[..i].iter().flatten().any(|a| to[i].as_ref().is_some_and(|b| a.storage().same(b.storage())));
    if !plain || metas.len() != to.len() || !to.iter().zip(&metas).all(suits) || (0..to.len()).any(twice) {
        return Ok(None);
    }
    let views: SmallVec<[_; 4]> =
        ins.iter().map(|i| crate::invoke::view_of(i, std::ptr::null(), metas[0].dtype)).collect();
    let cost = op.cost_ns(&Call { ins: &views, attrs, training: false }, &metas);
    if threads_here(cost).is_some() {
        return Ok(None);
    }
    let mut outs = SmallVec::<[NDArray; 4]>::new();
    for (dst, meta) in to.iter().zip(&metas) {
        outs.push(match dst {
            Some(dst) => dst.clone(),
            None => NDArray::deferred(device, meta.dtype, &meta.shape).map_err(|e| explain(e, op, ins))?,
        });
    }
    let writes: SmallVec<[(&Var, Write); 4]> =
        outs.iter().map(|o| (o.storage(), whole_or_part(o, Mode::Write))).collect();
    let launch = Launch { op, cx: context(op, ins, device), cost, device, site: Site::here() };
    launch.push(ins, &outs, attrs, Mode::Write, &writes)?;
    drop(writes);
    Ok(Some(outs))
}

/// The inputs as they were before the write: those that share memory with `dst` keep their place in the graph, and their
/// values too where the gradient will read them.
fn history(op: &'static Op, ins: &[In<'_>], dst: &NDArray) -> Result<SmallVec<[Option<NDArray>; 3]>> {
    use gluonish_ops::def::Saved;
    ins.iter()
        .enumerate()
        .map(|(i, x)| {
            let Some(a) = x.array().filter(|a| a.overlaps(dst)) else { return Ok(None) };
            let read_later = op.saves.iter().any(|s| s.what == Saved::X(i as u8));
            let old = if read_later { contiguous_copy(a)? } else { a.detached() };
            if let Some((node, output)) = a.node.get() {
                old.node.set(Some(node), output);
            }
            Ok(Some(old))
        })
        .collect()
}

fn run_over(op: &'static Op, ins: &[In<'_>], attrs: &Attrs, dst: &NDArray, mode: Mode, kind: Write) -> Result {
    let views: SmallVec<[_; 4]> =
        ins.iter().map(|i| crate::invoke::view_of(i, std::ptr::null(), dst.dtype())).collect();
    let meta = Meta { shape: *dst.shape(), dtype: dst.dtype() };
    let cost = op.cost_ns(&Call { ins: &views, attrs, training: false }, &[meta]);
    let mut cx = context(op, ins, dst.device());
    let v = dst.storage();
    if let Some(threads) = threads_here(cost) {
        cx.threads = threads;
        // What lies in the storage that is written is covered by holding it as the writer.
        let others: SmallVec<[In<'_>; 3]> =
            ins.iter().copied().filter(|i| i.array().is_some_and(|a| !a.storage().same(v))).collect();
        if let Some(_held) = Operands::take(&others)
            && let Some(done) = write_inline(dst, mode, kind, |out| {
                in_caller(op, ins, std::slice::from_ref(dst), || {
                    guarded(op, ins, || call_kernel(op, &cx, ins, out, attrs))
                })
            })
        {
            return done;
        }
    }
    let writes: [(&Var, Write); 1] = [(v, kind)];
    let launch = Launch { op, cx, cost, device: dst.device(), site: Site::here() };
    launch.push(ins, std::slice::from_ref(dst), attrs, mode, &writes)
}

/// Writes an array of the same shape over all of `state`, outside the graph of gradients: a value that is an error leaves the
/// state as it was. `told`: as an update of what is trained, of which the engine tells if it is left out.
pub fn commit_into(state: &NDArray, value: &NDArray, told: bool) -> Result {
    let refuse = |cause: Cause| Err(Error::new(cause).in_op("commit"));
    if state.shape() != value.shape() {
        return refuse(Cause::Shape(format!("a value of shape {} for a state of {}", value.shape(), state.shape())));
    }
    if state.device() != value.device() {
        let text = format!("the state is on {}, the value is on {}", state.device().name(), value.device().name());
        return refuse(Cause::Device(text));
    }
    check_write(&rows::COPY, state)?;
    let kind = if told { Write::Keep } else { Write::Commit };
    match (value.overlaps(state), value.same_layout(state)) {
        (true, true) => Ok(()),
        (true, false) => put(state, &contiguous_copy(value)?, kind),
        (false, _) => put(state, value, kind),
    }
}

/// The update of an op's state, known to fit: if the op fails, the state stays as it was.
pub(crate) fn commit(state: &NDArray, value: &NDArray) -> Result {
    put(state, value, Write::Commit)
}

fn put(state: &NDArray, value: &NDArray, kind: Write) -> Result {
    run_over(&rows::COPY, &[In::Array(value)], &Attrs::new(), state, Mode::Write, kind)
}
