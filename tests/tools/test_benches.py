"""The benchmarks' own arithmetic, and that every case can be found and has a set-up for each of its sides."""

import importlib
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


def test_best_of_each_side_makes_the_ratio(benches):
    harness, table = benches("harness"), benches("table")
    case = harness.Case("c", {"gluonish": "", "torch": "", "numpy": ""}, target=2.0, limit=1.5)
    results = table.Results()
    for library, values in {"gluonish": (2.0, 1.0), "torch": (5.0, 4.0), "numpy": (9.0, 3.0)}.items():
        for value in values:
            results.add("c", library, value, None)
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
    results.add("c", "gluonish", ours, None if ours else "broken")
    results.add("c", "torch", peer, None)
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
