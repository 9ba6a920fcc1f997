"""Types and numbers that NumPy names, and bfloat16, which it does not."""

from typing import Final

from numpy import (
    bool_,
    e,
    euler_gamma,
    float16,
    float32,
    float64,
    inf,
    int8,
    int16,
    int32,
    int64,
    nan,
    newaxis,
    pi,
    uint8,
    uint16,
    uint32,
    uint64,
)

__all__ = [
    "bfloat16",
    "bool_",
    "e",
    "euler_gamma",
    "float16",
    "float32",
    "float64",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "nan",
    "newaxis",
    "pi",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

bfloat16: Final = "bfloat16"
