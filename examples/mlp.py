"""Trains a multilayer perceptron on handwritten digits: layers, a loss, an optimizer, a metric, a file.

What most programs look like: a network is a row of layers, a loss says how wrong its outputs are, `backward` makes the
gradients and a trainer moves the parameters.

    python examples/mlp.py --epochs 15
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.gluon import nn
from gluonish.nd import NDArray

BATCH = 64


def network() -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(
        nn.Flatten(),
        nn.Dense(128, activation="relu"),
        nn.Dropout(0.2),
        nn.Dense(64, activation="relu"),
        nn.Dense(10),  # scores of ten digits; the loss has the softmax
    )
    return net


def batches(x: NDArray, y: NDArray) -> Iterator[tuple[NDArray, NDArray]]:
    """All examples once, in a new order."""
    order = np.random.permutation(len(x))
    for start in range(0, len(x), BATCH):
        chosen = nd.array(order[start : start + BATCH], dtype="int32")
        yield x.take(chosen), y.take(chosen)


def accuracy(net: gluon.Block, x: NDArray, y: NDArray) -> float:
    metric = mx.metric.Accuracy()
    metric.update([y], [net(x)])
    return float(metric.get()[1])


def train(net: gluon.Block, x: NDArray, y: NDArray, epochs: int) -> Iterator[float]:
    """Gives the mean loss of each epoch."""
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
    for _ in range(epochs):
        mean = mx.metric.Loss()
        for inputs, labels in batches(x, y):
            with autograd.record():
                losses = loss(net(inputs), labels)  # one number for each example
            losses.backward()
            trainer.step(len(inputs))
            mean.update(None, [losses])
        yield float(mean.get()[1])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Trains a multilayer perceptron on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=15, help="how often to go through the images (default: 15)")
    parser.add_argument("--smoke", action="store_true", help="two epochs: to see that it runs")
    options = parser.parse_args(arguments)

    mx.random.seed(1)
    np.random.seed(1)
    x_train, y_train, x_test, y_test = mx.datasets.digits()
    x, unseen = (nd.array(images / 255) for images in (x_train, x_test))
    y, answers = (nd.array(labels, dtype="int32") for labels in (y_train, y_test))

    net = network()
    net.initialize(mx.init.Xavier())
    net.summary(x[:1])
    for epoch, mean in enumerate(train(net, x, y, 2 if options.smoke else options.epochs), 1):
        print(f"epoch {epoch:2}  loss {mean:.4f}  accuracy on unseen images {accuracy(net, unseen, answers):.1%}")

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mlp.safetensors"
        net.save_parameters(file)
        again = network()
        again.load_parameters(file)
    print(f"loaded from a file: {accuracy(again, unseen, answers):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
