"""Samples of ops that look at more than one element: reductions, softmax, positions, matrices, movement, order."""

from __future__ import annotations

from typing import Any

import numpy as np
from ops.sampling import FLOATS, NUMBERS, REALS, SIGNED, index, mask, real, refuse, sample


# Reductions.
def _reduce(f):
    def ref(x, axis=None, keepdims=False, exclude=False, dtype=None):
        if axis is not None:
            axis = tuple(a % x.ndim for a in ((axis,) if isinstance(axis, int) else axis))
            axis = tuple(set(range(x.ndim)) - set(axis)) if exclude else axis
        return f(x, axis=axis, keepdims=keepdims)

    return ref


_far = [refuse("axis 3 is out of range for shape (2, 3)", shapes=((2, 3),), axis=3),
        refuse("twice", shapes=((2, 3),), axis=(0, 0)), refuse("axis='x'", axis="x")]  # fmt: skip
_nothing = [refuse("axis 0 of shape (0, 3)", "empty", shapes=((0, 3),), axis=0)]
for _op, _ref, _rule in (("sum", np.sum, "wide"), ("mean", np.mean, "float")):
    sample(_op, real(2, 3, 5), ref=_reduce(_ref), result=_rule, grad=(0,), atol=64, big=((40, 50, 70),), bad=_far,
           edge=[((),), ((1,),), ((127,),), ((2, 1, 3),)])  # fmt: skip
    sample(_op, real(2, 3, 5), ref=_reduce(_ref), attrs={"axis": 1}, result=_rule, grad=(0,), atol=64, big=((300, 41,
           37),),
           edge=[((0, 3),), ((3, 7),), ((1, 1),), ((4, 5, 6, 7),)])  # fmt: skip
    sample(
        _op,
        real(2, 3, 5),
        ref=_reduce(_ref),
        attrs={"axis": (0, -1), "keepdims": True},
        result=_rule,
        grad=(0,),
        atol=64,
    )
    sample(
        _op, real(2, 3, 5), ref=_reduce(_ref), attrs={"axis": (1,), "exclude": True}, result=_rule, grad=(0,), atol=64
    )
    sample(_op, real(2, 3), ref=_reduce(_ref), attrs={"dtype": "float64"}, result="float64", dtypes=REALS, atol=64)
sample("sum", real(3, 0), ref=_reduce(np.sum), attrs={"axis": 1}, result="wide", grad=(0,))
for _op, _ref in (("max", np.max), ("min", np.min)):
    _distinct = real(2, 3, 5, distinct=True)
    sample(_op, _distinct, ref=_reduce(_ref), grad=(0,), big=((40, 50, 70),), bad=_far + _nothing, exact=True,
           edge=[((),), ((1,),), ((127,),)])  # fmt: skip
    sample(_op, _distinct, ref=_reduce(_ref), attrs={"axis": 1}, grad=(0,), big=((300, 41, 37),), exact=True,
           edge=[((0, 3),), ((3, 7),), ((1, 1),)])  # fmt: skip
    sample(_op, _distinct, ref=_reduce(_ref), attrs={"axis": (-1, 0), "keepdims": True}, grad=(0,), exact=True)
    sample(_op, _distinct, ref=_reduce(_ref), attrs={"axis": 0, "exclude": True}, grad=(0,), exact=True)
sample("_sum_to", real(4, 2, 3), attrs={"shape": (2, 1)}, ref=lambda x, shape: x.sum(0).sum(1, keepdims=True),
       grad=(0,),
       dtypes=NUMBERS, atol=64, bad=[refuse("_sum_to", "(4, 2, 3)", "(5,)", shape=(5,)), refuse("_sum_to", shape=(1, 4,
                                     2, 3))])  # fmt: skip


def _arg(f):
    return lambda x, axis=None, keepdims=False: f(x, axis=axis, keepdims=keepdims)


