"""Samples: parts of arrays, and arrays joined."""

from __future__ import annotations

from typing import Any

import numpy as np
from ops.sampling import real, refuse, sample


def _moved(f: Any, **how: Any) -> dict[str, Any]:
    return {"ref": f, "grad": (0,), "exact": True, "work": "as is", **how}


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

sample("stack", real(2, 3), real(2, 3), **_moved(lambda *x: np.stack(x), grad=(0, 1)),
       edge=[((), ()), ((0, 2), (0, 2))], big=((300, 401), (300, 401)),
       bad=[refuse("stack", "(2, 3)", "(3,)", shapes=((2, 3), (3,))), refuse("axis 3", axis=3)])  # fmt: skip
sample("stack", real(2, 3), real(2, 3), real(2, 3), attrs={"axis": -1},
       **_moved(lambda *x, axis: np.stack(x, axis), grad=(0, 1, 2)), big=((300, 401),) * 3)  # fmt: skip
for _begin, _end, _step, _key in (
    ((1, None), (3, None), (), np.s_[1:3]),
    ((None, -1, 0), (None, None, 9), (None, -2, 1), np.s_[:, -1::-2, 0:9]),
    ((9, 0, 1), (None, 2, None), None, np.s_[9:, 0:2, 1:]),
    (1, 3, None, np.s_[1:3]),
):
    sample("slice", real(4, 5, 3), attrs={"begin": _begin, "end": _end, "step": _step},
           **_moved(lambda x, key=_key, **_: x[key]),
           bad=[refuse("slice", "(1, 2, 3, None)", "(4, 5, 3)", begin=(1, 2, 3, None)), refuse("step", "0", step=(0,)),
                refuse("slice", "begin", begin=("x",)), refuse("slice", "begin", begin=(-(2**63),))])  # fmt: skip
sample("slice_axis", real(4, 5), attrs={"axis": 1, "begin": 1, "end": -1}, **_moved(lambda x, **_: x[:, 1:-1]),
       bad=[refuse("slice_axis", "axis 2", "(4, 5)", axis=2), refuse("slice_axis", "begin", begin=None)])  # fmt: skip
sample("slice_axis", real(4, 5), attrs={"axis": -2, "begin": -3, "end": None}, **_moved(lambda x, **_: x[-3:]))
sample("slice_like", real(4, 5), real(2, 3), **_moved(lambda x, like: x[:2, :3]),
       bad=[refuse("slice_like", "(4, 5)", "(5, 3)", shapes=((4, 5), (5, 3))),
            refuse("slice_like", "(4, 5)", "(2,)", shapes=((4, 5), (2,)))])  # fmt: skip
sample("slice_like", real(4, 5, 6), real(2, 3), attrs={"axes": (0, -1)}, **_moved(lambda x, like, axes: x[:2, :, :3]),
       bad=[refuse("axis 2", axes=(0, 2)), refuse("twice", axes=(0, 0))])  # fmt: skip
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
