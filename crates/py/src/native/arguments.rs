//! From the arguments of a Python call to inputs and attributes.
use super::attribute::{int, items, parse, refusal};
use super::callable::{Face, OpObject, Slot};
use super::convert::to_device;
use super::object::get;
use super::operand::{Operand, list};
use crate::error::{argument, to_py};
use gluonish_base::Dims;
use gluonish_graph::{In, NDArray};
use gluonish_kernels::{AttrVal, Attrs};
use gluonish_ops::{InputKind, Op};
use pyo3::ffi::*;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use smallvec::SmallVec;
use std::ptr::NonNull;

/// What a call was given. It is filled where it stands: its parts are long to move.
pub(super) struct Given<'a> {
    /// In the order of the row; what was left out is `Absent`.
    pub(super) ins: SmallVec<[In<'a>; 4]>,
    pub(super) attrs: Attrs,
    /// Arrays to write to, and the object that they came in; null: none were given.
    pub(super) out: SmallVec<[&'a NDArray; 1]>,
    pub(super) out_object: *mut PyObject,
    pub(super) device: Option<u32>,
    /// Attributes given so far, a bit each.
    set: u32,
    /// Arrays made of what other libraries gave; inputs borrow them.
    made: Vec<Made>,
}

/// An array at an address of its own.
struct Made(NonNull<NDArray>);

impl Made {
    fn new(a: NDArray) -> Made {
        Made(NonNull::from(Box::leak(Box::new(a))))
    }
}
impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: made from a box, and dropped once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// # Safety
/// `o` is a live object of an attached thread.
#[cold]
pub(super) unsafe fn text(o: *mut PyObject) -> String {
    // SAFETY: by contract.
    let object = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), o) };
    object.repr().map_or_else(|_| "?".to_string(), |s| s.to_string())
}

