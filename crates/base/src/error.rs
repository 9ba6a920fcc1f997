//! One error type for the whole core: what went wrong as data, and where. Its text is made when it is shown.
use crate::{DType, Dims, Site};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    Broadcast {
        lhs: Dims,
        rhs: Dims,
    },
    /// Any other disagreement of shapes.
    Shape(String),
    DType(String),
    Index {
        index: i64,
        axis: usize,
        size: usize,
    },
    TooManyIndices {
        given: usize,
        shape: Dims,
    },
    /// Any other key that does not fit an array.
    Key(String),
    Axis {
        axis: i64,
        shape: Dims,
    },
    /// An attribute's value: which one, what was given, what is allowed.
    Attribute {
        name: String,
        given: String,
        expected: String,
    },
    /// A call that does not fit the signature.
    Argument(String),
    Value(String),
    /// A number that an element type cannot hold.
    Overflow(String),
    OutOfMemory {
        asked: usize,
        held: usize,
        limit: usize,
    },
    Device(String),
    /// What the system said about a file.
    File {
        /// The system's number, 0 where it gave none.
        code: i32,
        path: String,
        text: String,
    },
    /// The contents of a file, or what cannot be written to one.
    Format(String),
    Gradient(String),
    /// A matrix that an operation of linear algebra has no answer for.
    LinAlg(String),
    /// An operation that failed while it ran.
    Failed(String),
    Panicked(String),
    /// Something that exists in Gluon or NumPy and is not built here.
    Unsupported(String),
    /// Ctrl-C during a wait.
    Interrupted,
}

/// An error with its place. Cheap to clone: it is stored with every array it spoils.
#[derive(Clone)]
pub struct Error(Arc<Report>);

#[derive(Clone)]
pub struct Report {
    pub cause: Cause,
    /// The op, or the function of the library, that found it; may be empty.
    pub op: &'static str,
    /// Shapes and types of the op's inputs.
    pub inputs: Vec<(Dims, DType)>,
    pub site: Site,
    /// A second place, as for an array that was saved here and written there.
    pub other: Option<(&'static str, Site)>,
    /// What a language binding had in hand: the exception that this error tells of.
    pub origin: Option<Arc<dyn Any + Send + Sync>>,
}

impl Error {
    #[cold]
    pub fn new(cause: Cause) -> Error {
        Error(Arc::new(Report { cause, op: "", inputs: Vec::new(), site: Site::default(), other: None, origin: None }))
    }

    fn edit(mut self, f: impl FnOnce(&mut Report)) -> Error {
        f(Arc::make_mut(&mut self.0));
        self
    }

    /// Names the op, unless an inner one is named already.
    #[cold]
    pub fn in_op(self, op: &'static str) -> Error {
        if self.0.op.is_empty() { self.edit(|r| r.op = op) } else { self }
    }

    /// Names the op that the caller knows, instead of one that it is made of.
    #[cold]
    pub fn of_op(self, op: &'static str) -> Error {
        self.edit(|r| r.op = op)
    }

    #[cold]
    pub fn at(self, site: Site) -> Error {
        if self.0.site.is_known() { self } else { self.edit(|r| r.site = site) }
    }

    #[cold]
    pub fn with_inputs(self, inputs: impl IntoIterator<Item = (Dims, DType)>) -> Error {
        if self.0.inputs.is_empty() { self.edit(|r| r.inputs = inputs.into_iter().collect()) } else { self }
    }

    /// A second place: `what` says what happened there.
    #[cold]
    pub fn and_at(self, what: &'static str, site: Site) -> Error {
        self.edit(|r| r.other = Some((what, site)))
    }

    #[cold]
    pub fn from_origin(self, origin: Arc<dyn Any + Send + Sync>) -> Error {
        self.edit(|r| r.origin = Some(origin))
    }

