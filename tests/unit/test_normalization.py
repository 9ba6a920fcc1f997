"""What samples of normalisation do not say: when running statistics move, and numbers that are hard to add."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd


def _state(n=3):
    ones, zeros = mx.nd.ones(n), mx.nd.zeros(n)
    return ones, zeros, mx.nd.array(np.arange(n)), mx.nd.array(np.arange(n) + 1.0)


@pytest.mark.parametrize("name", ["BatchNorm", "BatchNorm_v1", "contrib.BatchNormWithReLU"])
def test_running_statistics_move_once_in_each_training_step(name):
    op = mx.nd
    for part in name.split("."):
        op = getattr(op, part)
    x = np.random.randn(4, 3, 5).astype(np.float32)
    gamma, beta, mean, var = _state()
    op(mx.nd.array(x), gamma, beta, mean, var)
    assert mean.asnumpy().tolist() == [0, 1, 2]
    with autograd.record():
        op(mx.nd.array(x), gamma, beta, mean, var, momentum=0.8)
    want = 0.8 * np.arange(3) + 0.2 * x.mean((0, 2)), 0.8 * (np.arange(3) + 1) + 0.2 * x.var((0, 2))
    np.testing.assert_allclose(mean.asnumpy(), want[0], rtol=1e-5)
    np.testing.assert_allclose(var.asnumpy(), want[1], rtol=1e-5)
    with autograd.train_mode():
        op(mx.nd.array(x), gamma, beta, mean, var, use_global_stats=True)
        op(mx.nd.zeros((0, 3, 5)), gamma, beta, mean, var)
    np.testing.assert_allclose(mean.asnumpy(), want[0], rtol=1e-5)


def test_running_statistics_move_before_backward_and_not_in_it():
    gamma, beta, mean, var = _state()
    gamma.attach_grad()
    with autograd.record():
        y = mx.nd.BatchNorm(mx.nd.random.normal(shape=(4, 3)), gamma, beta, mean, var, fix_gamma=False)
    before = mean.asnumpy()
    assert before.tolist() != [0, 1, 2]
    y.backward()
    assert (mean.asnumpy() == before).all()


def test_statistics_of_half_types_are_kept_in_float32():
    x = mx.nd.random.normal(shape=(4, 3, 5)).astype("float16")
    y, mean, inverse = mx.nd.BatchNorm(x, *_state(), output_mean_var=True)
    assert [str(np.dtype(a.dtype)) for a in (y, mean, inverse)] == ["float16", "float32", "float32"]


@pytest.mark.parametrize("shape", [(64, 2, 7, 9), (4096, 2)])
def test_a_mean_far_from_zero_costs_no_digits(shape):
    """The variance of values around 4096 with a deviation of 1, in float32."""
    rng = np.random.default_rng(1)
    x = (4096 + rng.normal(size=shape)).astype(np.float32)
    ones, zeros = mx.nd.ones(2), mx.nd.zeros(2)
    with autograd.train_mode():
        _, mean, inverse = mx.nd.BatchNorm(mx.nd.array(x), ones, zeros, zeros, ones, eps=0.0, output_mean_var=True)
    axes = tuple(d for d in range(len(shape)) if d != 1)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(mean.asnumpy(), exact.mean(axes), rtol=1e-7)
    np.testing.assert_allclose(inverse.asnumpy(), 1 / exact.std(axes), rtol=1e-5)
    rows = x.reshape(2, -1)
    n = rows.shape[1]
    got = mx.nd.LayerNorm(mx.nd.array(rows), mx.nd.ones(n), mx.nd.zeros(n), eps=0.0, output_mean_var=True)[2]
    np.testing.assert_allclose(got.asnumpy().ravel(), rows.astype(np.float64).std(1), rtol=1e-5)


def test_nan_spoils_its_row_or_channel_alone():
    x = mx.nd.random.normal(shape=(4, 3))
    x[1, 2] = float("nan")
    rows = np.isnan(mx.nd.LayerNorm(x, mx.nd.ones(3), mx.nd.zeros(3)).asnumpy())
    assert rows.all(1).tolist() == [False, True, False, False]
    assert rows.sum() == 3
    with autograd.train_mode():
        columns = np.isnan(mx.nd.BatchNorm(x, *_state()).asnumpy())
    assert columns.all(0).tolist() == [False, False, True]
    assert columns.sum() == 4


def test_rows_of_nothing():
    y, mean, std = mx.nd.LayerNorm(mx.nd.zeros((2, 0)), mx.nd.zeros(0), mx.nd.zeros(0), output_mean_var=True)
    assert y.shape == (2, 0)
    assert np.isnan(mean.asnumpy()).all()
    assert np.isnan(std.asnumpy()).all()


def test_no_channels():
    for op, shape in (("LayerNorm", (2, 0)), ("GroupNorm", (2, 0, 3))):
        x, gamma, beta = mx.nd.zeros(shape), mx.nd.zeros(0), mx.nd.zeros(0)
        for a in (x, gamma, beta):
            a.attach_grad()
        with autograd.record():
            y = getattr(mx.nd, op)(x, gamma, beta)
        y.backward()
        assert [a.grad.shape for a in (x, gamma, beta)] == [shape, (0,), (0,)]