impl<'a> Given<'a> {
    #[inline(always)]
    pub(super) fn new() -> Given<'a> {
        Given {
            ins: SmallVec::new(),
            attrs: Attrs::new(),
            out: SmallVec::new(),
            out_object: std::ptr::null_mut(),
            device: None,
            set: 0,
            made: Vec::new(),
        }
    }

    /// # Safety
    /// `o` is a live object, kept alive by the caller of the slot, and the thread is attached.
    #[inline(always)]
    pub(super) unsafe fn input(&mut self, op: &'static Op, i: usize, o: *mut PyObject) -> PyResult<()> {
        // SAFETY: by contract.
        match unsafe { get(o) } {
            Some(a) if self.ins.len() == i => {
                self.ins.push(In::Array(a));
                Ok(())
            }
            // SAFETY: by contract.
            _ => unsafe { self.other_input(op, i, o) },
        }
    }

    /// An input that is no array of ours, or not the next one.
    ///
    /// # Safety
    /// As `input`.
    unsafe fn other_input(&mut self, op: &'static Op, i: usize, o: *mut PyObject) -> PyResult<()> {
        // SAFETY: by contract.
        let (mut operand, left_out) = unsafe { (self.operand(o)?, o == Py_None()) };
        if operand.is_none() {
            // SAFETY: by contract.
            operand = unsafe { list(o, None) }?.map(|made| self.hold(made));
        }
        let Some(x) = operand.or((left_out && op.inputs[i].kind == InputKind::Optional).then_some(In::Absent)) else {
            // SAFETY: by contract.
            return Err(unsafe { not_an_array(op, op.inputs[i].name, o) });
        };
        while self.ins.len() <= i {
            self.ins.push(In::Absent);
        }
        if !matches!(self.ins[i], In::Absent) {
            return Err(argument(op.name, format!("the input '{}' is given twice", op.inputs[i].name)));
        }
        self.ins[i] = x;
        Ok(())
    }

    /// # Safety
    /// As `input`.
    unsafe fn operand(&mut self, o: *mut PyObject) -> PyResult<Option<In<'a>>> {
        // SAFETY: by contract.
        Ok(unsafe { Operand::new(o) }?.map(|x| self.hold(x)))
    }

    /// The operand, which is kept if it was made for this call.
    fn hold(&mut self, operand: Operand<'a>) -> In<'a> {
        match operand {
            Operand::In(x) => x,
            Operand::Own(a) => {
                let made = Made::new(a);
                // SAFETY: it stays at its address until `self` is dropped, with the inputs that borrow it.
                let x = In::Array(unsafe { made.0.as_ref() });
                self.made.push(made);
                x
            }
        }
    }

    /// Refuses another library's array as a state, as what is written to it would be lost.
    #[cold]
    fn states_are_ours(&self, op: &'static Op) -> PyResult<()> {
        let is_made = |a: &NDArray| self.made.iter().any(|m| std::ptr::eq(m.0.as_ptr(), a));
        let mut states = op.inputs.iter().zip(&self.ins).filter(|(i, _)| i.kind == InputKind::Auxiliary);
        match states.find(|(_, x)| x.array().is_some_and(is_made)) {
            Some((i, _)) => {
                Err(argument(op.name, format!("'{}' must be an NDArray, as the op writes to it in training", i.name)))
            }
            None => Ok(()),
        }
    }

    /// What other libraries gave has no device of its own: it goes where the arrays are.
    #[cold]
    fn bring_together(&mut self) -> PyResult<()> {
        let is_made = |a: &NDArray| self.made.iter().any(|m| std::ptr::eq(m.0.as_ptr(), a));
        let Some(device) = self.ins.iter().filter_map(In::array).find(|a| !is_made(a)).map(|a| a.device()) else {
            return Ok(());
        };
        let apart = |x: &In<'_>| x.array().is_some_and(|a| is_made(a) && a.device() != device);
        let moving: Vec<usize> = (0..self.ins.len()).filter(|&i| apart(&self.ins[i])).collect();
        for i in moving {
            if let In::Array(a) = self.ins[i] {
                self.ins[i] = self.hold(Operand::Own(to_device(a, device)?));
            }
        }
        Ok(())
    }

    /// All arrays of a variadic op: separate arguments or one list.
    ///
    /// # Safety
    /// As `input`.
    pub(super) unsafe fn variadic(&mut self, op: &'static Op, o: *mut PyObject) -> PyResult<()> {
        // SAFETY: by contract; items are borrowed from a list or tuple that is alive.
        unsafe {
            let Some(all) = items(o) else { return self.one_more(op, o) };
            for item in all {
                self.one_more(op, item)?;
            }
        }
        Ok(())
    }

    unsafe fn one_more(&mut self, op: &'static Op, o: *mut PyObject) -> PyResult<()> {
        // SAFETY: as `input`.
        match unsafe { self.operand(o) }? {
            Some(x) => self.ins.push(x),
            // SAFETY: as `input`.
            None => return Err(unsafe { not_an_array(op, op.inputs[0].name, o) }),
        }
        Ok(())
    }

    /// # Safety
    /// As `input`.
    #[inline(always)]
    pub(super) unsafe fn attr(&mut self, op: &'static Op, i: usize, o: *mut PyObject) -> PyResult<()> {
        // SAFETY: by contract.
        if !unsafe { parse(&op.attrs[i], o, &mut self.attrs.0[i]) } {
            // SAFETY: by contract.
            let object = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), o) };
            return Err(to_py(refusal(&op.attrs[i], &object).in_op(op.name)));
        }
        self.mark(op, i)
    }

    #[inline(always)]
    fn mark(&mut self, op: &'static Op, i: usize) -> PyResult<()> {
        if self.set >> i & 1 == 1 {
            return Err(argument(op.name, format!("the attribute '{}' is given twice", op.attrs[i].name)));
        }
        self.set |= 1 << i;
        Ok(())
    }

    /// An attribute that is a list of integers, given one by one.
    ///
    /// # Safety
    /// `items` are live objects, and the thread is attached.
    pub(super) unsafe fn spread(&mut self, op: &'static Op, i: usize, items: &[*mut PyObject]) -> PyResult<()> {
        let mut list = Dims::EMPTY;
        for &o in items {
            // SAFETY: by contract.
            let fits = unsafe { int(o) }.is_some_and(|v| list.try_push(v as isize));
            if !fits {
                // SAFETY: by contract.
                let all = items.iter().map(|o| unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), *o) });
                // SAFETY: the thread is attached.
                let tuple = PyTuple::new(unsafe { Python::assume_attached() }, all.collect::<Vec<_>>())?;
                return Err(to_py(refusal(&op.attrs[i], &tuple).in_op(op.name)));
            }
        }
        self.attrs.0[i] = AttrVal::Ints(list);
        self.mark(op, i)
    }

    /// False: the row has no argument of that name, or what is given for it is no array of ours.
    ///
    /// # Safety
    /// As `input`.
    pub(super) unsafe fn keyword(&mut self, me: &OpObject, name: *mut PyObject, o: *mut PyObject) -> PyResult<bool> {
        let op = me.op;
        // SAFETY: by contract.
        unsafe {
            match me.find(name) {
                Some(Slot::Attr(i)) => self.attr(op, i as usize, o),
                Some(Slot::Input(i)) if op.is_variadic() && i as usize == op.inputs.len() - 1 => self.variadic(op, o),
                Some(Slot::Input(i)) => self.input(op, i as usize, o),
                Some(Slot::Out) if me.face == Face::Np => match unpacked(o) {
                    o if o == Py_None() || get(o).is_some() || items(o).is_some() => self.output(op, o),
                    _ => return Ok(false), // another library's array, which Python writes to
                },
                Some(Slot::Out) => self.output(op, o),
                Some(Slot::Device) => self.device(op, o),
                Some(Slot::Name) => Ok(()),
                Some(Slot::Count) => self.count(op, o),
                None => return Ok(false),
            }?;
        }
        Ok(true)
    }

    /// Gluon's `num_args`, which must be the number of arrays that stand before it.
    unsafe fn count(&self, op: &'static Op, o: *mut PyObject) -> PyResult<()> {
        // SAFETY: as `input`.
        let said = unsafe { int(o) };
        if said == Some(self.ins.len() as i64) {
            return Ok(());
        }
        // SAFETY: as `input`.
        let said = unsafe { text(o) };
        Err(argument(op.name, format!("num_args={said}, but {} arrays are given", self.ins.len())))
    }

    unsafe fn output(&mut self, op: &'static Op, o: *mut PyObject) -> PyResult<()> {
        // SAFETY: as `input`.
        unsafe {
            if o == Py_None() {
                return Ok(());
            }
            self.out_object = o;
            let mut add = |o| get(o).ok_or_else(|| not_an_array(op, "out", o)).map(|a| self.out.push(a));
            match items(o) {
                Some(mut all) => all.try_for_each(add)?,
                None => add(o)?,
            }
        }
        Ok(())
    }

    unsafe fn device(&mut self, op: &'static Op, o: *mut PyObject) -> PyResult<()> {
        // SAFETY: as `input`.
        let object = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), o) };
        if object.is_none() {
            return Ok(());
        }
        let index = if object.is_instance_of::<PyString>() {
            let named = object.py().import("gluonish.context")?.getattr("device_index")?.call1((&object,))?;
            named.extract::<u32>()
        } else {
            object.getattr("_index").and_then(|i| i.extract::<u32>())
        };
        match index {
            Ok(i) => self.device = Some(i),
            // A context that cannot be used says why itself.
            Err(e) if !e.is_instance_of::<pyo3::exceptions::PyAttributeError>(object.py()) => return Err(e),
            Err(_) => return Err(argument(op.name, format!("ctx={} is not a context such as cpu()", object.repr()?))),
        }
        Ok(())
    }

    /// Says what is missing.
    #[inline(always)]
    pub(super) fn complete(&mut self, me: &OpObject) -> PyResult<()> {
        if !self.made.is_empty() {
            self.states_are_ours(me.op)?;
            self.bring_together()?;
        }
        let all = self.ins.len() >= me.needed && !self.ins.iter().any(|i| matches!(i, In::Absent));
        if all && me.required & !self.set == 0 { Ok(()) } else { self.incomplete(me.op) }
    }

    /// Optional inputs may be missing, and what `nd` asks for may have a default in `np`.
    #[cold]
    fn incomplete(&self, op: &'static Op) -> PyResult<()> {
        if !op.is_variadic() {
            let given = |i: usize| self.ins.get(i).is_some_and(|x| !matches!(x, In::Absent));
            let missing = (0..op.inputs.len()).find(|i| !given(*i) && op.inputs[*i].kind != InputKind::Optional);
            if let Some(i) = missing {
                return Err(argument(op.name, format!("the input '{}' is missing", op.inputs[i].name)));
            }
        }
        required(op, &self.attrs)
    }
}

