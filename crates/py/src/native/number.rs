//! Arithmetic and comparison slots: one generic function per arity, one row of the op table per slot.
use super::callable::outputs;
use super::object::{edge, get, wrap};
use super::operand::Operand;
use crate::error::to_py;
use gluonish_base::{DType, Scalar};
use gluonish_graph::{In, invoke, invoke_binary, invoke_into, invoke_number, invoke_reflected, invoke_unary};
use gluonish_kernels::Attrs;
use gluonish_ops::{Body, Op, rows};
use pyo3::ffi::*;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// Operators in the order of the table of slots.
pub(super) const OPERATORS: [&str; 21] = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lt", "le", "eq", "ne", "gt", "ge", "neg",
    "abs", "and", "or", "xor", "lshift", "rshift",
];
const FLOORDIV: usize = 4;
const MOD: usize = 5;
const POW: usize = 6;
const LT: usize = 8;

static BY_OPERATOR: OnceLock<[&'static Op; 21]> = OnceLock::new();

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

/// An array with an integer, or with what other libraries have. With anything else Python goes on: `x == None` is False and
/// `x != "a"` True, as for any two things that do not know each other; arithmetic raises `TypeError`.
unsafe fn apply_others(op: &'static Op, a: *mut PyObject, b: *mut PyObject) -> PyResult<*mut PyObject> {
    // SAFETY: as in `apply`.
    unsafe {
        let (array, other, first) = match (get(a), get(b)) {
            (Some(x), _) => (x, b, true),
            (None, Some(y)) => (y, a, false),
            (None, None) => return Ok(not_implemented()),
        };
        let truth = matches!(&op.body, Body::Map(map) if map.is_truth());
        let Some(other) = Operand::beside(other, array, truth)? else { return Ok(not_implemented()) };
        let (x, y) = if first { (In::Array(array), other.as_in()) } else { (other.as_in(), In::Array(array)) };
        outputs(invoke(op, &[x, y], &Attrs::new()).map_err(to_py)?)
    }
}

/// `divmod(a, b)`: quotient and remainder.
unsafe extern "C" fn quotient_and_rest(a: *mut PyObject, b: *mut PyObject) -> *mut PyObject {
    // SAFETY: passed on from the interpreter; both are new references, or null with an exception set.
    unsafe {
        let quotient = apply(row(FLOORDIV), a, b);
        if quotient.is_null() || quotient == Py_NotImplemented() {
            return quotient;
        }
        let rest = apply(row(MOD), a, b);
        let pair = if rest.is_null() { null_mut() } else { PyTuple_Pack(2, quotient, rest) };
        Py_XDECREF(rest);
        Py_DECREF(quotient);
        pair
    }
}

pub(super) unsafe extern "C" fn binary<const K: usize>(a: *mut PyObject, b: *mut PyObject) -> *mut PyObject {
    // SAFETY: passed on from the interpreter.
    unsafe { apply(row(K), a, b) }
}

pub(super) unsafe extern "C" fn power(a: *mut PyObject, b: *mut PyObject, modulus: *mut PyObject) -> *mut PyObject {
    // SAFETY: passed on from the interpreter.
    unsafe { if modulus == Py_None() { apply(row(POW), a, b) } else { not_implemented() } }
}

/// `a op= b`: writes into `a` itself.
#[inline(always)]
unsafe fn apply_in_place(op: &'static Op, a: *mut PyObject, b: *mut PyObject) -> *mut PyObject {
    // SAFETY: slots are called with live objects and the thread attached.
    edge(|| unsafe {
        let Some(dst) = get(a) else { return Ok(not_implemented()) };
        let y = match get(b) {
            Some(y) => Operand::In(In::Array(y)),
            None if PyFloat_Check(b) != 0 => Operand::In(In::Scalar(Scalar::Float(PyFloat_AsDouble(b)))),
            None => match Operand::beside(b, dst, false)? {
                Some(y) => y,
                None => return Ok(not_implemented()),
            },
        };
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
    unsafe { if modulus == Py_None() { apply_in_place(row(POW), a, b) } else { not_implemented() } }
}

pub(super) unsafe extern "C" fn unary<const K: usize>(a: *mut PyObject) -> *mut PyObject {
    // SAFETY: slots are called with live objects and the thread attached.
    edge(|| unsafe {
        let Some(x) = get(a) else { return Ok(not_implemented()) };
        Ok(wrap(invoke_unary(row(K), x).map_err(to_py)?))
    })
}

/// `+x`: a new array, as any other operator gives.
pub(super) unsafe extern "C" fn positive(a: *mut PyObject) -> *mut PyObject {
    // SAFETY: as in `unary`.
    edge(|| unsafe {
        let Some(x) = get(a) else { return Ok(not_implemented()) };
        Ok(wrap(invoke_unary(&rows::COPY, x).map_err(to_py)?))
    })
}

/// `~x`: of bool, whether it does not hold.
pub(super) unsafe extern "C" fn invert(a: *mut PyObject) -> *mut PyObject {
    // SAFETY: as in `unary`.
    edge(|| unsafe {
        let Some(x) = get(a) else { return Ok(not_implemented()) };
        let op = if x.dtype() == DType::Bool { &rows::LOGICAL_NOT } else { &rows::INTEGER_NOT };
        Ok(wrap(invoke_unary(op, x).map_err(to_py)?))
    })
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
        (Py_nb_divmod, quotient_and_rest as *mut c_void),
        (Py_nb_and, binary::<16> as *mut c_void),
        (Py_nb_or, binary::<17> as *mut c_void),
        (Py_nb_xor, binary::<18> as *mut c_void),
        (Py_nb_lshift, binary::<19> as *mut c_void),
        (Py_nb_rshift, binary::<20> as *mut c_void),
        (Py_nb_inplace_add, in_place::<0> as *mut c_void),
        (Py_nb_inplace_subtract, in_place::<1> as *mut c_void),
        (Py_nb_inplace_multiply, in_place::<2> as *mut c_void),
        (Py_nb_inplace_true_divide, in_place::<3> as *mut c_void),
        (Py_nb_inplace_floor_divide, in_place::<4> as *mut c_void),
        (Py_nb_inplace_remainder, in_place::<5> as *mut c_void),
        (Py_nb_inplace_power, in_place_power as *mut c_void),
        (Py_nb_inplace_matrix_multiply, in_place::<7> as *mut c_void),
        (Py_nb_inplace_and, in_place::<16> as *mut c_void),
        (Py_nb_inplace_or, in_place::<17> as *mut c_void),
        (Py_nb_inplace_xor, in_place::<18> as *mut c_void),
        (Py_nb_inplace_lshift, in_place::<19> as *mut c_void),
        (Py_nb_inplace_rshift, in_place::<20> as *mut c_void),
        (Py_nb_negative, unary::<14> as *mut c_void),
        (Py_nb_absolute, unary::<15> as *mut c_void),
        (Py_nb_positive, positive as *mut c_void),
        (Py_nb_invert, invert as *mut c_void),
        (Py_tp_richcompare, compare as *mut c_void),
    ]
}
