"""Trainer: steps against plain NumPy, several devices, gradients that are not new, accumulation, misuse."""

import numpy as np
import pytest
from unit.trained import SGD, TWO, X, Y, backward, linear, sgd_by_hand, trained, values

import gluonish as mx
from gluonish import autograd, errors, gluon, nd, optimizer
from gluonish.gluon import Trainer, nn

# Steps.


@pytest.mark.usefixtures("engine")
def test_a_step_is_the_formula():
    net = linear()
    trainer = Trainer(net.collect_params(), "sgd", SGD)
    np.testing.assert_allclose(trained(net, trainer), sgd_by_hand(3), rtol=1e-5)
    assert trainer._kvstore is None
    assert not trainer._update_on_kvstore


@pytest.mark.parametrize(
    "given", [lambda net: net, lambda net: net.collect_params(), lambda net: dict(net.collect_params().items()),
              lambda net: list(net.collect_params().values()), lambda net: tuple(net.collect_params().values()),
              lambda net: [net.weight, net.bias, net.weight]],
)  # fmt: skip
def test_what_parameters_come_in(given):
    net = linear()
    np.testing.assert_allclose(trained(net, Trainer(given(net), "SGD", SGD)), sgd_by_hand(3), rtol=1e-5)


def test_the_batch_size_divides():
    net = linear()
    np.testing.assert_allclose(trained(net, Trainer(net, "sgd", SGD), size=24), sgd_by_hand(3, batch=24), rtol=1e-5)


def test_rescale_grad_of_the_optimizer_counts():
    net = linear()
    trainer = Trainer(net, optimizer.create("sgd", rescale_grad=2.0, **SGD))
    np.testing.assert_allclose(trained(net, trainer, size=12), sgd_by_hand(3, batch=6), rtol=1e-5)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "how", [{}, {"update_on_kvstore": False}, {"kvstore": "local"}, {"kvstore": "teststore"},
            {"kvstore": mx.kv.create("device").type, "update_on_kvstore": True}],
)  # fmt: skip
def test_two_devices_are_one_to_rounding(how):
    net = linear(TWO)
    trainer = Trainer(net, "sgd", SGD, **how)
    np.testing.assert_allclose(trained(net, trainer), sgd_by_hand(3), rtol=1e-5)
    for parameter in net.collect_params().values():
        np.testing.assert_array_equal(parameter.data(TWO[0]).asnumpy(), parameter.data(TWO[1]).asnumpy())


@pytest.mark.parametrize("name", ["adam", "lamb", "rmsprop"])
@pytest.mark.parametrize("on_store", [True, False])
def test_two_devices_with_other_optimizers(name, on_store):
    one, two = linear(), linear(TWO)
    options = {"learning_rate": 0.01}
    wanted = trained(one, Trainer(one, name, options), 4)
    found = trained(two, Trainer(two, name, options, update_on_kvstore=on_store), 4)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_devices_that_began_differently_are_made_equal():
    net = linear(TWO)
    net.weight.data(TWO[1])[:] = 9
    trained(net, Trainer(net, "sgd", SGD), 1)
    np.testing.assert_array_equal(net.weight.data(TWO[0]).asnumpy(), net.weight.data(TWO[1]).asnumpy())


def test_the_store_is_made_at_the_first_step():
    net = linear(TWO)
    trainer = Trainer(net, "sgd", SGD)
    assert trainer._kvstore is None
    trained(net, trainer, 1)
    assert trainer._kvstore.type == "device"
    assert trainer._update_on_kvstore is True


def test_the_environment_can_keep_updates_off_the_store(monkeypatch):
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")
    net = linear(TWO)
    trainer = Trainer(net, "sgd", SGD)
    np.testing.assert_allclose(trained(net, trainer), sgd_by_hand(3), rtol=1e-5)
    assert trainer._update_on_kvstore is False


def test_one_call_of_the_optimizer_updates_all_tensors(monkeypatch):
    net = nn.HybridSequential()
    net.add(*(nn.Dense(4, in_units=4) for _ in range(80)))
    net.initialize()
    trainer = Trainer(net, "adam")
    (updater,) = trainer._updaters
    calls = []
    real = updater.optimizer.update_multi_precision
    monkeypatch.setattr(updater.optimizer, "update_multi_precision", lambda *a: calls.append(len(a[0])) or real(*a))
    with autograd.record():
        loss = net(nd.ones((2, 4))).sum()
    loss.backward()
    trainer.step(2)
    assert calls == [160]


