"""Trainer: steps that cannot be done leave no trace, and what would mix up two trainings is refused."""

import copy

import numpy as np
import pytest
from unit.trained import TWO, backward, linear, sgd_by_hand, trained, values

import gluonish as mx
from gluonish import autograd, nd
from gluonish.errors import ArgumentError
from gluonish.gluon import Trainer, nn
from gluonish.gluon.trainer import StaleGradientError

SGD = {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}

# Steps that raise.


@mx.optimizer.register
class Moody(mx.optimizer.SGD):
    """Raises when it is told to, after counting."""

    bad = False

    def _rule(self):
        if self.bad:
            raise ValueError("not today")
        return super()._rule()


@pytest.mark.parametrize(("ctx", "on_store"), [(None, None), (TWO, True), (TWO, False)])
def test_a_step_that_raises_is_not_counted(ctx, on_store):
    net = linear(ctx)
    trainer = Trainer(net, "moody", SGD, update_on_kvstore=on_store)
    trained(net, trainer, 1)
    before = values(net)
    backward(net)
    trainer.optimizer.bad = True
    with pytest.raises(ValueError, match="not today"):
        trainer.step(6)
    assert trainer.optimizer.num_update == 1
    counts = trainer.optimizer._all_index_update_counts
    assert {count for own in counts.values() for count in own.values()} == {1}
    np.testing.assert_array_equal(values(net), before)
    trainer.optimizer.bad = False
    if on_store is False:  # the gradients have been summed over devices, and are not summed twice
        with pytest.raises(StaleGradientError):
            trainer.step(6)
        backward(net)
    trainer.step(6)
    np.testing.assert_allclose(values(net), sgd_by_hand(2), rtol=1e-5)


def test_a_first_step_that_raises_is_not_counted():
    eve = mx.optimizer.Eve()
    update, w = mx.optimizer.get_updater(eve), nd.ones(2)
    for _ in range(2):
        with pytest.raises(ArgumentError, match="set_loss"):
            update(0, nd.ones(2), w)
    assert (eve.num_update, eve._index_update_count) == (0, {})
    eve.set_loss(1.0)
    update(0, nd.ones(2), w)
    assert eve.num_update == 1


def test_a_loss_counts_for_the_step_that_is_done():
    """A step of Eve's that raises has not used its loss."""
    eve = mx.optimizer.Eve()
    update, w = mx.optimizer.get_updater(eve), nd.ones(2)
    eve.set_loss(1.0)
    with pytest.raises(ValueError, match="shape"):
        update(0, nd.ones(3), w)
    update(0, nd.ones(2), w)
    assert eve.num_update == 1


def test_a_sum_of_small_batches_takes_nothing_from_a_step_that_raises():
    lbsgd = mx.optimizer.LBSGD(batch_scale=2, learning_rate=0.5, warmup_epochs=0)
    w, v = nd.ones(2), nd.ones(2)
    states = [lbsgd.create_state(i, w) for i in range(2)]
    with pytest.raises(ValueError, match="broadcast"):
        lbsgd.update([0, 1], [w, v], [nd.ones(2), nd.ones(3)], states)
    assert [state[1].tolist() for state in states] == [[0, 0], [0, 0]]
    assert lbsgd.num_update == 0


# Batches that are added up.


@pytest.mark.parametrize("ctx", [None, TWO])
def test_a_batch_that_is_added_up_counts_once(ctx):
    net = linear(ctx)
    trainer = Trainer(net, "sgd", SGD, accumulate=3)
    backward(net)
    trainer.step(6)
    with pytest.raises(StaleGradientError, match="backward"):
        trainer.step(6)
    trainer.step(6, ignore_stale_grad=True)  # an empty batch, on purpose
    backward(net)
    trainer.step(6)
    # Two gradients of the three, divided by all examples.
    np.testing.assert_allclose(values(net), sgd_by_hand(1, batch=9), rtol=1e-5)
    with pytest.raises(StaleGradientError):
        trainer.step(6)


