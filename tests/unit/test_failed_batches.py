"""A batch that fails while it runs, by a label that is no class: it trains nothing and spoils nothing."""

import numpy as np
import pytest
from unit.optimizer_references import REFERENCES
from unit.trained import TWO

import gluonish as mx
from gluonish import amp, autograd, gluon, nd
from gluonish.gluon import Trainer, nn

# As large networks are: what runs in the caller raises there.
pytestmark = pytest.mark.usefixtures("queued")

GOOD, BAD = [0, 1, 2, 1], [0, 1, 9, 1]  # of three classes
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


def network(ctx=None, width=5, **kwargs):
    mx.random.seed(7)
    net = nn.HybridSequential()
    net.add(nn.Dense(width, activation="relu", in_units=4), nn.Dense(3, in_units=width))
    net.initialize(mx.init.Xavier(), ctx=ctx, **kwargs)
    return net


def batch(net, labels, seed=0, scaled_for=None):
    """The loss of a batch, and its gradients; nobody waits."""
    x = np.random.default_rng(seed).normal(size=(4, 4))
    contexts = net[0].weight.list_ctx()
    losses = []
    with autograd.record():
        for part, label in zip(
            gluon.utils.split_and_load(x, contexts), gluon.utils.split_and_load(labels, contexts), strict=True
        ):
            losses.append(LOSS(net(part.astype(net[0].weight.dtype)), label))
        if scaled_for is not None:
            with amp.scale_loss(losses, scaled_for) as scaled:
                autograd.backward(scaled)
    if scaled_for is None:
        autograd.backward(losses)
    return losses


def arrays(value):
    """All arrays of a state, as NumPy's."""
    if isinstance(value, nd.NDArray):
        return [value.asnumpy()]
    return [one for part in value for one in arrays(part)] if isinstance(value, tuple | list) else []


def everything(net, trainer):
    """Weights on every device, and what the optimizer keeps."""
    weights = [p.data(ctx).asnumpy() for p in net.collect_params().values() for ctx in p.list_ctx()]
    return weights + [one for holder in trainer._holders() for state in holder.states.values() for one in arrays(state)]


def same(before, after):
    assert len(before) == len(after)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


def read(losses):
    """Whoever reads the losses of a bad batch gets its error."""
    with pytest.raises(mx.base.MXNetError, match="label 9"):
        [loss.asnumpy() for loss in losses]


def learns(net, trainer, step, seed=1):
    """The next good batch trains."""
    before = everything(net, trainer)
    losses = step(GOOD, seed)
    for loss in losses:
        loss.wait_to_read()
    after = everything(net, trainer)
    assert all(np.isfinite(one).all() for one in after)
    assert any((one != other).any() for one, other in zip(before, after, strict=True))


def check(net, trainer, **kwargs):
    """A good batch, which makes states; one that fails; and a good one again."""

    def step(labels, seed):
        losses = batch(net, labels, seed=seed, **kwargs)
        if hasattr(trainer.optimizer, "set_loss"):
            trainer.optimizer.set_loss(nd.concat(*(one.as_in_context(mx.cpu(0)) for one in losses), dim=0))
        trainer.step(4)
        return losses

    step(GOOD, 0)
    before = everything(net, trainer)
    losses = step(BAD, 1)
    same(before, everything(net, trainer))
    read(losses)
    learns(net, trainer, step, seed=2)


NAMES = sorted(set(REFERENCES) - {"groupadagrad", "lbfgs"})


@pytest.mark.parametrize("name", NAMES)
def test_optimizers(name):
    net = network()
    check(net, Trainer(net, name))


@pytest.mark.parametrize("name", ["sgd", "adam", "muon", "adafactor", "lars"])
def test_one_of_two_heads(name):
    """Gradients of the other head are good; it stays as it was all the same."""
    heads = nn.HybridSequential()
    heads.add(nn.Dense(3, in_units=4), nn.Dense(3, in_units=4))
    heads.initialize(mx.init.Xavier())
    trainer = Trainer(heads, name, {"learning_rate": 0.1})
    x = nd.array(np.random.default_rng(0).normal(size=(4, 4)))

    def step(labels, seed):
        with autograd.record():
            losses = [LOSS(head(x), nd.array(one)) for head, one in zip(heads, (GOOD, labels), strict=True)]
        autograd.backward(losses)
        trainer.step(4)
        return losses

    step(GOOD, 0)
    before = everything(heads, trainer)
    _, failed = step(BAD, 1)
    same(before, everything(heads, trainer))
    read([failed])
    learns(heads, trainer, step)


