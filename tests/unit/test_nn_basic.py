"""Fully connected layers, embeddings, dropout, and functions as layers."""

import numpy as np
import pytest
from unit.nn_driver import numeric_gradients

import gluonish as mx
from gluonish import autograd, nd
from gluonish.errors import ArgumentError, MXNetError, ShapeError, UnsupportedError
from gluonish.gluon import nn


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(("shape", "flatten"), [((2, 3), True), ((2, 3, 4), True), ((2, 3, 4), False), ((5,), False)])
def test_dense_is_a_product_with_its_weight(dtype, shape, flatten):
    layer = nn.Dense(4, flatten=flatten, dtype=dtype, bias_initializer="ones")
    layer.initialize(mx.init.Normal(1))
    x = np.random.randn(*shape).astype(dtype)
    y = layer(nd.array(x, dtype=dtype))
    rows = x.reshape(len(x), -1) if flatten else x
    wanted = rows.astype("float64") @ layer.weight.data().asnumpy().astype("float64").T + 1
    assert y.shape == wanted.shape
    assert y.dtype == dtype
    np.testing.assert_allclose(y.asnumpy(), wanted, rtol=1e-2 if dtype == "float16" else 1e-5, atol=1e-2)


def test_dense_by_hand():
    layer = nn.Dense(2, activation="relu", in_units=2)
    layer.initialize()
    layer.weight.set_data([[1, 2], [-3, 4]])
    layer.bias.set_data([10, -1])
    assert layer(nd.array([[1, 1], [1, 0]])).tolist() == [[13.0, 0.0], [11.0, 0.0]]


def test_dense_says_what_it_is():
    assert repr(nn.Dense(3, in_units=2, activation="relu")) == "Dense(2 -> 3, Activation(relu))"
    assert repr(nn.Dense(2)) == "Dense(None -> 2, linear)"
    layer = nn.Dense(2, prefix="d_")
    assert layer.weight.shape == (2, 0)
    assert repr(layer.weight) == "Parameter d_weight (shape=(2, 0), dtype=float32)"
    assert list(nn.Dense(2, activation="tanh", prefix="d_").collect_params()) == ["d_weight", "d_bias"]
    assert list(nn.Dense(2, use_bias=False, prefix="d_").collect_params()) == ["d_weight"]


def test_dense_refuses_what_does_not_fit():
    layer = nn.Dense(2, in_units=3)
    layer.initialize()
    with pytest.raises(ShapeError, match=r"\(2, 3\).*\(4, 5\)|\(4, 5\).*\(2, 3\)|\(2, 5\)"):
        layer(nd.ones((4, 5)))
    for units in (0, -1, 2.5, "two", None):
        with pytest.raises(ArgumentError, match=f"units={units!r} must be a whole number"):
            nn.Dense(units)
    with pytest.raises(ArgumentError, match="in_units=-1"):
        nn.Dense(2, in_units=-1)
    assert repr(nn.Dense(np.int64(2), in_units=np.int32(3))) == "Dense(3 -> 2, linear)"
    with pytest.raises(ArgumentError, match="no activation 'rleu'"):
        nn.Dense(2, activation="rleu")


def test_dense_shares_parameters():
    first = nn.Dense(3, in_units=2, prefix="s_")
    second = nn.Dense(3, in_units=2, params=first.params)
    first.initialize()
    x = nd.ones((1, 2))
    assert second.weight is first.weight
    assert second(x).tolist() == first(x).tolist()


def test_drop_connect_drops_weights_for_the_whole_batch():
    layer = nn.DropConnect(200, rate=0.25, in_units=1, use_bias=False)
    layer.initialize(mx.init.One())
    x = nd.ones((3, 1))
    assert set(layer(x).asnumpy().ravel()) == {1.0}
    with autograd.train_mode():
        y = layer(x).asnumpy()
    assert set(np.round(y.ravel(), 4)) == {0.0, np.float32(1.3333)}
    assert (y == y[0]).all()
    assert 0.1 < (y[0] == 0).mean() < 0.4
    numeric_gradients(_double(nn.DropConnect(2, rate=0.0, in_units=3)), [np.random.randn(2, 3)], train_mode=True)


