//! What runs with every op: the array type, the callables and the conversion of arguments, by hand-made slots.
mod arguments;
mod array;
mod attribute;
mod block;
mod buffer;
mod callable;
pub(crate) mod convert;
pub(crate) mod dlpack;
mod number;
mod object;
mod operand;
mod properties;
mod shapes;
pub(crate) mod site;
mod subscript;

pub(crate) use arguments::attrs_from_dict;
pub(crate) use attribute::{dtype_of, ints_of, not_ints};
pub(crate) use block::detached;
pub(crate) use buffer::Memory;
pub(crate) use callable::{Face, make};
pub(crate) use object::{Arg, array_of, own};
pub(crate) use operand::Operand;
pub(crate) use properties::dtype_object;

use pyo3::prelude::*;

/// What the core asks of its host: where the program is, and how to wait.
pub(crate) fn install() {
    site::install();
    block::install();
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    properties::prepare(m.py())?;
    m.add("NDArray", array::make_type(m.py())?)
}
