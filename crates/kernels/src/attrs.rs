//! Attribute values as kernels see them: in the order of the row, parsed and checked once at the edge, no names.
use gluonish_base::{DType, Dims};
use smallvec::SmallVec;

/// The value of one attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AttrVal {
    /// Not given, where the row allows that.
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Ints(Dims),
    DType(DType),
    /// One of the row's words, by position.
    Choice(u8),
}

/// The attributes of one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attrs(pub SmallVec<[AttrVal; 4]>);

impl Attrs {
    /// None, for ops without attributes.
    pub const EMPTY: Attrs = Attrs(SmallVec::new_const());

    /// As `EMPTY`, without writing the places of four.
    #[inline(always)]
    pub fn new() -> Attrs {
        Attrs(SmallVec::new())
    }
    pub fn of(v: &[AttrVal]) -> Attrs {
        Attrs(SmallVec::from_slice(v))
    }

    // Readers for a value whose type the row has fixed: the edge has checked it, so the other arms cannot happen; they
    // give a harmless default rather than a panic.
    #[inline]
    pub fn bool(&self, i: usize) -> bool {
        matches!(self.0.get(i), Some(AttrVal::Bool(true)))
    }
    #[inline]
    pub fn int(&self, i: usize) -> i64 {
        self.opt_int(i).unwrap_or(0)
    }
    #[inline]
    pub fn opt_int(&self, i: usize) -> Option<i64> {
        if let Some(AttrVal::Int(v)) = self.0.get(i) { Some(*v) } else { None }
    }
    #[inline]
    pub fn float(&self, i: usize) -> f64 {
        match self.0.get(i) {
            Some(AttrVal::Float(v)) => *v,
            Some(AttrVal::Int(v)) => *v as f64,
            _ => 0.0,
        }
    }
    #[inline]
    pub fn opt_float(&self, i: usize) -> Option<f64> {
        if let Some(AttrVal::None) = self.0.get(i) { None } else { Some(self.float(i)) }
    }
    #[inline]
    pub fn ints(&self, i: usize) -> Option<&Dims> {
        if let Some(AttrVal::Ints(d)) = self.0.get(i) { Some(d) } else { None }
    }
    #[inline]
    pub fn dtype(&self, i: usize) -> Option<DType> {
        if let Some(AttrVal::DType(d)) = self.0.get(i) { Some(*d) } else { None }
    }
    #[inline]
    pub fn choice(&self, i: usize) -> u8 {
        self.opt_choice(i).unwrap_or(0)
    }
    #[inline]
    pub fn opt_choice(&self, i: usize) -> Option<u8> {
        if let Some(AttrVal::Choice(c)) = self.0.get(i) { Some(*c) } else { None }
    }
}

impl std::ops::Deref for Attrs {
    type Target = [AttrVal];
    fn deref(&self) -> &[AttrVal] {
        &self.0
    }
}
