//! Recurrent networks, fused. The gradient is a kernel of its own that reads what the forward kept; higher orders go through
//! the same network made of products and elementwise rows, step by step.
use crate::attr::Attr;
use crate::cost::{Cost, fma_per_ns};
use crate::def::{
    Body, Call, Grad, Input, Meta, Metas, Op, Output, hidden, input, optional, output, parameter, rows, x, y,
};
use crate::infer::promoted;
use crate::rows::{ADD, CONCAT, GREATER, MAXIMUM, MINIMUM, RELU, SIGMOID, SLICE, STACK, Slice, TANH};
use crate::rule::{Rule, V, Vs};
use crate::sequence::{USE_LENGTH, check_vector, given};
use gluonish_base::{Cause, DType, Dims, Error, Result};
use gluonish_kernels::plain::computed_in;
use gluonish_kernels::rnn::{self as k, Cell, Clip, Grads, Net, Results};
use gluonish_kernels::sequence::Lengths;
use gluonish_kernels::{Args, AttrVal, Attrs, Cx, Out, View};
use smallvec::smallvec;

const INPUTS: &[Input] =
    &[input("data"), parameter("parameters"), input("state"), optional("state_cell"), optional("sequence_length")];
const OUTPUTS: &[Output] = &[output("output"), output("state"), output("state_cell"), hidden("reserve")];
const RESERVE: usize = 3;
const GRAD_INPUTS: &[Input] = &[
    input("data"),
    input("parameters"),
    input("reserve"),
    input("dy"),
    input("dstate"),
    optional("dstate_cell"),
    optional("sequence_length"),
];
const GRAD_OUTPUTS: &[Output] = &[output("data"), output("parameters"), output("state"), output("state_cell")];

/// Of hidden units: sums and products of a few such numbers stay in range.
const LARGEST: i64 = i32::MAX as i64;
const MODES: &[&str] = &["rnn_relu", "rnn_tanh", "lstm", "gru"];
const STATE_SIZE: usize = 0;
const NUM_LAYERS: usize = 1;
const BIDIRECTIONAL: usize = 2;
const MODE: usize = 3;
const P: usize = 4;
const STATE_OUTPUTS: usize = 5;
const PROJECTION: usize = 6;
const CLIP_MIN: usize = 7;
const CLIP_MAX: usize = 8;
const CLIP_NAN: usize = 9;
const USE: usize = 10;
const ATTRS: &[Attr] = &[
    Attr::int_required("state_size", "Number of hidden units of each layer and direction.").between(1, LARGEST),
    Attr::int_required("num_layers", "Number of layers.").between(1, 1024),
    Attr::bool("bidirectional", false, "Whether each layer also goes through the steps backwards."),
    Attr::choice_required("mode", MODES, "The cell."),
    Attr::float("p", 0.0, "Share of a layer's outputs that the next layer does not see in training.").within(0.0, 1.0),
    Attr::bool("state_outputs", false, "Whether the last states are given too."),
    Attr::opt_int("projection_size", "Width of an LSTM's outputs, where they are projections of its hidden units."),
    Attr::opt_float("lstm_state_clip_min", "Lower bound of an LSTM's cells; goes with the upper one."),
    Attr::opt_float("lstm_state_clip_max", "Upper bound of an LSTM's cells; goes with the lower one."),
    Attr::bool("lstm_state_clip_nan", false, "Whether NaN in a bounded cell becomes the lower bound; else it stays."),
    USE_LENGTH,
];

fn value(text: String) -> Error {
    Cause::Value(text).into()
}
fn shape_error(text: String) -> Error {
    Cause::Shape(text).into()
}

fn is_lstm(a: &Attrs) -> bool {
    a.choice(MODE) == 2
}

