"""Samples: reductions over axes."""

from __future__ import annotations

import numpy as np
from ops.sampling import NUMBERS, REALS, real, refuse, sample


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
