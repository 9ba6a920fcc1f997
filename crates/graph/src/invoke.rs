//! `invoke`: infer, decide where to run, run or queue, record.
use crate::array::NDArray;
use crate::emit;
use crate::host;
use crate::index::{Index, parse_index, select_first};
use crate::launch::{Launch, Operands, run_inline, threads_here};
use crate::random;
use crate::tape;
use crate::update::update;
use gluonish_base::tls::tls;
use gluonish_base::{Cause, DType, Dims, Error, Result, Scalar, Site, profiler};
use gluonish_engine::Device;
use gluonish_kernels::map::{self, Class, Map};
use gluonish_kernels::{Args, AttrVal, Attrs, Cx, Mode, Out, View};
use gluonish_ops::{Body, Call, Layout, Metas, Op, Viewed, infer, rows};
use smallvec::SmallVec;

/// A borrowed operand. A Python number stays a number: no array is made for it.
#[derive(Clone, Copy)]
pub enum In<'a> {
    Array(&'a NDArray),
    Scalar(Scalar),
    /// An optional input that was not given.
    Absent,
}

impl<'a> In<'a> {
    #[inline(always)]
    pub fn array(&self) -> Option<&'a NDArray> {
        if let In::Array(a) = self { Some(a) } else { None }
    }
}

pub type Outs = SmallVec<[NDArray; 1]>;
pub(crate) type Views<'a> = SmallVec<[View<'a>; 4]>;

/// An operand as shape rules and kernels see it; `number` is where a scalar's bytes are.
#[inline(always)]
pub(crate) fn view_of<'a>(i: &In<'a>, number: *const [u8; 8], dtype: DType) -> View<'a> {
    match i {
        In::Array(a) => a.view(),
        In::Scalar(s) => View {
            ptr: number.cast_mut().cast(),
            shape: &Dims::EMPTY,
            strides: &Dims::EMPTY,
            dtype,
            contiguous: true,
            size: 1,
            scalar: Some(*s),
        },
        In::Absent => View {
            ptr: std::ptr::null_mut(),
            shape: &Dims::EMPTY,
            strides: &Dims::EMPTY,
            dtype,
            contiguous: true,
            size: 0,
            scalar: None,
        },
    }
}

#[inline(always)]
fn metadata<'a>(ins: &[In<'a>]) -> Views<'a> {
    let mut views = Views::new();
    add_metadata(ins, &mut views);
    views
}

/// Into a list that stands already: it is long to move.
#[inline(always)]
fn add_metadata<'a>(ins: &[In<'a>], views: &mut Views<'a>) {
    for i in ins {
        let dtype = if let In::Scalar(s) = i { s.dtype() } else { DType::F32 };
        views.push(view_of(i, std::ptr::null(), dtype));
    }
}

/// Runs an op on the device of its inputs; a creating one on the device that is current.
#[inline]
pub fn invoke(op: &'static Op, ins: &[In<'_>], attrs: &Attrs) -> Result<Outs> {
    let device = device_of(op, ins)?;
    invoke_on(op, ins, attrs, device)
}

/// Runs an op that has one output and no attributes on an array. In this and the next ones the compiler knows what the
/// operands are, and they are part of their few callers.
#[inline(always)]
pub fn invoke_unary(op: &'static Op, x: &NDArray) -> Result<NDArray> {
    invoke_one(op, &[In::Array(x)])
}

/// The same on two arrays.
#[inline(always)]
pub fn invoke_binary(op: &'static Op, x: &NDArray, y: &NDArray) -> Result<NDArray> {
    invoke_one(op, &[In::Array(x), In::Array(y)])
}

/// The same on an array and a number.
#[inline(always)]
pub fn invoke_number(op: &'static Op, x: &NDArray, number: f64) -> Result<NDArray> {
    invoke_one(op, &[In::Array(x), In::Scalar(Scalar::Float(number))])
}

/// The same on a number and an array.
#[inline(always)]
pub fn invoke_reflected(op: &'static Op, number: f64, y: &NDArray) -> Result<NDArray> {
    invoke_one(op, &[In::Scalar(Scalar::Float(number)), In::Array(y)])
}

#[inline(always)]
fn invoke_one(op: &'static Op, ins: &[In<'_>]) -> Result<NDArray> {
    if !tls().recording.get()
        && let Some(out) = by_formula(op, ins)
    {
        return out;
    }
    let mut outs = invoke(op, ins, &Attrs::new())?;
    outs.pop().ok_or_else(|| Error::new(Cause::Failed("there is no output".into())).in_op(op.name))
}

/// A formula over a few values, if that is what it is.
#[inline(always)]
fn by_formula(op: &'static Op, ins: &[In<'_>]) -> Option<Result<NDArray>> {
    match &op.body {
        Body::Map(map) if !profiler::enabled() => {
            NDArray::by_formula(map, ins).map(|out| out.map_err(|e| explain(e, op, ins)))
        }
        _ => None,
    }
}

