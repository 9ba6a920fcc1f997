"""Functions that work where their arrays are, whatever device is current."""

import functools
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from gluonish import _core
from gluonish._core import NDArray

__all__ = ["beside", "first_array"]

P = ParamSpec("P")
R = TypeVar("R")

_LISTS = (list, tuple)
_DEEPEST = 64  # lists within lists: NumPy's limit of dimensions


def beside(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with the device of the first array among its arguments as the current one while it runs: what it
    makes of numbers, of lists and for its own use is made there. Without an array nothing changes.

    >>> import gluonish as mx
    >>> @beside
    ... def with_ends(x):
    ...     return mx.np.concatenate([[0], x, mx.np.ones(1)])
    >>> with_ends(mx.np.array([5.0], ctx=mx.cpu(1)))
    [0. 5. 1.]
    <NDArray 3 @cpu(1)>
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        array: NDArray | None = None
        for value in args:  # most often it is the first, or the first of a list
            first = value[0] if isinstance(value, _LISTS) and value else value
            if isinstance(first, NDArray):
                array = first
                break
        else:
            array = first_array((*args, *kwargs.values()))
        if array is None or array._device == _core.current_device():
            return function(*args, **kwargs)
        before = _core.set_current_device(array._device)
        try:
            return function(*args, **kwargs)
        finally:
            _core.set_current_device(before)

    return call


def first_array(values: Iterable[Any]) -> NDArray | None:
    """The first array among values or in lists of them. Level by level: lists may be deeper than Python can call."""
    level: list[Any] = [values]
    for _ in range(_DEEPEST):
        below: list[Any] = []
        for items in level:
            kinds = set(map(type, items))  # few, however many items there are
            if any(issubclass(kind, NDArray) for kind in kinds):
                return next(item for item in items if isinstance(item, NDArray))
            if any(issubclass(kind, _LISTS) for kind in kinds):
                below += [item for item in items if isinstance(item, _LISTS)]
        if not below:
            return None
        level = below
    return None
