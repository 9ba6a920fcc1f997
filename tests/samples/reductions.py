"""Samples: reductions over axes, running sums and products, counting."""

from __future__ import annotations

import numpy as np
from ops.sampling import FLOATS, INTS, NUMBERS, REALS, index, real, refuse, sample


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
sample(
    "argmax_channel",
    real(4, 7),
    ref=lambda x: x.argmax(-1),
    result="int64",
    exact=True,
    edge=[((3, 1),), ((0, 2),)],
    bad=[refuse("argmax_channel", "empty", shapes=((2, 0),))],
)

_factors = real(2, 3, 4, low=0.5, high=1.7)
for _how in ({}, {"axis": 1}, {"axis": (0, -1), "keepdims": True}, {"axis": (1,), "exclude": True}):
    sample(
        "prod",
        _factors,
        ref=_reduce(np.prod),
        attrs=_how,
        result="wide",
        grad=(0,),
        rtol=8,
        atol=64,
        bad=_far,
        edge=[((3, 0, 2),), ((1, 1, 1),), ((2, 3, 2),)],
    )
sample(
    "prod",
    real(3, 90, low=0.9, high=1.1),
    ref=_reduce(np.prod),
    attrs={"axis": -1},
    dtypes=REALS,
    grad=(0,),
    rtol=64,
    big=((300, 411),),
)
sample("prod", real(2, 3), ref=_reduce(np.prod), attrs={"dtype": "float64"}, result="float64", dtypes=REALS, atol=64)


def _nan(f):
    def ref(x, axis=None, keepdims=False, exclude=False, **how):
        return _reduce(lambda x, **where: f(x, **where, **how))(x, axis, keepdims, exclude)

    return ref


for _op, _ref, _rule in (
    ("nansum", np.nansum, "wide"),
    ("nanprod", np.nanprod, "wide"),
    ("nanmax", np.nanmax, "same"),
    ("nanmin", np.nanmin, "same"),
):
    for _how in ({}, {"axis": 1}, {"axis": (0, -1), "keepdims": True}):
        sample(
            _op,
            real(2, 3, 4, low=0.5, high=1.7, distinct=True),
            ref=_nan(_ref),
            attrs=_how,
            result=_rule,
            grad=(0,),
            dtypes=NUMBERS,
            rtol=8,
            atol=64,
            bad=_far,
        )


def _spread(f):
    def ref(x, axis=None, dtype=None, ddof=0, keepdims=False):
        axis = tuple(axis) if isinstance(axis, list) else axis
        return f(x, axis=axis, ddof=ddof, keepdims=keepdims)

    return ref


for _op, _ref in (("var", np.var), ("std", np.std), ("nanvar", np.nanvar), ("nanstd", np.nanstd)):
    for _how in ({}, {"axis": 1, "ddof": 1}, {"axis": (0, -1), "keepdims": True}):
        sample(
            _op,
            real(2, 3, 4),
            ref=_spread(_ref),
            attrs=_how,
            result="float",
            grad=(0,),
            rtol=16,
            atol=64,
            bad=_far,
            big=((40, 50, 70),) if _op == "var" else None,
        )
for _how in ({}, {"axis": 1}, {"axis": (0, -1), "keepdims": True}):
    sample(
        "nanmean",
        real(2, 3, 4),
        ref=lambda x, axis=None, keepdims=False: np.nanmean(x, axis, keepdims=keepdims),
        attrs=_how,
        result="float",
        grad=(0,),
        rtol=8,
        atol=64,
        bad=_far,
    )
    sample(
        "ptp",
        real(2, 3, 4, distinct=True),
        ref=_reduce(np.ptp),
        attrs=_how,
        dtypes=NUMBERS,
        grad=(0,),
        rtol=4,
        bad=_far,
    )
    sample(
        "count_nonzero",
        real(2, 3, 4, low=-2, high=2),
        ref=_reduce(np.count_nonzero),
        attrs=_how,
        result="int64",
        exact=True,
        bad=_far,
        edge=[((0, 3, 2),), ((1, 1, 1),)],
    )
    for _op, _ref in (("any", np.any), ("all", np.all)):
        sample(
            _op,
            real(2, 3, 4, low=-1, high=2),
            ref=_reduce(_ref),
            attrs=_how,
            result="bool",
            exact=True,
            bad=_far,
            edge=[((0, 3, 2),), ((2, 0, 2),), ((1, 1, 1),)],
            big=((300, 41, 37),),
        )


