"""Programs in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

TESTS = Path(__file__).parents[1]
TIMEOUT = 60  # a program that takes as long hangs


def environment(**settings: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(TESTS), "PYTHONFAULTHANDLER": "1", **settings}


PRELUDE = """
import os, signal, sys, time, warnings
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let what runs in the background ignore it
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # of fork(), from 3.12 on
from helpers import array, backward, core, numbers, op, record, variable
def slow(x, seconds):
    return op("_test_fail", x, delay_us=int(seconds * 1e6))
"""


def program(text: str) -> list[str]:
    return [sys.executable, "-c", PRELUDE + textwrap.dedent(text)]


def run(text: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """The program's end; subprocess.TimeoutExpired where there is none."""
    return subprocess.run(
        program(text), env=environment(**settings), capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


def output(text: str, **settings: str) -> list[str]:
    """The lines of a program that must end well and quietly."""
    done = run(text, **settings)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    assert not done.stderr, done.stderr
    return done.stdout.split("\n")[:-1]


def interrupted(text: str, times: int = 1, **settings: str) -> list[str]:
    """The lines of a program that gets Ctrl-C a moment after each line "now"."""
    p = subprocess.Popen(
        program(text), env=environment(**settings), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    lines, sent = [], 0
    try:
        assert p.stdout is not None
        for line in p.stdout:
            lines.append(line.strip())
            if line.strip() == "now" and sent < times:
                sent += 1
                try:
                    p.wait(0.3)  # into the wait
                except subprocess.TimeoutExpired:
                    p.send_signal(signal.SIGINT)
        _, errors = p.communicate(timeout=TIMEOUT)
    finally:
        p.kill()
    assert p.returncode == 0, f"{p.returncode}\n{lines}\n{errors}"
    return lines
