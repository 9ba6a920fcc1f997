"""Samples: softmax and its relatives."""

from __future__ import annotations

import numpy as np
from ops.sampling import FLOATS, index, mask, real, refuse, sample


def _or_one(temperature):
    return 1.0 if temperature is None else temperature


def _softmax(x, axis=-1, temperature=None):
    x = x / _or_one(temperature)
    e = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    return e / e.sum(axis, keepdims=True)


def _log_softmax(x, axis=-1, temperature=None):
    x = x / _or_one(temperature)
    x = x - x.max(axis, keepdims=True, initial=-np.inf)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def _softmax_grad(y, dy, axis=-1, temperature=None):
    return (dy - (dy * y).sum(axis, keepdims=True)) * y / _or_one(temperature)


def _log_softmax_grad(y, dy, axis=-1, temperature=None):
    return (dy - np.exp(y) * dy.sum(axis, keepdims=True)) / _or_one(temperature)


def _masked(x, length, axis=-1, temperature=None, use_length=True, dtype=None):
    n = x.shape[axis]
    place = np.arange(n).reshape([-1 if d == axis % x.ndim else 1 for d in range(x.ndim)])
    kept = place < np.expand_dims(length, axis)
    y = _softmax(np.where(kept, x, -1e30), axis, temperature)
    return np.where(kept, y, 0)


for _axis, _shape in ((-1, (3, 4)), (1, (3, 5)), (0, (4, 5))):
    for _dtype in ("int32", "float32"):
        sample(
            "softmax",
            real(3, 4, 5),
            index(*_shape, n=7, low=0, dtype=_dtype),
            ref=_masked,
            grad=(0,),
            rtol=8,
            atol=8,
            attrs={"axis": _axis, "use_length": True},
            dtypes=FLOATS,
            bad=[
                refuse("softmax", "length must have shape", str(_shape), "(3,)", shapes=((3, 4, 5), (3,))),
                refuse("softmax", "use_length is False", use_length=False),
            ],
        )
sample(
    "softmax",
    real(3, 4),
    ref=lambda x, dtype: _softmax(x),
    attrs={"dtype": "float32"},
    dtypes=FLOATS,
    result="float32",
    rtol=8,
    atol=8,
    bad=[refuse("softmax", "int32", dtype="int32"), refuse("needs the input length", use_length=True)],
)
sample("softmax", real(3, 4), ref=lambda x, dtype: _softmax(x), attrs={"dtype": "float64"}, dtypes=("float64",),
       result="float64", grad=(0,), rtol=8, atol=8)  # fmt: skip
for _attrs in ({}, {"axis": 0, "temperature": 0.5}):
    sample(
        "softmin",
        real(3, 4),
        ref=lambda x, **how: _softmax(-x, **how),
        attrs=_attrs,
        dtypes=FLOATS,
        grad=(0,),
        rtol=8,
        atol=8,
        edge=[((0, 3),), ((13, 17),)],
        bad=[refuse("axis 5", axis=5), refuse("softmax alone", use_length=True)],
    )
for _mode, _axis in (("instance", -1), ("channel", 1)):
    sample(
        "SoftmaxActivation",
        real(2, 3, 5),
        ref=lambda x, mode, axis=_axis: _softmax(x, axis),
        attrs={"mode": _mode},
        dtypes=FLOATS,
        grad=(0,),
        rtol=8,
        atol=8,
        bad=[refuse("mode='x'", mode="x")],
    )
for _op, _ref in (("softmax", _softmax), ("log_softmax", _log_softmax)):
    for _attrs in ({}, {"axis": 0}, {"axis": 1, "temperature": 2.5}):
        sample(
            _op,
            real(3, 4, 5),
            ref=_ref,
            attrs=_attrs,
            dtypes=FLOATS,
            grad=(0,),
            rtol=8,
            atol=8,
            big=((200, 40, 31),),
            edge=[((0, 3),), ((1, 1),), ((13, 17),)],
            bad=[refuse("axis 5 is out of range for shape (3, 4, 5)", axis=5), refuse(_op, "int32", dtypes=("int32",))],
        )
for _op, _ref in (("_softmax_grad", _softmax_grad), ("_log_softmax_grad", _log_softmax_grad)):
    for _attrs in ({}, {"axis": 0, "temperature": 0.5}):
        sample(
            _op,
            real(3, 4, low=0.1, high=0.9),
            real(3, 4),
            ref=_ref,
            attrs=_attrs,
            grad=(0, 1),
            dtypes=FLOATS,
            rtol=8,
            atol=16,
            bad=[refuse(_op, "(3, 4)", "(2, 4)", shapes=((3, 4), (2, 4)))],
        )


def _of_mask(f, other):
    def ref(x, kept, **attrs):
        with np.errstate(all="ignore"):
            return np.where(kept, f(np.where(kept, x, -np.inf), **attrs), other)

    return ref


for _op, _ref, _other in (("masked_softmax", _softmax, 0), ("masked_log_softmax", _log_softmax, -np.inf)):
    for _attrs in ({}, {"axis": 0, "temperature": 0.5}):
        sample(
            _op,
            real(3, 4, 5),
            mask(3, 4, 5),
            ref=_of_mask(_ref, _other),
            attrs=_attrs,
            dtypes=FLOATS,
            rtol=8,
            atol=8,
            grad=(0,),
            slope_of=_of_mask(_ref, 0),
            edge=[((3, 4, 5), (1, 5)), ((0, 3), (3,))],
            bad=[refuse(_op, "mask of shape (2, 5)", shapes=((3, 4, 5), (2, 5)))],
        )
