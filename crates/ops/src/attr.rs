//! Attributes: declared once with type, default, range and meaning; checked before anything runs.
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::AttrVal;

/// An entry of `Kind::Bounds` that is None.
pub const LEFT_OUT: isize = isize::MIN;

/// Bounds as Python writes them: `(1, None)`.
pub fn show_bounds(d: &Dims) -> String {
    d.to_string().replace(&LEFT_OUT.to_string(), "None")
}

/// An attribute of a row.
pub struct Attr {
    pub name: &'static str,
    /// The name in the `np` face where it differs; empty: the same.
    pub np_name: &'static str,
    pub kind: Kind,
    /// `None` as a default of a kind that has no None: the attribute must be given.
    pub default: AttrVal,
    /// The default of the `np` face where it differs.
    pub np_default: Option<AttrVal>,
    /// Another name that the `np` face knows as a keyword; empty: none.
    pub also: &'static str,
    /// Which faces have it.
    pub nd: bool,
    pub np: bool,
    /// As a method's arguments, the integers may also be given one by one.
    pub spread: bool,
    /// An empty list means None where the call is Gluon's, as it does there.
    pub empty_is_none: bool,
    pub doc: &'static str,
}

/// The type of an attribute.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    Bool,
    Int {
        min: i64,
        max: i64,
    },
    OptInt,
    Float {
        min: f64,
        max: f64,
    },
    OptFloat,
    /// A tuple of integers, or one integer.
    Ints,
    OptInts,
    /// A tuple of integers of which some may be None, or one integer; None alone is an empty one.
    Bounds,
    DType,
    OptDType,
    /// One of these words.
    Choice(&'static [&'static str]),
    OptChoice(&'static [&'static str]),
}

impl Kind {
    /// In words, for messages and documentation.
    pub fn describe(&self) -> String {
        match self {
            Kind::Bool => "True or False".into(),
            Kind::Int { min, max } => range("an integer", *min > i64::MIN, min, *max < i64::MAX, max),
            Kind::OptInt => "an integer or None".into(),
            Kind::Float { min, max } => range("a number", min.is_finite(), min, max.is_finite(), max),
            Kind::OptFloat => "a number or None".into(),
            Kind::Ints => "an integer or a tuple of integers".into(),
            Kind::OptInts => "an integer, a tuple of integers or None".into(),
            Kind::Bounds => "an integer or a tuple of integers and None".into(),
            Kind::DType => "a dtype".into(),
            Kind::OptDType => "a dtype or None".into(),
            Kind::Choice(words) => format!("one of {}", list(words, "'")),
            Kind::OptChoice(words) => format!("one of {} or None", list(words, "'")),
        }
    }

    /// How Python's type checkers write it.
    pub fn annotation(&self) -> String {
        match self {
            Kind::Bool => "bool".into(),
            Kind::Int { .. } => "int".into(),
            Kind::OptInt => "int | None".into(),
            Kind::Float { .. } => "float".into(),
            Kind::OptFloat => "float | None".into(),
            Kind::Ints => "int | Sequence[int]".into(),
            Kind::OptInts => "int | Sequence[int] | None".into(),
            Kind::Bounds => "int | Sequence[int | None] | None".into(),
            Kind::DType => "DTypeLike".into(),
            Kind::OptDType => "DTypeLike | None".into(),
            Kind::Choice(words) => format!("Literal[{}]", list(words, "\"")),
            Kind::OptChoice(words) => format!("Literal[{}] | None", list(words, "\"")),
        }
    }
}

/// Words in quotes, with commas between.
fn list(words: &[&str], quote: &str) -> String {
    words.iter().map(|w| format!("{quote}{w}{quote}")).collect::<Vec<_>>().join(", ")
}

fn range(what: &str, has_min: bool, min: impl std::fmt::Display, has_max: bool, max: impl std::fmt::Display) -> String {
    match (has_min, has_max) {
        (true, true) => format!("{what} from {min} to {max}"),
        (true, false) => format!("{what} of at least {min}"),
        (false, true) => format!("{what} of at most {max}"),
        (false, false) => what.into(),
    }
}

