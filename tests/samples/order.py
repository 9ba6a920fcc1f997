"""Samples: sorting."""

from __future__ import annotations

import numpy as np
from ops.sampling import FLOATS, NUMBERS, SIGNED, index, real, refuse, sample


def _topk(x, axis=-1, k=1, ret_typ="indices", is_ascend=False, dtype="int64"):
    shape = x.shape
    if axis is None:
        x, axis = x.reshape(-1), 0
    order = np.argsort(x if is_ascend else -x, axis, kind="stable")
    at = np.take(order, range(k if k > 0 else x.shape[axis]), axis)
    values = np.take_along_axis(x, at, axis)
    chosen = np.zeros_like(x)
    np.put_along_axis(chosen, at, 1, axis)
    return {"indices": at, "value": values, "mask": chosen.reshape(shape), "both": [values, at]}[ret_typ]


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

for _way in ("value", "mask", "both", "indices"):
    sample(
        "topk",
        _unlike,
        ref=_topk,
        attrs={"k": 4, "axis": None, "ret_typ": _way},
        dtypes=FLOATS,
        exact=True,
        result={"both": "same int64", "indices": "int64"}.get(_way, "same"),
        grad=(0,) if _way in {"value", "both"} else (),
    )
sample(
    "topk",
    real(2, 300, distinct=True),
    ref=_topk,
    attrs={"k": 20, "ret_typ": "both", "axis": -1},
    dtypes=("float32", "float64"),
    result="same int64",
    grad=(0,),
    exact=True,
    big=((3, 70001),),
)


def _sort(x, axis=-1, is_ascend=True):
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    ordered = np.sort(x, axis)
    return ordered if is_ascend else np.flip(ordered, axis)


def _argsort(x, axis=-1, is_ascend=True, dtype="int64"):
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    wide = x.astype("float64")
    return np.argsort(wide if is_ascend else -wide, axis, kind="stable")


for _how in ({}, {"axis": 0, "is_ascend": False}, {"axis": None}, {"is_ascend": False}):
    _edges = [((0, 3),), ((1, 1),), ((2, 33),), ((3, 129),), ((2, 1000),)]
    _bad = [refuse("axis 2 is out of range for shape (3, 7)", axis=2), refuse("axis='x'", axis="x")]
    sample("sort", _unlike, ref=_sort, attrs=_how, grad=(0,), exact=True, big=((3, 70001),), edge=_edges, bad=_bad)
    sample(
        "argsort",
        real(3, 7, low=-3, high=4),
        ref=_argsort,
        attrs=_how,
        result="int64",
        exact=True,
        big=((3, 70001),),
        edge=_edges,
        bad=_bad,
    )
sample("argsort", _unlike, ref=_argsort, attrs={"dtype": "float32"}, result="float32", exact=True)


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
