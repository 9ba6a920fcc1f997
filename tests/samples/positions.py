"""Samples: ops whose operands say where to read or write."""

from __future__ import annotations

import math

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


def _merged(shape, axis, axes):
    return (*shape[:axis], math.prod(shape[axis : axis + axes]), *shape[axis + axes :])


def _index(x, i, axis=0, axes=1, named=0):
    flat = x.reshape(_merged(x.shape, axis, axes))
    return np.take(flat, np.asarray(i).astype(np.int64), axis)


def _index_add(dy, i, shape, axis=0, axes=1, named=0):
    flat = np.zeros(_merged(shape, axis, axes), dy.dtype)
    np.add.at(flat, (slice(None),) * axis + (np.asarray(i).astype(np.int64),), dy)
    return flat.reshape(shape)


def _index_put(x, value, i, axis=0, axes=1, named=0):
    flat = x.reshape(_merged(x.shape, axis, axes)).copy()
    flat[(slice(None),) * axis + (np.asarray(i).astype(np.int64),)] = value
    return flat.reshape(x.shape)


def _index_set(x, i, shape, **how):
    return _index_put(np.zeros(shape, x.dtype), x, i, **how)


sample("_index", real(5, 3), index(2, 2, n=5, low=-5), ref=_index, grad=(0,), exact=True, big=((50, 700), (1000,)),
       edge=[((5,), ()), ((5, 0), (3,)), ((5, 2), (0,)), ((1, 1), (0,))],
       bad=[refuse("index", "(5, 3) has no 1 axes from axis 2", axis=2), refuse("index", "(5, 3) has no 3 axes",
            axes=3)])  # fmt: skip
sample("_index", real(2, 3, 4, 2), index(5, n=12, low=-12, dtype="int32"), ref=_index, attrs={"axis": 1, "axes": 2},
       grad=(0,), exact=True)  # fmt: skip
sample("_index_add", real(4, 3), index(4, n=5), ref=_index_add, attrs={"shape": (5, 3)}, grad=(0,), dtypes=NUMBERS,
       bad=[refuse("_index_add", "(5, 7)", shape=(5, 7)), refuse("_index_add", shapes=((4, 3), (5,)))])  # fmt: skip
sample("_index_add", real(2, 30000, 3), index(30000, n=12), ref=_index_add, attrs={"shape": (2, 3, 4, 3), "axis": 1,
       "axes": 2}, grad=(), dtypes=("float64", "int64"), rtol=50)  # fmt: skip
sample("_index_set", real(4, 3), index(4, n=5), ref=_index_set, attrs={"shape": (5, 3)}, grad=(0,), exact=True,
       bad=[refuse("_index_set", "(5, 7)", shape=(5, 7))])  # fmt: skip
sample("_index_put", real(5, 3), real(2, 3), index(2, n=5, low=-5), ref=_index_put, grad=(0, 1), exact=True,
       big=((50, 700), (1000, 700), (1000,)), edge=[((5,), (), ()), ((5, 0), (0,), (3,)), ((5, 2), (1, 2), (3,))],
       bad=[refuse("_index_put", "cannot broadcast (4,) with (2, 3)", shapes=((5, 3), (4,), (2,)))])  # fmt: skip
sample("_index_put", real(2, 3, 4, 2), real(2, 6, 2), index(6, n=12), ref=_index_put, attrs={"axis": 1, "axes": 2},
       grad=(0, 1), exact=True)  # fmt: skip
sample("_index_last", index(9, n=4), ref=lambda i, size: np.array([v not in i[k + 1 :] for k, v in enumerate(i)], bool),
       attrs={"size": 4}, dtypes=("int64",), result="bool", exact=True,
       bad=[refuse("_index_last", "size", size=-1)])  # fmt: skip


def _nd(i):
    return tuple(np.asarray(i).astype(np.int64))


def _scatter_nd(x, i, shape):
    out = np.zeros(shape, x.dtype)
    out[_nd(i)] = x
    return out


