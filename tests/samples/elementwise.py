"""Samples: elementwise ops, and those that make arrays from nothing."""

from __future__ import annotations

import math

import numpy as np
from ops.sampling import (
    ALL,
    FLOATS,
    INTS,
    NUMBERS,
    binary,
    index,
    mask,
    number,
    real,
    refuse,
    sample,
    unary,
)

_erf = np.vectorize(math.erf, otypes=[float])
_erfc = np.vectorize(math.erfc, otypes=[float])


def _gelu(x):
    """With its limit, 0, at minus infinity."""
    return np.where(x == -np.inf, np.zeros_like(x), x * 0.5 * _erfc(-x / math.sqrt(2)))


def _gelu_grad(x, dy):
    near = np.clip(x, -100, 100)
    return dy * (0.5 * _erfc(-x / math.sqrt(2)) + near * np.exp(-near * near / 2) / math.sqrt(2 * math.pi))


def _sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


# Functions of one array.
unary("negative", np.negative, result="same", dtypes=NUMBERS, exact=True)
unary("abs", np.abs, result="same", away=(0,), exact=True)
unary("sign", np.sign, result="same", dtypes=NUMBERS, grad=(), exact=True)
unary("square", np.square, result="same", exact=True)
unary("sqrt", np.sqrt, 0.2, 4, exact=True)
unary("rsqrt", lambda x: 1 / np.sqrt(x), 0.2, 4)
unary("cbrt", np.cbrt, 0.2, 4)
unary("reciprocal", lambda x: 1 / x, away=(0,))
unary("exp", np.exp)
unary("expm1", np.expm1)
unary("log", np.log, 0.2, 4)
unary("log2", np.log2, 0.2, 4)
unary("log10", np.log10, 0.2, 4)
unary("log1p", np.log1p, -0.7, 4)
unary("sin", np.sin)
unary("cos", np.cos)
unary("tan", np.tan, -1.2, 1.2)
unary("arcsin", np.arcsin, -0.9, 0.9)
unary("arccos", np.arccos, -0.9, 0.9)
unary("arctan", np.arctan)
unary("sinh", np.sinh)
unary("cosh", np.cosh)
unary("tanh", np.tanh)
unary("arcsinh", np.arcsinh)
unary("arccosh", np.arccosh, 1.2, 4, dtypes=NUMBERS)
unary("arctanh", np.arctanh, -0.9, 0.9, dtypes=NUMBERS)
unary("floor", np.floor, -30, 30, result="same", grad=(), exact=True)
unary("ceil", np.ceil, -30, 30, result="same", grad=(), exact=True)
unary("trunc", np.trunc, -30, 30, result="same", grad=(), exact=True)
unary("rint", np.rint, -30, 30, grad=(), exact=True)
unary("round", lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), -30, 30, result="same", grad=(), exact=True,
      dtypes=(*INTS, "float32", "float64"))  # fmt: skip
unary("rcbrt", lambda x: 1 / np.cbrt(x), 0.2, 4)
for _attrs in ({}, {"alpha": 0.5, "beta": 0.1}):
    sample("hard_sigmoid", real(2, 3, low=-2, high=-0.5), attrs=_attrs, dtypes=FLOATS, grad=(0,), rtol=2, atol=2,
           ref=lambda x, alpha=0.2, beta=0.5: np.clip(alpha * x + beta, 0, 1), edge=[((),), ((0, 3),), ((31, 17),)],
           bad=[refuse("alpha='x'", alpha="x")])  # fmt: skip
unary("relu", lambda x: np.maximum(x, 0), result="same", away=(0,), exact=True)
unary("sigmoid", _sigmoid, rtol=2)
unary("log_sigmoid", lambda x: -np.logaddexp(0, -x), rtol=2)
unary("softsign", lambda x: x / (1 + np.abs(x)), away=(0,), rtol=2)
unary("erf", _erf)
unary("gelu", _gelu, rtol=4)
unary("degrees", np.degrees, dtypes=NUMBERS)
unary("radians", np.radians, dtypes=NUMBERS)
unary("logical_not", np.logical_not, result="bool", grad=(), exact=True)

# Arithmetic of two arrays.
_small = {"low": -20, "high": 20}
_positive = real(2, 3, low=0.3, high=3)
for _op, _ref, _result in (("add", np.add, "count"), ("sub", np.subtract, "count"), ("mul", np.multiply, "same"),
                           ("div", np.divide, "float")):  # fmt: skip
    sample(f"elemwise_{_op}", real(2, 3), real(2, 3, away=(0,)), ref=_ref, result=_result, grad=(0, 1), exact=True,
           dtypes=FLOATS if _op == "div" else ALL, edge=[((), ()), ((0, 3), (0, 3)), ((7,), (7,))],
           bad=[refuse(f"elemwise_{_op}", "(2, 3)", "(3,)", "broadcast", shapes=((2, 3), (3,)))])  # fmt: skip
for _n in (1, 2, 3, 4, 6, 30):
    sample(
        "add_n",
        *[real(2, 3)] * _n,
        ref=lambda *args: sum(args),
        grad=tuple(range(min(_n, 3))),
        dtypes=NUMBERS,
        exact=True,
        rtol=4,
        atol=8 + 2 * _n,
        edge=[((),) * _n, ((0, 3),) * _n, ((7, 1, 2),) * _n],
        big=((3, 70001),) * _n,
        bad=[refuse("add_n", "one shape", "(2, 3)", "(3,)", shapes=((2, 3),) * (_n - 1) + ((3,),))] if _n > 1 else [],
    )
