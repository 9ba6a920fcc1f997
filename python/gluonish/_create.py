"""Arrays from Python objects, and from nothing: what `nd` and `np` share. They differ in defaults only."""

import math
from collections.abc import Iterable
from operator import index
from typing import Any

import numpy as np

from gluonish import _core
from gluonish._core import NDArray, Number, Shape
from gluonish._dtype import dtype_name, fits
from gluonish.errors import ArgumentError, DTypeError, ShapeError

__all__ = ["arange", "empty", "eye", "filled", "from_host", "host_array", "linspace", "shape_of"]


def shape_of(shape: int | Iterable[int], function: str) -> Shape:
    """A shape as a tuple, from a tuple, a list or one number."""
    try:
        sizes = (index(shape),) if not isinstance(shape, Iterable) else tuple(index(size) for size in shape)
    except TypeError:
        sizes = (-1,)
    if any(size < 0 for size in sizes):
        raise ArgumentError(f"{function}: shape={shape!r} is not valid: expected sizes of at least 0")
    return sizes


def host_array(source: Any, function: str) -> Any:
    """A Python object as a NumPy array of a type that arrays can hold."""
    try:
        host = np.asarray(source)
    except ValueError as error:  # lists of unequal length
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


def empty(shape: int | Iterable[int], dtype: Any, device: int) -> NDArray:
    return _core.empty(shape_of(shape, "empty"), dtype_name(dtype), device)


def filled(
    shape: int | Iterable[int], value: Number | NDArray, dtype: Any, device: int, out: NDArray | None, function: str
) -> NDArray:
    """An array of one value, or of values that broadcast to the shape; or ``out`` filled so."""
    sizes = shape_of(shape, function)
    if out is None and not isinstance(value, NDArray):
        return _core.full(sizes, value, dtype_name(dtype), device)
    if out is None:
        out = _core.empty(sizes, dtype_name(dtype), device)
    elif out.shape != sizes:
        raise ShapeError(f"{function}: out has shape {out.shape}, the result has {sizes}: they must be equal")
    _core.copy_into(out, value)
    return out


def _count(start: Number, stop: Number, step: Number) -> int:
    """How many values ``arange`` has."""
    if step == 0 or not all(map(math.isfinite, (start, stop, step))):
        raise ArgumentError(
            f"arange: start={start}, stop={stop}, step={step} is not valid: expected a step other than 0"
        )
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        return max(0, -((start - stop) // step))  # exact, however large
    return max(0, math.ceil((stop - start) / step))


def arange(start: Number, stop: Number | None, step: Number, dtype: Any, device: int) -> NDArray:
    if stop is None:
        start, stop = 0, start
    return _core.arange(start, step, _count(start, stop, step), dtype_name(dtype), device)


def eye(rows: int, columns: int, diagonal: int, dtype: Any, device: int) -> NDArray:
    n, m = shape_of((rows, columns), "eye")
    return from_host(np.eye(n, m, diagonal, np.uint8), dtype_name(dtype), device)


def linspace(start: Number, stop: Number, num: int, endpoint: bool, dtype: Any, device: int) -> NDArray:
    (count,) = shape_of((num,), "linspace")
    return from_host(np.linspace(start, stop, count, endpoint=endpoint), dtype_name(dtype), device)


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
