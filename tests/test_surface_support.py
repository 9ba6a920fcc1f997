"""MXNet's modules around training, name by name: initializers, schedules, metrics, callbacks, helpers for tests, ...

Each name is here with a signature that takes the same calls, or docs/differences-from-mxnet.md says what it waits for.
`data/mxnet_support.json` was read off MXNet 1.9.1.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

import gluonish as mx

HERE = Path(__file__).parent
SURFACE: dict[str, dict[str, Any]] = json.loads((HERE / "data/mxnet_support.json").read_text(encoding="utf-8"))
DOC = (HERE.parent / "docs/differences-from-mxnet.md").read_text(encoding="utf-8")
SECTION = DOC.split("## Names around training that are not there\n")[1].split("\n## ")[0]
WAITING = {name: line for line in SECTION.splitlines() for name in re.findall(r"`([\w.]+)`", line)}


def calls() -> dict[str, str]:
    """Functions, constructors and methods by their full names, with MXNet's signatures."""
    found: dict[str, str] = {}
    for module, names in SURFACE.items():
        for name, entry in names.items():
            if isinstance(entry, str):
                found[f"{module}.{name}"] = entry
            else:
                found.update({f"{module}.{name}.{method}": text for method, text in entry.items() if text})
    return found


CALLS = calls()
NAMES = [f"{module}.{name}" for module, names in SURFACE.items() for name in names]


def find(path: str) -> Any:
    found: Any = mx
    for part in path.split("."):
        found = getattr(found, part)
    return found


def defaults(text: str) -> dict[str, Any]:
    """MXNet's parameters; `...` for those without a default, and for defaults that are no literals."""
    written = re.sub(r"<[^>]*>", "None.x", text)
    arguments = ast.parse(f"def f{written}: ...").body[0].args  # type: ignore[attr-defined]
    names = [*arguments.posonlyargs, *arguments.args]
    given = [None] * (len(names) - len(arguments.defaults)) + list(arguments.defaults)
    found: dict[str, Any] = {}
    for argument, default in zip(names, given, strict=True):
        try:
            found[argument.arg] = ... if default is None else ast.literal_eval(default)
        except ValueError:
            found[argument.arg] = ...
    return found


@pytest.mark.parametrize("path", [name for name in NAMES if name not in WAITING])
def test_name_is_there(path: str) -> None:
    assert find(path) is not None


@pytest.mark.parametrize("path", [path for path in CALLS if not {path, ".".join(path.split(".")[:2])} & set(WAITING)])
def test_call_takes_mxnets_arguments(path: str) -> None:
    """The same names, in the same order, with the same defaults; there may be more."""
    theirs, ours = defaults(CALLS[path]), inspect.signature(find(path)).parameters
    missing = [name for name in theirs if name not in ours]
    assert not missing, f"{path}{inspect.signature(find(path))} does not take {missing} of {CALLS[path]}"
    assert [name for name in ours if name in theirs] == list(theirs)
    for name, default in theirs.items():
        if default is not ...:
            assert ours[name].default == default, f"{path}: {name}={ours[name].default!r}, MXNet has {default!r}"


def test_names_that_wait_are_not_there() -> None:
    known = {*NAMES, *CALLS}
    for name in WAITING:
        assert name in known, f"MXNet has no {name}"
        with pytest.raises(AttributeError):
            find(name)


def test_names_that_wait_say_what_for() -> None:
    listed = {name.removeprefix("test_utils."): line for name, line in WAITING.items() if name.startswith("test_utils")}
    told = {name: why for why, names in mx.test_utils.WAITING.items() for name in names.split()}
    assert listed.keys() == told.keys()
    for name, why in told.items():
        assert f"| {why} |" in listed[name]
