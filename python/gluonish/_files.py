"""What `nd` and `np` share about files: paths, and which format a name asks for."""

import os
import re
from typing import Any

from gluonish import _core
from gluonish._core import NDArray
from gluonish.errors import ArgumentError, UnsupportedError

__all__ = ["PathLike", "format_of", "is_path", "load", "load_bytes", "local_path", "metadata_of"]

PathLike = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_path(file: object) -> bool:
    return isinstance(file, str | bytes | os.PathLike)


def local_path(fname: Any, function: str) -> str:
    """The path as a string; of any name that the system's own calls take.

    >>> local_path(b"model.params", "load")
    'model.params'
    """
    if not is_path(fname):
        raise ArgumentError(f"{function}: fname must be a str, bytes or a path, got {type(fname).__name__}")
    path = os.fsdecode(fname)
    if _ADDRESS.match(path):
        raise UnsupportedError(
            f"{function}: '{path}' is an address, and only files of this machine are read and written; "
            "copy it with the tools of its service first"
        )
    return path


def format_of(path: str) -> str:
    """The format that a file of this name is written in."""
    suffix = os.path.splitext(path)[1].lower()
    return {".safetensors": "safetensors", ".npz": "npz"}.get(suffix, "params")


def metadata_of(metadata: Any) -> list[tuple[str, str]]:
    """Texts by name, as the core takes them."""
    items = list(dict(metadata or {}).items())
    if not all(isinstance(text, str) for item in items for text in item):
        raise ArgumentError(f"save: metadata={metadata!r} is not valid: expected a dict of strings")
    return items


def load(path: str) -> tuple[str, list[str] | None, list[NDArray]]:
    """Format, names if there are any, and arrays on the current device."""
    return _core.load_file(path, _core.current_device())[:3]


def load_bytes(buffer: Any, function: str) -> tuple[str, list[str] | None, list[NDArray]]:
    try:
        data = buffer if isinstance(buffer, bytes) else bytes(memoryview(buffer))
    except TypeError:
        hint = "; nd.load takes the name of a file" if is_path(buffer) else ""
        raise ArgumentError(f"{function}: bytes are needed, got {type(buffer).__name__}{hint}") from None
    return _core.load_bytes(data, _core.current_device())[:3]