/// The network of a call; dropout is what the attributes say.
fn net(a: &Attrs, data: &Dims) -> Result<Net> {
    let cell = match a.choice(MODE) {
        0 => Cell::Relu,
        1 => Cell::Tanh,
        2 => Cell::Lstm,
        _ => Cell::Gru,
    };
    let (mode, lstm) = (MODES[a.choice(MODE) as usize], cell == Cell::Lstm);
    let hidden = a.int(STATE_SIZE);
    let projection = match a.opt_int(PROJECTION) {
        None => None,
        Some(_) if !lstm => return Err(value(format!("projection_size is for mode='lstm', not '{mode}'"))),
        Some(n) if !(1..=LARGEST).contains(&n) => {
            return Err(value(format!("projection_size={n} must be from 1 to {LARGEST}")));
        }
        Some(n) => Some(n as usize),
    };
    let clip = match (a.opt_float(CLIP_MIN), a.opt_float(CLIP_MAX)) {
        (None, None) if a.bool(CLIP_NAN) => {
            return Err(value("lstm_state_clip_nan=True is for cells with lstm_state_clip_min and _max".into()));
        }
        (None, None) => None,
        (Some(_), Some(_)) if !lstm => {
            return Err(value(format!("lstm_state_clip_min and _max are for mode='lstm', not '{mode}'")));
        }
        (Some(min), Some(max)) if min <= max => Some(Clip { min, max, nan: a.bool(CLIP_NAN) }),
        (min, max) => {
            let show = |v: Option<f64>| v.map_or("None".into(), |v| format!("{v:?}"));
            let (min, max) = (show(min), show(max));
            let text = format!("lstm_state_clip_min={min} and lstm_state_clip_max={max} must be two bounds in order");
            return Err(value(text));
        }
    };
    if data.len() != 3 || data[0] == 0 {
        let text = format!("data of shape {data} must be (steps, batch, width), with at least one step");
        return Err(shape_error(text));
    }
    let size = |d: isize| d.max(0) as usize;
    Ok(Net {
        cell,
        layers: a.int(NUM_LAYERS) as usize,
        directions: 1 + usize::from(a.bool(BIDIRECTIONAL)),
        steps: size(data[0]),
        batch: size(data[1]),
        input: size(data[2]),
        hidden: hidden as usize,
        projection,
        clip,
        dropout: a.float(P),
    })
}

fn same(given: &Dims, wanted: &Dims) -> bool {
    given.len() == wanted.len() && given.iter().zip(wanted.iter()).all(|(a, b)| a == b || *a == -1 || *b == -1)
}
/// Shapes of states and cells; the cells of what has none are an empty vector.
fn states(net: &Net, batch: isize) -> (Dims, Dims) {
    let count = (net.layers * net.directions) as isize;
    let cells = if net.cell == Cell::Lstm { Dims::of(&[count, batch, net.hidden as isize]) } else { Dims::of(&[0]) };
    (Dims::of(&[count, batch, net.state() as isize]), cells)
}
fn parameters(net: &Net) -> Result<isize> {
    let n = net.parameters().and_then(|n| isize::try_from(n).ok());
    n.ok_or_else(|| shape_error("the network has more parameters than any memory holds".into()))
}

