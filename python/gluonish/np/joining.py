"""Functions of `np` that join arrays and cut them into parts."""

from collections.abc import Sequence

from gluonish import _core
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._create import arrays_of
from gluonish._dtype import can_cast, dtype_name
from gluonish._parts import array_parts, parts
from gluonish._types import ArrayLike
from gluonish.errors import ArgumentError, DTypeError, ShapeError
from gluonish.np.creation import DType, asarray

__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "split",
    "stack",
    "vsplit",
    "vstack",
]

Arrays = Sequence[ArrayLike]


@beside
def concatenate(
    arrays: Arrays,
    axis: int | None = 0,
    out: NDArray | None = None,
    *,
    dtype: DType = None,
    casting: str = "same_kind",
) -> NDArray:
    """Arrays joined along an axis; with ``axis=None``, flattened. As ``dtype``, if given, and if ``casting`` allows it.

    >>> from gluonish import np
    >>> np.concatenate([np.ones((1, 2)), np.zeros((2, 2))]).shape
    (3, 2)
    """
    joined = [asarray(x) if axis is not None else asarray(x).ravel() for x in arrays_of(arrays, "concatenate")]
    return _join(_cast(joined, dtype, casting, "concatenate"), axis or 0, out)


concat = concatenate


@beside
def stack(
    arrays: Arrays, axis: int = 0, out: NDArray | None = None, *, dtype: DType = None, casting: str = "same_kind"
) -> NDArray:
    """Arrays of one shape, joined along a new axis.

    >>> from gluonish import np
    >>> np.stack([np.ones(3), np.zeros(3)], axis=1).shape
    (3, 2)
    """
    layers = _cast([asarray(x) for x in arrays_of(arrays, "stack")], dtype, casting, "stack")
    stacked: NDArray = _core.invoke("stack", layers, {"axis": axis}, out)
    return stacked


@beside
def vstack(tup: Arrays, *, dtype: DType = None, casting: str = "same_kind") -> NDArray:
    """Arrays joined along the first axis; vectors become rows.

    >>> from gluonish import np
    >>> np.vstack([np.ones(3), np.zeros((2, 3))]).shape
    (3, 3)
    """
    return _join(_cast([_at_least_2d(x) for x in arrays_of(tup, "vstack")], dtype, casting, "vstack"), 0)


@beside
def hstack(tup: Arrays, *, dtype: DType = None, casting: str = "same_kind") -> NDArray:
    """Arrays joined along the second axis; vectors along their only one.

    >>> from gluonish import np
    >>> np.hstack([np.ones((2, 1)), np.zeros((2, 3))]).shape
    (2, 4)
    """
    arrays = _cast([_at_least_1d(x) for x in arrays_of(tup, "hstack")], dtype, casting, "hstack")
    return _join(arrays, 0 if arrays and arrays[0].ndim == 1 else 1)


@beside
def dstack(tup: Arrays) -> NDArray:
    """Arrays joined along the third axis, which is added where there is none.

    >>> from gluonish import np
    >>> np.dstack([np.ones((2, 3)), np.zeros((2, 3))]).shape
    (2, 3, 2)
    """
    return _join([_at_least_3d(x) for x in arrays_of(tup, "dstack")], 2)


@beside
def column_stack(tup: Arrays) -> NDArray:
    """Arrays joined along the second axis; vectors become columns.

    >>> from gluonish import np
    >>> np.column_stack([np.ones(3), np.zeros((3, 2))]).shape
    (3, 3)
    """
    arrays = [asarray(x) for x in arrays_of(tup, "column_stack")]
    return _join([x.reshape(-1, 1) if x.ndim < 2 else x for x in arrays], 1)


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> NDArray:
    """Values joined to the end of an array along an axis; without one, both flattened. A new array.

    >>> from gluonish import np
    >>> np.append(np.array([1, 2]), [3]).tolist()
    [1, 2, 3]
    """
    return concatenate([arr, values], axis)


