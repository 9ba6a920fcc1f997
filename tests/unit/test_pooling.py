"""Pooling of numbers that have no order, or are the lowest of all: on long rows, and on rows of one window."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd

WIDTHS = pytest.mark.parametrize("width", [4, 40])


def _max(x):
    x = mx.nd.array(x)
    x.attach_grad()
    with autograd.record():
        y = mx.nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pad=(0, 0))
    y.backward()
    return y.asnumpy()[0, 0], x.grad.asnumpy()[0, 0]


@WIDTHS
def test_nan_is_the_largest_value_of_its_window(width):
    x = np.random.rand(1, 1, 4, width).astype(np.float32)
    x[0, 0, 1, 2] = x[0, 0, 1, 3] = np.nan
    y, dx = _max(x)
    assert np.isnan(y).sum() == 1
    assert np.isnan(y[0, 1])
    assert dx[:2, 2:4].tolist() == [[0, 0], [1, 0]]


@WIDTHS
def test_of_equal_values_the_first_gets_the_gradient(width):
    for value in (1.0, -np.inf, np.inf):
        y, dx = _max(np.full((1, 1, 4, width), value, np.float32))
        assert (y == value).all()
        assert (dx[::2, ::2] == 1).all()
        assert dx.sum() == y.size


@WIDTHS
def test_padding_is_below_every_value(width):
    x = mx.nd.full((1, 1, 4, width), float("-inf"))
    x.attach_grad()
    with autograd.record():
        y = mx.nd.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1))
    y.backward()
    assert (y.asnumpy() == -np.inf).all()
    assert x.grad.asnumpy()[0, 0, 0, 0] == 1
    assert x.grad.asnumpy().sum() == y.size


@WIDTHS
def test_nan_spoils_the_means_of_its_windows_alone(width):
    x = np.ones((1, 1, 4, width), np.float32)
    x[0, 0, 1, 2] = np.nan
    y = mx.nd.Pooling(mx.nd.array(x), kernel=(2, 2), stride=(2, 2), pool_type="avg").asnumpy()[0, 0]
    assert np.argwhere(np.isnan(y)).tolist() == [[0, 1]]