def test_nobody_waits_in_a_step():
    """A gradient that is not there yet holds nobody up: it is made by a function that waits for this test."""
    import threading

    go = threading.Event()
    weight = gluon.Parameter("weight", shape=(2,), init="ones")
    weight.initialize()
    trainer = Trainer([weight], "sgd", {"learning_rate": 1.0})

    def late(inputs, outputs):
        assert go.wait(60)
        outputs[0][:] = 3

    with mx.engine.set_inflight_bytes(1 << 20):
        if mx.engine.is_naive():
            go.set()
        (made,) = mx.operator.callback(late, [nd.ones(2)], [((2,), "float32")])
        weight.grad()[:] = made
        trainer.step(1)
        go.set()
    assert weight.data().tolist() == [-2, -2]


def test_compression_reaches_the_store():
    net = linear(TWO)
    trainer = Trainer(net, "sgd", {"learning_rate": 1.0}, compression_params={"type": "2bit", "threshold": 2.0})
    before = values(net)
    backward(net)
    trainer.step(1)
    change = values(net) - before
    assert set(np.abs(change).round(5).ravel().tolist()) <= {0.0, 2.0, 4.0}
    assert change.any()
    with pytest.raises(NotImplementedError, match="does not compress"):
        trained(net, Trainer(net, "sgd", kvstore="local", compression_params={"type": "2bit"}), 1)


def test_parameters_can_move_to_other_devices():
    net = linear()
    trainer = Trainer(net, "sgd", SGD)
    trained(net, trainer, 2)
    net.collect_params().reset_ctx(TWO)
    np.testing.assert_allclose(trained(net, trainer, 2), sgd_by_hand(4), rtol=1e-5)
    net.collect_params().reset_ctx(mx.cpu(1))
    np.testing.assert_allclose(trained(net, trainer, 1), sgd_by_hand(5), rtol=1e-5)


@pytest.mark.parametrize("how", [{}, {"update_on_kvstore": False}, {"kvstore": "local"}])
def test_values_that_somebody_else_changes_count(how, tmp_path):
    """Also where the store updates its own copies: loaded parameters are what the next step begins with."""
    net = linear(TWO)
    net.save_parameters(tmp_path / "first")
    trainer = Trainer(net, "sgd", {**SGD, "momentum": 0.0}, **how)
    trained(net, trainer, 2)
    net.load_parameters(tmp_path / "first")
    np.testing.assert_allclose(trained(net, trainer, 3), sgd_by_hand(3, momentum=0.0), rtol=1e-5)
    np.testing.assert_array_equal(net.weight.data(TWO[0]).asnumpy(), net.weight.data(TWO[1]).asnumpy())


class Elsewhere(mx.kvstore.KVStoreBase):
    """A store of another kind, that updates what it holds."""

    type = "elsewhere"

    def __init__(self):
        self.local = mx.kv.create("device")

    def is_capable(self, capability):
        return capability == "optimizer"

    def broadcast(self, key, value, out, priority=0):
        self.local.broadcast(key, value, out)

    def pushpull(self, key, value, out=None, priority=0):
        self.local.pushpull(key, value, out)

    def set_optimizer(self, optimizer):
        self.local.set_optimizer(optimizer)

    def save_optimizer_states(self, fname, dump_optimizer=False):
        self.local.save_optimizer_states(fname, dump_optimizer)

    def load_optimizer_states(self, fname):
        self.local.load_optimizer_states(fname)


def test_stores_of_other_kinds_update_too(tmp_path):
    net = linear(TWO)
    trainer = Trainer(net, "sgd", SGD, kvstore=Elsewhere())
    np.testing.assert_allclose(trained(net, trainer), sgd_by_hand(3), rtol=1e-5)
    trainer.save_states(tmp_path / "states")
    trainer.load_states(tmp_path / "states")
    np.testing.assert_allclose(trained(net, trainer), sgd_by_hand(6), rtol=1e-5)
    net.weight.set_data(np.ones((2, 3)))
    backward(net)
    with pytest.raises(AssertionError, match="'elsewhere' keeps its own"):
        trainer.step(6)
    with pytest.raises(NotImplementedError, match="set_gradient_compression"):
        trained(net, Trainer(net, "sgd", kvstore=Elsewhere(), compression_params={"type": "2bit"}))


