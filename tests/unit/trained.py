"""What tests of trainers share: a layer, its gradients, and steps of momentum by hand."""

import numpy as np

import gluonish as mx
from gluonish import autograd, gluon
from gluonish.gluon import nn

X = np.random.default_rng(3).normal(size=(6, 3)).astype("float32")
Y = np.random.default_rng(4).normal(size=(6, 2)).astype("float32")
TWO = [mx.cpu(0), mx.cpu(1)]
SGD = {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}


def linear(ctx=None, **kwargs):
    """A layer with the same first values in every test."""
    net = nn.Dense(2, in_units=3, **kwargs)
    net.initialize(ctx=ctx)
    net.weight.set_data(np.arange(6).reshape(2, 3) / 10)
    net.bias.set_data([0.5, -0.5])
    return net


def backward(net, x=X, y=Y, ctx=None):
    """Squared errors of a batch, split over the devices; their gradients."""
    ctx = ctx or net.weight.list_ctx()
    parts = zip(gluon.utils.split_and_load(x, ctx), gluon.utils.split_and_load(y, ctx), strict=True)
    with autograd.record():
        losses = [((net(a) - b) ** 2).sum(axis=1) for a, b in parts]
    autograd.backward(losses)
    return losses


def values(net):
    return np.concatenate([parameter.data(ctx).asnumpy().ravel() for parameter in net.collect_params().values()
                           for ctx in parameter.list_ctx()[-1:]])  # fmt: skip


def sgd_by_hand(steps, batch=6, lr=0.1, momentum=0.9, wd=0.01):
    """Momentum as Gluon has it: wd of every parameter, also of the bias."""
    w, b = np.arange(6).reshape(2, 3) / 10, np.array([0.5, -0.5])
    mw, mb = np.zeros_like(w), np.zeros_like(b)
    for _ in range(steps):
        error = 2 * (X @ w.T + b - Y)
        gw, gb = error.T @ X / batch, error.sum(axis=0) / batch
        mw, mb = momentum * mw - lr * (gw + wd * w), momentum * mb - lr * (gb + wd * b)
        w, b = w + mw, b + mb
    return np.concatenate([w.ravel(), b])


def trained(net, trainer, steps=3, size=6, **kwargs):
    for _ in range(steps):
        backward(net)
        trainer.step(size, **kwargs)
    return values(net)
