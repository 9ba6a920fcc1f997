//! Comparisons and logic: results are bool, no gradient flows.
use crate::binary::binary;
use crate::def::{Grad, rows};
use gluonish_kernels::map;

rows! {
    EQUAL = binary(&["broadcast_equal", "equal"], "Whether `lhs == rhs`.", map!(compare |i, a, b| i.eq(a, b)))
        .np(&["equal"]).operator("eq").no_grad(Grad::Zero).onnx("Equal");
    NOT_EQUAL = binary(&["broadcast_not_equal", "not_equal"], "Whether `lhs != rhs`.", map!(compare |i, a, b| i.ne(a, b)))
        .np(&["not_equal"]).operator("ne").no_grad(Grad::Zero);
    GREATER = binary(&["broadcast_greater", "greater"], "Whether `lhs > rhs`.", map!(compare |i, a, b| i.lt(b, a)))
        .np(&["greater"]).operator("gt").no_grad(Grad::Zero).onnx("Greater");
    GREATER_EQUAL = binary(&["broadcast_greater_equal", "greater_equal"], "Whether `lhs >= rhs`.", map!(compare |i, a, b| i.le(b, a)))
        .np(&["greater_equal"]).operator("ge").no_grad(Grad::Zero).onnx("GreaterOrEqual");
    LESS = binary(&["broadcast_lesser", "lesser"], "Whether `lhs < rhs`.", map!(compare |i, a, b| i.lt(a, b)))
        .np(&["less"]).operator("lt").no_grad(Grad::Zero).onnx("Less");
    LESS_EQUAL = binary(&["broadcast_lesser_equal", "lesser_equal"], "Whether `lhs <= rhs`.", map!(compare |i, a, b| i.le(a, b)))
        .np(&["less_equal"]).operator("le").no_grad(Grad::Zero).onnx("LessOrEqual");
    LOGICAL_AND = binary(&["broadcast_logical_and", "logical_and"], "Whether both are not 0.",
            map!(compare |i, a, b| i.and(i.truth(a), i.truth(b))))
        .np(&["logical_and"]).no_grad(Grad::Zero).onnx("And");
    LOGICAL_OR = binary(&["broadcast_logical_or", "logical_or"], "Whether one of the two is not 0.",
            map!(compare |i, a, b| i.or(i.truth(a), i.truth(b))))
        .np(&["logical_or"]).no_grad(Grad::Zero).onnx("Or");
    LOGICAL_XOR = binary(&["broadcast_logical_xor", "logical_xor"], "Whether exactly one of the two is not 0.",
            map!(compare |i, a, b| i.xor(i.truth(a), i.truth(b))))
        .np(&["logical_xor"]).no_grad(Grad::Zero).onnx("Xor");
}