def _gather_nd_grad(x, i, shape):
    out = np.zeros(shape, x.dtype)
    np.add.at(out, _nd(i), x)
    return out


def _scatter_set_nd(x, y, i, shape=None):
    out = x.copy()
    out[_nd(i)] = y
    return out


sample("gather_nd", real(4, 5, 3), index(2, 6, n=4, low=-4), ref=lambda x, i: x[_nd(i)], grad=(0,), exact=True,
       edge=[((4, 4), (2, 3)), ((4,), (1, 0)), ((4, 4, 4), (3, 2, 2))],
       bad=[refuse("gather_nd", "(3, 6)", "(4, 5)", shapes=((4, 5), (3, 6)))])  # fmt: skip
sample("gather_nd", real(4, 3), index(1, 6, n=4, dtype="float32"), ref=lambda x, i: x[_nd(i)], grad=(0,), exact=True)
sample("scatter_nd", real(6), index(2, 6, n=3), ref=_scatter_nd, attrs={"shape": (3, 4)}, grad=(0,), exact=True,
       bad=[refuse("scatter_nd", "(6,)", shape=(6,))])  # fmt: skip
sample("_backward_gather_nd", real(6, 2), index(2, 6, n=3), ref=_gather_nd_grad, attrs={"shape": (3, 4, 2)}, grad=(0,),
       dtypes=NUMBERS, rtol=4, atol=8)  # fmt: skip
sample("_scatter_set_nd", real(3, 4), real(6), index(2, 6, n=3), ref=_scatter_set_nd, attrs={"shape": (3, 4)},
       grad=(0, 1), exact=True,
       bad=[refuse("_scatter_set_nd", "(3, 4)", shape=(3, 5))])  # fmt: skip
sample("index_copy", real(5, 3), index(3, n=5), real(3, 3), ref=lambda x, i, y: _index_put(x, y, i), grad=(0, 2),
       exact=True)  # fmt: skip
sample("batch_take", real(4, 5), index(4, n=9, low=-9), ref=_pick, grad=(0,), exact=True)
sample("fill_element_0index", real(4, 5), real(4), index(4, n=5), grad=(0, 1), exact=True,
       ref=lambda x, v, i: np.where(np.arange(5) == i[:, None], v[:, None], x),
       bad=[refuse("fill_element_0index", "(4,)", "(5,)", shapes=((4, 5), (5,), (4,)))])  # fmt: skip
sample("where", mask(4), real(4, 3), real(4, 3), ref=lambda c, x, y: np.where(c[:, None], x, y), grad=(1, 2),
       exact=True)  # fmt: skip
sample("_np_ravel_multi_index", index(2, 1, n=3, low=-3), index(4, n=5, dtype="float32"), dtypes=("int64",),
       result="int64", ref=lambda i, j, sizes, named: np.asarray(i % 3 * 5 + j % 5, np.int64),
       attrs={"sizes": (3, 5), "named": (0, 1)}, edge=[((), ()), ((0,), (1,))], big=((2, 1), (70001,)), exact=True,
       bad=[refuse("ravel_multi_index", "(3,)", sizes=(3,)), refuse("ravel_multi_index", "cannot broadcast",
            shapes=((2,), (3,)))])  # fmt: skip
sample("ravel_multi_index", index(2, 6, n=4), ref=lambda i, shape: np.ravel_multi_index(_nd(i), shape),
       attrs={"shape": (4, 5)}, dtypes=("int64",), result="int64", exact=True,
       bad=[refuse("ravel_multi_index", "(2, 6)", shape=(4, 5, 6))])  # fmt: skip
sample("ravel_multi_index", index(2, 6, n=4), ref=lambda i, shape: i[0] * 5 + i[1], attrs={"shape": (-1, 5)},
       dtypes=("int64",), result="int64", exact=True)  # fmt: skip
