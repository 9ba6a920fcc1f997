"""A training loop of your own: large batches in parts, clipped gradients, a schedule, early stopping, checkpoints.

Everything between the forward and the step is plain Python. Each batch goes through the network in parts, whose
gradients add up; their norm is clipped; the learning rate warms up and decays; the parameters that were best on
validation images are kept. After each epoch the parameters and what the optimizer remembers are saved, so that a run
that was stopped goes on where it was:

    python examples/custom_loop.py --folder run --epochs 5
    python examples/custom_loop.py --folder run --epochs 20    # goes on with epoch 6
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.gluon import nn
from gluonish.nd import NDArray

BATCH, PARTS = 120, 3
RATE = 0.01  # the largest learning rate
NORM = 1.0  # what the norm of a batch's mean gradient is clipped to
PATIENCE = 6  # epochs without a better validation loss
Examples = tuple[NDArray, NDArray]


def network() -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(nn.Flatten(), nn.Dense(96), nn.LayerNorm(), nn.GELU(), nn.Dense(10))
    return net


class Loop:
    """A network and what training it needs; `save` and `load` make it one that can be stopped."""

    def __init__(self, folder: Path, steps: int) -> None:
        self.folder = folder
        self.net = network()
        self.net.initialize(mx.init.Xavier())
        self.net.setattr("grad_req", "add")  # gradients add up until they are set to zero
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()
        schedule = mx.lr_scheduler.CosineScheduler(steps, base_lr=RATE, final_lr=1e-4, warmup_steps=steps // 20)
        how = {"learning_rate": RATE, "lr_scheduler": schedule}
        # With update_on_kvstore=False, gradients can be looked at between their sum over devices and the update.
        self.trainer = gluon.Trainer(self.net.collect_params(), "adam", how, update_on_kvstore=False)
        self.epoch, self.best, self.best_epoch = 0, float("inf"), 0

    def step(self, x: NDArray, y: NDArray) -> float:
        """One update by a batch, whose parts go through the network one by one; gives the norm of the gradient."""
        for inputs, labels in zip(nd.split_v2(x, PARTS), nd.split_v2(y, PARTS), strict=True):
            with autograd.record():
                losses = self.loss(self.net(inputs), labels)
            losses.backward()
        self.trainer.allreduce_grads()
        gradients = [parameter.grad() for parameter in self.net.collect_params().values()]
        norm = gluon.utils.clip_global_norm(gradients, NORM * len(x))  # sums over the batch: `update` divides
        self.trainer.update(len(x))
        self.net.zero_grad()
        return float(norm) / len(x)

    def train_epoch(self, examples: Examples) -> float:
        """Gives the largest norm of a gradient."""
        order = np.random.default_rng(self.epoch).permutation(len(examples[0]))  # the same when training goes on
        largest = 0.0
        for start in range(0, len(order) - BATCH + 1, BATCH):
            chosen = nd.array(order[start : start + BATCH], dtype="int32")
            largest = max(largest, self.step(*(array.take(chosen) for array in examples)))
        self.epoch += 1
        return largest

    def validate(self, x: NDArray, y: NDArray) -> float:
        """The mean loss; the parameters are kept if it is the best so far."""
        mean = float(self.loss(self.net(x), y).mean())
        if mean < self.best:
            self.best, self.best_epoch = mean, self.epoch
            self.net.save_parameters(self.folder / "best.safetensors")
        return mean

    def save(self) -> None:
        self.net.save_parameters(self.folder / "last.safetensors")
        self.trainer.save_states(self.folder / "last.states")
        progress = {"epoch": self.epoch, "best": self.best, "best_epoch": self.best_epoch}
        (self.folder / "progress.json").write_text(json.dumps(progress), encoding="utf-8")

    def load(self) -> None:
        """Goes on from what `save` left, if it did."""
        if (self.folder / "progress.json").exists():
            self.net.load_parameters(self.folder / "last.safetensors")
            self.trainer.load_states(self.folder / "last.states")
            progress = json.loads((self.folder / "progress.json").read_text(encoding="utf-8"))
            self.epoch, self.best, self.best_epoch = (progress[key] for key in ("epoch", "best", "best_epoch"))


def data() -> tuple[Examples, Examples, Examples]:
    """Digits to train on, to choose parameters by, and to test with."""
    x_train, y_train, x_test, y_test = mx.datasets.digits()
    x, unseen = (nd.array(images / 255) for images in (x_train, x_test))
    y, answers = (nd.array(labels, dtype="int32") for labels in (y_train, y_test))
    return (x[:1200], y[:1200]), (x[1200:], y[1200:]), (unseen, answers)


def run(loop: Loop, train: Examples, valid: Examples, epochs: int) -> Iterator[str]:
    while loop.epoch < epochs and loop.epoch - loop.best_epoch < PATIENCE:
        norm = loop.train_epoch(train)
        mean = loop.validate(*valid)
        loop.save()
        rate = loop.trainer.learning_rate
        yield f"epoch {loop.epoch:2}  validation loss {mean:.4f}  largest gradient {norm:.2f}  learning rate {rate:.5f}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="A training loop of your own, on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=20, help="at most so many (default: 20)")
    parser.add_argument("--folder", type=Path, help="where checkpoints are; without it, nothing is kept")
    parser.add_argument("--smoke", action="store_true", help="two epochs, stopped in between: to see that it runs")
    options = parser.parse_args(arguments)
    epochs = 2 if options.smoke else options.epochs

    mx.random.seed(1)
    train, valid, (unseen, answers) = data()
    steps = epochs * (len(train[0]) // BATCH)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for end in (1, 2) if options.smoke else (epochs,):
            loop = Loop(folder, steps)
            loop.load()
            for line in run(loop, train, valid, end):
                print(line, flush=True)
        loop.net.load_parameters(folder / "best.safetensors")
    right = float((loop.net(unseen).argmax(axis=1) == answers).mean())
    print(f"best after epoch {loop.best_epoch}: {right:.1%} of unseen digits are right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
