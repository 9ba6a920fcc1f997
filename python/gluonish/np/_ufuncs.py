"""Elementwise functions of `np` with all arguments that NumPy's ufuncs have. A plain call goes straight to the row."""

from collections.abc import Callable
from typing import Any

import numpy  # noqa: ICN001 - np is this package

from gluonish._core import NDArray
from gluonish._faces import dressed, functions

__all__ = ["ufuncs"]


def ufuncs() -> dict[str, Callable[..., Any]]:
    """The functions of the table that are ufuncs of NumPy, by name."""
    found = ((name, row, getattr(numpy, name, None)) for name, row in functions("np").items())
    shapes = {1: _of_one, 2: _of_two}
    return {
        name: shapes[theirs.nin](row, theirs)
        for name, row, theirs in found
        if isinstance(theirs, numpy.ufunc) and theirs.signature is None
    }


def _of_one(row: Callable[..., Any], theirs: numpy.ufunc) -> Callable[..., Any]:
    @dressed(row)
    def call(
        x: Any,
        out: Any = None,
        *,
        where: Any = True,
        casting: str = "same_kind",
        order: str = "K",
        dtype: Any = None,
        subok: bool = True,
    ) -> Any:
        if out is dtype is None and where is True:
            return row(x)
        return _called(row, theirs, (x,), out, {"where": where, "dtype": dtype, "casting": casting, "order": order})

    return call


def _of_two(row: Callable[..., Any], theirs: numpy.ufunc) -> Callable[..., Any]:
    @dressed(row)
    def call(
        x1: Any,
        x2: Any,
        out: Any = None,
        *,
        where: Any = True,
        casting: str = "same_kind",
        order: str = "K",
        dtype: Any = None,
        subok: bool = True,
    ) -> Any:
        if out is dtype is None and where is True:
            return row(x1, x2)
        return _called(row, theirs, (x1, x2), out, {"where": where, "dtype": dtype, "casting": casting, "order": order})

    return call


def _called(row: Any, theirs: numpy.ufunc, inputs: tuple[Any, ...], out: Any, how: dict[str, Any]) -> Any:
    if isinstance(out, tuple):
        (out,) = out
    if how["where"] is True and how["dtype"] is None and not isinstance(out, numpy.ndarray):
        return row(*inputs, out=out)
    from gluonish.np._dispatch import call_ufunc
    from gluonish.np.creation import asarray

    given = {name: value for name, value in how.items() if value is not None}
    if out is not None:
        given["out"] = (out,)
    if not any(isinstance(value, NDArray) for value in inputs):
        inputs = (asarray(inputs[0]), *inputs[1:])
    return call_ufunc(theirs, "__call__", inputs, given)
