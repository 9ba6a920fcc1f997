"""NumPy's files, ``.npy`` and ``.npz``, with NumPy's functions. Pickled objects are neither written nor read."""

from types import TracebackType
from typing import Any

from gluonish import _core, _files
from gluonish._core import NDArray
from gluonish.errors import ArgumentError
from gluonish.np.creation import array

__all__ = ["Archive", "load", "save", "savez"]


class Archive(dict[str, NDArray]):
    """The arrays of a file by name; ``files`` and ``with`` are there as with NumPy's. Everything is read already."""

    @property
    def files(self) -> list[str]:
        return list(self)

    def close(self) -> None:
        """Nothing is open: the file was closed when it had been read."""

    def __enter__(self) -> "Archive":  # noqa: PYI034 - typing.Self came with Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def save(file: Any, arr: Any) -> None:
    """Saves one array in NumPy's format. A name that lacks ``.npy`` gets it; ``file`` may be a file open for writing.

    >>> import os, tempfile
    >>> from gluonish import np
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> np.save(path, np.arange(3))
    >>> np.load(path).tolist()
    [0, 1, 2]
    """
    _write(file, ".npy", None, [_as_array(arr)])


def savez(file: Any, *args: Any, **kwds: Any) -> None:
    """Saves several arrays in NumPy's format, under the names of the keywords, else ``arr_0``, ``arr_1``, ...

    >>> import os, tempfile
    >>> from gluonish import np
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npz")
    >>> np.savez(path, np.ones(2), bias=np.zeros(3))
    >>> np.load(path).files
    ['bias', 'arr_0']
    """
    arrays = dict(kwds)
    for i, item in enumerate(args):
        if f"arr_{i}" in arrays:
            raise ArgumentError(f"savez: arr_{i} is also the name of a positional array; give it another")
        arrays[f"arr_{i}"] = item
    _write(file, ".npz", list(arrays), [_as_array(item) for item in arrays.values()])


def load(file: Any, *, allow_pickle: bool = False) -> NDArray | Archive:
    """The array of an ``.npy`` file, or the arrays by name of an ``.npz`` file or of another that ``nd.load`` reads.

    ``file`` is a name, or a file open for reading. Pickled objects are refused: loading those could run code.
    """
    if allow_pickle:
        raise ArgumentError("load: allow_pickle=True is not valid: pickled objects are not read, as they can run code")
    if hasattr(file, "read"):
        format, names, arrays = _files.load_bytes(file.read(), "load")
    else:
        format, names, arrays = _files.load(_files.local_path(file, "load"))
    if format == "npy":
        return arrays[0]
    return Archive(zip(names or [f"arr_{i}" for i in range(len(arrays))], arrays, strict=True))


def _as_array(value: Any) -> NDArray:
    return value if isinstance(value, NDArray) else array(value)


def _write(file: Any, suffix: str, names: list[str] | None, arrays: list[NDArray]) -> None:
    format = suffix[1:]
    if hasattr(file, "write"):
        file.write(_core.save_bytes(format, names, arrays, []))
        return
    path = _files.local_path(file, "save")
    _core.save_file(path if path.endswith(suffix) else path + suffix, format, names, arrays, [])
