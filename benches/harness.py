"""What a benchmark is, and how one side of it is measured. Imports no library that is measured.

A module `bench_<group>.py` has `CASES`, and `SETUP`: for each library a function that imports it and returns the names
that the cases' statements use. `sync` among those names ends the work of an asynchronous library inside the timed part.
"""

import gc
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import Any

OURS = "gluonish"
Names = dict[str, Any]
Measure = Callable[[Names], float]
SECONDS = 0.1  # that a statement is repeated for, in every round
LONGEST = 0.5  # seconds that are worth more samples than three


@dataclass(frozen=True)
class Prepared:
    """A side whose set-up is made once: `make` gets the names of `SETUP` and returns a function that measures."""

    make: Callable[[Names], Callable[[], float]]


Side = str | Prepared | Measure


@dataclass(frozen=True)
class Case:
    """One line of the table: the same work, written for each library.

    A side is a statement to time, a measurement that is prepared once, or a function that gets the names of `SETUP` and
    returns its measurement: that one finds a new process each time, as what it measures may be a peak or a first time.
    """

    name: str
    sides: Mapping[str, Side]
    ops: int = 1  # operations in one statement; times are printed per operation
    unit: str = "s"  # "s", "MB" or "x"; smaller is better
    target: float | None = None  # at least: the best peer's time / ours
    limit: float | None = None  # at most: ours, in `unit`
    once: bool = False  # takes minutes and hardly varies: one round is enough

    def __post_init__(self) -> None:
        if OURS not in self.sides:
            raise ValueError(f"{self.name} has no side for {OURS}")


@dataclass(frozen=True)
class Mean:
    """A geometric mean over the ratios of several cases, with a target of its own."""

    name: str
    of: list[str] = field(default_factory=list)
    target: float | None = None


def compile_side(statement: str, names: Names) -> Callable[[int], float]:
    """A function that runs the statement n times, waits for the results, and returns the seconds that took."""
    source = (
        "def run(n):\n"
        "    begin = _clock()\n"
        "    for _ in _repeat(None, n):\n"
        f"{textwrap.indent(textwrap.dedent(statement).strip(), ' ' * 8)}\n"
        "    sync()\n"
        "    return _clock() - begin\n"
    )
    scope: Names = {"sync": lambda: None, **names, "_clock": time.perf_counter, "_repeat": repeat}
    exec(compile(source, "<benchmark>", "exec"), scope)
    run: Callable[[int], float] = scope["run"]
    return run


class Timer:
    """Seconds per statement: the best of as many samples as fit, each long enough for the clock to be exact."""

    def __init__(self, run: Callable[[int], float], seconds: float = SECONDS, sample: float = 2e-4, least: int = 3):
        self.run, self.seconds, self.least = run, seconds, least
        self.once = min(run(1) for _ in range(5)) if run(1) < 0.1 else run(1)
        self.n = max(1, int(sample / max(self.once, 1e-9)))

    def __call__(self) -> float:
        gc.collect()
        gc.disable()
        try:
            best, taken, spent, begin = float("inf"), 0, 0.0, time.perf_counter()
            while taken < (self.least if spent < LONGEST else 3) or spent < self.seconds:
                best, taken = min(best, self.run(self.n) / self.n), taken + 1
                spent = time.perf_counter() - begin
            return best
        finally:
            gc.enable()


def prepare(case: Case, library: str, names: Names) -> Callable[[], float]:
    """What measures one side: seconds per operation, or what the side's own function returns."""
    side = case.sides[library]
    if isinstance(side, Prepared):
        return side.make(names)
    if isinstance(side, str):
        timer = Timer(compile_side(side, names))
        return lambda: timer() / case.ops
    return partial(side, names)