for _op, _ref in (("argmax", np.argmax), ("argmin", np.argmin)):
    sample(_op, real(4, 7, distinct=True), ref=_arg(_ref), result="int64", edge=[((),), ((1,),), ((101,),)], exact=True,
           bad=[refuse("axis 2 is out of range for shape (4, 7)", axis=2), refuse(_op, "empty",
                shapes=((0,),))])  # fmt: skip
    sample(_op, real(4, 7, 3, low=-2, high=2), ref=_arg(_ref), attrs={"axis": 1}, result="int64", edge=[((0, 2),)],
           exact=True,
           big=((300, 41, 37),))  # fmt: skip
    sample(_op, real(4, 7), ref=_arg(_ref), attrs={"axis": -1, "keepdims": True}, result="int64", exact=True)


# Softmax.
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


# Positions.
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


# Matrices.
def _turned(x, yes=True):
    return np.swapaxes(x, -1, -2) if yes else x


def _potrf(a, lower=True):
    factor = np.linalg.cholesky((a + _turned(a)) / 2)
    return _turned(factor, not lower)


def _trsm(a, b, transpose=False, rightside=False, lower=True, alpha=1.0):
    a = _turned(np.tril(a) if lower else np.triu(a), transpose)
    x = np.linalg.solve(_turned(a), _turned(b)) if rightside else np.linalg.solve(a, b)
    return alpha * (_turned(x) if rightside else x)


for _lower in (True, False):
    sample("linalg_potrf", real(2, 4, 4, form="spd"), ref=_potrf, attrs={"lower": _lower}, grad=(0,), dtypes=REALS,
           rtol=64, atol=64,
           symmetric=True, edge=[((1, 1),), ((0, 3, 3),), ((0, 0),), ((37, 37),)], big=((3, 90, 90),),
           bad=[refuse("linalg_potrf", "square", "(3, 4)", shapes=((3, 4),)), refuse("linalg_potrf", "int32",
                dtypes=("int32",))])  # fmt: skip
    for _transpose in (False, True):
        for _right in (False, True):
            sample("linalg_trsm", real(3, 3, form="triangle"), real(3, 3), ref=_trsm, grad=(0, 1), dtypes=REALS,
                   rtol=64, atol=64,
                   attrs={"transpose": _transpose, "rightside": _right, "lower": _lower, "alpha": 1.5},
                   bad=[refuse("linalg_trsm", "(3, 3)", "(4, 5)", shapes=((3, 3), (4, 5))),
                        refuse("linalg_trsm", "(3, 3)", "(3,)", shapes=((3, 3), (3,)))])  # fmt: skip
sample("linalg_trsm", real(2, 4, 4, form="triangle"), real(2, 4, 3), ref=_trsm, grad=(0, 1), dtypes=REALS, rtol=64,
       atol=64,
       edge=[((0, 0), (0, 2)), ((1, 1), (1, 1)), ((3, 3), (3, 0)), ((41, 41), (41, 7))])  # fmt: skip
sample("_half_triangle", real(2, 3, 3), ref=lambda a: np.tril(a) - np.eye(a.shape[-1]) * a / 2, grad=(0,), dtypes=REALS,
       bad=[refuse("_half_triangle", "square", shapes=((2, 3),))])  # fmt: skip
for _lower in (True, False):
    sample("_triangle", real(2, 3, 3), attrs={"lower": _lower}, ref=lambda a,
           lower: (np.tril if lower else np.triu)(a), grad=(0,),
           dtypes=REALS, edge=[((0, 0),), ((1, 1),)])  # fmt: skip

_product = {"ref": np.matmul, "dtypes": NUMBERS, "grad": (0, 1), "atol": 2000}
sample("matmul", real(3, 4), real(4, 5), **_product, big=((130, 300), (300, 170)),
       edge=[((3, 0), (0, 2)), ((0, 3), (3, 2)), ((1, 1), (1, 1)), ((7, 13), (13, 11)), ((17,), (17,)), ((2, 1, 3, 2),
             (5, 2, 3))],
       bad=[refuse("matmul", "(2, 3)", "(4, 5)", "3 and 4", shapes=((2, 3), (4, 5))), refuse("matmul", "()",
            shapes=((), (2,))),
            refuse("matmul", "cannot broadcast (2,) with (3,)", shapes=((2, 4, 4), (3, 4, 4)))])  # fmt: skip
