//! Waiting, devices, random seeds, settings, memory and the profiler.
use crate::error::{argument, to_py};
use crate::native::Arg;
use crate::native::site::intern_block;
use gluonish_base::settings::{TABLE, settings as values};
use gluonish_base::tls::tls;
use gluonish_base::{Cause, isa, pool, profiler};
use gluonish_engine::{Device, engine, memory};
use gluonish_graph as graph;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::Cell;
use std::time::{Duration, Instant};

#[pyfunction]
fn wait(x: Arg<'_>) -> PyResult<()> {
    graph::wait(&x).map_err(to_py)
}
#[pyfunction]
fn wait_all() -> PyResult<()> {
    graph::block(|poll| engine().wait_all(poll)).map_err(to_py)
}

/// Raises the error because of which an update was left out, unless it was raised already.
#[pyfunction]
fn raise_left_out() -> PyResult<()> {
    engine().take_left_out().map_or(Ok(()), |e| {
        engine().raised(&e);
        Err(to_py(e))
    })
}

/// How long a fork waits for callbacks.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lets callbacks finish, which need the interpreter; errors stay to be raised. For the moment before a fork: then nobody
/// can push any more, and the engine waits for the rest by itself.
#[pyfunction]
fn drain() -> PyResult<()> {
    let end = Instant::now() + PATIENCE;
    let enough = || engine().stats().callbacks == 0 || Instant::now() >= end;
    if enough() {
        return Ok(());
    }
    // Ctrl-C ends the wait as well, and that error is told.
    let given_up = Cell::new(false);
    graph::block(|poll| {
        let until = || {
            given_up.set(enough());
            if given_up.get() { Err(Cause::Interrupted.into()) } else { poll() }
        };
        engine().drain(&until).or_else(|e| if given_up.get() { Ok(()) } else { Err(e) })
    })
    .map_err(to_py)
}
fn finish_all() -> PyResult<()> {
    graph::block(|poll| engine().drain(poll)).map_err(to_py)
}

fn place(index: u32) -> PyResult<Device> {
    Device::from_index(index).ok_or_else(|| argument("device", format!("there is no device number {index}")))
}

#[pyfunction]
#[pyo3(signature = (seed, device=None))]
fn seed(seed: u64, device: Option<u32>) -> PyResult<()> {
    graph::seed(seed, device.map(place).transpose()?);
    Ok(())
}
#[pyfunction]
fn current_device() -> u32 {
    tls().device.get()
}
#[pyfunction]
fn set_current_device(device: u32) -> PyResult<u32> {
    place(device)?;
    Ok(tls().device.replace(device))
}
#[pyfunction]
fn device_name(device: u32) -> PyResult<String> {
    Ok(place(device)?.name())
}

#[pyfunction]
fn set_naive(on: bool) -> PyResult<bool> {
    // What is queued finishes first, errors stay with their arrays.
    let old = engine().is_naive();
    if old != on {
        finish_all()?;
        engine().set_naive(on);
    }
    Ok(old)
}
#[pyfunction]
fn is_naive() -> bool {
    engine().is_naive()
}
#[pyfunction]
#[pyo3(signature = (limit_ns=None))]
fn set_inline(limit_ns: Option<u64>) -> u64 {
    graph::set_inline(limit_ns)
}
#[pyfunction]
fn set_num_threads(n: usize) -> PyResult<usize> {
    if !(1..=1024).contains(&n) {
        return Err(argument("set_num_threads", format!("{n} is not a number of threads: expected 1 to 1024")));
    }
    Ok(pool::set_threads(n))
}
#[pyfunction]
fn num_threads() -> usize {
    pool::threads()
}
#[pyfunction]
fn set_inflight_bytes(bytes: usize) -> usize {
    engine().set_in_flight_limit(bytes)
}
#[pyfunction]
fn engine_stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let s = engine().stats();
    let d = PyDict::new(py);
    d.set_item("pushed", s.pushed)?;
    d.set_item("pending", s.pending)?;
    d.set_item("in_flight", s.in_flight)?;
    d.set_item("in_flight_peak", s.in_flight_peak)?;
    d.set_item("threads", s.threads)?;
    Ok(d)
}
#[pyfunction]
fn memory_stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let s = memory::stats();
    let d = PyDict::new(py);
    d.set_item("held", s.held)?;
    d.set_item("peak", s.peak)?;
    d.set_item("pooled", s.pooled)?;
    d.set_item("limit", s.limit)?;
    Ok(d)
}
#[pyfunction]
fn memory_release() -> usize {
    memory::release()
}
#[pyfunction]
fn memory_reset_peak() {
    memory::reset_peak();
}
#[pyfunction]
fn set_memory_limit(bytes: usize) -> usize {
    memory::set_limit(Device::cpu(0), bytes)
}

