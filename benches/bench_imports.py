"""What `import gluonish` costs beyond NumPy's own import, in time and in resident memory."""

import subprocess
import sys
from collections.abc import Callable

from harness import Case, Measure, Names

PROCESSES = 10
CHILD = """
import resource
import time
{first}
def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()
before, begin = resident(), time.perf_counter()
import {library}
print(time.perf_counter() - begin, (resident() - before) / 1e6)
"""


def in_fresh_processes(library: str, column: int, first: str) -> Measure:
    """Best of ten imports; column 0 is seconds, column 1 megabytes."""

    def measured(_: Names) -> float:
        command = [sys.executable, "-c", CHILD.format(library=library, first=first)]
        outputs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(PROCESSES)]
        return min(float(text.split()[column]) for text in outputs)

    return measured


def sides(column: int, first: str = "import numpy") -> dict[str, Measure]:
    return {library: in_fresh_processes(library, column, first) for library in ("gluonish", "torch")}


SETUP: dict[str, Callable[[], Names]] = {"gluonish": dict, "torch": dict}
CASES = [
    Case("import_time", sides(0), limit=0.05),
    Case("import_memory", sides(1), unit="MB", limit=20.0),
    Case("import_time_with_numpy", sides(0, first="")),
]
