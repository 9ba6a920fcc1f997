"""Functions of `np` on positions: where elements are, and elements by where they are."""

import math
from collections.abc import Sequence
from typing import Any

import numpy  # noqa: ICN001 - np is this package
import numpy.typing as npt

from gluonish import _core
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._create import shape_of
from gluonish._types import ArrayLike
from gluonish.errors import ArgumentError, IndexOutOfRange, ShapeError
from gluonish.np._axis import along
from gluonish.np.creation import asarray
from gluonish.np.ranges import arange
from gluonish.np.shaping import ravel

__all__ = [
    "argwhere",
    "compress",
    "diag_indices",
    "indices",
    "nonzero",
    "put_along_axis",
    "ravel_multi_index",
    "take_along_axis",
    "unravel_index",
]


@beside
def nonzero(a: ArrayLike) -> tuple[NDArray, ...]:
    """The positions of the elements that are not 0: for each axis an array of int64.

    >>> from gluonish import np
    >>> [axis.tolist() for axis in np.nonzero(np.array([[0, 5], [6, 0]]))]
    [[0, 1], [1, 0]]
    """
    array = asarray(a)
    if not array.shape:
        raise ShapeError("nonzero: an array without axes has no positions; compare it with 0 instead")
    flat = _flat(array)
    return (flat,) if array.ndim == 1 else _split(flat, array.shape)


@beside
def argwhere(a: ArrayLike) -> NDArray:
    """The positions of the elements that are not 0, one in each row, of int64.

    >>> from gluonish import np
    >>> np.argwhere(np.array([[0, 5], [6, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    array = asarray(a)
    if not array.shape:
        return _flat(array)[:, None][:, :0]
    if array.size == 0:
        return asarray(numpy.zeros((0, array.ndim), numpy.int64))
    rows: NDArray = _core.invoke("unravel_index", [_flat(array)], {"shape": array.shape})
    return rows.T


@beside
def compress(condition: ArrayLike, a: ArrayLike, axis: int | None = None, out: NDArray | None = None) -> NDArray:
    """The slices along an axis, or elements of the flattened array, for which the condition holds.

    The condition may be shorter than the axis; what it does not reach is left out.

    >>> from gluonish import np
    >>> np.compress([True, False], np.array([[1, 2, 3], [4, 5, 6]]), axis=1).tolist()
    [[1], [4]]
    """
    source = asarray(a)
    axis = along(source, axis)
    source = ravel(source) if axis is None else source
    truth = asarray(condition)
    if truth.ndim != 1:
        raise ShapeError(f"compress: the condition must have one dimension, got shape {truth.shape}")
    taken: NDArray = _core.invoke("take", [source, _flat(truth)], {"axis": axis or 0, "mode": "raise"}, out)
    return taken


@beside
def unravel_index(indices: ArrayLike, shape: int | Sequence[int], order: str = "C") -> tuple[NDArray, ...]:
    """The coordinates of elements given by their numbers in an array of this shape: an array for each axis.

    >>> from gluonish import np
    >>> [axis.tolist() for axis in np.unravel_index(np.array([5, 2]), (2, 3))]
    [[1, 0], [2, 2]]
    """
    sizes = shape_of(shape, "unravel_index")
    if _columns_first(order, "unravel_index"):
        return _split(asarray(indices), sizes[::-1])[::-1]
    return _split(asarray(indices), sizes)


@beside
def ravel_multi_index(
    multi_index: Sequence[ArrayLike], dims: int | Sequence[int], mode: str | Sequence[str] = "raise", order: str = "C"
) -> NDArray:
    """The numbers of elements given by their coordinates in an array of this shape, an array for each axis.

    A coordinate out of range (or negative) raises, or is taken as the nearest end ("clip") or modulo the size ("wrap").

    >>> from gluonish import np
    >>> np.ravel_multi_index((np.array([1, 0]), np.array([2, 2])), (2, 3)).tolist()
    [5, 2]
    """
    sizes = shape_of(dims, "ravel_multi_index")
    if not isinstance(mode, str):
        raise ArgumentError("ravel_multi_index: one mode for all axes is needed: 'raise', 'wrap' or 'clip'")
    parts = [asarray(part) for part in multi_index]
    if len(parts) != len(sizes):
        raise ShapeError(f"ravel_multi_index: {len(parts)} arrays of coordinates for the {len(sizes)} axes of {sizes}")
    named = tuple(range(len(sizes)))
    if _columns_first(order, "ravel_multi_index"):
        parts, sizes, named = parts[::-1], sizes[::-1], named[::-1]
    attrs = {"sizes": sizes, "named": named, "mode": "strict" if mode == "raise" else mode}
    numbers: NDArray = _core.invoke("_np_ravel_multi_index", parts, attrs)
    return numbers


@beside
def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int | None = -1) -> NDArray:
    """Elements by their positions along an axis, each row with positions of its own; the other axes broadcast.

    >>> from gluonish import np
    >>> x = np.array([[3, 1, 2], [6, 5, 4]])
    >>> np.take_along_axis(x, np.array([[1, 2], [2, 0]]), axis=1).tolist()
    [[1, 2], [4, 6]]
    """
    source, places, at = _along(arr, indices, axis, "take_along_axis")
    arrays = (source, places)
    others = _broadcast([x.shape[:at] + x.shape[at + 1 :] for x in arrays], "take_along_axis")
    wide = [_spread(x, others[:at] + x.shape[at : at + 1] + others[at:]) for x in arrays]
    taken: NDArray = _core.invoke("_take_along_axis", wide, {"axis": at})
    return taken


@beside
def put_along_axis(arr: NDArray, indices: ArrayLike, values: ArrayLike, axis: int | None) -> None:
    """Writes values to positions along an axis, each row with positions of its own; the other axes broadcast.

    >>> from gluonish import np
    >>> x = np.zeros((2, 3))
    >>> np.put_along_axis(x, np.array([[0], [2]]), 5, axis=1)
    >>> x.tolist()
    [[5.0, 0.0, 0.0], [0.0, 0.0, 5.0]]
    """
    if axis is None:
        flat = ravel(arr)
        flat[asarray(indices)] = values
        _core.copy_into(arr, _core.invoke("_np_reshape", [flat], {"shape": arr.shape}))
        return
    _, places, at = _along(arr, indices, axis, "put_along_axis")
    arr[tuple(places if d == at else line for d, line in enumerate(_lines(arr.shape, int, arr.ctx)))] = values


def indices(dimensions: Sequence[int], dtype: npt.DTypeLike = int, sparse: bool = False) -> Any:
    """The coordinates of each element of an array of this shape: one array, or with ``sparse`` one for each axis.

    >>> from gluonish import np
    >>> np.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    sizes = shape_of(tuple(dimensions), "indices")
    lines = _lines(sizes, dtype, None)
    if sparse:
        return lines
    if not lines:
        return asarray(numpy.zeros(0, dtype))
    wide = [_core.invoke("expand_dims", [_spread(line, sizes)], {"axis": 0}) for line in lines]
    return _core.invoke("concat", wide, {"dim": 0})