    pub fn report(&self) -> &Report {
        &self.0
    }
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// Whether two handles stand for one and the same failure.
    pub fn same(&self, other: &Error) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// From what `catch_unwind` caught.
    #[cold]
    pub fn from_panic(payload: Box<dyn Any + Send>) -> Error {
        let text = match payload.downcast::<String>() {
            Ok(s) => *s,
            Err(p) => p.downcast_ref::<&str>().map_or_else(|| "no message".to_string(), |s| s.to_string()),
        };
        Cause::Panicked(text).into()
    }
}

impl From<Cause> for Error {
    #[cold]
    fn from(cause: Cause) -> Error {
        Error::new(cause)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Broadcast { lhs, rhs } => write!(f, "cannot broadcast {lhs} with {rhs}"),
            Cause::Index { index, axis, size } => {
                write!(f, "index {index} is out of range for axis {axis} of size {size}")
            }
            Cause::TooManyIndices { given, shape } => write!(f, "{given} indices for an array of shape {shape}"),
            Cause::Axis { axis, shape } => write!(f, "axis {axis} is out of range for shape {shape}"),
            Cause::Attribute { name, given, expected } => write!(f, "{name}={given} is not valid: expected {expected}"),
            Cause::OutOfMemory { asked, held, limit } => write!(
                f,
                "out of memory: {} asked for while arrays hold {} of {} (GLUONISH_MEMORY_LIMIT sets the limit)",
                bytes(*asked),
                bytes(*held),
                bytes(*limit)
            ),
            Cause::File { path, text, .. } => write!(f, "{text}: '{path}'"),
            Cause::Panicked(m) => write!(f, "internal error, please report it: {m}"),
            Cause::Interrupted => f.write_str("interrupted"),
            Cause::Shape(m)
            | Cause::DType(m)
            | Cause::Key(m)
            | Cause::Argument(m)
            | Cause::Value(m)
            | Cause::Overflow(m)
            | Cause::Device(m)
            | Cause::Format(m)
            | Cause::Gradient(m)
            | Cause::LinAlg(m)
            | Cause::Failed(m)
            | Cause::Unsupported(m) => f.write_str(m),
        }
    }
}

/// `1536` as `1.5 KiB`.
pub fn bytes(n: usize) -> String {
    const UNITS: [&str; 7] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut v = n as f64;
    let mut u = 0;
    while v >= 1024.0 && u + 1 < UNITS.len() {
        v /= 1024.0;
        u += 1;
    }
    if u == 0 { format!("{n} bytes") } else { format!("{v:.1} {}", UNITS[u]) }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let r = &*self.0;
        if !r.op.is_empty() {
            // Rows that have no name of their own in a face are marked: `_full`, `_np_reshape`.
            let name = r.op.trim_start_matches('_');
            write!(f, "{}: ", name.strip_prefix("np_").unwrap_or(name))?;
        }
        write!(f, "{}", r.cause)?;
        if !r.inputs.is_empty() {
            let list: Vec<_> = r.inputs.iter().map(|(s, d)| format!("{d} {s}")).collect();
            write!(f, "\n  inputs: {}", list.join(", "))?;
        }
        if r.site.is_known() {
            write!(f, "\n  at {}", r.site.describe())?;
        }
        if let Some((what, site)) = r.other
            && site.is_known()
        {
            write!(f, "\n  {what} at {}", site.describe())?;
        }
        Ok(())
    }
}
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text() {
        let e = Error::new(Cause::Broadcast { lhs: Dims::of(&[2, 3]), rhs: Dims::of(&[4]) }).in_op("broadcast_add");
        assert_eq!(e.to_string(), "broadcast_add: cannot broadcast (2, 3) with (4,)");
        let e = e.in_op("outer").with_inputs([(Dims::of(&[2]), DType::F32)]);
        assert_eq!(e.report().op, "broadcast_add");
        assert!(e.to_string().ends_with("inputs: float32 (2,)"));
        assert_eq!(bytes(1536), "1.5 KiB");
    }
}
