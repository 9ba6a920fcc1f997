"""MXNet's `nd`, name by name: each is here with a signature that takes the same calls, or
docs/differences-from-mxnet.md says what it waits for. `data/mxnet_nd.json` was read off MXNet 1.9.1."""

from __future__ import annotations

import ast
import inspect
import json
import re
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

import gluonish as mx
from gluonish._waiting import WAITING as WAITING_FOR

HERE = Path(__file__).parent
SURFACE: dict[str, dict[str, str]] = json.loads((HERE / "data/mxnet_nd.json").read_text(encoding="utf-8"))
DOC = (HERE.parent / "docs/differences-from-mxnet.md").read_text(encoding="utf-8")
# Functions that MXNet makes of its registered ops: all take `out` and `name`, which signatures in SURFACE leave out.
REGISTERED: list[str] = json.loads((HERE / "data/mxnet_registered.json").read_text(encoding="utf-8"))
EVERY = {"out", "name", "self"}
MODULES = {"sparse", "image", "CachedOp"}  # of `nd`, beside the functions in SURFACE


def table(heading: str) -> list[list[str]]:
    """The rows of the table under a heading of the document, without its head."""
    section = DOC.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


WAITING = {name for cells in table("Names that are not there") for name in names(cells[0])}
CHANGED = {(name, argument) for cells in table("Arguments that differ") for name in names(cells[0])
           for argument in names(cells[1])}  # fmt: skip


def short(module: str, name: str) -> str:
    """As the document writes it: `nd.` is left out."""
    return f"{module}.{name}".removeprefix("nd.")


PUBLIC = [(module, name) for module, known in SURFACE.items() for name in known]
FOUND = [(m, n) for m, n in PUBLIC if short(m, n) not in WAITING]


def find(module: str, name: str) -> Any:
    return reduce(getattr, [*module.split("."), name], mx)


def parameters(text: str) -> dict[str, Any]:
    """The parameters of a signature in MXNet's words, with their defaults; `...` where there is none."""
    inside = re.sub(r"<[^>]*>|Uniform\(\)|=\?", lambda m: "=None" if m[0] == "=?" else "None", text)[1:-1]
    found: dict[str, Any] = {}
    for part in re.findall(r"(\*{0,2}\w+)(?:=('[^']*'|\[[^\]]*\]|[^,]+))?", inside):
        name, default = part
        if name.startswith("*") or name in EVERY:
            continue
        try:
            found[name] = ast.literal_eval(default) if default else ...
        except (ValueError, SyntaxError):
            found[name] = ...  # _Null: MXNet's own default, which the op's line has
    return found


@pytest.mark.parametrize(("module", "name"), FOUND, ids=[short(*pair) for pair in FOUND])
def test_name_is_there_and_takes_mxnets_arguments(module: str, name: str) -> None:
    ours = find(module, name)
    text = SURFACE[module][name]
    if text == "property":
        assert not callable(ours)
        return
    assert callable(ours)
    mine = inspect.signature(ours).parameters
    anything = any(p.kind is p.VAR_KEYWORD for p in mine.values())
    wanted = [p for p in parameters(text) if (short(module, name), p) not in CHANGED and ("*", p) not in CHANGED]
    missing = [p for p in wanted if p not in mine and not anything]
    assert not missing, f"{name}{inspect.signature(ours)} does not take {missing} of {text}"


@pytest.mark.parametrize("name", [name for name in REGISTERED if name not in WAITING])
def test_registered_op_takes_out_and_name(name: str) -> None:
    ours = reduce(getattr, name.split("."), mx.nd)
    if type(ours).__name__ == "Op":  # a row takes a name, which its signature leaves out as it has no effect
        assert "out" in inspect.signature(ours).parameters
        with pytest.raises(TypeError, match=r"missing|is needed|there is no argument 'no_such'"):
            ours(name="x", no_such=1)
        return
    missing = [p for p in ("out", "name") if p not in inspect.signature(ours).parameters]
    assert not missing, f"{name}{inspect.signature(ours)} does not take {missing}"


def test_names_that_wait_say_what_for() -> None:
    listed = {name: cells[1] for cells in table("Names that are not there") for name in names(cells[0])}
    assert listed == {name: why for why, known in WAITING_FOR.items() for name in known.split()}
    for name in ("contrib.box_nms", "imdecode", "sparse", "image", "CachedOp"):
        with pytest.raises(AttributeError, match=f"waits for {listed[name]}"):
            reduce(getattr, name.split("."), mx.nd)


@pytest.mark.parametrize(("module", "name"), FOUND, ids=[short(*pair) for pair in FOUND])
def test_defaults_are_mxnets(module: str, name: str) -> None:
    text = SURFACE[module][name]
    if text == "property":
        return
    mine = inspect.signature(find(module, name)).parameters
    for argument, default in parameters(text).items():
        listed = (short(module, name), argument) in CHANGED or ("*", argument) in CHANGED
        unsaid = default in (..., None, []) or (argument == "dtype" and default in ("None", "float32"))
        if unsaid or listed or argument not in mine:
            continue
        given = mine[argument].default
        assert given is not inspect.Parameter.empty, f"{name}: {argument} must be given, MXNet has {default!r}"
        assert same(given, default), f"{name}: {argument}={given!r}, MXNet has {default!r}"


def same(ours: Any, theirs: Any) -> bool:
    """MXNet writes numbers as float32, truth values as 0 and 1, and some numbers as text."""
    if theirs in ("None", "", []):
        return ours in (None, (), [])
    if isinstance(theirs, str) and re.fullmatch(r"-?\d+", theirs):
        theirs = int(theirs)
    if isinstance(theirs, int | float) and isinstance(ours, int | float):
        return abs(ours - theirs) <= 1e-6 * max(abs(theirs), 1e-30)
    return bool(ours == theirs)


def test_the_document_lists_no_name_that_is_there() -> None:
    known = {short(*pair) for pair in PUBLIC} | MODULES
    assert known >= WAITING, f"MXNet has no {sorted(WAITING - known)}"
    there = [short(m, n) for m, n in PUBLIC if short(m, n) in WAITING and exists(m, n)]
    assert not there, f"docs/differences-from-mxnet.md says they are missing: {there}"


def exists(module: str, name: str) -> bool:
    try:
        find(module, name)
    except AttributeError:
        return False
    return True


def test_module_of_the_array_type() -> None:
    assert mx.nd.ndarray.NDArray is mx.nd.NDArray
    assert mx.nd.ndarray.concatenate is mx.nd.concatenate
    assert mx.ndarray.ndarray.add is mx.nd.add
