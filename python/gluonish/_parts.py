"""Cutting arrays into parts along an axis: what `nd`, `np` and methods share."""

from collections.abc import Sequence
from operator import index
from typing import Any

from gluonish import _core
from gluonish._core import NDArray
from gluonish.errors import ShapeError

__all__ = ["array_parts", "parts"]


def parts(
    array: NDArray, sections: int | Sequence[int], axis: int, squeeze: bool = False, function: str = "split"
) -> list[NDArray]:
    """So many equal parts, or those between the given positions, as views."""
    if isinstance(sections, int):
        how = {"num_outputs": sections, "axis": axis, "squeeze_axis": squeeze}
        made: Any = _core.invoke("split", [array], how)
        return [made] if isinstance(made, NDArray) else list(made)
    cut = _between(array, [index(at) for at in sections], axis, function)
    if not squeeze:
        return cut
    return [_core.invoke("squeeze", [part], {"axis": axis}) for part in cut]


def array_parts(array: NDArray, sections: int, axis: int) -> list[NDArray]:
    """So many parts that are as equal as can be: the first ones may be longer by one."""
    size, more = divmod(_size(array, axis, "array_split"), sections)
    ends = [(i + 1) * size + min(i + 1, more) for i in range(sections - 1)]
    return _between(array, ends, axis, "array_split")


def _between(array: NDArray, ends: list[int], axis: int, function: str) -> list[NDArray]:
    _size(array, axis, function)
    whole = (slice(None),) * (axis % array.ndim)
    return [array[(*whole, slice(i, j))] for i, j in zip([0, *ends], [*ends, None], strict=True)]


def _size(array: NDArray, axis: int, function: str) -> int:
    if not -array.ndim <= axis < array.ndim:
        raise ShapeError(f"{function}: axis {axis} is out of range for shape {array.shape}")
    return array.shape[axis]
