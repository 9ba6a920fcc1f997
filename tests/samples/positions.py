"""Samples: ops whose operands say where to read or write."""

from __future__ import annotations

import numpy as np
from ops.sampling import NUMBERS, index, mask, real, refuse, sample


def _places(i, n, mode):
    i = np.asarray(i).astype(np.int64)
    return np.clip(i, 0, n - 1) if mode == "clip" else i % n


def _take(a, i, axis=0, mode="clip"):
    return np.take(a, _places(i, a.shape[axis], mode), axis)


def _take_grad(dy, i, shape, axis=0, mode="clip"):
    out = np.zeros(shape, dy.dtype)
    at = (slice(None),) * (axis % len(shape)) + (_places(i, shape[axis], mode),)
    np.add.at(out, at, dy)
    return out


def _pick(x, i, axis=-1, keepdims=False, mode="clip"):
    i = i if i.ndim == x.ndim else np.expand_dims(i, axis)
    y = np.take_along_axis(x, _places(i, x.shape[axis], mode), axis)
    return y if keepdims else y.squeeze(axis)


def _pick_grad(dy, i, shape, axis=-1, keepdims=False, mode="clip"):
    out = np.zeros(shape, dy.dtype)
    dy, i = (v if v.ndim == len(shape) else np.expand_dims(v, axis) for v in (dy, i))
    np.put_along_axis(out, _places(i, shape[axis], mode), dy, axis)
    return out


sample("take", real(5, 3), index(2, 2, n=5), ref=_take, grad=(0,), exact=True, big=((50, 700), (1000,)),
       edge=[((5,), ()), ((5, 0), (3,)), ((5, 2), (0,)), ((1, 1), (1,))],
       bad=[refuse("axis 2 is out of range for shape (5, 3)", axis=2), refuse("take", "mode='up'",
            "'clip', 'wrap', 'raise'", mode="up")])  # fmt: skip
sample(
    "take", real(5, 3, 2), index(4, n=9, low=-9), ref=_take, attrs={"axis": 1, "mode": "wrap"}, grad=(0,), exact=True
)
sample("take", real(5, 3), index(4, n=9, low=-9, dtype="float32"), ref=_take, attrs={"axis": -1}, grad=(0,), exact=True)
sample(
    "take", real(5, 3), index(7, n=5, low=-5, dtype="int32"), ref=_take, attrs={"mode": "raise"}, grad=(0,), exact=True
)
sample("_take_grad", real(4, 3), index(4, n=5), ref=_take_grad, attrs={"shape": (5, 3)}, grad=(0,), dtypes=NUMBERS,
       bad=[refuse("_take_grad", "(5, 7)", shape=(5, 7)), refuse("_take_grad", shapes=((4, 3), (5,)))])  # fmt: skip
sample("_take_grad", real(2, 3, 4), index(3, n=2), ref=_take_grad, attrs={"shape": (2, 6, 4), "axis": 1,
       "mode": "wrap"}, grad=(0,),
       dtypes=NUMBERS)  # fmt: skip
sample("pick", real(4, 5), index(4, n=5), ref=_pick, grad=(0,), exact=True, big=((70001, 3), (70001,)),
       edge=[((1, 1), (1,)), ((0, 5), (0,)), ((5,), ()), ((2, 3, 7), (2, 3))],
       bad=[refuse("pick", "(3,)", "(4, 5)", shapes=((4, 5), (3,)))])  # fmt: skip
sample("pick", real(4, 5, 2), index(4, 2, n=9, low=-9, dtype="float32"), ref=_pick, attrs={"axis": 1,
       "keepdims": True}, grad=(0,),
       exact=True)  # fmt: skip
sample(
    "pick",
    real(4, 5),
    index(1, 5, n=9, low=-9, dtype="uint8"),
    ref=_pick,
    attrs={"axis": 0, "mode": "wrap"},
    grad=(0,),
    exact=True,
)
sample("_pick_grad", real(4), index(4, n=5), ref=_pick_grad, attrs={"shape": (4, 5)}, grad=(0,), exact=True,
       bad=[refuse("_pick_grad", "(9, 5)", shape=(9, 5)), refuse("_pick_grad", shapes=((5,), (4,)))])  # fmt: skip
sample("_pick_grad", real(4, 1, 2), index(4, 2, n=5), ref=_pick_grad, attrs={"shape": (4, 5, 2), "axis": 1,
       "keepdims": True}, grad=(0,),
       exact=True)  # fmt: skip


def _one_hot(i, depth, on_value=1.0, off_value=0.0, dtype="float32"):
    return np.where(i.astype(np.int64)[..., None] == np.arange(depth), on_value, off_value).astype(dtype)


sample("one_hot", index(3, 2, n=5), ref=_one_hot, attrs={"depth": 4}, dtypes=("int64",), result="float32", exact=True,
       edge=[((),), ((0,),)], bad=[refuse("one_hot", "depth", depth=-1), refuse("one_hot", "bool",
                                   dtypes=("bool",))])  # fmt: skip
sample("one_hot", index(6, n=4, low=-1, dtype="float32"), ref=_one_hot, dtypes=("float32",), result="int32", exact=True,
       attrs={"depth": 3, "on_value": 5, "off_value": -1, "dtype": "int32"})  # fmt: skip


def _unmask(dy, m, shape):
    out = np.zeros(shape, dy.dtype)
    out[m != 0] = dy
    return out


sample("boolean_mask", real(6, 3), mask(6), ref=lambda x, m: x[m != 0], grad=(0,), exact=True, edge=[((0, 3), (0,)),
       ((7,), (7,))],
       bad=[refuse("boolean_mask", "(5,)", "(6, 3)", shapes=((6, 3), (5,))), refuse("boolean_mask", "axis 1",
            axis=1)])  # fmt: skip
sample("boolean_mask", real(6, 3), index(6, n=3, dtype="float32"), ref=lambda x, m: x[m != 0], grad=(0,), exact=True)
_three = index(3, n=2, low=1)  # all of them set
sample("_boolean_mask_grad", real(3, 2), _three, ref=_unmask, attrs={"shape": (3, 2)}, grad=(0,), dtypes=NUMBERS,
       bad=[refuse("_boolean_mask_grad", "(3, 5)", shape=(3, 5)), refuse("_boolean_mask_grad", shapes=((2, 2),
            (3,)))])  # fmt: skip
