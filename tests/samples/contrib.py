"""Samples: elementwise functions of `nd.contrib`."""

from __future__ import annotations

import numpy as np
from ops.sampling import FLOATS, INTS, index, number, real, refuse, sample, unary

_few = index(7, 5, n=3, dtype="float32")
for _attrs in ({}, {"rtol": 1.0, "atol": 3.0, "equal_nan": False}):
    sample(
        "allclose",
        _few,
        _few,
        attrs=_attrs,
        dtypes=("float32",),
        result="bool",
        exact=True,
        ref=lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=True: np.array(np.allclose(a, b, rtol, atol, equal_nan)),
        edge=[((), ()), ((0, 3), (3,))],
        bad=[refuse("allclose", "cannot broadcast", shapes=((2, 3), (4,)))],
    )
sample(
    "div_sqrt_dim",
    real(2, 3),
    ref=lambda x: x / np.sqrt(x.shape[-1]),
    dtypes=FLOATS,
    grad=(0,),
    edge=[((7,),), ((0, 3),)],
    bad=[refuse("div_sqrt_dim", "at least one dimension", shapes=((),))],
)
for _attrs in ({}, {"a": 2.0, "b": -1.5, "c": 0.5}):
    sample(
        "quadratic",
        real(2, 3),
        ref=lambda x, a=0.0, b=0.0, c=0.0: (a * x + b) * x + c,
        attrs=_attrs,
        dtypes=FLOATS,
        grad=(0,),
        rtol=2,
        atol=8,
        edge=[((),), ((0, 3),)],
        bad=[refuse("a='x'", a="x")],
    )
unary(
    "round_ste",
    lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    -9,
    9,
    result="same",
    exact=True,
    dtypes=(*INTS, "float32", "float64"),
    slope_of=lambda x: x,
)
unary("sign_ste", np.sign, result="same", exact=True, dtypes=(*FLOATS, *INTS), slope_of=lambda x: x)
sample(
    "gradientmultiplier",
    real(2, 3),
    attrs={"scalar": 2.5},
    ref=lambda x, scalar: x,
    dtypes=FLOATS,
    grad=(0,),
    exact=True,
    slope_of=lambda x, scalar: scalar * x,
    bad=[refuse("scalar='x'", scalar="x")],
)
sample(
    "_scaled_back",
    real(2, 3),
    number(3.0),
    ref=lambda x, factor: x,
    dtypes=FLOATS,
    grad=(0,),
    exact=True,
    slope_of=lambda x, factor: factor * x,
)
