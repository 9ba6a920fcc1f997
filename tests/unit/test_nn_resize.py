"""Adaptive pooling, margins and enlargement against NumPy."""

import itertools

import numpy as np
import pytest

from gluonish import autograd, nd
from gluonish.errors import ArgumentError, ShapeError
from gluonish.gluon import nn

SIZES = (7, 6, 5)


def adaptive(x, size, fold):
    """Window i of m along an axis of n goes from floor(i * n / m) to ceil((i + 1) * n / m)."""
    y = np.zeros((*x.shape[:2], *size))
    for place in itertools.product(*map(range, size)):
        windows = tuple(
            slice(int(np.floor(i * n / m)), int(np.ceil((i + 1) * n / m)))
            for i, n, m in zip(place, x.shape[2:], size, strict=True)
        )
        y[(slice(None), slice(None), *place)] = fold(x[(slice(None), slice(None), *windows)].reshape(*x.shape[:2], -1))
    return y


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 3, (7, 6, 5), (4, 2, 3), (9, 1, 5)], ids=str)
def test_adaptive_pooling(axes, size):
    size = size[:axes] if isinstance(size, tuple) else size
    each = (size,) * axes if isinstance(size, int) else size
    x = np.random.randn(2, 3, *SIZES[:axes])
    for name, fold in (("Avg", lambda v: v.mean(-1)), ("Max", lambda v: v.max(-1))):
        layer = getattr(nn, f"Adaptive{name}Pool{axes}D")(size)
        wanted = adaptive(x, each, fold)
        for dtype, near in (("float32", 1e-5), ("float64", 1e-12)):
            y = layer(nd.array(x, dtype=dtype))
            assert y.shape == wanted.shape
            np.testing.assert_allclose(y.asnumpy(), wanted, rtol=near, atol=near)


def test_one_of_equal_largest_values_gets_the_gradient():
    x = nd.ones((1, 1, 5, 5))
    x.attach_grad()
    with autograd.record():
        y = nn.AdaptiveMaxPool2D(3)(x)
    y.backward()
    assert x.grad.asnumpy().sum() == 9


def test_adaptive_pooling_refuses_what_does_not_fit():
    assert repr(nn.AdaptiveAvgPool2D(3)) == "AdaptiveAvgPool2D(output_size=(3, 3))"
    with pytest.raises(ArgumentError, match="output_size=0"):
        nn.AdaptiveAvgPool2D(0)
    for kind in (nn.AdaptiveAvgPool2D, nn.AdaptiveMaxPool2D):
        with pytest.raises(ShapeError, match=r"\(2, 3, 4\)"):
            kind()(nd.ones((2, 3, 4)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_reflection(dtype):
    x = np.random.randn(2, 3, 4, 5).astype(dtype)
    y = nn.ReflectionPad2D(2)(nd.array(x, dtype=dtype))
    np.testing.assert_array_equal(y.asnumpy(), np.pad(x, [(0, 0), (0, 0), (2, 2), (2, 2)], mode="reflect"))
    y = nn.ReflectionPad2D((0, 0, 0, 0, 1, 2, 3, 0))(nd.array(x, dtype=dtype))
    np.testing.assert_array_equal(y.asnumpy(), np.pad(x, [(0, 0), (0, 0), (1, 2), (3, 0)], mode="reflect"))


def test_reflection_refuses_what_does_not_fit():
    with pytest.raises(ArgumentError, match="padding"):
        nn.ReflectionPad2D((1, 1, 0, 0, 1, 1, 1, 1))
    with pytest.raises(ArgumentError, match="padding"):
        nn.ReflectionPad2D((1, 1))
    with pytest.raises(ShapeError, match=r"\(2, 3\)"):
        nn.ReflectionPad2D(1)(nd.ones((2, 3)))


def nearest(x, size):
    for axis, (n, m) in enumerate(zip(x.shape[2:], size, strict=True), 2):
        x = x.take([i * n // m for i in range(m)], axis=axis)
    return x


def linear(x, size, corners):
    """Along each axis, value i of m lies at i * (n - 1) / (m - 1), or at (i + 0.5) * n / m - 0.5, of n."""
    for axis, (n, m) in enumerate(zip(x.shape[2:], size, strict=True), 2):
        if corners:
            at = np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 0)
        else:
            at = np.clip((np.arange(m) + 0.5) * n / m - 0.5, 0, n - 1)
        low = np.floor(at).astype(int)
        high, part = np.minimum(low + 1, n - 1), (at - low).reshape(-1, *(1,) * (x.ndim - 1 - axis))
        x = x.take(low, axis) * (1 - part) + x.take(high, axis) * part
    return x


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("size", [(14, 12, 10), (9, 6, 12), (3, 4, 5)], ids=str)
def test_upsample_to_a_size(axes, size):
    x, size = np.random.randn(2, 3, *SIZES[:axes]), size[:axes]
    y = nn.Upsample(size)(nd.array(x, dtype="float64"))
    np.testing.assert_array_equal(y.asnumpy(), nearest(x, size))
    for corners in (False, True):
        y = nn.Upsample(size, mode="linear", align_corners=corners)(nd.array(x, dtype="float64"))
        np.testing.assert_allclose(y.asnumpy(), linear(x, size, corners), rtol=1e-6, atol=1e-6)


def test_upsample_by_a_factor():
    x = nd.array(np.random.randn(1, 2, 3, 4))
    np.testing.assert_array_equal(nn.Upsample(scale_factor=2)(x).asnumpy(), nearest(x.asnumpy(), (6, 8)))
    assert nn.Upsample(scale_factor=(2, 1.5), mode="bilinear")(x).shape == (1, 2, 6, 6)
    assert repr(nn.Upsample(scale_factor=2)) == "Upsample(scale_factor=2, mode=nearest)"
    assert repr(nn.Upsample(3, mode="linear")) == "Upsample(size=3, mode=linear)"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: nn.Upsample(), "size or scale_factor"),
        (lambda: nn.Upsample(2, 2), "size or scale_factor"),
        (lambda: nn.Upsample(2, mode="cubic"), "cubic"),
        (lambda: nn.Upsample(2, align_corners=True), "align_corners"),
        (lambda: nn.Upsample(2, mode="bilinear")(nd.ones((1, 1, 4))), "bilinear"),
        (lambda: nn.Upsample((2, 2, 2))(nd.ones((1, 1, 4, 4))), "size"),
        (lambda: nn.Upsample(scale_factor=(2, 2, 2))(nd.ones((1, 1, 4, 4))), "scale_factor"),
        (lambda: nn.Upsample(scale_factor=0.1)(nd.ones((1, 1, 4, 4))), "nothing"),
        (lambda: nn.Upsample(3)(nd.ones((1, 1, 0))), "no values"),
        (lambda: nn.Upsample(3)(nd.ones((1, 1))), r"\(1, 1\)"),
    ],
)
def test_upsample_refuses_what_does_not_fit(make, says):
    with pytest.raises((ArgumentError, ShapeError), match=says):
        make()
