"""The functions that the op table gives each face, by the module that they belong to."""

from gluonish import _core
from gluonish._types import Face

__all__ = ["functions"]

_FACES = _core.faces()


def functions(face: str, module: str = "") -> dict[str, Face]:
    """The functions of a face: those whose names have no dot, or those of one of its sub-modules ("linalg")."""
    split = ((name.rpartition("."), function) for name, function in _FACES[face].items())
    return {last: function for (first, _, last), function in split if first == module}