/// Says which attribute is missing.
pub(super) fn required(op: &'static Op, attrs: &Attrs) -> PyResult<()> {
    match op.attrs.iter().zip(attrs.0.iter()).find(|(a, v)| **v == AttrVal::None && a.is_required()) {
        Some((a, _)) => Err(argument(op.name, format!("the attribute '{}' is missing: {}", a.name, a.kind.describe()))),
        None => Ok(()),
    }
}

/// The array in a tuple of one, as NumPy's functions take it for `out`.
unsafe fn unpacked(o: *mut PyObject) -> *mut PyObject {
    // SAFETY: as `input`; the tuple keeps its item.
    unsafe { if PyTuple_Check(o) != 0 && PyTuple_Size(o) == 1 { PyTuple_GetItem(o, 0) } else { o } }
}

#[cold]
unsafe fn not_an_array(op: &'static Op, name: &str, o: *mut PyObject) -> PyErr {
    // SAFETY: as `input`.
    let object = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), o) };
    let kind = object.get_type().name().map_or_else(|_| "?".to_string(), |n| n.to_string());
    argument(
        op.name,
        format!("'{name}' must be {}, got {kind}", if name == "out" { "an NDArray" } else { "an array or a number" }),
    )
}

/// # Safety
/// As `input`.
#[cold]
pub(super) unsafe fn unknown(me: &OpObject, name: *mut PyObject, o: *mut PyObject) -> PyErr {
    // SAFETY: by contract.
    if unsafe { me.find(name) } == Some(Slot::Out) {
        // SAFETY: by contract.
        return unsafe { not_an_array(me.op, "out", o) };
    }
    // SAFETY: by contract.
    let name = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), name) }.to_string();
    let all: Vec<&str> = me.names().collect();
    argument(me.op.name, format!("there is no argument '{name}'; it takes {}", all.join(", ")))
}

/// Attributes from a dictionary, for `invoke` by name.
pub(crate) fn attrs_from_dict(op: &'static Op, given: &Bound<'_, pyo3::types::PyDict>) -> PyResult<Attrs> {
    let mut attrs = Attrs::of(&op.attrs.iter().map(|a| a.default).collect::<Vec<_>>());
    for (name, value) in given.iter() {
        let name = name.extract::<String>()?;
        let Some(i) = op.attrs.iter().position(|a| a.name == name) else {
            let all: Vec<_> = op.attrs.iter().map(|a| a.name).collect();
            return Err(argument(op.name, format!("there is no attribute '{name}'; it takes {}", all.join(", "))));
        };
        // SAFETY: a live object of an attached thread.
        if !unsafe { parse(&op.attrs[i], value.as_ptr(), &mut attrs.0[i]) } {
            return Err(to_py(refusal(&op.attrs[i], &value).in_op(op.name)));
        }
    }
    required(op, &attrs)?;
    Ok(attrs)
}
