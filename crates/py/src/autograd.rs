//! Recording and gradients.
use crate::error::{argument, from_py, guarded, raised_by, to_py};
use crate::native::{Arg, array_of, own};
use gluonish_base::tls::tls;
use gluonish_base::{Cause, Error, Result, Site};
use gluonish_graph::{self as graph, Backward, Custom, GradReq, Hook, NDArray};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

#[pyfunction]
fn set_recording(on: bool) -> bool {
    tls().recording.replace(on)
}
#[pyfunction]
fn is_recording() -> bool {
    tls().recording.get()
}
#[pyfunction]
fn set_training(on: bool) -> bool {
    let before = tls().training.replace(on);
    if on && !before {
        STEP.set(STEPS.fetch_add(1, Relaxed) + 1);
    }
    before
}

/// Steps of training: how often any thread has begun to train.
static STEPS: AtomicU64 = AtomicU64::new(0);
thread_local! {
    static STEP: Cell<u64> = const { Cell::new(0) };
}

/// The number of the step that this thread began last.
#[pyfunction]
fn training_step() -> u64 {
    STEP.get()
}
#[pyfunction]
fn is_training() -> bool {
    tls().training.get()
}

fn request(req: &str) -> PyResult<GradReq> {
    match req {
        "write" => Ok(GradReq::Write),
        "add" => Ok(GradReq::Add),
        "null" => Ok(GradReq::Null),
        _ => Err(argument("attach_grad", format!("grad_req='{req}' is not valid: expected 'write', 'add' or 'null'"))),
    }
}

