//! The op table as Python sees it: callables, documentation, and rows as plain data.
use crate::error::{argument, guarded, to_py};
use crate::native::{Arg, Face, Operand, attrs_from_dict, ints_of, make, own};
use gluonish_base::{Cause, DType, Error};
use gluonish_engine::Device;
use gluonish_graph::{In, NDArray, invoke as invoke_op, invoke_into, invoke_into_all, invoke_on};
use gluonish_kernels::map::Class;
use gluonish_kernels::{AttrVal, conv};
use gluonish_ops::def::Saved;
use gluonish_ops::{Attr, Body, Grad, InputKind, Op, find, table};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;

fn default_of(a: &Attr, face: Face) -> Option<String> {
    let np = (face == Face::Np).then_some(a.np_default).flatten();
    if np.is_none() && a.is_required() { None } else { Some(a.show(&np.unwrap_or(a.default))) }
}

fn attrs_of(op: &'static Op, face: Face) -> impl Iterator<Item = (&'static str, &'static Attr)> {
    let np = face == Face::Np;
    op.attrs
        .iter()
        .filter(move |a| if np { a.np } else { a.nd })
        .map(move |a| (if np && !a.np_name.is_empty() { a.np_name } else { a.name }, a))
}

/// As Python writes it: `(data, axis=None, keepdims=False, out=None)`.
pub(crate) fn signature(op: &'static Op, face: Face) -> String {
    let named = |i: usize| op.input_name(face == Face::Np, i);
    let mut parts: Vec<String> = op
        .inputs
        .iter()
        .enumerate()
        .map(|(i, x)| match x.kind {
            InputKind::Variadic => format!("*{}", named(i)),
            InputKind::Optional => format!("{}=None", named(i)),
            _ => named(i).to_string(),
        })
        .collect();
    parts.extend(attrs_of(op, face).map(|(name, a)| match default_of(a, face) {
        _ if a.spread && face == Face::Method => format!("*{name}"),
        Some(d) => format!("{name}={d}"),
        None => name.to_string(),
    }));
    parts.push("out=None".into());
    // What must be given cannot follow what may be left out, but by name.
    let first = parts.iter().position(|p| p.contains('=')).unwrap_or(0);
    let starred = parts.iter().any(|p| p.starts_with('*'));
    if let Some(i) = parts[first..].iter().position(|p| !p.contains('=')).filter(|_| !starred) {
        parts.insert(first + i, "*".into());
    }
    format!("({})", parts.join(", "))
}

/// The documentation of a callable.
pub(crate) fn docstring(op: &'static Op, face: Face, name: &str) -> String {
    let mut text = format!("{name}{}\n\n{}\n", signature(op, face), op.doc);
    if op.attrs.is_empty() {
        return text;
    }
    text.push_str("\nAttributes\n----------\n");
    for (name, a) in attrs_of(op, face) {
        let default = default_of(a, face).map_or(", required".to_string(), |d| format!(", default {d}"));
        text.push_str(&format!("{name} : {}{default}\n    {}\n", a.kind.describe(), a.doc));
    }
    text
}

/// Callables by face and name.
#[pyfunction]
fn faces(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let (nd, np, methods) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
    for op in table() {
        for (dict, names, face) in
            [(&nd, op.faces.nd, Face::Nd), (&np, op.faces.np, Face::Np), (&methods, op.faces.methods, Face::Method)]
        {
            for name in names {
                let plain = name.rsplit('.').next().unwrap_or(name);
                dict.set_item(name, make(py, op, face, plain)?)?;
            }
        }
    }
    let all = PyDict::new(py);
    all.set_item("nd", nd)?;
    all.set_item("np", np)?;
    all.set_item("methods", methods)?;
    Ok(all)
}

