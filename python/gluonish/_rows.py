"""Rows of the op table on behalf of functions that are made of several: under their name, and into their ``out``."""

from collections.abc import Sequence
from typing import Any

from gluonish import _core
from gluonish._core import NDArray
from gluonish.errors import ArgumentError, MXNetError

__all__ = ["call", "renamed", "store", "store_all"]


def call(
    function: str,
    row: str,
    inputs: Sequence[Any],
    attrs: dict[str, Any] | None = None,
    out: Any = None,
    device: int | None = None,
) -> Any:
    """What a row gives; what it objects to is said by the name of the function that the user called.

    >>> from gluonish import nd
    >>> call("moments", "mean", [nd.ones(2)], {"axis": 5})
    Traceback (most recent call last):
        ...
    gluonish.errors.IndexOutOfRange: moments: axis 5 is out of range...
    """
    try:
        return _core.invoke(row, list(inputs), attrs or {}, out, device)
    except MXNetError as error:
        raise renamed(error, function) from None


def renamed(error: MXNetError, function: str) -> MXNetError:
    """The same error, said by another function: messages begin with the name of who says them."""
    before, colon, text = str(error).partition(": ")
    return type(error)(f"{function}: {text if colon and ' ' not in before else error}")


def store(value: NDArray, out: NDArray | None, function: str) -> NDArray:
    """The value; or ``out`` with it, which must have its shape and a type that loses no fraction, as rows ask.

    >>> from gluonish import nd
    >>> store(nd.ones(3), nd.zeros((2, 3)), "median")
    Traceback (most recent call last):
        ...
    gluonish.errors.ShapeError: median: the result of shape (3,) does not fit the output of shape (2, 3)
    """
    if out is None:
        return value
    if not isinstance(out, NDArray):
        raise ArgumentError(f"{function}: 'out' must be an NDArray, got {type(out).__name__}")
    stored: NDArray = call(function, "_copy", [value], {}, out)
    return stored


def store_all(values: Sequence[NDArray], outs: Any, function: str) -> Any:
    """Several values, each in its place of ``outs``, which are as many; or the values, if that is None."""
    if outs is None:
        return values
    if not isinstance(outs, list | tuple) or len(outs) != len(values):
        raise ArgumentError(f"{function}: out must be {len(values)} arrays, as many as there are results")
    for value, out in zip(values, outs, strict=True):
        store(value, out, function)
    return outs
