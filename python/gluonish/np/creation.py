"""New arrays, with NumPy's signatures. Floating numbers are float32 unless ``npx.set_np(dtype=True)`` says float64."""

from collections.abc import Iterable
from typing import Any

import numpy.typing as npt

from gluonish import _core, _create
from gluonish._core import NDArray
from gluonish._dtype import default_float, dtype_name
from gluonish._interop import from_dlpack, shared, stacked
from gluonish._types import ArrayLike
from gluonish.context import ContextLike, device_index, from_index
from gluonish.errors import UnsupportedError

__all__ = [
    "array",
    "asanyarray",
    "asarray",
    "copy",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "identity",
    "ones",
    "ones_like",
    "tri",
    "zeros",
    "zeros_like",
]

DType = npt.DTypeLike | None
Sizes = int | Iterable[int]


def array(
    object: Any,
    dtype: DType = None,
    copy: bool | None = True,
    order: str = "C",
    ctx: ContextLike = None,
    *,
    subok: bool = False,
    ndmin: int = 0,
    like: None = None,
    device: ContextLike = None,
) -> NDArray:
    """An array from numbers, nested lists, NumPy arrays or arrays of other libraries; of at least ``ndmin`` axes.

    Arrays keep their type; Python's numbers become bool, int64 or float32. ``copy=False`` returns an NDArray that
    fits as it is.

    >>> import numpy as np
    >>> array([1, 2]).dtype, array([1.5]).dtype, array(np.float64([1.5])).dtype
    (dtype('int64'), dtype('float32'), dtype('float64'))
    """
    _row_major(order, "array")
    if ndmin:
        made = array(object, dtype, copy, order, ctx, device=device)
        return made[(None,) * max(0, ndmin - made.ndim)] if made.ndim < ndmin else made
    if isinstance(object, NDArray):
        index = object._device if ctx is None and device is None else device_index(ctx, device)
        moved = _core.copy_to_device(object, index) if copy or index != object._device else object
        return moved if dtype is None else moved.astype(dtype, copy=False)
    found = stacked(object, lambda item: array(item, dtype, ctx=ctx, device=device))
    if found is not None:
        return found
    found = shared(object)
    if found is not None:
        return _core.copy_to_device(found.astype(dtype_name(dtype, found.dtype), copy=False), device_index(ctx, device))
    host = _create.host_array(object, "array", None if dtype is None else dtype_name(dtype))
    name = dtype_name(dtype, host.dtype)
    if dtype is None and name == "float64" and not hasattr(object, "dtype"):
        name = default_float()
    return _create.from_host(host, name, device_index(ctx, device))


def asarray(
    a: Any,
    dtype: DType = None,
    order: str = "C",
    *,
    copy: bool | None = None,
    like: None = None,
    device: ContextLike = None,
) -> NDArray:
    """``a`` itself if it is an NDArray of that type (a copy with ``copy=True``), else an array of it.

    >>> x = ones(3)
    >>> asarray(x) is x
    True
    """
    return array(a, dtype, copy, order, device=device)


asanyarray = asarray


def copy(a: ArrayLike, order: str = "K", subok: bool = False) -> NDArray:
    """A new array with the same values.

    >>> x = ones(2)
    >>> copy(x) is x, copy([1, 2]).tolist()
    (False, [1, 2])
    """
    _row_major(order, "copy")
    return asarray(a).copy() if isinstance(a, NDArray) else array(a)


def empty(
    shape: Sizes, dtype: DType = None, order: str = "C", ctx: ContextLike = None, *, device: ContextLike = None
) -> NDArray:
    """An array whose values are whatever was in the memory.

    >>> empty((2, 3)).shape
    (2, 3)
    """
    _row_major(order, "empty")
    return _create.empty(shape, dtype_name(dtype, default_float()), device_index(ctx, device))


def zeros(
    shape: Sizes, dtype: DType = None, order: str = "C", ctx: ContextLike = None, *, device: ContextLike = None
) -> NDArray:
    """An array of zeros.

    >>> zeros((2, 0, 3)).size
    0
    """
    _row_major(order, "zeros")
    return _create.filled(shape, 0, dtype_name(dtype, default_float()), device_index(ctx, device), None, "zeros")


def ones(
    shape: Sizes, dtype: DType = None, order: str = "C", ctx: ContextLike = None, *, device: ContextLike = None
) -> NDArray:
    """An array of ones.

    >>> ones(2, dtype=bool).tolist()
    [True, True]
    """
    _row_major(order, "ones")
    return _create.filled(shape, 1, dtype_name(dtype, default_float()), device_index(ctx, device), None, "ones")