/// An attribute's value as a Python object.
fn value(py: Python<'_>, a: &Attr, v: &AttrVal) -> PyResult<Py<PyAny>> {
    Ok(match v {
        AttrVal::None => py.None(),
        AttrVal::Bool(b) => b.into_pyobject(py)?.to_owned().into_any().unbind(),
        AttrVal::Int(i) => i.into_pyobject(py)?.into_any().unbind(),
        AttrVal::Float(f) => f.into_pyobject(py)?.into_any().unbind(),
        AttrVal::Ints(d) => PyTuple::new(py, d.iter())?.into_any().unbind(),
        AttrVal::DType(_) | AttrVal::Choice(_) => a.show(v).trim_matches('\'').into_pyobject(py)?.into_any().unbind(),
    })
}

fn attr_row<'py>(py: Python<'py>, a: &'static Attr) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("name", a.name)?;
    d.set_item("kind", a.kind.annotation())?;
    d.set_item("expected", a.kind.describe())?;
    d.set_item("doc", a.doc)?;
    d.set_item("nd", a.nd)?;
    d.set_item("np", a.np)?;
    d.set_item("spread", a.spread)?;
    if !a.is_required() {
        d.set_item("default", value(py, a, &a.default)?)?;
    }
    if !a.np_name.is_empty() {
        d.set_item("np_name", a.np_name)?;
    }
    if let Some(v) = &a.np_default {
        d.set_item("np_default", value(py, a, v)?)?;
    }
    Ok(d)
}

fn op_row<'py>(py: Python<'py>, op: &'static Op) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("name", op.name)?;
    d.set_item("doc", op.doc)?;
    let inputs = PyList::empty(py);
    for (i, x) in op.inputs.iter().enumerate() {
        let row = PyDict::new(py);
        row.set_item("name", x.name)?;
        row.set_item("np_name", op.input_name(true, i))?;
        row.set_item("kind", format!("{:?}", x.kind).to_lowercase())?;
        inputs.append(row)?;
    }
    d.set_item("inputs", inputs)?;
    let attrs: PyResult<Vec<_>> = op.attrs.iter().map(|a| attr_row(py, a)).collect();
    d.set_item("attrs", attrs?)?;
    let outputs = PyList::empty(py);
    for o in op.outputs {
        let row = PyDict::new(py);
        row.set_item("name", o.name)?;
        row.set_item("hidden", o.hidden)?;
        outputs.append(row)?;
    }
    d.set_item("outputs", outputs)?;
    let faces = PyDict::new(py);
    faces.set_item("nd", op.faces.nd)?;
    faces.set_item("np", op.faces.np)?;
    faces.set_item("methods", op.faces.methods)?;
    d.set_item("faces", faces)?;
    d.set_item("operator", op.faces.operator)?;
    d.set_item("onnx", op.onnx)?;
    d.set_item("varies", op.count.is_some())?;
    d.set_item("internal", op.flags.internal)?;
    d.set_item("random", op.flags.random)?;
    d.set_item("changes", op.overlays.is_some())?;
    d.set_item("creates", op.flags.creates)?;
    d.set_item("in_place", op.flags.in_place)?;
    d.set_item("view", op.is_view())?;
    d.set_item("elementwise", matches!(op.body, Body::Map(_)))?;
    d.set_item("composed", matches!(op.body, Body::Compose(_)))?;
    let grad = match (op.grad, &op.body) {
        (Grad::Zero, _) => "zero",
        (_, Body::Compose(_)) | (Grad::Rule(_), _) => "rule",
        (Grad::Missing(_), _) => "missing",
    };
    d.set_item("grad", grad)?;
    let saves: Vec<String> = op
        .saves
        .iter()
        .map(|s| match s.what {
            Saved::X(i) => format!("x{i}"),
            Saved::Y(i) => format!("y{i}"),
        })
        .collect();
    d.set_item("saves", saves)?;
    Ok(d)
}

/// All rows as dictionaries.
#[pyfunction]
fn op_table(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    table().map(|op| op_row(py, op)).collect()
}

fn row(name: &str) -> PyResult<&'static Op> {
    find(name)
        .ok_or_else(|| to_py(Error::new(Cause::Argument(format!("there is no op named '{name}'"))).in_op("invoke")))
}

fn output<'py>(op: &'static Op, o: &Bound<'py, PyAny>) -> PyResult<Arg<'py>> {
    let kind = o.get_type().name()?;
    o.extract().map_err(|_| argument(op.name, format!("'out' must be an array, got {kind}")))
}

