"""Weights that are computed of others, and torch's names."""

import numpy as np
import pytest
from unit.nn_driver import numeric_gradients, values

import gluonish as mx
from gluonish import autograd, nd
from gluonish.errors import ArgumentError
from gluonish.gluon import nn


def test_a_wrapped_block_begins_as_the_block_itself():
    x = np.random.randn(2, 3, 5, 5)
    for make, axis in ((lambda: nn.Conv2D(4, 3, activation="relu"), 0), (lambda: nn.Conv2DTranspose(4, 3), 1)):
        block = make()
        layer = nn.WeightNorm(block, axis=axis)
        layer.initialize(mx.init.Normal(1))
        np.testing.assert_allclose(values(layer, [x]), values(block, [x]), rtol=1e-4, atol=1e-5)
        assert layer.scale.shape == (4,)


def test_weight_norm_is_a_length_times_a_direction():
    layer = nn.WeightNorm(nn.Dense(4, flatten=False))
    layer.initialize(mx.init.Normal(1))
    x = np.random.randn(2, 3)
    values(layer, [x])
    scale = np.array([1, 2, 3, 4])
    layer.scale.set_data(scale)
    v = layer.block.weight.data().asnumpy()
    weight = scale[:, None] * v / np.linalg.norm(v, axis=1, keepdims=True)
    np.testing.assert_allclose(values(layer, [x]), x @ weight.T, rtol=1e-5, atol=1e-5)
    layer.block.weight.set_data(v * 7)
    np.testing.assert_allclose(values(layer, [x]), x @ weight.T, rtol=1e-5, atol=1e-5)


def test_weight_norm_learns_both():
    layer = nn.WeightNorm(nn.Dense(2, in_units=3))
    layer.initialize(mx.init.Normal(1))
    layer.cast("float64")
    numeric_gradients(layer, [np.random.randn(4, 3)])
    assert list(dict(layer.named_parameters())) == ["scale", "block.weight", "block.bias"]


def test_lengths_come_from_a_file_where_there_is_one(tmp_path):
    layer = nn.WeightNorm(nn.Dense(2, in_units=3))
    layer.initialize()
    x = np.random.randn(4, 3)
    values(layer, [x])
    layer.scale.set_data([5, 6])
    layer.save_parameters(tmp_path / "wrapped")
    other = nn.WeightNorm(nn.Dense(2))
    other.load_parameters(tmp_path / "wrapped")
    np.testing.assert_array_equal(values(other, [x]), values(layer, [x]))
    assert other.scale.data().tolist() == [5.0, 6.0]


def test_spectral_norm_divides_by_the_largest_singular_value():
    for block, shape in ((nn.Dense(4, use_bias=False), (2, 5)), (nn.Conv2D(4, 3, use_bias=False), (2, 3, 5, 5))):
        layer = nn.SpectralNorm(block, iterations=100)
        layer.initialize(mx.init.Normal(1))
        x = np.random.randn(*shape)
        with autograd.train_mode():
            y = values(layer, [x])
        weight = block.weight.data().asnumpy()
        largest = np.linalg.svd(weight.reshape(4, -1))[1][0]
        np.testing.assert_allclose(y, values(block, [x]) / largest, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(values(layer, [x]), y, rtol=1e-5)


def test_power_iteration_goes_on_in_training_alone():
    layer = nn.SpectralNorm(nn.Dense(6, in_units=5))
    layer.initialize(mx.init.Normal(1))
    x = nd.ones((1, 5))
    layer(x)
    start = layer.u.data().asnumpy()
    layer(x)
    np.testing.assert_array_equal(layer.u.data().asnumpy(), start)
    np.testing.assert_allclose(np.linalg.norm(start), 1, rtol=1e-5)
    with autograd.train_mode():
        for _ in range(200):
            layer(x)
    found = layer.u.data().asnumpy()
    left = np.linalg.svd(layer.block.weight.data().asnumpy())[0][:, 0]
    np.testing.assert_allclose(abs(found @ left), 1, rtol=1e-4)


def test_spectral_norm_before_the_first_backward_is_called_again():
    """As in a discriminator that sees real and false data before one backward."""
    layer = nn.SpectralNorm(nn.Dense(1, in_units=3))
    layer.initialize(mx.init.Normal(1))
    with autograd.record():
        loss = layer(nd.ones((2, 3))).sum() + layer(nd.zeros((2, 3))).sum()
    loss.backward()
    assert np.isfinite(layer.block.weight.grad().asnumpy()).all()
    with autograd.record(train_mode=False):
        loss = layer(nd.ones((2, 3))).sum()
    with autograd.train_mode():
        layer(nd.ones((2, 3)))
    loss.backward()


def test_wrappers_refuse_what_they_cannot_wrap():
    for kind in (nn.WeightNorm, nn.SpectralNorm):
        with pytest.raises(ArgumentError, match="no parameter 'wait'"):
            kind(nn.Dense(3), "wait")
        with pytest.raises(ArgumentError, match="hybrid_forward"):
            kind(nn.TransformerEncoderLayer(4, 2))
        with pytest.raises(ArgumentError, match="hybrid_forward"):
            kind(nn.Lambda("relu"))
        layer = kind(nn.Dense(3), axis=2)
        layer.initialize()
        with pytest.raises(ArgumentError, match="axis=2"):
            layer(nd.ones((2, 3)))
    with pytest.raises(ArgumentError, match="iterations=0"):
        nn.SpectralNorm(nn.Dense(3), iterations=0)
    assert repr(nn.WeightNorm(nn.Dense(3))) == "WeightNorm(Dense(None -> 3, linear), weight)"


def test_torch_names_are_gluons_layers():
    pairs = [
        (nn.Linear(4, 3), nn.Dense(3, flatten=False, in_units=4)),
        (nn.Conv2d(4, 6, 3, 2, 1, groups=2, bias=False), nn.Conv2D(6, 3, 2, 1, 1, 2, use_bias=False, in_channels=4)),
        (nn.ConvTranspose2d(4, 6, 3, 2, 1, 1), nn.Conv2DTranspose(6, 3, 2, 1, 1, in_channels=4)),
        (nn.BatchNorm2d(4, momentum=0.2), nn.BatchNorm(momentum=0.8, in_channels=4)),
        (nn.BatchNorm2d(4, affine=False), nn.BatchNorm(center=False, scale=False, in_channels=4)),
        (nn.ReLU(), nn.Activation("relu")),
    ]
    x = np.random.randn(2, 4, 6, 4)
    for torch, gluon in pairs:
        for layer in (torch, gluon):
            layer.initialize()
        assert isinstance(torch, type(gluon))
        assert repr(torch).partition("(")[2] == repr(gluon).partition("(")[2]
        for mine, other in zip(torch.collect_params().values(), gluon.collect_params().values(), strict=True):
            assert mine.shape == other.shape
            assert mine.grad_req == other.grad_req
            other.set_data(mine.data())
        with autograd.train_mode():
            np.testing.assert_array_equal(values(torch, [x]), values(gluon, [x]))
        np.testing.assert_array_equal(values(torch, [x]), values(gluon, [x]))