/// The device that all inputs are on.
#[inline(always)]
pub(crate) fn device_of(op: &'static Op, ins: &[In<'_>]) -> Result<Device> {
    let mut device: Option<Device> = None;
    for i in ins {
        if let In::Array(a) = i {
            match device {
                None => device = Some(a.device()),
                Some(d) if d != a.device() => return Err(split_devices(op, d, a.device())),
                _ => {}
            }
        }
    }
    Ok(device.unwrap_or_else(current_device))
}

/// The device on which creation functions put their arrays.
pub fn current_device() -> Device {
    Device::from_index(tls().device.get()).unwrap_or_default()
}

#[cold]
fn split_devices(op: &'static Op, a: Device, b: Device) -> Error {
    let text = format!("the arrays are on {} and on {}; bring them together with as_in_context()", a.name(), b.name());
    Error::new(Cause::Device(text)).in_op(op.name)
}

/// While this lives, errors of ops name the op that they are part of; an outer one that is named already stays.
pub(crate) struct PartOf(&'static str);

impl PartOf {
    pub(crate) fn enter(name: &'static str) -> PartOf {
        let outer = tls().part_of.get();
        PartOf::set(if outer.is_empty() { name } else { outer })
    }

    /// Whatever was named before: for work that was queued elsewhere, perhaps as part of nothing.
    pub(crate) fn set(name: &'static str) -> PartOf {
        PartOf(tls().part_of.replace(name))
    }
}
impl Drop for PartOf {
    fn drop(&mut self) {
        tls().part_of.set(self.0);
    }
}

/// An error of a call: names the op, its inputs and, where it is known, the line.
#[cold]
pub(crate) fn explain(e: Error, op: &'static Op, ins: &[In<'_>]) -> Error {
    // Errors of shapes and types name their values themselves; for the others the inputs are part of the story.
    let told = matches!(
        e.cause(),
        Cause::Broadcast { .. }
            | Cause::Shape(_)
            | Cause::DType(_)
            | Cause::Axis { .. }
            | Cause::Attribute { .. }
            | Cause::Overflow(_)
    );
    let outer = tls().part_of.get();
    let e = e.in_op(if outer.is_empty() { op.name } else { outer });
    // Users do not know the shapes inside of what they called.
    if told || !outer.is_empty() {
        e
    } else {
        e.with_inputs(ins.iter().filter_map(|i| i.array()).map(|a| (*a.shape(), a.dtype())))
    }
}

pub fn invoke_on(op: &'static Op, ins: &[In<'_>], attrs: &Attrs, device: Device) -> Result<Outs> {
    if op.overlays.is_some() {
        return update(op, ins, attrs, &[]);
    }
    let mut recording = tls().recording.get();
    if recording {
        for a in ins.iter().filter_map(In::array) {
            tape::check_fresh(a).map_err(|e| e.in_op(op.name))?;
        }
        recording = tape::leads_to_variable(ins);
    }
    let outs = match &op.body {
        Body::View(f) => views(op, *f, ins, attrs)?,
        Body::Compose(f) => match matrices(op, ins, attrs) {
            Some((a, b)) if !recording => return product(op, a, b, attrs, device),
            _ => return emit::compose(op, *f, ins, attrs, device),
        },
        _ => compute(op, ins, attrs, device)?,
    };
    if recording {
        tape::record(op, ins, attrs, &outs);
    }
    finish(op, ins, attrs, outs)
}

/// The operands of a `dot` of two matrices, which small networks spend most of their calls on.
#[inline]
fn matrices<'a>(op: &'static Op, ins: &[In<'a>], attrs: &Attrs) -> Option<(&'a NDArray, &'a NDArray)> {
    match ins {
        [In::Array(a), In::Array(b)] if std::ptr::eq(op, &rows::DOT) && attrs.len() == 2 => {
            (a.shape().len() == 2 && b.shape().len() == 2).then_some((*a, *b))
        }
        _ => None,
    }
}

/// What `dot` is composed of, done directly: the product of the matrices or their transposes.
fn product(op: &'static Op, a: &NDArray, b: &NDArray, attrs: &Attrs, device: Device) -> Result<Outs> {
    let [a, b] = [(a, 0), (b, 1)].map(|(x, i)| if attrs.bool(i) { reversed(x) } else { x.clone() });
    compute(&rows::MATMUL, &[In::Array(&a), In::Array(&b)], &Attrs::new(), device).map_err(|e| e.of_op(op.name))
}

