"""Samples: normalisation, against its formulas written out."""

from __future__ import annotations

import numpy as np
from ops.sampling import FLOATS, REALS, real, refuse, sample

_HOW = {"dtypes": FLOATS, "rtol": 32, "atol": 64, "special": False}
_THREE = "same same same"


def _spread(v, ndim, axis):
    return v.reshape([-1 if d == axis % ndim else 1 for d in range(ndim)])


def _unit(x, axes, eps, center=True):
    """Values brought to mean 0 and deviation 1, and both."""
    mean = x.mean(axes, keepdims=True) if center else np.zeros(())
    std = np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + eps)
    return (x - mean) / std, mean, std


# Batch normalisation.


def _batch(
    x,
    gamma,
    beta,
    mean,
    var,
    *,
    eps=1e-3,
    momentum=0.9,
    fix_gamma=True,
    use_global_stats=False,
    output_mean_var=False,
    axis=1,
    training=True,
    relu=False,
):
    axes = tuple(d for d in range(x.ndim) if d != axis % x.ndim)
    if x.size and training and not use_global_stats:
        mean, var = x.mean(axes), x.var(axes)
    inverse = 1 / np.sqrt(var + eps)
    y = (x - _spread(mean, x.ndim, axis)) * _spread(inverse, x.ndim, axis)
    y = y * (1 if fix_gamma else _spread(gamma, x.ndim, axis)) + _spread(beta, x.ndim, axis)
    y = np.maximum(y, 0) if relu else y
    return [y, mean, inverse] if output_mean_var else y


def _first(f):
    """The function whose gradient the op has: through the statistics that it returns nothing flows."""

    def slope(*args, **attrs):
        y, *others = f(*args, **attrs)
        return [y, *(np.zeros_like(v) for v in others)]

    return slope


def _training(f, training):
    def ref(*args, **attrs):
        return f(*args, training=training, **attrs)

    return ref


def _arrays(shape, c):
    return (real(*shape), real(c), real(c), real(c), real(c, low=0.5, high=2))


_BAD = [
    refuse("gamma must have shape (3,)", "(2, 3, 4, 5)", "(2,)", shapes=((2, 3, 4, 5), (2,), (3,), (3,), (3,))),
    refuse("moving_var must have shape (3,)", "(4,)", shapes=((2, 3, 4, 5), (3,), (3,), (3,), (4,))),
    refuse("eps=-1.0", eps=-1.0),
    refuse("data must have a floating type", "int32", dtypes=("int32", *("float32",) * 4)),
]
_EDGE = [
    ((2, 3), *((3,),) * 4),
    ((7, 1), *((1,),) * 4),
    ((1, 17, 33), *((17,),) * 4),
    ((3, 7, 2, 3, 2), *((7,),) * 4),
    ((0, 3, 2), *((3,),) * 4),
    ((2, 0, 3), *((0,),) * 4),
    ((40, 100), *((100,),) * 4),
]
for _train in (True, False):
    for _attrs in (
        {},
        {"fix_gamma": False},
        {"fix_gamma": False, "eps": 1e-5, "use_global_stats": True},
        {"fix_gamma": False, "axis": -1},
        {"fix_gamma": False, "axis": 0, "momentum": 0.5},
    ):
        _c = {-1: 5, 0: 2}.get(_attrs.get("axis", 1), 3)
        _plain = "axis" not in _attrs
        sample(
            "BatchNorm",
            *_arrays((2, 3, 4, 5), _c),
            ref=_training(_batch, _train),
            attrs=_attrs,
            grad=(0, 2) if _attrs.get("fix_gamma", True) else (0, 1, 2),
            training=_train,
            edge=_EDGE if _plain else (),
            big=((6, 32, 40, 41), *((32,),) * 4) if _plain else None,
            bad=[*_BAD, refuse("axis 4", axis=4)] if _plain else (),
            **_HOW,
        )
    for _op in ("BatchNorm", "contrib.BatchNormWithReLU", "BatchNorm_v1"):
        _relu = "ReLU" in _op
        sample(
            _op.rpartition(".")[2],
            *_arrays((2, 3, 4, 5), 3),
            ref=lambda *a, relu=_relu, train=_train, **k: _batch(*a, training=train, relu=relu, **k),
            attrs={"fix_gamma": False, "output_mean_var": True},
            slope_of=_first(lambda *a, relu=_relu, train=_train, **k: _batch(*a, training=train, relu=relu, **k)),
            grad=(0, 1, 2),
            training=_train,
            result=_THREE,
            **{**_HOW, "dtypes": REALS},
        )
        if _op != "BatchNorm":
            sample(
                _op.rpartition(".")[2],
                *_arrays((3, 2, 4), 2),
                ref=lambda *a, relu=_relu, train=_train, **k: _batch(*a, training=train, relu=relu, **k),
                attrs={"fix_gamma": False},
                grad=(0, 1, 2),
                training=_train,
                **_HOW,
            )