def _norm(x, ord=2, axis=None, out_dtype=None, keepdims=False):
    size = np.abs(x.astype("float64"))
    axis = tuple(axis) if isinstance(axis, list) else axis
    return size.sum(axis, keepdims=keepdims) if ord == 1 else np.sqrt((size * size).sum(axis, keepdims=keepdims))


for _how in ({}, {"axis": 1}, {"axis": (0, -1), "keepdims": True}, {"ord": 1}, {"ord": 1, "axis": 0}):
    sample(
        "norm",
        real(2, 3, 5, away=(0.0,)),
        ref=_norm,
        attrs=_how,
        result="float",
        grad=(0,),
        rtol=8,
        atol=16,
        big=((300, 41, 37),),
        edge=[((4, 1, 1),), ((2, 0, 3),)],
        bad=[
            refuse("ord=3", "from 1 to 2", ord=3),
            refuse("norm", "int32", out_dtype="int32"),
            refuse("axis 3 is out of range for shape (2, 3)", shapes=((2, 3),), axis=3),
        ],
    )
sample("norm", real(2, 3), ref=_norm, attrs={"out_dtype": "float64"}, result="float64", dtypes=REALS, rtol=1e6)
sample(
    "_sum_squares",
    real(2, 3),
    ref=lambda x: (x.astype("float64") ** 2).sum().reshape(1),
    result="float32",
    grad=(0,),
    dtypes=("float32", "float64"),
    rtol=8,
    edge=[((0,),), ((),)],
    big=((300, 411),),
)
sample(
    "multi_sum_sq",
    real(2, 3),
    real(4),
    ref=lambda *x, num_arrays: np.array([(v.astype("float64") ** 2).sum() for v in x]),
    attrs={"num_arrays": 2},
    result="float32",
    dtypes=REALS,
    grad=(0, 1),
    rtol=8,
    bad=[refuse("multi_sum_sq", "num_arrays=3", "2", num_arrays=3)],
)
sample(
    "_all_finite",
    real(2, 3),
    ref=lambda x: np.isfinite(x).all().reshape(1),
    result="float32",
    exact=True,
    edge=[((0,),), ((),)],
    big=((300, 411),),
)
sample(
    "_multi_all_finite",
    real(2, 3),
    real(4),
    ref=lambda *x, num_arrays: np.ones(1),
    attrs={"num_arrays": 2},
    result="float32",
    exact=True,
    bad=[refuse("num_arrays=3", num_arrays=3)],
)


def _running(f):
    def ref(a, axis=None, dtype=None, reverse=False, exclusive=False):
        a = a if axis is not None else a.reshape(-1)
        a = np.flip(a, axis or 0) if reverse else a
        done = f(a, axis or 0)
        if exclusive:
            begin = np.full_like(np.take(done, [0], axis), 1 if f is np.cumprod else 0)
            done = np.concatenate([begin, np.take(done, range(a.shape[axis] - 1), axis)], axis)
        return np.flip(done, axis or 0) if reverse else done

    return ref


_ends = [refuse("axis 3 is out of range for shape (2, 3, 4)", axis=3)]
for _op, _ref in (("cumsum", np.cumsum), ("cumprod", np.cumprod)):
    for _how in ({}, {"axis": 0}, {"axis": 1}, {"axis": -1}):
        sample(
            _op,
            _factors,
            ref=_running(_ref),
            attrs=_how,
            result="wide",
            grad=(0,),
            rtol=8,
            atol=32,
            bad=_ends,
            edge=[((0, 3, 2),), ((1, 1, 1),), ((5, 2, 33),)],
        )
    sample(_op, real(2, 3), ref=_running(_ref), attrs={"dtype": "float64"}, result="float64", dtypes=REALS, atol=64)