sample("matmul", real(4), real(4), **_product)
sample("matmul", real(2, 3, 4), real(4), **_product)
sample("matmul", real(4), real(2, 4, 3), **_product)
sample("matmul", real(3, 1, 2, 3), real(2, 3, 2), **_product)


def _dot(a, b, transpose_a=False, transpose_b=False):
    return np.tensordot(a, b, ([0 if transpose_a else -1], [-1 if transpose_b else 0]))


_product["ref"] = _dot
sample("dot", real(3, 4), real(4, 2), **_product, edge=[((4,), (4,)), ((3, 0), (0, 2)), ((2, 3, 4), (4, 2))],
       bad=[refuse("(3, 4)", "(5, 2)", shapes=((3, 4), (5, 2)))])  # fmt: skip
sample("dot", real(4, 3), real(4, 2), attrs={"transpose_a": True}, **_product)
sample("dot", real(3, 4), real(2, 4), attrs={"transpose_b": True}, **_product)
sample("dot", real(2, 3, 4), real(4, 3, 2), **_product)
sample("dot", real(4, 3, 2), real(2, 3, 4), attrs={"transpose_a": True, "transpose_b": True}, **_product)


# Movement.
def _moved(f: Any, **how: Any) -> dict[str, Any]:
    return {"ref": f, "grad": (0,), "exact": True, "work": "as is", **how}


sample("reshape", real(2, 3, 4), attrs={"shape": (4, -1)}, **_moved(lambda x, shape: x.reshape(4, 6)),
       bad=[refuse("reshape", "(2, 3, 4)", "(5, 5)", shape=(5, 5)), refuse("reshape", "-1", shape=(-1, -1)),
            refuse("reshape", "-7", shape=(-7,)), refuse("reshape", "dimensions", shape=(0, 0, 0, 0))])  # fmt: skip
for _codes, _shape in (((0, -2), (2, 3, 4)), ((-3, 0), (6, 4)), ((0, -4, -1, 3, 0), (2, 1, 3, 4)), ((-1, 0), (8, 3))):
    sample("reshape", real(2, 3, 4), attrs={"shape": _codes}, **_moved(lambda x, shape, to=_shape: x.reshape(to)))
sample("reshape", real(2, 3, 4), attrs={"shape": (-1, 0), "reverse": True},
       **_moved(lambda x, shape, reverse: x.reshape(6, 4)))  # fmt: skip
sample("_np_reshape", real(2, 3, 4), attrs={"shape": (-1, 8)}, **_moved(lambda x, shape: x.reshape(shape)),
       bad=[refuse("(2, 3, 4)", "(5, -1)", shape=(5, -1)), refuse("(2, 3, 4)", "(-2,)", shape=(-2,))])  # fmt: skip
sample("_np_reshape", real(1), attrs={"shape": ()}, **_moved(lambda x, shape: x.reshape(shape)))
sample("_np_reshape", real(2, 0), attrs={"shape": (0, 7)}, **_moved(lambda x, shape: x.reshape(shape)))
sample("transpose", real(2, 3, 4), **_moved(np.transpose), edge=[((),), ((0, 3),), ((5,),)],
       bad=[refuse("transpose", "(0, 1)", "(2, 3, 4)", axes=(0, 1)), refuse("transpose", "twice", axes=(0, 0,
            1))])  # fmt: skip
sample("transpose", real(2, 3, 4), attrs={"axes": (2, 0, -2)}, **_moved(lambda x, axes: np.transpose(x, (2, 0, 1))))
sample("swapaxes", real(2, 3, 4), attrs={"dim1": 0, "dim2": -1}, **_moved(lambda x, dim1, dim2: np.swapaxes(x, dim1,
       dim2)),
       bad=[refuse("axis 3 is out of range for shape (2, 3, 4)", dim1=3)])  # fmt: skip
