"""What it costs to hand an operation to the engine.

The operation sums values and writes a single one, so that no memory bound holds it back. It is queued although the
caller would do it sooner.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from harness import Case, Names, Timer, compile_side

VALUES = 1 << 18
FEW = 1 << 10
PUSHES = 50
ROUNDS = 40
SECONDS = 0.5


def gluonish() -> Names:
    import gluonish as mx
    from gluonish import _core as core

    x, small = mx.nd.ones((VALUES,)), mx.nd.ones((FEW,))
    return {"sync": mx.nd.waitall, "x": x, "small": small, "set_inline": core.set_inline}


@contextmanager
def all_queued(names: Names) -> Iterator[None]:
    names["set_inline"](0)
    try:
        yield
    finally:
        names["set_inline"](None)


def push_alone(names: Names) -> float:
    """Seconds until the call returns, while earlier pushes are still waiting for their turn."""
    x, sync = names["x"], names["sync"]
    best = float("inf")
    with all_queued(names):
        for _ in range(ROUNDS):
            sync()
            begin = time.perf_counter()
            held = [x.sum() for _ in range(PUSHES)]
            best = min(best, (time.perf_counter() - begin) / PUSHES)
            sync()
            del held
    return best


def push_and_wait(names: Names) -> float:
    """Seconds from the call to the result of an operation that is handed over although it takes next to no time."""
    with all_queued(names):
        return Timer(compile_side("small.sum().wait_to_read()", names), SECONDS)()


SETUP = {"gluonish": gluonish}
CASES = [
    Case("push_alone", {"gluonish": push_alone}, limit=1e-6),
    Case("push_and_wait", {"gluonish": push_and_wait}, limit=10e-6),
]