/// Refuses states that cannot be written without loss, before any is.
fn check_states(op: &'static Op, ins: &[In<'_>]) -> Result {
    let states = op.updates.iter().filter_map(|(i, _)| Some((op.inputs[*i].name, ins[*i].array()?)));
    let mut seen: SmallVec<[(&str, &NDArray); 2]> = SmallVec::new();
    for (name, state) in states {
        crate::write::check_apart(state)?;
        if let Some((other, _)) = seen.iter().find(|(_, s)| s.overlaps(state)) {
            return Err(Cause::Value(format!("'{other}' and '{name}' share memory; each needs its own")).into());
        }
        seen.push((name, state));
    }
    Ok(())
}

/// Applies listed updates and drops what the caller does not get.
#[inline(always)]
fn finish(op: &'static Op, ins: &[In<'_>], attrs: &Attrs, mut outs: Outs) -> Result<Outs> {
    if !op.updates.is_empty() && tls().training.get() && op.updates_if.is_none_or(|f| f(attrs)) {
        check_states(op, ins).map_err(|e| explain(e, op, ins))?;
        for &(input, output) in op.updates {
            if let In::Array(state) = &ins[input] {
                crate::write::commit(state, &outs[output])?;
            }
        }
    }
    outs.truncate(op.visible_outputs(attrs, ins.len()));
    Ok(outs)
}

fn views(
    op: &'static Op,
    f: fn(&View<'_>, &Attrs, usize) -> Result<Viewed>,
    ins: &[In<'_>],
    attrs: &Attrs,
) -> Result<Outs> {
    let In::Array(a) = ins[0] else {
        return Err(explain(Cause::Argument("an array is needed, not a number".into()).into(), op, ins));
    };
    let mut outs = Outs::new();
    for i in 0..op.count_outputs(attrs, ins.len()) {
        let out = match f(&a.view(), attrs, i).map_err(|e| explain(e, op, ins))? {
            Viewed::As(Layout { shape, strides, offset }) => a.view_as(&shape, &strides, offset),
            Viewed::Copy(shape) => contiguous_copy(a)?.view_as(&shape, &shape.contiguous_strides(), 0),
        };
        outs.push(out);
    }
    Ok(outs)
}

/// `a[key]`, a view. Recorded like any op; otherwise only a layout.
pub fn select(a: &NDArray, key: &[Index]) -> Result<NDArray> {
    if tls().recording.get() && a.is_tracked() {
        let slice = parse_index(a.shape(), key)?;
        return Ok(invoke(&rows::SLICE, &[In::Array(a)], &Attrs::of(&slice.attrs()))?.remove(0));
    }
    if let [one] = key
        && let Some(view) = select_first(a, *one)?
    {
        return Ok(view);
    }
    let Layout { shape, strides, offset } = parse_index(a.shape(), key)?.layout(a.strides());
    Ok(a.view_as(&shape, &strides, offset))
}

/// The axes in reverse order, a view.
pub fn transpose(a: &NDArray) -> Result<NDArray> {
    if tls().recording.get() && a.is_tracked() {
        return Ok(invoke(&rows::TRANSPOSE, &[In::Array(a)], &Attrs::of(&[AttrVal::None]))?.remove(0));
    }
    Ok(reversed(a))
}

fn reversed(a: &NDArray) -> NDArray {
    let (mut shape, mut strides) = (*a.shape(), *a.strides());
    shape.reverse();
    strides.reverse();
    a.view_as(&shape, &strides, 0)
}

/// A fresh array with the same values, not recorded.
pub(crate) fn contiguous_copy(a: &NDArray) -> Result<NDArray> {
    let mut outs = compute(&rows::COPY, &[In::Array(a)], &Attrs::new(), a.device())?;
    Ok(outs.remove(0))
}

/// An array filled with one value.
pub fn full(device: Device, dtype: DType, shape: &Dims, value: Scalar) -> Result<NDArray> {
    let attrs = Attrs::of(&[AttrVal::Ints(*shape), AttrVal::DType(dtype)]);
    Ok(compute(&rows::FULL, &[In::Scalar(value)], &attrs, device)?.remove(0))
}

/// What a kernel needs beside its operands, taken in program order.
#[inline(always)]
pub(crate) fn context(op: &'static Op, ins: &[In<'_>], device: Device) -> Cx {
    let mut cx = Cx { threads: 1, training: tls().training.get(), ..Cx::default() };
    if op.flags.random {
        cx.ticket = random::ticket(device);
    }
    if let Some(i) = op.stamped {
        cx.stamp = ins.get(i).and_then(In::array).and_then(|a| a.storage().stamp());
    }
    cx
}

#[inline]
fn compute(op: &'static Op, ins: &[In<'_>], attrs: &Attrs, device: Device) -> Result<Outs> {
    if let Some(out) = by_formula(op, ins) {
        return out.map(|o| SmallVec::from_buf([o]));
    }
    let mut views = Views::new();
    add_metadata(ins, &mut views);
    let call = Call { ins: &views, attrs, training: tls().training.get() };
    let mut metas = Metas::new();
    (op.infer)(&call, &mut metas).map_err(|e| explain(e, op, ins))?;
    if let Body::Dynamic { measure, .. } = &op.body {
        metas = measured(op, *measure, ins, attrs)?;
    }
    let cost = op.cost_ns(&call, &metas);
    let mut cx = context(op, ins, device);
    if let Some(threads) = threads_here(cost)
        && let Some(_held) = Operands::take(ins)
    {
        cx.threads = threads;
        let mut outs = Outs::new();
        for m in &metas {
            outs.push(NDArray::empty(device, m.dtype, &m.shape).map_err(|e| explain(e, op, ins))?);
        }
        refresh(ins, &mut views);
        run_inline(op, &cx, ins, &views, &outs, attrs)?;
        return Ok(outs);
    }
    let mut outs = Outs::new();
    for m in &metas {
        outs.push(NDArray::deferred(device, m.dtype, &m.shape).map_err(|e| explain(e, op, ins))?);
    }
    Launch { op, cx, cost, device, site: Site::here() }.queue(ins, &outs, attrs)?;
    Ok(outs)
}

