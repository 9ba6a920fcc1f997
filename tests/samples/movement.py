"""Samples: ops that move values or look at them differently."""

from __future__ import annotations

from typing import Any

import numpy as np
from ops.sampling import REALS, real, refuse, sample


def _moved(f: Any, **how: Any) -> dict[str, Any]:
    return {"ref": f, "grad": (0,), "exact": True, "work": "as is", **how}


sample("reshape", real(2, 3, 4), attrs={"shape": (4, -1)}, **_moved(lambda x, shape: x.reshape(4, 6)),
       bad=[refuse("reshape", "(2, 3, 4)", "(5, 5)", shape=(5, 5)), refuse("reshape", "-1", shape=(-1, -1)),
            refuse("reshape", "-7", shape=(-7,)), refuse("reshape", "dimensions", shape=(0, 0, 0, 0)),
            refuse("reshape", "give shape=", shape=None)])  # fmt: skip
for _codes, _shape in (((0, -2), (2, 3, 4)), ((-3, 0), (6, 4)), ((0, -4, -1, 3, 0), (2, 1, 3, 4)), ((-1, 0), (8, 3))):
    sample("reshape", real(2, 3, 4), attrs={"shape": _codes}, **_moved(lambda x, shape, to=_shape: x.reshape(to)))
sample("reshape", real(2, 3, 4), attrs={"shape": (-1, 0), "reverse": True},
       **_moved(lambda x, shape, reverse: x.reshape(6, 4)))  # fmt: skip
sample("reshape", real(2, 3, 4), attrs={"target_shape": (4, 0)}, **_moved(lambda x, **_: x.reshape(4, 6)))
sample("reshape", real(2, 3, 4), attrs={"target_shape": (9, 0), "keep_highest": True},
       **_moved(lambda x, **_: x.reshape(2, 12)))  # fmt: skip
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
sample("moveaxis", real(2, 3, 4, 5), attrs={"source": (0, -1), "destination": (-1, 0)}, **_moved(np.moveaxis),
       bad=[refuse("moveaxis", "(0,)", "(1, 2)", source=(0,), destination=(1, 2)),
            refuse("moveaxis", "axis 4", "(2, 3, 4, 5)", source=4, destination=0),
            refuse("moveaxis", "twice", source=(0, 0), destination=(1, 2))])  # fmt: skip
sample("moveaxis", real(2, 3, 4), attrs={"source": 2, "destination": 0}, **_moved(np.moveaxis))
sample("flip", real(3, 4), **_moved(np.flip), edge=[((),), ((0, 3),), ((5,),)], big=((300, 701),))
sample("flip", real(3, 4), attrs={"axis": -1}, **_moved(np.flip), big=((300, 701),),
       bad=[refuse("flip", "axis 2", "(3, 4)", axis=2), refuse("flip", "twice", axis=(1, 1))])  # fmt: skip
sample("flip", real(2, 3, 4), attrs={"axis": (0, 2)}, **_moved(np.flip))
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
sample(
    "_np_expand_dims",
    real(2, 3),
    attrs={"axis": (0, -1)},
    **_moved(np.expand_dims),
    edge=[((),), ((0,),)],
    bad=[refuse("axis 5", axis=(5,)), refuse("twice", axis=(1, 1)), refuse("13 dimensions", axis=tuple(range(11)))],
)
sample("_np_expand_dims", real(2, 3), attrs={"axis": 1}, **_moved(np.expand_dims))
sample("squeeze", real(1, 3, 1), **_moved(np.squeeze), edge=[((),), ((1, 1),), ((0, 1),)])
sample("squeeze", real(1, 3, 1), attrs={"axis": -1}, **_moved(np.squeeze), bad=[refuse("axis 1", "(1, 3, 1)", axis=1)])
sample("flatten", real(2, 3, 4), **_moved(lambda x: x.reshape(2, 12)))
sample("flatten", real(3), **_moved(lambda x: x.reshape(3, 1)))
sample("flatten", real(), **_moved(lambda x: x.reshape(1, 1)))
sample("ravel", real(2, 3, 4), **_moved(np.ravel), edge=[((),), ((0, 3),), ((5,),)],
       bad=[refuse("ravel", "order='F'", "'C'", order="F")])  # fmt: skip
