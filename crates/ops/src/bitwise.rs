//! Operations on the bits of integers; of bool, on truth values. Floats are refused, and no gradient flows.
use crate::binary::binary;
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Grad, Metas, Op, rows};
use crate::infer;
use crate::rows::LOGICAL_NOT;
use gluonish_base::{Cause, DType, Result};
use gluonish_kernels::map;

/// As `arithmetic`, but of integers and truth values alone.
fn bits(c: &Call<'_>, outs: &mut Metas) -> Result {
    infer::arithmetic(c, outs)?;
    if outs[0].dtype.is_float() {
        let text = format!("{} has no bits to work on: integers or bool are needed; use astype()", outs[0].dtype);
        return Err(Cause::DType(text).into());
    }
    Ok(())
}

/// Shifted truth values are small integers, as in NumPy.
fn shifted(c: &Call<'_>, outs: &mut Metas) -> Result {
    bits(c, outs)?;
    if outs[0].dtype == DType::Bool {
        outs[0].dtype = DType::I8;
    }
    Ok(())
}

rows! {
    BITWISE_AND = binary(&["bitwise_and"], "The bits that both have; of bool, whether both hold.", map!(int |i, a, b| i.bit_and(a, b)))
        .infer(bits).nd(&[]).operator("and").no_grad(Grad::Zero).onnx("BitwiseAnd");
    BITWISE_OR = binary(&["bitwise_or"], "The bits that either has; of bool, whether one holds.", map!(int |i, a, b| i.bit_or(a, b)))
        .infer(bits).nd(&[]).operator("or").no_grad(Grad::Zero).onnx("BitwiseOr");
    BITWISE_XOR = binary(&["bitwise_xor"], "The bits that one of the two has; of bool, whether they differ.", map!(int |i, a, b| i.bit_xor(a, b)))
        .infer(bits).nd(&[]).operator("xor").no_grad(Grad::Zero).onnx("BitwiseXor");
    LEFT_SHIFT = binary(&["left_shift"], "The bits moved to the left; 0 where `rhs` is negative or at least the width.", map!(int |i, a, b| i.shl(a, b)))
        .infer(shifted).nd(&[]).np(&["left_shift", "bitwise_left_shift"]).operator("lshift").no_grad(Grad::Zero);
    RIGHT_SHIFT = binary(&["right_shift"], "The bits moved to the right; the sign stays.", map!(int |i, a, b| i.shr(a, b)))
        .infer(shifted).nd(&[]).np(&["right_shift", "bitwise_right_shift"]).operator("rshift").no_grad(Grad::Zero);
    INTEGER_NOT = Op::new("_bitwise_not", "All bits of an integer changed.", DATA, Body::Map(map!(int |i, x| i.bit_not(x))))
        .infer(bits).cost(Cost::Map).in_place().internal().no_grad(Grad::Zero);
    BITWISE_NOT = Op::new("bitwise_not", "All bits changed; of bool, whether it does not hold.", DATA, Body::Compose(|r, ins| {
            r.unary_op(if r.dtype(ins[0]) == DType::Bool { &LOGICAL_NOT } else { &INTEGER_NOT }, ins[0])
        }))
        .np(&["bitwise_not", "invert", "bitwise_invert"]).np_inputs(&["x"]).operator("invert").no_grad(Grad::Zero).onnx("BitwiseNot");
}