/// Waits for the inputs and asks the row what the outputs' shapes are.
#[cold]
fn measured(op: &'static Op, f: fn(&Call<'_>, &mut Metas) -> Result, ins: &[In<'_>], attrs: &Attrs) -> Result<Metas> {
    loop {
        for a in ins.iter().filter_map(In::array) {
            host::wait(a)?;
        }
        // Another thread may write between the wait and here; then wait again.
        let Some(_held) = Operands::take(ins) else { continue };
        let views = metadata(ins);
        let mut metas = Metas::new();
        f(&Call { ins: &views, attrs, training: tls().training.get() }, &mut metas).map_err(|e| explain(e, op, ins))?;
        return Ok(metas);
    }
}

/// The views were made before the operands were held: memory that has come since is put in.
#[inline(always)]
fn refresh<'a>(ins: &[In<'a>], views: &mut Views<'a>) {
    for (i, v) in ins.iter().zip(views) {
        if let In::Array(a) = i {
            v.ptr = a.data();
        }
    }
}

/// A comparison computes in the type of its operands, everything else in the type of its result.
#[inline(always)]
fn apply_map(cx: &Cx, map: &Map, views: &[View<'_>], out: &Out<'_>) -> Result {
    let class = Class::of(if map.is_truth() { infer::comparison_type(views) } else { out.view.dtype });
    map::apply(cx, map, class, views, out)
}

/// Calls a row's kernel. The views point to memory that the caller holds.
#[inline(always)]
pub(crate) fn call_kernel(op: &'static Op, cx: &Cx, ins: &[In<'_>], outs: &mut [Out<'_>], attrs: &Attrs) -> Result {
    call_over(op, cx, &metadata(ins), outs, attrs)
}

/// As `call_kernel`, with the operands' views.
#[inline(always)]
pub(crate) fn call_over(op: &'static Op, cx: &Cx, views: &[View<'_>], outs: &mut [Out<'_>], attrs: &Attrs) -> Result {
    match &op.body {
        Body::Map(map) => {
            if let Some(check) = op.check {
                check(cx, views, &outs[0])?;
            }
            apply_map(cx, map, views, &outs[0])
        }
        Body::Kernel(k) | Body::Dynamic { kernel: k, .. } if views.iter().all(|v| v.scalar.is_none()) => {
            k(cx, &Args { ins: views, attrs }, outs)
        }
        Body::Kernel(k) | Body::Dynamic { kernel: k, .. } => {
            // A number becomes one element of the result's type.
            let dtype = outs.first().map_or(DType::F32, |o| o.view.dtype);
            let numbers: SmallVec<[[u8; 8]; 4]> =
                views.iter().map(|v| v.scalar.map_or([0; 8], |s| s.to_bytes(dtype))).collect();
            let views: Views<'_> = views
                .iter()
                .zip(&numbers)
                .map(|(v, n)| match v.scalar {
                    Some(_) => View { ptr: n.as_ptr().cast_mut(), dtype, ..*v },
                    None => *v,
                })
                .collect();
            k(cx, &Args { ins: &views, attrs }, outs)
        }
        Body::View(_) | Body::Compose(_) => Err(Cause::Failed("a view has no kernel".into()).into()),
    }
}

#[inline(always)]
pub(crate) fn out_views(outs: &[NDArray], mode: Mode) -> SmallVec<[Out<'_>; 2]> {
    let mut v = SmallVec::new();
    for o in outs {
        v.push(Out { view: o.view(), mode });
    }
    v
}