sample("reshape_like", real(2, 3, 4), real(4, 6), **_moved(lambda x, like: x.reshape(like.shape)),
       bad=[refuse("reshape_like", "(2, 3, 4)", "(5,)", shapes=((2, 3, 4), (5,)))])  # fmt: skip
sample("reshape_like", real(30, 7), real(15, 2, 4), attrs={"lhs_begin": 0, "lhs_end": 1, "rhs_begin": 0, "rhs_end": 2},
       **_moved(lambda x, like, **_: x.reshape(15, 2, 7)),
       bad=[refuse("reshape_like", "3", "(30, 7)", lhs_end=3), refuse("reshape_like", "2 to 1", rhs_begin=2,
            rhs_end=1)])  # fmt: skip
sample("reshape_like", real(2, 6), real(2, 3, 1, 2), attrs={"lhs_begin": -1, "rhs_begin": 1},
       **_moved(lambda x, like, **_: x.reshape(2, 3, 1, 2)))  # fmt: skip
sample("broadcast_axis", real(1, 3, 1), attrs={"axis": (0, -1), "size": (2, 4)},
       **_moved(lambda x, **_: np.broadcast_to(x, (2, 3, 4))),
       bad=[refuse("broadcast_axis", "axis 1", "size 3", axis=1, size=2), refuse("axis", "size", axis=(0, 2), size=2),
            refuse("axis 3", axis=3, size=2), refuse("broadcast_axis", axis=0, size=-5)])  # fmt: skip
sample("broadcast_like", real(1, 3), real(2, 3), **_moved(lambda x, like: np.broadcast_to(x, like.shape)),
       bad=[refuse("broadcast_like", "(1, 4)", "(2, 3)", shapes=((1, 4), (2, 3)))])  # fmt: skip
sample("broadcast_like", real(1, 2, 1), real(9, 4, 5), attrs={"lhs_axes": (0, 2), "rhs_axes": (1, -1)},
       **_moved(lambda x, like, **_: np.broadcast_to(x, (4, 2, 5))),
       bad=[refuse("lhs_axes and rhs_axes", rhs_axes=None), refuse("axis 7", lhs_axes=(0, 7))])  # fmt: skip


def _depth_to_space(x, block_size):
    n, c, h, w = x.shape
    b = block_size
    y = x.reshape(n, b, b, c // b // b, h, w).transpose(0, 3, 4, 1, 5, 2)
    return y.reshape(n, c // b // b, h * b, w * b)


def _space_to_depth(x, block_size):
    n, c, h, w = x.shape
    b = block_size
    y = x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return y.reshape(n, c * b * b, h // b, w // b)


sample("depth_to_space", real(2, 8, 3, 5), attrs={"block_size": 2}, **_moved(_depth_to_space), edge=[((0, 4, 1, 1),)],
       bad=[refuse("depth_to_space", "(2, 8, 3, 5)", "3 * 3", block_size=3), refuse("block_size", block_size=0),
            refuse("(2, 8)", shapes=((2, 8),))])  # fmt: skip
sample("space_to_depth", real(2, 3, 4, 6), attrs={"block_size": 2}, **_moved(_space_to_depth), edge=[((0, 4, 2, 2),)],
       bad=[refuse("space_to_depth", "(2, 3, 4, 6)", "4", block_size=4), refuse("block_size", block_size=0),
            refuse("(2, 8)", shapes=((2, 8),))])  # fmt: skip
sample("shape_array", real(2, 3, 4), ref=lambda x: np.array(x.shape), result="int64", exact=True, work="as is",
       edge=[((),), ((0, 5),)])  # fmt: skip
sample("size_array", real(2, 3, 4), ref=lambda x: np.array([x.size]), result="int64", exact=True, work="as is",
       edge=[((),), ((0, 5),)])  # fmt: skip
for _to in ("float64", "float32", "float16", "bfloat16", "int32", "uint8", "bool"):
    sample("cast", real(3, 5, low=0, high=100), attrs={"dtype": _to}, ref=lambda x, dtype: x, result=_to,
           grad=(0,) if _to in REALS else (),
           work="as is", exact=True, edge=[((),), ((0,),)], bad=[refuse("cast", "dtype='int7'", dtype="int7"),
           refuse("cast", "dtype")])  # fmt: skip
sample("_copy", real(2, 3), **_moved(np.copy), edge=[((),), ((0,),), ((7,),)], big=((3, 70001),))
