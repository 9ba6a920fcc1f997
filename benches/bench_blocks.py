"""What blocks cost beside their work: calls of small layers, and 100 MB of parameters to a file and back.

Files are timed against a plain copy of the same file that is on disk when it ends, as ours is.
"""

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness import Case, Names

LAYERS, WIDTH = 25, 1000


def gluonish() -> Names:
    import gluonish as mx
    from gluonish.gluon import nn

    x = mx.nd.ones((2, 5))
    layer = nn.Dense(4, in_units=5)
    stack = nn.HybridSequential()
    stack.add(*(nn.Identity() for _ in range(10)))
    net = nn.HybridSequential()
    net.add(*(nn.Dense(WIDTH, in_units=WIDTH) for _ in range(LAYERS)))
    for block in (layer, net):
        block.initialize()
    place = Path(tempfile.mkdtemp(dir=os.getcwd()))  # on the disk, where a folder for temporary files may not be
    atexit.register(shutil.rmtree, place)
    file = place / "net.safetensors"
    net.save_parameters(file)
    layer(x)
    names: Names = {"x": x, "layer": layer, "stack": stack, "net": net, "file": file, "sync": mx.nd.waitall}
    return names | {"weight": layer.weight.data(), "bias": layer.bias.data(), "dense": mx.nd.FullyConnected}


def torch() -> Names:
    import torch
    from torch import nn

    torch.set_grad_enabled(False)
    stack = nn.Sequential(*(nn.Identity() for _ in range(10)))
    return {"x": torch.ones(2, 5), "layer": nn.Linear(5, 4), "stack": stack}


def mxnet() -> Names:
    import mxnet as mx
    from mxnet.gluon import nn

    layer = nn.Dense(4, in_units=5)
    layer.initialize()
    return {"x": mx.nd.ones((2, 5)), "layer": layer, "sync": mx.nd.waitall}


def copied(file: Path) -> None:
    with open(file, "rb") as source, open(f"{file}.copy", "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
        target.flush()
        os.fsync(target.fileno())


def against_a_copy(work: Callable[[Names], object]) -> Callable[[Names], float]:
    """How often a copy of the file fits into the time of some work."""

    def timed(call: Callable[[], object], sync: Callable[[], object]) -> float:
        best = float("inf")
        for _ in range(5):
            begin = time.perf_counter()
            call()
            sync()
            best = min(best, time.perf_counter() - begin)
        return best

    def measured(names: Names) -> float:
        return timed(lambda: work(names), names["sync"]) / timed(lambda: copied(names["file"]), names["sync"])

    return measured


SETUP = {"gluonish": gluonish, "torch": torch, "mxnet": mxnet}
EACH = "layer(x)"
CASES = [
    Case("dense_op", {"gluonish": "dense(x, weight, bias, num_hidden=4)"}),
    Case("dense_call", {"gluonish": EACH, "torch": EACH, "mxnet": EACH}, target=1.5),
    Case("identity_10", {"gluonish": "stack(x)", "torch": "stack(x)"}, ops=10),
    Case("collect_params", {"gluonish": "net.collect_params()"}),
    Case(
        "save_100mb", {"gluonish": against_a_copy(lambda n: n["net"].save_parameters(n["file"]))}, unit="x", limit=2.0
    ),
    Case(
        "load_100mb", {"gluonish": against_a_copy(lambda n: n["net"].load_parameters(n["file"]))}, unit="x", limit=2.0
    ),
]
