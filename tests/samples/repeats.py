"""Samples: values repeated, rolled, framed; diagonals and triangles; matrices from nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from ops.sampling import FLOATS, number, real, refuse, sample


def _moved(f: Any, **how: Any) -> dict[str, Any]:
    return {"ref": f, "grad": (0,), "exact": True, "work": "as is", **how}


sample("tile", real(2, 3), attrs={"reps": (2, 1, 3)}, **_moved(np.tile), edge=[((),), ((0, 3),), ((5,),)],
       big=((100, 301),),
       bad=[refuse("tile", "reps=(-1,)", reps=-1), refuse("tile", "too large", reps=(2**62, 2**62)),
            refuse("tile", "too many axes", shapes=((2, 2, 2, 2, 2, 2, 2),), reps=(2,) * 7)])  # fmt: skip
sample("tile", real(2, 3, 2), attrs={"reps": 2}, **_moved(np.tile), big=((30, 41, 83),))
sample("tile", real(2, 1, 3), attrs={"reps": (1, 3, 0)}, **_moved(np.tile))
sample("repeat", real(2, 3), attrs={"repeats": 3}, **_moved(np.repeat), edge=[((),), ((0, 3),), ((5,),)],
       big=((100, 301),),
       bad=[refuse("repeat", "repeats=-1", repeats=-1), refuse("repeat", "repeats", repeats=None),
            refuse("repeat", "axis 2", "(2, 3)", axis=2), refuse("repeat", "too large", repeats=2**62)])  # fmt: skip
sample("repeat", real(2, 3, 4), attrs={"repeats": 2, "axis": 1}, **_moved(np.repeat), big=((30, 41, 83),))
sample("repeat", real(2, 3), attrs={"repeats": 0, "axis": -1}, **_moved(np.repeat))
sample("repeat", real(2, 3), attrs={"repeats": 4, "axis": -1}, **_moved(np.repeat), big=((100, 301),))
sample("roll", real(4, 5), attrs={"shift": 7}, **_moved(np.roll), edge=[((),), ((0, 3),), ((5,),)], big=((300, 401),))
sample("roll", real(4, 5), attrs={"shift": (1, -2), "axis": (0, 1)}, **_moved(np.roll), big=((300, 401),),
       bad=[refuse("roll", "axis 2", "(4, 5)", axis=(0, 2)), refuse("shift (1, 2, 3)", shift=(1, 2, 3))])  # fmt: skip
sample("roll", real(4, 5), attrs={"shift": 3, "axis": (1, 1, 0)}, **_moved(np.roll))


def _framed(x, before, after, mode="constant", constant_value=0.0):
    how = {"constant_values": np.array(constant_value).astype(x.dtype)} if mode == "constant" else {}
    return np.pad(x, list(zip(before, after, strict=True)), mode, **how)


def _framed_by_pairs(x, mode, pad_width, **how):
    return _framed(x, pad_width[::2], pad_width[1::2], mode, **how)


def _unframed(dy, before, after, mode, shape):
    places = _framed(np.arange(np.prod(shape)).reshape(shape), before, after, mode)
    return np.bincount(places.ravel(), dy.astype(np.float64).ravel(), int(np.prod(shape))).reshape(shape)


sample("pad", real(1, 2, 3, 4), attrs={"mode": "constant", "pad_width": (0, 0, 0, 0, 1, 2, 3, 0), "constant_value": 5},
       **_moved(_framed_by_pairs), edge=[((0, 1, 2, 3),)], big=((3, 5, 71, 123),),
       bad=[refuse("pad", "pad_width", "(1, 2, 3, 4)", pad_width=(1, 1)), refuse("pad", "mode", mode="odd"),
            refuse("pad", "mode", mode=None), refuse("negative", pad_width=(0, 0, 0, 0, -1, 0, 0, 0))])  # fmt: skip
for _mode in ("edge", "reflect"):
    sample("pad", real(1, 2, 3, 4), attrs={"mode": _mode, "pad_width": (0, 0, 0, 0, 1, 2, 3, 0)},
           **_moved(_framed_by_pairs), big=((3, 5, 71, 123),))  # fmt: skip
sample("_np_pad", real(3, 2), attrs={"before": (1, 0), "after": (2, 3), "constant_value": -2.0}, **_moved(_framed),
       edge=[((0, 2),), ((1, 1),)], big=((300, 401),),
       bad=[refuse("(1,)", "(3, 2)", before=(1,)), refuse("negative", before=(-1, 0)),
            refuse("too large", before=(2**62, 0), after=(2**62, 0))])  # fmt: skip
sample("_np_pad", real(3, 2, 5), attrs={"before": (1, 2, 0), "after": (0, 1, 0)}, **_moved(_framed))
sample("_np_pad", real(), attrs={"before": (), "after": ()}, **_moved(lambda x, **_: x))
for _mode in ("edge", "reflect", "symmetric", "wrap"):
    _wide = {"before": (2, 1), "after": (4, 9), "mode": _mode}
    sample("_np_pad", real(3, 4), attrs=_wide, **_moved(_framed), edge=[((1, 1),), ((2, 3),)], big=((300, 401),),
           bad=[refuse("empty", f"'{_mode}'", "(0, 2)", shapes=((0, 2),))])  # fmt: skip
    sample("_np_pad", real(3, 2, 5), attrs={"before": (1, 3, 0), "after": (0, 1, 0), "mode": _mode}, **_moved(_framed))
    _moving = {"dtypes": FLOATS, "grad": (0,), "ref": _unframed, "atol": 16.0}
    sample("_pad_grad", real(9, 14), attrs={**_wide, "shape": (3, 4)}, **_moving,
           bad=[refuse("_pad_grad", "(3, 5)", shape=(3, 5)), refuse("floating", dtypes=("int32",)),
                refuse("_pad_grad", shape=(-3, 4)), refuse("_pad_grad", mode="constant")])  # fmt: skip
    sample("_pad_grad", real(4, 6, 5), attrs={"before": (1, 3, 0), "after": (0, 1, 0), "mode": _mode,
           "shape": (3, 2, 5)}, **_moving)  # fmt: skip

for _k in (0, 1, -2, 9):
    sample("diagonal", real(3, 4), attrs={"k": _k}, **_moved(lambda x, k: np.diagonal(x, k)),
           edge=[((0, 3),), ((1, 1),)], bad=[refuse("diagonal", "(3,)", shapes=((3,),)), refuse("both", axis2=0),
           refuse("axis 4", axis1=4)])  # fmt: skip
    sample("diag", real(3, 4), attrs={"k": _k}, **_moved(np.diag))
    sample("tril", real(3, 4), attrs={"k": _k}, **_moved(np.tril), edge=[((0, 3),), ((2, 1, 5),), ((3,),)],
           bad=[refuse("tril", "without axes", shapes=((),))])  # fmt: skip
    sample("triu", real(3, 4), attrs={"k": _k}, **_moved(np.triu), edge=[((0, 3),), ((2, 1, 5),), ((3,),)],
           bad=[refuse("triu", "without axes", shapes=((),))])  # fmt: skip
    _matrix = {"shape": (3, 4), "dtype": "int32", "k": _k}
    sample("_eye", attrs=_matrix, ref=lambda shape, dtype, k: np.eye(*shape, k=k), result="int32", exact=True,
           dtypes=("int32",), bad=[refuse("_eye", "(3,)", shape=(3,)), refuse("_eye", shape=(-1, 2))])  # fmt: skip
    sample("_tri", attrs=_matrix, ref=lambda shape, dtype, k: np.tri(*shape, k=k), result="int32", exact=True,
           dtypes=("int32",), bad=[refuse("_tri", "(3,)", shape=(3,)), refuse("_tri", shape=(2, -1))])  # fmt: skip
    sample("_below", real(2, 3, 4), attrs={"k": _k}, ref=lambda x, k: np.tri(3, 4, k) > 0, result="bool", exact=True,
           bad=[refuse("_below", "(3,)", shapes=((3,),))])  # fmt: skip
_planes = {"k": 1, "axis1": 2, "axis2": 0}
sample("diagonal", real(3, 2, 4), attrs=_planes, **_moved(lambda x, k, axis1, axis2: np.diagonal(x, k, axis1, axis2)))
sample("diag", real(3, 2, 4), attrs=_planes, **_moved(lambda x, k, axis1, axis2: np.diagonal(x, k, axis1, axis2)),
       bad=[refuse("diag", "()", shapes=((),))])  # fmt: skip
sample("diag", real(3), attrs={"k": -2}, **_moved(np.diag), edge=[((0,),), ((1,),)], bad=[refuse("diag", k=-(2**63))])
sample("_put_diagonal", real(2, 3), attrs={**_planes, "shape": (4, 2, 3)},
       **_moved(lambda v, **_: np.stack([np.diag(row, -1)[:, :3] for row in v], 1)),
       bad=[refuse("_put_diagonal", "(2, 3)", "(4, 2, 2)", shape=(4, 2, 2)),
            refuse("_put_diagonal", shape=(-4, 2, 3))])  # fmt: skip
sample("trace", real(3, 4), ref=np.trace, result="wide", grad=(0,), atol=8.0, edge=[((0, 3),), ((3, 1),)],
       bad=[refuse("trace", "(3,)", shapes=((3,),))])  # fmt: skip
sample("trace", real(3, 2, 4), attrs={**_planes, "dtype": "float64"}, result="float64", grad=(0,), work="as is",
       dtypes=("float32", "float64", "int32"),
       ref=lambda x, k, axis1, axis2, dtype: np.trace(x, k, axis1, axis2, dtype))  # fmt: skip
for _ends in ((0, 1), (3, -2.5), (2, 2)):
    for _n in (0, 1, 2, 11):
        for _closed in (True, False):
            sample("_linspace", number(_ends[0]), number(_ends[1]),
                   attrs={"num": (_n,), "dtype": "float64", "endpoint": _closed}, dtypes=("float64",), result="float64",
                   ref=lambda a, b, num, dtype, endpoint: np.linspace(a, b, *num, endpoint=endpoint), exact=True,
                   bad=[refuse("_linspace", num=(-1,))])  # fmt: skip
