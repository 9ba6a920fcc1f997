"""Activations against their formulas in NumPy."""

import math

import numpy as np
import pytest

import gluonish as mx
from gluonish import nd
from gluonish.errors import ArgumentError
from gluonish.gluon import nn

X = np.linspace(-4, 4, 33).reshape(3, 11)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _softplus(x):
    return np.log1p(np.exp(x))


def _normal_share(x):
    return np.vectorize(lambda v: 0.5 * (1 + math.erf(v / math.sqrt(2))))(x)


ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805  # Klambauer et al., equation 14
FORMULAS = {
    "relu": (nn.Activation("relu"), lambda x: np.maximum(x, 0)),
    "sigmoid": (nn.Activation("sigmoid"), _sigmoid),
    "log_sigmoid": (nn.Activation("log_sigmoid"), lambda x: np.log(_sigmoid(x))),
    "tanh": (nn.Activation("tanh"), np.tanh),
    "softrelu": (nn.Activation("softrelu"), _softplus),
    "softsign": (nn.Activation("softsign"), lambda x: x / (1 + abs(x))),
    "leaky": (nn.LeakyReLU(0.1), lambda x: np.where(x > 0, x, 0.1 * x)),
    "elu": (nn.ELU(1.5), lambda x: np.where(x > 0, x, 1.5 * np.expm1(x))),
    "selu": (nn.SELU(), lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(x))),
    "gelu": (nn.GELU(), lambda x: x * _normal_share(x)),
    "gelu_tanh": (
        nn.GELU(approximation="tanh"),
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    "gelu by name": (nn.Activation("gelu"), lambda x: x * _normal_share(x)),
    "swish": (nn.Swish(), lambda x: x * _sigmoid(x)),
    "swish 2": (nn.Swish(beta=2.0), lambda x: x * _sigmoid(2 * x)),
    "silu": (nn.SiLU(), lambda x: x * _sigmoid(x)),
    "mish": (nn.Mish(), lambda x: x * np.tanh(_softplus(x))),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize(("dtype", "near"), [("float64", 1e-12), ("float32", 1e-6), ("float16", 4e-3)])
def test_formula(name, dtype, near):
    layer, formula = FORMULAS[name]
    x = X.astype(dtype)
    y = layer(nd.array(x, dtype=dtype))
    assert y.dtype == dtype
    np.testing.assert_allclose(y.asnumpy(), formula(x.astype("float64")), rtol=near, atol=near)


@pytest.mark.parametrize("channels", [1, 3])
def test_prelu_learns_slopes(channels):
    layer = nn.PReLU(in_channels=channels)
    layer.initialize()
    x = np.random.randn(2, 3, 4)
    np.testing.assert_allclose(layer(nd.array(x)).asnumpy(), np.where(x > 0, x, 0.25 * x), rtol=1e-6)
    slopes = np.linspace(0.1, 0.9, channels)
    layer.alpha.set_data(slopes)
    with mx.autograd.record():
        y = layer(nd.array(x))
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), np.where(x > 0, x, slopes.reshape(1, -1, 1) * x), rtol=1e-5)
    below = np.minimum(x, 0)
    wanted = below.sum(axis=(0, 2)) if channels > 1 else [below.sum()]
    np.testing.assert_allclose(layer.alpha.grad().asnumpy(), wanted, rtol=1e-5)


def test_text_and_names():
    assert repr(nn.Activation("relu")) == "Activation(relu)"
    assert repr(nn.LeakyReLU(0.1)) == "LeakyReLU(0.1)"
    assert nn.Activation("relu").prefix.startswith("relu")


def test_what_is_refused():
    with pytest.raises(ArgumentError, match="relu, sigmoid"):
        nn.Activation("rleu")
    with pytest.raises(ArgumentError, match="alpha=-1"):
        nn.LeakyReLU(-1)
    with pytest.raises(ArgumentError, match="'sigmoid'"):
        nn.GELU(approximation="sigmoid")
