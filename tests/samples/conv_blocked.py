"""Samples: convolution of images in blocks of channels, against the formulas of the plain ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from ops.sampling import real, refuse, sample

from gluonish import _core
from samples.conv import _each, _filters, _images, _result

LANES = _core.conv_lanes()


def block(x: Any) -> Any:
    """(count, channels, height, width) as (count, blocks, height, width, lanes), with zeros behind the last channel."""
    n, c, h, w = x.shape
    padded = np.concatenate([x, np.zeros((n, -c % LANES, h, w), x.dtype)], 1)
    return np.ascontiguousarray(padded.reshape(n, -1, LANES, h, w).transpose(0, 1, 3, 4, 2))


def unblock(x: Any, channels: int) -> Any:
    n, b, h, w, lanes = x.shape
    return np.ascontiguousarray(x.transpose(0, 1, 4, 2, 3).reshape(n, b * lanes, h, w)[:, :channels])


def _how(attrs: dict[str, Any]) -> tuple[Any, ...]:
    return (
        _each(attrs.get("stride"), 2, 1), _each(attrs.get("dilate"), 2, 1), _each(attrs.get("pad"), 2, 0),
        attrs.get("num_group", 1),
    )  # fmt: skip


def _blocked_result(x, w, scale=None, shift=None, residual=None, *, relu=False, **attrs):
    channels = w.shape[1] * attrs.get("num_group", 1)
    y = _result(unblock(x, channels) if x.ndim == 5 else x, w, *_how(attrs))
    if scale is not None:
        y = y * scale.reshape(-1, 1, 1)
    if shift is not None:
        y = y + shift.reshape(-1, 1, 1)
    if residual is not None:
        y = y + unblock(residual, w.shape[0])
    return block(np.maximum(y, 0) if relu else y)


def _blocked_images(dy, w, *, size, **attrs):
    return block(_images(unblock(dy, w.shape[0]), w, size, *_how(attrs)))


def _blocked_filters(x, dy, *, size, channels, num_filter, **attrs):
    return _filters(unblock(x, channels) if x.ndim == 5 else x, unblock(dy, num_filter), size, *_how(attrs))


_FLOAT32 = {"dtypes": ("float32",), "rtol": 64, "atol": 256, "special": False, "blocked": True}


def _small(*shape: int) -> Any:
    return real(*shape, low=-1, high=1)


def _in_blocks(count: int, channels: int, *size: int) -> tuple[int, ...]:
    return (count, -(-channels // LANES), *size, LANES)


for _shape, _last in (((2, 3, 5, 4), False), ((1, 17, 3, 33), False), ((2, 5, 4, 33), True)):
    sample("_conv_to_blocked", _small(*_shape), attrs={"channels_last": _last},
           ref=lambda x, *, channels_last=False: block(np.moveaxis(x, -1, 1) if channels_last else x),
           **_FLOAT32)  # fmt: skip
for _channels, _last in ((3, False), (33, False), (17, True)):
    sample("_conv_from_blocked", _small(*_in_blocks(2, _channels, 5, 19)),
           attrs={"channels": _channels, "channels_last": _last},
           ref=lambda x, *, channels, channels_last=False: (
               np.moveaxis(unblock(x, channels), 1, -1) if channels_last else unblock(x, channels)),
           bad=[refuse("_conv_from_blocked", "(2, 3, 4, 5)", shapes=((2, 3, 4, 5),))] if _last else [],
           **_FLOAT32)  # fmt: skip

# Whole blocks of channels: what lies behind the last channel of blocked images is zero, which random numbers are not.
_B = LANES
_CASES = [
    ((2, _B, 7, 9), (2 * _B, _B, 1, 1), {}),
    ((1, 2 * _B, 9, 8), (_B, 2 * _B, 3, 3), {"stride": (2, 2), "pad": (1, 1)}),
    ((2, _B, 9, 10), (_B, _B, 3, 3), {"pad": (1, 1)}),
    ((1, _B, 12, 13), (2 * _B, _B, 5, 3), {"dilate": (2, 1), "pad": (3, 0), "stride": (1, 3)}),
    # Zeros on the left and right alone: rows and columns change places.
    ((2, _B, 9, 8), (2 * _B, _B, 1, 7), {"pad": (0, 3)}),
    ((1, 2 * _B, 8, 8), (2 * _B, _B, 3, 3), {"num_group": 2, "pad": (1, 1)}),
    ((1, 2 * _B, 8, 8), (2 * _B, 1, 3, 3), {"num_group": 2 * _B, "pad": (1, 1)}),
    ((1, _B, 6, 5), (_B, 2, 3, 3), {"num_group": _B // 2, "stride": (2, 2)}),
]
for _x, _w, _attrs in _CASES:
    _y = _result(np.zeros(_x), np.zeros(_w), *_how(_attrs)).shape
    _xb, _yb = _in_blocks(_x[0], *_x[1:]), _in_blocks(_y[0], *_y[1:])
    sample("_conv_blocked_result", _small(*_xb), _small(*_w), _small(_w[0]), _small(_w[0]), _small(*_yb),
           ref=_blocked_result, attrs={**_attrs, "relu": True}, **_FLOAT32)  # fmt: skip
    sample("_conv_blocked_result", _small(*_xb), _small(*_w), ref=_blocked_result, attrs=_attrs, **_FLOAT32)
    sample("_conv_blocked_images", _small(*_yb), _small(*_w), ref=_blocked_images, attrs={**_attrs, "size": _x[2:]},
           **_FLOAT32)  # fmt: skip
    sample("_conv_blocked_filters", _small(*_xb), _small(*_yb), ref=_blocked_filters,
           attrs={**_attrs, "size": _w[2:], "channels": _x[1], "num_filter": _w[0]}, **_FLOAT32)  # fmt: skip

_plain = {"stride": (2, 2), "pad": (3, 3)}
sample("_conv_blocked_result", _small(2, 3, 17, 16), _small(_B, 3, 7, 7), ref=_blocked_result, attrs=_plain,
       bad=[refuse("_conv_blocked_result", "(2, 4, 17, 16)", "3 channels", shapes=((2, 4, 17, 16), (_B, 3, 7, 7))),
            refuse("_conv_blocked_result", "larger than images", shapes=((2, 3, 0, 16), (_B, 3, 7, 7))),
            refuse("_conv_blocked_result", "float64", "cast", dtypes=("float64", "float32")),
            refuse("_conv_blocked_result", "stride=(0, 1)", stride=(0, 1))],
       **_FLOAT32)  # fmt: skip
sample("_conv_blocked_filters", _small(2, 3, 17, 16), _small(*_in_blocks(2, _B, 9, 8)), ref=_blocked_filters,
       attrs={**_plain, "size": (7, 7), "channels": 3, "num_filter": _B}, **_FLOAT32)  # fmt: skip