sample("broadcast_to", real(3, 1), attrs={"shape": (2, 3, 4)}, **_moved(np.broadcast_to),
       bad=[refuse("broadcast_to", "(3, 1)", "(4, 4)", shape=(4, 4)), refuse("broadcast_to", shape=(-1,
            1))])  # fmt: skip
sample(
    "broadcast_to", real(3, 1), attrs={"shape": (0, 4)}, **_moved(lambda x, shape: np.broadcast_to(x, (3, 4)))
)  # Gluon's 0
for _from, _to in (((3, 1), (2, 3, 4)), ((1,), (0,)), ((), (2, 2))):
    sample(
        "_np_broadcast_to",
        real(*_from),
        attrs={"shape": _to},
        **_moved(np.broadcast_to),
        bad=[refuse("broadcast_to", shape=(-1, 5))],
    )
sample(
    "expand_dims",
    real(2, 3),
    attrs={"axis": -2},
    **_moved(np.expand_dims),
    bad=[refuse("axis 3", axis=3), refuse("axis")],
)
sample("squeeze", real(1, 3, 1), **_moved(np.squeeze), edge=[((),), ((1, 1),), ((0, 1),)])
sample("squeeze", real(1, 3, 1), attrs={"axis": -1}, **_moved(np.squeeze), bad=[refuse("axis 1", "(1, 3, 1)", axis=1)])
sample("split", real(2, 6), attrs={"num_outputs": 3}, **_moved(lambda x, num_outputs: np.split(x, num_outputs, 1)),
       bad=[refuse("split", "axis 1", "(2, 6)", "4", num_outputs=4), refuse("split", "num_outputs", num_outputs=0),
            refuse("split", "num_outputs=70000", shapes=((2, 70000),), num_outputs=70000)])  # fmt: skip
sample("split", real(3, 2), attrs={"num_outputs": 3, "axis": 0, "squeeze_axis": True}, **_moved(lambda x, **_: list(x)))
sample("concat", real(2, 3), real(2, 1), real(2, 4), **_moved(lambda *x: np.concatenate(x, 1), grad=(0, 1, 2)),
       edge=[((2, 0), (2, 1), (2, 0)), ((0, 1), (0, 2), (0, 3))], big=((300, 400), (300, 3), (300, 71)),
       bad=[refuse("concat", "(2, 3)", "(3, 1)", shapes=((2, 3), (3, 1), (2, 4))), refuse("axis 2", "(2, 3)",
            dim=2)])  # fmt: skip
sample(
    "concat", real(2, 3), real(4, 3), attrs={"dim": 0}, **_moved(lambda *x, dim: np.concatenate(x, dim), grad=(0, 1))
)
_part = {"begin": (1, 3), "step": (1, -2), "size": (2, 2), "axes": (0, -1, 1)}
_row = {"begin": (1, 0), "step": (1, 1), "size": (1, 4), "axes": (1,)}
_outside = [refuse("_slice", **{**_part, "begin": (1, 9)}), refuse("_slice", **{**_part, "size": (9, 2)}),
            refuse("_slice", **{**_part, "axes": (0, 7)}), refuse("_slice", **{**_part, "begin": (1,)}),
            refuse("_slice", **{**_part, "step": (1, -4)}), refuse("_slice", **{**_part, "size": (-1, 2)})]  # fmt: skip


def _put(x, v, axes=(), **_):
    x = x.copy()
    if len(axes) == 3:
        x[1:3, 3::-2][:, :2] = v[:, 0]
    else:
        x[1] = v
    return x


def _zeros_with(v, shape, **how):
    return _put(np.zeros(shape, v.dtype), v, **how)


