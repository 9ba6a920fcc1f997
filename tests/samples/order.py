"""Samples: sorting."""

from __future__ import annotations

import numpy as np
from ops.sampling import FLOATS, NUMBERS, SIGNED, index, real, refuse, sample


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
