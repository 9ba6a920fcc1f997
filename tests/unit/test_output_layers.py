"""Output layers: their gradient is that of a loss, whatever comes in. The formulas were found with MXNet 1.9.1."""

import itertools

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd


def _grad(f, x, head=None):
    x = mx.nd.array(x, dtype="float64")
    x.attach_grad()
    with autograd.record():
        y = f(x)
    y.backward(None if head is None else mx.nd.array(head, dtype="float64"))
    return x.grad.asnumpy()


def _softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _softmax_output(
    x,
    label,
    head,
    *,
    grad_scale=1.0,
    ignore_label=-1.0,
    multi_output=False,
    use_ignore=False,
    preserve_shape=False,
    normalization="null",
    out_grad=False,
    smooth_alpha=0.0,
):
    shape = (int(np.prod(x.shape[:-1])), x.shape[-1], 1)
    if multi_output:
        shape = (*x.shape[:2], int(np.prod(x.shape[2:])))
    elif not preserve_shape:
        shape = (x.shape[0], int(np.prod(x.shape[1:])), 1)
    label = label.reshape(shape[0], 1, shape[2])
    hot = np.arange(shape[1]).reshape(1, -1, 1) == label
    g = _softmax(x.reshape(shape), 1) - np.where(hot, 1 - smooth_alpha, smooth_alpha / max(shape[1] - 1, 1))
    if use_ignore:
        g = np.where(label == ignore_label, 0, g)
    g *= grad_scale / (1 if normalization == "valid" else shape[2])
    g /= {"null": 1, "batch": shape[0], "valid": max((label != ignore_label).sum(), 1)}[normalization]
    return g.reshape(x.shape) * (head if out_grad else 1)


@pytest.mark.parametrize(
    ("place", "ignore", "normalization", "out_grad", "smooth"),
    [
        *itertools.product(
            ("multi_output", "preserve_shape", None),
            (False, True),
            ("null", "batch", "valid"),
            (False, True),
            (0.0, 0.2),
        )
    ],
)
def test_softmax_output(place, ignore, normalization, out_grad, smooth):
    rng = np.random.default_rng(3)
    x, head = rng.normal(size=(4, 3, 5)), rng.normal(size=(4, 3, 5))
    attrs = {
        "grad_scale": 0.5,
        "ignore_label": 1.0,
        "use_ignore": ignore,
        "normalization": normalization,
        "out_grad": out_grad,
        "smooth_alpha": smooth,
    }
    if place:
        attrs[place] = True
    label = rng.integers(0, 3, {"multi_output": (4, 5), "preserve_shape": (4, 3), None: (4,)}[place])
    for name in ("SoftmaxOutput", "Softmax"):
        layer = getattr(mx.nd, name)
        got = _grad(lambda x, layer=layer: layer(x, mx.nd.array(label), **attrs), x, head)
        np.testing.assert_allclose(got, _softmax_output(x, label, head, **attrs), atol=1e-12)


def test_softmax_output_of_shares():
    x, label = np.random.rand(3, 4), np.random.rand(3, 4)
    got = _grad(lambda x: mx.nd.SoftmaxOutput(x, mx.nd.array(label, dtype="float64"), grad_scale=2), x)
    np.testing.assert_allclose(got, 2 * (_softmax(x, 1) - label), atol=1e-12)


def test_label_out_of_range_stands_for_no_class():
    x = np.random.rand(2, 3)
    got = _grad(lambda x: mx.nd.SoftmaxOutput(x, mx.nd.array([7, -1])), x)
    np.testing.assert_allclose(got, _softmax(x, 1), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "slope"),
    [
        ("LinearRegressionOutput", lambda x, label: x - label),
        ("MAERegressionOutput", lambda x, label: np.sign(x - label)),
        ("LogisticRegressionOutput", lambda x, label: 1 / (1 + np.exp(-x)) - label),
    ],
)
def test_regressions(name, slope):
    x, label = np.random.randn(3, 4, 2), np.random.rand(3, 4, 2)
    layer = getattr(mx.nd, name)
    got = _grad(lambda x: layer(x, mx.nd.array(label, dtype="float64"), grad_scale=0.5), x, np.random.rand(3, 4, 2))
    np.testing.assert_allclose(got, slope(x, label) * 0.5 / 8, atol=1e-12)


@pytest.mark.parametrize("linear", [False, True])
def test_svm(linear):
    x, label = np.random.randn(5, 4), np.array([0, 3, 1, 1, 2])
    got = _grad(
        lambda x: mx.nd.SVMOutput(x, mx.nd.array(label), margin=0.7, regularization_coefficient=0.3, use_linear=linear),
        x,
        np.random.rand(5, 4),
    )
    side = np.where(np.arange(4) == label[:, None], 1, -1)
    short = 0.7 - side * x
    np.testing.assert_allclose(got, -0.3 * side * ((short > 0) if linear else 2 * np.maximum(short, 0)), atol=1e-12)


def test_make_loss():
    x, head = np.random.randn(3, 4), np.random.rand(3, 4)
    np.testing.assert_array_equal(_grad(mx.nd.make_loss, x, head), np.ones((3, 4)))
    for how, divisor in (("null", 1), ("batch", 3), ("valid", (x > 0.1).sum())):
        got = _grad(lambda x, how=how: mx.nd.MakeLoss(x, grad_scale=2, valid_thresh=0.1, normalization=how), x, head)
        np.testing.assert_allclose(got, np.full((3, 4), 2 / divisor))
    assert (_grad(lambda x: mx.nd.MakeLoss(x, valid_thresh=99, normalization="valid"), x) == 1).all()


def test_sparseness_penalty():
    """The running mean moves once in each training step, and the penalty is taken at the new one."""
    x, mean = np.random.uniform(0.1, 0.9, (3, 4)), np.random.uniform(0.1, 0.9, 4)
    state = mx.nd.array(mean, dtype="float64")
    attrs = {"sparseness_target": 0.2, "penalty": 0.5, "momentum": 0.8}
    got = _grad(lambda x: mx.nd.IdentityAttachKLSparseReg(x, state, **attrs), x)
    new = 0.8 * mean + 0.2 * x.mean(0)
    np.testing.assert_allclose(state.asnumpy(), new, atol=1e-12)
    np.testing.assert_allclose(got, np.tile(1 + 0.5 * (0.8 / (1 - new) - 0.2 / new), (3, 1)), atol=1e-12)
    mx.nd.IdentityAttachKLSparseReg(mx.nd.array(x, dtype="float64"), state, **attrs)
    np.testing.assert_allclose(state.asnumpy(), new, atol=1e-12)


def test_gradient_of_the_gradient_goes_through_the_softmax():
    x0, label = np.random.rand(2, 3), mx.nd.array([0, 2])

    def first(x):
        return _softmax(x, 1) - np.eye(3)[[0, 2]]

    x = mx.nd.array(x0, dtype="float64")
    x.attach_grad()
    with autograd.record():
        (g,) = autograd.grad(mx.nd.SoftmaxOutput(x, label), [x], create_graph=True)
        z = (g * mx.nd.array([[1.0, 2, 3], [4, 5, 6]], dtype="float64")).sum()
    z.backward()
    d, step = np.random.rand(2, 3), 1e-6
    w = np.array([[1.0, 2, 3], [4, 5, 6]])
    want = ((first(x0 + step * d) - first(x0 - step * d)) * w).sum() / (2 * step)
    np.testing.assert_allclose((x.grad.asnumpy() * d).sum(), want, rtol=1e-6)
