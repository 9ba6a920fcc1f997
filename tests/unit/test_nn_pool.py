"""Pooling against loops over windows in NumPy."""

import itertools

import numpy as np
import pytest

from gluonish import autograd, nd
from gluonish.errors import ArgumentError, MXNetError, ShapeError
from gluonish.gluon import nn

KINDS = {"max": (nn.MaxPool1D, nn.MaxPool2D, nn.MaxPool3D), "avg": (nn.AvgPool1D, nn.AvgPool2D, nn.AvgPool3D)}
SIZES = (7, 6, 5)


def pooled(x, kind, size, stride, pad, ceil, count_pad):
    """Windows over (batch, channels, ...); a mean counts the padding, but not what sticks out beyond it."""
    axes = x.ndim - 2
    out = []
    for n, k, s, p in zip(x.shape[2:], size, stride, pad, strict=True):
        room = n + 2 * p - k
        many = (-(-room // s) if ceil else room // s) + 1
        out.append(many - (1 if (many - 1) * s >= n + p else 0))
    y = np.zeros((*x.shape[:2], *out))
    for place in itertools.product(*map(range, out)):
        begins = [i * s - p for i, s, p in zip(place, stride, pad, strict=True)]
        ends = [b + k for b, k in zip(begins, size, strict=True)]
        inside = tuple(slice(max(b, 0), min(e, n)) for b, e, n in zip(begins, ends, x.shape[2:], strict=True))
        window = x[(slice(None), slice(None), *inside)].reshape(*x.shape[:2], -1)
        if kind == "max":
            y[(slice(None), slice(None), *place)] = window.max(-1)
        else:
            counted = [min(e, n + p) - b for b, e, n, p in zip(begins, ends, x.shape[2:], pad, strict=True)]
            y[(slice(None), slice(None), *place)] = window.sum(-1) / (
                np.prod(counted) if count_pad else window.shape[-1]
            )
    assert len(out) == axes
    return y


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(
    ("size", "stride", "pad"), [(2, None, 0), (3, 2, 1), (3, 1, 1), ((3, 2, 2), (1, 2, 3), (1, 0, 1))]
)
@pytest.mark.parametrize("ceil", [False, True])
def test_windows(axes, kind, size, stride, pad, ceil):
    size, stride, pad = (v[:axes] if isinstance(v, tuple) else v for v in (size, stride, pad))
    each = [(v,) * axes if isinstance(v, int) else v for v in (size, size if stride is None else stride, pad)]
    x = np.random.randn(2, 3, *SIZES[:axes])
    for count_pad in (True, False) if kind == "avg" else (True,):
        how = {"count_include_pad": count_pad} if kind == "avg" else {}
        layer = KINDS[kind][axes - 1](size, stride, pad, ceil_mode=ceil, **how)
        wanted = pooled(x, kind, *each, ceil, count_pad)
        for dtype, near in (("float32", 1e-6), ("float64", 1e-12), ("float16", 5e-3)):
            y = layer(nd.array(x, dtype=dtype))
            assert y.dtype == dtype
            assert y.shape == wanted.shape
            np.testing.assert_allclose(y.asnumpy(), wanted, rtol=near, atol=near)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_global_pooling(axes):
    x = np.random.randn(2, 3, *SIZES[:axes]).astype("float32")
    over = tuple(range(2, axes + 2))
    largest = getattr(nn, f"GlobalMaxPool{axes}D")()(nd.array(x)).asnumpy()
    mean = getattr(nn, f"GlobalAvgPool{axes}D")()(nd.array(x)).asnumpy()
    np.testing.assert_array_equal(largest, x.max(over, keepdims=True))
    np.testing.assert_allclose(mean, x.mean(over, keepdims=True), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["MaxPool", "AvgPool", "GlobalMaxPool", "GlobalAvgPool"])
@pytest.mark.parametrize(("axes", "layout"), [(1, "NWC"), (2, "NHWC"), (3, "NDHWC")])
def test_channels_last_is_the_same_transposed(name, axes, layout):
    x = nd.array(np.random.randn(2, 3, *SIZES[:axes]))
    to_last, to_first = (0, *range(2, axes + 2), 1), (0, axes + 1, *range(1, axes + 1))
    kind = getattr(nn, f"{name}{axes}D")
    y = kind(layout=layout)(x.transpose(to_last)).transpose(to_first)
    np.testing.assert_allclose(y.asnumpy(), kind()(x).asnumpy(), rtol=1e-6)


def test_orders_of_arguments_are_those_of_gluon():
    x = nd.ones((1, 1, 5, 5))
    assert nn.MaxPool1D(2, 2, 0, "NCW", True)(nd.ones((1, 1, 5))).shape == (1, 1, 3)
    assert nn.AvgPool1D(2, 2, 0, "NCW", True)(nd.ones((1, 1, 5))).shape == (1, 1, 3)
    assert nn.MaxPool2D(2, 2, 0, "NCHW", True)(x).shape == (1, 1, 3, 3)
    assert nn.AvgPool2D(2, 2, 0, True, "NCHW")(x).shape == (1, 1, 3, 3)
    assert nn.MaxPool3D(2, 2, 0, True, "NCDHW")(nd.ones((1, 1, 5, 5, 5))).shape == (1, 1, 3, 3, 3)
    assert nn.AvgPool3D(2, 2, 0, True, "NCDHW")(nd.ones((1, 1, 5, 5, 5))).shape == (1, 1, 3, 3, 3)


def test_text():
    assert repr(nn.MaxPool2D(3, 2, 1)) == (
        "MaxPool2D(size=(3, 3), stride=(2, 2), padding=(1, 1), ceil_mode=False, global_pool=False, pool_type=max, "
        "layout=NCHW)"
    )
    assert repr(nn.GlobalAvgPool1D()) == (
        "GlobalAvgPool1D(size=(1,), stride=(1,), padding=(0,), ceil_mode=True, global_pool=True, pool_type=avg, "
        "layout=NCW)"
    )
    assert nn.MaxPool2D().prefix.startswith("pool")


def test_what_is_refused():
    with pytest.raises(ArgumentError, match=r"pool_size=\(1, 2, 3\)"):
        nn.MaxPool2D((1, 2, 3))
    with pytest.raises(ArgumentError, match="NHWC"):
        nn.MaxPool1D(layout="NHWC")
    with pytest.raises(MXNetError, match="pad"):
        nn.MaxPool2D(2, padding=2)(nd.ones((1, 1, 4, 4)))
    with pytest.raises(ShapeError, match="larger"):
        nn.MaxPool2D(5)(nd.ones((1, 1, 4, 4)))


def test_the_largest_value_of_a_window_gets_its_gradient():
    x = nd.array([[[1, 5, 2, 3]]])
    x.attach_grad()
    with autograd.record():
        y = nn.MaxPool1D(2)(x) * nd.array([10, 20])
    y.backward()
    assert x.grad.tolist() == [[[0.0, 10.0, 0.0, 20.0]]]