def test_rows_of_matrices():
    """GroupAdaGrad has no vectors."""
    net = network()
    for layer in net:
        layer.bias.grad_req = "null"
    check(net, Trainer(net, "groupadagrad"))


@pytest.mark.parametrize("name", ["sgd", "adam", "adafactor", "muon", "lbsgd", "lars", "lamb"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_copies_in_float32(name, dtype):
    net = network()
    net.cast(dtype)
    check(net, Trainer(net, name, {"multi_precision": True, "learning_rate": 0.1}))


@pytest.mark.parametrize("name", ["sgd", "adafactor"])
def test_global_norms(name):
    net = network()
    check(net, Trainer(net, name, {"clip_global_norm": 0.1, "learning_rate": 0.1}))


@pytest.mark.parametrize("name", ["adam", "adafactor"])
@pytest.mark.parametrize("on_store", [True, False])
@pytest.mark.parametrize("compression", [None, {"type": "2bit", "threshold": 0.01}])
def test_several_devices(name, on_store, compression):
    """The labels of one device are good; the sum of both is not."""
    net = network(TWO)
    options = {"learning_rate": 0.1}
    check(net, Trainer(net, name, options, update_on_kvstore=on_store, compression_params=compression))
    for parameter in net.collect_params().values():
        same([parameter.data(TWO[0]).asnumpy()], [parameter.data(TWO[1]).asnumpy()])


def test_sums_of_several_batches():
    """The whole update is skipped: that of the batches which are summed with the bad one."""
    net = network()
    trainer = Trainer(net, "adam", accumulate=2)
    for labels in (GOOD, GOOD):
        batch(net, labels)
        trainer.step(4)
    before = everything(net, trainer)
    failed, _ = [(batch(net, labels), trainer.step(4))[0] for labels in (BAD, GOOD)]
    same(before, everything(net, trainer))
    read(failed)

    def step(labels, seed):
        for one in (seed, seed + 1):
            losses = batch(net, labels, seed=one)
            trainer.step(4)
        return losses

    learns(net, trainer, step)


def test_small_batches_of_a_large_one():
    net = network()
    trainer = Trainer(net, "lbsgd", {"batch_scale": 2, "learning_rate": 0.1})
    before = [p.data().asnumpy() for p in net.collect_params().values()]
    failed, _ = [(batch(net, labels), trainer.step(4))[0] for labels in (BAD, GOOD)]
    read(failed)
    same(before, [p.data().asnumpy() for p in net.collect_params().values()])
    for labels in (GOOD, GOOD):
        batch(net, labels)
        trainer.step(4)
    assert (net[0].weight.data().asnumpy() != before[0]).any()


def test_scaled_losses():
    net = network()
    trainer = Trainer(net, "adam")
    with amp.init("float16"):
        amp.init_trainer(trainer)
        trainer._amp_loss_scaler = amp.LossScaler(8.0, scale_window=3)
        scaler = trainer._amp_loss_scaler
        check(net, trainer, scaled_for=trainer)
        assert (scaler.loss_scale, scaler._good.asscalar()) == (8.0, 2.0)  # of the two good batches


def test_running_means():
    net = network()
    ema, trainer = mx.optimizer.EMA(net, 0.5), Trainer(net, "sgd")
    batch(net, GOOD)
    trainer.step(4)
    ema.update()
    batch(net, BAD)
    trainer.step(4)
    ema.update()
    assert all(np.isfinite(mean.asnumpy()).all() for mean in ema.means)


def test_the_first_loss_of_eve():
    eve = mx.optimizer.Eve(learning_rate=0.5)
    update, w = mx.optimizer.get_updater(eve), nd.ones(2)
    failed = LOSS(nd.zeros((4, 3)), nd.array(BAD))
    eve.set_loss(failed)
    eve.set_loss(nd.array([2.0]))
    update(0, nd.ones(2), w)
    assert np.isfinite(w.asnumpy()).all()
    assert eve._loss.tolist() == [2.0]


def test_lbfgs():
    """The loss is read, so the step raises; weights are where they were."""
    net = network()
    trainer = Trainer(net, "lbfgs", {"max_iter": 2, "learning_rate": 0.1})
    trainer.step(4, closure=lambda: batch(net, GOOD)[0])
    before = everything(net, trainer)
    labels = iter([GOOD, BAD])
    with pytest.raises(mx.base.MXNetError, match="9"):
        trainer.step(4, closure=lambda: batch(net, next(labels))[0])
    same(before, everything(net, trainer))
    learns(net, trainer, lambda labels, seed: [trainer.step(4, closure=lambda: batch(net, labels)[0]) and nd.ones(1)])