#[pyfunction(name = "isa")]
fn isa_name() -> &'static str {
    name_of(isa::isa())
}
fn name_of(i: isa::Isa) -> &'static str {
    match i {
        isa::Isa::Portable => "portable",
        isa::Isa::Neon => "neon",
        isa::Isa::Avx2 => "avx2",
        isa::Isa::Avx512 => "avx512",
    }
}
#[pyfunction]
fn limit_isa(name: &str) -> PyResult<&'static str> {
    let to = match name {
        "portable" => isa::Isa::Portable,
        "neon" => isa::Isa::Neon,
        "avx2" => isa::Isa::Avx2,
        "avx512" => isa::Isa::Avx512,
        _ => {
            return Err(argument(
                "limit_isa",
                format!("'{name}' is not valid: expected portable, neon, avx2 or avx512"),
            ));
        }
    };
    Ok(name_of(isa::limit(to)))
}

#[pyfunction]
fn profiler_enable(on: bool) -> bool {
    profiler::enable(on)
}
fn device_label(d: u32) -> String {
    Device::from_index(d).map_or_else(|| format!("device {d}"), Device::name)
}
#[pyfunction]
fn profiler_trace(clear: bool) -> String {
    profiler::chrome_trace(&profiler::take(clear).0, device_label)
}
#[pyfunction]
fn profiler_events(py: Python<'_>, clear: bool) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let (events, _) = profiler::take(clear);
    events
        .into_iter()
        .map(|e| {
            let d = PyDict::new(py);
            d.set_item("op", e.op)?;
            d.set_item("device", device_label(e.device))?;
            d.set_item("thread", e.thread)?;
            d.set_item("queued", e.queued)?;
            d.set_item("start", e.start)?;
            d.set_item("end", e.end)?;
            d.set_item("bytes", e.bytes)?;
            Ok(d)
        })
        .collect()
}

/// The table of environment variables, with what this process read.
#[pyfunction]
fn settings(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    TABLE
        .iter()
        .zip(&values().texts)
        .map(|(s, text)| {
            let d = PyDict::new(py);
            d.set_item("name", s.name)?;
            d.set_item("default", s.default)?;
            d.set_item("doc", s.doc)?;
            d.set_item("value", text)?;
            Ok(d)
        })
        .collect()
}
#[pyfunction]
fn setting_problems() -> Vec<String> {
    values().problems.clone()
}

/// Where the package's own files are: errors name the line that called them.
#[pyfunction]
fn set_package_directory(path: String) {
    crate::native::site::set_package(path);
}

#[pyfunction]
fn block_enter(path: &str) -> u32 {
    tls().block.replace(intern_block(path))
}
#[pyfunction]
fn block_exit(previous: u32) {
    tls().block.set(previous);
}

/// For the end of the interpreter: callbacks are dropped, the rest gets a while to finish.
#[pyfunction]
fn shutdown(py: Python<'_>) -> bool {
    crate::native::detached(py, || gluonish_graph::shutdown(Duration::from_secs(10)))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(wait, m)?)?;
    m.add_function(wrap_pyfunction!(wait_all, m)?)?;
    m.add_function(wrap_pyfunction!(raise_left_out, m)?)?;
    m.add_function(wrap_pyfunction!(drain, m)?)?;
    m.add_function(wrap_pyfunction!(seed, m)?)?;
    m.add_function(wrap_pyfunction!(current_device, m)?)?;
    m.add_function(wrap_pyfunction!(set_current_device, m)?)?;
    m.add_function(wrap_pyfunction!(device_name, m)?)?;
    m.add_function(wrap_pyfunction!(set_naive, m)?)?;
    m.add_function(wrap_pyfunction!(is_naive, m)?)?;
    m.add_function(wrap_pyfunction!(set_inline, m)?)?;
    m.add_function(wrap_pyfunction!(set_num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(set_inflight_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(engine_stats, m)?)?;
    m.add_function(wrap_pyfunction!(memory_stats, m)?)?;
    m.add_function(wrap_pyfunction!(memory_release, m)?)?;
    m.add_function(wrap_pyfunction!(memory_reset_peak, m)?)?;
    m.add_function(wrap_pyfunction!(set_memory_limit, m)?)?;
    m.add_function(wrap_pyfunction!(isa_name, m)?)?;
    m.add_function(wrap_pyfunction!(limit_isa, m)?)?;
    m.add_function(wrap_pyfunction!(profiler_enable, m)?)?;
    m.add_function(wrap_pyfunction!(profiler_trace, m)?)?;
    m.add_function(wrap_pyfunction!(profiler_events, m)?)?;
    m.add_function(wrap_pyfunction!(settings, m)?)?;
    m.add_function(wrap_pyfunction!(setting_problems, m)?)?;
    m.add_function(wrap_pyfunction!(set_package_directory, m)?)?;
    m.add_function(wrap_pyfunction!(block_enter, m)?)?;
    m.add_function(wrap_pyfunction!(block_exit, m)?)?;
    m.add_function(wrap_pyfunction!(shutdown, m)?)
}
