"""States are saved and loaded exactly, and a file that is no such thing changes nothing and runs nothing."""

import copy
import json
import pickle

import numpy as np
import pytest
from unit.optimizer_references import REFERENCES, prepare

import gluonish as mx
from gluonish import nd
from gluonish.errors import ArgumentError, FormatError

SHAPES = [(3, 2), (5, 4)]


def arrays(seed, dtypes=("float32", "float16")):
    rng = np.random.default_rng(seed)
    return [nd.array(rng.normal(size=shape), dtype=d) for shape, d in zip(SHAPES, dtypes, strict=True)]


def updater(name):
    how = dict(REFERENCES[name][0][0])
    if name == "lars":
        how["momentum_correction"] = True
    scheduler = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.05)
    made = mx.optimizer.create(name, learning_rate=0.05, lr_scheduler=scheduler, multi_precision=True, **how)
    return mx.optimizer.get_updater(made)


def step(update, weights, t):
    prepare(update.optimizer, t)
    update([0, "bias"], arrays(t), weights)


@pytest.mark.parametrize("dump_optimizer", [False, True])
@pytest.mark.parametrize("name", REFERENCES)
def test_a_run_that_was_saved_goes_on_as_if_it_was_not(name, dump_optimizer):
    whole, weights = updater(name), arrays(0)
    for t in range(1, 7):
        step(whole, weights, t)
    first, other = updater(name), arrays(0)
    for t in range(1, 4):
        step(first, other, t)
    saved = first.get_states(dump_optimizer)
    assert isinstance(saved, bytes)
    second = updater(name)
    second.set_states(saved)
    assert second.optimizer.num_update == 3
    for t in range(4, 7):
        step(second, other, t)
    for ours, theirs in zip(other, weights, strict=True):
        np.testing.assert_array_equal(ours.asnumpy(), theirs.asnumpy())
    assert second.get_states() == whole.get_states()


@pytest.mark.parametrize("name", REFERENCES)
def test_copies_go_on_alike(name):
    update, weights = updater(name), arrays(0)
    step(update, weights, 1)
    for twin in (pickle.loads(pickle.dumps(update.optimizer)), copy.deepcopy(update.optimizer)):
        assert type(twin) is type(update.optimizer)
        assert twin.num_update == 1
        assert twin._index_update_count == update.optimizer._index_update_count
        assert twin.learning_rate == update.optimizer.learning_rate
        twin._update_count([0])
        assert twin._index_update_count[0] == 2
        assert update.optimizer._index_update_count[0] == 1


def test_settings_come_with_the_optimizer():
    first = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.25, momentum=0.5, wd=0.125))
    first(0, nd.ones(2), nd.ones(2))
    second = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
    second.set_states(first.get_states())
    assert (second.optimizer.lr, second.optimizer.momentum) == (0.01, 0.9)
    second.set_states(first.get_states(dump_optimizer=True))
    assert (second.optimizer.lr, second.optimizer.momentum, second.optimizer.wd) == (0.25, 0.5, 0.125)


def test_states_follow_their_weights_to_a_device():
    first = mx.optimizer.get_updater(mx.optimizer.Adam())
    first(0, nd.ones(2), nd.ones(2))
    second = mx.optimizer.get_updater(mx.optimizer.Adam())
    second.set_states(first.get_states())
    weight = nd.ones(2, ctx=mx.cpu(1))
    second(0, nd.ones(2, ctx=mx.cpu(1)), weight)
    assert {s.context for s in second.states[0]} == {mx.cpu(1)}


def test_updates_are_counted_for_each_device():
    update = mx.optimizer.get_updater(mx.optimizer.Adam())
    for device in (mx.cpu(0), mx.cpu(1)):
        update(device.device_id, nd.ones(2, ctx=device), nd.ones(2, ctx=device))
    assert update.optimizer._all_index_update_counts == {0: {0: 1}, 1: {1: 1}}
    assert update.optimizer.num_update == 1


def packed(**changes):
    update = mx.optimizer.get_updater(mx.optimizer.Adam())
    update(0, nd.ones(2), nd.ones(2))
    saved = update.get_states()
    _, names, loaded, texts = mx._core.load_bytes(saved, 0)
    header = {**json.loads(texts["gluonish.optimizer"]), **changes}
    return mx._core.save_bytes("safetensors", names, loaded, [("gluonish.optimizer", json.dumps(header))])


