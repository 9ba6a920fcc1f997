"""What it costs to hand an operation to the engine, beyond the operation itself.

The operation sums enough values to be worth queueing and writes a single one, so that no memory bound holds it back.
Its own time is taken from the naive engine, which runs the same kernel inside the call.
"""

import time

from harness import Case, Names, best_time, compile_side

VALUES = 1 << 18
PUSHES = 50
ROUNDS = 40
SECONDS = 0.5


def gluonish() -> Names:
    import gluonish as mx

    return {"mx": mx, "sync": mx.nd.waitall, "x": mx.nd.ones((VALUES,))}


def push_alone(names: Names) -> float:
    """Seconds until the call returns, while earlier pushes are still waiting for their turn."""
    x, sync = names["x"], names["sync"]
    best = float("inf")
    for _ in range(ROUNDS):
        sync()
        begin = time.perf_counter()
        held = [x.sum() for _ in range(PUSHES)]
        best = min(best, (time.perf_counter() - begin) / PUSHES)
        sync()
        del held
    return best


def push_and_wait(names: Names) -> float:
    """Seconds from the call to the result, less what the sum itself takes."""
    statement = "x.sum().wait_to_read()"
    queued = best_time(compile_side(statement, names), SECONDS)
    with names["mx"].engine.naive():
        alone = best_time(compile_side(statement, names), SECONDS)
    return queued - alone


SETUP = {"gluonish": gluonish}
CASES = [
    Case("push_alone", {"gluonish": push_alone}, limit=1e-6),
    Case("push_and_wait", {"gluonish": push_and_wait}, limit=10e-6),
]
