"""Trainer: gradients that are not new, the halves of a step, and batches that are added up."""

import copy
import pickle

import numpy as np
import pytest
from unit.trained import SGD, TWO, X, Y, backward, linear, sgd_by_hand, trained, values

from gluonish import autograd, gluon, nd
from gluonish.gluon import Trainer, nn
from gluonish.gluon.trainer import StaleGradientError

# Gradients that are not new.


def test_stale_gradients_raise_a_user_warning():
    net = linear()
    trainer = Trainer(net, "sgd", SGD)
    with pytest.raises(UserWarning, match=r"dense.*_weight' on cpu\(0\) has not been updated by backward"):
        trainer.step(6)
    trained(net, trainer, 1)
    before = values(net)
    with pytest.raises(StaleGradientError):
        trainer.step(6)
    np.testing.assert_array_equal(values(net), before)
    trainer.step(6, ignore_stale_grad=True)
    np.testing.assert_array_equal(values(net), before)


@pytest.mark.parametrize("ctx", [None, TWO])
@pytest.mark.parametrize("on_store", [None, False])
def test_unused_parameters_can_be_skipped(ctx, on_store):
    net = nn.Sequential()
    net.add(linear(ctx), linear(ctx))
    trainer = Trainer(net, "sgd", SGD, update_on_kvstore=on_store)
    backward(net[0], ctx=ctx)
    with pytest.raises(UserWarning, match="ignore_stale_grad=True"):
        trainer.step(6)
    unused = values(net[1])
    trainer.step(6, ignore_stale_grad=True)
    np.testing.assert_array_equal(values(net[1]), unused)
    np.testing.assert_allclose(values(net[0]), sgd_by_hand(1), rtol=1e-5)


@pytest.mark.parametrize("on_store", [None, False])
def test_a_device_without_a_batch_adds_nothing(on_store):
    """Two steps: the second has examples on one device alone; the old gradient of the other is not used again."""
    net = linear(TWO)
    trainer = Trainer(net, "sgd", SGD, update_on_kvstore=on_store)
    trained(net, trainer, 1)
    with autograd.record():
        loss = ((net(nd.array(X)) - nd.array(Y)) ** 2).sum(axis=1)
    loss.backward()
    with pytest.raises(UserWarning, match=r"on cpu\(1\)"):
        trainer.step(6)
    trainer.step(6, ignore_stale_grad=True)
    np.testing.assert_allclose(values(net), sgd_by_hand(2), rtol=1e-5)
    np.testing.assert_array_equal(net.weight.data(TWO[0]).asnumpy(), net.weight.data(TWO[1]).asnumpy())


@pytest.mark.parametrize("zero", [lambda net: net.collect_params().zero_grad(), lambda net: net.weight.zero_grad()])
def test_zeroed_gradients_are_not_new(zero):
    net = linear()
    trainer = Trainer(net, "sgd", SGD)
    trained(net, trainer, 1)
    zero(net)
    with pytest.raises(UserWarning, match="backward"):
        trainer.step(6)


def test_gradients_written_by_hand_are_new():
    net = linear()
    trainer = Trainer(net, "sgd", {"learning_rate": 1.0})
    net.weight.grad()[:] = 1
    net.bias.grad()[:] = 0
    trainer.step(1)
    np.testing.assert_allclose(net.weight.data().asnumpy(), np.arange(6).reshape(2, 3) / 10 - 1, rtol=1e-6)


def test_a_new_gradient_buffer_is_not_new_values():
    net = linear()
    trainer = Trainer(net, "sgd", SGD)
    trained(net, trainer, 2)
    net.weight.grad_req = "add"
    with pytest.raises(UserWarning):
        trainer.step(6)
    for _ in range(2):
        backward(net)
    trainer.step(6)


# The two halves of a step.


@pytest.mark.parametrize("ctx", [None, TWO])
def test_halves_of_a_step(ctx):
    net = linear(ctx)
    trainer = Trainer(net, "sgd", SGD, update_on_kvstore=False)
    for _ in range(3):
        backward(net)
        trainer.allreduce_grads()
        trainer.update(6)
    np.testing.assert_allclose(values(net), sgd_by_hand(3), rtol=1e-5)


def test_sums_can_be_clipped_between_the_halves():
    net = linear(TWO)
    trainer = Trainer(net, "sgd", {"learning_rate": 1.0}, update_on_kvstore=False)
    before = values(net)
    backward(net)
    trainer.allreduce_grads()
    for ctx in TWO:
        gluon.utils.clip_global_norm([p.grad(ctx) for p in net.collect_params().values()], 1.0)
    trainer.update(1)
    np.testing.assert_allclose(np.linalg.norm(values(net) - before), 1.0, rtol=1e-5)


@pytest.mark.parametrize("ctx", [None, TWO])
@pytest.mark.parametrize("on_store", [None, False])
def test_the_norm_of_all_gradients_can_be_bounded(ctx, on_store):
    net = linear(ctx)
    before = values(net)
    trainer = Trainer(net, "sgd", {"learning_rate": 1.0, "clip_global_norm": 0.5}, update_on_kvstore=on_store)
    trained(net, trainer, 1)
    np.testing.assert_allclose(np.linalg.norm(values(net) - before), 0.5, rtol=1e-5)


