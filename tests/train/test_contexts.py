"""Training on two devices is training on one: each has half of every batch, and the weights agree to rounding."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.gluon import nn

BATCH, STEPS = 50, 40
OPTIMIZERS = {
    "momentum": ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-4}),
    "adam": ("adam", {"learning_rate": 0.01}),
}


def network():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, in_channels=1), nn.Activation("tanh"), nn.MaxPool2D(2))
    net.add(nn.Dense(32, activation="tanh", in_units=72), nn.Dense(10, in_units=32))
    return net


def train(ctx, optimizer, start, **how):
    """The parameters after some steps, on each device, and the loss of every step."""
    x_train, y_train, _, _ = mx.datasets.digits()
    net, loss = network(), gluon.loss.SoftmaxCrossEntropyLoss()
    net.initialize(ctx=ctx)
    for parameter, value in zip(net.parameters(), start, strict=True):
        parameter.set_data(value)
    trainer = gluon.Trainer(net.collect_params(), *optimizer, **how)
    means = []
    for step in range(STEPS):
        chosen = slice(step % 20 * BATCH, (step % 20 + 1) * BATCH)
        x = gluon.utils.split_and_load(nd.array(x_train[chosen, None] / 255), ctx)
        y = gluon.utils.split_and_load(nd.array(y_train[chosen]), ctx)
        with autograd.record():
            losses = [loss(net(inputs), labels) for inputs, labels in zip(x, y, strict=True)]
        autograd.backward(losses)
        trainer.step(BATCH)
        means.append(sum(float(one.sum()) for one in losses) / BATCH)
    return [[array.asnumpy() for array in parameter.list_data()] for parameter in net.parameters()], means


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("on_store", [False, True])
@pytest.mark.parametrize("store", ["local", "device"])
def test_two_contexts_are_one_to_rounding(optimizer, on_store, store):
    net = network()
    net.initialize(mx.init.Xavier())
    start = [parameter.data() for parameter in net.parameters()]
    chosen = OPTIMIZERS[optimizer]
    one, losses = train([mx.cpu(0)], chosen, start)
    two, others = train([mx.cpu(0), mx.cpu(1)], chosen, start, kvstore=store, update_on_kvstore=on_store)
    assert losses[-1] < losses[0] / 2
    np.testing.assert_allclose(others, losses, rtol=1e-4)
    for (alone,), (first, second), began in zip(one, two, start, strict=True):
        np.testing.assert_array_equal(first, second)
        np.testing.assert_allclose(first, alone, rtol=1e-4, atol=1e-5)
        assert not np.allclose(first, began.asnumpy(), atol=1e-3)
