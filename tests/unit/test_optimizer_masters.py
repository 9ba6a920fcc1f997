"""Copies in float32 of narrow weights: whoever writes a weight writes what the next step starts from."""

import numpy as np
import pytest
from unit.trained import TWO

import gluonish as mx
from gluonish import autograd, nd
from gluonish.gluon import Trainer, nn

NARROW = ["float16", "bfloat16"]
NAMES = ["sgd", "adam", "lbsgd", "adafactor", "muon"]  # each keeps its copy in another way


def network(dtype, ctx=None):
    net = nn.Dense(2, in_units=3)
    net.initialize(ctx=ctx)
    net.cast(dtype)
    return net


def trainer_of(net, name="sgd", **kwargs):
    return Trainer(net, name, {"learning_rate": 2**-20, "multi_precision": True}, **kwargs)


def step(net, trainer):
    for ctx in net.weight.list_ctx():
        with autograd.record():
            loss = net(nd.ones((4, 3), dtype=net.weight.dtype, ctx=ctx)).sum()
        loss.backward()
    trainer.step(4)


def master_of(trainer, device=0, key=0):
    holders = trainer._holders()
    return trainer.optimizer._parted(holders[min(device, len(holders) - 1)].states[key])[0].asnumpy()


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", NAMES)
def test_values_that_are_set_last(name, dtype):
    net = network(dtype)
    trainer = trainer_of(net, name)
    step(net, trainer)
    net.weight.set_data(np.full((2, 3), 5.0))
    step(net, trainer)
    assert (abs(net.weight.data().asnumpy() - 5) < 0.01).all()
    assert (abs(master_of(trainer) - 5) < 0.01).all()


def test_values_of_files_and_initializers_last(tmp_path):
    net = network("float16")
    trainer = trainer_of(net)
    step(net, trainer)
    net.save_parameters(tmp_path / "net.safetensors")
    saved = net.weight.data().asnumpy()
    net.initialize(mx.init.Constant(3), force_reinit=True)
    step(net, trainer)
    assert (net.weight.data().asnumpy() == 3).all()  # 3 - 2**-20 in half precision
    net.load_parameters(tmp_path / "net.safetensors")
    step(net, trainer)
    assert np.allclose(net.weight.data().asnumpy(), saved, atol=1e-3)


@pytest.mark.parametrize("on_store", [True, False])
def test_values_last_on_every_device(on_store):
    net = network("float16", TWO)
    trainer = trainer_of(net, update_on_kvstore=on_store)
    step(net, trainer)
    net.weight.set_data(np.full((2, 3), 5.0))
    step(net, trainer)
    for place, ctx in enumerate(TWO):
        assert (net.weight.data(ctx).asnumpy() == 5).all()
        assert (abs(master_of(trainer, place) - 5) < 1e-5).all()


@pytest.mark.parametrize("dtype", NARROW)
def test_small_steps_add_up_where_nobody_else_writes(dtype):
    """What the weight has no digits for stays in the copy, from one step to the next."""
    net = network(dtype)
    net.weight.set_data(np.full((2, 3), 1.0))
    trainer = trainer_of(net)
    for _ in range(4):
        step(net, trainer)
    assert np.array_equal(master_of(trainer), np.full((2, 3), 1 - 4 * 2**-20, "float32"))


@pytest.mark.parametrize("states_first", [True, False])
def test_digits_of_the_copy_come_back_from_files(states_first, tmp_path):
    net = network("float16")
    trainer = trainer_of(net)
    for _ in range(3):
        step(net, trainer)
    net.save_parameters(tmp_path / "net.safetensors")
    trainer.save_states(tmp_path / "states")
    again = network("float16")
    resumed = trainer_of(again)
    if states_first:
        resumed.load_states(tmp_path / "states")
    again.load_parameters(tmp_path / "net.safetensors")
    if not states_first:
        resumed.load_states(tmp_path / "states")
    step(net, trainer)
    step(again, resumed)
    assert np.array_equal(master_of(trainer), master_of(resumed))


