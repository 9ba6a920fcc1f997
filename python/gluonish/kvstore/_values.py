"""Arguments of stores: keys and the arrays that belong to each, and the sum of arrays of several devices."""

from collections.abc import Sequence
from typing import Any

from gluonish import _core, nd
from gluonish._core import NDArray
from gluonish.kvstore.base import Key, StoreError

__all__ = ["listed", "pairs", "summed"]


def listed(values: Any, what: str) -> list[NDArray]:
    """One array, or several, as a list of at least one."""
    arrays = [values] if isinstance(values, NDArray) else list(values) if isinstance(values, list | tuple) else None
    if not arrays or not all(isinstance(array, NDArray) for array in arrays):
        raise StoreError(f"{what} must be an NDArray or a list of them, got {_kind(values)}")
    return arrays


def pairs(key: Any, values: Any, what: str) -> list[tuple[Key, list[NDArray]]]:
    """Each key with its arrays: ``(key, arrays)``, or ``([key, ...], [arrays, ...])``. A key may come twice.

    >>> from gluonish import nd
    >>> one = nd.ones(1)
    >>> [(key, len(arrays)) for key, arrays in pairs(["a", "b"], [one, [one, one]], "push")]
    [('a', 1), ('b', 2)]
    """
    if not isinstance(key, list | tuple):
        return [(_checked(key, what), listed(values, f"{what} of key {key!r}: value"))]
    if not isinstance(values, list | tuple) or len(values) != len(key):
        raise StoreError(f"{what}: {len(key)} keys need as many values, got {_kind(values)}")
    return [
        (_checked(one, what), listed(value, f"{what} of key {one!r}: value"))
        for one, value in zip(key, values, strict=True)
    ]


def summed(values: Sequence[NDArray], device: int) -> NDArray:
    """The sum, on a device. One value alone is itself, where it is there already."""
    moved = [value if value._device == device else _core.copy_to_device(value, device) for value in values]
    total: NDArray = moved[0] if len(moved) == 1 else nd.add_n(*moved)
    return total


def _checked(key: Any, what: str) -> Key:
    if isinstance(key, bool) or not isinstance(key, int | str):
        raise StoreError(f"{what}: a key is an int or a str, got {key!r}")
    return key


def _kind(values: Any) -> str:
    if isinstance(values, list | tuple):
        kinds = ", ".join(type(value).__name__ for value in values[:4])
        return f"a {type(values).__name__} of {len(values)}{': ' * bool(kinds)}{kinds}"
    return type(values).__name__
