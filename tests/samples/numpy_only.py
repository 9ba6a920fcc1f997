"""Samples: elementwise functions that NumPy has and MXNet has not."""

from __future__ import annotations

import numpy as np
from ops.sampling import FLOATS, INTS, binary, index, number, real, refuse, sample, unary

# What tells numbers apart: the special values are the driver's.
for _op in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"):
    unary(_op, getattr(np, _op), result="bool", grad=(), exact=True, dtypes=(*FLOATS, *INTS))
unary("exp2", np.exp2)

binary("fmax", np.fmax, exact=True)
binary("fmin", np.fmin, exact=True)
binary("fmod", np.fmod, real(2, 3, away=(0,)), real(2, 3, low=4, high=5), dtypes=FLOATS, atol=32)
binary("fmod", np.fmod, real(2, 3, low=-20, high=20), real(2, 3, low=-5, high=5), dtypes=INTS, grad=(), exact=True)
binary("copysign", np.copysign, real(2, 3, away=(0,)), real(2, 3, away=(0,)), result="float", exact=True, dtypes=FLOATS)
binary("heaviside", np.heaviside, real(2, 3, away=(0,)), result="float", exact=True)
sample(
    "heaviside",
    index(4, 5, low=-1, n=2, dtype="float64"),
    real(5),
    ref=np.heaviside,
    grad=(1,),
    exact=True,
    dtypes=("float64",),
)
binary("logaddexp", np.logaddexp, result="float", rtol=2, atol=2)


def _ldexp(x, n):
    y = x * 2.0 ** np.asarray(n, float)
    return np.where(((x == 0) | np.isinf(x)) & (n == n), x, y)


binary("ldexp", _ldexp, result="float", rtol=2, special=False)
sample(
    "ldexp",
    real(7),
    index(7, low=-6, n=7, dtype="int32"),
    ref=lambda x, n: np.ldexp(x, n),
    dtypes=FLOATS,
    grad=(0,),
    exact=True,
)
_no_floats = {"dtypes": (*INTS, "bool"), "result": "count", "grad": (), "exact": True, "big": None}
for _op, _ref in (("gcd", np.gcd), ("lcm", np.lcm)):
    binary(
        _op,
        lambda a, b, f=_ref: f(a.astype("int64"), b.astype("int64")),
        real(2, 3, low=-12, high=12),
        real(2, 3, low=-6, high=6),
        **_no_floats,
        bad=[refuse(_op, "float32", "integers", dtypes=("float32", "int32"))],
    )


def _nan_to_num(x, nan, posinf, neginf):
    return np.where(np.isnan(x), nan, np.where(x == np.inf, posinf, np.where(x == -np.inf, neginf, x)))


sample(
    "_nan_to_num",
    real(2, 3),
    *[real(2, 3)] * 3,
    ref=_nan_to_num,
    result="float",
    grad=(0, 1, 2, 3),
    exact=True,
    edge=[((), (), (), ()), ((0, 3), (3,), (), (1, 1))],
    big=((3, 70001), (70001,), (), ()),
)


def _close(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    return np.isclose(a, b, rtol, atol, equal_nan)


_few = index(7, 5, n=3, dtype="float32")
sample(
    "_within",
    _few,
    _few,
    number(0.25),
    number(0.5),
    ref=_close,
    dtypes=("float32",),
    result="bool",
    exact=True,
    special=False,
)
for _attrs in ({}, {"rtol": 0.5, "atol": 0.25}, {"equal_nan": True}):
    for _dtype in ("float32", "int32"):
        sample(
            "isclose",
            index(7, 5, n=3, dtype=_dtype),
            index(5, n=3, dtype=_dtype),
            ref=_close,
            attrs=_attrs,
            dtypes=(_dtype,),
            result="bool",
            exact=True,
            work="as is",
            bad=[refuse("isclose", "cannot broadcast", shapes=((2, 3), (4,)))],
        )
