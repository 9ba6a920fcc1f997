//! What runs with every op: the array type, the callables and the conversion of arguments, by hand-made slots.
mod arguments;
mod array;
mod attribute;
mod callable;
mod number;
mod object;
mod operand;
mod properties;
mod subscript;

pub(crate) use object::{Arg, get, own};
pub(crate) use operand::Operand;
pub(crate) use attribute::{dtype_of, ints_of};
pub(crate) use callable::{Face, make};
pub(crate) use properties::dtype_object;
pub(crate) use arguments::attrs_from_dict;

use pyo3::prelude::*;

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    properties::prepare(m.py())?;
    m.add("NDArray", array::make_type(m.py())?)
}