@pytest.mark.parametrize("ctx", [None, TWO])
@pytest.mark.parametrize("on_store", [None, False])
def test_what_one_batch_reached_is_updated_with_the_last(ctx, on_store):
    """The first batch goes through one layer, the second through the other."""
    net = nn.Sequential()
    net.add(linear(ctx), linear(ctx))
    trainer = Trainer(net, "sgd", SGD, accumulate=2, update_on_kvstore=on_store)
    backward(net[0], ctx=ctx)
    trainer.step(3, ignore_stale_grad=True)
    backward(net[1], ctx=ctx)
    trainer.step(3, ignore_stale_grad=True)
    for layer in net:
        np.testing.assert_allclose(values(layer), sgd_by_hand(1), rtol=1e-5)


def test_batches_stay_added_up_when_the_update_raises():
    net = linear()
    trainer = Trainer(net, "moody", SGD, accumulate=2)
    backward(net)
    trainer.step(3)
    backward(net)
    trainer.optimizer.bad = True
    with pytest.raises(ValueError, match="not today"):
        trainer.step(3)
    trainer.optimizer.bad = False
    trainer.step(3)
    np.testing.assert_allclose(values(net), sgd_by_hand(1, batch=3), rtol=1e-5)


# One optimizer, two trainers.


def test_an_optimizer_trains_for_one_trainer():
    net, other = linear(), linear()
    sgd = mx.optimizer.SGD(**SGD)
    first, second = Trainer(net, sgd), Trainer(other, sgd)
    backward(net)
    with pytest.raises(ValueError, match=r"SGD\(learning_rate=0\.1\), was given to another trainer since"):
        first.step(6)
    np.testing.assert_allclose(trained(other, second, 2), sgd_by_hand(2), rtol=1e-5)
    assert sgd.num_update == 2


def test_a_trainer_can_be_made_again_with_its_optimizer():
    """As notebooks do. Counts of updates go on; what the first trainer kept beside weights does not."""
    net = linear()
    sgd = mx.optimizer.SGD(learning_rate=0.1, wd=0.01)
    for _ in range(2):
        trainer = Trainer(net, sgd)
        trained(net, trainer, 1)
    assert sgd.num_update == 2
    np.testing.assert_allclose(values(net), sgd_by_hand(2, momentum=0), rtol=1e-5)


def test_a_copy_of_a_trainer_trains_its_own():
    net = linear()
    net.bias.lr_mult = 0
    trainer = Trainer(net, "sgd", SGD)
    trained(net, trainer, 1)
    again = copy.deepcopy(trainer)
    own = again._params[1]
    bias = own.data().asnumpy()
    for parameter in again._params:
        parameter.grad()[:] = 1
    again.step(1)
    np.testing.assert_array_equal(own.data().asnumpy(), bias)  # the multiplier came with it
    assert (again.optimizer.num_update, trainer.optimizer.num_update) == (2, 1)


# Groups of parameters.


@pytest.mark.parametrize("made", [True, False])
def test_groups_of_no_parameter_are_refused(made):
    net = linear(prefix="out_")
    groups = [{"match": "out_weight", "lr_mult": 0.5}, {"match": "features", "lr_mult": 0.1}]
    given = (mx.optimizer.SGD(param_groups=groups),) if made else ("sgd", {"param_groups": groups})
    with pytest.raises(ValueError, match=r"SGD: the pattern 'features' .*no name: there are 'out_weight', 'out_bias'"):
        Trainer(net, *given)
    names = {i: f"layer{i}_weight" for i in range(9)}
    with pytest.raises(ValueError, match=r"'layer0_weight', .*, 'layer3_weight', \.\.\."):
        mx.optimizer.SGD(param_groups=groups[1:], param_idx2name=names)


def test_groups_that_match_are_taken():
    net = linear(prefix="out_")
    trainer = Trainer(net, "sgd", {"learning_rate": 1.0, "param_groups": [{"match": ".*bias", "lr_mult": 0}]})
    before = net.bias.data().asnumpy()
    with autograd.record():
        loss = net(nd.ones((1, 3))).sum()
    loss.backward()
    trainer.step(1)
    np.testing.assert_array_equal(net.bias.data().asnumpy(), before)