def split(ary: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[NDArray]:
    """Parts of an array along an axis, as views: so many equal ones, or those between the given positions.

    >>> from gluonish import np
    >>> [part.tolist() for part in np.split(np.arange(5), [1, 3])]
    [[0], [1, 2], [3, 4]]
    """
    return parts(asarray(ary), indices_or_sections, axis)


def array_split(ary: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[NDArray]:
    """As ``split``, but a number of parts need not divide the axis: the first ones are longer by one then.

    >>> from gluonish import np
    >>> [part.tolist() for part in np.array_split(np.arange(5), 3)]
    [[0, 1], [2, 3], [4]]
    """
    if not isinstance(indices_or_sections, int):
        return parts(asarray(ary), indices_or_sections, axis, function="array_split")
    if indices_or_sections < 1:
        raise ArgumentError(f"array_split: {indices_or_sections} parts: a number of at least 1 is needed")
    return array_parts(asarray(ary), indices_or_sections, axis)


def hsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int]) -> list[NDArray]:
    """Parts along the second axis; of a vector, along its only one.

    >>> from gluonish import np
    >>> [part.shape for part in np.hsplit(np.ones((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    array = asarray(ary)
    return _split_along(array, indices_or_sections, 0 if array.ndim == 1 else 1, 1, "hsplit")


def vsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int]) -> list[NDArray]:
    """Parts along the first axis of an array of two axes or more.

    >>> from gluonish import np
    >>> [part.shape for part in np.vsplit(np.ones((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split_along(asarray(ary), indices_or_sections, 0, 2, "vsplit")


def dsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int]) -> list[NDArray]:
    """Parts along the third axis.

    >>> from gluonish import np
    >>> [part.shape for part in np.dsplit(np.ones((2, 1, 4)), [1])]
    [(2, 1, 1), (2, 1, 3)]
    """
    return _split_along(asarray(ary), indices_or_sections, 2, 3, "dsplit")


@beside
def atleast_1d(*arys: ArrayLike) -> NDArray | tuple[NDArray, ...]:
    """Arrays of one axis or more, as views: numbers become vectors of one value. Several come as a tuple.

    >>> from gluonish import np
    >>> np.atleast_1d(3).shape
    (1,)
    """
    made = tuple(_at_least_1d(x) for x in arys)
    return made[0] if len(made) == 1 else made


@beside
def atleast_2d(*arys: ArrayLike) -> NDArray | tuple[NDArray, ...]:
    """Arrays of two axes or more, as views: vectors become rows. Several come as a tuple.

    >>> from gluonish import np
    >>> np.atleast_2d(np.ones(3)).shape
    (1, 3)
    """
    made = tuple(_at_least_2d(x) for x in arys)
    return made[0] if len(made) == 1 else made


@beside
def atleast_3d(*arys: ArrayLike) -> NDArray | tuple[NDArray, ...]:
    """Arrays of three axes or more, as views: (n,) becomes (1, n, 1), (n, m) becomes (n, m, 1).

    >>> from gluonish import np
    >>> np.atleast_3d(np.ones(3)).shape, np.atleast_3d(np.ones((2, 3))).shape
    ((1, 3, 1), (2, 3, 1))
    """
    made = tuple(_at_least_3d(x) for x in arys)
    return made[0] if len(made) == 1 else made


def _cast(arrays: list[NDArray], dtype: DType, casting: str, function: str) -> list[NDArray]:
    """The arrays as one type, where ``casting`` lets each become that."""
    if dtype is None:
        return arrays
    name = dtype_name(dtype)
    for x in arrays:
        if not can_cast(str(x.dtype), name, casting):
            raise DTypeError(f"{function}: {x.dtype} does not become {name} by casting={casting!r}")
    return [x.astype(name, copy=False) for x in arrays]


def _join(arrays: list[NDArray], axis: int, out: NDArray | None = None) -> NDArray:
    joined: NDArray = _core.invoke("concat", arrays, {"dim": axis}, out)
    return joined


def _split_along(array: NDArray, sections: int | Sequence[int], axis: int, least: int, function: str) -> list[NDArray]:
    if array.ndim < least:
        raise ShapeError(f"{function}: an array of at least {least} axes is needed, got shape {array.shape}")
    return parts(array, sections, axis, function=function)


def _with_axes(array: NDArray, axes: tuple[int, ...]) -> NDArray:
    wide: NDArray = _core.invoke("_np_expand_dims", [array], {"axis": axes}) if axes else array
    return wide


def _at_least_1d(x: ArrayLike) -> NDArray:
    array = asarray(x)
    return _with_axes(array, ((0,), ())[array.ndim > 0])


def _at_least_2d(x: ArrayLike) -> NDArray:
    array = asarray(x)
    return _with_axes(array, ((0, 1), (0,), ())[min(array.ndim, 2)])


def _at_least_3d(x: ArrayLike) -> NDArray:
    array = asarray(x)
    return _with_axes(array, ((0, 1, 2), (0, 2), (2,), ())[min(array.ndim, 3)])
