//! One native callable per row and face, with vectorcall: it is the function `nd.sum` and, as a method descriptor, the
//! method `x.sum`.
use super::arguments::{Given, unknown};
use super::object::{edge, get, wrap};
use crate::error::{argument, to_py};
use gluonish_base::Result;
use gluonish_engine::Device;
use gluonish_graph::{NDArray, Outs, invoke, invoke_binary, invoke_into, invoke_into_all, invoke_on, invoke_unary};
use gluonish_kernels::AttrVal;
use gluonish_ops::{Attr, Body, Op};
use pyo3::ffi::*;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ffi::{CString, c_int, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

// SAFETY: the signature is CPython's, which exports it in every version; pyo3 does not bind it.
unsafe extern "C" {
    fn PyMethod_New(f: *mut PyObject, me: *mut PyObject) -> *mut PyObject;
}

/// In which spelling an op is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Face {
    Nd,
    Np,
    Method,
}

/// What a name of the signature stands for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Slot {
    Input(u8),
    Attr(u8),
    Out,
    Device,
    /// Gluon's name of a symbol, which an array does not have.
    Name,
    /// How many arrays Gluon code says that it gives.
    Count,
}

struct Param {
    /// Interned, so that a caller's keyword is found by address.
    object: *mut PyObject,
    name: &'static str,
    slot: Slot,
}

#[repr(C)]
pub(crate) struct OpObject {
    base: PyObject,
    vectorcall: Option<vectorcallfunc>,
    pub(super) op: &'static Op,
    pub(super) face: Face,
    name: &'static str,
    /// Inputs, then attributes, in the order of positional arguments; then what only keywords reach.
    params: &'static [Param],
    positional: usize,
    /// An elementwise row without attributes.
    formula: bool,
    /// The attribute whose integers a method takes one by one.
    spread: Option<usize>,
    /// The attribute of which an empty list means None.
    empty_is_none: Option<usize>,
    /// Values of attributes that are not given.
    pub(super) defaults: &'static [AttrVal],
    /// Attributes that must be given, a bit each.
    pub(super) required: u32,
    /// Inputs that a complete call has at least.
    pub(super) needed: usize,
}

impl OpObject {
    /// # Safety
    /// `name` is a string object of an attached thread.
    #[inline(always)]
    pub(super) unsafe fn find(&self, name: *mut PyObject) -> Option<Slot> {
        match self.params.iter().find(|p| p.object == name) {
            Some(p) => Some(p.slot),
            // SAFETY: by contract.
            None => unsafe { self.find_by_text(name) },
        }
    }

    #[cold]
    unsafe fn find_by_text(&self, name: *mut PyObject) -> Option<Slot> {
        // SAFETY: as `find`.
        let name = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), name) }.to_string();
        self.params.iter().find(|p| p.name == name).map(|p| p.slot)
    }

    /// What a positional argument stands for.
    pub(super) fn slot(&self, i: usize) -> Option<Slot> {
        self.params[..self.positional].get(i).map(|p| p.slot)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.params.iter().filter(|p| !matches!(p.slot, Slot::Name | Slot::Count)).map(|p| p.name)
    }
}

/// The call itself.
unsafe extern "C" fn call(
    me: *mut PyObject,
    args: *const *mut PyObject,
    nargsf: usize,
    names: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: called by the interpreter: `me` is one of our objects, `args` holds the positional and the keyword values.
    edge(|| unsafe {
        let me = &*me.cast::<OpObject>();
        let n = PyVectorcall_NARGS(nargsf) as usize;
        if me.formula
            && names.is_null()
            && let Some(out) = formula(me.op, std::slice::from_raw_parts(args, n))
        {
            return Ok(wrap(out.map_err(to_py)?));
        }
        let mut given = Given::new();
        given.attrs.0.extend_from_slice(me.defaults);
        positional(me, &mut given, args, n)?;
        if !names.is_null() {
            for k in 0..PyTuple_Size(names) {
                let name = PyTuple_GetItem(names, k);
                if !given.keyword(me, name, *args.add(n + k as usize))? {
                    let value = *args.add(n + k as usize);
                    return beyond(me, args, n, names)?.ok_or_else(|| unknown(me, name, value));
                }
            }
        }
        if let Some(i) = me.empty_is_none
            && given.attrs.ints(i).is_some_and(|list| list.is_empty())
        {
            given.attrs.0[i] = AttrVal::None;
        }
        given.complete(me)?;
        run(me.op, &given)
    })
}

