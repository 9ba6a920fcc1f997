"""Every name of gluon.rnn and gluon.contrib.rnn: made, run, differentiated, saved, copied, and documented."""

import copy
import doctest
import inspect
import pickle

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, nd
from gluonish.gluon import rnn
from gluonish.gluon.contrib import rnn as contrib


def stack(make):
    made = make()
    made.add(rnn.GRUCell(4))
    made.add(rnn.DropoutCell(0.5))
    return made


def image(name):
    return getattr(contrib, name)((4, *[5] * int(name[4])), 2, 3, 3, i2h_pad=1)


# How to make one of each; bases have none.
SAMPLES = {
    "RNN": lambda: rnn.RNN(3, layout="NTC"),
    "LSTM": lambda: rnn.LSTM(3, 2, layout="NTC", bidirectional=True, dropout=0.5),
    "GRU": lambda: rnn.GRU(3, layout="NTC"),
    "RNNCell": lambda: rnn.RNNCell(3),
    "LSTMCell": lambda: rnn.LSTMCell(3),
    "GRUCell": lambda: rnn.GRUCell(3),
    "SequentialRNNCell": lambda: stack(rnn.SequentialRNNCell),
    "HybridSequentialRNNCell": lambda: stack(rnn.HybridSequentialRNNCell),
    "BidirectionalCell": lambda: rnn.BidirectionalCell(rnn.GRUCell(3), rnn.LSTMCell(2)),
    "DropoutCell": lambda: rnn.DropoutCell(0.5),
    "ZoneoutCell": lambda: rnn.ZoneoutCell(rnn.GRUCell(3), 0.5, 0.5),
    "ResidualCell": lambda: rnn.ResidualCell(rnn.GRUCell(4)),
    "LSTMPCell": lambda: contrib.LSTMPCell(3, 2),
    "VariationalDropoutCell": lambda: contrib.VariationalDropoutCell(rnn.GRUCell(3), 0.5, 0.5, 0.5),
    **{name: lambda name=name: image(name) for name in contrib.__all__ if name.startswith("Conv")},
}
BASES = {"RecurrentCell", "HybridRecurrentCell", "ModifierCell"}  # their examples define one: see test_documentation
MODULES = [(module, name) for module in (rnn, contrib) for name in module.__all__]


def run(name, block, ctx=None, dtype="float32"):
    """The output (batch, steps, ...) for some sequence of width 4."""
    axes = int(name[4]) if name.startswith("Conv") else 0
    x = nd.array(np.random.default_rng(1).normal(size=(2, 3, 4, *[5] * axes)), ctx=ctx, dtype=dtype)
    return block(x) if name in ("RNN", "LSTM", "GRU") else block.unroll(3, x, merge_outputs=True)[0]


def test_every_name_has_a_sample():
    assert {*SAMPLES, *BASES} == {name for _, name in MODULES}


@pytest.mark.parametrize(("module", "name"), MODULES, ids=[name for _, name in MODULES])
def test_documentation(module, name):
    found = getattr(module, name)
    assert inspect.getdoc(found) == inspect.cleandoc(found.__doc__)  # its own
    examples = doctest.DocTestParser().get_examples(found.__doc__)
    assert any(name in example.source for example in examples)


@pytest.mark.parametrize("name", SAMPLES)
def test_copies_and_files(name, tmp_path):
    block, other = SAMPLES[name](), SAMPLES[name]()
    block.initialize(mx.init.Normal(0.5))
    want = run(name, block).asnumpy()
    assert want.shape[:2] == (2, 3)
    for suffix in ("safetensors", "params"):
        block.save_parameters(tmp_path / f"block.{suffix}")
        other.load_parameters(tmp_path / f"block.{suffix}")
        for one in (other, copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
            np.testing.assert_array_equal(run(name, one).asnumpy(), want)


@pytest.mark.parametrize("name", SAMPLES)
def test_two_devices(name):
    block, devices = SAMPLES[name](), [mx.cpu(0), mx.cpu(1)]
    block.initialize(ctx=devices)
    outputs = []
    for ctx in devices:
        with autograd.record(train_mode=False):
            outputs.append(run(name, block, ctx))
            total = (outputs[-1] ** 2).sum()
        if block.collect_params():
            total.backward()
    assert [y.context for y in outputs] == devices
    np.testing.assert_array_equal(*(y.asnumpy() for y in outputs))
    for parameter in block.collect_params().values():
        gradients = [g.asnumpy() for g in parameter.list_grad()]
        assert gradients[0].any() or parameter.shape == ()
        np.testing.assert_array_equal(*gradients)


@pytest.mark.parametrize("name", SAMPLES)
def test_gradients(name):
    block, rng = SAMPLES[name](), np.random.default_rng(2)
    block.initialize(mx.init.Normal(0.5))
    block.cast("float64")
    with autograd.record(train_mode=False):
        y = run(name, block, dtype="float64")
    assert y.dtype == np.float64
    parameters = list(block.collect_params().values())
    if not parameters:
        return
    head = nd.array(rng.normal(size=y.shape), dtype="float64")
    y.backward(head, train_mode=False)
    moves = [rng.normal(size=p.shape) * 1e-6 for p in parameters]
    values = [p.data().asnumpy() for p in parameters]
    ends = []
    for sign in (1, -1):
        for p, value, move in zip(parameters, values, moves, strict=True):
            p.set_data(nd.array(value + sign * move, dtype="float64"))
        ends.append(float((run(name, block, dtype="float64") * head).sum().asscalar()))
    got = sum(float((p.grad().asnumpy() * move).sum()) for p, move in zip(parameters, moves, strict=True))
    assert got * 2 == pytest.approx(ends[0] - ends[1], rel=1e-5, abs=1e-11)


@pytest.mark.parametrize("name", SAMPLES)
def test_names_of_parameters_begin_with_prefixes(name):
    class Net(mx.gluon.Block):
        def __init__(self):
            super().__init__(prefix="net_")
            with self.name_scope():
                self.inner = SAMPLES[name]()

    assert all(full.startswith("net_") for full in Net().collect_params())


@pytest.mark.parametrize("name", SAMPLES)
def test_training_is_as_the_names_say(name):
    """What drops something does so in training alone."""
    block = SAMPLES[name]()
    block.initialize(mx.init.Normal(0.5))
    plain = run(name, block).asnumpy()
    with autograd.train_mode():
        first, second = run(name, block).asnumpy(), run(name, block).asnumpy()
    random = any(part in name for part in ("Dropout", "Zoneout", "Sequential")) or name == "LSTM"
    assert np.array_equal(first, second) != random
    assert np.array_equal(first, plain) != random
    np.testing.assert_array_equal(run(name, block).asnumpy(), plain)
