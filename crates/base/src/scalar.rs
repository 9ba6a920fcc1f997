//! A Python number that meets an array: it stays a number, with a type that yields to the array's.
use crate::dtype::DType;
use half::{bf16, f16};

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
}

impl Scalar {
    /// The type an array made from this number alone has.
    pub fn dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::I64,
            Scalar::Float(_) => DType::F32,
        }
    }

    #[inline(always)]
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => b as u8 as f64,
            Scalar::Int(i) => i as f64,
            Scalar::Float(f) => f,
        }
    }

    /// Truncates a float; saturates where it does not fit.
    #[inline(always)]
    pub fn as_i64(self) -> i64 {
        match self {
            Scalar::Bool(b) => b as i64,
            Scalar::Int(i) => i,
            Scalar::Float(f) => f as i64,
        }
    }

    /// Whether an element of type `d` can hold the value (floats: always, by rounding).
    pub fn fits(self, d: DType) -> bool {
        match (self, d.int_range()) {
            (Scalar::Int(i), Some((lo, hi))) => lo <= i as i128 && i as i128 <= hi,
            _ => true,
        }
    }

    /// The value as an element of type `d`, in the first `d.size()` bytes.
    pub fn to_bytes(self, d: DType) -> [u8; 8] {
        let mut out = [0; 8];
        macro_rules! put {
            ($v:expr) => {{
                let b = $v.to_ne_bytes();
                out[..b.len()].copy_from_slice(&b);
            }};
        }
        match d {
            DType::Bool => out[0] = (self.as_f64() != 0.0) as u8,
            DType::U8 => put!(self.as_i64() as u8),
            DType::U16 => put!(self.as_i64() as u16),
            DType::U32 => put!(self.as_i64() as u32),
            DType::U64 => put!(self.as_i64() as u64),
            DType::I8 => put!(self.as_i64() as i8),
            DType::I16 => put!(self.as_i64() as i16),
            DType::I32 => put!(self.as_i64() as i32),
            DType::I64 => put!(self.as_i64()),
            DType::F16 => put!(f16::from_f64(self.as_f64())),
            DType::BF16 => put!(bf16::from_f64(self.as_f64())),
            DType::F32 => put!((self.as_f64() as f32)),
            DType::F64 => put!(self.as_f64()),
        }
        out
    }
}

impl From<f64> for Scalar {
    fn from(v: f64) -> Scalar {
        Scalar::Float(v)
    }
}
impl From<i64> for Scalar {
    fn from(v: i64) -> Scalar {
        Scalar::Int(v)
    }
}
impl From<bool> for Scalar {
    fn from(v: bool) -> Scalar {
        Scalar::Bool(v)
    }
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scalar::Bool(b) => write!(f, "{}", if *b { "True" } else { "False" }),
            Scalar::Int(i) => write!(f, "{i}"),
            Scalar::Float(v) => write!(f, "{v:?}"),
        }
    }
}