def _double(layer):
    layer.initialize(mx.init.Normal(1))
    layer.cast("float64")
    return layer


def test_dropout_keeps_the_mean_and_drops_along_axes():
    layer = nn.Dropout(0.3, axes=(2, 3))
    x = nd.ones((20, 30, 2, 2))
    with autograd.train_mode():
        y = layer(x).asnumpy()
    assert (y == y[:, :, :1, :1]).all()
    assert abs(y.mean() - 1) < 0.1
    assert 0.2 < (y == 0).mean() < 0.4
    assert layer(x).tolist() == x.tolist()
    assert repr(layer) == "Dropout(p = 0.3, axes=(2, 3))"
    for rate in (-0.1, 1.1, float("nan"), "half"):
        with pytest.raises(ArgumentError, match="rate"):
            nn.Dropout(rate)


def test_the_gradient_of_dropout_is_that_of_what_was_kept():
    x = nd.ones((50,))
    x.attach_grad()
    with autograd.record():
        y = nn.Dropout(0.5)(x)
    y.backward()
    assert x.grad.tolist() == y.tolist()


def test_flatten():
    assert nn.Flatten()(nd.ones((2, 3, 4))).shape == (2, 12)
    assert nn.Flatten()(nd.ones((0, 3, 4))).shape == (0, 12)
    assert repr(nn.Flatten()) == "Flatten"


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "uint8"])
def test_embedding_takes_rows(dtype):
    layer = nn.Embedding(5, 3)
    layer.initialize(mx.init.Normal(1))
    index = np.array([[0, 4, 4], [2, 1, 0]])
    table = layer.weight.data().asnumpy()
    np.testing.assert_array_equal(layer(nd.array(index, dtype=dtype)).asnumpy(), table[index])
    assert repr(layer) == "Embedding(5 -> 3, float32)"
    assert repr(nn.Embedding(5, 3, np.float16)) == "Embedding(5 -> 3, float16)"


def test_the_gradient_of_an_embedding_counts_rows():
    layer = nn.Embedding(4, 2)
    layer.initialize()
    with autograd.record():
        y = layer(nd.array([1, 3, 3]))
    y.backward()
    assert layer.weight.grad().tolist() == [[0, 0], [1, 1], [0, 0], [2, 2]]


def test_embedding_refuses_what_does_not_fit():
    layer = nn.Embedding(4, 2)
    layer.initialize()
    for bad in ([4], [-1]):
        with pytest.raises(MXNetError):
            layer(nd.array(bad)).asnumpy()
    with pytest.raises(UnsupportedError, match="sparse"):
        nn.Embedding(4, 2, sparse_grad=True)
    with pytest.raises(ArgumentError, match="input_dim=0"):
        nn.Embedding(0, 2)


@pytest.mark.parametrize("kind", [nn.Lambda, nn.HybridLambda])
def test_functions_as_layers(kind):
    x = nd.array([-1, 1])
    assert kind("relu")(x).tolist() == [0.0, 1.0]
    assert repr(kind("relu")) == f"{kind.__name__}(relu)"
    with pytest.raises(ArgumentError, match="no function 'rleu'"):
        kind("rleu")
    with pytest.raises(ArgumentError, match="3 is neither"):
        kind(3)


def test_what_functions_of_layers_are_given():
    a, b = nd.array([1, 2]), nd.array([3, 4])
    assert nn.Lambda(lambda x, y: x * y)(a, b).tolist() == [3.0, 8.0]
    assert nn.HybridLambda(lambda F, x, y: F.maximum(x, y))(a, b).tolist() == [3.0, 4.0]
    assert repr(nn.Lambda(lambda x: x)) == "Lambda(<lambda>)"