def test_stale_gradients_stay_stale_between_the_halves():
    net = linear(TWO)
    trainer = Trainer(net, "sgd", SGD, update_on_kvstore=False)
    with autograd.record():
        loss = net(nd.array(X)).sum()
    loss.backward()
    trainer.allreduce_grads()
    with pytest.raises(UserWarning, match=r"on cpu\(1\)"):
        trainer.update(6)
    trainer.update(6, ignore_stale_grad=True)
    np.testing.assert_array_equal(net.weight.data(TWO[0]).asnumpy(), net.weight.data(TWO[1]).asnumpy())


@pytest.mark.parametrize("half", [lambda t: t.allreduce_grads(), lambda t: t.update(6)])
def test_halves_need_updates_off_the_store(half):
    net = linear(TWO)
    trainer = Trainer(net, "sgd", SGD)
    backward(net)
    with pytest.raises(AssertionError, match="update_on_kvstore=False"):
        half(trainer)


# Accumulation.


@pytest.mark.parametrize("ctx", [None, TWO])
def test_batches_can_be_added_up(ctx):
    net = linear(ctx)
    trainer = Trainer(net, "sgd", SGD, accumulate=3)
    for _ in range(2):
        for start in (0, 2, 4):
            before = values(net)
            backward(net, X[start : start + 2], Y[start : start + 2])
            trainer.step(2)
            assert (values(net) == before).all() == (start < 4)
    np.testing.assert_allclose(values(net), sgd_by_hand(2), rtol=1e-5)


def test_grad_req_add_without_accumulate():
    net = linear()
    net.collect_params().setattr("grad_req", "add")
    trainer = Trainer(net, "sgd", SGD)
    for _ in range(2):
        net.collect_params().zero_grad()
        for start in (0, 3):
            backward(net, X[start : start + 3], Y[start : start + 3])
        trainer.step(6)
    np.testing.assert_allclose(values(net), sgd_by_hand(2), rtol=1e-5)


def test_accumulation_counts_calls_of_step(tmp_path):
    net = linear()
    trainer = Trainer(net, "sgd", SGD, accumulate=2)
    backward(net)
    for half in (trainer.allreduce_grads, lambda: trainer.update(6)):
        with pytest.raises(AssertionError, match="accumulate=2"):
            half()
    trainer.step(6)
    with pytest.raises(AssertionError, match="1 of 2 batches"):
        trainer.save_states(tmp_path / "states")
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(AssertionError, match="1 of 2 batches"):
            copied((net, trainer))


def move_away_and_back(net):
    net.reset_ctx(TWO[1])
    net.reset_ctx(TWO[0])


LOSSES = {
    "zero_grad": lambda net: net.zero_grad(),
    "zero_grad of one": lambda net: net.bias.zero_grad(),
    "reset_ctx": move_away_and_back,
    "another trainer": lambda net: Trainer(net, "sgd", SGD),
    "grad_req": lambda net: net.setattr("grad_req", "write"),
}


@pytest.mark.parametrize("how", LOSSES)
def test_batches_that_are_lost_are_noticed(how):
    """The update begins anew, and says so."""
    net = linear()
    trainer = Trainer(net, "sgd", SGD, accumulate=2)
    backward(net)
    trainer.step(6)
    LOSSES[how](net)
    backward(net)
    before = values(net)
    with pytest.raises(AssertionError, match="1 of 2 batches of an update are lost"):
        trainer.step(6)
    assert (values(net) == before).all()
    for start in (0, 3):
        backward(net, X[start : start + 3], Y[start : start + 3])
        trainer.step(3)
    np.testing.assert_allclose(values(net), sgd_by_hand(1), rtol=1e-5)


KEPT = {
    "cast": lambda net: (net.cast("float64"), net.cast("float32")),
    "set_data": lambda net: net.weight.set_data(net.weight.data()),
    "a trainer that adds up": lambda net: Trainer(net, "sgd", SGD, accumulate=3),
    "a copy": copy.deepcopy,
}


@pytest.mark.parametrize("how", KEPT)
def test_batches_that_are_not_lost(how):
    net = linear()
    trainer = Trainer(net, "sgd", SGD, accumulate=2)
    for start in (0, 3):
        backward(net, X[start : start + 3], Y[start : start + 3])
        trainer.step(3)
        if start == 0:
            KEPT[how](net)
    np.testing.assert_allclose(values(net), sgd_by_hand(1), rtol=1e-5)


def test_gradients_may_be_zeroed_between_updates():
    net = linear()
    trainer = Trainer(net, "sgd", SGD, accumulate=2)
    for _ in range(2):
        net.zero_grad()
        for start in (0, 3):
            backward(net, X[start : start + 3], Y[start : start + 3])
            trainer.step(3)
    np.testing.assert_allclose(values(net), sgd_by_hand(2), rtol=1e-5)


def test_freezing_within_an_update_is_no_loss():
    net = linear()
    trainer = Trainer(net, "sgd", SGD, accumulate=2)
    backward(net)
    trainer.step(6)
    net.bias.grad_req = "null"
    before = net.bias.data().asnumpy()
    backward(net)
    trainer.step(6)
    assert (net.bias.data().asnumpy() == before).all()
    assert (net.weight.data().asnumpy() != np.arange(6).reshape(2, 3) / np.float32(10)).any()
