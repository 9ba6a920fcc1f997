"""Random calls of every row: each equals NumPy's result or raises one of our exceptions. No panic, no crash, no hang.

FUZZ_ROUNDS calls are made of each row (500 unless it is set), from FUZZ_SEED (0)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ops.driver import NAMES

ROUNDS, SEED = os.environ.get("FUZZ_ROUNDS", "500"), os.environ.get("FUZZ_SEED", "0")
TESTS = Path(__file__).parents[1]


def run(names):
    """What happened to these rows: a list of wrong calls each; a crash ends the process, and the next one goes on."""
    outcome = {}
    while names:
        env = {**os.environ, "PYTHONPATH": str(TESTS)}
        done = subprocess.run(
            [sys.executable, "-m", "ops.fuzz", SEED, ROUNDS, *names],
            env=env, capture_output=True, text=True, timeout=1800, check=False,
        )  # fmt: skip
        for line in done.stdout.splitlines():
            said = json.loads(line)
            if "done" in said:
                outcome[said["done"]] = said["wrong"]
        rest = [n for n in names if n not in outcome]
        if rest:
            lines = done.stderr.splitlines()
            last = next((line for line in reversed(lines) if line.startswith("call ")), "")
            outcome[rest[0]] = [f"the process ended with {done.returncode} in {last}\n" + "\n".join(lines[-15:])]
        names = rest[1:]
    return outcome


@pytest.fixture(scope="module")
def outcome():
    return run(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_random_calls(name, outcome):
    assert not outcome[name], "\n".join(outcome[name][:5])
