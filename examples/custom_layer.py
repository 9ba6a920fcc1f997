"""A layer of your own, with parameters: radial basis functions, which tell a ring from what it surrounds.

`Radial` has one number for each of its centres: how near the input is. The layer does not know the size of its inputs
before it sees some, so a dimension of the centres is 0 until then; `infer_shape` says what it becomes. The network with
it learns in seconds what no straight line separates; the gradient of the layer is compared with finite differences.

    python examples/custom_layer.py --steps 300
"""

import argparse
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.gluon import nn
from gluonish.nd import NDArray


class Radial(gluon.HybridBlock):
    """exp(-w^2 |x - c|^2) for each centre c, of width 1 / w. (n, features) -> (n, units)."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.centres = self.params.get(
                "centres", shape=(units, 0), init=mx.init.Normal(1), allow_deferred_init=True
            )
            self.widths = self.params.get("widths", shape=(units,), init="ones")

    def infer_shape(self, x: NDArray) -> None:
        self.centres.shape = (self.centres.shape[0], x.shape[1])

    def hybrid_forward(self, F: Any, x: NDArray, centres: NDArray, widths: NDArray) -> NDArray:
        apart = F.expand_dims(x, axis=1) - F.expand_dims(centres, axis=0)  # (n, units, features)
        return F.exp(-(apart**2).sum(axis=2) * widths**2)


def rings(count: int) -> tuple[NDArray, NDArray]:
    """Points near the middle, and points on a ring around them."""
    outside = np.random.rand(count) < 0.5
    radius = np.where(outside, 2, 0.7) + 0.25 * np.random.randn(count)
    angle = 2 * math.pi * np.random.rand(count)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return nd.array(points), nd.array(outside)


def train(net: gluon.Block, steps: int) -> float:
    """The share of points that it has not seen and tells right."""
    loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    net.initialize(mx.init.Xavier(), force_reinit=True)
    trainer = gluon.Trainer(net, "adam", {"learning_rate": 0.03})
    for _ in range(steps):
        points, labels = rings(64)
        with autograd.record():
            losses = loss(net(points), labels)
        losses.backward()
        trainer.step(len(points))
    points, labels = rings(1000)
    return float(((net(points).reshape(-1) > 0) == labels).mean())


def check_gradient() -> None:
    layer = Radial(3)
    layer.initialize()
    points, _ = rings(4)
    layer(points)  # tells the layer its sizes
    mx.test_utils.check_numeric_gradient(layer, [points])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="A layer of radial basis functions tells a ring from its middle.")
    parser.add_argument("--steps", type=int, default=300, help="batches to train on (default: 300)")
    parser.add_argument("--smoke", action="store_true", help="thirty steps: to see that it runs")
    options = parser.parse_args(arguments)
    steps = 30 if options.smoke else options.steps

    mx.random.seed(1)
    np.random.seed(1)
    check_gradient()
    print("the gradient of Radial is that of finite differences")
    radial = nn.HybridSequential()
    radial.add(Radial(16), nn.Dense(1))
    print(f"one straight line: {train(nn.Dense(1), steps):.1%} right")
    print(f"radial functions:  {train(radial, steps):.1%} right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