def test_a_part_that_is_written_is_a_part_of_the_copy():
    net = network("float16")
    trainer = trainer_of(net)
    step(net, trainer)
    before = master_of(trainer)
    net.weight.data()[0] = 7
    step(net, trainer)
    after = master_of(trainer)
    assert np.allclose(after[0], 7, atol=1e-5)
    assert np.allclose(after[1], before[1] - 2**-20, atol=1e-8)


def test_clip_of_weights_between_steps():
    """As in Wasserstein networks: weights are written after each step, and stay within their bounds."""
    net = network("float16")
    net.weight.set_data(np.full((2, 3), 1.0))
    trainer = Trainer(net, "sgd", {"learning_rate": 1.0, "multi_precision": True})
    for _ in range(3):
        step(net, trainer)
        for parameter in net.collect_params().values():
            parameter.set_data(parameter.data().clip(-0.5, 0.5))
    assert np.array_equal(net.weight.data().asnumpy(), np.full((2, 3), -0.5))
    step(net, trainer)
    assert np.array_equal(master_of(trainer), np.full((2, 3), -1.5))


@pytest.mark.parametrize("multi", [False, True])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("first", "then"), [("float32", "float16"), ("float16", "float32"), ("float16", "bfloat16")])
@pytest.mark.filterwarnings("ignore:.*poor accuracy")
def test_states_follow_a_cast(first, then, name, multi):
    """Training goes on in another type, with the momentum that there was."""
    net = network(first)
    options = {"momentum": 0.9} if name in {"sgd", "lbsgd"} else {}
    trainer = Trainer(net, name, {"learning_rate": 0.0, "multi_precision": multi, **options})
    before = net.weight.data().asnumpy()
    step(net, trainer)

    def states():
        kept = trainer._updaters[0].states[0]
        return tuple(trainer.optimizer._parted(kept) if multi and net.weight.dtype != np.float32 else (None, kept))

    inner = states()[1]
    net.cast(then)
    step(net, trainer)
    master, now = states()
    wide = "float32" if multi or then == "float32" or name == "adafactor" else then
    assert (master is not None) == (multi and then != "float32")
    assert {str(one.dtype) for one in flat(now)} <= {wide}
    assert [one.shape for one in flat(now)] == [one.shape for one in flat(inner)]
    np.testing.assert_allclose(net.weight.data().asnumpy(), before, rtol=0.01)


def flat(state):
    if isinstance(state, nd.NDArray):
        return [state]
    return [one for part in state or () for one in flat(part)]


def test_momentum_goes_on_after_a_cast():
    net = network("float32")
    trainer = Trainer(net, "sgd", {"learning_rate": 0.5, "momentum": 0.5, "multi_precision": True})
    net.weight.set_data(np.zeros((2, 3)))
    step(net, trainer)
    net.cast("float16")
    step(net, trainer)
    assert np.array_equal(net.weight.data().asnumpy(), np.full((2, 3), -1.25, "float16"))  # -0.5, then -0.25 - 0.5
    net.cast("float32")
    step(net, trainer)
    assert np.array_equal(net.weight.data().asnumpy(), np.full((2, 3), -2.125, "float32"))


@pytest.mark.parametrize("on_store", [True, False])
def test_stores_follow_a_cast(on_store):
    net = network("float32", TWO)
    options = {"learning_rate": 0.5, "momentum": 0.5, "multi_precision": True}
    trainer = Trainer(net, "sgd", options, update_on_kvstore=on_store)
    net.weight.set_data(np.zeros((2, 3)))
    step(net, trainer)
    net.cast("float16")
    step(net, trainer)
    for ctx in TWO:  # the gradient is 2: -1, then -0.5 - 1
        assert np.array_equal(net.weight.data(ctx).asnumpy(), np.full((2, 3), -2.5, "float16"))


@pytest.mark.parametrize("steps", range(4))
def test_stores_follow_new_arrays(steps):
    """Whatever their versions are."""
    net = network("float32", TWO)
    trainer = Trainer(net, "sgd", {"learning_rate": 0.25}, update_on_kvstore=True)
    for _ in range(steps):
        step(net, trainer)
    net.initialize(mx.init.Constant(3), ctx=TWO, force_reinit=True)
    step(net, trainer)
    assert np.array_equal(net.weight.data(TWO[1]).asnumpy(), np.full((2, 3), 2.5, "float32"))
