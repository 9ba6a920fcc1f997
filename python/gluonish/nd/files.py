"""Arrays to files and back: MXNet's ``.params``, safetensors and npz. Loading a file never runs code."""

from collections.abc import Mapping, Sequence
from typing import Any

from gluonish import _core, _files
from gluonish._core import NDArray
from gluonish._files import PathLike
from gluonish.errors import ArgumentError

__all__ = ["load", "load_frombuffer", "load_metadata", "save"]

Arrays = list[NDArray] | dict[str, NDArray]


def save(
    fname: PathLike,
    data: NDArray | Sequence[NDArray] | Mapping[str, NDArray],
    *,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Saves one array, a list of arrays, or arrays by name.

    The name of the file decides the format: ``.safetensors``, ``.npz``, and MXNet's for all others. Those two always
    have names: arrays of a list are called ``arr_0``, ``arr_1``, ... there. ``metadata`` is texts for safetensors.

    The file is replaced as a whole, when everything is on disk: whatever goes wrong before, the old one stays.

    >>> import os, tempfile
    >>> from gluonish import nd
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.params")
    >>> save(path, {"w": nd.ones((2, 2)), "b": nd.zeros(2)})
    >>> {name: array.shape for name, array in load(path).items()}
    {'w': (2, 2), 'b': (2,)}
    """
    path = _files.local_path(fname, "save")
    format = _files.format_of(path)
    names, arrays = _named(data)
    if names is None and format != "params":
        names = [f"arr_{i}" for i in range(len(arrays))]
    _core.save_file(path, format, names, arrays, _files.metadata_of(metadata))


def load(fname: PathLike) -> Arrays:
    """The arrays of a file: by name if it has names, else as a list.

    What the file holds decides how it is read: MXNet's format (any version), safetensors, npz or npy.

    >>> import os, tempfile
    >>> from gluonish import nd
    >>> path = os.path.join(tempfile.mkdtemp(), "list")
    >>> save(path, [nd.ones(3), nd.zeros((2, 2))])
    >>> [array.shape for array in load(path)]
    [(3,), (2, 2)]
    """
    return _gathered(*_files.load(_files.local_path(fname, "load")))


def load_frombuffer(buf: Any) -> Arrays:
    """The arrays of a file whose bytes are at hand: bytes, bytearray, memoryview.

    >>> import os, pathlib, tempfile
    >>> from gluonish import nd
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "one.npz"
    >>> save(path, {"x": nd.ones(2)})
    >>> load_frombuffer(path.read_bytes())["x"].tolist()
    [1.0, 1.0]
    """
    return _gathered(*_files.load_bytes(buf, "load_frombuffer"))


def load_metadata(fname: PathLike) -> dict[str, str]:
    """The texts that a safetensors file has beside its arrays, which are not read.

    >>> import os, tempfile
    >>> from gluonish import nd
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> save(path, {"w": nd.ones(2)}, metadata={"epoch": "7"})
    >>> load_metadata(path)
    {'epoch': '7'}
    """
    return _core.file_metadata(_files.local_path(fname, "load_metadata"))


def _named(data: Any) -> tuple[list[str] | None, list[NDArray]]:
    names: list[str] | None = None
    if isinstance(data, NDArray):
        arrays: list[Any] = [data]
    elif isinstance(data, Mapping):
        names, arrays = list(data), list(data.values())
    elif isinstance(data, list | tuple):
        arrays = list(data)
    else:
        raise _unfit(data)
    for item in arrays:
        if not isinstance(item, NDArray):
            raise _unfit(item)
    for name in names or ():
        if not isinstance(name, str):
            raise ArgumentError(f"save: the names of arrays are strings, got {name!r}")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ArgumentError(f"save: the name {name!r} cannot be written: it holds half a character") from None
    return names, arrays


def _unfit(value: Any) -> ArgumentError:
    hint = "; nd.array makes one of it" if hasattr(value, "__array__") else ""
    kind = type(value).__name__
    return ArgumentError(f"save: data must be an NDArray, a list of them or a dict of them, got {kind}{hint}")


def _gathered(format: str, names: list[str] | None, arrays: list[NDArray]) -> Arrays:
    return arrays if names is None else dict(zip(names, arrays, strict=True))
