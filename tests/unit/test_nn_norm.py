"""Norms against their formulas in NumPy."""

import numpy as np
import pytest
from unit.nn_driver import numeric_gradients

import gluonish as mx
from gluonish import autograd, nd
from gluonish.errors import ArgumentError, MXNetError, ShapeError
from gluonish.gluon import nn

TYPES = pytest.mark.parametrize(("dtype", "near"), [("float32", 1e-4), ("float64", 1e-9)])
SHAPES = pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (2, 3, 4, 5)], ids=str)


def unit(x, axes, eps):
    x = x.astype("float64")
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def random_parameters(layer):
    """Values that are neither 0 nor 1, as arrays by name."""
    for name, parameter in layer._reg_params.items():
        values = np.random.uniform(0.5, 1.5, parameter.shape)
        parameter.set_data(nd.array(values, dtype=parameter.dtype))
        assert getattr(layer, name) is parameter
    return {name: p.data().asnumpy().astype("float64") for name, p in layer._reg_params.items()}


def prepared(layer, shape, dtype):
    layer.initialize()
    layer.cast(dtype)
    x = np.random.randn(*shape).astype(dtype)
    layer(nd.array(x, dtype=dtype))
    return nd.array(x, dtype=dtype), x, random_parameters(layer)


def along(values, axis, ndim):
    return values.reshape([-1 if i == axis % ndim else 1 for i in range(ndim)])


@TYPES
@SHAPES
@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("kind", [nn.BatchNorm, nn.BatchNormReLU])
def test_batch_norm_in_training_and_prediction(kind, shape, axis, dtype, near):
    layer = kind(axis=axis, momentum=0.7, epsilon=1e-3)
    x, host, before = prepared(layer, shape, dtype)
    others = tuple(i for i in range(len(shape)) if i != axis % len(shape))
    gamma, beta = (along(before[name], axis, len(shape)) for name in ("gamma", "beta"))
    last = (lambda y: np.maximum(y, 0)) if kind is nn.BatchNormReLU else (lambda y: y)
    with autograd.train_mode():
        y = layer(x)
    np.testing.assert_allclose(y.asnumpy(), last(unit(host, others, 1e-3) * gamma + beta), rtol=near, atol=near)
    mean = 0.7 * before["running_mean"] + 0.3 * host.astype("float64").mean(others)
    var = 0.7 * before["running_var"] + 0.3 * host.astype("float64").var(others)
    np.testing.assert_allclose(layer.running_mean.data().asnumpy(), mean, rtol=near, atol=near)
    np.testing.assert_allclose(layer.running_var.data().asnumpy(), var, rtol=near, atol=near)
    scaled = (host - along(mean, axis, len(shape))) / np.sqrt(along(var, axis, len(shape)) + 1e-3)
    np.testing.assert_allclose(layer(x).asnumpy(), last(scaled * gamma + beta), rtol=near, atol=near)


@pytest.mark.parametrize("kind", [nn.BatchNorm, nn.BatchNormReLU])
@pytest.mark.parametrize("how", [{}, {"scale": False}, {"center": False}, {"use_global_stats": True}], ids=str)
def test_gradients_of_batch_norm_in_training(kind, how):
    layer = kind(**how)
    _, host, _ = prepared(layer, (3, 2, 4), "float64")
    numeric_gradients(layer, [host], train_mode=True)


def test_batch_norm_without_scale_or_center():
    layer = nn.BatchNorm(scale=False, center=False)
    layer.initialize()
    layer(nd.ones((2, 3)))
    assert [p.grad_req for p in (layer.gamma, layer.beta, layer.running_mean, layer.running_var)] == ["null"] * 4
    layer.gamma.set_data([5, 5, 5])
    with autograd.train_mode():
        assert abs(layer(nd.array(np.random.randn(9, 3))).asnumpy()).max() < 3


