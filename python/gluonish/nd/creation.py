"""New arrays, with MXNet's signatures: float32 unless told otherwise. ``device`` is MXNet 2's name of ``ctx``."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy.typing as npt

from gluonish import _core, _create
from gluonish._core import NDArray
from gluonish._dtype import dtype_name
from gluonish._interop import from_dlpack, from_numpy, shared, stacked
from gluonish._types import Number
from gluonish.context import ContextLike, device_index, from_index
from gluonish.errors import ArgumentError

__all__ = [
    "arange",
    "array",
    "concatenate",
    "empty",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "linspace",
    "ones",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "zeros",
]

FLOAT = "float32"


def array(
    source_array: Any, ctx: ContextLike = None, dtype: npt.DTypeLike | None = None, *, device: ContextLike = None
) -> NDArray:
    """An array from numbers, nested lists, NumPy arrays or arrays of other libraries, by a copy.

    float32 unless ``dtype`` says otherwise; a copy of an NDArray keeps its type.

    >>> array([[1, 2], [3, 4]])
    [[1. 2.]
     [3. 4.]]
    <NDArray 2x2 @cpu(0)>
    >>> array([1, 2], dtype="int32").dtype
    dtype('int32')
    """
    index = device_index(ctx, device)
    if isinstance(source_array, NDArray):
        moved = _core.copy_to_device(source_array, index)
        return moved if dtype is None else moved.astype(dtype, copy=False)
    name = dtype_name(dtype, FLOAT)
    found = stacked(source_array, lambda item: array(item, from_index(index), dtype))
    if found is not None:
        return found
    found = shared(source_array)
    if found is not None:
        return _core.copy_to_device(found.astype(name, copy=False), index)
    return _create.from_host(_create.host_array(source_array, "array", name), name, index)


def empty(
    shape: int | Iterable[int],
    ctx: ContextLike = None,
    dtype: npt.DTypeLike | None = None,
    stype: str | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """An array whose values are whatever was in the memory.

    >>> empty((2, 3)).shape
    (2, 3)
    """
    _create.dense(stype, "empty")
    return _create.empty(shape, dtype_name(dtype, FLOAT), device_index(ctx, device))


def zeros(
    shape: int | Iterable[int],
    ctx: ContextLike = None,
    dtype: npt.DTypeLike | None = None,
    stype: str | None = None,
    *,
    out: NDArray | None = None,
    device: ContextLike = None,
) -> NDArray:
    """An array of zeros.

    >>> zeros((2, 3)).asnumpy().tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    _create.dense(stype, "zeros")
    return _create.filled(shape, 0, dtype_name(dtype, FLOAT), device_index(ctx, device), out, "zeros")


def ones(
    shape: int | Iterable[int],
    ctx: ContextLike = None,
    dtype: npt.DTypeLike | None = None,
    *,
    out: NDArray | None = None,
    device: ContextLike = None,
) -> NDArray:
    """An array of ones.

    >>> ones(3, dtype="int8").asnumpy()
    array([1, 1, 1], dtype=int8)
    """
    return _create.filled(shape, 1, dtype_name(dtype, FLOAT), device_index(ctx, device), out, "ones")


def full(
    shape: int | Iterable[int],
    val: Number | NDArray,
    ctx: ContextLike = None,
    dtype: npt.DTypeLike | None = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """An array filled with one value.

    >>> full((2,), 7).asnumpy().tolist()
    [7.0, 7.0]
    """
    return _create.filled(shape, val, dtype_name(dtype, FLOAT), device_index(ctx, device), out, "full")


def arange(
    start: Number,
    stop: Number | None = None,
    step: Number = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: ContextLike = None,
    dtype: npt.DTypeLike | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """``start, start + step, ...`` up to ``stop``, which is left out; each value ``repeat`` times.

    ``infer_range`` is MXNet's, which says of it that it is not used.

    >>> arange(1, 7, step=2, repeat=2).asnumpy().tolist()
    [1.0, 1.0, 3.0, 3.0, 5.0, 5.0]
    """
    values = _create.arange(start, stop, step, dtype_name(dtype, FLOAT), device_index(ctx, device))
    if infer_range is not None:
        warnings.warn("arange: infer_range has no effect; leave it out", DeprecationWarning, stacklevel=2)
    if repeat == 1:
        return values
    if repeat < 1:
        raise ArgumentError(f"arange: repeat={repeat} is not valid: expected a number of at least 1")
    repeated: NDArray = _core.invoke("repeat", [values], {"repeats": repeat})
    return repeated


def linspace(
    start: Number,
    stop: Number,
    num: int,
    endpoint: bool = True,
    ctx: ContextLike = None,
    dtype: npt.DTypeLike | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """``num`` values at equal distances from ``start`` to ``stop``, with or without that.

    >>> linspace(0, 1, 5).asnumpy().tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    return _create.linspace(start, stop, num, endpoint, dtype_name(dtype, FLOAT), device_index(ctx, device))


def eye(
    N: int,
    M: int = 0,
    k: int = 0,
    ctx: ContextLike = None,
    dtype: npt.DTypeLike | None = None,
    *,
    out: NDArray | None = None,
    device: ContextLike = None,
) -> NDArray:
    """A matrix of N by M (0: N) with ones on a diagonal: the main one, or the ``k``-th above it.

    >>> eye(2, 3, 1).asnumpy().tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    return _create.eye(N, M or N, k, dtype_name(dtype, FLOAT), device_index(ctx, device), out)


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Arrays joined along an axis. With ``always_copy=False`` a single array is returned as it is.

    >>> concatenate([ones((1, 2)), zeros((2, 2))]).shape
    (3, 2)
    """
    parts = _create.arrays_of(arrays, "concatenate")
    if len(parts) == 1 and not always_copy:
        return _create.array_of(parts[0], "concatenate")
    joined: NDArray = _core.invoke("concat", parts, {"dim": axis})
    return joined


def to_dlpack_for_read(data: NDArray) -> Any:
    """A DLPack capsule of an array's memory, to be read.

    >>> from_dlpack(to_dlpack_for_read(ones(2))).tolist()
    [1.0, 1.0]
    """
    return _create.array_of(data, "to_dlpack_for_read").to_dlpack_for_read()


def to_dlpack_for_write(data: NDArray) -> Any:
    """A DLPack capsule of an array's memory, to be written to.

    >>> x = ones(2)
    >>> from_dlpack(to_dlpack_for_write(x))[:] = 3
    >>> x.tolist()
    [3.0, 3.0]
    """
    return _create.array_of(data, "to_dlpack_for_write").to_dlpack_for_write()
