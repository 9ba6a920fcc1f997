"""The processes that measure, one for each library. One that is not asked is stopped: the threads of some spin for long
after their work, and would take a processor from the next."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from harness import OURS, Case

HERE = Path(__file__).resolve().parent
LIMIT = 600.0  # seconds that one answer may take; the longest cases take minutes


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


class Asked(AbstractContextManager["Asked"]):
    """One library's side of a group, which starts with the first question and again after it died.

    As a context manager it leaves no process behind, stopped or not.
    """

    def __init__(self, python: str, module: str, library: str, threads: int):
        self.command = [python, str(HERE / "side.py"), module, library]
        self.threads = threads
        self.process: subprocess.Popen[str] | None = None

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None and self.process is not None:
            self.process.kill()
        self.close()

    def start(self) -> "subprocess.Popen[str]":
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - open as long as the process runs
        pipe, env = subprocess.PIPE, environment(self.threads)
        try:
            # In a session of its own: a shell that ends hangs up on all of a group in which somebody is stopped.
            return subprocess.Popen(
                self.command, env=env, stdin=pipe, stdout=pipe, stderr=self.said, text=True, start_new_session=True
            )
        except OSError:
            self.said.close()
            raise

    def ask(self, case: Case) -> dict[str, Any]:
        """The case's value, or its error."""
        if callable(case.sides[self.command[-1]]):
            self.close()  # it wants a new process
        try:
            if self.process is None:
                self.process = self.start()
            to, answers = self.process.stdin, self.process.stdout
            assert to is not None
            assert answers is not None
            self.process.send_signal(signal.SIGCONT)
            hangs = threading.Timer(LIMIT, self.process.kill)
            hangs.start()
            try:
                to.write(case.name + "\n")
                to.flush()
                answer: dict[str, Any] = json.loads(answers.readline())
            finally:
                hangs.cancel()
            self.process.send_signal(signal.SIGSTOP)
        except (OSError, ValueError) as error:
            return {"error": self.close() or str(error)}
        return answer

    def close(self) -> str:
        """Ends the process; returns what it said last and how it ended."""
        if self.process is None:
            return ""
        process, self.process = self.process, None
        process.send_signal(signal.SIGCONT)
        process.communicate()
        with self.said:
            self.said.seek(0)
            last = self.said.read().strip().splitlines()[-1:]
        return ", ".join([*last, f"exit status {process.returncode}"])
