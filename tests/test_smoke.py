"""Seconds: the package imports, computes, differentiates and explains itself."""

import numpy as np
import pytest

import gluonish as mx


def test_arrays():
    x = mx.nd.array([[1, 2], [3, 4]])
    assert (x.shape, x.dtype, x.size) == ((2, 2), np.float32, 4)
    assert (x + x.T).asnumpy().tolist() == [[2, 5], [5, 8]]
    assert mx.np.sum(x).item() == x.sum().asscalar() == 10
    assert mx.nd.dot(x, x).asnumpy().tolist() == [[7, 10], [15, 22]]
    assert "2x2" in repr(x)
    assert "cpu(0)" in repr(x)


def test_training():
    rng = np.random.default_rng(0)
    x = mx.nd.array(rng.normal(size=(256, 3)))
    y = mx.nd.dot(x, mx.nd.array([[1], [-2], [3]])) + 0.5
    w, b = mx.nd.zeros((3, 1)), mx.nd.zeros((1,))
    for p in (w, b):
        p.attach_grad()
    for _ in range(200):
        with mx.autograd.record():
            loss = mx.nd.square(mx.nd.dot(x, w) + b - y).mean()
        loss.backward()
        for p in (w, b):
            p -= 0.2 * p.grad
    assert loss.asscalar() < 1e-6
    np.testing.assert_allclose(w.asnumpy().ravel(), [1, -2, 3], atol=1e-3)


def test_first_error():
    with pytest.raises(mx.MXNetError, match=r"broadcast_add: cannot broadcast \(2, 3\) with \(4,\)"):
        mx.nd.ones((2, 3)) + mx.nd.ones((4,))


def test_waitall():
    y = mx.nd.ones((1000, 1000))
    for _ in range(10):
        y = y * 1.5
    mx.nd.waitall()
    assert y[0, 0].asscalar() == pytest.approx(1.5**10)
