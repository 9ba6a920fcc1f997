"""Arrays from Python objects, and from nothing: what `nd` and `np` share. They differ in defaults only."""

import math
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

import numpy as np

from gluonish import _core
from gluonish._core import NDArray
from gluonish._dtype import NAMES, fits
from gluonish._rows import renamed, store
from gluonish._types import Number, Shape
from gluonish.errors import ArgumentError, DTypeError, MXNetError, NumberOverflow, UnsupportedError

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


def host_array(source: Any, function: str, dtype: str | None = None) -> Any:
    """A Python object as a NumPy array of a type that arrays can hold. Python's numbers must fit ``dtype``, if given.

    Arrays of NumPy are cast as NumPy does, which wraps integers around.

    >>> host_array([1, 300], "array", "uint8")
    Traceback (most recent call last):
        ...
    gluonish.errors.NumberOverflow: array: the number 300 does not fit in uint8
    """
    try:
        host = np.asarray(source)
    except (ValueError, TypeError, RuntimeError) as error:  # lists of unequal length; what other libraries object to
        raise ArgumentError(f"{function}: cannot make an array of {_shortened(source)}: {error}") from None
    if host.dtype == object and _only_integers(host):
        host = _beyond_64_bits(host, dtype, function)
    if not fits(host.dtype):
        hint = "; its real and imaginary parts can be arrays" if host.dtype.kind == "c" else ""
        raise DTypeError(
            f"{function}: cannot make an array of {_shortened(source)}, which NumPy sees as {host.dtype}{hint}"
        )
    if dtype in _RANGES and host.size and not hasattr(source, "dtype") and not np.can_cast(host.dtype, dtype):
        for extreme in (host.min(), host.max()):  # NaN, if there is one, is both
            fitting(extreme.item(), dtype, function)
    return host


def _only_integers(host: Any) -> bool:
    return bool(host.size) and all(isinstance(value, int) for value in host.flat)


def _beyond_64_bits(host: Any, dtype: str | None, function: str) -> Any:
    """Integers that NumPy has no type for: floating types round them."""
    if dtype is not None and "float" in dtype:
        return host.astype("float64")
    for extreme in (host.min(), host.max()):
        fitting(extreme, dtype or "int64", function)
    return host


_RANGES = {name: np.iinfo(name) for name in NAMES if "int" in name}


def fitting(value: Any, dtype: str, function: str) -> None:
    """Refuses a number that an integer type cannot hold; of a fraction, what is before the point counts."""
    limits = _RANGES.get(dtype)
    if limits is None or limits.min - 1 < value < limits.max + 1:
        return
    if value != value:  # noqa: PLR0124 - NaN
        raise ArgumentError(f"{function}: NaN cannot become {dtype}: integers have no such value")
    raise NumberOverflow(f"{function}: the number {value} does not fit in {dtype}")


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
    if out is not None:
        device = array_of(out, function)._device
        dtype = str(out.dtype) if isinstance(value, int) else dtype  # an integer has the type of what it fills
    if isinstance(value, int | float):
        value = bool(value) if dtype == "bool" else value
        fitting(value, dtype, function)
        value = _within_64_bits(value, dtype, device)
    try:
        if isinstance(value, NDArray):
            made = _core.empty(sizes, dtype, device)
            _core.copy_into(made, value)
        else:
            made = _core.full(sizes, value, dtype, device)
    except MXNetError as error:
        raise renamed(error, function) from None
    return store(made, out, function)


def _within_64_bits(value: Number, dtype: str, device: int) -> Number | NDArray:
    """The same value in a form that the core takes, whose own integers are signed and of 64 bits."""
    if not isinstance(value, int) or -1 << 63 <= value < 1 << 63:
        return value
    return from_host(np.array(value, dtype), dtype, device) if dtype == "uint64" else float(value)


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
    from reprlib import repr as brief  # neither long nor deep, whatever the value is

    text = brief(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
