"""One side of a group in a process of its own: `python side.py MODULE LIBRARY`, run with the library's own interpreter.

For every line with the name of a case on its standard input it measures that case once more and prints a JSON object.
"""

import ctypes
import importlib
import json
import os
import signal
import sys
from typing import TYPE_CHECKING

from harness import prepare

if TYPE_CHECKING:
    from collections.abc import Callable


def end_with_parent() -> None:
    """Nobody would wake a stopped process whose parent was killed."""
    if sys.platform == "linux":
        set_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def main(module: str, library: str) -> None:
    end_with_parent()
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    group = importlib.import_module(module)
    cases = {case.name: case for case in group.CASES}
    names = group.SETUP[library]()
    at: str | None = None
    measure: Callable[[], float] | None = None
    for line in sys.stdin:
        try:
            if at != line.strip():
                at, measure = line.strip(), None  # what the last case held is freed before the next is made
                measure = prepare(cases[at], library, names)
            answer: dict[str, object] = {"error": "its set-up failed"} if measure is None else {"value": measure()}
        except Exception as error:  # noqa: BLE001 - one case that a library cannot run does not stop the others
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
