"""ONNX's cases, made once for each run of the tests, and the counts of those that pass."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from onnx_nodes import TRANSLATIONS, Case, read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parents[2]
WRITER = Path(__file__).parent / "cases.py"
COUNTS = "ONNX node tests"  # the property of a test that the summary is made from
PATIENCE = 200  # seconds; the whole run of the tests is stopped when a test takes 300


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Case]]:
    """The cases of each op."""
    folder = tmp_path_factory.mktemp("onnx")
    subprocess.run([interpreter(), WRITER, folder, *TRANSLATIONS], check=True, timeout=PATIENCE)
    found = defaultdict(list)
    for case in read(folder):
        found[case.op].append(case)
    return found


def interpreter() -> str:
    """A Python that has onnx: the one that `PEER_ONNX` names, or that of `make .peers/onnx/.ready`."""
    if named := os.environ.get("PEER_ONNX"):
        return named
    if not (ROOT / ".peers/onnx/.ready").exists():
        # Without a network, an answer soon.
        quick = {"PIP_RETRIES": "1", "PIP_DEFAULT_TIMEOUT": "15"}
        problem = run(["make", f"PYTHON={sys.executable}", ".peers/onnx/.ready"], {**os.environ, **quick})
        if problem:
            pytest.skip(f"onnx is not there, PEER_ONNX does not say where, and installing it failed: {problem}")
    return str(ROOT / ".peers/onnx/bin/python")


def run(command: Sequence[str], environment: dict[str, str]) -> str | None:
    """Why a command failed, or None. Out of patience, its children end with it."""
    how: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    try:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, **how)
    except OSError as error:
        return str(error)
    try:
        said, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"it takes more than {PATIENCE} s"
    return " ".join(said.split())[-300:] if process.returncode else None


@pytest.fixture
def counted(record_property: Callable[[str, Any], None]) -> Callable[[str, int, int, dict[str, int]], None]:
    """Called with an op, how many of its cases passed, of how many, and reasons with how many they left out."""
    return lambda *count: record_property(COUNTS, count)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [r for outcome in ("passed", "failed") for r in terminalreporter.getreports(outcome)]
    counts = sorted(value for report in reports for name, value in report.user_properties if name == COUNTS)
    if not counts:
        return
    terminalreporter.section(COUNTS)
    whole = ", ".join(f"{op}\u00a0{passed}" for op, passed, total, _ in counts if passed == total)
    for line in textwrap.wrap(f"All pass: {whole or 'none'}", 120):
        terminalreporter.line(line.replace("\u00a0", " "))
    for op, passed, total, left_out in counts:
        failed = total - passed - sum(left_out.values())
        others = [f"{failed} failed"] * bool(failed) + [f"{n} left out: {reason}" for reason, n in left_out.items()]
        if others:
            terminalreporter.line(f"{op}: {passed} of {total}; {'; '.join(others)}")
    passed, total = (sum(count[i] for count in counts) for i in (1, 2))
    away = sum(sum(count[3].values()) for count in counts)
    terminalreporter.line(f"{passed} of {total} cases pass, {away} are left out, {total - passed - away} fail")
