"""Running means of weights."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import nd
from gluonish.errors import ArgumentError
from gluonish.optimizer import EMA


def parameter(name="weight", dtype="float32", shape=(3,), ctx=None, **how):
    made = mx.gluon.Parameter(name, shape=shape, dtype=dtype, init="zeros", **how)
    made.initialize(ctx=ctx)
    return made


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_means(dtype):
    first, second = parameter("a", dtype), parameter("b", dtype, (2, 2))
    ema = EMA([first, second], 0.9)
    mean = 0.0
    for value in (1.0, 2.0, -4.0):
        for one in (first, second):
            one.set_data(nd.full(one.shape, value, dtype=dtype))
        ema.update()
        mean = 0.9 * mean + 0.1 * value
    for ours in ema.means:
        np.testing.assert_allclose(ours.astype("float64").asnumpy(), mean, rtol=1e-5)
    wide = "float64" if dtype == "float64" else "float32"
    assert {str(m.dtype) for m in ema.means} == {wide}
    with ema.applied():
        np.testing.assert_allclose(first.data().astype("float64").asnumpy(), mean, rtol=1e-2)
        assert str(first.data().dtype) == dtype
    np.testing.assert_array_equal(second.data().astype("float64").asnumpy(), -4.0)


def test_warm_up():
    weight = parameter()
    ema, mean = EMA([weight], 0.5, warmup=True), 0.0
    for n in range(8):
        weight.set_data(nd.full((3,), n + 1.0))
        ema.update()
        keep = min(0.5, (1 + n) / (10 + n))
        mean = keep * mean + (1 - keep) * (n + 1)
    np.testing.assert_allclose(ema.means[0].asnumpy(), mean, rtol=1e-6)


def test_several_devices_have_one_mean():
    weight = parameter(ctx=[mx.cpu(0), mx.cpu(1)])
    ema = EMA({"weight": weight}, 0.5)
    weight.set_data([2.0, 2.0, 2.0])
    ema.update()
    ema.apply()
    assert [w.tolist() for w in weight.list_data()] == [[1.0] * 3] * 2
    ema.restore()
    assert [w.tolist() for w in weight.list_data()] == [[2.0] * 3] * 2


def test_a_block_and_its_copy():
    net = mx.gluon.Block(prefix="net_")
    net.one, net.two = (mx.gluon.nn.Dense(1, in_units=1, use_bias=False, prefix="dense_") for _ in "12")
    net.initialize("zeros")
    ema = EMA(net, 0.5)
    net.two.weight.set_data([[4.0]])
    ema.update()
    assert {name: mean.item() for name, mean in ema.state_dict().items()} == {"dense_weight": 0, "net_two_weight": 2}
    other = EMA(net, 0.5)
    other.load_state_dict(ema.state_dict())
    assert [mean.item() for mean in other.means] == [0, 2]
    alone = EMA([net.one.weight, net.two.weight], 0.5)
    with pytest.raises(ArgumentError, match="two parameters are called 'dense_weight'; give the block"):
        alone.state_dict()


def test_files(tmp_path):
    weight = parameter("net_weight")
    ema = EMA([weight], 0.5)
    weight.set_data([4.0] * 3)
    ema.update()
    mx.nd.save(tmp_path / "ema.safetensors", ema.state_dict())
    other = EMA([weight], 0.5)
    other.load_state_dict(mx.nd.load(tmp_path / "ema.safetensors"))
    assert other.means[0].tolist() == [2.0] * 3
    with pytest.raises(ArgumentError, match="'net_weight' needs a mean of shape"):
        other.load_state_dict({"net_weight": nd.ones(2)})
    with pytest.raises(ArgumentError, match="there is none"):
        other.load_state_dict({})


def test_means_follow_weights_that_move():
    weight = parameter()
    before = weight.data().asnumpy()
    ema = EMA([weight], 0.5)
    weight.reset_ctx(mx.cpu(1))
    weight.set_data(nd.array(before + 4))
    ema.update()
    assert ema.means[0].context == mx.cpu(1)
    np.testing.assert_allclose(ema.means[0].asnumpy(), before + 2)
    weight.reset_ctx([mx.cpu(0), mx.cpu(1)])
    with ema.applied():
        for copy in weight.list_data():
            np.testing.assert_allclose(copy.asnumpy(), before + 2)
    ema.update()
    assert ema.num_update == 2
    np.testing.assert_allclose(ema.means[0].asnumpy(), before + 3)


def test_misuse():
    weight = parameter()
    with pytest.raises(ArgumentError, match="no parameters"):
        EMA([], 0.5)
    with pytest.raises(ArgumentError, match="no parameters"):
        EMA([parameter(grad_req="null")], 0.5)
    with pytest.raises(ArgumentError, match=r"decay=1\.5"):
        EMA([weight], 1.5)
    ema = EMA([weight], 0.5)
    with pytest.raises(ArgumentError, match="nothing to restore"):
        ema.restore()
    ema.apply()
    with pytest.raises(ArgumentError, match="applied already"):
        ema.apply()
    with pytest.raises(ArgumentError, match=r"restore\(\) before"):
        ema.update()
