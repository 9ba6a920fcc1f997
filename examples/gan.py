"""A generative adversarial network on the plane: two networks, two losses, two trainers.

The data are points near eight corners of a circle. The generator turns random numbers into points; the discriminator
tells those from data. Each is trained against the other (Goodfellow et al. 2014, with the generator's loss that does
not saturate). It counts the corners that generated points reach, and the points that are near one.

    python examples/gan.py --steps 3000
"""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.gluon import nn
from gluonish.nd import NDArray

MODES, RADIUS, SPREAD = 8, 2.0, 0.05
NOISE = 8
BATCH = 256


class Quality(NamedTuple):
    modes: int  # corners that at least one hundredth of the points are near
    near: float  # the share of points that are near a corner


def corners() -> np.ndarray:
    angles = 2 * math.pi * np.arange(MODES) / MODES
    return RADIUS * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def points(count: int) -> NDArray:
    chosen = corners()[np.random.randint(MODES, size=count)]
    return nd.array(chosen + SPREAD * np.random.randn(count, 2))


def network(outputs: int) -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(nn.Dense(128), nn.LeakyReLU(0.2), nn.Dense(128), nn.LeakyReLU(0.2), nn.Dense(outputs))
    net.initialize(mx.init.Xavier())
    return net


class Adversaries:
    """The generator and the discriminator, each with a trainer of its own."""

    def __init__(self) -> None:
        self.generator, self.discriminator = network(2), network(1)
        self.loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
        how = {"learning_rate": 1e-3, "beta1": 0.5}
        self.trainers = [gluon.Trainer(net, "adam", how) for net in (self.generator, self.discriminator)]
        self.real, self.fake = nd.ones(BATCH), nd.zeros(BATCH)

    def sample(self, count: int) -> NDArray:
        return self.generator(nd.random.normal(shape=(count, NOISE)))

    def step(self) -> None:
        of_generator, of_discriminator = self.trainers
        made = self.sample(BATCH)  # not recorded: the discriminator's loss does not reach the generator
        with autograd.record():
            told = self.loss(self.discriminator(points(BATCH)), self.real)
            losses = told + self.loss(self.discriminator(made), self.fake)
        losses.backward()
        of_discriminator.step(BATCH)

        with autograd.record():
            losses = self.loss(self.discriminator(self.sample(BATCH)), self.real)
        losses.backward()  # also gives the discriminator gradients, which its next backward overwrites
        of_generator.step(BATCH)

    def quality(self, count: int = 2000) -> Quality:
        made = self.sample(count).asnumpy()
        distances = np.linalg.norm(made[:, None] - corners(), axis=2)
        near = distances < 6 * SPREAD
        return Quality(int((near.sum(axis=0) >= count / 100).sum()), float(near.any(axis=1).mean()))


def train(steps: int, every: int) -> Iterator[tuple[int, Quality]]:
    """Gives the number of steps done and the quality, every so many steps and at the end."""
    adversaries = Adversaries()
    for step in range(1, steps + 1):
        adversaries.step()
        if step % every == 0 or step == steps:
            yield step, adversaries.quality()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="A generative adversarial network learns eight clouds of points.")
    parser.add_argument("--steps", type=int, default=3000, help="steps of both networks (default: 3000)")
    parser.add_argument("--smoke", action="store_true", help="ten steps: to see that it runs")
    options = parser.parse_args(arguments)

    mx.random.seed(1)
    np.random.seed(1)
    for step, (modes, near) in train(10 if options.smoke else options.steps, every=500):
        print(f"step {step:4}  {modes} of {MODES} modes  {near:.0%} of the points near one", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
