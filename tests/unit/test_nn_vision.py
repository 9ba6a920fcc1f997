"""Layers of networks for images against NumPy."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, nd
from gluonish.errors import ArgumentError, ShapeError
from gluonish.gluon import contrib, nn


@pytest.mark.parametrize(("dtype", "near"), [("float32", 1e-5), ("float64", 1e-10)])
def test_patches(dtype, near):
    layer = nn.PatchEmbed(5, patch_size=(2, 3))
    layer.initialize(mx.init.Normal(1))
    layer.cast(dtype)
    x = np.random.randn(2, 4, 6, 9).astype(dtype)
    y = layer(nd.array(x, dtype=dtype))
    weight = layer.projection.weight.data().asnumpy().reshape(5, -1)
    cut = x.reshape(2, 4, 3, 2, 3, 3).transpose(0, 2, 4, 1, 3, 5).reshape(2, 9, -1)
    np.testing.assert_allclose(y.asnumpy(), cut @ weight.T, rtol=near, atol=near)
    last = nn.PatchEmbed(5, patch_size=(2, 3), layout="NHWC", in_channels=4)
    last.initialize()
    last.cast(dtype)
    last.projection.weight.set_data(layer.projection.weight.data().transpose(0, 2, 3, 1))
    y = last(nd.array(x.transpose(0, 2, 3, 1), dtype=dtype))
    np.testing.assert_allclose(y.asnumpy(), cut @ weight.T, rtol=near, atol=near)


def test_images_must_be_whole_patches():
    layer = nn.PatchEmbed(5, patch_size=4)
    layer.initialize()
    for shape in ((1, 3, 9, 8), (1, 3, 8)):
        with pytest.raises(ShapeError, match="patches of"):
            layer(nd.ones(shape))


@pytest.mark.parametrize("axis", [1, -1])
def test_squeeze_and_excitation(axis):
    layer = nn.SqueezeExcite(6, reduction=2, axis=axis)
    layer.initialize(mx.init.Normal(1))
    x = np.random.randn(2, 6, 4, 3) if axis == 1 else np.random.randn(2, 4, 3, 6)
    y = layer(nd.array(x)).asnumpy()
    means = x.mean(axis=(2, 3) if axis == 1 else (1, 2))
    first = np.maximum(means @ layer.reduce.weight.data().asnumpy().T, 0)
    weights = 1 / (1 + np.exp(-first @ layer.expand.weight.data().asnumpy().T))
    weights = weights[:, :, None, None] if axis == 1 else weights[:, None, None, :]
    np.testing.assert_allclose(y, x * weights, rtol=1e-5, atol=1e-5)
    assert layer.reduce.weight.shape == (3, 6)
    assert nn.SqueezeExcite(4, 16).reduce.weight.shape == (1, 4)


def test_what_squeeze_and_excitation_refuses():
    with pytest.raises(ArgumentError, match="in_channels=0"):
        nn.SqueezeExcite(0)
    layer = nn.SqueezeExcite(4)
    layer.initialize()
    with pytest.raises(ShapeError, match=r"\(2, 4\)"):
        layer(nd.ones((2, 4)))
    with pytest.raises(ShapeError):
        layer(nd.ones((2, 3, 5, 5)))


def test_stochastic_depth_drops_samples_or_all():
    x = nd.ones((200, 2, 3))
    assert nn.StochasticDepth(0.4)(x).tolist() == x.tolist()
    with autograd.train_mode():
        y = nn.StochasticDepth(0.4)(x).asnumpy()
        batches = [nn.StochasticDepth(0.5, mode="batch")(x).asnumpy() for _ in range(30)]
    assert (y == y[:, :1, :1]).all()
    assert 0.25 < (y[:, 0, 0] == 0).mean() < 0.55
    np.testing.assert_allclose(np.unique(y), [0, 1 / 0.6], rtol=1e-6)
    assert {tuple(np.unique(batch)) for batch in batches} == {(0.0,), (2.0,)}
    with pytest.raises(ArgumentError, match="'column'"):
        nn.StochasticDepth(0.5, mode="column")
    with pytest.raises(ArgumentError, match="rate=2"):
        nn.StochasticDepth(2)


def test_pixel_shuffles():
    x = np.random.randn(2, 24, 3, 4, 5)
    y = nn.PixelShuffle3D((2, 3, 2))(nd.array(x)).asnumpy()
    assert y.shape == (2, 2, 6, 12, 10)
    for c, i, j, k in ((0, 0, 0, 0), (1, 1, 2, 1), (0, 1, 0, 1)):
        channel = c * 12 + i * 6 + j * 2 + k
        np.testing.assert_array_equal(y[:, c, i::2, j::3, k::2], x[:, channel].astype("float32"))
    y = nn.PixelShuffle2D((2, 3))(nd.array(x[:, :, 0])).asnumpy()
    assert y.shape == (2, 4, 8, 15)
    np.testing.assert_array_equal(y[:, 1, 1::2, 2::3], x[:, 6 + 3 + 2, 0].astype("float32"))
    y = nn.PixelShuffle1D(4)(nd.array(x[:, :, 0, 0])).asnumpy()
    assert y.shape == (2, 6, 20)
    np.testing.assert_array_equal(y[:, 2, 3::4], x[:, 8 + 3, 0, 0].astype("float32"))


def test_pixel_shuffles_say_what_they_are_and_what_does_not_fit():
    assert repr(nn.PixelShuffle1D(2)) == "PixelShuffle1D(2)"
    assert repr(nn.PixelShuffle2D(2)) == "PixelShuffle2D((2, 2))"
    with pytest.raises(ShapeError, match=r"\(1, 3, 4, 4\)"):
        nn.PixelShuffle2D(2)(nd.ones((1, 3, 4, 4)))
    with pytest.raises(ArgumentError, match="factor"):
        nn.PixelShuffle2D((2, 2, 2))


def test_contrib_has_the_same_layers():
    assert contrib.nn.PixelShuffle2D is nn.PixelShuffle2D
    assert contrib.nn.SyncBatchNorm is nn.SyncBatchNorm
    assert contrib.nn.HybridConcurrent is nn.HybridConcurrent
    assert contrib.nn.Concurrent is nn.Concurrent
    assert contrib.nn.Identity is nn.Identity
    with pytest.raises(AttributeError, match="sparse arrays"):
        contrib.nn.SparseEmbedding
    with pytest.raises(AttributeError, match="did you mean PixelShuffle"):
        contrib.nn.PixelShufle2D
