"""Samples: patches as columns, images of another size, products of interleaved heads, rotary embedding."""

from __future__ import annotations

from itertools import product
from math import nan, prod

import numpy as np
from ops.sampling import FLOATS, real, refuse, sample

_HOW = {"dtypes": FLOATS, "rtol": 8, "atol": 32, "special": False}


def _places(size, kernel, stride, dilate, pad):
    n = len(kernel)
    stride, dilate, pad = stride or (1,) * n, dilate or (1,) * n, pad or (0,) * n
    out = [
        (s + 2 * p - d * (k - 1) - 1) // t + 1 for s, k, t, d, p in zip(size, kernel, stride, dilate, pad, strict=True)
    ]
    for column, place in enumerate(product(*map(range, out))):
        for tap, at in enumerate(product(*map(range, kernel))):
            p = [i * t + k * d - q for i, t, k, d, q in zip(place, stride, at, dilate, pad, strict=True)]
            yield column, tap, tuple(p) if all(0 <= a < s for a, s in zip(p, size, strict=True)) else None


def _im2col(x, *, kernel, stride=None, dilate=None, pad=None):
    places = list(_places(x.shape[2:], kernel, stride, dilate, pad))
    y = np.zeros((*x.shape[:2], prod(kernel), 1 + max(c for c, _, _ in places)), x.dtype)
    for column, tap, at in places:
        if at is not None:
            y[:, :, tap, column] = x[(slice(None), slice(None), *at)]
    return y.reshape(x.shape[0], x.shape[1] * prod(kernel), y.shape[-1])