sample("unravel_index", index(3, 2, n=20), ref=lambda i, shape: np.array(np.unravel_index(i, shape)),
       attrs={"shape": (4, 5)}, dtypes=("int64",), result="int64", exact=True, edge=[((),), ((0,),)], big=((70001,),),
       bad=[refuse("unravel_index", "shape", shape=())])  # fmt: skip
sample("index_array", real(2, 3), ref=lambda x, axes=None: np.moveaxis(np.indices(x.shape), 0, -1), result="int64",
       exact=True, edge=[((0, 2),), ((7,),)], big=((3, 70001),),
       bad=[refuse("index_array", "()", shapes=((),))])  # fmt: skip
sample("index_array", real(2, 3), ref=lambda x, axes: np.moveaxis(np.indices(x.shape)[[1, 0]], 0, -1),
       attrs={"axes": (1, -2)}, result="int64", exact=True)  # fmt: skip
sample("arange_like", real(2, 6), ref=lambda x, start, step, repeat: (start + step * (np.arange(12) // repeat)).reshape(
       x.shape), attrs={"start": 2, "step": 3, "repeat": 2}, dtypes=NUMBERS, exact=True,
       bad=[refuse("arange_like", "repeat", repeat=0)])  # fmt: skip
sample("arange_like", real(2, 6), ref=lambda x, axis: np.arange(6), attrs={"axis": -1}, dtypes=NUMBERS, exact=True)


def _masked(x, m, axis=0):
    return x[(slice(None),) * axis + (m != 0,)]


def _unmask(dy, m, shape, axis=0):
    out = np.zeros(shape, dy.dtype)
    out[(slice(None),) * axis + (m != 0,)] = dy
    return out


def _mask_assign(x, value, m, axis=0):
    out = x.copy()
    out[(slice(None),) * axis + (m != 0,)] = value
    return out


sample("boolean_mask", real(6, 3), mask(6), ref=_masked, grad=(0,), exact=True, edge=[((0, 3), (0,)), ((7,), (7,)),
       ((3, 4), (3, 4)), ((5,), ())], big=((70001, 3), (70001,)),
       bad=[refuse("boolean_mask", "(5,)", "(6, 3)", shapes=((6, 3), (5,)))])  # fmt: skip
sample("boolean_mask", real(3, 6, 2), mask(6), ref=_masked, attrs={"axis": 1}, grad=(0,), exact=True)
sample("boolean_mask", real(3, 6, 2), mask(6, 2), ref=_masked, attrs={"axis": 1}, grad=(0,), exact=True)
sample("boolean_mask", real(6, 3), index(6, n=3, dtype="float32"), ref=_masked, grad=(0,), exact=True)
_three = index(3, n=2, low=1)  # all of them set
sample("_boolean_mask_grad", real(3, 2), _three, ref=_unmask, attrs={"shape": (3, 2)}, grad=(0,), dtypes=NUMBERS,
       bad=[refuse("_boolean_mask_grad", "(3, 5)", shape=(3, 5)), refuse("_boolean_mask_grad", shapes=((2, 2),
            (3,)))])  # fmt: skip
sample("_mask_assign", real(6, 3), real(1, 3), mask(6), ref=_mask_assign, grad=(0, 1), exact=True,
       edge=[((0, 3), (1, 3), (0,)), ((3, 4), (1,), (3, 4))], big=((70001, 3), (1, 3), (70001,)),
       bad=[refuse("_mask_assign", "(1, 4)", "(1, 3)", shapes=((6, 3), (1, 4), (6,)))])  # fmt: skip
sample("_mask_assign", real(2, 3, 4), real(2, 3, 4), _three, ref=_mask_assign, attrs={"axis": 1}, grad=(0, 1),
       exact=True)  # fmt: skip
sample("flatnonzero", index(4, 5, n=2), ref=np.flatnonzero, dtypes=("int64",), result="int64", exact=True,
       edge=[((),), ((0,),)], big=((3, 70001),))  # fmt: skip
sample("flatnonzero", real(7, low=-0.5, high=0.5), ref=np.flatnonzero, result="int64", exact=True)
