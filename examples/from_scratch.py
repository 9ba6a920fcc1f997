"""Trains a small network on handwritten digits, with arrays and gradients alone.

Two layers, 64 -> 128 -> 10, turn images of 8 by 8 pixels into scores of ten digits. The loss is the cross-entropy of
the softmax of the scores; stochastic gradient descent with momentum makes it smaller. Ends above 95 % on images that it
has not seen, within seconds; the exit code is 1 if not.

    python examples/from_scratch.py --epochs 20
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence

import gluonish as mx
from gluonish import autograd, nd
from gluonish.nd import NDArray

HIDDEN = 128
BATCH = 50
LEARNING_RATE = 0.1
MOMENTUM = 0.9
GOAL = 0.95


class Network:
    """Two dense layers with a rectifier between them."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        self.w1 = nd.random.normal(0, (2 / inputs) ** 0.5, shape=(inputs, hidden))
        self.b1 = nd.zeros(hidden)
        self.w2 = nd.random.normal(0, (2 / hidden) ** 0.5, shape=(hidden, outputs))
        self.b2 = nd.zeros(outputs)
        self.parameters = [self.w1, self.b1, self.w2, self.b2]
        for parameter in self.parameters:
            parameter.attach_grad()

    def __call__(self, x: NDArray) -> NDArray:
        hidden = nd.relu(nd.dot(x, self.w1) + self.b1)
        return nd.dot(hidden, self.w2) + self.b2


class Descent:
    """Gradient descent with momentum: a velocity for each parameter, pushed by its gradient."""

    def __init__(self, parameters: Sequence[NDArray]) -> None:
        self.velocities = [(parameter, nd.zeros_like(parameter)) for parameter in parameters]

    def step(self) -> None:
        for parameter, velocity in self.velocities:
            velocity *= MOMENTUM
            velocity -= LEARNING_RATE * parameter.grad
            parameter += velocity


def cross_entropy(scores: NDArray, labels: NDArray) -> NDArray:
    """Minus the logarithm of the right digit's probability, on average."""
    return -nd.pick(nd.log_softmax(scores), labels).mean()


def accuracy(network: Network, images: NDArray, labels: NDArray) -> float:
    return float((network(images).argmax(axis=1) == labels).mean())


def batches(images: NDArray, labels: NDArray) -> Iterator[tuple[NDArray, NDArray]]:
    """All examples once, in a new order."""
    order = nd.topk(nd.random.uniform(shape=len(images)), k=0)  # where the largest random number is, the next, ...
    for start in range(0, len(images), BATCH):
        chosen = order[start : start + BATCH]
        yield images.take(chosen), labels.take(chosen)


def with_bar(title: str, steps: Iterator[float], total: int) -> Iterator[float]:
    """Passes the steps on; on a terminal a bar fills meanwhile, in a log nothing is written."""
    width = 24
    for done, step in enumerate(steps, 1):
        yield step
        if sys.stdout.isatty():
            print(f"\r{title} [{'#' * (width * done // total):<{width}}]", end="", flush=True)


def train_epoch(network: Network, descent: Descent, images: NDArray, labels: NDArray) -> Iterator[float]:
    """One pass over the examples; gives the loss of each batch."""
    for x, y in batches(images, labels):
        with autograd.record():
            loss = cross_entropy(network(x), y)
        loss.backward()
        descent.step()
        yield float(loss)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Trains a small network on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=20, help="how often to go through the images (default: 20)")
    epochs = parser.parse_args(arguments).epochs

    mx.random.seed(1)
    x_train, y_train, x_test, y_test = mx.datasets.digits()
    images, unseen = (nd.array(x.reshape(len(x), -1) / 255) for x in (x_train, x_test))
    labels, answers = (nd.array(y, dtype="int32") for y in (y_train, y_test))
    network = Network(images.shape[1], HIDDEN, 10)
    descent = Descent(network.parameters)

    start, right, steps = time.perf_counter(), 0.0, -(-len(images) // BATCH)
    for epoch in range(1, epochs + 1):
        title = f"epoch {epoch:2}/{epochs}"
        losses = list(with_bar(title, train_epoch(network, descent, images, labels), steps))
        right = accuracy(network, unseen, answers)
        end = "\r" if sys.stdout.isatty() else ""
        print(f"{end}{title}  loss {sum(losses) / len(losses):.4f}  accuracy on unseen images {right:.1%}", flush=True)
    print(
        f"{epochs} epochs in {time.perf_counter() - start:.1f} s, {right:.1%} of {len(unseen)} unseen digits are right"
    )
    return 0 if right > GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
