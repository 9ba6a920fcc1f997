"""The benchmarks' own arithmetic, and that every case can be found and has a set-up for each of its sides."""

import importlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).resolve().parents[2] / "benches"


@pytest.fixture
def benches(monkeypatch):
    """Imports a module of benches/ by name, and leaves no trace of it."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCHES))
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and Path(sys.modules[name].__file__).parent == BENCHES:
            del sys.modules[name]


def test_list_names_groups_and_cases():
    done = subprocess.run([sys.executable, BENCHES / "run.py", "--list"], capture_output=True, text=True, check=True)
    assert "dispatch: dispatch_1000, dispatch_grad_1000" in done.stdout


def test_unknown_names_are_refused():
    done = subprocess.run([sys.executable, BENCHES / "run.py", "nonsense"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no group or case is called nonsense" in done.stderr


def test_every_side_has_a_set_up(benches):
    for group in benches("run").load_groups():
        for case in group.CASES:
            assert set(case.sides) <= set(group.SETUP), case.name


def test_statements_are_timed_with_their_sync(benches):
    harness = benches("harness")
    calls = []
    run = harness.compile_side("work()", {"work": lambda: calls.append("w"), "sync": lambda: calls.append("s")})
    assert run(3) > 0
    assert calls == ["w", "w", "w", "s"]


def test_the_round_of_the_median_ratio_counts(benches):
    harness, table = benches("harness"), benches("table")
    case = harness.Case("c", {"gluonish": "", "torch": "", "numpy": ""}, target=2.0, limit=1.5)
    results = table.Results()
    for values in ((2.0, 5.0, 9.0), (1.0, 4.0, 3.0), (1.0, 8.0, 9.0), (0.1, 9.0)):
        results.add("c", {name: {"value": v} for name, v in zip(("gluonish", "torch", "numpy"), values, strict=False)})
    assert results.best_peer(case) == ("numpy", 3.0)
    assert results.ratio(case) == 3.0
    assert table.verdict(case, results) == "ok"
    assert table.mean_row(harness.Mean("m", ["c"], 3.5), [case], results)[3:] == ["3.00", ">= 3.5", "MISSED"]


@pytest.mark.parametrize(
    ("ours", "peer", "said"), [(1.0, 1.0, "MISSED"), (2.0, 9.0, "MISSED"), (1.0, None, "?"), (None, 9.0, "?")]
)
def test_verdicts(benches, ours, peer, said):
    harness, table = benches("harness"), benches("table")
    case, results = harness.Case("c", {"gluonish": "", "torch": ""}, target=2.0, limit=1.5), table.Results()
    answers = {"gluonish": {"value": ours} if ours else {"error": "broken"}, "torch": {"value": peer} if peer else {}}
    results.add("c", answers)
    assert table.verdict(case, results) == said
    assert results.ours_failed() == (ours is None)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (93.1e-9, "s", "93.1 ns"),
        (0.01234, "s", "12.3 ms"),
        (2.5, "s", "2.5 s"),
        (12.4, "MB", "12.4 MB"),
        (None, "s", "-"),
    ],
)
def test_amounts(benches, value, unit, text):
    assert benches("table").amount(value, unit) == text


FAKE = """
import os
import time
from harness import Case, Prepared

def make(names):
    names["made"] += 1
    return lambda: names["made"]

def fails(names):
    raise ValueError("no such op")

def dies(names):
    print("to nowhere", flush=True)
    os.write(2, b"bad instruction")
    os._exit(3)

def hangs(names):
    time.sleep(600)

def counted(names):
    names["count"] += 1
    return names["count"]

SETUP = {"gluonish": lambda: {"made": 0, "count": 0}}
sides = {"statement": "made + 1", "prepared": Prepared(make), "fails": fails, "dies": dies, "hangs": hangs,
         "counted": counted}
CASES = [Case(name, {"gluonish": side}) for name, side in sides.items()]
"""


def test_sides_answer_fail_and_die_one_case_at_a_time(benches, tmp_path, monkeypatch):
    (tmp_path / "bench_fake.py").write_text(FAKE, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    cases = {case.name: case for case in benches("bench_fake").CASES}
    asked = benches("ask").Asked
    with asked(sys.executable, "bench_fake", "gluonish", 1) as side:
        assert side.ask(cases["statement"])["value"] > 0
        assert [side.ask(cases["prepared"]) for _ in range(2)] == [{"value": 1}] * 2  # made once
        assert side.ask(cases["fails"]) == {"error": "ValueError: no such op"}
        assert side.ask(cases["dies"]) == {"error": "bad instruction, exit status 3"}
        assert [side.ask(cases["counted"]) for _ in range(2)] == [{"value": 1}] * 2  # each time in a new process
        monkeypatch.setattr(benches("ask"), "LIMIT", 1.0)
        assert side.ask(cases["hangs"]) == {"error": "exit status -9"}
    with asked("/no/such/python", "bench_fake", "gluonish", 1) as nobody:
        assert "/no/such/python" in nobody.ask(cases["statement"])["error"]


def test_a_side_that_was_stopped_does_not_outlive_an_error(benches, tmp_path, monkeypatch):
    (tmp_path / "bench_fake.py").write_text(FAKE, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    case = next(case for case in benches("bench_fake").CASES if case.name == "statement")
    side = benches("ask").Asked(sys.executable, "bench_fake", "gluonish", 1)
    side.ask(case)
    process = side.process
    side.__exit__(KeyboardInterrupt, None, None)
    assert process.returncode == -signal.SIGKILL
