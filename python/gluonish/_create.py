"""Arrays from Python objects, and from nothing: what `nd` and `np` share. They differ in defaults only."""

import math
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

import numpy as np

from gluonish import _core
from gluonish._core import NDArray
from gluonish._dtype import fits
from gluonish._types import Number, Shape
from gluonish.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError

__all__ = [
    "arange",
    "array_of",
    "arrays_of",
    "dense",
    "empty",
    "eye",
    "filled",
    "from_host",
    "host_array",
    "linspace",
    "shape_of",
    "tri",
]


def shape_of(shape: int | Iterable[int], function: str) -> Shape:
    """A shape as a tuple, from a tuple, a list or one number."""
    try:
        sizes = (index(shape),) if not isinstance(shape, Iterable) else tuple(map(index, shape))
    except TypeError:
        sizes = (-1,)
    if any(size < 0 for size in sizes):
        raise ArgumentError(f"{function}: shape={shape!r} is not valid: expected sizes of at least 0")
    return sizes


def array_of(value: Any, function: str) -> NDArray:
    """The value, which must be an array."""
    if not isinstance(value, NDArray):
        raise ArgumentError(f"{function}: an NDArray is needed, got {type(value).__name__}")
    return value


def arrays_of(value: Any, function: str) -> list[Any]:
    """What a list or another sequence holds."""
    if not isinstance(value, Sequence | NDArray | np.ndarray) or isinstance(value, str | bytes):
        raise ArgumentError(f"{function}: a list of arrays is needed, got {type(value).__name__}")
    items: Iterable[Any] = value
    return list(items)


def host_array(source: Any, function: str) -> Any:
    """A Python object as a NumPy array of a type that arrays can hold."""
    try:
        host = np.asarray(source)
    except (ValueError, TypeError, RuntimeError) as error:  # lists of unequal length; what other libraries object to
        raise ArgumentError(f"{function}: cannot make an array of {_shortened(source)}: {error}") from None
    if not fits(host.dtype):
        hint = "; its real and imaginary parts can be arrays" if host.dtype.kind == "c" else ""
        raise DTypeError(
            f"{function}: cannot make an array of {_shortened(source)}, which NumPy sees as {host.dtype}{hint}"
        )
    return host


def from_host(host: Any, dtype: str, device: int) -> NDArray:
    """A copy of a NumPy array on a device, as a type that the core has."""
    if host.dtype.name == "bfloat16":  # another library's extension of NumPy: its bits are ours
        array = _core.from_buffer(np.asarray(host, order="C").view(np.uint16), "bfloat16", host.shape, device)
        return array if dtype == "bfloat16" else array.astype(dtype)
    if dtype == "bfloat16":
        array = _core.from_buffer(np.asarray(host, "float32", order="C"), "float32", host.shape, device)
        return array.astype(dtype)
    return _core.from_buffer(np.asarray(host, dtype, order="C"), dtype, host.shape, device)


def empty(shape: int | Iterable[int], dtype: str, device: int) -> NDArray:
    return _core.empty(shape_of(shape, "empty"), dtype, device)


def filled(
    shape: int | Iterable[int], value: Number | NDArray, dtype: str, device: int, out: NDArray | None, function: str
) -> NDArray:
    """An array of one value, or of values that broadcast to the shape; or ``out`` filled so."""
    sizes = shape_of(shape, function)
    if isinstance(value, int) and dtype == "uint64" and 1 << 63 <= value < 1 << 64:  # beyond the core's own integers
        value = from_host(np.array(value, dtype), dtype, device)
    if out is None and not isinstance(value, NDArray):
        return _core.full(sizes, value, dtype, device)
    if out is None:
        out = _core.empty(sizes, dtype, device)
    elif out.shape != sizes:
        raise ShapeError(f"{function}: out has shape {out.shape}, the result has {sizes}: they must be equal")
    _core.copy_into(out, value)
    return out


def _count(start: Number, stop: Number, step: Number) -> int:
    """How many values ``arange`` has."""
    try:
        if all(isinstance(value, int) for value in (start, stop, step)):
            count = int(-((start - stop) // step))  # exact, however large
        else:
            count = math.ceil((stop - start) / step)
    except (TypeError, ValueError, ArithmeticError):  # no numbers, NaN, infinite, a step of 0
        count = 1 << 63
    if count >= 1 << 63:
        given = f"start={start}, stop={stop}, step={step}"
        raise ArgumentError(f"arange: {given} is not valid: expected finite numbers and a step other than 0")
    return max(0, count)


def arange(start: Number, stop: Number | None, step: Number, dtype: str, device: int) -> NDArray:
    if stop is None:
        start, stop = 0, start
    return _core.arange(start, step, _count(start, stop, step), dtype, device)


def eye(rows: int, columns: int, diagonal: int, dtype: str, device: int, out: NDArray | None = None) -> NDArray:
    return _matrix("_eye", "eye", rows, columns, diagonal, dtype, device, out)


def tri(rows: int, columns: int, diagonal: int, dtype: str, device: int) -> NDArray:
    return _matrix("_tri", "tri", rows, columns, diagonal, dtype, device, None)


def _matrix(
    row: str, function: str, rows: int, columns: int, k: int, dtype: str, device: int, out: NDArray | None
) -> NDArray:
    if out is not None:
        dtype, device = str(out.dtype), out._device
    attrs = {"shape": shape_of((rows, columns), function), "dtype": dtype, "k": k}
    made: NDArray = _core.invoke(row, [], attrs, out, device)
    return made


def linspace(start: Number, stop: Number, num: int, endpoint: bool, dtype: str, device: int) -> NDArray:
    attrs = {"num": shape_of((num,), "linspace"), "dtype": dtype, "endpoint": endpoint}
    if any(isinstance(value, NDArray | np.ndarray) for value in (start, stop)):
        raise ArgumentError("linspace: start and stop are numbers, not arrays")
    made: NDArray = _core.invoke("_linspace", [float(start), float(stop)], attrs, None, device)
    return made


def dense(stype: object, function: str) -> None:
    """Refuses storage types that arrays do not have."""
    if stype is not None and not (isinstance(stype, str) and stype == "default"):
        raise UnsupportedError(
            f"{function}: stype={stype!r}: sparse arrays are not built; the only storage type is 'default'"
        )


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
