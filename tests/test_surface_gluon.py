"""MXNet's Gluon and the modules around training, name by name: blocks, layers, losses, optimizers, metrics, stores, ...

Each name, each method and property is here and takes the same calls, or docs/differences-from-mxnet.md says what it
waits for. `data/mxnet_gluon.json` was read off MXNet 1.9.1; it leaves out methods that a class has from its base, and
`forward` and `hybrid_forward`, whose arguments go by position.
"""

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
from gluonish._waiting import GLUON
from gluonish.errors import UnsupportedError

HERE = Path(__file__).parent
SURFACE: dict[str, dict[str, Any]] = json.loads((HERE / "data/mxnet_gluon.json").read_text(encoding="utf-8"))
DOC = (HERE.parent / "docs/differences-from-mxnet.md").read_text(encoding="utf-8")
MODULES = ("gluon.data", "gluon.model_zoo")  # of MXNet, and not in SURFACE


def table(heading: str) -> list[list[str]]:
    """The rows of the table under a heading of the document, without its head."""
    section = DOC.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


WAITING = {name: cells[1] for cells in table("Names of Gluon that are not there") for name in names(cells[0])}
CHANGED = {(name, argument) for cells in table("Arguments that differ") for name in names(cells[0])
           for argument in names(cells[1])}  # fmt: skip


def members() -> dict[str, str]:
    """Functions, constructors, methods and properties by their full names, with MXNet's signatures."""
    found: dict[str, str] = {}
    for module, known in SURFACE.items():
        for name, entry in known.items():
            if isinstance(entry, str):
                found[f"{module}.{name}"] = entry
            else:
                found.update({f"{module}.{name}.{member}": text for member, text in entry.items() if text})
    return found


MEMBERS = members()
NAMES = [f"{module}.{name}" for module, known in SURFACE.items() for name in known]
PROPERTIES = [path for path, text in MEMBERS.items() if text == "property"]
CALLS = [path for path in MEMBERS if path not in PROPERTIES]


def here(paths: list[str]) -> list[str]:
    """Those that do not wait, and are not members of what waits."""
    return [path for path in paths if not {path, path.rpartition(".")[0]} & WAITING.keys()]


def find(path: str) -> Any:
    return reduce(getattr, path.split("."), mx)


def defaults(text: str) -> dict[str, Any]:
    """MXNet's parameters; `...` for those without a default, and for defaults that are no literals."""
    arguments = ast.parse(f"def f{re.sub(r'<[^>]*>', 'None.x', text)}: ...").body[0].args  # type: ignore[attr-defined]
    known = [*arguments.posonlyargs, *arguments.args]
    given = [None] * (len(known) - len(arguments.defaults)) + list(arguments.defaults)
    pairs = [*zip(known, given, strict=True), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    found: dict[str, Any] = {}
    for argument, default in pairs:
        try:
            found[argument.arg] = ... if default is None else ast.literal_eval(default)
        except ValueError:
            found[argument.arg] = ...
    return found


@pytest.mark.parametrize("path", here(NAMES))
def test_name_is_there(path: str) -> None:
    assert find(path) is not None


@pytest.mark.parametrize("path", here(CALLS))
def test_call_takes_mxnets_arguments(path: str) -> None:
    """The same names, in the same order, with the same defaults; there may be more."""
    signature = inspect.signature(find(path))
    ours = signature.parameters
    left_out = {argument for name, argument in CHANGED if name == path}
    theirs = {name: default for name, default in defaults(MEMBERS[path]).items() if name not in left_out}
    missing = [name for name in theirs if name not in ours]
    assert not missing, f"{path}{signature} does not take {missing} of {MEMBERS[path]}"
    assert [name for name in ours if name in theirs] == list(theirs)
    for name, default in theirs.items():
        if default is not ...:
            assert same(ours[name].default, default), f"{path}: {name}={ours[name].default!r}, MXNet has {default!r}"


def same(ours: Any, theirs: Any) -> bool:
    """A list and a tuple of the same are one, and a type is its name."""
    if isinstance(theirs, list | tuple) and isinstance(ours, list | tuple):
        return list(ours) == list(theirs)
    return bool(ours == theirs)


@pytest.mark.parametrize("path", here(PROPERTIES))
def test_property_is_there(path: str) -> None:
    """As a property, or as what every instance gets."""
    owner, _, name = path.rpartition(".")
    kind = find(owner)
    if not hasattr(kind, name):
        assert re.search(rf"self\.{name}\b", "".join(inspect.getsource(c) for c in kind.__mro__[:-1])), path


@pytest.mark.parametrize("name", WAITING)
def test_name_that_waits_says_what_for(name: str) -> None:
    """When it is looked up, or when it is called; members of classes are just not there."""
    assert name in {*NAMES, *MEMBERS, *MODULES}, f"MXNet has no {name}"
    said = f"waits for {re.escape(WAITING[name])}" if name in {*NAMES, *MODULES} else "has no attribute"
    with pytest.raises((AttributeError, UnsupportedError), match=said):
        find(name)()


def test_the_document_has_the_table_of_the_package() -> None:
    assert {name: why for why, known in GLUON.items() for name in known.split()} == WAITING


def test_arguments_that_differ_are_mxnets() -> None:
    for name, argument in CHANGED:
        if name in MEMBERS:
            assert argument in defaults(MEMBERS[name]), f"{name} of MXNet has no {argument}"