for _op, _ref in (("_running_sum", np.cumsum), ("_running_product", np.cumprod)):
    for _how in ({"reverse": True}, {"exclusive": True}, {"reverse": True, "exclusive": True, "axis": 0}):
        sample(
            _op,
            _factors,
            ref=_running(_ref),
            attrs={"axis": -1, **_how},
            result="wide",
            grad=(0,),
            rtol=8,
            atol=32,
            bad=_ends,
            edge=[((1, 1, 1),)],
        )
    sample(
        _op,
        real(3, 5, low=0.99, high=1.01),
        ref=_running(_ref),
        attrs={"axis": 1},
        dtypes=REALS,
        grad=(0,),
        rtol=64,
        atol=64,
        big=((2, 150_001),),
    )
    sample(
        _op,
        real(3, 5, low=0.99, high=1.01),
        ref=_running(_ref),
        attrs={"axis": 0},
        dtypes=REALS,
        grad=(0,),
        rtol=64,
        atol=64,
        big=((300, 1100),),
    )


def _recurrence(a, b, axis=-1, form="plain", reverse=False):
    a, b = (np.moveaxis(np.flip(v, axis) if reverse else v, axis, 0) for v in (a, b))
    out, state = np.zeros_like(b), np.zeros_like(b[0]) if len(b) else None
    for j in range(len(b)):
        factor = a[j - 1] if form == "lagged" else a[j]
        new = b[j] + factor * state
        out[j] = state if form == "before" else new
        state = new
    out = np.moveaxis(out, 0, axis)
    return np.flip(out, axis) if reverse else out


for _form in ("plain", "lagged", "before"):
    for _back in (False, True):
        sample(
            "_recurrence",
            real(3, 5, low=-1, high=1),
            real(3, 5),
            ref=_recurrence,
            dtypes=REALS,
            grad=(0, 1),
            rtol=8,
            atol=16,
            attrs={"form": _form, "reverse": _back},
            edge=[((0, 2), (0, 2)), ((1, 1), (1, 1))],
            big=((300, 301),) * 2,
            bad=[refuse("_recurrence", "(3, 5)", "(2, 5)", shapes=((3, 5), (2, 5))), refuse("axis 2", axis=2)],
        )


_ordered = real(7, low=-2, high=2, form="ordered")
for _side in ("left", "right"):
    sample(
        "_searchsorted",
        _ordered,
        real(3, 5),
        ref=lambda a, v, side: np.searchsorted(a, v, side),
        attrs={"side": _side},
        result="int64",
        exact=True,
        dtypes=NUMBERS,
        big=((100,), (300, 301)),
        edge=[((0,), (3,)), ((1,), ()), ((5,), (0, 2))],
        bad=[refuse("_searchsorted", "vector", "(2, 2)", shapes=((2, 2), (3,)))],
    )
for _even in (False, True):
    sample(
        "_histogram",
        real(4, 9),
        real(6, form="even", dtype="float32"),
        ref=lambda x, e, even: np.histogram(x, e)[0],
        attrs={"even": _even},
        result="int64",
        exact=True,
        dtypes=NUMBERS,
        big=((300, 411), (12,)),
        edge=[((0,), (3,)), ((), (2,))],
        bad=[
            refuse("_histogram", "two edges", shapes=((3,), (1,))),
            refuse("_histogram", "vector", shapes=((3,), (2, 2))),
        ],
    )
sample(
    "_bincount",
    index(9, n=5),
    real(9),
    ref=lambda i, w, n: np.bincount(i, w, n),
    attrs={"n": 6},
    result="float",
    dtypes=(*FLOATS, *INTS),
    grad=(1,),
    rtol=8,
    atol=16,
    bad=[
        refuse("bincount", "(4,)", "(9,)", shapes=((9,), (4,))),
        refuse("bincount", "among the 2", n=2),
        refuse("vector", shapes=((3, 3), (3, 3))),
    ],
)