#[pyfunction]
fn attach_grad(x: Arg<'_>, req: &str) -> PyResult<()> {
    graph::attach_grad(&x, request(req)?).map_err(to_py)
}
#[pyfunction]
fn mark_variable(x: Arg<'_>, grad: Arg<'_>, req: &str) -> PyResult<()> {
    graph::mark_variable(&x, (*grad).clone(), request(req)?).map_err(to_py)
}
#[pyfunction]
fn grad_req(x: Arg<'_>) -> &'static str {
    match graph::grad_of(&x) {
        Some((_, GradReq::Write)) => "write",
        Some((_, GradReq::Add)) => "add",
        _ => "null",
    }
}
#[pyfunction]
fn detach(py: Python<'_>, x: Arg<'_>) -> PyResult<Py<PyAny>> {
    own(py, graph::detach(&x))
}
#[pyfunction]
fn is_tracked(x: Arg<'_>) -> bool {
    x.is_tracked()
}
#[pyfunction]
fn is_leaf(x: Arg<'_>) -> bool {
    graph::is_leaf(&x)
}
#[pyfunction]
fn kept_bytes(x: Arg<'_>) -> usize {
    graph::kept_bytes(&x)
}

fn arrays(list: &[Arg<'_>]) -> Vec<NDArray> {
    list.iter().map(|a| (**a).clone()).collect()
}
fn optional(list: &[Option<Arg<'_>>]) -> Vec<Option<NDArray>> {
    list.iter().map(|a| a.as_ref().map(|a| (**a).clone())).collect()
}

#[pyfunction]
fn backward(
    heads: Vec<Arg<'_>>,
    head_grads: Vec<Option<Arg<'_>>>,
    retain_graph: bool,
    create_graph: bool,
    train_mode: bool,
    detect_anomaly: bool,
) -> PyResult<()> {
    let how = Backward { retain_graph, create_graph, train_mode, detect_anomaly };
    guarded(|| graph::backward(&arrays(&heads), &optional(&head_grads), how))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn gradients(
    py: Python<'_>,
    heads: Vec<Arg<'_>>,
    variables: Vec<Arg<'_>>,
    head_grads: Vec<Option<Arg<'_>>>,
    retain_graph: bool,
    create_graph: bool,
    train_mode: bool,
    detect_anomaly: bool,
) -> PyResult<Vec<Py<PyAny>>> {
    let how = Backward { retain_graph, create_graph, train_mode, detect_anomaly };
    let grads = guarded(|| graph::gradients(&arrays(&heads), &arrays(&variables), &optional(&head_grads), how))?;
    grads.into_iter().map(|g| own(py, g)).collect()
}

/// `autograd.Function`: the gradient is a Python callable.
struct Function {
    name: &'static str,
    /// `None` when the graph was freed: as a rule it holds outputs, which hold their graph.
    call: Mutex<Option<Py<PyAny>>>,
}

impl Custom for Function {
    fn name(&self) -> &'static str {
        self.name
    }
    fn forget(&self) {
        Python::attach(|_| {
            let call = self.callable().take();
            drop(call); // without the lock: its end may run anything
        });
    }
    fn held(&self) -> Option<NonNull<c_void>> {
        let call = self.call.try_lock().ok()?;
        NonNull::new(call.as_ref()?.as_ptr().cast())
    }
    fn backward(&self, dys: &[NDArray]) -> Result<Vec<Option<NDArray>>> {
        Python::attach(|py| {
            let call = self.callable().as_ref().map(|c| c.clone_ref(py));
            let Some(call) = call else { return Err(Cause::Gradient("its graph was freed".into()).into()) };
            let run = || -> PyResult<Vec<Option<NDArray>>> {
                let list = PyList::empty(py);
                for dy in dys {
                    list.append(own(py, dy.clone())?)?;
                }
                let out: Vec<Option<Arg<'_>>> = call.call1(py, (list,))?.bind(py).extract()?;
                Ok(optional(&out))
            };
            let before: Vec<u32> = dys.iter().map(version_of).collect();
            let made = run().map_err(|e| raised_by(format!("{}.backward", self.name), e).in_op(self.name))?;
            unwritten(dys, &before).map_err(|e| e.in_op(self.name))?;
            Ok(made)
        })
    }
}

impl Function {
    fn callable(&self) -> MutexGuard<'_, Option<Py<PyAny>>> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names of functions live as long as the process, so that errors can hold them.
pub(crate) fn intern(name: String) -> &'static str {
    use std::collections::HashSet;
    static NAMES: OnceLock<Mutex<HashSet<&'static str>>> = OnceLock::new();
    let mut names = NAMES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    match names.get(name.as_str()) {
        Some(n) => n,
        None => {
            let kept: &'static str = Box::leak(name.into_boxed_str());
            names.insert(kept);
            kept
        }
    }
}

#[pyfunction]
fn record_function(name: String, backward: Py<PyAny>, inputs: Vec<Arg<'_>>, outputs: Vec<Arg<'_>>) {
    let custom = Arc::new(Function { name: intern(name), call: Mutex::new(Some(backward)) });
    graph::record_custom(custom, &arrays(&inputs), &arrays(&outputs));
    outputs.iter().for_each(Arg::may_be_in_a_cycle);
}

/// A Python callable that looks at a gradient.
struct PythonHook(Py<PyAny>);

impl Hook for PythonHook {
    fn held(&self) -> Option<NonNull<c_void>> {
        NonNull::new(self.0.as_ptr().cast())
    }
    fn call(&self, dy: &NDArray) -> Result<Option<NDArray>> {
        Python::attach(|py| {
            let run = || -> PyResult<Option<NDArray>> {
                let out = self.0.call1(py, (own(py, dy.clone())?,))?;
                if out.is_none(py) {
                    return Ok(None);
                }
                match array_of(out.bind(py)) {
                    Some(a) => Ok(Some(a.clone())),
                    None => Err(argument("gradient hook", "a hook returns an array or None".into())),
                }
            };
            let before = version_of(dy);
            let made = run().map_err(|e| raised_by("a gradient hook".into(), e).in_op("gradient hook"))?;
            unwritten(std::slice::from_ref(dy), &[before]).map_err(|e| e.in_op("gradient hook"))?;
            Ok(made)
        })
    }
}

fn version_of(x: &NDArray) -> u32 {
    x.storage().version()
}

/// An error if gradients that were given to Python were written to: others read the same memory.
fn unwritten(dys: &[NDArray], before: &[u32]) -> Result<()> {
    if dys.iter().zip(before).all(|(dy, v)| version_of(dy) == *v) {
        return Ok(());
    }
    let text = "it wrote in place to a gradient that it was given, which others read too; write to a copy()";
    Err(Cause::Gradient(text.into()).into())
}

/// How often the memory of an array was written to.
#[pyfunction]
fn version(x: Arg<'_>) -> u32 {
    version_of(&x)
}

#[pyfunction]
fn add_hook(x: Arg<'_>, hook: Py<PyAny>) -> PyResult<u64> {
    let id = graph::add_hook(&x, Arc::new(PythonHook(hook))).map_err(to_py)?;
    x.may_be_in_a_cycle();
    Ok(id)
}
#[pyfunction]
fn remove_hook(x: Arg<'_>, id: u64) {
    graph::remove_hook(&x, id);
}

/// Queues a Python function that fills new arrays from others, on the engine's lane for callbacks.
#[pyfunction]
fn callback(
    py: Python<'_>,
    name: String,
    function: Py<PyAny>,
    inputs: Vec<Arg<'_>>,
    outputs: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
) -> PyResult<Vec<Py<PyAny>>> {
    let name = intern(name);
    let ins = arrays(&inputs);
    if tls().recording.get() && ins.iter().any(|a| a.is_tracked()) {
        let text = "no gradient flows through a callback: give it x.detach(), or write an autograd.Function".into();
        return Err(to_py(Error::new(Cause::Gradient(text)).in_op(name).at(Site::here())));
    }
    let device = ins.first().map_or_else(graph::current_device, |a| a.device());
    let mut outs = Vec::new();
    for (shape, dtype) in &outputs {
        let (Some(shape), Some(dtype)) = (crate::native::ints_of(shape), crate::native::dtype_of(dtype)) else {
            return Err(argument(name, format!("({shape}, {dtype}) is not a shape and a dtype")));
        };
        outs.push(NDArray::empty(device, dtype, &shape).map_err(to_py)?);
    }
    // The function sees the memory under storages of its own: the engine holds those that are handed out.
    let inside: Vec<NDArray> = ins.iter().chain(&outs).map(inner_view).collect();
    let split = ins.len();
    graph::call_back(name, &ins, &outs, move || {
        Python::attach(|py| {
            let run = || -> PyResult<()> {
                let (a, b) = (PyList::empty(py), PyList::empty(py));
                for (i, x) in inside.iter().enumerate() {
                    if i < split { &a } else { &b }.append(own(py, x.clone())?)?;
                }
                function.call1(py, (a, b)).map(|_| ())
            };
            let result = run().map_err(|e| {
                // The error stays with the outputs: it must not hold the arrays that the function's frames hold.
                if let (Some(trace), Ok(module)) = (e.traceback(py), py.import("traceback")) {
                    let _ = module.call_method1("clear_frames", (trace,));
                }
                from_py(py, e).in_op(name)
            });
            for x in &inside {
                graph::wait(x)?;
            }
            result
        })
    })
    .map_err(to_py)?;
    outs.into_iter().map(|o| own(py, o)).collect()
}

/// The sum of what several devices bring under one name; each gets it.
#[pyfunction]
fn sum_over_devices(py: Python<'_>, x: Arg<'_>, key: &str, devices: usize, step: u64) -> PyResult<Py<PyAny>> {
    own(py, graph::sum_over_devices(key, devices, step, &x).map_err(to_py)?)
}

/// The same memory under a storage of its own, for code that runs while the engine holds the array.
fn inner_view(a: &NDArray) -> NDArray {
    let bytes = a.storage().bytes();
    NDArray::over(gluonish_engine::Var::carve(a.storage(), 0, bytes), a.dtype(), a.shape(), a.strides(), a.offset())
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(sum_over_devices, m)?)?;
    m.add_function(wrap_pyfunction!(version, m)?)?;
    m.add_function(wrap_pyfunction!(training_step, m)?)?;
    m.add_function(wrap_pyfunction!(set_recording, m)?)?;
    m.add_function(wrap_pyfunction!(is_recording, m)?)?;
    m.add_function(wrap_pyfunction!(set_training, m)?)?;
    m.add_function(wrap_pyfunction!(is_training, m)?)?;
    m.add_function(wrap_pyfunction!(attach_grad, m)?)?;
    m.add_function(wrap_pyfunction!(mark_variable, m)?)?;
    m.add_function(wrap_pyfunction!(grad_req, m)?)?;
    m.add_function(wrap_pyfunction!(detach, m)?)?;
    m.add_function(wrap_pyfunction!(is_tracked, m)?)?;
    m.add_function(wrap_pyfunction!(is_leaf, m)?)?;
    m.add_function(wrap_pyfunction!(kept_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(backward, m)?)?;
    m.add_function(wrap_pyfunction!(gradients, m)?)?;
    m.add_function(wrap_pyfunction!(record_function, m)?)?;
    m.add_function(wrap_pyfunction!(add_hook, m)?)?;
    m.add_function(wrap_pyfunction!(remove_hook, m)?)?;
    m.add_function(wrap_pyfunction!(callback, m)?)
}
