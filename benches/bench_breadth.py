"""What the breadth of the op table costs: the machine code of elementwise rows, a build from nothing, the wheel."""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import Case, Names

ROOT = Path(__file__).resolve().parent.parent
ROWS = 30
LOOPS = re.compile(r"map5sweep")  # as the loops of all classes and instruction sets are named in the module


def gluonish() -> Names:
    from gluonish import _core

    elementwise = [row for row in _core.op_table() if row["elementwise"]]
    return {"module": _core.__file__, "rows": len(elementwise)}


def loops(names: Names) -> float:
    """Megabytes of compiled loops for as many rows: every class of element types, every instruction set."""
    listed = subprocess.run(
        ["nm", "--print-size", "--defined-only", names["module"]], capture_output=True, text=True, check=True
    )
    sizes = [int(line.split()[1], 16) for line in listed.stdout.splitlines() if LOOPS.search(line)]
    if not sizes:
        raise RuntimeError("the module has no symbols; `make build` leaves them in")
    return sum(sizes) / names["rows"] * ROWS / 1e6


def build(names: Names) -> float:
    """Seconds for the whole table and its kernels, optimised, dependencies included."""
    with tempfile.TemporaryDirectory() as target:
        begin = time.perf_counter()
        command = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "gluonish-ops", "--target-dir", target]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        return time.perf_counter() - begin


def wheel(names: Names) -> float:
    """Megabytes of the wheel that users install."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "maturin", "build", "--release", "--strip", "--out", folder]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        return sum(file.stat().st_size for file in Path(folder).glob("*.whl")) / 1e6


SETUP = {"gluonish": gluonish}
CASES = [
    Case("loops_of_30_rows", {"gluonish": loops}, unit="MB", limit=3.0),
    Case("build_of_all_rows", {"gluonish": build}, limit=240.0, once=True),
    Case("wheel", {"gluonish": wheel}, unit="MB", limit=15.0, once=True),
]