/// What Python makes of a call with arguments that NumPy's function of that name has and the row has not; None where it
/// knows none either.
#[cold]
unsafe fn beyond(
    me: &OpObject,
    args: *const *mut PyObject,
    n: usize,
    names: *mut PyObject,
) -> PyResult<Option<*mut PyObject>> {
    if me.face != Face::Np {
        return Ok(None);
    }
    // SAFETY: as in `call`: `args` holds `n` positional values, and one for each of the names.
    let (inputs, given) = unsafe {
        let py = Python::assume_attached();
        let value = |i| Bound::from_borrowed_ptr(py, *args.add(i));
        let inputs = PyTuple::new(py, (0..n).map(value))?;
        let given = PyDict::new(py);
        for k in 0..PyTuple_Size(names) {
            given.set_item(Bound::from_borrowed_ptr(py, PyTuple_GetItem(names, k)), value(n + k as usize))?;
        }
        (inputs, given)
    };
    let py = inputs.py();
    let made = py.import("gluonish.np._beyond")?.getattr("beyond")?.call1((me.name, inputs, given))?;
    Ok((!made.is(py.NotImplemented())).then(|| made.into_ptr()))
}

/// An elementwise row of one or two arrays: what an operator would do.
#[inline(always)]
unsafe fn formula(op: &'static Op, args: &[*mut PyObject]) -> Option<Result<NDArray>> {
    // SAFETY: live objects of an attached thread.
    unsafe {
        match args {
            [x] if op.inputs.len() == 1 => Some(invoke_unary(op, get(*x)?)),
            [x, y] if op.inputs.len() == 2 => Some(invoke_binary(op, get(*x)?, get(*y)?)),
            _ => None,
        }
    }
}