def _batch_grad(dy, x, gamma, mean, inverse, axis=1, fix_gamma=False, **more):
    axes = tuple(d for d in range(x.ndim) if d != axis % x.ndim)
    unit = (x - _spread(mean, x.ndim, axis)) * _spread(inverse, x.ndim, axis)
    dgamma, dbeta = (dy * unit).sum(axes), dy.sum(axes)
    count = x.size / max(x.shape[axis], 1)
    inner = (
        dy
        if more.get("global")
        else dy - _spread(dbeta / count, x.ndim, axis) - unit * _spread(dgamma / count, x.ndim, axis)
    )
    scale = inverse if fix_gamma else inverse * gamma
    return [inner * _spread(scale, x.ndim, axis), 0 * dgamma if fix_gamma else dgamma, dbeta]


for _attrs in ({}, {"fix_gamma": True}, {"global": True}, {"axis": -1}):
    _c = 5 if _attrs.get("axis") else 3
    sample(
        "_batch_norm_grad",
        real(2, 3, 4, 5),
        real(2, 3, 4, 5),
        real(_c),
        real(_c),
        real(_c, low=0.5),
        ref=_batch_grad,
        attrs=_attrs,
        big=((6, 32, 40, 41),) * 2 + ((32,),) * 3 if not _attrs.get("axis") else None,
        bad=[refuse("_batch_norm_grad", "dy must have the shape of data", shapes=((2, 3), (2, 4), (4,), (4,), (4,)))],
        result=_THREE,
        **{**_HOW, "rtol": 64, "atol": 512},
    )


# Rows.


def _layer(x, gamma, beta, axis=-1, eps=1e-5, output_mean_var=False):
    unit, mean, std = _unit(x, axis, eps)
    y = unit * _spread(gamma, x.ndim, axis) + _spread(beta, x.ndim, axis)
    return [y, mean, std] if output_mean_var else y


