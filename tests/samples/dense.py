"""Samples: the fully connected layer."""

from __future__ import annotations

import numpy as np
from ops.sampling import FLOATS, real, refuse, sample


def _layer(x, w, b=None, num_hidden=None, no_bias=False, flatten=True):
    if flatten:
        x = x.reshape(x.shape[0], int(np.prod(x.shape[1:])))
    y = x @ w.T
    return y if b is None else y + b


_HOW = {"dtypes": FLOATS, "rtol": 16, "atol": 512, "special": False}

sample(
    "FullyConnected",
    real(3, 2, 4),
    real(5, 8),
    real(5),
    ref=_layer,
    attrs={"num_hidden": 5},
    grad=(0, 1, 2),
    edge=[((0, 2, 4), (5, 8), (5,)), ((1, 8), (5, 8), (5,)), ((7, 3), (5, 3), (5,)), ((2, 0), (5, 0), (5,))],
    big=((64, 300), (5, 300), (5,)),
    bad=[
        refuse("FullyConnected", "weight must have shape (5, 8)", "(5, 7)", shapes=((3, 2, 4), (5, 7), (5,))),
        refuse("FullyConnected", "bias must have shape (5,)", "(4,)", shapes=((3, 8), (5, 8), (4,))),
        refuse("FullyConnected", "no_bias is True", no_bias=True),
        refuse("FullyConnected", "num_hidden", "0", num_hidden=0),
    ],
    **_HOW,
)
sample("FullyConnected", real(3, 2, 4), real(5, 4), real(5), ref=_layer, attrs={"num_hidden": 5, "flatten": False},
       grad=(0, 1, 2), edge=[((4,), (5, 4), (5,)), ((2, 0, 4), (5, 4), (5,))], **_HOW)  # fmt: skip
sample("FullyConnected", real(3, 4), real(5, 4), ref=_layer, attrs={"num_hidden": 5, "no_bias": True},
       bad=[refuse("FullyConnected", "bias is missing", no_bias=False)], grad=(0, 1), **_HOW)  # fmt: skip
sample("_dense", real(3, 4), real(5, 4), real(5), ref=_layer, grad=(0, 1, 2),
       bad=[refuse("_dense", "(3, 4)", "(5, 3)", shapes=((3, 4), (5, 3), (5,)))], **_HOW)  # fmt: skip
sample("_dense", real(3, 4), real(5, 4), ref=_layer, grad=(0, 1), **_HOW)
