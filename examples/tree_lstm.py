"""A TreeLSTM computes logical formulas: each example is a tree of its own shape, so each has a graph of its own.

A formula such as ``(true and false) xor true`` is a tree with truth values at its leaves. The network goes through it
from the leaves to the root (Tai, Socher and Manning 2015, the binary form): a cell makes the state of a node from those
of its two children. Only the truth of the whole formula is told to it. It is tested on longer formulas than any that it
has seen.

    python examples/tree_lstm.py --epochs 5
"""

import argparse
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.gluon import nn
from gluonish.nd import NDArray

WORDS = ["false", "true", "and", "or", "xor"]
MEANING: dict[str, Callable[[bool, bool], bool]] = {
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "xor": lambda a, b: a != b,
}
WIDTH = 32
SEEN, LONGER = (1, 7), (8, 12)  # leaves of formulas to train on, and to test with
BATCH = 32
State = tuple[NDArray, NDArray]


@dataclass
class Tree:
    """A truth value, or a word between two trees."""

    word: str
    left: "Tree | None" = None
    right: "Tree | None" = None

    @property
    def value(self) -> bool:
        if self.left is None or self.right is None:
            return self.word == "true"
        return MEANING[self.word](self.left.value, self.right.value)

    def __str__(self) -> str:
        return self.word if self.left is None else f"({self.left} {self.word} {self.right})"


def random_tree(draw: random.Random, leaves: int) -> Tree:
    if leaves == 1:
        return Tree(draw.choice(WORDS[:2]))
    left = draw.randint(1, leaves - 1)
    return Tree(draw.choice(WORDS[2:]), random_tree(draw, left), random_tree(draw, leaves - left))


class TreeLSTM(gluon.Block):
    """The scores of "false" and "true" of a tree: (1, 2)."""

    def __init__(self, width: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.width = width
        with self.name_scope():
            self.words = nn.Embedding(len(WORDS), width)
            self.of_word = nn.Dense(5 * width, in_units=width)
            self.of_children = nn.Dense(5 * width, in_units=2 * width, use_bias=False)
            self.output = nn.Dense(2, in_units=width)

    def forward(self, tree: Tree) -> NDArray:
        # Every node of a word has the same vector and gates' share of it: they are computed once.
        shares = self.of_word(self.words(nd.arange(len(WORDS), dtype="int32")))
        hidden, _ = self.state(tree, nd.split_v2(shares, len(WORDS)))
        return self.output(hidden)

    def state(self, tree: Tree, shares: list[NDArray]) -> State:
        """What the LSTM has at a node: hidden and cell, each (1, width)."""
        gates = shares[WORDS.index(tree.word)]
        if tree.left is None or tree.right is None:
            return self.cell(gates)
        (h_left, c_left), (h_right, c_right) = self.state(tree.left, shares), self.state(tree.right, shares)
        return self.cell(gates + self.of_children(nd.concat(h_left, h_right, dim=1)), c_left, c_right)

    @staticmethod
    def cell(gates: NDArray, *children: NDArray) -> State:
        """Input, output, a forget gate for each child, and the candidate."""
        i, o, *forget, new = nd.split_v2(gates, 5, axis=1)
        c = i.sigmoid() * new.tanh()
        for gate, child in zip(forget, children, strict=False):  # a leaf has no children
            c = c + gate.sigmoid() * child
        return o.sigmoid() * c.tanh(), c


def formulas(count: int, seed: int, leaves: tuple[int, int]) -> list[Tree]:
    """So many formulas, with numbers of leaves between those two."""
    draw = random.Random(seed)
    return [random_tree(draw, draw.randint(*leaves)) for _ in range(count)]


def labels(trees: Sequence[Tree]) -> NDArray:
    return nd.array([tree.value for tree in trees], dtype="int32")


def accuracy(net: TreeLSTM, trees: Sequence[Tree]) -> float:
    scores = nd.concat(*(net(tree) for tree in trees), dim=0)
    return float((scores.argmax(axis=1) == labels(trees)).mean())


def train(net: TreeLSTM, trees: list[Tree], epochs: int) -> Iterator[float]:
    """Gives the mean loss of each epoch."""
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net, "adam", {"learning_rate": 0.01})
    draw, trees = random.Random(1), list(trees)
    for _ in range(epochs):
        draw.shuffle(trees)
        mean = mx.metric.Loss()
        for start in range(0, len(trees), BATCH):
            batch = trees[start : start + BATCH]
            with autograd.record():  # the graph of this batch is recorded as it is computed
                scores = nd.concat(*(net(tree) for tree in batch), dim=0)
                losses = loss(scores, labels(batch))
            losses.backward()
            trainer.step(len(batch))
            mean.update(None, [losses])
        yield float(mean.get()[1])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="A TreeLSTM learns what logical formulas say.")
    parser.add_argument("--epochs", type=int, default=5, help="how often to go through the formulas (default: 5)")
    parser.add_argument("--smoke", action="store_true", help="one epoch of few formulas: to see that it runs")
    options = parser.parse_args(arguments)
    epochs, count = (1, 64) if options.smoke else (options.epochs, 1000)

    mx.random.seed(1)
    net = TreeLSTM(WIDTH)
    net.initialize(mx.init.Xavier())
    known, longer = formulas(count, 1, SEEN), formulas(300, 2, LONGER)
    for epoch, mean in enumerate(train(net, known, epochs), 1):
        print(f"epoch {epoch:2}  loss {mean:.4f}  accuracy on longer formulas {accuracy(net, longer):.1%}", flush=True)
    tree = max(longer, key=lambda one: len(str(one)))
    print(f"{tree} is {str(tree.value).lower()}; the network says {WORDS[int(net(tree).argmax())]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
