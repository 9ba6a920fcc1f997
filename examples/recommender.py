"""Recommends films by matrix factorisation: a vector for each user and each film, whose product is the rating.

The ratings are made up, so that the best possible error is known: users and films have hidden tastes, and a rating is
what they have in common, with noise. One in ten is known; the network is asked for others. Weight decay keeps it from
learning the noise.

    python examples/recommender.py --epochs 15
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.gluon import nn
from gluonish.nd import NDArray

USERS, FILMS, TASTES = 400, 300, 4
KNOWN, NOISE = 0.1, 0.3
BATCH = 256


class Ratings(NamedTuple):
    users: NDArray
    films: NDArray
    stars: NDArray

    def some(self, chosen: NDArray) -> "Ratings":
        return Ratings(*(array.take(chosen) for array in self))


class Factorisation(gluon.HybridBlock):
    """mean + bias(user) + bias(film) + <vector(user), vector(film)>, for users and films (n,) -> (n,)."""

    def __init__(self, mean: float, factors: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mean = mean
        small = mx.init.Normal(0.1)
        with self.name_scope():
            self.users = nn.Embedding(USERS, factors, weight_initializer=small)
            self.films = nn.Embedding(FILMS, factors, weight_initializer=small)
            self.user_bias = nn.Embedding(USERS, 1, weight_initializer="zeros")
            self.film_bias = nn.Embedding(FILMS, 1, weight_initializer="zeros")

    def forward(self, users: NDArray, films: NDArray) -> NDArray:
        common = (self.users(users) * self.films(films)).sum(axis=1)
        return common + (self.user_bias(users) + self.film_bias(films)).squeeze(axis=1) + self.mean


def ratings() -> tuple[Ratings, Ratings]:
    """Known ratings, and as many that are to be guessed."""
    draw = np.random.default_rng(1)
    users, films = draw.normal(size=(USERS, TASTES)), draw.normal(size=(FILMS, TASTES))
    liked = draw.normal(scale=0.5, size=(USERS, 1)) + draw.normal(scale=0.5, size=(1, FILMS))
    stars = 3 + liked + users @ films.T / TASTES**0.5 + NOISE * draw.normal(size=(USERS, FILMS))
    pairs = draw.permutation(USERS * FILMS)[: int(2 * KNOWN * USERS * FILMS)]
    half = len(pairs) // 2
    known, asked = (
        Ratings(
            nd.array(some // FILMS, dtype="int32"), nd.array(some % FILMS, dtype="int32"), nd.array(stars.flat[some])
        )
        for some in (pairs[:half], pairs[half:])
    )
    return known, asked


def error(guesses: NDArray | float, stars: NDArray) -> float:
    """The root of the mean squared error."""
    return float(((guesses - stars) ** 2).mean() ** 0.5)


def train(net: gluon.Block, known: Ratings, epochs: int) -> Iterator[float]:
    """Gives the error on known ratings after each epoch."""
    loss = gluon.loss.L2Loss()
    trainer = gluon.Trainer(net, "adam", {"learning_rate": 0.02, "wd": 3e-4})
    for _ in range(epochs):
        order = np.random.permutation(len(known.stars))
        for start in range(0, len(order), BATCH):
            users, films, stars = known.some(nd.array(order[start : start + BATCH], dtype="int32"))
            with autograd.record():
                losses = loss(net(users, films), stars)
            losses.backward()
            trainer.step(len(stars))
        yield error(net(known.users, known.films), known.stars)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Recommends films by matrix factorisation.")
    parser.add_argument("--epochs", type=int, default=15, help="how often to go through the ratings (default: 15)")
    parser.add_argument("--factors", type=int, default=8, help="numbers in a vector (default: 8)")
    parser.add_argument("--smoke", action="store_true", help="two epochs: to see that it runs")
    options = parser.parse_args(arguments)

    mx.random.seed(1)
    np.random.seed(1)
    known, asked = ratings()
    mean = float(known.stars.mean())
    net = Factorisation(mean, options.factors)
    net.initialize()
    for epoch, fit in enumerate(train(net, known, 2 if options.smoke else options.epochs), 1):
        guessed = error(net(asked.users, asked.films), asked.stars)
        print(f"epoch {epoch:2}  error on known ratings {fit:.3f}, on others {guessed:.3f}", flush=True)
    print(f"always the mean: {error(mean, asked.stars):.3f}; nobody can do better than the noise, {NOISE}")

    films = nd.arange(FILMS, dtype="int32")
    best = net(nd.zeros(FILMS, dtype="int32"), films).topk(k=5)
    print(f"user 0 may like the films {', '.join(str(int(film)) for film in best)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