sample("_slice", real(4, 4), attrs=_part, **_moved(lambda x, **_: x[1:3, None, 3::-2]), bad=_outside)
sample("_slice", real(4, 4), attrs=_row, **_moved(lambda x, **_: x[1]))
sample("_slice_grad", real(2, 1, 2), attrs={**_part, "shape": (4, 4)}, **_moved(_zeros_with), bad=_outside)
sample("_slice_grad", real(4), attrs={**_row, "shape": (4, 4)}, **_moved(_zeros_with),
       bad=[refuse("_slice_grad", shape=(1, 4)), refuse("_slice_grad", shapes=((7,),))])  # fmt: skip
sample("_slice_assign", real(4, 4), real(2, 1, 2), attrs=_part, **_moved(_put, grad=(0, 1)), bad=_outside)
sample("_slice_assign", real(4, 4), real(4), attrs=_row, **_moved(_put, grad=(0, 1)),
       bad=[refuse("_slice_assign", shapes=((4, 4), (9,))), refuse("_slice_assign", shapes=((1, 4),
            (4,)))])  # fmt: skip
for _to in ("float64", "float32", "float16", "bfloat16", "int32", "uint8", "bool"):
    sample("cast", real(3, 5, low=0, high=100), attrs={"dtype": _to}, ref=lambda x, dtype: x, result=_to,
           grad=(0,) if _to in REALS else (),
           work="as is", exact=True, edge=[((),), ((0,),)], bad=[refuse("cast", "dtype='int7'", dtype="int7"),
           refuse("cast", "dtype")])  # fmt: skip
sample("_copy", real(2, 3), **_moved(np.copy), edge=[((),), ((0,),), ((7,),)], big=((3, 70001),))


# Order.
def _topk(x, axis=-1, k=1, ret_typ="indices", is_ascend=False, dtype="int64"):
    order = np.argsort(x if is_ascend else -x, axis, kind="stable")
    at = np.take(order, range(k if k > 0 else x.shape[axis]), axis)
    values = np.take_along_axis(x, at, axis)
    chosen = np.zeros_like(x)
    np.put_along_axis(chosen, at, 1, axis)
    return {"indices": at, "value": values, "mask": chosen, "both": [values, at]}[ret_typ]


_unlike = real(3, 7, distinct=True)
sample("topk", _unlike, ref=_topk, dtypes=FLOATS, result="int64", exact=True,
       bad=[refuse("topk", "k=9", "7", k=9), refuse("topk", "ret_typ='all'", ret_typ="all"), refuse("axis 2",
            axis=2)])  # fmt: skip
sample(
    "topk",
    _unlike,
    ref=_topk,
    attrs={"k": 3, "ret_typ": "value"},
    dtypes=(*FLOATS, *SIGNED),
    grad=(0,),
    exact=True,
    big=((900, 101),),
)
sample("topk", _unlike, ref=_topk, attrs={"k": 0, "axis": 0, "ret_typ": "both", "is_ascend": True}, dtypes=FLOATS,
       result="same int64",
       grad=(0,), exact=True)  # fmt: skip
sample("topk", _unlike, ref=_topk, attrs={"k": 2, "ret_typ": "mask"}, dtypes=FLOATS, exact=True)
sample("topk", _unlike, ref=_topk, attrs={"k": 2, "dtype": "int32"}, dtypes=FLOATS, result="int32", exact=True)


def _put_along(dy, i, shape, axis=-1):
    out = np.zeros(shape, dy.dtype)
    np.put_along_axis(out, i, dy, axis)
    return out


_columns = index(3, 1, n=5)
sample("_put_along_axis", real(3, 1), _columns, ref=_put_along, attrs={"shape": (3, 5)}, grad=(0,), dtypes=NUMBERS,
       bad=[refuse("_put_along_axis", shape=(2, 5)), refuse("_put_along_axis", shape=(5,)), refuse("_put_along_axis",
            shapes=((3, 2), (3, 1)))])  # fmt: skip
sample("_take_along_axis", real(3, 5), _columns, ref=lambda x, i: np.take_along_axis(x, i, -1), grad=(0,), exact=True,
       bad=[refuse("_take_along_axis", "(50, 1)", shapes=((3, 5), (50, 1))), refuse("_take_along_axis", shapes=((3, 5),
            (3,)))])  # fmt: skip
