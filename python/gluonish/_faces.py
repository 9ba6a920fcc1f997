"""The functions that the op table gives each face, by the module that they belong to."""

from collections.abc import Callable
from typing import Any

from gluonish import _core
from gluonish._types import Face

__all__ = ["dressed", "functions"]

_FACES = _core.faces()


def functions(face: str, module: str = "") -> dict[str, Face]:
    """The functions of a face: those whose names have no dot, or those of one of its sub-modules ("linalg")."""
    split = ((name.rpartition("."), function) for name, function in _FACES[face].items())
    return {last: function for (first, _, last), function in split if first == module}


def dressed(row: Face) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a Python function the name and the documentation of the row that it calls."""

    def dress(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__name__ = function.__qualname__ = row.__name__
        function.__doc__ = row.__doc__
        return function

    return dress