#[inline(always)]
unsafe fn positional(me: &OpObject, given: &mut Given<'_>, args: *const *mut PyObject, n: usize) -> PyResult<()> {
    // SAFETY: `args` holds `n` live objects.
    unsafe {
        if me.op.is_variadic() {
            return variadic(me, given, args, n);
        }
        if let (Some(k), true) = (me.spread, n > 2) {
            given.input(me.op, 0, *args)?;
            return given.spread(me.op, k, std::slice::from_raw_parts(args.add(1), n - 1));
        }
        if n > me.positional {
            let most = me.positional;
            return Err(argument(me.op.name, format!("at most {most} positional arguments are taken, got {n}")));
        }
        for i in 0..n {
            match me.params[i].slot {
                Slot::Input(k) => given.input(me.op, k as usize, *args.add(i))?,
                Slot::Attr(k) => given.attr(me.op, k as usize, *args.add(i))?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Either one list and then attributes, or all arguments are arrays.
unsafe fn variadic(me: &OpObject, given: &mut Given<'_>, args: *const *mut PyObject, n: usize) -> PyResult<()> {
    // SAFETY: as in `positional`.
    unsafe {
        let is_list = n > 0 && (PyTuple_Check(*args) != 0 || PyList_Check(*args) != 0);
        if !is_list {
            return (0..n).try_for_each(|i| given.variadic(me.op, *args.add(i)));
        }
        given.variadic(me.op, *args)?;
        for i in 1..n {
            match me.params.get(i).map(|p| p.slot) {
                Some(Slot::Attr(k)) => given.attr(me.op, k as usize, *args.add(i))?,
                _ => {
                    return Err(argument(
                        me.op.name,
                        format!("a list of arrays and {} attributes are taken", me.op.attrs.len()),
                    ));
                }
            }
        }
    }
    Ok(())
}

#[inline(always)]
unsafe fn run(op: &'static Op, given: &Given<'_>) -> PyResult<*mut PyObject> {
    let ins = &given.ins;
    if !given.out_object.is_null() {
        match given.out[..] {
            [out] => invoke_into(op, ins, &given.attrs, out),
            ref several => invoke_into_all(op, ins, &given.attrs, several),
        }
        .map_err(to_py)?;
        // SAFETY: a live object that the caller gave.
        unsafe { Py_INCREF(given.out_object) };
        return Ok(given.out_object);
    }
    let outs = match given.device.map(|i| Device::from_index(i).ok_or(i)) {
        Some(Ok(device)) => invoke_on(op, ins, &given.attrs, device),
        Some(Err(i)) => return Err(argument(op.name, format!("there is no device number {i}"))),
        None => invoke(op, ins, &given.attrs),
    };
    // SAFETY: called from a slot, with the thread attached.
    unsafe { outputs(outs.map_err(to_py)?) }
}

/// One array, or a list of several.
///
/// # Safety
/// The thread is attached.
#[inline(always)]
pub(super) unsafe fn outputs(mut outs: Outs) -> PyResult<*mut PyObject> {
    // SAFETY: by contract.
    unsafe {
        if outs.len() == 1
            && let Some(out) = outs.pop()
        {
            return Ok(wrap(out));
        }
        let list = PyList_New(outs.len() as Py_ssize_t);
        if list.is_null() {
            return Err(super::object::pending());
        }
        for (i, o) in outs.into_iter().enumerate() {
            PyList_SetItem(list, i as Py_ssize_t, wrap(o));
        }
        Ok(list)
    }
}

unsafe extern "C" fn bind(me: *mut PyObject, obj: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    // SAFETY: called by the interpreter with live objects.
    unsafe {
        if obj.is_null() || obj == Py_None() {
            Py_INCREF(me);
            return me;
        }
        PyMethod_New(me, obj)
    }
}

unsafe extern "C" fn name(me: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: `me` is one of our objects.
    edge(|| unsafe { Ok(string((*me.cast::<OpObject>()).name)) })
}
unsafe extern "C" fn doc(me: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: `me` is one of our objects.
    edge(|| unsafe {
        let me = &*me.cast::<OpObject>();
        Ok(string(&crate::table::docstring(me.op, me.face, me.name)))
    })
}
unsafe extern "C" fn row(me: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: `me` is one of our objects.
    edge(|| unsafe { Ok(string((*me.cast::<OpObject>()).op.name)) })
}
unsafe extern "C" fn signature(me: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: `me` is one of our objects.
    edge(|| unsafe {
        let me = &*me.cast::<OpObject>();
        Ok(string(&crate::table::signature(me.op, me.face)))
    })
}
unsafe extern "C" fn represent(me: *mut PyObject) -> *mut PyObject {
    // SAFETY: `me` is one of our objects.
    edge(|| unsafe {
        let me = &*me.cast::<OpObject>();
        Ok(string(&format!("<op {}{}>", me.name, crate::table::signature(me.op, me.face))))
    })
}

unsafe fn string(s: &str) -> *mut PyObject {
    // SAFETY: called from getters, with the thread attached.
    unsafe { PyUnicode_FromStringAndSize(s.as_ptr().cast(), s.len() as Py_ssize_t) }
}

unsafe extern "C" fn dealloc(o: *mut PyObject) {
    // SAFETY: called once by the interpreter; the parameters are leaked on purpose, as ops live as long as the module.
    unsafe {
        let t = Py_TYPE(o);
        PyObject_Free(o.cast::<c_void>());
        Py_DECREF(t.cast());
    }
}

fn op_type(py: Python<'_>) -> PyResult<*mut PyTypeObject> {
    static TYPE: AtomicPtr<PyTypeObject> = AtomicPtr::new(null_mut());
    if !TYPE.load(Relaxed).is_null() {
        return Ok(TYPE.load(Relaxed));
    }
    let members = Box::leak(Box::new([
        PyMemberDef {
            name: c"__vectorcalloffset__".as_ptr(),
            type_code: Py_T_PYSSIZET,
            offset: offset_of!(OpObject, vectorcall) as Py_ssize_t,
            flags: Py_READONLY,
            doc: std::ptr::null(),
        },
        PyMemberDef::default(),
    ]));
    let getter =
        |n: &'static std::ffi::CStr, get| PyGetSetDef { name: n.as_ptr(), get: Some(get), ..PyGetSetDef::default() };
    let getters = Box::leak(Box::new([
        getter(c"__name__", name),
        getter(c"__qualname__", name),
        getter(c"__doc__", doc),
        getter(c"__text_signature__", signature),
        getter(c"row", row),
        PyGetSetDef::default(),
    ]));
    let methods = Box::leak(Box::new(super::shapes::methods()));
    let mut slots = [
        PyType_Slot { slot: Py_tp_call, pfunc: PyVectorcall_Call as *mut c_void },
        PyType_Slot { slot: Py_tp_descr_get, pfunc: bind as *mut c_void },
        PyType_Slot { slot: Py_tp_dealloc, pfunc: dealloc as *mut c_void },
        PyType_Slot { slot: Py_tp_repr, pfunc: represent as *mut c_void },
        PyType_Slot { slot: Py_tp_members, pfunc: members.as_mut_ptr().cast() },
        PyType_Slot { slot: Py_tp_methods, pfunc: methods.as_mut_ptr().cast() },
        PyType_Slot { slot: Py_tp_getset, pfunc: getters.as_mut_ptr().cast() },
        PyType_Slot { slot: 0, pfunc: null_mut() },
    ];
    let mut spec = PyType_Spec {
        name: c"gluonish.Op".as_ptr(),
        basicsize: size_of::<OpObject>() as c_int,
        itemsize: 0,
        flags: (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR) as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the spec outlives the call; what it points to is static or leaked.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, PyType_FromSpec(&mut spec)) }?;
    TYPE.store(made.into_ptr().cast(), Relaxed);
    Ok(TYPE.load(Relaxed))
}

/// Names of a face's signature, in order, and how many of them are positional.
fn signature_of(op: &'static Op, face: Face) -> (Vec<(&'static str, Slot)>, usize) {
    let np = face == Face::Np;
    let mut all: Vec<(&'static str, Slot)> =
        (0..op.inputs.len()).map(|i| (op.input_name(np, i), Slot::Input(i as u8))).collect();
    for (i, a) in op.attrs.iter().enumerate() {
        if if np { a.np } else { a.nd } {
            all.push((if np && !a.np_name.is_empty() { a.np_name } else { a.name }, Slot::Attr(i as u8)));
        }
    }
    let positional = all.len();
    all.push(("out", Slot::Out));
    if np {
        all.extend((0..).zip(op.attrs).filter(|(_, a)| !a.also.is_empty()).map(|(i, a)| (a.also, Slot::Attr(i))));
    }
    if op.flags.creates {
        all.extend([("ctx", Slot::Device), ("device", Slot::Device)]);
    }
    if !np {
        all.push(("name", Slot::Name));
    }
    if !np && op.is_variadic() {
        all.push(("num_args", Slot::Count));
    }
    (all, positional)
}

/// The callable of a row under one name.
pub(crate) fn make<'py>(
    py: Python<'py>,
    op: &'static Op,
    face: Face,
    name: &'static str,
) -> PyResult<Bound<'py, PyAny>> {
    let kind = op_type(py)?;
    let (all, positional) = signature_of(op, face);
    let mut params = Vec::new();
    for (name, slot) in all {
        let text = CString::new(name)?;
        // SAFETY: a C string, the thread attached; the reference is kept for ever.
        params.push(Param { object: unsafe { PyUnicode_InternFromString(text.as_ptr()) }, name, slot });
    }
    let np = |a: &Attr| (face == Face::Np).then_some(a.np_default).flatten();
    let defaults = op.attrs.iter().map(|a| np(a).unwrap_or(a.default));
    let required = (0..).zip(op.attrs).filter(|(_, a)| a.is_required()).fold(0, |bits, (i, _)| bits | 1 << i);
    // SAFETY: memory of the right size for the type, all of whose fields are set before anyone sees it.
    unsafe {
        let o = PyType_GenericAlloc(kind, 0).cast::<OpObject>();
        if o.is_null() {
            return Err(super::object::pending());
        }
        (*o).vectorcall = Some(call);
        std::ptr::write(&mut (*o).op, op);
        (*o).face = face;
        std::ptr::write(&mut (*o).name, name);
        std::ptr::write(&mut (*o).params, Box::leak(params.into_boxed_slice()));
        (*o).positional = positional;
        (*o).formula = matches!(op.body, Body::Map(_)) && op.attrs.is_empty();
        // Methods follow Gluon where it has the function.
        let gluons = face != Face::Np && !op.faces.nd.is_empty();
        (*o).empty_is_none = op.attrs.iter().position(|a| a.empty_is_none && gluons);
        (*o).spread = op.attrs.iter().position(|a| a.spread && face == Face::Method);
        std::ptr::write(&mut (*o).defaults, Box::leak(defaults.collect()));
        (*o).required = required;
        (*o).needed = if op.is_variadic() { 0 } else { op.inputs.len() };
        Bound::from_owned_ptr_or_err(py, o.cast())
    }
}
