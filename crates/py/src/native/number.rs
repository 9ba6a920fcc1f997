//! Arithmetic and comparison slots: one generic function per arity, one row of the op table per slot.
use super::callable::outputs;
use super::object::{edge, get, wrap};
use super::operand::Operand;
use crate::error::to_py;
use gluonish_graph::{In, invoke, invoke_binary, invoke_into, invoke_number, invoke_reflected, invoke_unary};
use gluonish_kernels::Attrs;
use gluonish_ops::Op;
use pyo3::ffi::*;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// Operators in the order of the table of slots.
pub(super) const OPERATORS: [&str; 16] = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lt", "le", "eq", "ne", "gt", "ge", "neg",
    "abs",
];
const LT: usize = 8;

static BY_OPERATOR: OnceLock<[&'static Op; 16]> = OnceLock::new();

/// Finds the rows of the operators.
pub(super) fn prepare() -> PyResult<()> {
    let mut rows = Vec::new();
    for name in OPERATORS {
        let row = gluonish_ops::table().find(|op| op.faces.operator == name);
        rows.push(
            row.ok_or_else(|| pyo3::exceptions::PySystemError::new_err(format!("no row serves the operator {name}")))?,
        );
    }
    if let Ok(all) = rows.try_into() {
        let _ = BY_OPERATOR.set(all);
    }
    Ok(())
}

#[inline(always)]
fn row(k: usize) -> &'static Op {
    match BY_OPERATOR.get() {
        Some(rows) => rows[k],
        None => unreachable!("set before the type exists"),
    }
}

unsafe fn not_implemented() -> *mut PyObject {
    // SAFETY: an immortal or counted singleton of an attached thread.
    unsafe {
        Py_INCREF(Py_NotImplemented());
        Py_NotImplemented()
    }
}

#[inline(never)]
unsafe fn apply(op: &'static Op, a: *mut PyObject, b: *mut PyObject) -> *mut PyObject {
    // SAFETY: slots are called with live objects and the thread attached.
    edge(|| unsafe {
        let out = match (get(a), get(b)) {
            (Some(x), Some(y)) => invoke_binary(op, x, y),
            (Some(x), None) if PyFloat_Check(b) != 0 => invoke_number(op, x, PyFloat_AsDouble(b)),
            (None, Some(y)) if PyFloat_Check(a) != 0 => invoke_reflected(op, PyFloat_AsDouble(a), y),
            _ => return apply_others(op, a, b),
        };
        Ok(wrap(out.map_err(to_py)?))
    })
}

/// An array with an integer, or with what other libraries have.
unsafe fn apply_others(op: &'static Op, a: *mut PyObject, b: *mut PyObject) -> PyResult<*mut PyObject> {
    // SAFETY: as in `apply`.
    unsafe {
        let (Some(x), Some(y)) = (Operand::new(a)?, Operand::new(b)?) else { return Ok(not_implemented()) };
        let outs = invoke(op, &[x.as_in(), y.as_in()], &Attrs::new()).map_err(to_py)?;
        outputs(outs)
    }
}

pub(super) unsafe extern "C" fn binary<const K: usize>(a: *mut PyObject, b: *mut PyObject) -> *mut PyObject {
    // SAFETY: passed on from the interpreter.
    unsafe { apply(row(K), a, b) }
}

pub(super) unsafe extern "C" fn power(a: *mut PyObject, b: *mut PyObject, modulus: *mut PyObject) -> *mut PyObject {
    // SAFETY: passed on from the interpreter.
    unsafe { if modulus == Py_None() { apply(row(6), a, b) } else { not_implemented() } }
}

/// `a op= b`: writes into `a` itself.
#[inline(always)]
unsafe fn apply_in_place(op: &'static Op, a: *mut PyObject, b: *mut PyObject) -> *mut PyObject {
    // SAFETY: slots are called with live objects and the thread attached.
    edge(|| unsafe {
        let (Some(dst), Some(y)) = (get(a), Operand::new(b)?) else { return Ok(not_implemented()) };
        invoke_into(op, &[In::Array(dst), y.as_in()], &Attrs::new(), dst).map_err(to_py)?;
        Py_INCREF(a);
        Ok(a)
    })
}

pub(super) unsafe extern "C" fn in_place<const K: usize>(a: *mut PyObject, b: *mut PyObject) -> *mut PyObject {
    // SAFETY: passed on from the interpreter.
    unsafe { apply_in_place(row(K), a, b) }
}

pub(super) unsafe extern "C" fn in_place_power(
    a: *mut PyObject,
    b: *mut PyObject,
    modulus: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: passed on from the interpreter.
    unsafe { if modulus == Py_None() { apply_in_place(row(6), a, b) } else { not_implemented() } }
}

pub(super) unsafe extern "C" fn unary<const K: usize>(a: *mut PyObject) -> *mut PyObject {
    // SAFETY: slots are called with live objects and the thread attached.
    edge(|| unsafe {
        let Some(x) = get(a) else { return Ok(not_implemented()) };
        Ok(wrap(invoke_unary(row(K), x).map_err(to_py)?))
    })
}

pub(super) unsafe extern "C" fn positive(a: *mut PyObject) -> *mut PyObject {
    // SAFETY: `a` is live.
    unsafe { Py_INCREF(a) };
    a
}

pub(super) unsafe extern "C" fn compare(a: *mut PyObject, b: *mut PyObject, how: c_int) -> *mut PyObject {
    // Python's numbers of comparisons are 0..6 in the order <, <=, ==, !=, >, >=.
    // SAFETY: passed on from the interpreter.
    unsafe { apply(row(LT + how as usize), a, b) }
}

/// The slots of the type.
pub(super) fn slots() -> Vec<(c_int, *mut c_void)> {
    vec![
        (Py_nb_add, binary::<0> as *mut c_void),
        (Py_nb_subtract, binary::<1> as *mut c_void),
        (Py_nb_multiply, binary::<2> as *mut c_void),
        (Py_nb_true_divide, binary::<3> as *mut c_void),
        (Py_nb_floor_divide, binary::<4> as *mut c_void),
        (Py_nb_remainder, binary::<5> as *mut c_void),
        (Py_nb_power, power as *mut c_void),
        (Py_nb_matrix_multiply, binary::<7> as *mut c_void),
        (Py_nb_inplace_add, in_place::<0> as *mut c_void),
        (Py_nb_inplace_subtract, in_place::<1> as *mut c_void),
        (Py_nb_inplace_multiply, in_place::<2> as *mut c_void),
        (Py_nb_inplace_true_divide, in_place::<3> as *mut c_void),
        (Py_nb_inplace_floor_divide, in_place::<4> as *mut c_void),
        (Py_nb_inplace_remainder, in_place::<5> as *mut c_void),
        (Py_nb_inplace_power, in_place_power as *mut c_void),
        (Py_nb_negative, unary::<14> as *mut c_void),
        (Py_nb_absolute, unary::<15> as *mut c_void),
        (Py_nb_positive, positive as *mut c_void),
        (Py_tp_richcompare, compare as *mut c_void),
    ]
}
