"""No row reads or writes beyond its arrays: each runs its samples right at pages that nobody may touch."""

import mmap
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ops.driver import NAMES, core, has_isa

pytestmark = pytest.mark.skipif(not hasattr(mmap, "MAP_ANONYMOUS"), reason="guarded pages are made as POSIX makes them")
TESTS = Path(__file__).parents[1]
ISAS = ("portable", "neon", "avx2", "avx512")


def ended(*program):
    return subprocess.run(
        [sys.executable, *program],
        env={**os.environ, "PYTHONPATH": str(TESTS)}, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def crashes(isa, names):
    """What ended the process, for each row that did; the next process goes on behind it."""
    found = []
    while names:
        process = ended("-m", "ops.guarded", isa, *names)
        done = process.stdout.split()
        names = names[len(done) :]
        if names:
            said = process.stderr.splitlines()
            last = max((i for i, line in enumerate(said) if line.startswith("call ")), default=0)
            found.append("\n".join([f"{names[0]}: the process ended with {process.returncode} in", *said[last:][:15]]))
            names = names[1:]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("isa", ISAS)
def test_rows_stay_inside_of_their_arrays(isa):
    if not has_isa(isa):
        pytest.skip(f"the machine's best is {core.isa()}")
    found = crashes(isa, NAMES)
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("side", ["behind", "before"])
def test_the_pages_are_guarded(side):
    """A row that reads one element too many is ended."""
    process = ended(
        "-c",
        f"""
import numpy as np
from gluonish import nd
from ops.guarded import guarded
from ops.driver import core
host = guarded(np.ones(5, np.float32), {side!r})
print(nd.from_numpy(host, zero_copy=True).sum().item(), flush=True)
start = host if {side!r} == "behind" else np.lib.stride_tricks.as_strided(host[::-1], (6,))[::-1]
wrong = np.lib.stride_tricks.as_strided(start, (6,))
nd.from_numpy(wrong, zero_copy=True).sum().item()
print("alive")
""",
    )
    assert process.stdout.split() == ["5.0"], process.stderr
    assert process.returncode == -signal.SIGSEGV