def _col2im(columns, *, output_size, kernel, stride=None, dilate=None, pad=None):
    taps = prod(kernel)
    columns = columns.reshape(len(columns), columns.shape[1] // taps, taps, columns.shape[2])
    x = np.zeros((*columns.shape[:2], *output_size), columns.dtype)
    for column, tap, at in _places(output_size, kernel, stride, dilate, pad):
        if at is not None:
            x[(slice(None), slice(None), *at)] += columns[:, :, tap, column]
    return x


_CASES = [
    ((2, 3, 7), {"kernel": (3,), "stride": (2,)}, (9, 3)),
    ((1, 2, 5, 6), {"kernel": (2, 3), "pad": (1, 2), "dilate": (2, 1)}, (12, 40)),
    ((2, 1, 3, 4, 3), {"kernel": (2, 2, 1), "stride": (1, 2, 2)}, (4, 8)),
]
for _shape, _attrs, _made in _CASES:
    sample("im2col", real(*_shape), ref=_im2col, attrs=_attrs, grad=(0,), edge=[((0, *_shape[1:]),)], **_HOW)
    sample("col2im", real(_shape[0], *_made), ref=_col2im, attrs={"output_size": _shape[2:], **_attrs}, grad=(0,),
           edge=[((0, *_made),)], **_HOW)  # fmt: skip
sample(
    "im2col",
    real(1, 2, 5, 6),
    ref=_im2col,
    attrs={"kernel": (3, 3)},
    big=((4, 16, 40, 40),),
    bad=[
        refuse("im2col", "kernel=(3, 3)", "larger than data of size (2, 6)", shapes=((1, 2, 2, 6),)),
        refuse("im2col", "kernel=(0, 3)", kernel=(0, 3)),
        refuse("im2col", "kernel=(3,)", "2 spatial axes", "kernel=(3, 3)", kernel=(3,)),
        refuse("im2col", "stride=(0, 1)", stride=(0, 1)),
        refuse("im2col", "pad=(-1, 1)", pad=(-1, 1)),
        refuse("im2col", "(5, 6)", "1 to 3 spatial axes", shapes=((5, 6),)),
    ],
    **_HOW,
)
sample(
    "col2im",
    real(1, 18, 12),
    ref=_col2im,
    attrs={"output_size": (5, 6), "kernel": (3, 3)},
    bad=[
        refuse("col2im", "(1, 17, 12)", "multiple of 9 rows", shapes=((1, 17, 12),)),
        refuse("col2im", "(1, 18, 11)", "12 columns", shapes=((1, 18, 11),)),
        refuse("col2im", "output_size=(-5, 6)", output_size=(-5, 6)),
    ],
    **_HOW,
)


def _nearest(*images, scale, sample_type, multi_input_mode="concat", num_args=1):
    height = images[0].shape[2] * scale
    grown = [np.kron(x, np.ones((height // x.shape[2],) * 2)) for x in images]
    return sum(grown[1:], grown[0]) if multi_input_mode == "sum" else np.concatenate(grown, 1)


def _bilinear_up(x, w, *, scale, num_filter, sample_type, num_args=2):
    k, pad = w.shape[-1], scale // 2
    y = np.zeros((*x.shape[:2], (x.shape[2] - 1) * scale + k, (x.shape[3] - 1) * scale + k))
    for i, j in np.ndindex(*x.shape[2:]):
        y[:, :, i * scale : i * scale + k, j * scale : j * scale + k] += x[:, :, i, j, None, None] * w[:, 0]
    return y[:, :, pad : y.shape[2] - pad, pad : y.shape[3] - pad]


_NEAREST = {"scale": 2, "sample_type": "nearest"}
sample("UpSampling", real(1, 2, 3, 4), ref=_nearest, attrs=_NEAREST, grad=(0,), edge=[((0, 2, 3, 4),)],
       bad=[refuse("UpSampling", "(2, 3, 4)", "4 axes", shapes=((2, 3, 4),)), refuse("scale", scale=0),
            refuse("num_args=3", num_args=3)], **_HOW)  # fmt: skip
for _mode in ("concat", "sum"):
    sample("UpSampling", real(1, 2, 3, 4), real(1, 2, 6, 8), ref=_nearest, grad=(0, 1),
           attrs={**_NEAREST, "multi_input_mode": _mode, "num_args": 2},
           bad=[refuse("cannot be enlarged to (6, 8)", "(5, 8)", shapes=((1, 2, 3, 4), (1, 2, 5, 8)))],
           **_HOW)  # fmt: skip
for _scale, _kernel in ((2, 4), (3, 5)):
    sample("UpSampling", real(1, 2, 3, 4), real(2, 1, _kernel, _kernel), ref=_bilinear_up, grad=(0, 1),
           attrs={"scale": _scale, "num_filter": 2, "sample_type": "bilinear", "num_args": 2},
           bad=[refuse("num_filter=3", "2 channels", num_filter=3)], **_HOW)  # fmt: skip


def _matrix(n, to, corners):
    """Rows that say how each of `to` values is mixed of `n`."""
    m = np.zeros((to, n))
    for i in range(to):
        x = (i * (n - 1) / (to - 1) if to > 1 else 0.0) if corners else max((i + 0.5) * n / to - 0.5, 0.0)
        k = min(int(x), n - 1)
        m[i, k] += 1 - (x - k)
        m[i, min(k + 1, n - 1)] += x - k
    return m


def _resized(x, size, align_corners=True):
    a, b = _matrix(x.shape[2], size[0], align_corners), _matrix(x.shape[3], size[1], align_corners)
    return np.einsum("ih,nchw,jw->ncij", a, x, b)


def _resize_grad(dy, *, size, align_corners=True):
    a, b = _matrix(size[0], dy.shape[2], align_corners), _matrix(size[1], dy.shape[3], align_corners)
    return np.einsum("ih,ncij,jw->nchw", a, dy, b)


# The sizes that MXNet 1.9.1 makes of (3, 4).
for _attrs, _size in (
    ({"height": 5, "width": 3}, (5, 3)),
    ({"height": 5, "width": 3, "align_corners": False}, (5, 3)),
    ({"height": 2, "width": 9, "align_corners": False}, (2, 9)),
    ({"scale_height": 2.0, "scale_width": 1.5}, (6, 6)),
    ({"mode": "odd_scale", "scale_height": 2.0, "scale_width": 2.0}, (5, 8)),
    ({"mode": "to_even_up"}, (4, 4)),
    ({"mode": "to_even_down"}, (2, 4)),
    ({"mode": "to_odd_up"}, (3, 5)),
    ({"mode": "to_odd_down"}, (3, 3)),
    ({}, (1, 1)),
):
    sample(
        "BilinearResize2D",
        real(1, 2, 3, 4),
        ref=lambda x, size=_size, align_corners=True, **_: _resized(x, size, align_corners),
        attrs=_attrs,
        grad=(0,),
        bad=[
            refuse("BilinearResize2D", "4 axes", "(3, 4)", shapes=((3, 4),)),
            refuse("needs the input like", mode="like"),
            refuse("height 0", shapes=((1, 2, 0, 4),)),
        ],
        **_HOW,
    )
sample("BilinearResize2D", real(1, 2, 3, 4), real(2, 1, 5, 2), attrs={"mode": "like"}, grad=(0,),
       ref=lambda x, like, mode: _resized(x, like.shape[2:]),
       bad=[refuse("like is given", "'size'", mode="size")], **_HOW)  # fmt: skip
sample("BilinearResize2D", real(1, 2, 3, 4), attrs={"mode": "odd_scale", "scale_height": 3.0, "scale_width": 3.0},
       ref=lambda x, **_: _resized(x, (7, 12)),
       bad=[refuse("needs scale_height", scale_height=None), refuse("scale_height=NaN", scale_height=nan)],
       **_HOW)  # fmt: skip
for _corners in (True, False):
    sample("_bilinear_resize", real(2, 3, 5, 7), ref=lambda x, size, align_corners: _resized(x, size, align_corners),
           attrs={"size": (8, 3), "align_corners": _corners}, grad=(0,), big=((4, 32, 20, 30),),
           edge=[((0, 3, 5, 7),), ((1, 1, 1, 1),)], **_HOW)  # fmt: skip
    sample("_bilinear_resize_grad", real(2, 3, 8, 3), ref=_resize_grad, grad=(0,),
           attrs={"size": (5, 7), "align_corners": _corners}, edge=[((0, 3, 8, 3),)], **_HOW)  # fmt: skip


def _local(x, w, b=None, *, kernel, num_filter, stride=None, dilate=None, pad=None, no_bias=False):
    columns = _im2col(x, kernel=kernel, stride=stride, dilate=dilate, pad=pad)
    n = len(kernel)
    out = [
        (s + 2 * p - d * (k - 1) - 1) // t + 1
        for s, k, t, d, p in zip(
            x.shape[2:], kernel, stride or (1,) * n, dilate or (1,) * n, pad or (0,) * n, strict=True
        )
    ]
    y = np.einsum("ncp,pfc->nfp", columns, w) + (0 if b is None else b)
    return y.reshape(len(x), num_filter, *out)


sample("LocallyConnected", real(2, 3, 7), real(3, 4, 9), real(4, 3), ref=_local, grad=(0, 1, 2),
       attrs={"kernel": (3,), "stride": (2,), "num_filter": 4}, edge=[((0, 3, 7), (3, 4, 9), (4, 3))],
       bad=[refuse("weight must have shape (3, 4, 9)", "(3, 4, 8)", shapes=((2, 3, 7), (3, 4, 8), (4, 3))),
            refuse("bias must have shape (4, 3)", "(4,)", shapes=((2, 3, 7), (3, 4, 9), (4,))),
            refuse("no_bias is True", no_bias=True)], **{**_HOW, "atol": 128})  # fmt: skip
sample("LocallyConnected", real(2, 2, 4, 5), real(15, 3, 8), ref=_local, grad=(0, 1),
       attrs={"kernel": (2, 2), "pad": (0, 1), "dilate": (1, 2), "num_filter": 3, "no_bias": True},
       bad=[refuse("bias is missing", no_bias=False)], **{**_HOW, "atol": 128})  # fmt: skip


def _apart(x, heads, parts):
    length, batch, width = x.shape
    x = x.reshape(length, batch, heads, parts, width // heads // parts)
    return [x[:, :, :, i].transpose(1, 2, 0, 3).reshape(batch * heads, length, x.shape[-1]) for i in range(parts)]


def _scores(q, k):
    return np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(q.shape[-1])


def _joined(a, v, heads):
    y = np.einsum("bqk,bkd->bqd", a, v)
    return y.reshape(-1, heads, *y.shape[1:]).transpose(2, 0, 1, 3).reshape(y.shape[1], len(y) // heads, -1)


_HEADS = {"attrs": {"heads": 2}, **_HOW, "atol": 256}
sample("interleaved_matmul_selfatt_qk", real(5, 3, 24), grad=(0,), edge=[((5, 0, 24),)],
       ref=lambda x, heads: _scores(*_apart(x, heads, 3)[:2]),
       bad=[refuse("(5, 3, 25)", "2 heads", shapes=((5, 3, 25),))], **_HEADS)  # fmt: skip
sample("interleaved_matmul_selfatt_valatt", real(5, 3, 24), real(6, 5, 5), grad=(0, 1),
       ref=lambda x, a, heads: _joined(a, _apart(x, heads, 3)[2], heads),
       bad=[refuse("(6, 5, 4)", "length 5", shapes=((5, 3, 24), (6, 5, 4)))], **_HEADS)  # fmt: skip
sample("interleaved_matmul_encdec_qk", real(4, 3, 8), real(5, 3, 16), grad=(0, 1),
       ref=lambda q, kv, heads: _scores(_apart(q, heads, 1)[0], _apart(kv, heads, 2)[0]),
       bad=[refuse("width 4", "6 and 5", shapes=((4, 3, 8), (5, 3, 20)))], **_HEADS)  # fmt: skip
sample("interleaved_matmul_encdec_valatt", real(5, 3, 16), real(6, 4, 5), grad=(0, 1),
       ref=lambda kv, a, heads: _joined(a, _apart(kv, heads, 2)[1], heads),
       bad=[refuse("(4, 5)", shapes=((5, 3, 16), (4, 5)))], **_HEADS)  # fmt: skip


def _rotary(x, *, axis=-2, offset=0, base=10000.0, interleaved=False, inverse=False):
    n = x.shape[-1] // 2
    position = np.arange(x.shape[axis]) + offset
    angle = np.expand_dims(position[:, None] * base ** (-np.arange(n) / n), tuple(range(1, -1 - axis)))
    turn = np.exp(1j * (-angle if inverse else angle))
    if interleaved:
        z = (x[..., 0::2] + 1j * x[..., 1::2]) * turn
        return np.stack([z.real, z.imag], -1).reshape(x.shape)
    z = (x[..., :n] + 1j * x[..., n:]) * turn
    return np.concatenate([z.real, z.imag], -1)


for _attrs in ({}, {"offset": 7, "interleaved": True}, {"base": 100.0, "inverse": True, "axis": -3}):
    sample("rotary_embedding", real(2, 5, 3, 6), ref=_rotary, attrs=_attrs, grad=(0,), big=((2, 4, 100, 64),),
           edge=[((0, 5, 3, 6),), ((1, 4, 2),) if "axis" not in _attrs else ((1, 4, 2, 4),)],
           bad=[refuse("even size", "(2, 5, 3, 5)", shapes=((2, 5, 3, 5),)), refuse("axis=-1", axis=-1),
                refuse("base", base=0.0), refuse("offset=9007199254740993", offset=(1 << 53) + 1)], **_HOW)  # fmt: skip
