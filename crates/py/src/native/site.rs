//! Where the calling Python code is: (code object, last instruction) interned to a number; file and line only for an error.
use gluonish_base::Site;
use gluonish_base::site::{Hooks, install as install_hooks};
use gluonish_base::tls::tls;
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

#[derive(Default)]
struct Sites {
    ids: HashMap<(usize, i32), u32>,
    /// Code object (one reference kept, so that its address stays its own) and instruction, or line: see `instruction`.
    list: Vec<(usize, i32)>,
    /// Paths of blocks, and their numbers.
    blocks: Vec<String>,
    block_ids: HashMap<String, u32>,
    /// Code objects by whether they belong to the package.
    ours: HashMap<usize, bool>,
}

fn sites() -> MutexGuard<'static, Sites> {
    static SITES: OnceLock<Mutex<Sites>> = OnceLock::new();
    SITES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

// SAFETY: the signatures are CPython's, which exports these in every version; the stable ABI does not list them all.
unsafe extern "C" {
    fn PyGILState_Check() -> c_int;
    fn PyFrame_GetBack(frame: *mut ffi::PyFrameObject) -> *mut ffi::PyFrameObject;
    fn PyFrame_GetLineNumber(frame: *mut ffi::PyFrameObject) -> c_int;
    fn PyCode_Addr2Line(code: *mut ffi::PyCodeObject, at: c_int) -> c_int;
}

/// Whether this thread holds the interpreter.
pub(super) fn attached() -> bool {
    // SAFETY: it has no conditions.
    unsafe { PyGILState_Check() == 1 }
}

type GetLasti = unsafe extern "C" fn(*mut ffi::PyFrameObject) -> c_int;

/// `PyFrame_GetLasti`, which Python 3.10 does not have.
fn get_lasti() -> Option<GetLasti> {
    static FOUND: OnceLock<Option<GetLasti>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        #[cfg(unix)]
        // SAFETY: looks up a name; where it is found it is CPython's, with this signature.
        return unsafe {
            let found = libc::dlsym(libc::RTLD_DEFAULT, c"PyFrame_GetLasti".as_ptr());
            std::mem::transmute::<*mut c_void, Option<GetLasti>>(found)
        };
        #[cfg(not(unix))]
        None
    })
}

thread_local!(static LAST: Cell<(usize, i32, u32)> = const { Cell::new((0, 0, 0)) });

pub(crate) fn install() {
    install_hooks(Hooks { here, describe });
}

/// The directory of the Python package, whose own frames are skipped: users look for a line of theirs.
static PACKAGE: OnceLock<String> = OnceLock::new();

pub(crate) fn set_package(directory: String) {
    let _ = PACKAGE.set(directory);
}

fn here() -> Site {
    let t = tls();
    let block = t.block.get();
    if t.worker.get() || !attached() {
        return Site { code: 0, block };
    }
    // SAFETY: the thread is attached (checked above); the frame is borrowed and used before anything else runs.
    unsafe {
        let frame = ffi::PyEval_GetFrame();
        if frame.is_null() {
            return Site { code: 0, block };
        }
        let (code, at) = place(frame);
        let (c, i, id) = LAST.get();
        let id = if (c, i) == (code as usize, at) {
            id
        } else if is_ours(code as usize) {
            caller(frame).unwrap_or_else(|| intern(code as usize, at))
        } else {
            let id = intern(code as usize, at);
            LAST.set((code as usize, at, id));
            id
        };
        ffi::Py_DECREF(code.cast()); // the table keeps a reference of its own
        Site { code: id, block }
    }
}

/// # Safety
/// The frame is alive and the thread attached. The code object is a new reference.
unsafe fn place(frame: *mut ffi::PyFrameObject) -> (*mut ffi::PyCodeObject, i32) {
    // SAFETY: by contract.
    unsafe { (ffi::PyFrame_GetCode(frame), instruction(frame)) }
}