def test_a_store_of_the_user():
    net = linear()
    store = mx.kv.create("device")
    trainer = Trainer(net, "sgd", SGD, kvstore=store)
    np.testing.assert_allclose(trained(net, trainer), sgd_by_hand(3), rtol=1e-5)
    assert trainer._kvstore is store
    assert trainer._update_on_kvstore
    net.collect_params().reset_ctx(mx.cpu(1))
    backward(net)
    with pytest.raises(AssertionError, match="make a new trainer"):
        trainer.step(6)


def test_multipliers_of_parameters():
    net = linear()
    net.bias.lr_mult, net.weight.wd_mult = 0.0, 0.0
    trained(net, Trainer(net, "sgd", {"learning_rate": 0.1}), 1)
    assert net.bias.data().tolist() == [0.5, -0.5]


def test_shared_parameters_are_updated_once():
    first = nn.Dense(3, in_units=3, use_bias=False)
    second = nn.Dense(3, in_units=3, use_bias=False, params=first.params)
    net = nn.Sequential()
    net.add(first, second)
    net.initialize(mx.init.One())
    trainer = Trainer([first.weight, second.weight], "sgd", {"learning_rate": 1.0})
    assert len(trainer._params) == 1
    with autograd.record():
        loss = net(nd.ones((1, 3))).sum()
    loss.backward()
    gradient = first.weight.grad().asnumpy()
    trainer.step(1)
    np.testing.assert_allclose(first.weight.data().asnumpy(), 1 - gradient)


def test_frozen_parameters_stay():
    net = linear()
    net.weight.grad_req = "null"
    before = net.weight.data().asnumpy()
    trained(net, Trainer(net, "sgd", SGD), 2)
    np.testing.assert_array_equal(net.weight.data().asnumpy(), before)
    assert net.bias.data().tolist() != [0.5, -0.5]
    net.weight.grad_req = "write"


@pytest.mark.parametrize("on_store", [True, False])
@pytest.mark.parametrize("ctx", [None, TWO])
def test_a_store_of_two_trainers_is_refused(ctx, on_store):
    """It would have one number for two parameters, and one optimizer."""
    one, other, alone = linear(ctx), linear(ctx), linear(ctx)
    store = mx.kv.create("device")
    first = Trainer(one, "sgd", SGD, kvstore=store, update_on_kvstore=on_store)
    second = Trainer(other, "adam", kvstore=store, update_on_kvstore=on_store)
    trained(one, first, 1)
    with pytest.raises(AssertionError, match="holds the parameters of another trainer"):
        trained(other, second, 1)
    assert (values(other) == values(alone)).all()
    np.testing.assert_allclose(trained(one, first, 2), sgd_by_hand(3), rtol=1e-5)


def test_thawed_parameters_go_to_the_store():
    net = linear(TWO)
    net.weight.grad_req = "null"
    trainer = Trainer(net, "sgd", SGD)
    trained(net, trainer, 1)
    net.weight.grad_req = "write"
    before = net.weight.data(TWO[0]).asnumpy()
    trained(net, trainer, 1)
    assert (net.weight.data(TWO[1]).asnumpy() != before).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_weights_have_wide_masters(dtype):
    """Steps too small for the weight's own type add up in its copy."""
    weight = gluon.Parameter("weight", shape=(2,), init="ones", dtype=dtype)
    weight.initialize()
    trainer = Trainer([weight], "sgd", {"learning_rate": 2.0**-13, "multi_precision": True})
    for _ in range(64):
        weight.grad()[:] = 1
        trainer.step(1)
    assert weight.data().astype("float32").tolist() == [1 - 64 * 2.0**-13] * 2


def test_a_learning_rate_of_zero_changes_nothing():
    net = linear()
    before = values(net)
    trainer = Trainer(net, "sgd", {"learning_rate": 0.0, "wd": 0.1})
    trained(net, trainer, 2)
    np.testing.assert_array_equal(values(net), before)
    assert trainer.learning_rate == 0


def test_steps_inside_record_are_not_recorded():
    net = linear()
    trainer = Trainer(net, "sgd", SGD)
    with autograd.record():
        loss = ((net(nd.array(X)) - nd.array(Y)) ** 2).sum()
        loss.backward()
        trainer.step(6)
    np.testing.assert_allclose(values(net), sgd_by_hand(1), rtol=1e-5)


# Learning rates.


def test_learning_rate_and_optimizer():
    trainer = Trainer(linear(), "sgd", {"learning_rate": 0.3})
    assert trainer.learning_rate == 0.3
    trainer.set_learning_rate(0.2)
    assert trainer.learning_rate == trainer.optimizer.learning_rate == 0.2