binary("broadcast_add", np.add, result="count", exact=True)
binary("broadcast_sub", np.subtract, result="count", exact=True)
binary("broadcast_mul", np.multiply, exact=True)
binary("broadcast_div", np.divide, b=real(2, 3, away=(0,)), result="float", exact=True)
binary("broadcast_mod", np.mod, real(2, 3, away=(0,)), real(2, 3, low=4, high=5), dtypes=FLOATS, atol=32)
binary("broadcast_mod", np.mod, real(2, 3, **_small), real(2, 3, low=-5, high=5), dtypes=INTS, grad=(), exact=True)
binary("floor_divide", np.floor_divide, real(2, 3, **_small), real(2, 3, away=(0,)), dtypes=FLOATS, grad=())
binary("floor_divide", np.floor_divide, real(2, 3, **_small), real(2, 3, low=-5, high=5), dtypes=INTS, grad=())
binary("broadcast_power", np.power, _positive, real(2, 3, low=-2, high=3), dtypes=FLOATS, rtol=2)
binary("broadcast_power", np.power, real(2, 3, low=0, high=4), real(2, 3, low=0, high=3), dtypes=INTS, grad=())
binary("broadcast_maximum", np.maximum, exact=True)
binary("broadcast_minimum", np.minimum, exact=True)
binary("broadcast_hypot", np.hypot, _positive, real(2, 3, away=(0,)), result="float")
binary("_gelu_grad", _gelu_grad, result="float", rtol=8, atol=8)
binary("arctan2", np.arctan2, real(2, 3, away=(0,)), real(2, 3, away=(0,)), result="float", dtypes=NUMBERS)


def _clip(x, low, high):
    return np.minimum(np.maximum(x, low), high)


sample("clip", real(2, 3), real(2, 3, low=-2, high=-1), real(2, 3, low=1, high=2), ref=_clip, dtypes=FLOATS,
       grad=(0, 1, 2), edge=[((), (), ()), ((0, 3), (3,), ()), ((2, 1), (3,), (2, 3))], exact=True)  # fmt: skip
sample("clip", real(5, 3, **_small), number(1), number(7), ref=_clip, dtypes=NUMBERS, grad=(0,),
       big=((3, 70001), (), ()), exact=True)  # fmt: skip
sample("where", mask(2, 3), real(2, 3), real(2, 3), ref=np.where, grad=(1, 2), exact=True,
       edge=[((), (), ()), ((0,), (1,), ()), ((2, 1), (3,), (4, 1, 1))], big=((3, 70001),) * 3,
       bad=[refuse("where", "cannot broadcast", shapes=((2, 3), (4,), (4,)))])  # fmt: skip
sample("where", real(4, 5, dtype="float32"), real(5), real(4, 1), ref=np.where, grad=(1, 2), exact=True)  # 0.5 is true
sample("where", index(4, 5, n=2, dtype="float32"), real(5), real(4, 1), ref=np.where, grad=(1, 2), exact=True)

sample("_where", mask(2, 3), real(2, 3), real(2, 1), ref=np.where, grad=(1, 2), exact=True)
sample("_np_where", mask(3), real(3, 3), real(3, 3), ref=np.where, grad=(1, 2), exact=True)

# Comparisons and logic.
_bits = index(2, 3, n=2, dtype="int8")
for _op, _ref in (("equal", np.equal), ("not_equal", np.not_equal), ("greater", np.greater), ("greater_equal",
                  np.greater_equal),
                  ("lesser", np.less), ("lesser_equal", np.less_equal)):  # fmt: skip
    binary(f"broadcast_{_op}", _ref, result="bool", grad=(), exact=True)
    sample(f"broadcast_{_op}", _bits, _bits, ref=_ref, dtypes=("int8",), result="bool", exact=True)  # many are alike
for _op, _ref in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)):
    binary(f"broadcast_logical_{_op}", _ref, result="bool", grad=(), exact=True)
    sample(f"broadcast_logical_{_op}", _bits, _bits, ref=_ref, dtypes=("int8",), result="bool", exact=True)

# Arrays from nothing.
sample("_full", number(2.5), attrs={"shape": (2, 3), "dtype": "float64"}, ref=lambda v, shape, dtype: np.full(shape, v,
       dtype),
       dtypes=("float64",), result="float64", exact=True, bad=[refuse("_full", "shape", shape=(-1,))])  # fmt: skip
sample("_full", number(7), attrs={"shape": (0, 5), "dtype": "uint8"}, ref=lambda v, shape, dtype: np.full(shape, v,
       dtype),
       dtypes=("uint8",), result="uint8", exact=True)  # fmt: skip
for _start, _step, _dtype in ((1, 2, "int32"), (0.5, -0.25, "float32"), (-3, 1, "float16")):
    sample("_arange", number(_start), number(_step), attrs={"size": (11,), "dtype": _dtype}, dtypes=(_dtype,),
           result=_dtype,
           ref=lambda a, s, size, dtype: (a + s * np.arange(size[0])).astype(dtype), exact=True)  # fmt: skip
_like = {"edge": [((),), ((0, 2),), ((7,),)], "exact": True}
sample("zeros_like", real(2, 3), ref=np.zeros_like, **_like)
sample("ones_like", real(2, 3), ref=np.ones_like, **_like)


# Rows for tests of the mechanisms.
sample("_test_accumulate", real(2, 3), real(2, 3), ref=np.add, grad=(0,), dtypes=NUMBERS, exact=True,
       bad=[refuse("_test_accumulate", "(2, 3)", "(3,)", shapes=((2, 3), (3,)))])  # fmt: skip
sample("_test_fail", real(2, 3), ref=np.copy, grad=(0,), exact=True, bad=[refuse("how='sing'", how="sing")])
