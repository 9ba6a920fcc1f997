"""What `nd` and `np` share about files: paths, and which format a name asks for."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from gluonish import _core
from gluonish._core import NDArray
from gluonish.errors import (
    ArgumentError,
    FileDenied,
    FileError,
    FileNotFound,
    FormatError,
    MXNetError,
    UnsupportedError,
)

__all__ = [
    "PathLike",
    "about",
    "format_of",
    "is_path",
    "load",
    "load_bytes",
    "local_path",
    "metadata_of",
    "read_whole",
    "write_whole",
]

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


@contextmanager
def about(path: str) -> Iterator[None]:
    """What is wrong with the bytes of a file is said with its name.

    >>> with about("states"):
    ...     raise FormatError("the header is damaged")
    Traceback (most recent call last):
        ...
    gluonish.errors.FormatError: 'states': the header is damaged
    """
    try:
        yield
    except FormatError as error:
        raise type(error)(f"'{path}': {error}") from None


def read_whole(path: str) -> bytes:
    """The bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise _refused(error, path, "read") from error


def write_whole(path: str, data: bytes) -> None:
    """Replaces a file as a whole, when all bytes are on disk: whatever goes wrong before, the old one stays.

    >>> path = os.path.join(tempfile.mkdtemp(), "file")
    >>> write_whole(path, b"text")
    >>> read_whole(path)
    b'text'
    """
    path = os.path.realpath(path)
    part = None
    try:
        handle, part = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", suffix=".part", dir=os.path.dirname(path))
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        os.chmod(part, _mode(path))
        os.replace(part, path)
        _sync_folder(os.path.dirname(path))
    except BaseException as error:
        if part is not None:
            with suppress(OSError):
                os.remove(part)
        if isinstance(error, OSError):
            raise _refused(error, path, "written") from error
        raise


def _mode(path: str) -> int:
    """The permissions of the file that is replaced, or those of a new one."""
    with suppress(OSError):
        return os.stat(path).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: str) -> None:
    """Makes the new name last; where folders cannot be opened, the system does that itself."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _refused(error: OSError, path: str, what: str) -> MXNetError:
    text = f"'{path}' cannot be {what}: {error.strerror or error}"
    if isinstance(error, FileNotFoundError):
        return FileNotFound(text)
    return FileDenied(text) if isinstance(error, PermissionError) else FileError(text)
