"""The gradient of max pooling over windows that overlap: whom it goes to among equal values, and beside NaN."""

from itertools import product

import numpy as np
import pytest

from gluonish import autograd, nd

WINDOWS = {"3x3/2 pad 1": (3, 2, 1), "3x3/1": (3, 1, 0), "3x3/1 pad 1": (3, 1, 1), "5x5/3": (5, 3, 0)}
HEIGHT = 7


def first_of_the_largest(window):
    """The place in row-major order of the first NaN, else of the first of the largest values."""
    flat = window.ravel()
    at = int(np.isnan(flat).argmax()) if np.isnan(flat).any() else int((flat == flat.max()).argmax())
    return divmod(at, window.shape[1])


def by_loops(x, dy, kernel, stride, pad):
    """The pooled images and the gradient, window by window; what lies in the padding is no value."""
    y, dx = np.empty_like(dy), np.zeros_like(x)
    for n, c, i, j in product(*map(range, dy.shape)):
        top, left = (max(place * stride - pad, 0) for place in (i, j))
        bottom, right = (place * stride - pad + kernel for place in (i, j))
        row, column = first_of_the_largest(x[n, c, top:bottom, left:right])
        y[n, c, i, j] = x[n, c, top + row, left + column]
        dx[n, c, top + row, left + column] += dy[n, c, i, j]
    return y, dx


def images(kind, width, dtype):
    rng = np.random.default_rng(width)
    x = rng.integers(0, 3, (2, 2, HEIGHT, width)).astype(dtype)  # three values: each window has equals
    if kind == "nan":
        x[rng.random(x.shape) < 0.15] = np.nan
    elif kind == "infinities":
        x[...] = rng.choice([-np.inf, 0, np.inf], x.shape, p=[0.8, 0.1, 0.1])
    elif kind == "zeros":
        x[...] = rng.choice([-0.0, 0.0], x.shape)  # which are equal
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["ties", "nan", "infinities", "zeros"])
@pytest.mark.parametrize("how", WINDOWS)
def test_the_first_of_the_largest_gets_the_gradient(how, kind, dtype):
    kernel, stride, pad = WINDOWS[how]
    for width in range(max(4, kernel), 41):
        host = images(kind, width, dtype)
        x = nd.array(host, dtype=dtype)
        x.attach_grad()
        with autograd.record():
            y = nd.Pooling(x, kernel=(kernel, kernel), stride=(stride, stride), pad=(pad, pad))
        dy = np.random.default_rng(1).integers(1, 9, y.shape).astype(dtype)  # whole: sums are exact
        y.backward(nd.array(dy, dtype=dtype))
        pooled, gradient = by_loops(host, dy, kernel, stride, pad)
        np.testing.assert_array_equal(y.asnumpy(), pooled, err_msg=f"width {width}")
        np.testing.assert_array_equal(x.grad.asnumpy(), gradient, err_msg=f"width {width}")
