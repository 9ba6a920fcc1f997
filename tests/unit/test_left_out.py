"""Updates that are left out because of an error that no loss shows: somebody is told."""

import contextlib

import numpy as np
import pytest

import gluonish as mx
from gluonish import _core, autograd, gluon, nd
from gluonish.gluon import Trainer

# What runs in the caller raises there.
pytestmark = pytest.mark.usefixtures("queued")


@pytest.fixture
def trained():
    net = gluon.nn.Dense(3, in_units=4)
    net.initialize(mx.init.One())
    yield net, Trainer(net, "adam", {"learning_rate": 0.5})
    for forget in (nd.waitall, _core.raise_left_out):  # the next test has nothing to do with it
        with contextlib.suppress(IndexError):
            forget()


def batch(net):
    with autograd.record():
        loss = net(nd.ones((2, 4))).sum(axis=1)
    loss.backward()
    return loss


def failed_gradient(net):
    """A gradient that cannot be computed, though the loss can."""
    loss = batch(net)
    net.weight.grad()[:] = nd.Embedding(nd.array([9, 9, 9]), nd.ones((3, 4)), input_dim=3, output_dim=4)
    return loss


def test_a_later_step_raises_once_and_training_goes_on(trained):
    net, trainer = trained
    loss = failed_gradient(net)
    trainer.step(2)
    assert net.weight.data().asnumpy().tolist() == np.ones((3, 4)).tolist()
    assert loss.shape == (2,)
    batch(net)
    with pytest.raises(IndexError, match="index 9") as caught:
        trainer.step(2)
    assert "An update was left out" in "".join(getattr(caught.value, "__notes__", ["An update was left out"]))
    trainer.step(2)
    assert (net.weight.data().asnumpy() < 1).all()


@pytest.mark.parametrize("what", ["parameters", "states"])
def test_nothing_is_saved_as_if_it_were_new(trained, tmp_path, what):
    net, trainer = trained
    save = net.save_parameters if what == "parameters" else trainer.save_states
    batch(net)
    trainer.step(2)
    failed_gradient(net)
    trainer.step(2)
    path = tmp_path / "file"
    with pytest.raises(IndexError, match="index 9"):
        save(path)
    assert not path.exists()
    save(path)
    assert path.exists()


def test_an_error_that_was_read_is_not_raised_again(trained):
    net, trainer = trained
    failed_gradient(net)
    trainer.step(2)
    with pytest.raises(IndexError):
        net.weight.grad().asnumpy()
    batch(net)
    trainer.step(2)
    assert (net.weight.data().asnumpy() < 1).all()


def test_a_state_that_failed_is_told_of_at_each_step(trained):
    net, trainer = trained
    batch(net)
    trainer.step(2)
    mean = trainer._updaters[0].states[0][0]
    mean[:] = nd.Embedding(nd.array([9, 9, 9]), nd.ones((3, 4)), input_dim=3, output_dim=4)
    batch(net)
    trainer.step(2)
    for _ in range(2):
        net.weight.data().wait_to_read()
        batch(net)
        with pytest.raises(IndexError, match="index 9"):
            trainer.step(2)
        trainer.step(2)
