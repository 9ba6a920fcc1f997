//! Element types, their names, and how two of them combine.
use crate::scalar::Scalar;

/// The type of an array's elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum DType {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    BF16,
    F32,
    F64,
}
use DType::*;

/// What family an element type belongs to; the order is the order of promotion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Family {
    Bool,
    Int,
    Float,
}

impl DType {
    pub const ALL: [DType; 13] = [Bool, U8, U16, U32, U64, I8, I16, I32, I64, F16, BF16, F32, F64];

    /// Bytes of one element.
    #[inline(always)]
    pub const fn size(self) -> usize {
        match self {
            Bool | U8 | I8 => 1,
            U16 | I16 | F16 | BF16 => 2,
            U32 | I32 | F32 => 4,
            U64 | I64 | F64 => 8,
        }
    }

    /// NumPy's name.
    pub const fn name(self) -> &'static str {
        match self {
            Bool => "bool",
            U8 => "uint8",
            U16 => "uint16",
            U32 => "uint32",
            U64 => "uint64",
            I8 => "int8",
            I16 => "int16",
            I32 => "int32",
            I64 => "int64",
            F16 => "float16",
            BF16 => "bfloat16",
            F32 => "float32",
            F64 => "float64",
        }
    }

    pub fn parse(name: &str) -> Option<DType> {
        let name = if name == "bool_" { "bool" } else { name };
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// The inverse of `self as u8`.
    pub fn from_index(index: u8) -> Option<DType> {
        DType::ALL.get(index as usize).copied()
    }

    #[inline(always)]
    pub const fn family(self) -> Family {
        match self {
            Bool => Family::Bool,
            F16 | BF16 | F32 | F64 => Family::Float,
            _ => Family::Int,
        }
    }
    #[inline(always)]
    pub const fn is_float(self) -> bool {
        self as u8 >= F16 as u8
    }
    #[inline(always)]
    pub const fn is_int(self) -> bool {
        !self.is_float() && !matches!(self, Bool)
    }
    pub const fn is_signed(self) -> bool {
        self as u8 >= I8 as u8
    }

    /// The smallest and largest value of an integer type; (0, 1) for bool.
    pub const fn int_range(self) -> Option<(i128, i128)> {
        let bits = self.size() * 8;
        match self {
            Bool => Some((0, 1)),
            U8 | U16 | U32 | U64 => Some((0, (1i128 << bits) - 1)),
            I8 | I16 | I32 | I64 => Some((-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)),
            _ => None,
        }
    }

    /// The largest number up to which the type holds every whole number from 0 on.
    pub fn largest_count(self) -> u64 {
        match self {
            Bool => 1,
            BF16 => 1 << 8,
            F16 => 1 << 11,
            F32 => 1 << 24,
            F64 => 1 << 53,
            _ => self.int_range().map_or(0, |(_, most)| most as u64),
        }
    }

    /// NumPy 2's promotion, except that an integer with a floating type gives the floating type: no silent float64.
    #[inline]
    pub fn promote(self, other: DType) -> DType {
        if self == other {
            return self;
        }
        promote_slow(self, other)
    }

    /// A Python scalar is weak: it changes the family at most, never the width.
    #[inline]
    pub fn with_scalar(self, s: Scalar) -> DType {
        match (self.family(), s) {
            (Family::Float, _) | (_, Scalar::Bool(_)) | (Family::Int, Scalar::Int(_)) => self,
            (_, Scalar::Float(_)) => F32,
            (Family::Bool, Scalar::Int(_)) => I64,
        }
    }

    /// The type in which a function on real numbers (exp, division) computes: integers become float32.
    #[inline]
    pub const fn to_float(self) -> DType {
        if self.is_float() { self } else { F32 }
    }

    /// The type in which values are gathered: halves have too short a range, and too few digits, for sums.
    #[inline]
    pub const fn gathering(self) -> DType {
        match self {
            F16 | BF16 => F32,
            other => other,
        }
    }
}

#[cold]
fn promote_slow(a: DType, b: DType) -> DType {
    let (lo, hi) = if a.family() <= b.family() { (a, b) } else { (b, a) };
    match (lo.family(), hi.family()) {
        (Family::Bool, _) | (Family::Int, Family::Float) => hi,
        (Family::Float, Family::Float) => match (lo, hi) {
            (F16, BF16) | (BF16, F16) => F32,
            _ => lo.max(hi), // the widest: the enum lists them in that order
        },
        _ if lo.is_signed() == hi.is_signed() => {
            if lo.size() >= hi.size() {
                lo
            } else {
                hi
            }
        }
        _ => {
            let (signed, unsigned) = if lo.is_signed() { (lo, hi) } else { (hi, lo) };
            if signed.size() > unsigned.size() {
                return signed;
            }
            match unsigned.size() {
                1 => I16,
                2 => I32,
                4 => I64,
                _ => F64, // NumPy's answer for int64 with uint64: no integer type holds both
            }
        }
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_is_symmetric_and_never_narrows() {
        for a in DType::ALL {
            for b in DType::ALL {
                let p = a.promote(b);
                assert_eq!(p, b.promote(a));
                assert!(p.family() >= a.family() && p.family() >= b.family());
                assert_eq!(p.promote(a), p, "{a} {b}");
            }
        }
        assert_eq!(I32.promote(F16), F16);
        assert_eq!(U8.promote(I8), I16);
        assert_eq!(U32.promote(I32), I64);
        assert_eq!(U64.promote(I64), F64);
        assert_eq!(F16.promote(BF16), F32);
    }

    #[test]
    fn counts_are_held_exactly() {
        assert_eq!([Bool, U8, I8, U64].map(DType::largest_count), [1, 255, 127, u64::MAX]);
        assert_eq!(F32.largest_count() as f32 as u64, F32.largest_count());
        assert_ne!((F32.largest_count() + 1) as f32 as u64, F32.largest_count() + 1);
        assert_ne!(half::f16::from_f64(2049.0).to_f64(), 2049.0);
        assert_ne!(half::bf16::from_f64(257.0).to_f64(), 257.0);
    }

    #[test]
    fn names_round_trip() {
        for d in DType::ALL {
            assert_eq!(DType::parse(d.name()), Some(d));
            assert_eq!(DType::from_index(d as u8), Some(d));
        }
        assert_eq!(DType::parse("complex64"), None);
    }
}
