"""Samples: pooling, against loops over the windows."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
from ops.sampling import FLOATS, real, refuse, sample


def _windows(size, out, kernel, stride, pad):
    """For each window: its place, what of it lies in the image, and how much of it in the padded image."""
    for place in product(*map(range, out)):
        start = [i * s - p for i, s, p in zip(place, stride, pad, strict=True)]
        end = [min(a + k, n + p) for a, k, n, p in zip(start, kernel, size, pad, strict=True)]
        inside = tuple(slice(max(a, 0), min(b, n)) for a, b, n in zip(start, end, size, strict=True))
        yield place, (slice(None), slice(None), *inside), prod(b - a for a, b in zip(start, end, strict=True))


def _folded(x, out, kernel, stride, pad, fold):
    y = np.zeros((*x.shape[:2], *out), x.dtype)
    for place, inside, whole in _windows(x.shape[2:], out, kernel, stride, pad):
        y[(..., *place)] = fold(x[inside].reshape(*x.shape[:2], prod(x[inside].shape[2:])), whole)
    return y


def _pooling(x, *, kernel=None, pool_type="max", global_pool=False, pooling_convention="valid", stride=None, pad=None,
             p_value=None, count_include_pad=True, layout=None):  # fmt: skip
    last = layout is not None and layout[-1] == "C"
    x = np.moveaxis(x, -1, 1) if last else x
    n, size = x.ndim - 2, x.shape[2:]
    kernel = size if global_pool else kernel
    stride, pad = (1,) * n if global_pool or not stride else stride, (0,) * n if global_pool or not pad else pad
    room = [(s + 2 * p - k, t) for s, p, k, t in zip(size, pad, kernel, stride, strict=True)]
    if pooling_convention == "same":
        out = [-(-s // t) for s, t in zip(size, stride, strict=True)]
        pad = [max((o - 1) * t + k - s, 0) // 2 for o, t, k, s in zip(out, stride, kernel, size, strict=True)]
    else:
        out = [(-(-r // t) if pooling_convention == "full" else r // t) + 1 for r, t in room]
    same = prod(kernel) if pooling_convention == "same" else None  # windows lie whole in what was added
    folds = {
        "max": lambda v, _: v.max(-1),
        "sum": lambda v, _: v.sum(-1),
        "avg": lambda v, whole: v.sum(-1) / ((same or whole) if count_include_pad else v.shape[-1]),
        "lp": lambda v, _: (np.abs(v) ** p_value).sum(-1) ** (1 / p_value),
    }
    y = _folded(x, out, kernel, stride, pad, folds[pool_type])
    return np.moveaxis(y, 1, -1) if last else y


_HOW = {"dtypes": FLOATS, "rtol": 8, "atol": 16, "special": False}
_CASES = [
    ((2, 3, 7), {"kernel": (3,)}),
    ((2, 3, 7), {"kernel": (3,), "stride": (2,), "pad": (1,)}),
    ((1, 2, 5, 6), {"kernel": (2, 3), "stride": (2, 2), "pad": (1, 1)}),
    ((1, 2, 5, 6), {"kernel": (2, 2), "stride": (2, 2), "pooling_convention": "full"}),
    ((1, 2, 5, 7), {"kernel": (3, 3), "stride": (2, 2), "pooling_convention": "same"}),
    ((1, 2, 6, 6), {"kernel": (4, 2), "pooling_convention": "same"}),
    ((1, 1, 4, 3, 5), {"kernel": (2, 3, 2), "stride": (2, 1, 2)}),
    ((2, 3, 4, 5), {"global_pool": True}),
]
for _shape, _attrs in _CASES:
    for _more in (
        {"pool_type": "max"}, {"pool_type": "avg"}, {"pool_type": "avg", "count_include_pad": False},
        {"pool_type": "sum"},
    ):  # fmt: skip
        sample("Pooling", real(*_shape, distinct=True), ref=_pooling, attrs={**_attrs, **_more}, grad=(0,),
               edge=[((0, *_shape[1:]),)], **_HOW)  # fmt: skip


def _pooling_v1(x, *, pool_type="max", global_pool=False, **attrs):
    """A mean is the sum over the size of the window."""
    if pool_type != "avg":
        return _pooling(x, pool_type=pool_type, global_pool=global_pool, **attrs)
    size = np.prod(x.shape[2:] if global_pool else attrs["kernel"])
    return _pooling(x, pool_type="sum", global_pool=global_pool, **attrs) / size


for _shape, _attrs in (_CASES[1], _CASES[2], _CASES[3], _CASES[6]):
    for _kind in ("max", "avg", "sum"):
        sample("Pooling_v1", real(*_shape, distinct=True), ref=_pooling_v1, attrs={**_attrs, "pool_type": _kind},
               grad=(0,), edge=[((0, *_shape[1:]),)], **_HOW)  # fmt: skip
sample("Pooling_v1", real(1, 2, 5, 6, distinct=True), ref=_pooling_v1, attrs={"kernel": (2, 2)},
       bad=[refuse("Pooling_v1", "kernel=(2,)", "2 positive numbers", kernel=(2,)),
            refuse("Pooling_v1", "pool_type", "'lp'", pool_type="lp")], **_HOW)  # fmt: skip

sample("Pooling", real(1, 2, 5, 6, low=0.5), ref=_pooling, attrs={**_CASES[2][1], "pool_type": "lp", "p_value": 2},
       grad=(0,), bad=[refuse("Pooling", "p_value", p_value=None), refuse("Pooling", "p_value=0", p_value=0)],
       **_HOW)  # fmt: skip
sample("Pooling", real(1, 5, 6, 2, distinct=True), ref=_pooling, attrs={**_CASES[2][1], "layout": "NHWC"}, grad=(0,),
       **_HOW)  # fmt: skip
sample(
    "Pooling",
    real(1, 2, 5, 6, distinct=True),
    ref=_pooling,
    attrs={"kernel": (2, 2)},
    big=((8, 16, 40, 40),),
    bad=[
        refuse("Pooling", "kernel=(2, 2)", "larger than data of size (1, 6)", shapes=((1, 2, 1, 6),)),
        refuse("Pooling", "pad=(2, 0) must be less than kernel=(2, 2)", pad=(2, 0)),
        refuse("Pooling", "kernel=(2,)", "2 positive numbers", "kernel=(2, 2)", kernel=2),
        refuse("Pooling", "stride=(0, 1)", stride=(0, 1)),
        refuse("Pooling", "pad=(-1, 0)", pad=(-1, 0)),
        refuse("Pooling", "1 to 3 spatial axes", "(5, 6)", shapes=((5, 6),)),
        refuse("Pooling", "pooling_convention='same'", pooling_convention="same", pad=(1, 1)),
        refuse("Pooling", "layout='NCW'", layout="NCW"),
    ],
    **_HOW,
)


def _placed(attrs: dict[str, Any]) -> dict[str, Any]:
    return {"kernel": (2, 3), "stride": (2, 2), "pad": (1, 1), **attrs}


def _max(x, *, kernel, stride, pad, size):
    return _folded(x, size, kernel, stride, pad, lambda v, _: v.max(-1))


def _sum(x, *, kernel, stride, pad, size, mean=False, count_pad=False, channels_last=False):
    def fold(v, whole):
        return v.sum(-1) / ((whole if count_pad else v.shape[-1]) if mean else 1)

    return _folded(x, size, kernel, stride, pad, fold)


def _sum_grad(dy, *, kernel, stride, pad, size, mean=False, count_pad=False, channels_last=False):
    dx = np.zeros((*dy.shape[:2], *size), dy.dtype)
    for place, inside, whole in _windows(size, dy.shape[2:], kernel, stride, pad):
        n = prod(s.stop - s.start for s in inside[2:])
        g = dy[(..., *place)] / ((whole if count_pad else n) if mean else 1)
        dx[inside] += g.reshape(*dy.shape[:2], *(1,) * len(size))
    return dx


def _largest(x, size, kernel, stride, pad):
    for place, inside, _ in _windows(x.shape[2:], size, kernel, stride, pad):
        part = x[inside]
        at = part.reshape(*part.shape[:2], -1).argmax(-1)
        for n, c in np.ndindex(*x.shape[:2]):
            where = np.unravel_index(at[n, c], part.shape[2:])
            yield (n, c, *place), (n, c, *(w + s.start for w, s in zip(where, inside[2:], strict=True)))


def _max_grad(dy, x, *, kernel, stride, pad, size, **_):
    dx = np.zeros((*dy.shape[:2], *size), dy.dtype)
    for of, at in _largest(x, dy.shape[2:], kernel, stride, pad):
        dx[at] += dy[of]
    return dx


def _pick(g, x, *, kernel, stride, pad, size, **_):
    y = np.zeros((*g.shape[:2], *size), g.dtype)
    for of, at in _largest(x, size, kernel, stride, pad):
        y[of] = g[at]
    return y


_X = real(1, 2, 5, 6, distinct=True)
_DY = real(1, 2, 3, 3)
sample("_pool_max", _X, ref=_max, attrs=_placed({"size": (3, 3)}), grad=(0,), **_HOW)
sample("_pool_max_grad", _DY, _X, ref=_max_grad, attrs=_placed({"size": (5, 6)}), grad=(0,), **_HOW)
sample("_pool_pick", real(1, 2, 5, 6), _X, ref=_pick, attrs=_placed({"size": (3, 3)}), grad=(0,), **_HOW)
for _attrs in ({}, {"mean": True}, {"mean": True, "count_pad": True}):
    sample("_pool_sum", _X, ref=_sum, attrs=_placed({"size": (3, 3), **_attrs}), grad=(0,), **_HOW)
    sample("_pool_sum_grad", _DY, ref=_sum_grad, attrs=_placed({"size": (5, 6), **_attrs}), grad=(0,), **_HOW)


def _evenly(x, output_size=(1, 1)):
    size = (output_size, output_size) if isinstance(output_size, int) else output_size
    size = size * 2 if len(size) == 1 else size

    def windows(n, out):
        return [slice(i * n // out, -(-(i + 1) * n // out)) for i in range(out)]

    rows = [x[:, :, h].mean(2) for h in windows(x.shape[2], size[0])]
    return np.stack([np.stack([r[:, :, w].mean(2) for w in windows(x.shape[3], size[1])], 2) for r in rows], 2)


def _evenly_grad(dy, size):
    dx = np.zeros((*dy.shape[:2], *size), dy.dtype)
    for i, j in np.ndindex(*dy.shape[2:]):
        h, w = (
            slice(k * n // out, -(-(k + 1) * n // out)) for k, n, out in zip((i, j), size, dy.shape[2:], strict=True)
        )
        dx[:, :, h, w] += (dy[:, :, i, j] / ((h.stop - h.start) * (w.stop - w.start)))[..., None, None]
    return dx


for _attrs in ({}, {"output_size": 3}, {"output_size": (2, 5)}, {"output_size": (7, 3)}):
    sample(
        "AdaptiveAvgPooling2D",
        real(2, 3, 5, 6),
        ref=_evenly,
        attrs=_attrs,
        grad=(0,),
        edge=[((0, 2, 3, 4),), ((1, 7, 17, 33),)],
        bad=[
            refuse("AdaptiveAvgPooling2D", "(2, 3, 5)", shapes=((2, 3, 5),)),
            refuse("AdaptiveAvgPooling2D", "(0, 2)", output_size=(0, 2)),
        ],
        **_HOW,
    )
sample(
    "_adaptive_mean", real(2, 3, 5, 6), ref=lambda x, size: _evenly(x, size), attrs={"size": (2, 4)}, grad=(0,), **_HOW
)
sample("_adaptive_mean_grad", real(2, 3, 2, 4), ref=_evenly_grad, attrs={"size": (5, 6)}, grad=(0,), **_HOW)

# Rows long enough for many windows at once, with every stride, in and beside the padding.
for _kernel, _stride, _pad in (
    ((3, 3), (2, 2), (1, 1)),
    ((2, 2), (2, 2), (0, 0)),
    ((3, 5), (1, 1), (1, 2)),
    ((5, 4), (3, 3), (2, 0)),
    ((2, 7), (1, 4), (0, 3)),
    ((1, 2), (2, 5), (0, 1)),
):
    for _type in ({"pool_type": "max"}, {"pool_type": "avg"}, {"pool_type": "avg", "count_include_pad": False}):
        for _convention in ("valid", "full") if _kernel != (1, 2) else ("valid",):
            sample(
                "Pooling",
                real(2, 3, 9, 31, distinct=True),
                ref=_pooling,
                grad=(0,),
                edge=[((1, 1, 7, 33),)],
                attrs={"kernel": _kernel, "stride": _stride, "pad": _pad, "pooling_convention": _convention, **_type},
                **_HOW,
            )