/// The site of the next frame further out that is not the package's own.
///
/// # Safety
/// The frame is alive and the thread attached.
#[cold]
unsafe fn caller(frame: *mut ffi::PyFrameObject) -> Option<u32> {
    // SAFETY: by contract; frames further out are counted while they are looked at.
    unsafe {
        let mut frame = PyFrame_GetBack(frame);
        let mut found = None;
        while !frame.is_null() {
            if found.is_none() {
                let (code, at) = place(frame);
                found = (!is_ours(code as usize)).then(|| intern(code as usize, at));
                ffi::Py_DECREF(code.cast());
            }
            let back = if found.is_none() { PyFrame_GetBack(frame) } else { std::ptr::null_mut() };
            ffi::Py_DECREF(frame.cast());
            frame = back;
        }
        found
    }
}

/// Whether code belongs to the package. Asked once for each code object, which is kept so that its address stays its own.
fn is_ours(code: usize) -> bool {
    let Some(package) = PACKAGE.get() else { return false };
    if let Some(known) = sites().ours.get(&code) {
        return *known;
    }
    let answer = Python::attach(|py| {
        // SAFETY: the caller holds a reference to the code object.
        let object = unsafe { Bound::from_borrowed_ptr(py, code as *mut ffi::PyObject) };
        let file = object.getattr("co_filename").and_then(|f| f.extract::<String>());
        std::mem::forget(object.clone()); // the reference that the table keeps
        file.is_ok_and(|f| f.strip_prefix(package.as_str()).is_some_and(|rest| rest.starts_with(['/', '\\'])))
    });
    sites().ours.insert(code, answer);
    answer
}

/// The last instruction, which is quick to get; the line where there is no such function.
unsafe fn instruction(frame: *mut ffi::PyFrameObject) -> i32 {
    // SAFETY: the caller's frame is alive.
    unsafe { get_lasti().map_or_else(|| PyFrame_GetLineNumber(frame), |get| get(frame)) }
}

#[cold]
fn intern(code: usize, at: i32) -> u32 {
    let mut s = sites();
    if let Some(id) = s.ids.get(&(code, at)) {
        return *id;
    }
    // SAFETY: `code` is a live object of the calling thread, which is attached.
    unsafe { ffi::Py_INCREF(code as *mut ffi::PyObject) };
    s.list.push((code, at));
    let id = s.list.len() as u32;
    s.ids.insert((code, at), id);
    id
}

/// A number for the path of a block.
pub(crate) fn intern_block(path: &str) -> u32 {
    let mut s = sites();
    if let Some(id) = s.block_ids.get(path) {
        return *id;
    }
    s.blocks.push(path.into());
    let id = s.blocks.len() as u32;
    s.block_ids.insert(path.into(), id);
    id
}

fn describe(site: Site) -> String {
    let (place, block) = {
        let s = sites();
        let place = (site.code as usize).checked_sub(1).and_then(|i| s.list.get(i).copied());
        let block = (site.block as usize).checked_sub(1).and_then(|i| s.blocks.get(i).cloned());
        (place, block)
    };
    let line = place.map(|(code, at)| Python::attach(|py| file_and_line(py, code, at)));
    match (line, block) {
        (Some(l), Some(b)) => format!("{l}, in block {b}"),
        (Some(l), None) => l,
        (None, Some(b)) => format!("block {b}"),
        (None, None) => String::new(),
    }
}

fn file_and_line(py: Python<'_>, code: usize, at: i32) -> String {
    // SAFETY: the table keeps a reference to every code object it lists.
    let object = unsafe { Bound::from_borrowed_ptr(py, code as *mut ffi::PyObject) };
    let file = object.getattr("co_filename").map_or_else(|_| "?".to_string(), |f| f.to_string());
    // SAFETY: as above: a live code object.
    let line = get_lasti().map_or(at, |_| unsafe { PyCode_Addr2Line(code as *mut ffi::PyCodeObject, at) });
    format!("{file}:{line}")
}
