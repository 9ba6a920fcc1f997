"""Samples: activations."""

from __future__ import annotations

import math

import numpy as np
from ops.sampling import FLOATS, binary, real, refuse, sample, unary

_erf = np.vectorize(math.erf, otypes=[float])
_HOW = {"dtypes": FLOATS, "rtol": 8, "atol": 8}


def _sigmoid(x):
    return np.where(x > 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def _softplus(x):
    return np.logaddexp(x, 0)


def _mish(x):
    return x * np.tanh(_softplus(x))


def _gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _leaky(x, slope):
    return np.where(x > 0, x, slope * x)


def _elu(x, slope):
    return np.where(x > 0, x, slope * np.expm1(x))


def _smooth(x, scalar=1.0):
    s = scalar**2
    return np.where(np.abs(x) < 1 / s, 0.5 * s * x**2, np.abs(x) - 0.5 / s)


_ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": _sigmoid,
    "log_sigmoid": lambda x: -_softplus(-x),
    "mish": _mish,
    "silu": lambda x: x * _sigmoid(x),
    "softrelu": _softplus,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tanh": np.tanh,
}
for _name, _ref in _ACTIVATIONS.items():
    sample(
        "Activation",
        real(3, 4, away=(0,)),
        ref=lambda x, act_type, ref=_ref: ref(x),
        attrs={"act_type": _name},
        grad=(0,),
        edge=[((0,),), ((),), ((2, 3, 5),)],
        bad=[refuse("Activation", "act_type='x'", act_type="x")],
        **_HOW,
    )
unary("_softrelu", _softplus, **_HOW)
unary("silu", lambda x: x * _sigmoid(x), special=False, **_HOW)
unary("mish", _mish, special=False, **_HOW)
unary("_gelu_tanh", _gelu_tanh, special=False, **_HOW)
binary("_leaky", _leaky, real(2, 3, away=(0,)), dtypes=FLOATS, special=False)
binary("_elu", _elu, real(2, 3, away=(0,)), special=False, **_HOW)
sample(
    "_smooth_l1",
    real(2, 3, away=(-1, 1)),
    real(2, 3, low=0.9, high=1.02),
    ref=_smooth,
    dtypes=FLOATS,
    grad=(0,),
    rtol=8,
    atol=8,
    special=False,
)
for _attrs in ({}, {"scalar": 2.0}):
    sample(
        "smooth_l1",
        real(3, 4, away=(-1, -0.25, 0.25, 1)),
        ref=_smooth,
        attrs=_attrs,
        grad=(0,),
        edge=[((0, 2),)],
        **_HOW,
    )

_LEAKY = {
    "leaky": ({"slope": 0.1}, lambda x: _leaky(x, 0.1)),
    "elu": ({"slope": 1.5}, lambda x: _elu(x, 1.5)),
    "selu": ({}, lambda x: 1.0507009873554805 * _elu(x, 1.6732632423543772)),
    "gelu": ({}, lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2)))),
    "gelu_tanh": ({}, _gelu_tanh),
    "rrelu": ({"lower_bound": 0.1, "upper_bound": 0.5}, lambda x: _leaky(x, 0.3)),
}
for _name, (_attrs, _ref) in _LEAKY.items():
    sample(
        "LeakyReLU",
        real(3, 4, away=(0,)),
        ref=lambda x, ref=_ref, **_: ref(x),
        attrs={"act_type": _name, **_attrs},
        grad=(0,),
        edge=[((0, 3),)],
        bad=[
            refuse("LeakyReLU", "needs the input gamma", act_type="prelu"),
            refuse(
                "LeakyReLU",
                "lower_bound=0.5 is above upper_bound=0.25",
                act_type="rrelu",
                lower_bound=0.5,
                upper_bound=0.25,
            ),
        ],
        **_HOW,
    )


def _prelu(x, gamma, act_type):
    gamma = gamma.ravel()
    return _leaky(x, gamma if x.ndim < 2 else gamma.reshape(1, -1, *(1,) * (x.ndim - 2)))


sample(
    "LeakyReLU",
    real(2, 3, 4, away=(0,)),
    real(3, low=0.1, high=0.9),
    ref=_prelu,
    attrs={"act_type": "prelu"},
    grad=(0, 1),
    edge=[((2, 3), (1,)), ((5,), (5,)), ((5,), (1,)), ((2, 3, 4), (1, 3, 1)), ((0, 3), (3,))],
    bad=[
        refuse("LeakyReLU", "gamma of shape (2,)", "(2, 3, 4)", shapes=((2, 3, 4), (2,))),
        refuse("LeakyReLU", "gamma is given", "act_type='elu'", act_type="elu"),
    ],
    **_HOW,
)
