"""Ours against the peers: `python benches/run.py [group or case ...]`.

Every side runs in a process of its own. The sides of a case alternate, a fraction of a second each, so that a busy
machine hurts all alike; a round's ratio is that of the best peer, and the round with the median ratio counts. A peer's
interpreter is .peers/<name>/bin/python (`make peers`), or what PEER_<NAME> says.
"""

import argparse
import importlib
import os
import platform
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

from ask import Asked, interpreter
from harness import OURS, Case
from table import Results, print_table

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


def show(doing: str) -> None:
    """What is measured now, in a line of the terminal that the next one replaces."""
    if sys.stderr.isatty():
        print(f"\r{doing}\x1b[K", end="", file=sys.stderr, flush=True)


def run_group(group: ModuleType, cases: list[Case], args: argparse.Namespace) -> Results:
    results = Results()
    libraries = sorted({library for c in cases for library in c.sides}, key=lambda name: name != OURS)
    pythons = {library: interpreter(library) for library in libraries}
    results.missing |= {library for library, python in pythons.items() if python is None}
    with ExitStack() as stack:
        asked = {
            name: stack.enter_context(Asked(python, group.__name__, name, args.threads))
            for name, python in pythons.items()
            if python
        }
        for number, case in enumerate(cases, 1):
            show(f"{group.__name__.removeprefix('bench_')} {number}/{len(cases)}: {case.name}")
            names = [name for name in asked if name in case.sides]
            for _ in range(1 if case.once else args.rounds):
                results.add(case.name, {name: asked[name].ask(case) for name in names})
                names = names[1:] + names[:1]  # each is the first in its turn
    show("")
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
    parser.add_argument("--rounds", type=int, default=3, help="how often the sides of a case alternate (default 3)")
    parser.add_argument("--threads", type=int, default=2, help="for every library (default 2)")
    parser.add_argument("--list", action="store_true", help="name the groups and cases, run nothing")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error(f"--rounds {args.rounds} measures nothing")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # so that no process is left behind

    chosen = [(group, select(group, args.names)) for group in load_groups()]
    known = {n for group, _ in chosen for n in (group.__name__.removeprefix("bench_"), *(c.name for c in group.CASES))}
    if unknown := set(args.names) - known:
        parser.error(f"no group or case is called {', '.join(sorted(unknown))}; --list names them")
    if args.list:
        for group, cases in chosen:
            print(f"{group.__name__.removeprefix('bench_')}: {', '.join(c.name for c in cases)}")
        return 0

    print(f"{machine()}\n{args.threads} threads, the median of {args.rounds} alternated rounds")
    failed = False
    for group, cases in chosen:
        if cases:
            results = run_group(group, cases, args)
            print_table(group, cases, results)
            failed |= results.ours_failed()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