def full(
    shape: Sizes,
    fill_value: ArrayLike,
    dtype: DType = None,
    order: str = "C",
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """An array filled with one value, of its type; or with values that broadcast to the shape.

    >>> full((2,), 7).tolist(), full((2, 2), [1, 2]).tolist()
    ([7, 7], [[1, 2], [1, 2]])
    """
    _row_major(order, "full")
    index = device_index(ctx, device)
    value = asarray(fill_value, device=ctx if ctx is not None else device)
    if not value.shape and not isinstance(fill_value, NDArray):
        return _create.filled(shape, value.item(), dtype_name(dtype, value.dtype), index, out, "full")
    return _create.filled(shape, value, dtype_name(dtype, value.dtype), index, out, "full")


def zeros_like(
    a: ArrayLike,
    dtype: DType = None,
    out: NDArray | None = None,
    *,
    order: str = "K",
    subok: bool = True,
    shape: Sizes | None = None,
    device: ContextLike = None,
) -> NDArray:
    """Zeros of the type and the shape of an array, unless others are given.

    >>> zeros_like(array([1, 2])).tolist()
    [0, 0]
    """
    return _like(a, 0, dtype, out, order, shape, device, "zeros_like")


def ones_like(
    a: ArrayLike,
    dtype: DType = None,
    out: NDArray | None = None,
    *,
    order: str = "K",
    subok: bool = True,
    shape: Sizes | None = None,
    device: ContextLike = None,
) -> NDArray:
    """Ones of the type and the shape of an array, unless others are given.

    >>> ones_like(array([1, 2]), dtype="float32").tolist(), ones_like(array([1, 2]), shape=3).tolist()
    ([1.0, 1.0], [1, 1, 1])
    """
    return _like(a, 1, dtype, out, order, shape, device, "ones_like")


def empty_like(
    a: ArrayLike,
    dtype: DType = None,
    order: str = "K",
    subok: bool = True,
    shape: Sizes | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """An array of the type and the shape of another, unless others are given, with whatever was in the memory.

    >>> empty_like(ones((2, 3))).shape
    (2, 3)
    """
    _row_major(order, "empty_like")
    like = asarray(a)
    index = like._device if device is None else device_index(device)
    return _create.empty(like.shape if shape is None else shape, dtype_name(dtype, like.dtype), index)


def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DType = None,
    out: NDArray | None = None,
    *,
    order: str = "K",
    subok: bool = True,
    shape: Sizes | None = None,
    device: ContextLike = None,
) -> NDArray:
    """One value, or values that broadcast, in the type and the shape of an array, unless others are given.

    >>> full_like(array([1, 2]), 5).tolist()
    [5, 5]
    """
    return _like(a, fill_value, dtype, out, order, shape, device, "full_like")


def _like(
    a: ArrayLike,
    value: Any,
    dtype: DType,
    out: NDArray | None,
    order: str,
    shape: Sizes | None,
    device: ContextLike,
    function: str,
) -> NDArray:
    _row_major(order, function)
    like = asarray(a)
    index = like._device if device is None else device_index(device)
    filling = value if isinstance(value, int | float) else asarray(value, device=from_index(index))
    sizes = like.shape if shape is None else shape
    return _create.filled(sizes, filling, dtype_name(dtype, like.dtype), index, out, function)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DType = None,
    ctx: ContextLike = None,
    *,
    order: str = "C",
    device: ContextLike = None,
) -> NDArray:
    """A matrix of N by M (None: N) with ones on a diagonal: the main one, or the ``k``-th above it.

    >>> eye(2, 3, 1).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    _row_major(order, "eye")
    return _create.eye(N, N if M is None else M, k, dtype_name(dtype, default_float()), device_index(ctx, device))


def tri(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DType = None,
    ctx: ContextLike = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """A matrix of N by M (None: N) with ones on a diagonal and below it.

    >>> tri(2, 3).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """
    return _create.tri(N, N if M is None else M, k, dtype_name(dtype, default_float()), device_index(ctx, device))


def identity(n: int, dtype: DType = None, ctx: ContextLike = None, *, device: ContextLike = None) -> NDArray:
    """A square matrix with ones on the main diagonal.

    >>> identity(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return eye(n, dtype=dtype, ctx=ctx, device=device)


def _row_major(order: str, function: str) -> None:
    if order not in ("C", "K", "A"):
        raise UnsupportedError(f"{function}: order={order!r}: arrays are made in row-major order; use 'C'")
