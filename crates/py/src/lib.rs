//! The Python module `gluonish._core`: conversion and registration, no logic. What is called with every op is made by hand
//! from the op table (`native`); everything else is plain pyo3.
mod autograd;
mod create;
mod engine;
mod error;
mod files;
mod native;
mod table;

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    error::register(m)?;
    native::install();
    native::register(m)?;
    create::register(m)?;
    autograd::register(m)?;
    engine::register(m)?;
    files::register(m)?;
    table::register(m)
}