/// Runs a row by its own name, internal ones too.
#[pyfunction]
#[pyo3(signature = (name, inputs, attrs, out=None, device=None))]
fn invoke(
    py: Python<'_>,
    name: &str,
    inputs: Vec<Bound<'_, PyAny>>,
    attrs: &Bound<'_, PyDict>,
    out: Option<Bound<'_, PyAny>>,
    device: Option<u32>,
) -> PyResult<Py<PyAny>> {
    let op = row(name)?;
    let attrs = attrs_from_dict(op, attrs)?;
    let fixed = op.inputs.len();
    let required = op.inputs.iter().filter(|i| !matches!(i.kind, InputKind::Optional | InputKind::Variadic)).count();
    if inputs.len() < required || (inputs.len() > fixed && !op.is_variadic()) {
        return Err(argument(op.name, format!("{fixed} inputs are taken, got {}", inputs.len())));
    }
    let mut operands: SmallVec<[Operand<'_>; 4]> = SmallVec::new();
    for (i, o) in inputs.iter().enumerate() {
        let optional = op.inputs.get(i).is_some_and(|x| x.kind == InputKind::Optional);
        match Operand::of(o)? {
            Some(x) => operands.push(x),
            None if o.is_none() && optional => operands.push(Operand::In(In::Absent)),
            None => {
                return Err(argument(
                    op.name,
                    format!("an input must be an array or a number, got {}", o.get_type().name()?),
                ));
            }
        }
    }
    let ins: SmallVec<[In<'_>; 4]> = operands.iter().map(Operand::as_in).collect();
    if let Some(out) = out {
        if out.is_instance_of::<PyList>() || out.is_instance_of::<PyTuple>() {
            let arrays = out.try_iter()?.map(|o| output(op, &o?)).collect::<PyResult<Vec<_>>>()?;
            let to: SmallVec<[&NDArray; 4]> = arrays.iter().map(|a| &**a).collect();
            guarded(|| invoke_into_all(op, &ins, &attrs, &to))?;
        } else {
            let to = output(op, &out)?;
            guarded(|| invoke_into(op, &ins, &attrs, &to))?;
        }
        return Ok(out.unbind());
    }
    let mut outs = guarded(|| match device.and_then(Device::from_index) {
        Some(d) => invoke_on(op, &ins, &attrs, d),
        None => invoke_op(op, &ins, &attrs),
    })?;
    if outs.len() == 1 {
        return own(py, outs.remove(0));
    }
    let list = PyList::empty(py);
    for o in outs {
        list.append(own(py, o)?)?;
    }
    Ok(list.into_any().unbind())
}

/// CUDA C of an elementwise row for one element type.
#[pyfunction]
fn cuda_text(op: &str, dtype: &str) -> PyResult<String> {
    let op = row(op)?;
    let Some(dtype) = DType::parse(dtype) else { return Err(argument(op.name, format!("'{dtype}' is not a dtype"))) };
    let Body::Map(map) = &op.body else { return Err(argument(op.name, "it is not elementwise".into())) };
    let class = Class::of(dtype);
    if !map.has(class) {
        return Err(to_py(Error::new(Cause::DType(format!("it is not defined for {dtype}"))).in_op(op.name)));
    }
    let out = if map.is_truth() { DType::Bool } else { dtype };
    // CUDA has functions of its own by the names of most rows.
    map.cuda(&format!("gluonish_{}", op.name.trim_start_matches('_')), class, &vec![dtype; map.arity()], out)
        .map_err(to_py)
}

/// Channels in a block of images, for convolutions that stay blocked.
#[pyfunction]
fn conv_lanes() -> usize {
    conv::lanes::<f32>()
}

/// Sizes for `conv_choice`, each what an axis can have; `otherwise` where none are given.
fn sizes<const N: usize>(name: &str, o: Option<&Bound<'_, PyAny>>, otherwise: [usize; N]) -> PyResult<[usize; N]> {
    let Some(o) = o else { return Ok(otherwise) };
    let given = ints_of(o).filter(|d| d.len() == N && d.checked_size().is_some());
    let Some(given) = given else {
        let (many, most) = (if N == 1 { "a size".into() } else { format!("{N} sizes") }, isize::MAX / 8);
        let text = format!(
            "{name}={} is not valid: expected {many} of at least 0, whose product is at most {most}",
            o.repr()?
        );
        return Err(argument("conv_choice", text));
    };
    let mut all = otherwise;
    all.iter_mut().zip(given.iter()).for_each(|(to, v)| *to = *v as usize);
    Ok(all)
}

/// The algorithm of a convolution of float32 images: `pass_` is `result`, `images` or `filters`, shapes have four axes.
#[pyfunction]
#[pyo3(
    signature = (images, filters, stride=None, dilate=None, pad=None, groups=None, pass_="result", blocked=false),
    text_signature = "(images, filters, stride=(1, 1), dilate=(1, 1), pad=(0, 0), groups=1, pass_='result', blocked=False)"
)]
#[allow(clippy::too_many_arguments)] // one for each part of the shape, by name
fn conv_choice(
    images: &Bound<'_, PyAny>,
    filters: &Bound<'_, PyAny>,
    stride: Option<&Bound<'_, PyAny>>,
    dilate: Option<&Bound<'_, PyAny>>,
    pad: Option<&Bound<'_, PyAny>>,
    groups: Option<&Bound<'_, PyAny>>,
    pass_: &str,
    blocked: bool,
) -> PyResult<&'static str> {
    let (images, filters) = (sizes("images", Some(images), [0; 4])?, sizes("filters", Some(filters), [0; 4])?);
    let (stride, dilate) = (sizes("stride", stride, [1, 1])?, sizes("dilate", dilate, [1, 1])?);
    let (pad, [groups]) = (sizes("pad", pad, [0, 0])?, sizes("groups", groups, [1])?);
    let pass = match pass_ {
        "result" => conv::Pass::Result,
        "images" => conv::Pass::Images,
        "filters" => conv::Pass::Filters,
        _ => return Err(argument("conv_choice", format!("pass_='{pass_}' must be result, images or filters"))),
    };
    let wrong = |text: String| Err(argument("conv_choice", text));
    if stride.contains(&0) || dilate.contains(&0) || groups == 0 {
        return wrong(format!("stride={stride:?}, dilate={dilate:?} and groups={groups} must be 1 or more"));
    }
    if filters[1].checked_mul(groups) != Some(images[1]) || !filters[0].is_multiple_of(groups) {
        return wrong(format!("filters {filters:?} do not fit images {images:?} in groups={groups}"));
    }
    let how = conv::How {
        stride: [1, stride[0], stride[1]],
        dilate: [1, dilate[0], dilate[1]],
        pad: [0, pad[0], pad[1]],
        groups,
        channels_last: false,
    };
    let shape = conv::Shape {
        count: images[0],
        inputs: images[1],
        outputs: filters[0],
        size: [1, images[2], images[3]],
        kernel: [1, filters[2], filters[3]],
        how,
        lanes: conv_lanes(),
    };
    if (1..3).any(|i| how.out(i, shape.size[i], shape.kernel[i]).is_none()) {
        return wrong(format!("filters {filters:?} are larger than images {images:?} with pad={pad:?}"));
    }
    let choose = if blocked { conv::choose_blocked } else { conv::choose };
    Ok(choose(&shape, pass, conv::wanted()).name())
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add_function(wrap_pyfunction!(faces, m)?)?;
    m.add_function(wrap_pyfunction!(op_table, m)?)?;
    m.add_function(wrap_pyfunction!(invoke, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_text, m)?)?;
    m.add_function(wrap_pyfunction!(conv_lanes, m)?)?;
    m.add_function(wrap_pyfunction!(conv_choice, m)?)?;
    let array = m.getattr("NDArray")?;
    for op in table() {
        for name in op.faces.methods {
            array.setattr(*name, make(py, op, Face::Method, name)?)?;
        }
    }
    Ok(())
}
