"""Samples: softmax and its relatives."""

from __future__ import annotations

import numpy as np
from ops.sampling import FLOATS, real, refuse, sample


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


for _op, _ref in (("softmax", _softmax), ("log_softmax", _log_softmax)):
    for _attrs in ({}, {"axis": 0}, {"axis": 1, "temperature": 2.5}):
        sample(_op, real(3, 4, 5), ref=_ref, attrs=_attrs, dtypes=FLOATS, grad=(0,), rtol=8, atol=8,
               big=((200, 40, 31),), edge=[((0, 3),), ((1, 1),), ((13, 17),)],
               bad=[refuse("axis 5 is out of range for shape (3, 4, 5)", axis=5),
                    refuse(_op, "int32", dtypes=("int32",))])  # fmt: skip
for _op, _ref in (("_softmax_grad", _softmax_grad), ("_log_softmax_grad", _log_softmax_grad)):
    for _attrs in ({}, {"axis": 0, "temperature": 0.5}):
        sample(_op, real(3, 4, low=0.1, high=0.9), real(3, 4), ref=_ref, attrs=_attrs, grad=(0, 1), dtypes=FLOATS,
               rtol=8, atol=16,
               bad=[refuse(_op, "(3, 4)", "(2, 4)", shapes=((3, 4), (2, 4)))])  # fmt: skip
