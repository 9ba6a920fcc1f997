"""Samples: ops that move values or look at them differently."""

from __future__ import annotations

from typing import Any

import numpy as np
from ops.sampling import REALS, real, refuse, sample


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
