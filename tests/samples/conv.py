"""Samples: convolution, its transpose and its gradients, against sums over the taps written out with NumPy's slices."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from ops.sampling import FLOATS, real, refuse, sample


def _first(x: Any) -> Any:
    """Channels second, for images and for filters."""
    return np.moveaxis(x, -1, 1)


def _last(x: Any) -> Any:
    return np.moveaxis(x, 1, -1)


def _each(given: Any, spatial: int, otherwise: int) -> tuple[int, ...]:
    return tuple(given) if given else (otherwise,) * spatial


def _windows(size, kernel, stride, dilate, pad):
    """For each tap: which places of the padded images it looks at."""
    out = [
        (s + 2 * p - d * (k - 1) - 1) // t + 1 for s, k, t, d, p in zip(size, kernel, stride, dilate, pad, strict=True)
    ]
    for tap in product(*map(range, kernel)):
        at = [slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilate, out, stride, strict=True)]
        yield tap, (slice(None), slice(None), *at), out


def _grouped(x, groups, axis=1):
    return np.split(x, groups, axis)


def _result(x, w, stride, dilate, pad, groups):
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    ys = []
    for part, filters in zip(_grouped(padded, groups), _grouped(w, groups, 0), strict=True):
        total = 0
        for tap, at, _ in _windows(x.shape[2:], w.shape[2:], stride, dilate, pad):
            total = total + np.einsum("ni...,oi->no...", part[at], filters[(..., *tap)])
        ys.append(total)
    return np.concatenate(ys, 1)


def _images(dy, w, size, stride, dilate, pad, groups):
    out = np.zeros((dy.shape[0], w.shape[1] * groups, *(s + 2 * p for s, p in zip(size, pad, strict=True))), dy.dtype)
    parts = _grouped(out, groups)
    for part, grad, filters in zip(parts, _grouped(dy, groups), _grouped(w, groups, 0), strict=True):
        for tap, at, _ in _windows(size, w.shape[2:], stride, dilate, pad):
            part[at] += np.einsum("no...,oi->ni...", grad, filters[(..., *tap)])
    cut = tuple(slice(p, p + s) for s, p in zip(size, pad, strict=True))
    return np.concatenate(parts, 1)[(slice(None), slice(None), *cut)]


def _filters(x, dy, kernel, stride, dilate, pad, groups):
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    dws = []
    for part, grad in zip(_grouped(padded, groups), _grouped(dy, groups), strict=True):
        dw = np.zeros((grad.shape[1], part.shape[1], *kernel), x.dtype)
        for tap, at, _ in _windows(x.shape[2:], kernel, stride, dilate, pad):
            dw[(..., *tap)] = np.einsum(
                "nox,nix->oi", grad.reshape(*grad.shape[:2], -1), part[at].reshape(*part.shape[:2], -1)
            )
        dws.append(dw)
    return np.concatenate(dws, 0)


def _how(attrs: dict[str, Any], spatial: int) -> tuple[Any, ...]:
    return (
        _each(attrs.get("stride"), spatial, 1), _each(attrs.get("dilate"), spatial, 1),
        _each(attrs.get("pad"), spatial, 0), attrs.get("num_group", 1),
    )  # fmt: skip


def _laid_out(last: bool, f: Any, *operands: Any) -> Any:
    """Calls `f` on operands with their channels second, and gives the result in the order asked for."""
    return _last(f(*map(_first, operands))) if last else f(*operands)


def _convolution(x, w, b=None, *, kernel, layout=None, **attrs):
    last = layout is not None and layout[-1] == "C"
    y = _laid_out(last, lambda x, w: _result(x, w, *_how(attrs, len(kernel))), x, w)
    if b is None:
        return y
    return y + (b if last else b.reshape(-1, *(1,) * len(kernel)))


def _deconvolution(x, w, b=None, *, kernel, layout=None, adj=None, target_shape=None, **attrs):
    n = len(kernel)
    stride, dilate, pad, groups = _how(attrs, n)
    last = layout is not None and layout[-1] == "C"
    size = x.shape[1:-1] if last else x.shape[2:]
    whole = [(s - 1) * t + d * (k - 1) + 1 for s, t, d, k in zip(size, stride, dilate, kernel, strict=True)]
    if target_shape:
        out, pad = target_shape, tuple((a - t + 1) // 2 for a, t in zip(whole, target_shape, strict=True))
    else:
        out = tuple(a - 2 * p + j for a, p, j in zip(whole, pad, _each(adj, n, 0), strict=True))
    y = _laid_out(last, lambda x, w: _images(x, w, out, stride, dilate, pad, groups), x, w)
    if b is None:
        return y
    return y + (b if last else b.reshape(-1, *(1,) * n))


def _small(*shape: int) -> Any:
    return real(*shape, low=-1, high=1)


_TOLERANCE = {"dtypes": FLOATS, "rtol": 32, "atol": 64, "special": False}

# Images, filters, and how they meet: odd numbers of channels, of places, and of everything else.
_CASES = [
    ((2, 3, 7), (4, 3, 3), {"kernel": (3,)}),
    ((2, 4, 9), (6, 2, 3), {"kernel": (3,), "stride": (2,), "pad": (1,), "num_group": 2}),
    ((2, 3, 5, 6), (4, 3, 3, 3), {"kernel": (3, 3)}),
    ((2, 3, 5, 6), (4, 3, 3, 3), {"kernel": (3, 3), "pad": (1, 1)}),
    ((1, 7, 4, 5), (5, 7, 1, 1), {"kernel": (1, 1)}),
    ((2, 5, 5, 7), (3, 5, 1, 1), {"kernel": (1, 1), "stride": (2, 2)}),
    ((1, 3, 9, 8), (2, 3, 3, 2), {"kernel": (3, 2), "stride": (2, 3), "dilate": (2, 1), "pad": (1, 2)}),
    ((2, 4, 6, 5), (4, 1, 3, 3), {"kernel": (3, 3), "pad": (1, 1), "num_group": 4}),
    ((1, 3, 6, 5), (6, 1, 3, 3), {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "num_group": 3}),
    ((1, 1, 7, 7), (2, 1, 5, 5), {"kernel": (5, 5), "pad": (2, 2)}),
    ((1, 2, 3, 4, 5), (3, 2, 2, 3, 2), {"kernel": (2, 3, 2), "pad": (1, 1, 0), "stride": (1, 2, 1)}),
    ((1, 17, 3, 3), (3, 17, 3, 3), {"kernel": (3, 3), "pad": (1, 1)}),
]  # fmt: skip
_EMPTY = ((0, 3, 5, 6), (4, 3, 3, 3))

for _data, _weight, _attrs in _CASES:
    _attrs["num_filter"] = _weight[0]
    _flat = {"kernel": _attrs["kernel"]}
    sample("Convolution", _small(*_data), _small(*_weight), ref=_convolution, attrs={**_attrs, "no_bias": True},
           grad=(0, 1), edge=[_EMPTY] if _data == _CASES[2][0] else [], **_TOLERANCE)  # fmt: skip
for _data, _weight, _attrs in (_CASES[1], _CASES[3], _CASES[10]):
    sample("Convolution", _small(*_data), _small(*_weight), _small(_weight[0]), ref=_convolution, attrs=_attrs,
           grad=(0, 1, 2), **_TOLERANCE)  # fmt: skip
for _layout, (_data, _weight, _attrs) in zip(
    ("NWC", "NHWC", "NHWC", "NDHWC"), (_CASES[1], _CASES[3], _CASES[6], _CASES[10]), strict=True
):
    _shapes = [(s[0], *s[2:], s[1]) for s in (_data, _weight)]
    sample("Convolution", *(_small(*s) for s in _shapes), _small(_weight[0]), ref=_convolution,
           attrs={**_attrs, "layout": _layout}, grad=(0, 1, 2), **_TOLERANCE)  # fmt: skip

_PLAIN = {"kernel": (3, 3), "num_filter": 4, "no_bias": True}
sample(
    "Convolution",
    _small(2, 3, 5, 6),
    _small(4, 3, 3, 3),
    ref=_convolution,
    attrs=_PLAIN,
    bad=[
        refuse(
            "Convolution", "weight must have shape (4, 3, 3, 3)", "(4, 2, 3, 3)", shapes=((2, 3, 5, 6), (4, 2, 3, 3))
        ),
        refuse("Convolution", "kernel=(3, 3)", "larger than data of size (2, 6)", shapes=((2, 3, 2, 6), (4, 3, 3, 3))),
        refuse("Convolution", "must have 4 axes", "(2, 3, 5)", shapes=((2, 3, 5), (4, 3, 3, 3))),
        refuse("Convolution", "3 channels of data cannot be divided into num_group=2", num_group=2),
        refuse("Convolution", "stride=(0, 1)", "less than 1", stride=(0, 1)),
        refuse("Convolution", "pad=(-1, 0)", "less than 0", pad=(-1, 0)),
        refuse("Convolution", "dilate=(1,) does not fit 2 spatial axes", "dilate=(1, 1)", dilate=(1,)),
        refuse("Convolution", "stride=(2,)", "stride=(2, 2)", stride=2),
        refuse("Convolution", "pad=(1, 1, 1) does not fit 2 spatial axes", pad=(1, 1, 1)),
        refuse("Convolution", "layout='NCW' does not fit 2 spatial axes", layout="NCW"),
        refuse("Convolution", "bias is missing", no_bias=False),
        refuse("Convolution", "kernel=(0, 3)", kernel=(0, 3)),
        refuse("Convolution", "must have 3 axes for kernel=(3,)", "kernel=(3, 3)", kernel=3),
        refuse("Convolution", "int32", dtypes=("int32", "int32")),
    ],
    **_TOLERANCE,
)
# Winograd's tiles, which some instruction sets use here and others not, are off by millionths of the largest value.
sample("Convolution", _small(2, 3, 5, 6), _small(4, 3, 3, 3), ref=_convolution, attrs=_PLAIN,
       big=((2, 16, 40, 40), (4, 16, 3, 3)), **{**_TOLERANCE, "dtypes": ("float32",), "atol": 1000})  # fmt: skip

_BACK = [
    ((2, 4, 5), (4, 3, 3), {"kernel": (3,), "stride": (2,), "pad": (1,), "adj": (1,)}),
    ((2, 4, 3, 4), (4, 3, 3, 3), {"kernel": (3, 3)}),
    ((1, 4, 3, 4), (4, 3, 4, 4), {"kernel": (4, 4), "stride": (2, 2), "pad": (1, 1)}),
    ((1, 4, 3, 3), (4, 2, 3, 2), {"kernel": (3, 2), "stride": (2, 3), "dilate": (2, 1), "num_group": 2}),
    ((1, 2, 3, 4), (2, 3, 3, 3), {"kernel": (3, 3), "stride": (2, 2), "target_shape": (6, 8)}),
    ((1, 2, 2, 3, 2), (2, 2, 2, 3, 2), {"kernel": (2, 3, 2), "stride": (2, 1, 2)}),
]  # fmt: skip
for _data, _weight, _attrs in _BACK:
    _attrs["num_filter"] = _weight[1] * _attrs.get("num_group", 1)
    sample("Deconvolution", _small(*_data), _small(*_weight), ref=_deconvolution, attrs=_attrs, grad=(0, 1),
           **_TOLERANCE)  # fmt: skip
_data, _weight, _attrs = _BACK[2]
sample("Deconvolution", _small(*_data), _small(*_weight), _small(3), ref=_deconvolution,
       attrs={**_attrs, "no_bias": False}, grad=(0, 1, 2), edge=[((0, 4, 3, 4), _weight, (3,))],
       bad=[refuse("Deconvolution", "adj=(2, 0) must be less than stride=(2, 2)", adj=(2, 0)),
            refuse("Deconvolution", "target_shape=(90, 8)", target_shape=(90, 8)),
            refuse("Deconvolution", "leaves no result", pad=(9, 9)),
            refuse("Deconvolution", "weight must have shape (5, 3, 4, 4)", shapes=((1, 5, 3, 4), _weight, (3,)))],
       **_TOLERANCE)  # fmt: skip
_shapes = [(s[0], *s[2:], s[1]) for s in (_data, _weight)]
sample("Deconvolution", *(_small(*s) for s in _shapes), ref=_deconvolution, attrs={**_attrs, "layout": "NHWC"},
       grad=(0, 1), **_TOLERANCE)  # fmt: skip


def _of(f: Any, spatial: int) -> Any:
    def ref(a, b, *, size, channels_last=False, **attrs):
        stride, dilate, pad, groups = _how(attrs, spatial)
        return _laid_out(channels_last, lambda a, b: f(a, b, size, stride, dilate, pad, groups), a, b)

    return ref


for _data, _weight, _attrs in (_CASES[1], _CASES[6], _CASES[7], _CASES[10]):
    _n = len(_attrs["kernel"])
    _rest = {k: v for k, v in _attrs.items() if k not in {"kernel", "num_filter"}}
    _result_shape = _result(np.zeros(_data), np.zeros(_weight), *_how(_rest, _n)).shape
    _three = [_data, _weight, _result_shape]
    for _is_last in (False, True):
        _x, _w, _y = [(s[0], *s[2:], s[1]) if _is_last else s for s in _three]
        _more = {**_rest, "channels_last": _is_last}
        sample("_conv_result", _small(*_x), _small(*_w), ref=_of(lambda a, b, size, *how: _result(a, b, *how), _n),
               attrs={**_more, "size": _attrs["kernel"]}, grad=(0, 1), **_TOLERANCE)  # fmt: skip
        sample("_conv_images", _small(*_y), _small(*_w), ref=_of(_images, _n),
               attrs={**_more, "size": _data[2:]}, grad=(0, 1), **_TOLERANCE)  # fmt: skip
        sample("_conv_filters", _small(*_x), _small(*_y), ref=_of(_filters, _n),
               attrs={**_more, "size": _attrs["kernel"]}, grad=(0, 1), **_TOLERANCE)  # fmt: skip
