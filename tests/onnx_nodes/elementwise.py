"""Elementwise functions."""

from __future__ import annotations

from functools import reduce
from typing import Any

from gluonish import nd
from gluonish import np as mnp
from onnx_nodes.translation import Attributes, Case, node, nodes

# ONNX's names and NumPy's.
SAME = """
    Abs abs, Acos arccos, Acosh arccosh, Asin arcsin, Asinh arcsinh, Atan arctan, Atanh arctanh, BitwiseNot bitwise_not,
    Ceil ceil, Cos cos, Cosh cosh, Exp exp, Floor floor, IsNaN isnan, Log log, Neg negative, Not logical_not,
    Reciprocal reciprocal, Round rint, Sign sign, Sin sin, Sinh sinh, Sqrt sqrt, Tan tan,
    Add add, And logical_and, BitwiseAnd bitwise_and, BitwiseOr bitwise_or, BitwiseXor bitwise_xor, Greater greater,
    GreaterOrEqual greater_equal, Less less, LessOrEqual less_equal, Mul multiply, Or logical_or, Sub subtract,
    Xor logical_xor, Where where
"""
nodes({op: lambda a, *xs, name=name: getattr(mnp, name)(*xs) for op, name in map(str.split, SAME.split(","))})

nodes(
    {
        "Erf": lambda a, x: nd.erf(x),
        "Max": lambda a, *xs: reduce(mnp.maximum, xs),
        "Min": lambda a, *xs: reduce(mnp.minimum, xs),
        "Sum": lambda a, *xs: nd.add_n(*xs),
        "Mean": lambda a, *xs: nd.add_n(*xs) / len(xs),
        "Mod": lambda a, x, y: (mnp.fmod if a.fmod else mnp.mod)(x, y),
        "Pow": lambda a, x, y: mnp.power(x, y).astype(x.dtype),
        "Shrink": lambda a, x: mnp.where(mnp.abs(x) > a.lambd, x - mnp.sign(x) * a.bias, 0),
    }
)


def has_strings(case: Case) -> bool:
    return "object" in case.types


@node("Equal", left_out={"arrays here hold no strings": has_strings})
def equal(_: Attributes, x: Any, y: Any) -> Any:
    return mnp.equal(x, y)


@node("Div")
def quotient(_: Attributes, x: Any, y: Any) -> Any:
    if str(x.dtype).startswith("float"):
        return mnp.divide(x, y)
    whole = mnp.floor_divide(x, y)
    # Rounded towards 0, not down.
    return mnp.where(mnp.logical_and(whole < 0, whole * y != x), whole + 1, whole)


@node("BitShift")
def shift(a: Attributes, x: Any, y: Any) -> Any:
    return (mnp.left_shift if a.direction == "LEFT" else mnp.right_shift)(x, y)


@node("IsInf")
def infinite(a: Attributes, x: Any) -> Any:
    if a.detect_negative and a.detect_positive:
        return mnp.isinf(x)
    return mnp.isneginf(x) if a.detect_negative else mnp.isposinf(x)


@node("Clip")
def clip(_: Attributes, x: Any, low: Any = None, high: Any = None) -> Any:
    return x if low is None and high is None else mnp.clip(x, low, high)
