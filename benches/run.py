"""Ours against the peers: `python benches/run.py [group or case ...]`.

Every side runs in a process of its own; sides alternate, round after round, so that a busy machine hurts all alike, and
the best of each counts. A peer's interpreter is .peers/<name>/bin/python (`make peers`), or what PEER_<NAME> says.
"""

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from harness import OURS, Case
from table import Results, print_table

Row = dict[str, Any]
HERE = Path(__file__).resolve().parent
GROUPS = [
    "dispatch",
    "queue",
    "gemm",
    "conv",
    "depthwise",
    "elementwise",
    "reductions",
    "order",
    "index",
    "random",
    "backward",
    "rows",
    "sequence",
    "memory",
    "movement",
    "imports",
    "breadth",
    "linalg",
    "files",
    "blocks",
    "optimizers",
    "gluon",
]


def interpreter(library: str) -> str | None:
    """The Python that has the library. NumPy is our own dependency, so it is never missing."""
    named = os.environ.get(f"PEER_{library.upper()}")
    made = HERE.parent / ".peers" / library / "bin" / "python"
    if named or made.exists():
        return named or str(made)
    return sys.executable if library in {OURS, "numpy"} else None


def environment(threads: int) -> dict[str, str]:
    counts = ("GLUONISH_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {**os.environ, **dict.fromkeys(counts, str(threads))}


def run_side(python: str, group: ModuleType, library: str, cases: list[Case], args: argparse.Namespace) -> list[Row]:
    """What one process measured; a process that dies gives an error for every case it did not reach."""
    command = [python, str(HERE / "side.py"), group.__name__, library, str(args.seconds), *(c.name for c in cases)]
    done = subprocess.run(command, env=environment(args.threads), capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        missing = {c.name for c in cases} - {row["case"] for row in rows}
        rows += [{"case": name, "error": last} for name in sorted(missing)]
    return rows


def run_group(group: ModuleType, cases: list[Case], args: argparse.Namespace) -> Results:
    results = Results()
    libraries = sorted({library for c in cases for library in c.sides}, key=lambda name: name != OURS)
    for _ in range(args.rounds):
        for library in libraries:
            mine = [c for c in cases if library in c.sides]
            python = interpreter(library)
            if python is None:
                results.missing.add(library)
                continue
            for row in run_side(python, group, library, mine, args):
                results.add(row["case"], library, row.get("value"), row.get("error"))
    return results


def load_groups() -> list[ModuleType]:
    """The groups in order. Names are what the command line selects by, so no two cases share one."""
    groups = [importlib.import_module(f"bench_{name}") for name in GROUPS if (HERE / f"bench_{name}.py").exists()]
    names = [case.name for group in groups for case in group.CASES]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"cases of the same name: {', '.join(sorted(twice))}")
    return groups


def select(group: ModuleType, names: list[str]) -> list[Case]:
    short = group.__name__.removeprefix("bench_")
    return [c for c in group.CASES if not names or short in names or c.name in names]


def machine() -> str:
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), cpu)
    return f"{cpu}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="groups or cases; all when none is named")
    parser.add_argument("--rounds", type=int, default=3, help="how often the sides alternate (default 3)")
    parser.add_argument("--seconds", type=float, default=0.3, help="per case, side and round (default 0.3)")
    parser.add_argument("--threads", type=int, default=2, help="for every library (default 2)")
    parser.add_argument("--list", action="store_true", help="name the groups and cases, run nothing")
    args = parser.parse_args()

    chosen = [(group, select(group, args.names)) for group in load_groups()]
    known = {n for group, _ in chosen for n in (group.__name__.removeprefix("bench_"), *(c.name for c in group.CASES))}
    if unknown := set(args.names) - known:
        parser.error(f"no group or case is called {', '.join(sorted(unknown))}; --list names them")
    if args.list:
        for group, cases in chosen:
            print(f"{group.__name__.removeprefix('bench_')}: {', '.join(c.name for c in cases)}")
        return 0

    print(f"{machine()}\n{args.threads} threads, best of {args.rounds} alternated rounds")
    failed = False
    for group, cases in chosen:
        if cases:
            results = run_group(group, cases, args)
            print_table(group, cases, results)
            failed |= results.ours_failed()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