class Harmful:
    def __reduce__(self):
        return (pytest.fail, ("the pickle ran",))


BAD = {
    "mxnet": (pickle.dumps({0: None}), "pickled states, as MXNet writes"),
    "mxnet_old": (pickle.dumps({0: None}, protocol=0), "pickled states, as MXNet writes"),
    "harmful": (pickle.dumps(Harmful()), "pickled states"),
    "nothing": (b"", "."),
    "text": (b"hello, world, this is no file of arrays", "."),
    "other": (mx._core.save_bytes("safetensors", ["x"], [nd.ones(2)], []), "not one of the states of an optimizer"),
    "version": (packed(version=7), "version 7"),
    "class": (packed(optimizer="SGD"), "states of SGD, and the optimizer is Adam"),
    "tree": (packed(states=[[0, {"array": 77}]]), "damaged"),
    "kind": (packed(states=[[0, {"set": []}]]), "damaged"),
    "key": (packed(states=[[[0], None]]), "damaged"),
    "count": (packed(counts=[[0, 0, "many"]]), "damaged"),
    "number": (packed(num_update="x"), "damaged"),
    "setting": (packed(settings={"update": 1}), "settings"),
    "list": (packed(settings={"lr": [1]}), r"lr=\[1\]"),
    "word": (packed(settings={"lr": "much"}), "lr='much'"),
    "nan": (packed(settings={"lr": float("nan")}), "lr=nan"),
}


@pytest.mark.parametrize("kind", BAD)
def test_foreign_and_damaged_states_change_nothing(kind):
    data, says = BAD[kind]
    update = mx.optimizer.get_updater(mx.optimizer.Adam())
    update(0, nd.ones(2), nd.ones(2))
    before = update.get_states(dump_optimizer=True)
    with pytest.raises(FormatError, match=says):
        update.set_states(data)
    assert update.get_states(dump_optimizer=True) == before


@pytest.mark.parametrize(("name", "extra"), [("lars", 3), ("eve", "x"), ("lars", {"tuple": [1]}), ("adamw", None)])
def test_what_is_beside_the_states_must_fit_too(name, extra):
    update, weights = updater(name), arrays(0)
    step(update, weights, 1)
    before = update.get_states(dump_optimizer=True)
    _, names, loaded, texts = mx._core.load_bytes(before, 0)
    header = {**json.loads(texts["gluonish.optimizer"]), "extra": extra}
    bad = mx._core.save_bytes("safetensors", names, loaded, [("gluonish.optimizer", json.dumps(header))])
    with pytest.raises(FormatError, match="do not fit"):
        update.set_states(bad)
    assert update.get_states(dump_optimizer=True) == before


def test_what_is_cut_short_is_refused():
    update = mx.optimizer.get_updater(mx.optimizer.Adam())
    update(0, nd.ones(20), nd.ones(20))
    data = update.get_states()
    for length in range(0, len(data), 7):
        with pytest.raises(FormatError):
            update.set_states(data[:length])
    with pytest.raises(ArgumentError, match="bytes are needed"):
        update.set_states("adam.states")


def test_another_scheduler_is_refused():
    first = updater("sgd")
    first(0, nd.ones(2), nd.ones(2))
    poly = mx.lr_scheduler.PolyScheduler(5, base_lr=0.05)
    other = mx.optimizer.SGD(learning_rate=0.05, momentum=0.9, lr_scheduler=poly)
    with pytest.raises(FormatError, match="FactorScheduler"):
        mx.optimizer.get_updater(other).set_states(first.get_states(dump_optimizer=True))


def test_states_that_cannot_be_saved_say_so():
    class Odd(mx.optimizer.Optimizer):
        def create_state(self, index, weight):
            return {1, 2}

        def step(self, indices, weights, grads, states):
            self._update_count(indices)

    update = mx.optimizer.get_updater(Odd())
    update(0, nd.ones(2), nd.ones(2))
    with pytest.raises(ArgumentError, match="a state of type set cannot be saved"):
        update.get_states()
    update = mx.optimizer.get_updater(mx.optimizer.SGD())
    update([(1, 2)], [nd.ones(2)], [nd.ones(2)])
    with pytest.raises(ArgumentError, match="must be an int or a str"):
        update.get_states()
