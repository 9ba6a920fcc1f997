"""A convolutional network reads handwritten digits that it has not seen."""

import time

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.gluon import nn

EPOCHS, BATCH = 12, 32


def network():
    net = nn.HybridSequential()
    for channels in (32, 64):
        net.add(nn.Conv2D(channels, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
        net.add(nn.MaxPool2D(2))
    net.add(nn.Dropout(0.3), nn.Dense(10))
    return net


@pytest.mark.slow
def test_digits(say):
    x_train, y_train, x_test, y_test = mx.datasets.digits()
    x, unseen = (nd.array(images[:, None] / 255) for images in (x_train, x_test))
    net, loss = network(), gluon.loss.SoftmaxCrossEntropyLoss()
    net.initialize(mx.init.Xavier())
    steps = EPOCHS * (len(x) // BATCH)
    schedule = mx.lr_scheduler.CosineScheduler(steps, base_lr=0.01, final_lr=1e-4)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"lr_scheduler": schedule})
    begin = time.perf_counter()
    for _ in range(EPOCHS):
        order = np.random.permutation(len(x))
        for start in range(0, len(x) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            with autograd.record():
                losses = loss(net(x.take(nd.array(chosen, dtype="int32"))), nd.array(y_train[chosen], dtype="int32"))
            losses.backward()
            trainer.step(BATCH)
    metric = mx.metric.Accuracy()
    metric.update([nd.array(y_test)], [net(unseen)])
    right = metric.get()[1]
    say(f"digits: {right:.1%} of {len(unseen)} unseen ones are right, {time.perf_counter() - begin:.1f} s")
    assert right >= 0.975