def test_global_statistics_stay_as_they_are():
    layer = nn.BatchNorm(use_global_stats=True)
    x, host, before = prepared(layer, (4, 3), "float32")
    with autograd.train_mode():
        y = layer(x)
    wanted = (host - before["running_mean"]) / np.sqrt(before["running_var"] + 1e-5) * before["gamma"] + before["beta"]
    np.testing.assert_allclose(y.asnumpy(), wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(layer.running_mean.data().asnumpy(), before["running_mean"].astype("float32"))


def test_a_batch_of_one_becomes_beta():
    layer = nn.BatchNorm(beta_initializer=mx.init.Constant(3))
    layer.initialize()
    with autograd.record():
        y = layer(nd.array([[1, 2]]))
    y.backward()
    assert y.tolist() == [[3.0, 3.0]]
    np.testing.assert_allclose(layer.running_mean.data().asnumpy(), [0.1, 0.2], rtol=1e-6)
    assert layer.gamma.grad().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_batch_norm_keeps_its_parameters_in_float32(dtype):
    net = nn.HybridSequential()
    net.add(nn.Dense(3), nn.BatchNorm())
    net.cast(dtype)
    net.initialize()
    y = net(nd.ones((2, 4), dtype=dtype))
    assert str(y.dtype) == dtype
    assert {str(p.dtype) for p in net[1].collect_params().values()} == {"float32"}
    assert str(net[0].weight.dtype) == dtype
    net.cast("float64")
    assert {str(p.dtype) for p in net.collect_params().values()} == {"float64"}


def test_names_and_text():
    layer = nn.BatchNorm(prefix="bn_", in_channels=4)
    assert list(layer.collect_params()) == ["bn_gamma", "bn_beta", "bn_running_mean", "bn_running_var"]
    text = "axis=1, eps=1e-05, momentum=0.9, fix_gamma=False, use_global_stats=False"
    assert repr(layer) == f"BatchNorm({text}, in_channels=4)"
    assert repr(nn.BatchNorm()) == f"BatchNorm({text}, in_channels=None)"
    assert repr(nn.LayerNorm(in_channels=4)) == "LayerNorm(eps=1e-05, axis=-1, center=True, scale=True, in_channels=4)"
    assert repr(nn.InstanceNorm()) == "InstanceNorm(eps=1e-05, axis=1, center=True, scale=False, in_channels=0)"
    assert repr(nn.GroupNorm(2)) == "GroupNorm(eps=1e-05, num_groups=2, center=True, scale=True)"


@TYPES
@SHAPES
@pytest.mark.parametrize("axis", [-1, 1, 0])
def test_layer_norm(shape, axis, dtype, near):
    layer = nn.LayerNorm(axis=axis, epsilon=1e-3)
    x, host, values = prepared(layer, shape, dtype)
    gamma, beta = (along(values[name], axis, len(shape)) for name in ("gamma", "beta"))
    np.testing.assert_allclose(layer(x).asnumpy(), unit(host, axis, 1e-3) * gamma + beta, rtol=near, atol=near)


@TYPES
@SHAPES
@pytest.mark.parametrize("axis", [-1, 1])
def test_rms_norm(shape, axis, dtype, near):
    layer = nn.RMSNorm(axis=axis, epsilon=1e-3)
    x, host, values = prepared(layer, shape, dtype)
    root = np.sqrt((host.astype("float64") ** 2).mean(axis, keepdims=True) + 1e-3)
    np.testing.assert_allclose(
        layer(x).asnumpy(), host / root * along(values["gamma"], axis, len(shape)), rtol=near, atol=near
    )
    assert list(values) == ["gamma"]


@TYPES
@pytest.mark.parametrize("shape", [(4, 3, 5), (2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("axis", [1, 2, -1])
def test_instance_norm(shape, axis, dtype, near):
    layer = nn.InstanceNorm(axis=axis, epsilon=1e-3, scale=True)
    x, host, values = prepared(layer, shape, dtype)
    others = tuple(i for i in range(1, len(shape)) if i != axis % len(shape))
    gamma, beta = (along(values[name], axis, len(shape)) for name in ("gamma", "beta"))
    np.testing.assert_allclose(layer(x).asnumpy(), unit(host, others, 1e-3) * gamma + beta, rtol=near, atol=near)


@TYPES
@pytest.mark.parametrize("shape", [(2, 6), (2, 6, 3), (2, 6, 4, 5)], ids=str)
@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_group_norm(shape, groups, dtype, near):
    layer = nn.GroupNorm(groups, epsilon=1e-3)
    x, host, values = prepared(layer, shape, dtype)
    grouped = unit(host.reshape(shape[0], groups, -1), 2, 1e-3).reshape(shape)
    gamma, beta = (along(values[name], 1, len(shape)) for name in ("gamma", "beta"))
    np.testing.assert_allclose(layer(x).asnumpy(), grouped * gamma + beta, rtol=near, atol=near)


def test_group_norm_takes_parameters_of_groups_from_files(tmp_path):
    file = tmp_path / "group.params"
    nd.save(file, {"gamma": nd.array([2, 3]), "beta": nd.array([0, 1])})
    layer = nn.GroupNorm(2)
    layer.load_parameters(file)
    x = np.random.randn(2, 6, 4).astype("float32")
    grouped = unit(x.reshape(2, 2, -1), 2, 1e-5) * np.array([2, 3]).reshape(1, 2, 1) + np.array([0, 1]).reshape(1, 2, 1)
    np.testing.assert_allclose(layer(nd.array(x)).asnumpy(), grouped.reshape(x.shape), rtol=1e-4, atol=1e-5)


def test_sync_batch_norm_is_batch_norm_of_the_whole_batch(threaded):
    devices = [mx.cpu(0), mx.cpu(1)]
    whole, split = nn.BatchNorm(in_channels=3), nn.SyncBatchNorm(in_channels=3)
    whole.initialize()
    split.initialize(ctx=devices)
    for name, value in random_parameters(whole).items():
        getattr(split, name).set_data(nd.array(value))
    x, dy = np.random.randn(2, 6, 3, 2, 2).astype("float32")
    one = nd.array(x)
    parts = [nd.array(x[:2], ctx=devices[0]), nd.array(x[2:], ctx=devices[1])]
    for array in (one, *parts):
        array.attach_grad()
    with autograd.record():
        y = whole(one)
        ys = [split(part) for part in parts]
    y.backward(nd.array(dy))
    autograd.backward(ys, [nd.array(dy[:2], ctx=devices[0]), nd.array(dy[2:], ctx=devices[1])])
    near = {"rtol": 1e-4, "atol": 1e-4}
    np.testing.assert_allclose(np.concatenate([part.asnumpy() for part in ys]), y.asnumpy(), **near)
    grads = np.concatenate([part.grad.asnumpy() for part in parts])
    np.testing.assert_allclose(grads, one.grad.asnumpy(), **near)
    for name in ("gamma", "beta"):
        both = sum(grad.asnumpy() for grad in getattr(split, name).list_grad())
        np.testing.assert_allclose(both, getattr(whole, name).grad().asnumpy(), **near)
    for ctx in devices:
        for name in ("running_mean", "running_var"):
            wanted = getattr(whole, name).data().asnumpy()
            np.testing.assert_allclose(getattr(split, name).data(ctx).asnumpy(), wanted, **near)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: nn.GroupNorm(4, in_channels=6), "num_groups=4.*in_channels=6"),
        (lambda: nn.BatchNorm(epsilon=-1), "epsilon=-1"),
        (lambda: nn.LayerNorm(in_channels=-1), "in_channels=-1"),
        (lambda: nn.SyncBatchNorm(num_devices=0), "num_devices=0"),
    ],
)
def test_what_is_refused(make, says):
    with pytest.raises(ArgumentError, match=says):
        make()


def test_inputs_that_do_not_fit():
    layer = nn.LayerNorm(in_channels=4)
    layer.initialize()
    with pytest.raises(ShapeError, match=r"\(2, 3\)"):
        layer(nd.ones((2, 3)))
    layer = nn.GroupNorm(4)
    layer.initialize()
    with pytest.raises(ShapeError, match="num_groups=4"):
        layer(nd.ones((2, 6, 3)))
    layer = nn.BatchNorm(axis=3)
    layer.initialize()
    with pytest.raises(MXNetError, match="axis 3"):
        layer(nd.ones((2, 6, 3)))