def _group(x, gamma, beta, num_groups=1, eps=1e-5, output_mean_var=False):
    unit, mean, std = _unit(x.reshape(x.shape[0], num_groups, int(np.prod(x.shape[1:])) // num_groups), 2, eps)
    y = unit.reshape(x.shape) * _spread(gamma, x.ndim, 1) + _spread(beta, x.ndim, 1)
    return [y, mean[..., 0], std[..., 0]] if output_mean_var else y


def _rms(x, gamma, axis=-1, eps=1e-6):
    return _unit(x, axis, eps, center=False)[0] * _spread(gamma, x.ndim, axis)


_ODD = [((1, 17), (17,), (17,)), ((33, 3), (3,), (3,)), ((0, 4), (4,), (4,)), ((2, 3, 100), (100,), (100,))]
for _attrs in ({}, {"eps": 1e-3}):
    sample(
        "LayerNorm",
        real(3, 4, 5),
        real(5),
        real(5),
        ref=_layer,
        attrs=_attrs,
        grad=(0, 1, 2),
        edge=_ODD,
        big=((2000, 200), (200,), (200,)),
        bad=[
            refuse("LayerNorm", "gamma must have shape (5,)", "(4,)", shapes=((3, 4, 5), (4,), (5,))),
            refuse("axis 3", axis=3),
            refuse("data must have a floating", dtypes=("int32", "float32", "float32")),
        ],
        **_HOW,
    )
    sample(
        "GroupNorm",
        real(2, 6, 3, 2),
        real(6),
        real(6),
        ref=_group,
        attrs={"num_groups": 3, **_attrs},
        grad=(0, 1, 2),
        edge=[((2, 6), (6,), (6,)), ((0, 6, 2), (6,), (6,)), ((1, 9, 17), (9,), (9,))],
        big=((64, 12, 40, 10), (12,), (12,)),
        bad=[
            refuse("num_groups=4 does not divide the 6 channels", num_groups=4),
            refuse("num_groups=0", num_groups=0),
            refuse("no axis of channels", shapes=((6,), (6,), (6,))),
        ],
        **_HOW,
    )
    sample(
        "InstanceNorm",
        real(2, 3, 4, 5),
        real(3),
        real(3),
        ref=lambda x, g, b, eps=1e-3: _group(x, g, b, x.shape[1], eps),
        attrs=_attrs,
        grad=(0, 1, 2),
        edge=[((1, 7, 33), (7,), (7,)), ((0, 3, 2), (3,), (3,))],
        bad=[refuse("InstanceNorm", "(2, 3)", shapes=((2, 3), (3,), (3,)))],
        **_HOW,
    )
    sample(
        "RMSNorm",
        real(3, 4, 5),
        real(5),
        ref=_rms,
        attrs=_attrs,
        grad=(0, 1),
        edge=[s[:2] for s in _ODD],
        big=((2000, 200), (200,)),
        **_HOW,
    )
for _axis, _n in ((0, 3), (1, 4)):
    sample("LayerNorm", real(3, 4, 5), real(_n), real(_n), ref=_layer, attrs={"axis": _axis}, grad=(0, 1, 2), **_HOW)
    sample("RMSNorm", real(3, 4, 5), real(_n), ref=_rms, attrs={"axis": _axis}, grad=(0, 1), **_HOW)
_SHOWN = {**_HOW, "dtypes": REALS, "grad": (0, 1, 2), "result": _THREE}
sample(
    "LayerNorm",
    real(3, 4, 5),
    real(4),
    real(4),
    ref=_layer,
    slope_of=_first(_layer),
    attrs={"axis": 1, "output_mean_var": True},
    **_SHOWN,
)
sample(
    "GroupNorm",
    real(2, 6, 5),
    real(3),
    real(3),
    ref=lambda x, g, b, num_groups: _group(x, *(np.repeat(v, x.shape[1] // 3) for v in (g, b)), num_groups),
    attrs={"num_groups": 3},
    grad=(0, 1, 2),
    edge=[((2, 9), (3,), (3,)), ((0, 6, 2), (3,), (3,))],
    bad=[refuse("GroupNorm", "gamma must have shape (6,)", shapes=((2, 6, 5), (2,), (3,)))],
    **_HOW,
)
sample(
    "GroupNorm",
    real(2, 6, 5),
    real(6),
    real(6),
    ref=_group,
    slope_of=_first(_group),
    attrs={"num_groups": 2, "output_mean_var": True},
    **_SHOWN,
)


def _norm_grad(dy, x, gamma, mean, std, axis=-1, groups=0, center=True):
    whole, channel = x.shape, 1 if groups else axis
    shape = (x.shape[0], groups, -1) if groups else x.shape
    axis = 2 if groups else axis
    g = (dy * _spread(gamma, dy.ndim, channel)).reshape(shape)
    mean, std = (v.reshape(*v.shape, 1) if groups else v for v in (mean, std))
    unit = (x.reshape(shape) - mean) / std
    pulled = g.mean(axis, keepdims=True) if center else 0
    dx = (g - pulled - unit * (g * unit).mean(axis, keepdims=True)) / std
    axes = tuple(d for d in range(dy.ndim) if d != channel % dy.ndim)
    return [dx.reshape(whole), (dy * unit.reshape(whole)).sum(axes), dy.sum(axes)]


for _attrs, _stats in (({}, (4, 1)), ({"center": False}, (4, 1)), ({"axis": 0}, (1, 6)), ({"groups": 2}, (4, 2))):
    _n = 4 if _attrs.get("axis") == 0 else 6
    sample(
        "_norm_grad",
        real(4, 6),
        real(4, 6),
        real(_n),
        real(*_stats),
        real(*_stats, low=0.5),
        ref=_norm_grad,
        attrs=_attrs,
        bad=[
            refuse("_norm_grad", "dy must have shape (4, 6)", "(3, 6)", shapes=((3, 6), (4, 6), (_n,), _stats, _stats))
        ],
        result=_THREE,
        **{**_HOW, "rtol": 64, "atol": 512},
    )
sample(
    "_norm_grad",
    real(2, 6, 5),
    real(2, 6, 5),
    real(6),
    real(2, 3),
    real(2, 3, low=0.5),
    ref=_norm_grad,
    attrs={"groups": 3},
    big=((64, 6, 500), (64, 6, 500), (6,), (64, 3), (64, 3)),
    result=_THREE,
    **{**_HOW, "rtol": 64, "atol": 2048},
)


# Norms of neighbours.


def _l2(x, eps=1e-10, mode="instance"):
    axes = {"channel": (1,), "instance": tuple(range(1, x.ndim)), "spatial": tuple(range(2, x.ndim))}[mode]
    return x / np.sqrt((x**2).sum(axes, keepdims=True) + eps)


def _lrn(x, nsize, alpha=1e-4, beta=0.75, knorm=2.0):
    n, half = x.shape[1], nsize // 2
    sums = np.stack([(x[:, max(c - half, 0) : c + half + 1] ** 2).sum(1) for c in range(n)], 1) if n else x
    return x * (knorm + alpha / nsize * sums) ** -beta


for _mode in ("instance", "channel", "spatial"):
    sample(
        "L2Normalization",
        real(2, 3, 4),
        ref=_l2,
        attrs={"mode": _mode},
        grad=(0,),
        edge=[((0, 3, 2),), ((2, 5, 3, 2),)],
        bad=[
            refuse("L2Normalization", "(3,)", "mode='spatial'", shapes=((3,),), mode="spatial"),
            refuse("L2Normalization", "eps=-1", eps=-1.0),
        ],
        **_HOW,
    )
for _attrs in ({"nsize": 3}, {"nsize": 5, "alpha": 0.3, "beta": 0.5, "knorm": 1.5}, {"nsize": 1}, {"nsize": 99}):
    sample(
        "LRN",
        real(2, 4, 3, 2),
        ref=_lrn,
        attrs=_attrs,
        grad=(0,),
        edge=[((1, 7, 1, 2),), ((0, 3, 2, 2),)],
        bad=[refuse("LRN", "nsize=4 must be odd", nsize=4), refuse("LRN", "4 axes", shapes=((2, 4, 3),))],
        **_HOW,
    )