def test_schedules_decide():
    net = linear()
    schedule = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5)
    with pytest.warns(UserWarning, match="base_lr"):
        trainer = Trainer(net, "sgd", {"learning_rate": 1.0, "lr_scheduler": schedule})
    with pytest.raises(UserWarning, match="lr_scheduler"):
        trainer.set_learning_rate(0.1)
    seen = []
    for _ in range(4):
        trained(net, trainer, 1, size=1e6)
        seen.append(trainer.learning_rate)
    assert seen == [1, 1, 0.5, 0.5]


# Functions that compute the loss.


def test_closures_are_called():
    net = linear()
    trainer = Trainer(net, "sgd", SGD)
    (loss,) = trainer.step(6, closure=lambda: backward(net))
    assert loss.shape == (6,)
    np.testing.assert_allclose(values(net), sgd_by_hand(1), rtol=1e-5)


def test_lbfgs_finds_the_least_squares():
    net = linear()
    trainer = Trainer(net, "lbfgs", {"line_search": "strong_wolfe", "max_iter": 60})
    trainer.step(6, closure=lambda: backward(net)[0].sum())
    best, *_ = np.linalg.lstsq(np.hstack([X, np.ones((6, 1), "float32")]), Y, rcond=None)
    np.testing.assert_allclose(net.weight.data().asnumpy(), best[:3].T, atol=1e-3)
    with pytest.raises(ValueError, match="LBFGS needs closure="):
        trainer.step(6)
    two = linear(TWO)
    with pytest.raises(NotImplementedError, match="one device"):
        Trainer(two, "lbfgs").step(6, closure=lambda: 0)


# Misuse.


@pytest.mark.parametrize("size", [0, -1, float("nan"), float("inf"), None, "a", True])
def test_wrong_batch_sizes(size):
    net = linear()
    trainer = Trainer(net, "sgd", SGD)
    before = values(net)
    backward(net)
    with pytest.raises(ValueError, match="batch_size="):
        trainer.step(size)
    with pytest.raises(ValueError, match="batch_size="):
        trainer.update(size)
    np.testing.assert_array_equal(values(net), before)


@pytest.mark.parametrize("given", [3, "net", [1], {"w": nd.ones(2)}, [nd.ones(2)], None])
def test_what_is_no_parameters(given):
    with pytest.raises(ValueError, match="Trainer: params must be"):
        Trainer(given, "sgd")


def test_no_parameters_at_all():
    with pytest.raises(ValueError, match="no parameters"):
        Trainer([], "sgd")


def test_wrong_optimizers():
    net = linear()
    with pytest.raises(ValueError, match="'sdg' is not the name of an optimizer"):
        Trainer(net, "sdg")
    with pytest.raises(AssertionError, match="optimizer_params"):
        Trainer(net, optimizer.create("sgd"), {"learning_rate": 0.1})
    with pytest.raises(TypeError):
        Trainer(net, "sgd", {"no_such": 1})


def test_wrong_stores():
    net = linear(TWO)
    with pytest.raises(TypeError, match="a name, a store or None, got int"):
        Trainer(net, "sgd", kvstore=3)
    with pytest.raises(ValueError, match="'foo' is not the name of a store"):
        Trainer(net, "sgd", kvstore="foo")
    with pytest.raises(errors.UnsupportedError, match="not built yet"):
        Trainer(linear(), "sgd", kvstore="dist_sync")


@pytest.mark.parametrize("count", [0, -1, 1.5, "2"])
def test_wrong_accumulation(count):
    with pytest.raises(ValueError, match="accumulate="):
        Trainer(linear(), "sgd", accumulate=count)


def test_parameters_without_values():
    with pytest.raises(RuntimeError, match="has not been initialized"):
        Trainer(nn.Dense(2, in_units=3), "sgd")
    net = nn.Dense(2)
    net.initialize()
    trainer = Trainer(net, "sgd", SGD)
    with pytest.raises(gluon.DeferredInitializationError, match="dimension 1"):
        trainer.step(1)
    backward(net)
    trainer.step(6)


def test_parameters_on_different_devices():
    net = nn.Sequential()
    net.add(linear(mx.cpu(0)), linear(mx.cpu(1)))
    with pytest.raises(AssertionError, match=r"same devices.*cpu\(0\).*cpu\(1\)"):
        Trainer(net, "sgd")


def test_fit_is_not_there_yet():
    with pytest.raises(errors.UnsupportedError, match="data pipelines"):
        Trainer(linear(), "sgd").fit()