def diag_indices(n: int, ndim: int = 2) -> tuple[NDArray, ...]:
    """The coordinates of the main diagonal of an array with ``ndim`` axes of size ``n``.

    >>> from gluonish import np
    >>> [axis.tolist() for axis in np.diag_indices(3)]
    [[0, 1, 2], [0, 1, 2]]
    """
    return (arange(n),) * ndim


def _lines(shape: Sequence[int], dtype: npt.DTypeLike, ctx: Any) -> tuple[NDArray, ...]:
    """The coordinates along each axis, with the others of size 1."""
    lines = [arange(size, dtype=dtype, ctx=ctx) for size in shape]
    return tuple(line[(None,) * d + (slice(None),) + (None,) * (len(shape) - d - 1)] for d, line in enumerate(lines))


def _broadcast(shapes: Sequence[Sequence[int]], function: str) -> tuple[int, ...]:
    try:
        return numpy.broadcast_shapes(*map(tuple, shapes))
    except ValueError:
        raise ShapeError(f"{function}: the other axes do not broadcast: {' and '.join(map(str, shapes))}") from None


def _spread(array: NDArray, shape: Sequence[int]) -> NDArray:
    if array.shape == tuple(shape):
        return array
    wide: NDArray = _core.invoke("_np_broadcast_to", [array], {"shape": tuple(shape)})
    return wide


def _flat(array: NDArray) -> NDArray:
    numbers: NDArray = _core.invoke("flatnonzero", [array], {})
    return numbers


def _split(numbers: NDArray, shape: Sequence[int]) -> tuple[NDArray, ...]:
    if numbers.size == 0:  # also of shapes without elements, in which nothing has coordinates
        return tuple(asarray(numpy.zeros(numbers.shape, numpy.int64)) for _ in shape)
    if math.prod(shape) == 0:
        raise IndexOutOfRange(f"unravel_index: an array of shape {tuple(shape)} has no elements")
    rows: NDArray = _core.invoke("unravel_index", [numbers], {"shape": tuple(shape)})
    return tuple(rows)


def _columns_first(order: str, function: str) -> bool:
    if order not in ("C", "F"):
        raise ArgumentError(f"{function}: order={order!r} is not valid: expected 'C' or 'F'")
    return order == "F"


def _along(arr: ArrayLike, indices: ArrayLike, axis: int | None, function: str) -> tuple[NDArray, NDArray, int]:
    source, places = asarray(arr), asarray(indices)
    if axis is None:
        source, axis = ravel(source), 0
    if source.ndim != places.ndim:
        raise ShapeError(f"{function}: indices of shape {places.shape} need as many axes as shape {source.shape}")
    if not -source.ndim <= axis < source.ndim:
        raise IndexOutOfRange(f"{function}: axis {axis} is out of range for shape {source.shape}")
    return source, places, axis % source.ndim