impl Attr {
    const fn new(name: &'static str, kind: Kind, default: AttrVal, doc: &'static str) -> Attr {
        Attr {
            name,
            np_name: "",
            also: "",
            kind,
            default,
            np_default: None,
            nd: true,
            np: true,
            spread: false,
            empty_is_none: false,
            doc,
        }
    }
    pub const fn bool(name: &'static str, default: bool, doc: &'static str) -> Attr {
        Attr::new(name, Kind::Bool, AttrVal::Bool(default), doc)
    }
    pub const fn int(name: &'static str, default: i64, doc: &'static str) -> Attr {
        Attr::new(name, Kind::Int { min: i64::MIN, max: i64::MAX }, AttrVal::Int(default), doc)
    }
    /// An integer that must be given.
    pub const fn int_required(name: &'static str, doc: &'static str) -> Attr {
        Attr::new(name, Kind::Int { min: i64::MIN, max: i64::MAX }, AttrVal::None, doc)
    }
    pub const fn opt_int(name: &'static str, doc: &'static str) -> Attr {
        Attr::new(name, Kind::OptInt, AttrVal::None, doc)
    }
    pub const fn float(name: &'static str, default: f64, doc: &'static str) -> Attr {
        let kind = Kind::Float { min: f64::NEG_INFINITY, max: f64::INFINITY };
        Attr::new(name, kind, AttrVal::Float(default), doc)
    }
    pub const fn opt_float(name: &'static str, doc: &'static str) -> Attr {
        Attr::new(name, Kind::OptFloat, AttrVal::None, doc)
    }
    /// A shape or a list of axes that must be given.
    pub const fn ints(name: &'static str, doc: &'static str) -> Attr {
        Attr::new(name, Kind::Ints, AttrVal::None, doc)
    }
    pub const fn opt_ints(name: &'static str, doc: &'static str) -> Attr {
        Attr::new(name, Kind::OptInts, AttrVal::None, doc)
    }
    /// The bounds of a slice that must be given.
    pub const fn bounds(name: &'static str, doc: &'static str) -> Attr {
        Attr::new(name, Kind::Bounds, AttrVal::None, doc)
    }
    pub const fn opt_bounds(name: &'static str, doc: &'static str) -> Attr {
        Attr::new(name, Kind::Bounds, AttrVal::Ints(Dims::EMPTY), doc)
    }
    pub const fn dtype(name: &'static str, default: DType, doc: &'static str) -> Attr {
        Attr::new(name, Kind::DType, AttrVal::DType(default), doc)
    }
    pub const fn dtype_required(name: &'static str, doc: &'static str) -> Attr {
        Attr::new(name, Kind::DType, AttrVal::None, doc)
    }
    pub const fn opt_dtype(name: &'static str, doc: &'static str) -> Attr {
        Attr::new(name, Kind::OptDType, AttrVal::None, doc)
    }
    pub const fn choice(name: &'static str, words: &'static [&'static str], default: u8, doc: &'static str) -> Attr {
        Attr::new(name, Kind::Choice(words), AttrVal::Choice(default), doc)
    }
    /// One of several words, which must be given.
    pub const fn choice_required(name: &'static str, words: &'static [&'static str], doc: &'static str) -> Attr {
        Attr::new(name, Kind::Choice(words), AttrVal::None, doc)
    }
    pub const fn opt_choice(name: &'static str, words: &'static [&'static str], doc: &'static str) -> Attr {
        Attr::new(name, Kind::OptChoice(words), AttrVal::None, doc)
    }
    /// Bounds of an integer.
    pub const fn at_least(mut self, min: i64) -> Attr {
        if let Kind::Int { max, .. } = self.kind {
            self.kind = Kind::Int { min, max };
        }
        self
    }
    pub const fn between(mut self, min: i64, max: i64) -> Attr {
        self.kind = Kind::Int { min, max };
        self
    }
    /// Bounds of a number, both allowed.
    pub const fn within(mut self, min: f64, max: f64) -> Attr {
        self.kind = Kind::Float { min, max };
        self
    }
    /// The default of a kind that may be None but is not by itself.
    pub const fn defaulting(mut self, default: AttrVal) -> Attr {
        self.default = default;
        self
    }
    pub const fn np_default(mut self, default: AttrVal) -> Attr {
        self.np_default = Some(default);
        self
    }
    pub const fn np_name(mut self, name: &'static str) -> Attr {
        self.np_name = name;
        self
    }
    pub const fn also(mut self, name: &'static str) -> Attr {
        self.also = name;
        self
    }
    pub const fn spread(mut self) -> Attr {
        self.spread = true;
        self
    }
    pub const fn empty_is_none(mut self) -> Attr {
        self.empty_is_none = true;
        self
    }
    pub const fn only_nd(mut self) -> Attr {
        self.np = false;
        self
    }
    pub const fn only_np(mut self) -> Attr {
        self.nd = false;
        self
    }

    /// Whether a call may leave it out.
    pub fn is_required(&self) -> bool {
        self.default == AttrVal::None
            && !matches!(self.kind, Kind::OptInt | Kind::OptFloat | Kind::OptInts | Kind::OptDType | Kind::OptChoice(_))
    }

    /// The value as Python writes it.
    pub fn show(&self, v: &AttrVal) -> String {
        match v {
            AttrVal::None => "None".into(),
            AttrVal::Bool(b) => if *b { "True" } else { "False" }.into(),
            AttrVal::Int(i) => i.to_string(),
            AttrVal::Float(f) => format!("{f:?}"),
            AttrVal::Ints(d) if self.kind == Kind::Bounds => show_bounds(d),
            AttrVal::Ints(d) => d.to_string(),
            AttrVal::DType(d) => format!("'{d}'"),
            AttrVal::Choice(c) => match self.kind {
                Kind::Choice(words) | Kind::OptChoice(words) => {
                    format!("'{}'", words.get(*c as usize).copied().unwrap_or("?"))
                }
                _ => c.to_string(),
            },
        }
    }

    /// The error for a value that does not fit.
    #[cold]
    pub fn bad(&self, given: String) -> Cause {
        let expected = match self.kind {
            Kind::DType | Kind::OptDType => format!("one of {}", DType::ALL.map(|d| d.name()).join(", ")),
            kind => kind.describe(),
        };
        Cause::Attribute { name: self.name.into(), given, expected }
    }

    /// Checks the range of a value of the right type.
    #[inline]
    pub fn check(&self, v: &AttrVal) -> Result {
        let ok = match (self.kind, v) {
            (Kind::Int { min, max }, AttrVal::Int(i)) => min <= *i && *i <= max,
            (Kind::Float { min, max }, AttrVal::Float(f)) => {
                f.is_nan() && min == f64::NEG_INFINITY || min <= *f && *f <= max
            }
            _ => true,
        };
        if ok { Ok(()) } else { Err(self.bad(self.show(v)).into()) }
    }
}

/// An axis of `shape`, counted from the back when negative.
pub fn axis(axis: i64, shape: &Dims) -> Result<usize> {
    shape.axis(axis as isize).ok_or_else(|| Cause::Axis { axis, shape: *shape }.into())
}

/// Where a new axis of `shape` stands, counted from the back when negative.
pub fn new_axis(axis: i64, shape: &Dims) -> Result<usize> {
    let places = shape.len() as i64 + 1;
    let at = if axis < 0 { axis.saturating_add(places) } else { axis };
    if (0..places).contains(&at) { Ok(at as usize) } else { Err(Cause::Axis { axis, shape: *shape }.into()) }
}

/// As `axes`, for functions that let an array without axes be said to have axis 0 or -1, as NumPy's do.
pub fn axes_if_any(list: Option<&Dims>, exclude: bool, shape: &Dims) -> Result<u32> {
    let named = list.is_some_and(|list| matches!(list[..], [0 | -1]));
    if shape.is_empty() && named { Ok(0) } else { axes(list, exclude, shape) }
}

/// The set of axes that an optional list names: all when it is absent, else the others when `exclude` is set.
pub fn axes(list: Option<&Dims>, exclude: bool, shape: &Dims) -> Result<u32> {
    let all = ((1u64 << shape.len()) - 1) as u32;
    let Some(list) = list else { return Ok(all) };
    let mut set = 0;
    for &a in list.iter() {
        let bit = 1 << axis(a as i64, shape)?;
        if set & bit != 0 {
            return Err(Cause::Value(format!("axis {a} is given twice in {list}")).into());
        }
        set |= bit;
    }
    Ok(if exclude { all & !set } else { set })
}
