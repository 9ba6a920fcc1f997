//! In which of five types an operation on an element type computes.
use gluonish_base::DType;

/// The type of the lanes of a loop. Narrower element types are widened when they are loaded and narrowed when stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Class {
    /// Also float16 and bfloat16.
    F32,
    F64,
    /// Also int8, int16, uint8, uint16 and bool.
    I32,
    /// Also uint32.
    I64,
    U64,
}

impl Class {
    pub const COUNT: usize = 5;
    pub const ALL: [Class; Class::COUNT] = [Class::F32, Class::F64, Class::I32, Class::I64, Class::U64];

    /// The class that computes for elements of type `d`.
    #[inline(always)]
    pub const fn of(d: DType) -> Class {
        match d {
            DType::F32 | DType::F16 | DType::BF16 => Class::F32,
            DType::F64 => Class::F64,
            DType::I32 | DType::I16 | DType::I8 | DType::U16 | DType::U8 | DType::Bool => Class::I32,
            DType::I64 | DType::U32 => Class::I64,
            DType::U64 => Class::U64,
        }
    }
    /// The element type of the lanes themselves.
    #[inline(always)]
    pub const fn dtype(self) -> DType {
        match self {
            Class::F32 => DType::F32,
            Class::F64 => DType::F64,
            Class::I32 => DType::I32,
            Class::I64 => DType::I64,
            Class::U64 => DType::U64,
        }
    }
    /// Bytes of one lane.
    #[inline(always)]
    pub const fn size(self) -> usize {
        self.dtype().size()
    }
    pub const fn is_float(self) -> bool {
        matches!(self, Class::F32 | Class::F64)
    }
}