fn floating(ins: &[View<'_>]) -> Result<DType> {
    let present: smallvec::SmallVec<[View<'_>; 8]> = ins.iter().filter(|v| !v.is_absent()).copied().collect();
    let dtype = promoted(&present);
    if dtype.is_float() {
        return Ok(dtype);
    }
    Err(Cause::DType(format!("data of {dtype} cannot be used; cast it to a floating type")).into())
}

fn infer(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (a, data) = (c.attrs, c.ins[0].shape);
    let net = net(a, data)?;
    let dtype = floating(&c.ins[..c.ins.len().min(4)])?;
    let batch = data[1];
    let (state, cells) = states(&net, batch);
    let wanted = Dims::of(&[if data[2] == -1 { -1 } else { parameters(&net)? }]);
    for (i, name, wanted) in [(1, "parameters", &wanted), (2, "state", &state)] {
        if !same(c.ins[i].shape, wanted) {
            let text = format!("{name} must have shape {wanted} for data of shape {data}, got {}", c.ins[i].shape);
            return Err(shape_error(text));
        }
    }
    match given(c.ins, 3) {
        Some(_) if !is_lstm(a) => {
            return Err(Cause::Argument(format!(
                "state_cell is given, but mode is '{}'",
                MODES[a.choice(MODE) as usize]
            ))
            .into());
        }
        Some(v) if !same(v.shape, &cells) => {
            return Err(shape_error(format!("state_cell must have shape {cells}, got {}", v.shape)));
        }
        None if is_lstm(a) => return Err(Cause::Argument("mode='lstm' needs the input state_cell".into()).into()),
        _ => {}
    }
    check_vector(c.ins, 4, "sequence_length", "use_sequence_length", a.bool(USE), batch)?;
    let known = data.iter().all(|d| *d != -1);
    let reserve = if known { net.reserve()? as isize } else { -1 };
    outs.push(Meta { shape: Dims::of(&[data[0], batch, net.output() as isize]), dtype });
    outs.push(Meta { shape: state, dtype });
    outs.push(Meta { shape: cells, dtype });
    outs.push(Meta { shape: Dims::of(&[reserve]), dtype: computed_in(dtype) });
    Ok(())
}
fn infer_grad(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (a, data) = (c.attrs, c.ins[0].shape);
    let net = net(a, data)?;
    let dtype = floating(&c.ins[..2])?;
    let (state, cells) = states(&net, data[1]);
    let known = data.iter().all(|d| *d != -1);
    let reserve = Dims::of(&[if known { net.reserve()? as isize } else { -1 }]);
    let wanted = Dims::of(&[if data[2] == -1 { -1 } else { parameters(&net)? }]);
    let dy = Dims::of(&[data[0], data[1], net.output() as isize]);
    let mut checks = vec![(1, "parameters", wanted), (2, "reserve", reserve), (3, "dy", dy), (4, "dstate", state)];
    if is_lstm(a) {
        checks.push((5, "dstate_cell", cells));
    } else if given(c.ins, 5).is_some() {
        return Err(Cause::Argument("dstate_cell is given, but the network has no cells".into()).into());
    }
    for (i, name, wanted) in checks {
        let v = given(c.ins, i).ok_or_else(|| Cause::Argument(format!("the input {name} is missing")))?;
        if !same(v.shape, &wanted) {
            return Err(shape_error(format!("{name} must have shape {wanted}, got {}", v.shape)));
        }
    }
    if c.ins[2].dtype != computed_in(dtype) {
        return Err(Cause::DType(format!("a reserve of {} does not fit data of {dtype}", c.ins[2].dtype)).into());
    }
    check_vector(c.ins, 6, "sequence_length", "use_sequence_length", a.bool(USE), data[1])?;
    outs.push(Meta { shape: *data, dtype });
    outs.push(Meta { shape: wanted, dtype });
    outs.push(Meta { shape: state, dtype });
    outs.push(Meta { shape: cells, dtype });
    Ok(())
}

fn lengths(ins: &[View<'_>], at: usize, steps: usize) -> Result<Option<Lengths>> {
    given(ins, at).map(|v| Lengths::read("sequence_length", v, 0, steps)).transpose()
}

fn forward(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    let mut net = net(a.attrs, a.ins[0].shape)?;
    if !cx.training {
        net.dropout = 0.0;
    }
    let lengths = lengths(a.ins, 4, net.steps)?;
    let results = Results { output: out[0], h: out[1], c: is_lstm(a.attrs).then(|| out[2]), reserve: out[RESERVE] };
    let cells = given(a.ins, 3);
    k::forward(cx, &net, [&a.ins[0], &a.ins[1], &a.ins[2]], cells, lengths.as_ref().map(Lengths::as_slice), &results)
}
fn backward(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    let net = net(a.attrs, a.ins[0].shape)?;
    let lengths = lengths(a.ins, 6, net.steps)?;
    let grads = Grads { data: out[0], parameters: out[1], h: out[2], c: is_lstm(a.attrs).then(|| out[3]) };
    let operands = [&a.ins[0], &a.ins[1], &a.ins[2], &a.ins[3], &a.ins[4]];
    let dc = given(a.ins, 5);
    k::backward(cx, &net, operands, dc, lengths.as_ref().map(Lengths::as_slice), &grads)
}

/// The attributes with the dropout that the forward had.
fn as_run(r: &Rule<'_>) -> Attrs {
    let mut attrs = r.attrs().clone();
    if !r.training() {
        attrs.0[P] = AttrVal::Float(0.0);
    }
    attrs
}
fn rule(r: &Rule<'_>) {
    let attrs = as_run(r);
    let cells = if is_lstm(&attrs) { r.dy_of(2) } else { V::Absent };
    let length = if attrs.bool(USE) { r.x(4) } else { V::Absent };
    let ins = [r.x(0), r.x(1), r.y(RESERVE as u8), r.dy_of(0), r.dy_of(1), cells, length];
    let grads = r.call_all(&RNN_GRAD, &ins, &attrs);
    for i in 0..3 {
        r.grad(i, || grads[i]);
    }
    if is_lstm(&attrs) {
        r.grad(3, || grads[3]);
    }
}

/// A part of an axis.
fn cut(r: &Rule<'_>, v: V, axis: usize, begin: isize, size: isize) -> V {
    let mut slice = Slice::whole(&r.shape(v));
    (slice.begin[axis], slice.size[axis]) = (begin, size);
    r.call(&SLICE, &[v], &slice.attrs())
}
/// Element `i` of the first of three axes.
fn element(r: &Rule<'_>, v: V, i: usize) -> V {
    let mut slice = Slice::whole(&r.shape(v));
    (slice.begin[0], slice.size[0], slice.axes) = (i as isize, 1, Dims::of(&[1, 2]));
    r.call(&SLICE, &[v], &slice.attrs())
}
fn stack(r: &Rule<'_>, all: &[V]) -> V {
    r.call(&STACK, all, &[AttrVal::Int(0)])
}

/// Weights and biases of one layer and direction, as views of the vector.
struct Weights {
    wx: V,
    wh: V,
    wr: Option<V>,
    bx: V,
    bh: V,
}

/// Takes the parameters apart in the order in which they stand: all weights, then all biases.
fn take_apart(r: &Rule<'_>, net: &Net, vector: V) -> Vec<Weights> {
    let gates = (net.gates() * net.hidden) as isize;
    let state = net.state() as isize;
    let mut at = 0;
    let mut next = |shape: &[isize]| {
        let shape = Dims::of(shape);
        let size = shape.iter().product::<isize>();
        at += size;
        r.reshape(cut(r, vector, 0, at - size, size), shape)
    };
    let mut all: Vec<Weights> = Vec::new();
    for layer in 0..net.layers {
        let width = if layer == 0 { net.input } else { net.output() } as isize;
        for _ in 0..net.directions {
            let (wx, wh) = (next(&[gates, width]), next(&[gates, state]));
            let wr = net.projection.map(|n| next(&[n as isize, net.hidden as isize]));
            all.push(Weights { wx, wh, wr, bx: V::Absent, bh: V::Absent });
        }
    }
    for w in &mut all {
        (w.bx, w.bh) = (next(&[gates]), next(&[gates]));
    }
    all
}

/// One step of a cell: the next state and cells.
fn advance(r: &Rule<'_>, net: &Net, w: &Weights, from_input: V, h: V, c: V) -> (V, V) {
    let from_state = r.add(r.matmul(h, r.swap_last(w.wh)), w.bh);
    let n = net.hidden as isize;
    let part = |v: V, k: isize| cut(r, v, 1, k * n, n);
    let sigmoid = |v: V| r.unary_op(&SIGMOID, v);
    let tanh = |v: V| r.unary_op(&TANH, v);
    match net.cell {
        Cell::Relu => (r.unary_op(&RELU, r.add(from_input, from_state)), c),
        Cell::Tanh => (tanh(r.add(from_input, from_state)), c),
        Cell::Lstm => {
            let g = r.add(from_input, from_state);
            let (i, f, new, o) = (sigmoid(part(g, 0)), sigmoid(part(g, 1)), tanh(part(g, 2)), sigmoid(part(g, 3)));
            let mut c = r.add(r.mul(f, c), r.mul(i, new));
            if let Some(clip) = net.clip {
                c = r.binary_op(&MINIMUM, r.binary_op(&MAXIMUM, c, clip.min), clip.max);
            }
            let h = r.mul(o, tanh(c));
            (w.wr.map_or(h, |wr| r.matmul(h, r.swap_last(wr))), c)
        }
        Cell::Gru => {
            let both = |k: isize| r.binary_op(&ADD, part(from_input, k), part(from_state, k));
            let (reset, z) = (sigmoid(both(0)), sigmoid(both(1)));
            let new = tanh(r.add(part(from_input, 2), r.mul(reset, part(from_state, 2))));
            (r.add(new, r.mul(z, r.sub(h, new))), c)
        }
    }
}

/// The same network, step by step.
fn decompose(r: &Rule<'_>, ins: &[V]) -> Vs {
    let attrs = as_run(r);
    let data = r.shape(ins[0]);
    let net = match net(&attrs, &data) {
        Ok(net) => net,
        Err(e) => {
            r.0.fail(e);
            return smallvec![];
        }
    };
    let weights = take_apart(r, &net, ins[1]);
    let lstm = net.cell == Cell::Lstm;
    // Which sequences go on at each step.
    let on: Option<Vec<V>> = attrs.bool(USE).then(|| {
        let lengths = r.reshape(ins[4], Dims::of(&[data[1], 1]));
        (0..net.steps).map(|t| r.binary_op(&GREATER, lengths, t as f64)).collect()
    });
    let (mut x, mut last_h, mut last_c) = (ins[0], Vec::new(), Vec::new());
    for layer in 0..net.layers {
        let mut sides = Vec::new();
        if layer > 0 && net.dropout > 0.0 {
            let shape = AttrVal::Ints(r.shape(x));
            let how = [AttrVal::Int(layer as i64 - 1), AttrVal::Float(net.dropout), shape];
            x = r.mul(x, r.cast(r.call(&RNN_MASK, &[r.y(RESERVE as u8)], &how), r.dtype(x)));
        }
        for direction in 0..net.directions {
            let number = layer * net.directions + direction;
            let w = &weights[number];
            let from_input = r.add(r.matmul(x, r.swap_last(w.wx)), w.bx);
            let mut h = element(r, ins[2], number);
            let mut c = if lstm { element(r, ins[3], number) } else { V::Absent };
            let mut outs = vec![V::Absent; net.steps];
            for s in 0..net.steps {
                let t = if direction == 0 { s } else { net.steps - 1 - s };
                let (new_h, new_c) = advance(r, &net, w, element(r, from_input, t), h, c);
                match on.as_ref().map(|on| on[t]) {
                    None => ((h, c), outs[t]) = ((new_h, new_c), new_h),
                    Some(on) => {
                        outs[t] = r.select(on, new_h, 0.0);
                        h = r.select(on, new_h, h);
                        c = if lstm { r.select(on, new_c, c) } else { c };
                    }
                }
            }
            last_h.push(h);
            last_c.push(c);
            sides.push(stack(r, &outs));
        }
        x = if sides.len() == 1 { sides[0] } else { r.call(&CONCAT, &sides, &[AttrVal::Int(2)]) };
    }
    let cells = if lstm { stack(r, &last_c) } else { V::Absent };
    smallvec![x, stack(r, &last_h), cells]
}

fn fill(shapes: &mut [Dims], a: &Attrs) -> Result {
    shapes[1] = Dims::of(&[parameters(&net(a, &shapes[0])?)?]);
    Ok(())
}

fn visible(a: &Attrs, _: usize) -> usize {
    1 + if a.bool(STATE_OUTPUTS) { 1 + usize::from(is_lstm(a)) } else { 0 }
}

fn products(c: &Call<'_>, factor: u64) -> u64 {
    let Ok(net) = net(c.attrs, c.ins[0].shape) else { return 0 };
    let all = |width: usize| (net.directions * net.gates() * net.hidden) as u64 * (width + net.state()) as u64;
    let weights = all(net.input).saturating_add(all(net.output()).saturating_mul(net.layers as u64 - 1));
    let steps = (net.steps as u64).saturating_mul(net.batch as u64);
    factor.saturating_mul(steps).saturating_mul(weights) / fma_per_ns(c.ins[0].dtype)
}

rows! {
    RNN = Op::new("RNN", "Recurrent layers: data (steps, batch, width); parameters in one vector, for each layer and direction the weights of input and state (and of the projection), then in the same order both biases; the gates are (input, forget, new, output) or (reset, update, new).", INPUTS, Body::Kernel(forward))
        .attrs(ATTRS).outputs(OUTPUTS).count(|_, _| OUTPUTS.len()).visible(visible).infer(infer).fill(fill)
        .cost(Cost::Of(|c, _| products(c, 1))).random().nd(&["RNN"])
        .grad(&[x(0), x(1), x(2), x(3), x(4), y(RESERVE as u8)], rule).decompose(decompose);
    RNN_GRAD = Op::new("_rnn_grad", "The gradients of a recurrent network, from what its forward kept.", GRAD_INPUTS, Body::Kernel(backward))
        .attrs(ATTRS).outputs(GRAD_OUTPUTS).infer(infer_grad).cost(Cost::Of(|c, _| products(c, 2))).internal()
        .no_grad(Grad::Missing("higher orders go through the network itself, step by step"));
    RNN_MASK = Op::new("_rnn_mask", "What dropout multiplied the outputs of a layer with.", &[input("reserve")], Body::Kernel(|cx, a, out| {
            k::mask(cx, &a.ins[0], a.attrs.int(0) as usize, a.attrs.float(1), &out[0])
        }))
        .attrs(&[
            Attr::int("layer", 0, "The layer, counted from 0.").between(0, 1024),
            Attr::float("p", 0.0, "Share of zeros.").within(0.0, 1.0),
            Attr::ints("shape", "Shape of the layer's output."),
        ])
        .infer(|c, outs| {
            let shape = c.attrs.ints(2).copied().unwrap_or(Dims::EMPTY);
            if !c.ins[0].dtype.is_float() || shape.iter().any(|d| *d < 0) {
                return Err(shape_error(format!("a reserve of {} has no mask of shape {shape}", c.ins[0].dtype)));
            }
            outs.push(Meta { shape, dtype: c.ins[0].dtype });
            Ok(())
        })
        .cost(Cost::Bytes(8.0)).internal().no_grad(Grad::Zero);
}
